"""Figures from plain dicts, several panels side by side.

One ``go.Figure`` from one dict takes a sixth of the time of ``make_subplots`` and a call for each trace; a page that
redraws while a slider moves has no more than that.
"""

from __future__ import annotations

import plotly.graph_objects as go

MARGIN = {"l": 60, "r": 10, "t": 40, "b": 50}          # room for titles also in an exported page, without our theme
LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}
FAINT = "rgba(128,128,128,0.55)"      # of neither theme


def figure(traces: list[dict], **layout) -> go.Figure:
    """A figure with our margins and a legend on top; ``layout`` adds to it."""
    return go.Figure({"data": traces, "layout": {"margin": MARGIN, "legend": LEGEND, "hovermode": "closest", **layout}})


def panel(i: int) -> dict[str, str]:
    """What a trace says to stand in panel i, from 0."""
    return {"xaxis": f"x{i + 1 if i else ''}", "yaxis": f"y{i + 1 if i else ''}"}


def panels(titles: list[str], x: list[dict], y: list[dict], gap: float = 0.04) -> dict:
    """The layout of panels side by side: a title and two axes each."""
    width = (1 - gap * (len(titles) - 1)) / len(titles)
    layout: dict = {"annotations": []}
    for i, title in enumerate(titles):
        left, number = i * (width + gap), i + 1 if i else ""
        layout[f"xaxis{number}"] = {"domain": [left, min(1.0, left + width)], "anchor": f"y{number}", **x[i]}
        layout[f"yaxis{number}"] = {"anchor": f"x{number}", **y[i]}
        layout["annotations"].append({
            "text": title, "x": left + width / 2, "xref": "paper", "xanchor": "center", "y": 1.02, "yref": "paper",
            "yanchor": "bottom", "showarrow": False, "font": {"size": 15}})
    return layout
