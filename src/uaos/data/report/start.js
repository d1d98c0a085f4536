// The menus around the plots, the enlarged plot, and the order in which all begins.
function startProfiles() {
  for (const box of all("input[name^=restarts]")) {
    box.addEventListener("change", () => {
      state.restarts = box.value;
      for (const other of all("input[name^=restarts]")) other.checked = other.value === box.value;
      repaint((place) => place.dataset.plot === "profile");
    });
  }
  for (const keys of all("[data-keys=profile], dialog .keys")) {
    const names = keys.dataset.section ? data.sections[keys.dataset.section].methods : data.methods.map((m) => m.name);
    const reference = Object.values(data.sections).map((s) => s.reference).find(Boolean);
    keys.replaceChildren(...names.map((name) => {
      const at = data.methods.findIndex((m) => m.name === name);
      const key = element("button", { type: "button", "aria-pressed": "true", title: `Hide or show ${name}` },
        element("span", { className: "method" }, name));
      key.firstChild.style.setProperty("--c", `var(--m${at})`);
      key.dataset.method = name;
      key.addEventListener("click", () => toggle(name));
      return key;
    }), ...(reference ? [element("span", { className: "key reference" }, reference)] : []));
  }
}

function toggle(name) {
  if (!state.hidden.delete(name)) state.hidden.add(name);
  for (const key of all("[data-method]", document)) {
    if (key.tagName === "BUTTON" && key.dataset.method === name) {
      key.setAttribute("aria-pressed", String(!state.hidden.has(name)));
    }
  }
  repaint((place) => ["profile", "convergence"].includes(place.dataset.plot));
}

function startEnlarging() {
  const dialog = document.getElementById("enlarged"), place = document.getElementById("enlarged-plot");
  const buttons = all("[data-enlarge]");
  let at = 0;
  function show(index) {
    at = (index + buttons.length) % buttons.length;
    const { enlarge, section, kind } = buttons[at].dataset;
    Object.assign(place.dataset, { plot: kind, panel: enlarge, section });
    const shown = data.sections[section], isProfile = kind === "profile";
    const { title } = (isProfile ? shown : shown.convergence).panels[enlarge];
    document.getElementById("enlarged-title").textContent = title;
    place.dataset.label = `${isProfile ? "Runtime profiles" : "Convergence"}, ${title}`;
    if (!dialog.open) dialog.showModal();
    paint(place);
  }
  buttons.forEach((button, i) => button.addEventListener("click", () => show(i)));
  document.getElementById("close").addEventListener("click", () => dialog.close());
  document.getElementById("previous").addEventListener("click", () => show(at - 1));
  document.getElementById("next").addEventListener("click", () => show(at + 1));
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft") show(at - 1);
    if (event.key === "ArrowRight") show(at + 1);
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => {
    Plotly.purge(place); // it may be opened again in another size
    delete place.dataset.drawn;
    buttons[at].focus();
  });
}

function startMenu() {
  const links = all("nav a");
  const sections = links.map((link) => document.querySelector(link.getAttribute("href")));
  let before = -1;
  function mark() {
    let here = 0;
    sections.forEach((section, i) => { if (section.getBoundingClientRect().top < 140) here = i; });
    if (innerHeight + scrollY >= root.scrollHeight - 4) here = sections.length - 1;
    if (here === before) return;
    before = here;
    follow(links[here]);
    links.forEach((link, i) => {
      link.classList.toggle("here", i === here);
      if (i === here) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
    });
  }
  function follow(link) {
    const nav = link.parentElement;
    nav.scrollTo({ left: link.offsetLeft - nav.clientWidth / 3 });
  }
  addEventListener("scroll", mark, { passive: true });
  mark();
}

// Nothing stays folded on paper.
addEventListener("beforeprint", () => {
  for (const one of all("details:not([open])")) { one.open = true; one.dataset.folded = "1"; }
});
addEventListener("afterprint", () => {
  for (const one of all("details[data-folded]")) { one.open = false; delete one.dataset.folded; }
});

const uaosReport = (async () => {
  startTheme();
  startMenu();
  startTables();
  try {
    data = JSON.parse(await unpacked("data"));
    startProfiles();
    startEnlarging();
    startCourses();
    startDuels();
    startChoices();
    await loadPlotly();
    startPlots();
  } catch (error) {
    root.classList.remove("scripted"); // the images take over
    throw error;
  }
})();
