"""Pictures of the Filters page: all filters in a grid, their ranking, one of them large, where it fires."""

from __future__ import annotations

import math
from html import escape

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

SHADE, LINE = "rgba(128,128,128,0.10)", "rgba(128,128,128,0.55)"     # of neither theme
ACCENT = "#D55E00"
MARGIN = {"l": 10, "r": 10, "t": 40, "b": 10}
LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}


def broken(lines: np.ndarray) -> np.ndarray:
    """Several lines as one with gaps between them, because one trace draws faster than many. (n, L) -> (n·(L+1),)"""
    return np.column_stack([lines, np.full(len(lines), np.nan)]).ravel()


def ranking(aucs: np.ndarray) -> go.Figure:
    """AUC of every filter alone, best first; a bar carries its filter, counted from 1."""
    order = np.argsort(-aucs, kind="stable")
    figure = go.Figure(go.Bar(
        x=[str(k + 1) for k in order], y=aucs[order] - 0.5, base=0.5, customdata=order + 1, marker_color="#0072B2",
        text=[f"{value:.3f}" for value in aucs[order]], textposition="none",
        hovertemplate="Filter %{customdata}: AUC %{text}<extra></extra>"))
    figure.update_layout(margin=MARGIN, height=430, bargap=0.15, hovermode="closest", clickmode="event+select",
                         dragmode=False,
                         xaxis={"title": "filter, best first", "type": "category", "showticklabels": len(aucs) <= 40},
                         yaxis={"title": "AUC of the filter alone"})
    return figure


def grid(means: dict[str, np.ndarray], levels: np.ndarray, shown: np.ndarray, aucs: np.ndarray,
         colours: dict[str, str]) -> go.Figure:
    """Mean quantile functions of people (K, L) in one cell a filter, each cell scaled to its own range.

    All cells share one pair of axes and each person is one line with gaps: a dozen subplots draw ten times slower.
    """
    columns = 4 if len(shown) <= 12 else 8
    rows = math.ceil(len(shown) / columns)
    left, bottom = np.arange(len(shown)) % columns, rows - 1 - np.arange(len(shown)) // columns
    every = np.stack(list(means.values()))[:, shown]                             # (people, cells, L)
    low, high = every.min((0, 2)), every.max((0, 2))
    scale = 0.68 / np.where(high > low, high - low, 1)
    figure = go.Figure(go.Bar(
        x=left + 0.5, y=np.full(len(shown), 0.94), base=bottom, width=0.94, customdata=shown + 1,
        marker={"color": SHADE, "line_width": 0}, selected_marker_color="rgba(86,180,233,0.30)",
        unselected_marker_opacity=1, showlegend=False, text=[f"{aucs[k]:.3f}" for k in shown], textposition="none",
        hovertemplate="Filter %{customdata}, AUC %{text}<br>click to see it large<extra></extra>"))
    for person, values in means.items():
        figure.add_scatter(
            x=broken(left[:, None] + 0.08 + 0.84 * levels[None]), hoverinfo="skip", name=escape(person), mode="lines",
            y=broken(bottom[:, None] + 0.05 + (values[shown] - low[:, None]) * scale[:, None]),
            line={"color": colours[person], "width": 2})
    figure.add_scatter(x=left + 0.08, y=bottom + 0.83, mode="text", textposition="middle right", hoverinfo="skip",
                       text=[f"<b>{k + 1}</b> · {aucs[k]:.2f}" for k in shown], showlegend=False)
    hidden = {"visible": False, "fixedrange": True}
    figure.update_layout(margin=MARGIN, height=max(430, 118 * rows), barmode="overlay", hovermode="closest",
                         clickmode="event+select", dragmode=False, legend=LEGEND,
                         xaxis={"range": [0, columns], **hidden}, yaxis={"range": [-0.02, rows], **hidden})
    return figure


