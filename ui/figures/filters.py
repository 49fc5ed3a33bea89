"""Pictures of the Filters page: all filters in a grid, their ranking, one of them large, where it fires."""

from __future__ import annotations

import math
from html import escape

import numpy as np
import plotly.graph_objects as go

from ui.figures.panels import FAINT, figure

ACCENT = "#D55E00"


def broken(lines: np.ndarray) -> np.ndarray:
    """Several lines as one with gaps between them, because one trace draws faster than many. (n, L) -> (n·(L+1),)"""
    return np.column_stack([lines, np.full(len(lines), np.nan)]).ravel()


def ranking(aucs: np.ndarray) -> go.Figure:
    """AUC of every filter alone, best first; a bar carries its filter, counted from 1."""
    order = np.argsort(-aucs, kind="stable")
    bars = {"type": "bar", "x": [str(k + 1) for k in order], "y": aucs[order] - 0.5, "base": 0.5,
            "customdata": order + 1, "marker": {"color": "#0072B2"}, "textposition": "none",
            "text": [f"{value:.3f}" for value in aucs[order]],
            "hovertemplate": "Filter %{customdata}: AUC %{text}<extra></extra>"}
    return figure([bars], height=430, bargap=0.15, clickmode="event+select", dragmode=False,
                  xaxis={"title": "filter, best first", "type": "category", "showticklabels": len(aucs) <= 40},
                  yaxis={"title": "AUC of the filter alone"})


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
    traces = [{"type": "bar", "x": left + 0.5, "y": np.full(len(shown), 0.94), "base": bottom, "width": 0.94,
               "customdata": shown + 1, "marker": {"color": "rgba(128,128,128,0.10)", "line": {"width": 0}},
               "selected": {"marker": {"color": "rgba(86,180,233,0.30)"}}, "unselected": {"marker": {"opacity": 1}},
               "showlegend": False, "text": [f"{aucs[k]:.3f}" for k in shown], "textposition": "none",
               "hovertemplate": "Filter %{customdata}, AUC %{text}<br>click to see it large<extra></extra>"}]
    traces += [{"type": "scatter", "x": broken(left[:, None] + 0.08 + 0.84 * levels[None]), "name": escape(person),
                "y": broken(bottom[:, None] + 0.05 + (values[shown] - low[:, None]) * scale[:, None]), "mode": "lines",
                "line": {"color": colours[person], "width": 2}, "hoverinfo": "skip"}
               for person, values in means.items()]
    traces.append({"type": "scatter", "x": left + 0.08, "y": bottom + 0.83, "mode": "text", "hoverinfo": "skip",
                   "textposition": "middle right", "text": [f"<b>{k + 1}</b> · {aucs[k]:.2f}" for k in shown],
                   "showlegend": False})
    hidden = {"visible": False, "fixedrange": True}
    return figure(traces, height=max(430, 118 * rows), barmode="overlay", clickmode="event+select", dragmode=False,
                  xaxis={"range": [0, columns], **hidden}, yaxis={"range": [-0.02, rows], **hidden})


def large(functions: dict[str, np.ndarray], levels: np.ndarray, colours: dict[str, str]) -> go.Figure:
    """Q̄ of one filter: every sequence of each person (n, L) thin, the person's mean bold, the levels marked."""
    every, inner = np.concatenate(list(functions.values())), levels[1:-1]
    ends = np.tile([[every.min(), every.max()]], (len(inner), 1))
    traces = [{"type": "scatter", "x": broken(np.column_stack([inner, inner])), "y": broken(ends), "mode": "lines",
               "line": {"color": FAINT, "width": 1, "dash": "dot"}, "name": "levels", "hoverinfo": "skip"}]
    traces += [{"type": "scatter", "x": broken(np.tile(levels, (len(values), 1))), "y": broken(values), "mode": "lines",
                "opacity": 0.35, "line": {"color": colours[person], "width": 1}, "hoverinfo": "skip",
                "showlegend": False} for person, values in functions.items()]
    traces += [{"type": "scatter", "x": levels, "y": values.mean(0), "mode": "lines", "name": escape(person),
                "line": {"color": colours[person], "width": 4},
                "hovertemplate": f"{escape(person)}: Q̄(%{{x:.2f}}) = %{{y:.3g}}<extra></extra>"}
               for person, values in functions.items()]
    return figure(traces, height=430, xaxis={"title": "level r", "range": [-0.01, 1.01], "tickformat": ".0%"},
                  yaxis={"title": "output of the filter, Q̄(r)"})


