"""The figures of a report: pure functions, tables in, plotly figures out. Colours of text and grid are the page's."""

from __future__ import annotations

import numpy as np

from qpwl_core.models.methods import METHODS
from qpwl_core.study import paper
from qpwl_core.study.palette import COLOURS, look_of, symbol_of
from qpwl_core.study.sets import SETS
from qpwl_core.study.tables import mean_of

WAYS = {"trained anew": "solid", "one model": "dash", "untrained": "dot"}
RATES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.4)      # ticks of a DET curve


def _line(method: str) -> dict:
    return look_of(method) | {"width": 3 if method == "qp-wl" else 2}


def _marker(method: str) -> dict:
    return {"symbol": symbol_of(method), "size": 8}


def _figure(x: str, y: str, **layout):
    import plotly.graph_objects as go

    figure = go.Figure()
    figure.update_layout(template="none", xaxis_title=x, yaxis_title=y, height=420, hovermode="closest",
                         margin={"l": 70, "r": 20, "t": 30, "b": 60}, legend={"orientation": "h", "y": -0.22}, **layout)
    return figure


def _curve(figure, method: str, x, y, se=None, text="", mode="lines", shaded=False, **place) -> None:
    """One method's curve, its standard error as a shaded band or as bars."""
    name = METHODS[method].title
    if shaded:
        band = np.concatenate([y - se, (y + se)[::-1]])
        figure.add_scatter(x=np.concatenate([x, x[::-1]]), y=band, fill="toself", fillcolor=_line(method)["color"],
                           opacity=0.2, line={"width": 0}, mode="lines", hoverinfo="skip", showlegend=False,
                           legendgroup=method, **place)
    bars = None if shaded or se is None else {"type": "data", "array": se, "thickness": 1}
    figure.add_scatter(x=x, y=y, name=name, mode=mode, line=_line(method), marker=_marker(method), error_y=bars,
                       legendgroup=method, hovertemplate=f"{name}<br>%{{x:.3g}}: %{{y:.4f}}<extra>{text}</extra>",
                       **place)


def _each(frame, name: str):
    """The rows of a set, method by method."""
    rows = frame[frame["set"] == name]
    return rows.groupby("method", sort=False)


def _up_to_one(figure, values, errors) -> None:
    """Show rates from a little below the lowest up to 1, also where all of them are 1."""
    lowest = float((values - errors).min())
    figure.update_yaxes(range=[min(lowest, 0.95) - 0.02, 1.01])


def roc(tables: dict, name: str, n: int = 5):
    """Mean ROC curves with their standard error, as in Figures 2, 5 and 7 of the paper."""
    curves = tables["roc"][tables["roc"]["n"] == n]
    figure = _figure("false positive rate", "true positive rate")
    for method, rows in _each(curves, name):
        _curve(figure, method, rows["fpr"].to_numpy(), rows["tpr"].to_numpy(), rows["se"].to_numpy(), shaded=True)
    lowest = curves[(curves["set"] == name) & (curves["fpr"] == 0.01)]["tpr"].min()
    figure.update_xaxes(range=[-0.005, 0.5])
    figure.update_yaxes(range=[max(0.0, np.floor(10 * lowest) / 10 - 0.02), 1.01])
    return figure


