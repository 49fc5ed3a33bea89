"""ROC, DET, histograms of distances, AUC over n."""

import numpy as np
import plotly.graph_objects as go
from plotly.colors import hex_to_rgb

GENUINE, IMPOSTER = "#009E73", "#D55E00"
TICKS = np.array([0.001, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99])
MARGIN = {"l": 10, "r": 10, "t": 10, "b": 10}
LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}      # grows upwards, never over the curves


def roc(curves: dict, points: dict, looks: dict, corner: bool = False) -> go.Figure:
    """ROC curves with the standard error over draws shaded, and where the threshold stands on each.

    ``curves`` name -> DataFrame (fpr, tpr, se); ``points`` name -> (fmr, fnmr); ``looks`` name -> colour and dash.
    """
    figure = go.Figure()
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line={"color": "#999999", "dash": "dot", "width": 1},
                       name="guessing", hoverinfo="skip")
    for name, curve in curves.items():
        x, low, high = (curve["fpr"], (curve["tpr"] - curve["se"]).clip(0, 1), (curve["tpr"] + curve["se"]).clip(0, 1))
        figure.add_scatter(x=np.concatenate([x, x[::-1]]), y=np.concatenate([high, low[::-1]]), fill="toself",
                           fillcolor=faded(looks[name]["color"]), line={"width": 0}, hoverinfo="skip",
                           legendgroup=name, showlegend=False)
        figure.add_scatter(x=x, y=curve["tpr"], mode="lines", name=name, line=looks[name] | {"width": 2.5},
                           legendgroup=name, customdata=curve["se"], hovertemplate=f"{name}<br>%{{x:.1%}} of imposters "
                           "and %{y:.1%} ± %{customdata:.1%} of owners get in<extra></extra>")
    for name, (fmr, fnmr) in points.items():
        figure.add_scatter(x=[fmr], y=[1 - fnmr], mode="markers", name=f"threshold, {name}", legendgroup=name,
                           showlegend=False, marker=marker(looks[name]["color"]),
                           hovertemplate=f"{name}, at the threshold<br>%{{x:.1%}} of imposters and %{{y:.1%}} of "
                           "owners get in<extra></extra>")
    figure.update_layout(
        margin=MARGIN, height=430, legend=LEGEND,
        xaxis={"title": "imposters who get in (FMR)", "tickformat": ".0%",
               "range": [-0.005, 0.3] if corner else [-0.01, 1.01]},
        yaxis={"title": "owners who get in (1 − FNMR)", "tickformat": ".0%",
               "range": [0.7, 1.005] if corner else [-0.01, 1.01]})
    return figure


def det(curves: dict, points: dict, looks: dict) -> go.Figure:
    """DET curves on normal deviate axes, and where the threshold stands; a rate of 0 or 1 is put on the edge.

    ``curves`` name -> DataFrame (fmr, fnmr, fmr_deviate, fnmr_deviate)
    """
    from scipy.stats import norm

    edge, figure = norm.ppf(0.0005), go.Figure()
    for name, curve in curves.items():
        figure.add_scatter(x=curve["fmr_deviate"], y=curve["fnmr_deviate"], mode="lines", name=name, legendgroup=name,
                           line=looks[name] | {"width": 2.5}, customdata=curve[["fmr", "fnmr"]], showlegend=True,
                           hovertemplate=f"{name}<br>%{{customdata[0]:.2%}} of imposters get in<br>"
                           "%{customdata[1]:.2%} of owners are sent away<extra></extra>")
    for name, rates in points.items():
        x, y = np.clip(norm.ppf(np.clip(rates, 1e-9, 1 - 1e-9)), edge, 2.4)
        figure.add_scatter(x=[x], y=[y], mode="markers", name=f"threshold, {name}", legendgroup=name, showlegend=False,
                           marker=marker(looks[name]["color"]), customdata=[rates],
                           hovertemplate=f"{name}, at the threshold<br>%{{customdata[0]:.2%}} of imposters get in<br>"
                           "%{customdata[1]:.2%} of owners are sent away<extra></extra>")
    figure.add_scatter(x=[edge, 2.4], y=[edge, 2.4], mode="lines", name="equal errors",
                       line={"color": "#999999", "dash": "dot", "width": 1}, hoverinfo="skip")
    axis = {"tickvals": norm.ppf(TICKS), "ticktext": [f"{tick:g} %" for tick in 100 * TICKS],
            "range": [edge - 0.08, 1.4], "zeroline": False}
    figure.update_layout(margin=MARGIN, height=430, legend=LEGEND,
                         xaxis=axis | {"title": "imposters who get in (FMR)"},
                         yaxis=axis | {"title": "owners sent away (FNMR)"})
    return figure


def histogram(genuine, imposter, threshold: float, low: float, high: float) -> go.Figure:
    """Distances of owners and of imposters, as shares of either kind, and the threshold; beyond ``high`` in one bar."""
    figure, edges = go.Figure(), np.linspace(low, high, 49)
    for name, values, colour in (("owners to themselves", genuine, GENUINE), ("imposters", imposter, IMPOSTER)):
        counts, _ = np.histogram(np.clip(values, low, high), edges)
        figure.add_bar(x=(edges[1:] + edges[:-1]) / 2, y=counts / len(values), width=np.diff(edges), name=name,
                       customdata=counts, marker={"color": colour, "line": {"width": 0}}, opacity=0.6,
                       hovertemplate=f"{name}<br>%{{customdata}} of {len(values):,} at about %{{x:.4g}}<extra></extra>")
    figure.add_vline(threshold, line={"color": "#0072B2", "width": 3}, name="threshold",
                     annotation={"text": "accepted ◀", "xanchor": "right", "yanchor": "bottom", "y": 1})
    figure.update_layout(margin=MARGIN | {"t": 30}, height=430, barmode="overlay", bargap=0,
                         legend={"orientation": "h", "y": -0.18},
                         xaxis={"title": "distance d(n), smaller is closer (last bar: or more)", "range": [low, high]},
                         yaxis={"title": "share of trials", "tickformat": ".0%"})
    return figure


def auc(ours: dict, paper: dict, looks: dict, height: int = 340) -> go.Figure:
    """AUC over n with standard errors, ours solid, the paper's faint. name -> DataFrame (n, auc, se)"""
    figure = go.Figure()
    for name, table in ours.items():
        figure.add_scatter(x=table["n"], y=table["auc"], error_y={"array": table["se"]}, name=name,
                           line=looks[name] | {"width": 2.5}, mode="lines+markers",
                           hovertemplate=f"{name}, n = %{{x}}<br>AUC %{{y:.4f}}<extra></extra>")
        if name in paper:
            figure.add_scatter(x=paper[name]["n"], y=paper[name]["auc"], error_y={"array": paper[name]["se"]},
                               name=f"the paper: {name}", opacity=0.75, mode="lines+markers",
                               line=looks[name] | {"width": 1.5, "dash": "dot"}, marker={"symbol": "circle-open"},
                               hovertemplate="the paper, n = %{x}<br>AUC %{y:.4f}<extra></extra>")
    figure.update_layout(margin=MARGIN, height=height, legend=LEGEND,
                         xaxis={"title": "sequences observed, n", "dtick": 1}, yaxis={"title": "AUC"})
    return figure


def marker(colour: str) -> dict:
    return {"color": colour, "size": 14, "symbol": "diamond", "line": {"width": 2, "color": "#999999"}}


def faded(colour: str, alpha: float = 0.2) -> str:
    return f"rgba{(*hex_to_rgb(colour), alpha)}"
