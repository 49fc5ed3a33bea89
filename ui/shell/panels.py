"""Figures from plain dicts: one of them, several panels side by side, lines across.

One ``go.Figure`` from one dict that is not checked takes a twentieth of the time of a call for each trace; a page that
redraws while a slider moves has no more than that. The tests check every figure.
"""

from __future__ import annotations

import plotly.graph_objects as go

MARGIN = {"l": 60, "r": 10, "t": 40, "b": 60}          # room for titles also in an exported page, without our theme
LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}
FAINT = "rgba(128,128,128,0.55)"      # of neither theme


def figure(traces: list[dict], **layout) -> go.Figure:
    """A figure with our margins and a legend on top; ``layout`` adds to it."""
    layout = {"margin": MARGIN, "legend": LEGEND, "hovermode": "closest", **layout}
    for name, part in layout.items():
        if "axis" in name and isinstance(part.get("title"), str):
            layout[name] = part | {"title": {"text": part["title"]}}
    return go.Figure({"data": traces, "layout": layout}, _validate=False)


def line_at(x: float, line: dict, text: str = "", left: bool = True) -> dict:
    """The layout of an upright line across a picture, with words on top of it, on one side."""
    words = {"text": text, "x": x, "xanchor": "right" if left else "left", "y": 1, "yref": "paper", "yanchor": "bottom",
             "showarrow": False}
    return {"shapes": [{"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": line}],
            "annotations": [words] if text else []}


def panel(i: int) -> dict[str, str]:
    """What a trace says to stand in panel i, from 0."""
    return {"xaxis": f"x{i + 1 if i else ''}", "yaxis": f"y{i + 1 if i else ''}"}


def panels(titles: list[str], x: list[dict], y: list[dict], gap: float = 0.04) -> dict:
    """The layout of panels side by side: a title and two axes each."""
    width = (1 - gap * (len(titles) - 1)) / len(titles)
    layout: dict = {"annotations": [], "meta": {"panels": len(titles)}}
    for i, title in enumerate(titles):
        left, number = i * (width + gap), i + 1 if i else ""
        layout[f"xaxis{number}"] = {"domain": [left, min(1.0, left + width)], "anchor": f"y{number}", **x[i]}
        layout[f"yaxis{number}"] = {"anchor": f"x{number}", **y[i]}
        layout["annotations"].append({
            "text": title, "x": left + width / 2, "xref": "paper", "xanchor": "center", "y": 1.02, "yref": "paper",
            "yanchor": "bottom", "showarrow": False, "font": {"size": 15}})
    return layout
