"""Pictures of the Filters page: all filters in a grid, their ranking, one of them large, where it fires."""

from __future__ import annotations

import math
from html import escape

import numpy as np
import plotly.graph_objects as go

from ui.shell.palette import dashes_of
from ui.shell.panels import FAINT, figure, panel, panels
from ui.shell.people import named

ACCENT = "#D55E00"


def broken(lines: np.ndarray) -> np.ndarray:
    """Several lines as one with gaps between them, because one trace draws faster than many. (n, L) -> (n·(L+1),)"""
    return np.column_stack([lines, np.full(len(lines), np.nan)]).ravel()


def overview(aucs: np.ndarray, shown: np.ndarray, means: dict[str, np.ndarray], levels: np.ndarray,
             colours: dict[str, str]) -> go.Figure:
    """Left, AUC of every filter alone, best first; right, mean quantile functions of people (K, L), a cell per filter.

    A bar and a cell carry their filter, counted from 1, for whoever clicks. Each cell is scaled to its own range. All
    cells share one pair of axes and each person is one line with gaps: a dozen subplots draw ten times slower.
    """
    order, dash = np.argsort(-aucs, kind="stable"), dashes_of(colours)
    columns = 4 if len(shown) <= 12 else 8
    rows = math.ceil(len(shown) / columns)
    left, bottom = np.arange(len(shown)) % columns, rows - 1 - np.arange(len(shown)) // columns
    every = np.stack(list(means.values()))[:, shown]                             # (people, cells, L)
    low, high = every.min((0, 2)), every.max((0, 2))
    scale = 0.68 / np.where(high > low, high - low, 1)
    bars = {"type": "bar", "x": [str(k + 1) for k in order], "y": aucs[order] - 0.5, "base": 0.5,
            "customdata": order + 1, "marker": {"color": "#0072B2"}, "text": [f"{aucs[k]:.3f}" for k in order]}
    cells = {"type": "bar", "x": left + 0.5, "y": np.full(len(shown), 0.94), "base": bottom, "width": 0.94, **panel(1),
             "customdata": shown + 1, "marker": {"color": "rgba(128,128,128,0.10)", "line": {"width": 0}},
             "text": [f"{aucs[k]:.3f}" for k in shown]}
    clickable = {"textposition": "none", "showlegend": False,
                 "hovertemplate": "Filter %{customdata}, AUC %{text}<br>click to see it large<extra></extra>"}
    lines = [{"type": "scatter", "x": broken(left[:, None] + 0.08 + 0.84 * levels[None]),
              "name": escape(named(means)[person]),
              "y": broken(bottom[:, None] + 0.05 + (values[shown] - low[:, None]) * scale[:, None]), "mode": "lines",
              "line": {"color": colours[person], "width": 2, "dash": dash[person]}, "hoverinfo": "skip", **panel(1)}
             for person, values in means.items()]
    names = {"type": "scatter", "x": left + 0.08, "y": bottom + 0.83, "mode": "text", "hoverinfo": "skip", **panel(1),
             "textposition": "middle right", "text": [f"<b>{k + 1}</b> · {aucs[k]:.2f}" for k in shown],
             "showlegend": False}
    hidden = {"visible": False, "fixedrange": True}
    titles = [{"text": "", "x": x, "y": 1, "xref": "paper", "yref": "paper", "showarrow": False} for x in (0.17, 0.69)]
    return figure([bars | clickable, cells | clickable, *lines, names], height=max(470, 118 * rows), barmode="overlay",
                  bargap=0.15, dragmode=False, annotations=titles, meta={"panels": 2},    # on a phone stacked
                  xaxis={"title": "filter, best first", "type": "category", "domain": [0, 0.34],
                         "showticklabels": len(aucs) <= 40}, yaxis={"title": "AUC of the filter alone"},
                  xaxis2={"range": [0, columns], "domain": [0.38, 1], "anchor": "y2", **hidden},
                  yaxis2={"range": [-0.02, rows], "anchor": "x2", **hidden})


def large(functions: dict[str, np.ndarray], levels: np.ndarray, heights: dict[str, np.ndarray],
          colours: dict[str, str]) -> go.Figure:
    """One filter: left, Q̄ of every sequence of each person (n, L) thin, their mean bold, the levels marked; right, the
    density behind that mean, whose bins lie between its knots, with heights (L−1,)."""
    every, inner, names = np.concatenate(list(functions.values())), levels[1:-1], named(functions)
    dash, means = dashes_of(colours), {person: values.mean(0) for person, values in functions.items()}
    finite = np.concatenate([h[np.isfinite(h)] for h in heights.values()] + [np.zeros(1)])
    top = max(1.15 * float(np.quantile(finite, 0.98)), 1e-9)        # an atom is infinitely high, a near-atom almost
    marks = np.tile([[every.min(), every.max()]], (len(inner), 1))
    traces = [{"type": "scatter", "x": broken(np.column_stack([inner, inner])), "y": broken(marks), "mode": "lines",
               "line": {"color": FAINT, "width": 1, "dash": "dot"}, "name": "levels", "hoverinfo": "skip"}]
    for person, values in functions.items():
        traces.append({"type": "scatter", "x": broken(np.tile(levels, (len(values), 1))), "y": broken(values),
                       "mode": "lines", "opacity": 0.35, "line": {"color": colours[person], "width": 1},
                       "hoverinfo": "skip", "showlegend": False})
    for person, mean in means.items():
        name = escape(names[person])
        traces.append({"type": "scatter", "x": levels, "y": mean, "mode": "lines", "name": name, "legendgroup": name,
                       "line": {"color": colours[person], "width": 4, "dash": dash[person]},
                       "hovertemplate": f"{name}: Q̄(%{{x:.2f}}) = %{{y:.3g}}<extra></extra>"})
        steps = np.repeat(np.minimum(heights[person], 2 * top), 2)
        traces.append({"type": "scatter", "x": np.repeat(mean, 2), "y": np.concatenate([[0], steps, [0]]),
                       "mode": "lines", "fill": "tozeroy", "fillcolor": _faint(colours[person]), **panel(1),
                       "line": {"color": colours[person], "width": 2.5, "dash": dash[person]}, "legendgroup": name,
                       "showlegend": False,
                       "hovertemplate": f"{name}: density %{{y:.3g}} at %{{x:.3g}}<extra></extra>"})
    x = [{"title": "level r", "range": [-0.01, 1.01], "tickformat": ".0%"}, {"title": "output of the filter"}]
    y = [{"title": "output of the filter, Q̄(r)"}, {"title": "density", "range": [0, top]}]
    return figure(traces, height=470, **panels(["", ""], x, y, gap=0.14))


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
