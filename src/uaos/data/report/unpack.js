"use strict";
// Data and Plotly lie compressed in the page.
async function unpacked(id) {
  const text = document.getElementById(id).textContent.trim();
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

async function loadPlotly() {
  const script = document.createElement("script");
  script.textContent = await unpacked("plotly");
  document.head.append(script);
  if (!window.Plotly) throw new Error("Plotly did not start");
}

const root = document.documentElement;
const all = (selector, from = document) => [...from.querySelectorAll(selector)];
const color = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}
