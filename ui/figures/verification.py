"""ROC, DET, histograms of distances, AUC over n."""

import numpy as np
import plotly.graph_objects as go
from plotly.colors import hex_to_rgb
from scipy.special import ndtri

from ui.figures.panels import figure, line_at, panel, panels

GENUINE, IMPOSTER = "#009E73", "#D55E00"
TICKS = np.array([0.001, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99])
MARGIN = {"l": 10, "r": 10, "t": 10, "b": 10}
EDGE = ndtri(0.0005)                            # the smallest rate that a DET curve has room for
FMR = "imposters who get in (FMR)"


def roc(curves: dict, looks: dict, corner: bool = False) -> go.Figure:
    """ROC curves with the standard error over draws shaded.

    ``curves`` name -> DataFrame (fpr, tpr, se); ``looks`` name -> colour and dash.
    """
    x, y = _roc_axes(corner)
    return figure(_roc_traces(curves, looks), margin=MARGIN, height=430, xaxis=x, yaxis=y)


def roc_and_det(rocs: dict, dets: dict, points: dict, looks: dict, corner: bool = False) -> go.Figure:
    """Left the ROC curves, right the DET curves, and where the threshold stands on each.

    ``points`` name -> (fmr, fnmr); the DET curves are DataFrames (fmr, fnmr, fmr_deviate, fnmr_deviate). On normal
    deviate axes a rate of 0 or 1 is put on the edge.
    """
    x, y = _roc_axes(corner)
    axis = {"tickvals": ndtri(TICKS), "ticktext": [f"{tick:g} %" for tick in 100 * TICKS],
            "range": [EDGE - 0.08, 1.4], "zeroline": False}
    traces = _roc_traces(rocs, looks) + _det_traces(dets, looks)
    for name, rates in points.items():
        deviates = np.clip(ndtri(np.clip(rates, 1e-9, 1 - 1e-9)), EDGE, 2.4)
        for column, (across, up) in enumerate(((rates[0], 1 - rates[1]), deviates)):
            traces.append({"type": "scatter", "x": [across], "y": [up], "mode": "markers", "showlegend": False,
                           "name": f"threshold, {name}", "legendgroup": name, "marker": marker(looks[name]["color"]),
                           "customdata": [list(rates)], **panel(column),
                           "hovertemplate": f"{name}, at the threshold<br>%{{customdata[0]:.2%}} of imposters get in"
                                            "<br>%{customdata[1]:.2%} of owners are sent away<extra></extra>"})
    return figure(traces, margin=MARGIN | {"t": 40}, height=450, legend={"orientation": "h", "y": -0.16}, **panels(
        ["ROC", "DET"], [x, axis | {"title": FMR}],
        [y, axis | {"title": "owners sent away (FNMR)"}], gap=0.12))


def _roc_axes(corner: bool) -> tuple[dict, dict]:
    return ({"title": FMR, "tickformat": ".0%", "range": [-0.005, 0.3] if corner else [-0.01, 1.01]},
            {"title": "owners who get in (1 − FNMR)", "tickformat": ".0%",
             "range": [0.7, 1.005] if corner else [-0.01, 1.01]})


def _roc_traces(curves: dict, looks: dict) -> list[dict]:
    traces = [{"type": "scatter", "x": [0, 1], "y": [0, 1], "mode": "lines", "name": "guessing", "hoverinfo": "skip",
               "line": {"color": "#999999", "dash": "dot", "width": 1}}]
    for name, curve in curves.items():
        x, y, se = (curve[column].to_numpy() for column in ("fpr", "tpr", "se"))
        low, high = np.clip(y - se, 0, 1), np.clip(y + se, 0, 1)
        traces.append({"type": "scatter", "x": np.concatenate([x, x[::-1]]), "y": np.concatenate([high, low[::-1]]),
                       "fill": "toself", "fillcolor": faded(looks[name]["color"]), "line": {"width": 0},
                       "mode": "lines", "hoverinfo": "skip", "legendgroup": name, "showlegend": False})
        traces.append({"type": "scatter", "x": x, "y": y, "mode": "lines", "name": name, "legendgroup": name,
                       "line": looks[name] | {"width": 2.5}, "customdata": se,
                       "hovertemplate": f"{name}<br>%{{x:.1%}} of imposters and %{{y:.1%}} ± %{{customdata:.1%}} of "
                                        "owners get in<extra></extra>"})
    return traces


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


def histogram(genuine, imposter, threshold: float, low: float, high: float) -> go.Figure:
    """Distances of owners and of imposters, as shares of either kind, and the threshold; beyond ``high`` in one bar."""
    traces, edges = [], np.linspace(low, high, 49)
    for name, values, colour in (("owners to themselves", genuine, GENUINE), ("imposters", imposter, IMPOSTER)):
        counts, _ = np.histogram(np.clip(values, low, high), edges)
        traces.append({"type": "bar", "x": (edges[1:] + edges[:-1]) / 2, "y": counts / len(values), "name": name,
                       "width": edges[1] - edges[0], "customdata": counts, "opacity": 0.6,
                       "marker": {"color": colour, "line": {"width": 0}},
                       "hovertemplate": f"{name}<br>%{{customdata}} of {len(values):,} at about %{{x:.4g}}"
                                        "<extra></extra>"})
    return figure(traces, margin=MARGIN | {"t": 30}, height=430, barmode="overlay", bargap=0,
                  legend={"orientation": "h", "y": -0.18},
                  xaxis={"title": "distance d(n), smaller is closer (last bar: or more)", "range": [low, high]},
                  yaxis={"title": "share of trials", "tickformat": ".0%"},
                  **line_at(threshold, {"color": "#0072B2", "width": 3}, "accepted ◀"))


def auc(ours: dict, paper: dict, looks: dict, height: int = 340) -> go.Figure:
    """AUC over n with standard errors, ours solid, the paper's faint. name -> DataFrame (n, auc, se)"""
    def line(table, name: str, said: str, **more) -> dict:
        return {"type": "scatter", "x": table["n"].to_numpy(), "y": table["auc"].to_numpy(), "name": name,
                "error_y": {"array": table["se"].to_numpy()}, "mode": "lines+markers",
                "hovertemplate": f"{said}, n = %{{x}}<br>AUC %{{y:.4f}}<extra></extra>", **more}

    traces = []
    for name, table in ours.items():
        traces.append(line(table, name, name, line=looks[name] | {"width": 2.5}))
        if name in paper:
            traces.append(line(paper[name], f"the paper: {name}", "the paper", opacity=0.75,
                               line=looks[name] | {"width": 1.5, "dash": "dot"}, marker={"symbol": "circle-open"}))
    return figure(traces, margin=MARGIN, height=height, xaxis={"title": "sequences observed, n", "dtick": 1},
                  yaxis={"title": "AUC"})


def marker(colour: str) -> dict:
    return {"color": colour, "size": 14, "symbol": "diamond", "line": {"width": 2, "color": "#999999"}}


def faded(colour: str, alpha: float = 0.2) -> str:
    return f"rgba{(*hex_to_rgb(colour), alpha)}"
