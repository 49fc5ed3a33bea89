// plotly.js for all figures of a tab, fetched once. Two files of one version: a small one with all that most pages
// draw, so that a first visit does not wait for maps and globes, and the whole one for what is drawn by WebGL.
const FILES = {
  small: "component/ui.shell.plot.small/plotly-cartesian.min.js",      // from npm, committed here
  whole: "component/ui.shell.plot.plotly/plotly.min.js",               // as it lies in the Python package
};
const fetched = window.qpwlPlotly ??= {};

function library(name) {
  if (name === "small" && fetched.whole) name = "whole";
  fetched[name] ??= new Promise((found, lost) => {
    const streamlit = document.querySelector('script[src*="static/js/"]').src;
    const script = document.createElement("script");
    script.src = streamlit.replace(/static\/js\/.*$/, FILES[name]);
    script.onload = () => found(window.Plotly);
    script.onerror = lost;
    document.head.append(script);
  });
  return fetched[name];
}

