"""A Plotly figure on a page, redrawn in place when it changes: `ui/plot.js`, and what it needs of the server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import plotly
import plotly.graph_objects as go
import streamlit as st
from plotly.io import to_json

JS = Path(__file__).with_suffix(".js").read_text()
HTML = '<div class="stPlotlyChart" data-testid="stPlotlyChart" role="figure"></div>'
CSS = """
.stPlotlyChart:fullscreen { background: var(--st-background-color); }
.stPlotlyChart.clickable .nsewdrag, .stPlotlyChart.clickable .point { cursor: pointer; }
.stPlotlyChart .modebar-container { top: auto !important; bottom: -2px; height: 26px; }
"""

# Streamlit serves the folder of a component: this one lets the browser have plotly.js from the installed package.
st.components.v1.declare_component("plotly", path=str(Path(plotly.__file__).parent / "package_data"))
_mount = st.components.v2.component("qpwl-plot", html=HTML, css=CSS, js=JS, isolate_styles=False)


def plot(figure: go.Figure, key: str, alt: str, on_click: Callable[[dict], None] | None = None) -> None:
    """Draw a figure in the theme's colours; ``on_click`` gets the point that is clicked: x, y and customdata."""
    def clicked() -> None:
        if point := st.session_state[key].get("clicked"):
            on_click(point)

    figure.layout.template = None                      # plot.js knows the theme
    _mount(key=key, height="content", on_clicked_change=clicked if on_click else lambda: None, data={
        "figure": to_json(figure, validate=False), "height": figure.layout.height or 450, "alt": alt,
        "clickable": on_click is not None})
