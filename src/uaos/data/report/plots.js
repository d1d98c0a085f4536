// Plots are drawn when they come near the screen, and again when theme or choices change.
let data = null;
const state = { restarts: "again", hidden: new Set() };
const BRIEF = { l: 48, r: 16, t: 10, b: 48 };
const painters = { profile, convergence, course, survival, choice, number };

const withMouse = () => matchMedia("(pointer: fine)").matches;

function frame(changes) {
  const axis = {
    gridcolor: color("grid"), linecolor: color("soft"), tickcolor: color("soft"),
    zeroline: false, showline: true, ticks: "outside", ticklen: 4, automargin: false,
  };
  const layout = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
    font: { family: color("sans"), size: 12, color: color("ink") },
    margin: { l: 62, r: 22, t: 10, b: 46 },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: color("soft"), activecolor: color("accent") },
    hoverlabel: {
      bgcolor: color("paper"), bordercolor: color("line"),
      font: { color: color("ink"), family: color("sans") }, namelength: -1,
    },
    // A finger scrolls the page, a mouse zooms.
    dragmode: withMouse() ? "zoom" : false, ...changes,
  };
  for (const key of Object.keys(layout)) {
    if (/^[xy]axis/.test(key)) layout[key] = { ...axis, ...layout[key] };
  }
  return layout;
}

function paint(place) {
  if (!window.Plotly || !data) return;
  const drawn = painters[place.dataset.plot](place);
  if (!drawn) return;
  const small = Boolean(place.dataset.small);
  const config = {
    responsive: true, displaylogo: false, staticPlot: small,
    displayModeBar: place.closest(".multiple, .first-figures") || !withMouse() ? false : "hover",
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
    toImageButtonOptions: { format: "svg", filename: place.dataset.panel || place.dataset.plot },
  };
  place.replaceChildren(...[...place.children].filter((c) => !c.classList.contains("waiting")));
  Plotly.react(place, drawn.traces, drawn.layout, config);
  if (place.dataset.label) {
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", place.dataset.label);
  }
  place.dataset.drawn = "1";
}

function repaint(filter = () => true) {
  for (const place of all("[data-plot][data-drawn]")) if (filter(place)) paint(place);
}

function startPlots() {
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      watcher.unobserve(entry.target);
      requestAnimationFrame(() => paint(entry.target));
    }
  }, { rootMargin: "400px" });
  for (const place of all("[data-plot]")) watcher.observe(place);
  themed.push(() => repaint());
}

// Runtime profiles

function steps(curve, section, end, full) {
  // A curve lists the places of the grid where it rises; in full, every place of the grid is noted.
  const [places, shares] = curve;
  const x = [], y = [];
  const at = (place) => 10 ** (place / section.decade);
  if (full) {
    let next = 0, share = 0;
    for (let place = 0; at(place) <= end * 1.0001; place++) {
      while (next < places.length && places[next] <= place) share = shares[next++];
      x.push(at(place));
      y.push(share / section.unit);
    }
  } else {
    x.push(1);
    y.push(0);
    places.forEach((place, i) => {
      if (at(place) > end) return;
      x.push(at(place));
      y.push(shares[i] / section.unit);
    });
  }
  x.push(end);
  y.push(y[y.length - 1]);
  return { x, y };
}

function profile(place) {
  const section = data.sections[place.dataset.section];
  const panel = section.panels[place.dataset.panel];
  const small = Boolean(place.dataset.small), brief = Boolean(place.dataset.brief);
  const kind = state.restarts, end = section.end[kind];
  const traces = [];
  const hover = "%{y:.1%}";
  if (panel.reference) {
    traces.push({
      ...steps(panel.reference, section, end, !small), name: section.reference, mode: "lines",
      line: { color: color("soft"), width: small ? 1.2 : 1.6, dash: "dash", shape: "hv" },
      hovertemplate: hover,
    });
  }
  inFocus(section.methods).forEach(([name, i]) => {
    const line = panel.lines[i];
    if (!line || state.hidden.has(name)) return;
    const index = data.methods.findIndex((m) => m.name === name);
    const { symbol, dash } = data.methods[index], tone = color(`m${index}`);
    const wide = name === data.focus ? 1.8 : 1;
    const stop = kind === "raw" ? Math.min(line.end, end) : end;
    const curve = steps(line[kind], section, stop, !small);
    traces.push({
      ...curve, name, mode: small || brief ? "lines" : "lines+markers", hovertemplate: hover,
      line: { color: tone, width: (small ? 1.5 : 2) * wide, shape: "hv", dash },
      marker: { color: tone, symbol, size: 7, maxdisplayed: 7 },
    });
    // The share that has been reached when the budget is spent.
    let at = curve.x.findIndex((x) => x > line.end * 1.0001);
    at = at < 0 ? curve.x.length - 1 : at - 1;
    traces.push({
      x: [line.end], y: [curve.y[Math.max(at, 0)]], mode: "markers", hoverinfo: "skip",
      marker: { color: tone, symbol: "x-thin", size: small ? 6 : 9, line: { color: tone, width: small ? 1.5 : 2 } },
      cliponaxis: false,
    });
  });
  const top = Math.log10(end);
  const layout = frame({
    xaxis: {
      type: "log", range: [0, top], dtick: Math.max(1, Math.ceil(top / (small ? 3 : place.clientWidth < 480 ? 4 : 8))), exponentformat: "power",
      title: small ? undefined : { text: section.x, standoff: 8 },
      hoverformat: ".3s",
    },
    yaxis: {
      range: [0, 1.005], tickformat: ".0%", dtick: small ? 0.5 : 0.2,
      title: small || brief ? undefined : { text: section.y, standoff: 8 },
    },
    hovermode: "x unified",
  });
  if (small) {
    layout.margin = { l: 34, r: 14, t: 6, b: 20 };
    layout.font.size = 10;
  }
  if (brief) layout.margin = BRIEF;
  return { traces, layout };
}

