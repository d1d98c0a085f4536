// Two methods head to head, problem by problem: a table of what their median runs reached.
const DECADES = 4; // a bar of full length

function duelOf(section, first, second) {
  const at = [first, second].map((name) => section.methods.indexOf(name));
  const swapped = at[0] > at[1];
  const rows = section.duels.pairs[swapped ? `${at[1]},${at[0]}` : `${at[0]},${at[1]}`] || [];
  return rows.map((row) => {
    if (!row || !swapped) return row;
    const [unit, ratio, low, high, outcome] = row;
    const inverse = (v) => (v === null ? null : 1 / v);
    return [unit, inverse(ratio), inverse(high), inverse(low), outcome === null ? null : -outcome];
  });
}

const twoDigits = (v) => {
  const rounded = Number(v.toPrecision(2));
  return rounded >= 1e5 || rounded < 1e-4 ? rounded.toExponential().replace("e+", "e") : rounded.toLocaleString("en");
};

function ratioBar(ratio, names) {
  // To the left, in the color of the first, if the first is better.
  const length = Math.min(Math.abs(Math.log10(ratio)) / DECADES, 1) * 50;
  const bar = element("span", { className: "ratio" }, element("i"));
  const index = data.methods.findIndex((m) => m.name === names[ratio < 1 ? 0 : 1]);
  bar.firstChild.style.cssText = `width:${length}%;background:var(--m${index});${ratio < 1 ? "right" : "left"}:50%`;
  return bar;
}

function duelTable(section, names) {
  const rows = duelOf(section, ...names);
  const at = names.map((name) => section.methods.indexOf(name));
  const word = { "-1": "better", 0: "no significant difference", 1: "worse" };
  const body = section.duels.problems.map((problem, k) => {
    const cells = at.map((i) => element("td", {}, section.duels.medians[i][k]));
    const row = rows[k];
    if (!row) return element("tr", {}, element("th", { className: "words", scope: "row" }, problem), ...cells, element("td", {}, "–"), element("td"), element("td"));
    const [unit, ratio, low, high, outcome] = row;
    const interval = low === null ? "" : ` (${twoDigits(low)} to ${twoDigits(high)})`;
    return element("tr", {}, element("th", { className: "words", scope: "row" }, problem), ...cells,
      element("td", {}, element("b", {}, twoDigits(ratio)), unit ? " ev." : "", element("small", {}, interval)),
      element("td", {}, ratioBar(ratio, names)),
      element("td", { className: "words" }, outcome === null ? "too few runs" : word[outcome]));
  });
  const heads = ["problem", ...names, "ratio", "", "outcome"];
  const head = element("tr", {}, ...heads.map((text, i) => element("th", { scope: "col", className: i === 0 || i === 5 ? "words" : "" }, text)));
  return { table: element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)), rows };
}

function duelAnswer(rows, names) {
  const tested = rows.filter(Boolean);
  const outcomes = tested.map((row) => row[4]).filter((o) => o !== null);
  const signs = outcomes.length ? outcomes : tested.map((row) => Math.sign(Math.log10(row[1])));
  const count = (sign) => signs.filter((s) => s === sign).length || "none";
  const how = outcomes.length ? "significantly better" : "better by the ratio of means";
  return `${names[0]} is ${how} than ${names[1]} on ${count(-1)} of ${tested.length} problems and worse on ${count(1)}.`;
}

function startDuels() {
  for (const place of all("[data-duel]")) {
    const section = data.sections[place.dataset.duel], box = place.closest(".duel");
    const menus = ["first", "second"].map((name) => box.querySelector(`[data-duel-menu=${name}]`));
    const show = (changed) => {
      if (menus[0].value === menus[1].value) { // the other one makes room
        const other = menus[changed === 0 ? 1 : 0];
        other.value = section.methods.find((name) => name !== menus[0].value);
      }
      const names = menus.map((menu) => menu.value), { table, rows } = duelTable(section, names);
      place.replaceChildren(table);
      box.querySelector("[data-duel-answer]").textContent = duelAnswer(rows, names);
    };
    menus.forEach((menu, i) => menu.addEventListener("change", () => show(i)));
    show(0);
  }
}
