/* The page interactive.md: a method's equations, and how it divides offspring among operators. */
(() => {
  const data = window.uaosCourses;
  const lab = document.getElementById("lab");
  if (!data || !lab) return;
  const FAMILIES = ["metric", "reward", "quality", "probability", "selection"];
  const LETTERS = "ABCD";
  const GROUPS = { method: "Methods of the literature", tuned: "Tuned in the paper",
    original: "With their own pool", baseline: "To compare with" };
  const K = data.operators, N = data.generations;
  const state = { method: "SaDE", kind: "boolean", shown: "p", at: 0, timer: null };

  function make(tag, attributes = {}, ...children) {
    const svg = ["svg", "path", "rect", "line", "text", "g"].includes(tag);
    const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag)
      : document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  }

  function choices(label, values, key) {
    const box = make("fieldset", { class: "lab-choice" }, make("legend", {}, label));
    for (const [value, text] of values) {
      const input = make("input", { type: "radio", name: `lab-${key}`, value,
        onchange: () => { state[key] = value; show(); } });
      input.checked = state[key] === value;
      box.append(make("label", {}, input, " " + text));
    }
    return box;
  }

  const menu = make("select", { id: "lab-method", onchange: () => { state.method = menu.value; show(); } });
  for (const [kind, title] of Object.entries(GROUPS)) {
    const group = make("optgroup", { label: title });
    for (const [name, one] of Object.entries(data.recipes)) {
      if (one.kind === kind) group.append(make("option", { value: name }, name));
    }
    menu.append(group);
  }
  menu.value = state.method;
  const slider = make("input", { type: "range", min: 0, max: N - 1, value: 0, id: "lab-at",
    oninput: () => { stop(); state.at = Number(slider.value); show(); } });
  const play = make("button", { type: "button", class: "lab-play", onclick: () => {
    if (state.timer) { stop(); return; }
    if (state.at >= N - 1) state.at = 0;
    play.textContent = "Pause";
    state.timer = setInterval(() => {
      state.at += 1;
      if (state.at >= N - 1) stop();
      show();
    }, 120);
  } }, "Play");
  function stop() {
    clearInterval(state.timer);
    state.timer = null;
    play.textContent = "Play";
  }
  const picture = make("div", { class: "lab-picture" });
  const sentence = make("p", { class: "lab-sentence", "aria-live": "polite" });
  const total = make("p", { class: "lab-total" });
  const equations = make("div", { class: "lab-equations" });
  lab.replaceChildren(
    make("div", { class: "lab-controls" },
      make("label", { for: "lab-method" }, "Method "), menu,
      choices("Environment", [["uniform", "uniform"], ["boolean", "boolean"], ["outlier", "outlier"]], "kind"),
      choices("Show", [["p", "probabilities"], ["n", "offspring made"]], "shown")),
    make("div", { class: "lab-columns" },
      make("div", {}, picture,
        make("div", { class: "lab-time" }, play, make("label", { for: "lab-at" }, "Generation"), slider),
        sentence, total),
      equations));

  function shares(name) {
    const run = data.courses[name][state.kind];
    const scale = state.shown === "p" ? 1000 : data.offspring;
    return run[state.shown].map((v) => v / scale);
  }

  function draw(values) {
    const W = 480, H = 250, LEFT = 30, TOP = 26, RIGHT = 4, BOTTOM = 22;
    const x = (g) => LEFT + (W - LEFT - RIGHT) * g / N;
    const y = (v) => TOP + (H - TOP - BOTTOM) * (1 - v);
    const svg = make("svg", { viewBox: `0 0 ${W} ${H}`, role: "img",
      "aria-label": `Shares of the operators over ${N} generations, ${state.method}, ${state.kind}` });
    const best = data.best[state.kind];
    for (let g = 0, from = 0; g <= N; g += 1) {
      if (g < N && best[g] === best[from]) continue;
      svg.append(make("rect", { class: `lab-${best[from]}`, x: x(from), width: x(g) - x(from) - 1, y: 4, height: 15 }),
        make("text", { class: "lab-on", x: (x(from) + x(g)) / 2, y: 15.5, "text-anchor": "middle" },
          `best: ${LETTERS[best[from]]}`));
      from = g;
    }
    const below = new Array(N).fill(0);
    for (let k = 0; k < K; k += 1) {
      const lower = below.slice();
      for (let g = 0; g < N; g += 1) below[g] += values[g * K + k];
      const up = below.map((v, g) => `${x(g)},${y(v)} ${x(g + 1)},${y(v)}`);
      const down = lower.map((v, g) => `${x(g + 1)},${y(v)} ${x(g)},${y(v)}`).reverse();
      svg.append(make("path", { class: `lab-${k}`, d: `M${up.join("L")}L${down.join("L")}Z` }));
    }
    for (const v of [0, 0.5, 1]) {
      svg.append(make("text", { x: LEFT - 4, y: y(v) + 4, "text-anchor": "end" }, String(v)));
    }
    for (let g = 0; g <= N; g += 30) {
      svg.append(make("text", { x: x(g), y: H - 6, "text-anchor": g < N ? "middle" : "end" }, String(g)));
    }
    const now = x(state.at + 0.5);
    svg.append(make("line", { class: "lab-now", x1: now, x2: now, y1: TOP, y2: H - BOTTOM }));
    picture.replaceChildren(svg);
  }

  function list() {
    const recipe = data.recipes[state.method];
    const rows = FAMILIES.map((family, i) => {
      const [name, values] = recipe.parts[i];
      const given = Object.entries(values).map(([key, value]) => `${key} = ${value}`).join(", ");
      const scaled = family === "reward" && recipe.scaled ? "\nthen scaled to [0, 1]" : "";
      return make("div", { class: "lab-part" },
        make("p", {}, make("span", { class: "lab-family" }, `${i + 1}. ${family} `), make("strong", {}, name)),
        make("pre", {}, data.equations[family][name] + scaled),
        ...(given ? [make("p", { class: "lab-values" }, given)] : []));
    });
    equations.replaceChildren(...rows, make("p", { class: "lab-note" }, `${recipe.cited}. ${recipe.note}`));
  }

  let listed = "";
  function show() {
    const values = shares(state.method);
    draw(values);
    if (listed !== state.method) { list(); listed = state.method; }
    slider.value = state.at;
    const row = values.slice(state.at * K, state.at * K + K);
    const each = row.map((v, k) => make("span", { class: "lab-key" },
      make("span", { class: `lab-swatch lab-${k}` }), ` ${LETTERS[k]} ${v.toFixed(2)}`));
    sentence.replaceChildren(`Generation ${state.at}: `, ...each,
      ` best: ${LETTERS[data.best[state.kind][state.at]]}`);
    const run = data.courses[state.method][state.kind];
    total.textContent = `Of all offspring, ${(100 * run.share).toFixed(1)} ± ${(100 * run.error).toFixed(1)} % `
      + `were made by the operator that was the best (uniform choice: 25 %).`;
  }
  show();
})();