def large(functions: dict[str, np.ndarray], levels: np.ndarray, colours: dict[str, str]) -> go.Figure:
    """Q̄ of one filter: every sequence of each person (n, L) thin, the person's mean bold, the levels marked."""
    figure = go.Figure()
    every = np.concatenate(list(functions.values()))
    ends = np.array([[every.min(), every.max()]])
    inner = levels[1:-1]
    figure.add_scatter(x=broken(np.column_stack([inner, inner])), y=broken(np.repeat(ends, len(inner), 0)),
                       mode="lines", line={"color": LINE, "width": 1, "dash": "dot"}, name="levels", hoverinfo="skip")
    for person, values in functions.items():
        figure.add_scatter(x=broken(np.tile(levels, (len(values), 1))), y=broken(values), mode="lines", opacity=0.35,
                           line={"color": colours[person], "width": 1}, hoverinfo="skip", showlegend=False)
    for person, values in functions.items():
        figure.add_scatter(x=levels, y=values.mean(0), mode="lines", name=escape(person),
                           line={"color": colours[person], "width": 4},
                           hovertemplate=f"{escape(person)}: Q̄(%{{x:.2f}}) = %{{y:.3g}}<extra></extra>")
    figure.update_layout(margin=MARGIN, height=430, legend=LEGEND, hovermode="closest",
                         xaxis={"title": "level r", "range": [-0.01, 1.01], "tickformat": ".0%"},
                         yaxis={"title": "output of the filter, Q̄(r)"})
    return figure


def densities(knots: dict[str, np.ndarray], heights: dict[str, np.ndarray], colours: dict[str, str]) -> go.Figure:
    """The density behind each person's mean quantile function: bins between knots (L,), heights (L−1,)."""
    figure = go.Figure()
    finite = np.concatenate([h[np.isfinite(h)] for h in heights.values()] + [np.zeros(1)])
    top = max(1.15 * float(np.quantile(finite, 0.98)), 1e-9)        # an atom is infinitely high, a near-atom almost
    for person, x in knots.items():
        y = np.minimum(heights[person], 2 * top)
        figure.add_scatter(x=np.repeat(x, 2), y=np.concatenate([[0], np.repeat(y, 2), [0]]), mode="lines",
                           name=escape(person), line={"color": colours[person], "width": 2.5, "shape": "linear"},
                           fill="tozeroy", fillcolor=_faint(colours[person]),
                           hovertemplate=f"{escape(person)}: density %{{y:.3g}} at %{{x:.3g}}<extra></extra>")
    figure.update_layout(margin=MARGIN, height=430, legend=LEGEND, hovermode="closest",
                         xaxis={"title": "output of the filter"}, yaxis={"title": "density", "range": [0, top]})
    return figure


def firing(seconds: np.ndarray, channels: dict[str, np.ndarray], fires: np.ndarray, frames: np.ndarray,
           output: np.ndarray, threshold: float, field: tuple[float, float]) -> go.Figure:
    """Raw channels over time, coloured where the filter is at or above its threshold, and the filter's output below.

    seconds (T,), channels name -> (T,), fires (T,) bool; frames (T',), output (T',); ``field``: from and to which
    second the strongest frame sees.
    """
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.7, 0.3], vertical_spacing=0.04)
    stacked = [-i + 0.42 * (x - x.mean()) / (np.abs(x - x.mean()).max() or 1) for i, x in enumerate(channels.values())]
    for values, name in zip(stacked, channels, strict=True):
        figure.add_scatter(x=seconds, y=values, mode="lines", line={"color": LINE, "width": 1}, showlegend=False,
                           text=[f"{value:.3g}" for value in channels[name]],
                           hovertemplate=f"{escape(name)}: %{{text}} at %{{x:.2f}} s<extra></extra>")
    marked = fires | np.append(fires[1:], False)                     # a line needs two samples, or it would vanish
    figure.add_scatter(x=np.tile(np.append(seconds, np.nan), len(stacked)), mode="lines", name="the filter fires",
                       y=broken(np.where(marked, np.stack(stacked), np.nan)), line={"color": ACCENT, "width": 2.5},
                       hoverinfo="skip")
    figure.add_scatter(x=frames, y=output, mode="lines", line={"color": "#0072B2", "width": 1.5}, showlegend=False,
                       hovertemplate="output %{y:.3g} at %{x:.2f} s<extra></extra>", row=2, col=1)
    figure.add_scatter(x=[seconds[0], seconds[-1]], y=[threshold] * 2, mode="lines", hoverinfo="skip", row=2, col=1,
                       line={"color": ACCENT, "width": 1.5, "dash": "dash"}, name="its quantile r")
    figure.add_vrect(x0=field[0], x1=field[1], fillcolor="#E69F00", opacity=0.18, line_width=0)
    figure.update_yaxes(tickvals=[-i for i in range(len(stacked))], ticktext=[escape(name) for name in channels], row=1,
                        col=1, showgrid=False, zeroline=False)
    figure.update_yaxes(title="output", row=2, col=1)
    figure.update_xaxes(title="seconds", row=2, col=1)
    figure.update_layout(margin=MARGIN, height=200 + 60 * len(channels) + 120, hovermode="closest",
                         legend=LEGEND)
    return figure


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i:i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.15)"
