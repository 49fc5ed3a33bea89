"""ROC, DET, histograms of distances, AUC over n."""

from html import escape

import numpy as np
import plotly.graph_objects as go
from scipy.special import ndtri

from ui.shell.curves import FMR, GENUINE, IMPOSTER, MARGIN, roc_axes, roc_traces
from ui.shell.panels import figure, line_at, panel, panels

TICKS = np.array([0.001, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99])
TRIED = "#56B4E9"                               # of the colours that keep apart for everyone
EDGE = ndtri(0.0005)                            # the smallest rate that a DET curve has room for


def roc_and_det(rocs: dict, dets: dict, points: dict, looks: dict, corner: bool = False) -> go.Figure:
    """Left the ROC curves, right the DET curves, and where the threshold stands on each.

    ``points`` name -> (fmr, fnmr); the DET curves are DataFrames (fmr, fnmr, fmr_deviate, fnmr_deviate). On normal
    deviate axes a rate of 0 or 1 is put on the edge.
    """
    x, y = roc_axes(corner)
    axis = {"tickvals": ndtri(TICKS), "ticktext": [f"{tick:g} %" for tick in 100 * TICKS],
            "range": [EDGE - 0.08, 1.4], "zeroline": False}
    traces = roc_traces(rocs, looks) + _det_traces(dets, looks)
    for name, rates in points.items():
        deviates = np.clip(ndtri(np.clip(rates, 1e-9, 1 - 1e-9)), EDGE, 2.4)
        for column, (across, up) in enumerate(((rates[0], 1 - rates[1]), deviates)):
            traces.append({"type": "scatter", "x": [across], "y": [up], "mode": "markers", "showlegend": False,
                           "name": f"threshold, {name}", "legendgroup": name, "marker": marker(looks[name]["color"]),
                           "customdata": [list(rates)], **panel(column),
                           "hovertemplate": f"{name}, at the threshold<br>%{{customdata[0]:.2%}} of imposters get in"
                                            "<br>%{customdata[1]:.2%} of owners are sent away<extra></extra>"})
    return figure(traces, margin=MARGIN | {"t": 40}, height=490, legend={"orientation": "h", "y": -0.28}, **panels(
        ["ROC", "DET"], [x, axis | {"title": FMR}],
        [y, axis | {"title": "owners sent away (FNMR)"}], gap=0.12))


def _det_traces(curves: dict, looks: dict) -> list[dict]:
    traces = [{"type": "scatter", "x": [EDGE, 2.4], "y": [EDGE, 2.4], "mode": "lines", "name": "equal errors",
               "line": {"color": "#999999", "dash": "dash", "width": 1}, "hoverinfo": "skip", **panel(1)}]
    for name, curve in curves.items():
        traces.append({"type": "scatter", "x": curve["fmr_deviate"].to_numpy(), "y": curve["fnmr_deviate"].to_numpy(),
                       "mode": "lines", "name": name, "legendgroup": name, "line": looks[name] | {"width": 2.5},
                       "customdata": curve[["fmr", "fnmr"]].to_numpy(), "showlegend": False, **panel(1),
                       "hovertemplate": f"{name}<br>%{{customdata[0]:.2%}} of imposters get in<br>"
                                        "%{customdata[1]:.2%} of owners are sent away<extra></extra>"})
    return traces


def histogram(genuine, imposter, threshold: float, low: float, high: float, tried=None) -> go.Figure:
    """Distances of owners and of imposters, as shares of either kind, and the threshold; beyond ``high`` in one bar.

    ``tried``: distances of those who imitate the one they claim to be, where there are any.
    """
    traces, edges = [], np.linspace(low, high, 49)
    kinds = [("owners to themselves", genuine, GENUINE), ("imposters", imposter, IMPOSTER)]
    for name, values, colour in kinds if tried is None else [*kinds, ("those who tried", tried, TRIED)]:
        counts, _ = np.histogram(np.clip(values, low, high), edges)
        traces.append({"type": "bar", "x": (edges[1:] + edges[:-1]) / 2, "y": counts / len(values), "name": name,
                       "width": edges[1] - edges[0], "customdata": counts, "opacity": 0.6,
                       "marker": {"color": colour, "line": {"width": 0}},
                       "hovertemplate": f"{name}<br>%{{customdata}} of {len(values):,} at about %{{x:.4g}}"
                                        "<extra></extra>"})
    return figure(traces, margin=MARGIN | {"t": 30}, height=430, barmode="overlay", bargap=0,
                  legend={"orientation": "h", "y": -0.18},
                  xaxis={"title": "distance d(n); last bar: or more", "range": [low, high]},
                  yaxis={"title": "share of trials", "tickformat": ".0%"},
                  **line_at(threshold, {"color": "#0072B2", "width": 3}, "accepted ◀"))


def marker(colour: str) -> dict:
    return {"color": colour, "size": 14, "symbol": "diamond", "line": {"width": 2, "color": "#999999"}}


def distances_of_kinds(genuine, imposter, distance: float, threshold: float | None, low: float,
                       high: float) -> go.Figure:
    """Before an audience: where a visitor stands between owners and imposters; the threshold once it is revealed."""
    drawn = histogram(genuine, imposter, distance, low, high)
    drawn.layout.annotations[0].text = "this visitor"
    drawn.layout.shapes[0].line = {"color": "#CC79A7", "width": 5}
    if threshold is not None:
        drawn.add_vline(x=threshold, line={"color": "#0072B2", "width": 3, "dash": "dash"})
    return drawn.update_layout(height=320, font={"size": 16})


def nearest_people(names: list[str], distances, threshold: float | None) -> go.Figure:
    """Before an audience: the nearest people, the nearest on top; the threshold once it is revealed."""
    bars = {"type": "bar", "orientation": "h", "x": distances, "y": [escape(name) for name in names],
            "marker": {"color": "#0072B2"}, "hovertemplate": "%{y}: %{x:.4g}<extra></extra>"}
    shown = {} if threshold is None else line_at(threshold, {"color": IMPOSTER, "width": 3, "dash": "dash"},
                                                 "threshold")
    return figure([bars], height=300, font={"size": 16}, xaxis={"title": "distance d(n): smaller is closer"},
                  yaxis={"autorange": "reversed", "type": "category"}, **shown)
