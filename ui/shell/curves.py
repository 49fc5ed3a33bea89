"""Curves that several pages draw: ROC, AUC over n, a measure over the fraction of people enrolled."""

import numpy as np
import plotly.graph_objects as go
from plotly.colors import hex_to_rgb

from ui.shell.panels import figure

GENUINE, IMPOSTER = "#009E73", "#D55E00"
MARGIN = {"l": 10, "r": 10, "t": 10, "b": 10}
FMR = "imposters who get in (FMR)"


def roc(curves: dict, looks: dict, corner: bool = False) -> go.Figure:
    """ROC curves with the standard error over draws shaded.

    ``curves`` name -> DataFrame (fpr, tpr, se); ``looks`` name -> colour and dash.
    """
    x, y = roc_axes(corner)
    return figure(roc_traces(curves, looks), margin=MARGIN, height=430, xaxis=x, yaxis=y)


def roc_axes(corner: bool) -> tuple[dict, dict]:
    """The axes of a ROC curve, all of it or its upper left corner."""
    return ({"title": FMR, "tickformat": ".0%", "range": [-0.005, 0.3] if corner else [-0.01, 1.01]},
            {"title": "owners who get in (1 − FNMR)", "tickformat": ".0%",
             "range": [0.7, 1.005] if corner else [-0.01, 1.01]})


def roc_traces(curves: dict, looks: dict) -> list[dict]:
    """The curves with their standard errors, and the line of guessing."""
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


def auc_over_n(ours: dict, paper: dict, looks: dict, height: int = 340) -> go.Figure:
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


def over_setting(tables: dict, looks: dict, name: str, title: str, present: dict) -> go.Figure:
    """AUC over p or M with its interval over people shaded, one line per name, the present setting marked.

    ``tables`` label -> DataFrame (``name``, auc, low, high); ``present`` label -> (x, auc). A point carries its x.
    """
    traces, symbols = [], ("circle", "square", "triangle-up", "x", "star")
    for i, (label, table) in enumerate(tables.items()):
        x, colour = table[name].to_numpy(), looks[label]["color"]
        low, high = table["low"].to_numpy(), table["high"].to_numpy()
        traces.append({"type": "scatter", "x": np.concatenate([x, x[::-1]]), "y": np.concatenate([high, low[::-1]]),
                       "fill": "toself", "fillcolor": faded(colour, 0.13), "line": {"width": 0}, "mode": "lines",
                       "hoverinfo": "skip", "legendgroup": label, "showlegend": False})
        traces.append({"type": "scatter", "x": x, "y": table["auc"].to_numpy(), "mode": "lines+markers", "name": label,
                       "legendgroup": label, "line": looks[label] | {"width": 2.5}, "customdata": x,
                       "marker": {"size": 8, "symbol": symbols[i % len(symbols)]},
                       "text": [f"{a:.3f} to {b:.3f}" for a, b in zip(low, high, strict=True)],
                       "hovertemplate": f"{label}, {name} = %{{x}}<br>AUC %{{y:.4f}}, interval %{{text}}"
                                        "<extra></extra>"})
    for label, (x, auc) in present.items():
        traces.append({"type": "scatter", "x": [x], "y": [auc], "mode": "markers", "showlegend": False,
                       "name": f"{label}, now", "customdata": [x], "marker": {
                           "size": 17, "symbol": "diamond-open", "color": looks[label]["color"], "line": {"width": 3}},
                       "hovertemplate": f"{label}, now: AUC %{{y:.4f}}<extra></extra>"})
    axis = {"title": title, "type": "log", "tickvals": [1, 2, 4, 8, 16, 32, 64]} if name == "M" else {"title": title}
    return figure(traces, margin=MARGIN | {"t": 40}, height=380, xaxis=axis, yaxis={"title": "AUC"}, dragmode=False)


def over_fractions(tables: dict, looks: dict, measure: str, title: str, shares: bool) -> go.Figure:
    """A measure over the fraction of people enrolled, with errors. label -> DataFrame of `protocol.summarise`"""
    style = "%{y:.1%} ± %{error_y.array:.1%}" if shares else "%{y:.4f} ± %{error_y.array:.4f}"
    traces = [{"type": "scatter", "x": table["fraction"].to_numpy(), "y": table[measure].to_numpy(), "name": label,
               "error_y": {"array": table[f"{measure}_se"].to_numpy()}, "mode": "lines+markers",
               "line": looks[label] | {"width": 2.5},
               "hovertemplate": f"{label}, %{{x:.0%}} enrolled<br>{style}<extra></extra>"}
              for label, table in tables.items()]
    return figure(traces, margin=MARGIN, height=380, xaxis={"title": "people enrolled, of all", "tickformat": ".0%"},
                  yaxis={"title": title, "tickformat": ".0%" if shares else ""})


def faded(colour: str, alpha: float = 0.2) -> str:
    """A colour that lets others through."""
    return f"rgba{(*hex_to_rgb(colour), alpha)}"
