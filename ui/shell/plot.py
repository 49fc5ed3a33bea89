"""A Plotly figure on a page, redrawn in place when it changes: `plot.js`, and what it needs of the server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import plotly
import streamlit as st
from streamlit import runtime

if TYPE_CHECKING:
    import plotly.graph_objects as go

HERE = Path(__file__).parent
LOAD = (HERE / "load.js").read_text(encoding="utf-8")
SMALL = {"scatter", "bar", "heatmap"}           # traces for which the small plotly.js is enough
HTML = '<div class="stPlotlyChart" data-testid="stPlotlyChart" role="figure"></div>'
CSS = """
.stPlotlyChart:fullscreen { background: var(--st-background-color); }
.stPlotlyChart.clickable .nsewdrag, .stPlotlyChart.clickable .point { cursor: pointer; }
.stPlotlyChart .modebar-container { top: auto !important; bottom: -2px; height: 26px; }
[data-testid="stColumn"]:has(.stPlotlyChart) { min-width: min(100%, 300px); }   /* a picture has room, or goes below */
"""



def serve_folder(name: str, path: Path) -> None:
    """Let Streamlit serve a folder; by itself it does so only where a page's thread declares it, not a loader's."""
    component = st.components.v1.declare_component(name, path=str(path))
    if runtime.exists():
        runtime.get_instance().component_registry.register_component(component)


# These two let the browser have plotly.js, see load.js.
serve_folder("plotly", Path(plotly.__file__).parent / "package_data")
serve_folder("small", HERE / "plotly")
_mount = st.components.v2.component("qpwl-plot", html=HTML, css=CSS, isolate_styles=False,
                                    js=LOAD + (HERE / "plot.js").read_text(encoding="utf-8"))
_prepare = st.components.v2.component("qpwl-prepare", html="<i></i>", isolate_styles=False,
                                      js=LOAD + 'export default () => { library("small"); };')


def prepare() -> None:
    """Let the browser fetch plotly.js while the server still computes what is to be drawn."""
    _prepare(key="prepare-plots", height=1, width=1)


def plot(figure: go.Figure, key: str, alt: str, on_click: Callable[[dict], None] | None = None) -> None:
    """Draw a figure in the theme's colours; ``on_click`` gets the point that is clicked: x, y and customdata."""
    from plotly.io import to_json

    def clicked() -> None:
        if point := st.session_state[key].get("clicked"):
            on_click(point)

    figure.layout.template = None                      # plot.js knows the theme
    _mount(key=key, height="content", on_clicked_change=clicked if on_click else lambda: None, data={
        "figure": to_json(figure, validate=False), "height": figure.layout.height or 450, "alt": alt,
        "clickable": on_click is not None, "whole": any(trace.type not in SMALL for trace in figure.data)})
