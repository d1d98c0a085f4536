// Light or dark: as the system has it, until the reader chooses.
const themed = [];

function showTheme(theme) {
  root.dataset.theme = theme;
  const button = document.getElementById("theme");
  button.setAttribute("aria-pressed", String(theme === "dark"));
  for (const redraw of themed) redraw();
}

function startTheme() {
  showTheme(root.dataset.theme);
  document.getElementById("theme").addEventListener("click", () => {
    const theme = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("uaos-theme", theme); } catch { /* then it is forgotten */ }
    showTheme(theme);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => {
    let chosen = null;
    try { chosen = localStorage.getItem("uaos-theme"); } catch { /* nothing was chosen */ }
    if (!chosen) showTheme(event.matches ? "dark" : "light");
  });
}
