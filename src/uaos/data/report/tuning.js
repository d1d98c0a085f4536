// A tuning: who survived, and which values were drawn.
function survival(place) {
  const found = data.tunings[place.dataset.tuning];
  const traces = [];
  let start = 0, raced = 0;
  const middles = [], names = [], edges = [];
  found.races.forEach((race) => {
    const tone = color("l0");
    // One step more, so that what is left at the end is seen.
    const y = [...race.alive, race.alive[race.alive.length - 1]];
    const x = y.map((_, step) => start + step);
    const problems = y.map((_, step) => (step ? found.problems[raced + Math.min(step, race.alive.length - 1) - 1] : "start"));
    traces.push({
      x, y, customdata: problems, mode: "lines", line: { shape: "hv", color: tone, width: 2 },
      fill: "tozeroy", fillcolor: `${tone}33`, name: `race ${race.race}`,
      hovertemplate: `race ${race.race}, %{customdata}: %{y} left<extra></extra>`,
    });
    middles.push(start + race.alive.length / 2);
    names.push(String(race.race));
    start += race.alive.length;
    raced += race.alive.length - 1;
    edges.push(start);
  });
  return {
    traces,
    layout: frame({
      xaxis: { tickvals: middles, ticktext: names, ticks: "", showgrid: false, range: [0, start],
               title: { text: "race (as wide as it has problems)", standoff: 8 } },
      yaxis: { rangemode: "tozero", title: { text: "candidates left", standoff: 8 } },
      hovermode: "closest",
      shapes: edges.slice(0, -1).map((at) => ({
        type: "line", x0: at, x1: at, yref: "paper", y0: 0, y1: 1, line: { color: color("line"), width: 1 },
      })),
    }),
  };
}

const COMPACT = { l: 40, r: 8, t: 8, b: 24 };

function races(count) {
  return { dtick: Math.max(1, Math.ceil(count / 8)), range: [0.4, count + 0.6], showgrid: false };
}

// At once, not when they are drawn: what stands below a plot must not move while the page is read.
function startChoices() {
  for (const place of all("[data-plot=choice]")) {
    const one = data.tunings[place.dataset.tuning].choices[place.dataset.name];
    place.after(element("div", { className: "keys" }, ...one.values.map((value, k) =>
      keyOfOperator(value === one.winner ? `${value} ★` : value, k))));
  }
}

function choice(place) {
  const one = data.tunings[place.dataset.tuning].choices[place.dataset.name];
  const count = one.shares[0].length;
  const traces = one.values.map((value, k) => ({
    type: "bar", x: one.shares[k].map((_, i) => i + 1), y: one.shares[k], name: value,
    marker: { color: color(`o${k % OPERATORS}`), pattern: { shape: PATTERNS[Math.floor(k / OPERATORS) % 5] },
              line: { color: color("paper"), width: 0.5 } },
    hovertemplate: `${value}: %{y:.0%} in race %{x}<extra></extra>`,
  }));
  const layout = frame({
    barmode: "stack", bargap: 0.1, xaxis: races(count),
    yaxis: { range: [0, 1], tickformat: ".0%", dtick: 0.5 }, hovermode: "closest",
  });
  layout.margin = COMPACT;
  layout.font.size = 10;
  return { traces, layout };
}

function number(place) {
  const one = data.tunings[place.dataset.tuning].numbers[place.dataset.name];
  const x = [], y = [], race = [], middleX = [], middleY = [];
  let turn = 1;
  one.values.forEach((values, i) => {
    for (const value of values) {
      turn = (turn * 16807) % 2147483647; // always the same places, spread sideways
      x.push(i + 1 + 0.6 * (turn / 2147483647 - 0.5));
      y.push(value);
      race.push(i + 1);
    }
    if (values.length) {
      const sorted = [...values].sort((a, b) => a - b), half = sorted.length >> 1;
      const middle = sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
      middleX.push(i + 0.6, i + 1.4, null);
      middleY.push(middle, middle, null);
    }
  });
  const traces = [
    { x, y, customdata: race, mode: "markers", marker: { color: color("l0"), size: 4, opacity: root.dataset.theme === "dark" ? 0.8 : 0.45 },
      hovertemplate: "%{y} in race %{customdata}<extra></extra>" },
    { x: middleX, y: middleY, mode: "lines", line: { color: color("ink"), width: 1.6 }, hoverinfo: "skip" },
  ];
  const count = one.values.length;
  const shapes = [];
  if (one.winner !== null) {
    const tone = color("l1");
    traces.push({ x: [count + 0.45], y: [one.winner], mode: "markers", cliponaxis: false,
      marker: { symbol: "star", size: 11, color: tone }, hovertemplate: "the winner has %{y}<extra></extra>" });
    shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, y0: one.winner, y1: one.winner,
      line: { color: tone, width: 1 } });
  }
  const span = one.log ? [Math.log10(one.low), Math.log10(one.high)] : [one.low, one.high];
  const room = 0.04 * (span[1] - span[0]);
  const layout = frame({
    xaxis: races(count), shapes, hovermode: "closest",
    yaxis: { type: one.log ? "log" : "linear", range: [span[0] - room, span[1] + room], nticks: 5 },
  });
  layout.margin = COMPACT;
  layout.font.size = 10;
  return { traces, layout };
}