// Methods with their places; the one in focus is drawn last, above the others.
function inFocus(methods) {
  return methods.map((name, i) => [name, i]).sort((a, b) => (a[0] === data.focus) - (b[0] === data.focus));
}

// The median error over time, and the band of the middle half of the runs

function convergence(place) {
  const section = data.sections[place.dataset.section];
  const { decade, panels } = section.convergence, panel = panels[place.dataset.panel];
  const small = Boolean(place.dataset.small), traces = [];
  let end = 10, low = 0, high = 0;
  inFocus(section.methods).forEach(([name, i]) => {
    const line = panel.lines[i];
    if (!line || state.hidden.has(name)) return;
    const index = data.methods.findIndex((m) => m.name === name);
    const tone = color(`m${index}`), { dash } = data.methods[index];
    const x = line.median.map((_, k) => 10 ** (k / decade));
    const errors = (values) => values.map((v) => (v === null ? null : 10 ** v));
    const known = [...line.median, ...(line.low || []), ...(line.high || [])].filter((v) => v !== null);
    end = Math.max(end, x[x.length - 1]);
    low = Math.min(low, ...known);
    high = Math.max(high, ...known);
    const common = { x, mode: "lines", legendgroup: name };
    if (line.low) {
      // A band has no gaps: it begins where both of its ends are known.
      const begin = line.high.findIndex((v) => v !== null);
      const band = { ...common, x: x.slice(begin), line: { width: 0, shape: "hv" }, hoverinfo: "skip" };
      if (begin >= 0) traces.push(
        { ...band, y: errors(line.high).slice(begin) },
        { ...band, y: errors(line.low).slice(begin), fill: "tonexty", fillcolor: `${tone.trim()}30` });
    }
    traces.push({
      ...common, y: errors(line.median), name, hovertemplate: "%{y:.2g}",
      line: { color: tone, width: (small ? 1.5 : 2) * (name === data.focus ? 1.8 : 1), shape: "hv", dash },
    });
  });
  const top = Math.log10(end), span = high - low;
  const layout = frame({
    xaxis: {
      type: "log", range: [0, top], dtick: Math.max(1, Math.ceil(top / (small ? 3 : 8))), exponentformat: "power",
      title: small ? undefined : { text: section.x, standoff: 8 }, hoverformat: ".3s",
    },
    yaxis: {
      type: "log", range: [low - 0.04 * span, high + 0.04 * span], exponentformat: "power",
      dtick: Math.max(1, Math.ceil(span / (small ? 3 : 8))),
      title: small ? undefined : { text: "median error", standoff: 8 },
    },
    hovermode: "x unified",
  });
  if (small) {
    layout.margin = { l: 40, r: 14, t: 6, b: 20 };
    layout.font.size = 10;
  }
  return { traces, layout };
}

// Operator use in a run; in brief, without the probabilities

const PATTERNS = ["", "/", ".", "x", "-"];
const OPERATORS = 10;

function keyOfOperator(name, k) {
  // Repeated colors are hatched, in the plot and here.
  const key = element("span", { className: k < OPERATORS ? "key operator" : "key operator hatched" }, name);
  key.style.setProperty("--c", `var(--o${k % OPERATORS})`);
  return key;
}

// Ticks at integer powers of ten, at most so many; below two decades as Plotly chooses.
function powers(values, most) {
  const logs = values.filter((v) => v > 0).map(Math.log10);
  const span = logs.length ? Math.max(...logs) - Math.min(...logs) : 0;
  return span < 2 ? { nticks: 3 } : { dtick: Math.ceil(span / most) };
}