def det(tables: dict, name: str, n: int = 5):
    """DET curves on normal-deviate axes, down to what the trials can measure."""
    from scipy.stats import norm

    people = tables["cells"].loc[tables["cells"]["set"] == name, "tested_people"].max()
    floor = 3 / (people * (people - 1))
    curves = tables["roc"][(tables["roc"]["n"] == n) & (tables["roc"]["fpr"] >= floor) & (tables["roc"]["fpr"] < 1)
                           & (tables["roc"]["tpr"] < 1) & (tables["roc"]["tpr"] > 0)]
    figure = _figure("false match rate", "false non-match rate")
    for method, rows in _each(curves, name):
        _curve(figure, method, norm.ppf(rows["fpr"]), norm.ppf(1 - rows["tpr"]))
    ticks = {"tickvals": norm.ppf(RATES), "ticktext": [f"{rate:.1%}".replace(".0%", "%") for rate in RATES]}
    figure.update_xaxes(range=norm.ppf([min(floor, 0.05) * 0.9, 0.5]).tolist(), **ticks)
    figure.update_yaxes(range=norm.ppf([0.0008, 0.5]).tolist(), **ticks)
    figure.update_traces(hovertemplate="%{fullData.name}<extra></extra>")
    if not figure.data:
        figure.add_annotation(text="no errors at rates that can be measured: nothing to draw", showarrow=False, x=0.5,
                              y=0.5, xref="paper", yref="paper")
    return figure


def cmc(tables: dict, name: str):
    """How often the right person is among the k nearest."""
    figure = _figure("rank k", "right person among the k nearest")
    for method, rows in _each(tables["cmc"], name):
        _curve(figure, method, rows["rank"], rows["rate"], rows["se"], mode="lines+markers")
    shown = tables["cmc"][tables["cmc"]["set"] == name]
    _up_to_one(figure, shown["rate"], shown["se"])
    return figure


def auc_over_n(tables: dict, name: str):
    """Our Table 1 as curves, and the paper's (dashed, grey)."""
    figure = _figure("observed sequences n", "AUC of verification")
    for method, rows in _each(tables["table"], name):
        _curve(figure, method, rows["n"], rows["auc"], rows["se"], mode="lines+markers")
    for method, values in paper.VERIFICATION.get(SETS[name].beside or "", {}).items():
        if method in set(tables["table"].loc[tables["table"]["set"] == name, "method"]):
            figure.add_scatter(x=list(range(1, 6)), y=[auc for auc, _ in values], mode="lines+markers", opacity=0.55,
                               name=f"{METHODS[method].title}, paper", marker=_marker(method), legendgroup=method,
                               line=look_of(method) | {"width": 1, "dash": "dash"},
                               visible=True if method == "qp-wl" else "legendonly")
    figure.update_xaxes(dtick=1)
    return figure


def over_fraction(tables: dict, name: str, which: str):
    """Identification accuracy or AUC against imposters over the fraction of people enrolled, n = 5."""
    measure = {"identification": "accuracy", "imposters": "auc"}[which]
    figure = _figure("fraction of people enrolled", "accuracy" if measure == "accuracy" else "AUC against imposters")
    shown = mean_of(tables[which][tables[which]["set"] == name], measure, "set", "method", "fraction")
    for method, rows in _each(shown, name):
        _curve(figure, method, rows["fraction"], rows[measure], rows["se"], mode="lines+markers")
    _up_to_one(figure, shown[measure], shown["se"])
    figure.update_xaxes(tickformat=".0%")
    return figure


def differences(tables: dict, names: list[str], n: int):
    """QP-WL minus every other method, with intervals that resample people: right of nought QP-WL leads."""
    found = tables["differences"]
    found = found[found["set"].isin(names) & (found["n"] == n)][::-1]                        # plotly begins at the foot
    figure = _figure(f"AUC of QP-WL minus AUC of the other, n = {n}", "")
    places = [[SETS[name].title for name in found["set"]], [METHODS[method].title for method in found["against"]]]
    figure.add_scatter(
        x=found["difference"], y=places, mode="markers", showlegend=False,
        marker={"size": 10, "color": [look_of(method)["color"] for method in found["against"]]},
        error_x={"type": "data", "symmetric": False, "array": found["high"] - found["difference"],
                 "arrayminus": found["difference"] - found["low"], "thickness": 1.5, "color": "#888888"},
        hovertemplate="%{y}: %{x:+.4f}<extra></extra>")
    figure.add_vline(x=0, line={"color": "#888888", "width": 2})
    figure.update_layout(height=140 + 26 * len(found))
    return figure


