"""Pictures of the page Sign: ink with its speed, quantile functions that grow line by line, the ladder to the line."""

from __future__ import annotations

from html import escape

import numpy as np
import plotly.graph_objects as go

from qpwl_core.data.capture import RATE, Capture
from ui.library.pad import THEIRS, YOURS
from ui.shell.curves import GENUINE, IMPOSTER
from ui.shell.panels import FAINT, figure, panel, panels

GREY = "#999999"
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "star", "hexagon")


def speed_of(capture: Capture) -> np.ndarray:
    """Pixels per second along the line, NaN while the pen is up. (T,)"""
    speed = np.hypot(*np.gradient(capture.values[:, :2].astype(float), axis=0).T) * RATE
    down = capture.values[:, 3] > 0.5
    inside = down & np.append(True, down[:-1]) & np.append(down[1:], True)      # a jump to the next stroke is no speed
    return np.where(inside, speed, np.nan)


def ink(capture: Capture, height: int = 230) -> go.Figure:
    """The line as it was drawn, coloured by speed."""
    values, speed = capture.values, speed_of(capture)
    line = np.where(values[:, 3:] > 0.5, values[:, :2], np.nan)
    top = float(np.nanmax(speed)) if np.isfinite(speed).any() else 1.0
    traces = [{"type": "scatter", "x": line[:, 0], "y": line[:, 1], "mode": "lines", "hoverinfo": "skip",
               "line": {"color": FAINT, "width": 2}, "showlegend": False},
              {"type": "scatter", "x": line[:, 0], "y": line[:, 1], "mode": "markers", "showlegend": False,
               "customdata": np.column_stack([np.arange(len(values)) / RATE, np.nan_to_num(speed)]),
               "hovertemplate": "after %{customdata[0]:.2f} s<br>%{customdata[1]:.0f} px/s<extra></extra>",
               "marker": {"size": 5.5, "color": speed, "colorscale": "Cividis", "cmin": 0, "cmax": top,
                          "colorbar": {"title": {"text": "px/s"}, "thickness": 10, "outlinewidth": 0, "len": 0.9}}}]
    hidden = {"visible": False, "fixedrange": True}
    return figure(traces, height=height, margin={"l": 5, "r": 5, "t": 5, "b": 5}, dragmode=False, xaxis=hidden,
                  yaxis=hidden | {"scaleanchor": "x", "autorange": "reversed"})


def speeds(captures: list[Capture], height: int = 230) -> go.Figure:
    """Speed over time of all so far, the last one on top."""
    traces = []
    for i, capture in enumerate(captures):
        last = i == len(captures) - 1
        traces.append({"type": "scatter", "x": np.arange(len(capture.values)) / RATE, "y": speed_of(capture),
                       "mode": "lines", "name": f"number {i + 1}", "showlegend": False, "connectgaps": False,
                       "line": {"color": YOURS if last else FAINT, "width": 2.5 if last else 1.2},
                       "hovertemplate": f"number {i + 1}, after %{{x:.2f}} s<br>%{{y:.0f}} px/s<extra></extra>"})
    return figure(traces, height=height, margin={"l": 10, "r": 10, "t": 10, "b": 10}, dragmode=False,
                  xaxis={"title": "seconds"}, yaxis={"title": "speed, px/s", "rangemode": "tozero"})


