/* The page map.md: the score of every combination of components, and its neighbors. */
(() => {
  const data = window.uaosMap;
  const root = document.getElementById("map");
  if (!data || !root) return;
  const families = Object.keys(data.components);
  const levels = families.map((family) => data.components[family]);
  const strides = levels.map((_, f) => levels.slice(f + 1).reduce((n, names) => n * names.length, 1));
  const sorted = [...data.scores].sort((a, b) => b - a);
  const state = { chosen: data.start.slice(), rows: "reward", columns: "selection" };

  function make(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  }

  const number = (chosen) => chosen.reduce((sum, level, f) => sum + level * strides[f], 0);
  const score = (chosen) => data.scores[number(chosen)] / 1000;
  const shown = (value) => value.toFixed(3).replace("-", "−");
  const place = (value) => sorted.findIndex((other) => other / 1000 <= value) + 1;

  function choose(label, options, selected, onchange) {
    const menu = make("select", { onchange: () => onchange(menu.selectedIndex) });
    options.forEach((text, k) => {
      const option = make("option", {}, text);
      option.selected = k === selected;
      menu.append(option);
    });
    return make("label", { class: "map-choice" }, make("span", {}, label), menu);
  }

  function neighbors() {
    const found = [];
    families.forEach((family, f) => levels[f].forEach((name, level) => {
      if (level === state.chosen[f]) return;
      const other = state.chosen.slice();
      other[f] = level;
      found.push({ other, text: `${family}: ${name}`, value: score(other) });
    }));
    return found.sort((a, b) => b.value - a.value).slice(0, 8);
  }

  function go(chosen) { state.chosen = chosen; show(); }

  function neighborList() {
    const value = score(state.chosen);
    const list = make("ol", { class: "map-neighbors" });
    for (const one of neighbors()) {
      const better = one.value > value;
      list.append(make("li", {},
        make("button", { type: "button", onclick: () => go(one.other) }, one.text),
        ` ${shown(one.value)}${better ? " ▲" : ""}`));
    }
    return list;
  }

  function means(a, b) {
    const sums = levels[a].map(() => levels[b].map(() => 0));
    const size = data.scores.length / levels[a].length / levels[b].length;
    data.scores.forEach((value, k) => {
      const i = Math.floor(k / strides[a]) % levels[a].length;
      const j = Math.floor(k / strides[b]) % levels[b].length;
      sums[i][j] += value / 1000 / size;
    });
    return sums;
  }

  function color(value, least, most) {
    const share = (value - least) / (most - least || 1);
    return `color-mix(in srgb, var(--md-accent-fg-color) ${Math.round(5 + 75 * share)}%, transparent)`;
  }

  function heatMap() {
    const a = families.indexOf(state.rows), b = families.indexOf(state.columns);
    const cells = means(a, b), all = cells.flat();
    const least = Math.min(...all), most = Math.max(...all);
    const table = make("table", { class: "map-heat" });
    table.append(make("tr", {}, make("th"), ...levels[b].map((name) => make("th", { scope: "col" },
      make("span", {}, name)))));
    levels[a].forEach((name, i) => table.append(make("tr", {}, make("th", { scope: "row" }, name),
      ...levels[b].map((other, j) => {
        const marked = state.chosen[a] === i && state.chosen[b] === j;
        return make("td", { style: `background:${color(cells[i][j], least, most)}`,
          class: marked ? "marked" : "", title: `${name}, ${other}: ${shown(cells[i][j])}`,
          onclick: () => {
            const chosen = state.chosen.slice();
            chosen[a] = i;
            chosen[b] = j;
            go(chosen);
          } }, shown(cells[i][j]).replace("0.", "."));
      }))));
    return make("div", { class: "map-scroll" }, table);
  }

  function axisMenus() {
    return ["rows", "columns"].map((axis) => {
      const other = axis === "rows" ? state.columns : state.rows;
      const names = families.filter((family) => family !== other);
      return choose(axis, names, names.indexOf(state[axis]), (k) => { state[axis] = names[k]; show(); });
    });
  }

  function show() {
    const value = score(state.chosen);
    root.replaceChildren(
      make("div", { class: "map-menus" }, ...families.map((family, f) => choose(family, levels[f],
        state.chosen[f], (level) => go(state.chosen.map((old, g) => (g === f ? level : old)))))),
      make("p", { class: "map-score", "aria-live": "polite" }, make("strong", {}, shown(value)),
        ` place ${place(value).toLocaleString("en")} of ${sorted.length.toLocaleString("en")}`),
      make("p", {}, "The best methods that differ in one component:"), neighborList(),
      make("div", { class: "map-menus" }, make("span", {}, "Mean scores of all methods with"),
        ...axisMenus()), heatMap());
  }
  show();
})();