def over(tables: dict, what: str, axis: str):
    """AUC at n = 1 over M, p, enrolled sequences or people to learn from: a colour per set, a dash per way."""
    figure = _figure(axis, "AUC at n = 1")
    shown = tables["sweeps"][tables["sweeps"]["what"] == what]
    names = list(dict.fromkeys(shown["set"]))
    for (name, method, trained), rows in shown.groupby(["set", "method", "trained"], sort=False):
        way = "untrained" if method == "untrained" else "trained anew" if trained == "anew" else "one model"
        if len(rows) < 2:                        # the main cell alone is no curve
            continue
        figure.add_scatter(
            x=rows["value"], y=rows["auc"], mode="lines+markers", name=f"{SETS[name].title}, {way}",
            line={"color": COLOURS[names.index(name)], "dash": WAYS[way]}, marker={"size": 7},
            error_y={"type": "data", "symmetric": False, "array": rows["high"] - rows["auc"],
                     "arrayminus": rows["auc"] - rows["low"], "thickness": 1},
            customdata=rows["cells"],
            hovertemplate="%{fullData.name}<br>%{x:g}: %{y:.4f}<br>%{customdata}<extra></extra>")
    if what != "p":
        values = sorted(shown["value"].unique())
        figure.update_xaxes(type="log", tickvals=values, ticktext=[f"{value:g}" for value in values])
    return figure


def budget_curves(tables: dict):
    """Validation AUC over the steps of the paper's own budget, as far as it got."""
    figure = _figure("step", "validation AUC")
    for method, rows in tables["budget"].groupby("method", sort=False):
        _curve(figure, method, rows["step"], rows["auc"], mode="lines+markers")
    return figure


def wasserstein_against_jensen_shannon():
    """Figure 1 of the paper: three distributions, and what both measures say as one is moved away."""
    import torch
    from plotly.subplots import make_subplots

    from qpwl_core.transport.distances import wasserstein
    from qpwl_core.transport.divergences import jensen_shannon

    levels = torch.linspace(0, 1, 65, dtype=torch.float64)
    bump = torch.where(levels < 0.5, (levels / 2).sqrt(), 1 - ((1 - levels) / 2).sqrt())     # triangle on [0, 1]
    shifts = torch.linspace(0, 4, 81, dtype=torch.float64)
    moved = (bump + shifts[:, None])[:, None]                                                # (81, 1, 65)
    still = bump.expand_as(moved)
    figure = make_subplots(1, 2, subplot_titles=("three distributions", "as q₂ is moved away from q₁"))
    for name, shift, colour in (("q₁", 0.0, "#0072B2"), ("q₂", 1.25, "#009E73"), ("q₃", 3.0, "#D55E00")):
        figure.add_scatter(x=[shift, shift + 0.5, shift + 1], y=[0, 2, 0], fill="tozeroy", mode="lines", name=name,
                           line={"color": colour}, row=1, col=1)
    for name, values, colour in (("Wasserstein W₁", wasserstein(still, moved, levels), "#CC79A7"),
                                 ("√ Jensen–Shannon", jensen_shannon(still, moved, levels).sqrt(), "#56B4E9")):
        figure.add_scatter(x=shifts.tolist(), y=values.tolist(), mode="lines", name=name, line={"color": colour,
                           "width": 3}, row=1, col=2)
    for name, shift in (("q₂", 1.25), ("q₃", 3.0)):
        figure.add_vline(x=shift, row=1, col=2, line={"color": "#888888", "dash": "dot"}, annotation_text=name)
    figure.update_layout(template="none", height=380, margin={"l": 60, "r": 20, "t": 40, "b": 60},
                         legend={"orientation": "h", "y": -0.2})
    figure.update_xaxes(title="value", row=1, col=1)
    figure.update_yaxes(title="density", row=1, col=1)
    figure.update_xaxes(title="moved by", row=1, col=2)
    figure.update_yaxes(title="distance to q₁", row=1, col=2)
    return figure