def densities(knots: dict[str, np.ndarray], heights: dict[str, np.ndarray], colours: dict[str, str]) -> go.Figure:
    """The density behind each person's mean quantile function: bins between knots (L,), heights (L−1,)."""
    finite = np.concatenate([h[np.isfinite(h)] for h in heights.values()] + [np.zeros(1)])
    top = max(1.15 * float(np.quantile(finite, 0.98)), 1e-9)        # an atom is infinitely high, a near-atom almost
    traces = [{"type": "scatter", "x": np.repeat(x, 2), "mode": "lines", "name": escape(person), "fill": "tozeroy",
               "y": np.concatenate([[0], np.repeat(np.minimum(heights[person], 2 * top), 2), [0]]),
               "line": {"color": colours[person], "width": 2.5}, "fillcolor": _faint(colours[person]),
               "hovertemplate": f"{escape(person)}: density %{{y:.3g}} at %{{x:.3g}}<extra></extra>"}
              for person, x in knots.items()]
    return figure(traces, height=430, xaxis={"title": "output of the filter"},
                  yaxis={"title": "density", "range": [0, top]})


def firing(seconds: np.ndarray, channels: dict[str, np.ndarray], fires: np.ndarray, frames: np.ndarray,
           output: np.ndarray, threshold: float, field: tuple[float, float]) -> go.Figure:
    """Raw channels over time, coloured where the filter is at or above its threshold, and the filter's output below.

    seconds (T,), channels name -> (T,), fires (T,) bool; frames (T',), output (T',); ``field``: from and to which
    second the strongest frame sees.
    """
    stacked = np.stack([-i + 0.42 * (x - x.mean()) / (np.abs(x - x.mean()).max() or 1)
                        for i, x in enumerate(channels.values())])                      # (channels, T)
    marked = fires | np.append(fires[1:], False)                     # a line needs two samples, or it would vanish
    time = np.tile(np.append(seconds, np.nan), len(stacked))
    traces = [
        {"type": "scatter", "x": time, "y": broken(stacked), "mode": "lines", "line": {"color": FAINT, "width": 1},
         "showlegend": False, "hoverinfo": "skip"},
        {"type": "scatter", "x": time, "y": broken(np.where(marked, stacked, np.nan)), "mode": "lines",
         "name": "the filter fires", "line": {"color": ACCENT, "width": 2.5}, "hoverinfo": "skip"},
        {"type": "scatter", "x": frames, "y": output, "mode": "lines", "line": {"color": "#0072B2", "width": 1.5},
         "showlegend": False, "yaxis": "y2", "hovertemplate": "output %{y:.3g} at %{x:.2f} s<extra></extra>"},
        {"type": "scatter", "x": [seconds[0], seconds[-1]], "y": [threshold] * 2, "mode": "lines", "yaxis": "y2",
         "line": {"color": ACCENT, "width": 1.5, "dash": "dash"}, "name": "its quantile r", "hoverinfo": "skip"}]
    shade = {"type": "rect", "x0": field[0], "x1": field[1], "y0": 0, "y1": 1, "yref": "paper", "fillcolor": "#E69F00",
             "opacity": 0.18, "line": {"width": 0}}
    return figure(traces, height=320 + 60 * len(channels), shapes=[shade], xaxis={"title": "seconds", "anchor": "y2"},
                  yaxis={"domain": [0.3, 1], "tickvals": [-i for i in range(len(stacked))], "showgrid": False,
                         "ticktext": [escape(name) for name in channels], "zeroline": False},
                  yaxis2={"domain": [0, 0.26], "title": "output"})


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i:i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.15)"
