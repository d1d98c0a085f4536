// Tables: sorted by any column, filtered, saved as CSV; texts copied.
function keyOf(row, column) {
  const cell = row.cells[column];
  const given = cell.dataset.sort;
  const text = given !== undefined ? given : cell.textContent.replace(/[\u202f\u00a0]/g, "").trim();
  if (text === "" || text === "–") return null;
  if (text === "inf" || text === "∞") return Infinity;
  const number = Number(given !== undefined ? text : text.replace(/^p = |[%/].*$/g, "").replace(/ × 10/, "e").replace(/[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]/g, (c) => (c === "⁻" ? "-" : "⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(c))));
  return Number.isNaN(number) ? text.toLowerCase() : number;
}

function compare(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
  return typeof a === "number" ? -1 : 1;
}

function sortBy(table, column, direction) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  rows.forEach((row, i) => { if (row.dataset.place === undefined) row.dataset.place = i; });
  const keys = new Map(rows.map((row) => [row, keyOf(row, column)]));
  const sign = direction === "descending" ? -1 : 1;
  rows.sort((a, b) => {
    const [x, y] = [keys.get(a), keys.get(b)];
    const empty = (x === null) - (y === null);
    return empty || sign * compare(x, y) || a.dataset.place - b.dataset.place;
  });
  body.append(...rows);
  for (const head of all("th", table.tHead)) head.removeAttribute("aria-sort");
  table.tHead.rows[0].cells[column].setAttribute("aria-sort", direction);
  const box = table.closest(".filtered");
  if (box) {
    box.classList.toggle("sorted", column > 0);
    filter(box);
  }
}

function filter(box) {
  const value = (name) => {
    const menu = box.querySelector(`[data-filter=${name}]`);
    return menu ? menu.value : "";
  };
  const wanted = [value("where"), value("who")].filter(Boolean).map((v) => {
    const cut = v.indexOf(":");
    return [v.slice(0, cut), v.slice(cut + 1)];
  });
  for (const row of all("tbody tr", box)) {
    const reference = row.classList.contains("reference");
    let shown = wanted.every(([key, text]) => row.dataset[key] === text || (reference && key === "method"));
    // Rows of the reference head each function; among sorted ratios they would only confuse.
    if (reference && box.classList.contains("sorted")) shown = false;
    row.hidden = !shown;
  }
}

function save(name, text) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" })), download: `${name}.csv` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function copy(button) {
  const text = button.parentElement.querySelector("pre").textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Browsers that do not let a file write to the clipboard still copy what is selected.
    const range = document.createRange();
    range.selectNodeContents(button.parentElement.querySelector("pre"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    document.execCommand("copy");
  }
  button.textContent = "copied";
  setTimeout(() => { button.textContent = "copy"; }, 1500);
}

function startTables() {
  for (const head of all("thead th[data-column]")) {
    head.querySelector("button").addEventListener("click", () => {
      const ascending = head.getAttribute("aria-sort") !== "ascending";
      sortBy(head.closest("table"), Number(head.dataset.column), ascending ? "ascending" : "descending");
    });
  }
  for (const menu of all("[data-filter]")) menu.addEventListener("change", () => filter(menu.closest(".filtered")));
  for (const button of all("[data-csv]")) {
    button.addEventListener("click", () => save(button.dataset.csv, data.csv[button.dataset.csv] || ""));
  }
  for (const button of all(".copy")) button.addEventListener("click", () => copy(button));
}