def functions(levels: np.ndarray, owner: np.ndarray, other: np.ndarray | None, titles: list[str],
              whose: str = "yours", other_name: str = "the try", height: int = 320) -> go.Figure:
    """Quantile functions of some filters, a panel each: a line per enrolled sequence, and another over them, dotted.

    ``owner`` (E, F, L); ``other`` (F, L) or None, then the last of the owner's stands out.
    """
    traces, count = [], len(owner)
    for i in range(len(titles)):
        for j, values in enumerate(owner[:, i]):
            last = other is None and j == count - 1
            name = f"number {j + 1}" if other is None else whose
            traces.append({"type": "scatter", "x": levels, "y": values, "mode": "lines", "name": whose,
                           "legendgroup": whose, "showlegend": i == 0 and j == count - 1 and other is not None,
                           "line": {"color": YOURS, "width": 3.5 if last else 1.6}, "opacity": 1.0 if last else 0.6,
                           "hovertemplate": f"{name}: %{{x:.0%}} of what this filter gives lies below %{{y:.3g}}"
                                            "<extra></extra>", **panel(i)})
        if other is not None:
            traces.append({"type": "scatter", "x": levels, "y": other[i], "mode": "lines", "name": escape(other_name),
                           "legendgroup": "other", "showlegend": i == 0,
                           "line": {"color": THEIRS, "width": 3.5, "dash": "dot"},
                           "hovertemplate": f"{escape(other_name)}: %{{x:.0%}} lies below %{{y:.3g}}<extra></extra>",
                           **panel(i)})
    axes = [{"title": {"text": "level r"}, "tickformat": ".0%", "range": [-0.02, 1.02]} for _ in titles]
    layout = panels(titles, axes, [{} for _ in titles], gap=0.07)
    return figure(traces, height=height, margin={"l": 10, "r": 10, "t": 60 if other is not None else 34, "b": 10},
                  dragmode=False, **layout,
                  legend={"orientation": "h", "y": 1.16, "yanchor": "bottom"})


def ladder(rows: list[tuple[str, np.ndarray, list[str], str]], threshold: float, marked: tuple[int, int] | None = None,
           height: int | None = None) -> go.Figure:
    """Distances as dots, a rung per person; what lies left of the line is let in.

    ``rows``: (name, distances (m,), what each dot is, colour), the first on top; ``marked``: row and dot to ring.
    """
    traces = []
    for i, (name, distances, words, colour) in enumerate(rows):
        traces.append({"type": "scatter", "x": distances, "y": [i] * len(distances), "mode": "markers+text",
                       "text": [word if len(word) <= 2 else "" for word in words], "textposition": "top center",
                       "customdata": words, "name": escape(name), "showlegend": False, "cliponaxis": False,
                       "marker": {"size": 14, "color": colour, "symbol": SYMBOLS[i % len(SYMBOLS)], "opacity": 0.85,
                                  "line": {"width": 1, "color": "white"}},
                       "hovertemplate": f"{escape(name)} %{{customdata}}<br>distance %{{x:.4g}}<extra></extra>"})
    if marked is not None:
        row, dot = marked
        traces.append({"type": "scatter", "x": [rows[row][1][dot]], "y": [row], "mode": "markers", "hoverinfo": "skip",
                       "showlegend": False, "marker": {"size": 26, "symbol": "circle-open", "color": rows[row][3],
                                                       "line": {"width": 3}}})
    farthest = max([threshold, *(float(x) for _, distances, _, _ in rows for x in distances)])
    shapes = [{"type": "rect", "x0": 0, "x1": threshold, "y0": 0, "y1": 1, "yref": "paper", "fillcolor": GENUINE,
               "opacity": 0.12, "line": {"width": 0}, "layer": "below"},
              {"type": "line", "x0": threshold, "x1": threshold, "y0": 0, "y1": 1, "yref": "paper",
               "line": {"color": IMPOSTER, "width": 2.5, "dash": "dash"}}]
    words = [{"text": f"line {threshold:.3g}", "x": threshold, "y": 1, "yref": "paper", "yanchor": "bottom",
              "xanchor": "right" if threshold > farthest / 2 else "left", "showarrow": False}]
    ticks = [escape(name if len(name) <= 18 else name[:17] + "…") for name, *_ in rows]
    return figure(traces, height=height or 110 + 46 * len(rows), margin={"l": 10, "r": 10, "t": 34, "b": 10},
                  dragmode=False, shapes=shapes, annotations=words,
                  xaxis={"title": "distance: smaller is closer", "range": [0, 1.06 * farthest], "zeroline": False},
                  yaxis={"range": [len(rows) - 0.4, -0.6], "tickvals": list(range(len(rows))), "ticktext": ticks,
                         "tickfont": {"size": 14}, "zeroline": False})
