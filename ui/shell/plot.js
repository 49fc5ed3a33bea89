// A Plotly figure that is redrawn in place. Streamlit's own chart is taken down and built anew at every change, which
// takes three times as long (benchmarks/app.py); a page whose pictures follow a slider has no time for that.

const LATER = 1000;        // milliseconds
let loading;

function library() {
  // plotly.js as it lies in the Python package, so that both are of one version; served by ui/plot.py
  loading ??= new Promise((found, lost) => {
    const streamlit = document.querySelector('script[src*="static/js/"]').src;
    const script = document.createElement("script");
    script.src = streamlit.replace(/static\/js\/.*$/, "component/ui.shell.plot.plotly/plotly.min.js");
    script.onload = () => found(window.Plotly);
    script.onerror = lost;
    document.head.append(script);
  });
  return loading;
}

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
const TITLE = 46;          // pixels of a title and of the names on an axis, of panels that are stacked

function stacked(layout, width, height) {
  // Panels side by side (`panels.py` says how many) put one under the other; returns how high that is.
  const count = layout.meta?.panels;
  if (!count || width / count >= NARROW) return height;
  const each = 0.75 * height, total = count * each, room = TITLE / total;
  for (let i = 0; i < count; i++) {
    const number = i ? i + 1 : "", top = 1 - i / count;
    Object.assign(layout[`xaxis${number}`], {domain: [0, 1]});
    Object.assign(layout[`yaxis${number}`], {domain: [top - 1 / count + room, top], showticklabels: true});
    Object.assign(layout.annotations[i], {x: 0.5, y: top, font: {size: 13}});
    if (i) layout.annotations[i].y -= 0.2 * room;
    layout[`yaxis${number}`].domain[1] -= i ? room : 0;
  }
  if (layout.legend?.y < 0) layout.legend.y = -1.6 * room;
  return total;
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
  window.Plotly.react(box, data, layout, OPTIONS);
  if (!box.heard) box.heard = box.on("plotly_click", ({points: [{x, y, customdata}]}) => {
    if (ArrayBuffer.isView(customdata)) customdata = Array.from(customdata);
    if (box.wanted.clickable) box.tell({x, y, customdata});
  });
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
  await library();
  drawInTime(box);
  box.watched ??= watch(box);
  return () => {
    // Streamlit also tidies up after a call that the next one overtook: the box is that one's now.
    if (box.turn !== turn) return;
    clearTimeout(box.later);
    for (const watcher of box.watched) watcher.disconnect();
    window.Plotly.purge(box);
    box.watched = box.drawn = box.heard = undefined;
  };
}
