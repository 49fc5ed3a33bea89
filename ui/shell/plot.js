// A Plotly figure that is redrawn in place. Streamlit's own chart is taken down and built anew at every change, which
// takes three times as long (benchmarks/app.py); a page whose pictures follow a slider has no time for that.

const LATER = 1000;        // milliseconds

function themed(box) {
  // The look of Streamlit's theme, light or dark as it is now.
  const style = getComputedStyle(box), of = name => style.getPropertyValue(`--st-${name}`).trim();
  const text = of("text-color"), lines = of("border-color-light") || of("border-color"), paper = of("background-color");
  const axis = {
    gridcolor: lines, zerolinecolor: lines, linecolor: lines, tickcolor: lines, automargin: true,
    tickfont: {size: 12}, title: {font: {size: 14}, standoff: 16},
  };
  return {
    colorway: of("chart-categorical-colors").split(",").map(colour => colour.trim()),
    font: {color: text, family: of("font"), size: 12},
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    hoverlabel: {bgcolor: paper, bordercolor: of("border-color"), font: {color: text, family: of("font"), size: 13}},
    modebar: {bgcolor: "rgba(0,0,0,0)", color: of("border-color"), activecolor: text},
    margin: {pad: 4}, xaxis: {...axis, showgrid: false, zeroline: false}, yaxis: axis,
    coloraxis: {colorbar: {thickness: 16, outlinewidth: 0}},
  };
}

const FULL = {
  name: "Fullscreen", title: "Fullscreen",
  icon: {width: 24, height: 24, path: "M3 3h7v2H5v5H3zM14 3h7v7h-2V5h-5zM3 14h2v5h5v2H3zM19 14h2v7h-7v-2h5z"},
  click: plot => document.fullscreenElement ? document.exitFullscreen() : plot.requestFullscreen(),
};
const OPTIONS = {
  displaylogo: false, showSendToCloud: false, modeBarButtonsToAdd: [FULL],
  modeBarButtonsToRemove: ["lasso2d", "select2d", "sendChartToCloud"],
};

const NARROW = 200;        // pixels of a panel below which panels stand one under the other
const LETTER = 7.4;        // of a letter of a panel's title
const TITLE = 40;          // pixels of the title of a panel that is stacked
const TICKS = 26;          // of the numbers below it
const NAME = 24;           // of the name of its axis
const ROW = 30;            // of a legend of one row, for which there is always room

function stacked(layout, width, height) {
  // Panels side by side (`panels.py` says how many) put one under the other; returns how high that is.
  const count = layout.meta?.panels;
  if (!count) return height;
  const lines = layout.annotations.slice(0, count).flatMap(title => title.text.replace(/<sup>.*?<\/sup>/g, "").split("<br>"));
  const widest = LETTER * Math.max(...lines.map(line => line.replace(/<[^>]*>/g, "").length));
  if (width / count >= Math.max(NARROW, widest)) return height;
  const axis = (letter, i) => layout[`${letter}axis${i ? i + 1 : ""}`], last = count - 1;
  const upright = axis("x", 0).tickangle === -90;              // long names, the same below every panel: once is enough
  const below = upright ? 0 : TICKS + (axis("x", 0).title?.text ? NAME : 0);
  const {t = 40, b = 60} = layout.margin ?? {}, body = 0.62 * height;
  const inner = count * body + last * (below + TITLE);
  for (let i = 0; i < count; i++) {
    const top = 1 - i * (body + below + TITLE) / inner;
    Object.assign(axis("x", i), {domain: [0, 1]}, upright && i < last ? {showticklabels: false} : {});
    Object.assign(axis("y", i), {domain: [Math.max(0, top - body / inner), top], showticklabels: true});
    Object.assign(layout.annotations[i], {x: 0.5, y: top, font: {size: 13}});
  }
  if (layout.legend?.y < 0) layout.legend.y = -(TICKS + NAME + 14) / inner;
  return inner + t + b;
}

function withRoom(box, high) {
  // A legend of many rows takes its place from the picture: make that higher by as much, once drawn and measured.
  const rows = box.querySelector(".legend")?.getBoundingClientRect().height ?? 0;
  if (rows <= ROW) return;
  box.style.height = `${high + rows - ROW}px`;
  box.by.relayout(box, {height: high + rows - ROW});
}

function draw(box) {
  // What is wanted now, at the size and in the colours there are now; nothing where that is drawn already.
  clearTimeout(box.later);
  const {figure, height} = box.wanted, width = box.clientWidth, full = document.fullscreenElement === box;
  const theme = themed(box), as = JSON.stringify([figure, width, full, theme]);
  if (!width || as === box.drawn) return;
  box.drawn = as;
  const {data, layout} = JSON.parse(figure);
  const high = full ? window.innerHeight : stacked(layout, width, height);
  if (!full) box.style.height = `${high}px`;
  Object.assign(layout, {template: {layout: theme}, width, height: high});
  if (box.by && box.by !== box.plotly) clear(box);             // the whole plotly.js came, and the small one goes
  box.by = box.plotly;
  box.by.react(box, data, layout, OPTIONS);
  if (!full) withRoom(box, high);
  if (!box.heard) box.heard = box.on("plotly_click", ({points: [{x, y, customdata}]}) => {
    if (ArrayBuffer.isView(customdata)) customdata = Array.from(customdata);
    if (box.wanted.clickable) box.tell({x, y, customdata});
  });
}

function clear(box) {
  box.by?.purge(box);
  box.by = box.heard = undefined;
}

function drawInTime(box) {
  // At once what can be seen; what is above or below, when it comes into view or nothing was asked for a while.
  clearTimeout(box.later);
  if (box.seen) draw(box);
  else box.later = setTimeout(() => draw(box), LATER);
}

function watch(box) {
  const sized = new ResizeObserver(() => drawInTime(box));
  const scrolled = new IntersectionObserver(moments => {
    box.seen = moments.at(-1).isIntersecting;
    if (box.seen) draw(box);
  });
  sized.observe(box);
  scrolled.observe(box);
  return [sized, scrolled];
}

export default async function ({data, parentElement, setTriggerValue}) {
  const box = parentElement.querySelector(".stPlotlyChart"), turn = box.turn = Symbol("a call of this function");
  box.wanted = data;
  box.tell = point => setTriggerValue("clicked", point);
  if (!box.drawn) box.style.height = `${data.height}px`;
  box.setAttribute("aria-label", data.alt);
  box.classList.toggle("clickable", data.clickable);
  box.plotly = await library(data.whole ? "whole" : "small");
  drawInTime(box);
  box.watched ??= watch(box);
  return () => {
    // Streamlit also tidies up after a call that the next one overtook: the box is that one's now.
    if (box.turn !== turn) return;
    clearTimeout(box.later);
    for (const watcher of box.watched) watcher.disconnect();
    clear(box);
    box.watched = box.drawn = undefined;
  };
}