function course(place) {
  const run = data.courses[Number(place.dataset.run || 0)], brief = Boolean(place.dataset.brief);
  const traces = [];
  const x = [0, ...run.evaluations];
  run.operators.forEach((name, k) => {
    const tone = color(`o${k % OPERATORS}`), pattern = PATTERNS[Math.floor(k / OPERATORS) % 5];
    const common = { x, name };
    traces.push({
      ...common, y: [run.shares[k][0], ...run.shares[k]].map((s) => s / 1000), yaxis: "y",
      // A share is of the evaluations since the previous row.
      stackgroup: "use", mode: "lines", line: { width: 0, shape: "vh" }, fillcolor: tone,
      fillpattern: { shape: pattern, fgcolor: color("paper"), bgcolor: tone, size: 6 },
      hovertemplate: "%{y:.1%}",
    });
    if (!brief) traces.push({
      ...common, y: [run.probabilities[k][0], ...run.probabilities[k]].map((s) => s / 1000),
      yaxis: "y2", mode: "lines", hovertemplate: "%{y:.1%}",
      line: { width: 1.6, color: color(`l${k % OPERATORS}`), dash: ["solid", "dash", "dot"][Math.floor(k / OPERATORS) % 3] },
    });
  });
  traces.push({
    x: run.evaluations, y: run.best, yaxis: "y3", mode: "lines", name: run.label,
    line: { color: color("ink"), width: 2 }, hovertemplate: "%{y:.4g}",
  });
  const narrow = place.clientWidth < 560;
  const logarithmic = run.best.every((v) => v === null || v > 0);
  const layout = frame({
    xaxis: {
      anchor: "y3", range: [0, x[x.length - 1]], title: { text: "evaluations", standoff: 8 },
      exponentformat: "none", separatethousands: true, nticks: narrow ? 4 : brief ? 5 : 9,
    },
    yaxis: {
      domain: [brief ? 0.36 : 0.6, 1], range: [0, 1], tickformat: ".0%", dtick: brief ? 0.5 : 0.25,
      title: brief ? undefined : { text: "share of evaluations", standoff: 10 },
    },
    yaxis2: { domain: [0.31, 0.56], rangemode: "tozero", tickformat: ".0%", nticks: 5, title: { text: "probability", standoff: 10 } },
    yaxis3: {
      domain: [0, brief ? 0.3 : 0.27], type: logarithmic ? "log" : "linear", exponentformat: "power",
      ...(logarithmic ? powers(run.best, brief ? 3 : 6) : { nticks: 4 }),
      title: brief ? undefined : { text: run.label, standoff: 10 },
    },
    hovermode: "x unified",
    shapes: run.restarts.map((at) => ({
      type: "line", x0: at, x1: at, yref: "paper", y0: 0, y1: 1,
      line: { color: color("soft"), width: 1, dash: "dot" },
    })),
  });
  layout.separators = ".\u202f";
  layout.margin = brief ? BRIEF : { ...layout.margin, l: 76 };
  if (brief) delete layout.yaxis2;
  return { traces, layout };
}

function startCourses() {
  const place = document.querySelector("[data-plot=course]:not([data-brief])");
  if (!place || !data.courses.length) return;
  const menus = Object.fromEntries(all("[data-menu]").map((m) => [m.dataset.menu, m]));
  const keys = place.closest("figure").querySelector(".keys");
  const several = new Set(data.courses.map((c) => c.dimension)).size > 1;
  const where = (c) => (several ? `${c.name}, ${c.dimension}-D` : c.name);
  const what = (c) => (c.repetition > 1 ? `${c.problem}, repetition ${c.repetition}` : c.problem);

  function fill(menu, texts, chosen) {
    menu.replaceChildren(...texts.map((text) => new Option(text, text, text === chosen, text === chosen)));
  }
  function show(index) {
    const run = data.courses[index];
    const same = data.courses.filter((c) => c.method === run.method);
    const order = (a, b) => a.function.localeCompare(b.function, "en", { numeric: true }) || a.dimension - b.dimension;
    const unique = (texts) => [...new Set(texts)];
    fill(menus.method, unique(data.courses.map((c) => c.method)), run.method);
    fill(menus.function, unique([...same].sort(order).map(where)), where(run));
    fill(menus.instance, same.filter((c) => where(c) === where(run)).map(what), what(run));
    keys.replaceChildren(
      // null: its optimum is not known
      element("b", { className: "key" }, run.title + ({ true: ", solved", false: ", not solved" }[run.solved] ?? "")),
      ...run.operators.map((name, k) => keyOfOperator(name, k)));
    for (const pick of all("button[data-run]")) pick.classList.toggle("here", pick.dataset.run === String(index));
    place.dataset.run = index;
    place.dataset.label = `Operator use, probabilities and error: ${run.title}`;
    if (place.dataset.drawn) paint(place);
  }
  const find = (test) => Math.max(0, data.courses.findIndex(test));
  menus.method.addEventListener("change", () => {
    const at = data.courses[Number(place.dataset.run)];
    const same = data.courses.findIndex((c) => c.method === menus.method.value && where(c) === where(at));
    show(same >= 0 ? same : find((c) => c.method === menus.method.value));
  });
  menus.function.addEventListener("change", () => show(find(
    (c) => c.method === menus.method.value && where(c) === menus.function.value)));
  menus.instance.addEventListener("change", () => show(find(
    (c) => c.method === menus.method.value && where(c) === menus.function.value
      && what(c) === menus.instance.value)));
  for (const pick of all("button[data-run]")) pick.addEventListener("click", () => show(Number(pick.dataset.run)));
  show(0);
}
