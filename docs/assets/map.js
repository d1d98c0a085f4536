/* The page map.md: the score of every combination of components, and its neighbors. */
(() => {
  const data = window.uaosMap;
  const root = document.getElementById("map");
  if (!data || !root) return;
  const families = Object.keys(data.components);
  const levels = families.map((family) => data.components[family]);
  const strides = levels.map((_, f) => levels.slice(f + 1).reduce((n, names) => n * names.length, 1));
  const measures = { replays: "score in replays", runs: "chance against uniform choice in real runs" };
  const menu = { replays: "replays", runs: "real runs" };
  const sorted = Object.fromEntries(
    Object.entries(data.scores).map(([name, scores]) => [name, [...scores].sort((a, b) => b - a)]));
  const state = { chosen: data.published[data.start].slice(), measure: "runs", rows: "reward", columns: "selection" };

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
  const score = (chosen, measure = state.measure) => data.scores[measure][number(chosen)] / 1000;
  const shown = (value) => value.toFixed(3).replace("-", "−");
  const place = (value, measure) => sorted[measure].findIndex((other) => other / 1000 <= value) + 1;

  function choose(label, options, selected, onchange) {
    const list = make("select", { onchange: () => onchange(list.selectedIndex) });
    options.forEach((text, k) => {
      const option = make("option", {}, text);
      option.selected = k === selected;
      list.append(option);
    });
    return make("label", { class: "map-choice" }, make("span", {}, label), list);
  }

  /* The best of the better methods that differ in one component, and of those that differ in two. */
  function betterNeighbors() {
    const value = score(state.chosen);
    const exchanges = families.flatMap((_, f) => levels[f].map((_, level) => [f, level]))
      .filter(([f, level]) => level !== state.chosen[f]);
    const exchanged = (pairs) => {
      const other = state.chosen.slice();
      for (const [f, level] of pairs) other[f] = level;
      const text = pairs.map(([f, level]) => `${families[f]}: ${levels[f][level]}`).join(", ");
      return { other, text, value: score(other) };
    };
    const best = (methods) => methods.filter((one) => one.value > value)
      .sort((a, b) => b.value - a.value);
    const one = best(exchanges.map((exchange) => exchanged([exchange]))).slice(0, 6);
    const two = best(exchanges.flatMap((first, k) => exchanges.slice(k + 1)
      .filter(([f]) => f !== first[0]).map((second) => exchanged([first, second])))).slice(0, 3);
    return { one, two };
  }

  function go(chosen) { state.chosen = chosen; show(); }

  /* A menu of the published methods; those that have the same components share an entry. */
  const published = Object.entries(data.published).reduce((entries, [name, places]) => {
    const key = places.join();
    const same = entries.find((entry) => entry.key === key);
    if (same) same.names.push(name);
    else entries.push({ key, places, names: [name] });
    return entries;
  }, []);

  function publishedMenu() {
    const own = published.findIndex((entry) => entry.key === state.chosen.join());
    const names = published.map((entry) => entry.names.join(", "));
    return choose("components of", own < 0 ? ["–", ...names] : names, Math.max(own, 0),
      (k) => k - (own < 0) >= 0 && go(published[k - (own < 0)].places.slice()));
  }

  function neighborList(neighbors) {
    const list = make("ol", { class: "map-neighbors" });
    for (const one of neighbors) {
      list.append(make("li", {}, make("span", {}, shown(one.value)),
        make("button", { type: "button", onclick: () => go(one.other) }, one.text)));
    }
    return list;
  }

  function neighborLists() {
    const { one, two } = betterNeighbors();
    if (!one.length && !two.length) return [make("p", {}, "No method that differs in one or two components is better.")];
    const lists = [];
    if (one.length) lists.push(make("p", {}, "Better methods that differ in one component:"), neighborList(one));
    if (two.length) lists.push(make("p", {}, "The best that differ in two:"), neighborList(two));
    return lists;
  }

  function means(a, b) {
    const scores = data.scores[state.measure];
    const sums = levels[a].map(() => levels[b].map(() => 0));
    const size = scores.length / levels[a].length / levels[b].length;
    scores.forEach((value, k) => {
      const i = Math.floor(k / strides[a]) % levels[a].length;
      const j = Math.floor(k / strides[b]) % levels[b].length;
      sums[i][j] += value / 1000 / size;
    });
    return sums;
  }

  function color(value, least, most) {
    const share = (value - least) / (most - least || 1);
    return `color-mix(in srgb, var(--md-accent-fg-color) ${Math.round(5 + 50 * share)}%, transparent)`;
  }

  /* A name that can be broken after an underscore. */
  const breakable = (name) => name.split(/(?<=_)/).flatMap((part) => [part, make("wbr")]);

  /* A note and fading edges say that a table is wider than the screen. */
  function scrollable(table) {
    const frame = make("div", { class: "map-scroll", tabindex: "0" }, table);
    const note = make("p", { class: "map-note" }, "The table is wider than the screen: scroll it sideways →");
    const mark = () => {
      const hidden = frame.scrollWidth - frame.clientWidth;
      note.hidden = hidden <= 1;
      frame.classList.toggle("more", hidden - frame.scrollLeft > 1);
    };
    frame.addEventListener("scroll", mark);
    new ResizeObserver(mark).observe(frame);
    return [note, frame];
  }

  function heatMap() {
    const a = families.indexOf(state.rows), b = families.indexOf(state.columns);
    const cells = means(a, b), all = cells.flat();
    const least = Math.min(...all), most = Math.max(...all);
    const table = make("table", { class: "map-heat" });
    table.append(make("tr", {}, make("th"), ...levels[b].map((name) => make("th", { scope: "col" },
      make("span", {}, name)))));
    levels[a].forEach((name, i) => table.append(make("tr", {}, make("th", { scope: "row" }, ...breakable(name)),
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
    return scrollable(table);
  }

  const groups = { all: "all methods", "100·D": "100·D, all functions", "500·D": "500·D, all functions",
    "2,000·D": "2,000·D, all functions", nine: "nine strategies", mix: "operators of mix", wide: "27 operators",
    alns: "ALNS", nsga2: "NSGA-II", portfolio: "portfolio" };
  const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value / 1000).toFixed(3).slice(1);

  /* What each chosen component adds to the chance in real runs, by sample of runs. */
  function effectTable() {
    const table = make("table", { class: "map-heat map-effects" }), starts = [];
    levels.reduce((start, names, f) => { starts[f] = start; return start + names.length; }, 0);
    table.append(make("tr", {}, make("th"), ...families.map((_, f) => make("th", { scope: "col" },
      make("span", {}, levels[f][state.chosen[f]])))));
    for (const [runs, effects] of Object.entries(data.effects)) {
      table.append(make("tr", {}, make("th", { scope: "row" }, groups[runs] || runs),
        ...families.map((_, f) => {
          const [effect, half] = effects[starts[f] + state.chosen[f]];
          if (!half) return make("td", {}, "–");
          const clear = Math.abs(effect) > half;
          return make("td", { class: clear ? "clear" : "" }, signed(effect),
            make("small", {}, ` ± ${(half / 1000).toFixed(3).slice(1)}`));
        })));
    }
    return scrollable(table);
  }

  function axisMenus() {
    return ["rows", "columns"].map((axis) => {
      const other = axis === "rows" ? state.columns : state.rows;
      const names = families.filter((family) => family !== other);
      return choose(axis, names, names.indexOf(state[axis]), (k) => { state[axis] = names[k]; show(); });
    });
  }

  function scoreLine(measure) {
    const value = score(state.chosen, measure), all = sorted[measure];
    return make("p", { class: "map-score", "aria-live": "polite" }, make("strong", {}, shown(value)),
      ` ${measures[measure]}, place ${place(value, measure).toLocaleString("en")} of ${all.length.toLocaleString("en")}`);
  }

  function show() {
    const names = Object.keys(measures);
    root.replaceChildren(
      make("div", { class: "map-menus" }, publishedMenu(), ...families.map((family, f) => choose(family, levels[f],
        state.chosen[f], (level) => go(state.chosen.map((old, g) => (g === f ? level : old)))))),
      ...names.map(scoreLine),
      make("div", { class: "map-menus" }, choose("compare by", Object.values(menu),
        names.indexOf(state.measure), (k) => { state.measure = names[k]; show(); })),
      ...neighborLists(),
      make("p", {}, "What each component adds to the chance in real runs, with 95 % intervals:"),
      ...effectTable(),
      make("p", {}, "Means of all methods with two components:"),
      make("div", { class: "map-menus" }, ...axisMenus()), ...heatMap());
  }
  show();
})();
