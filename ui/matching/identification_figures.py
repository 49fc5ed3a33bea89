"""Accuracy over the people enrolled, CMC, the confusion matrix, the attack, and the filters behind a match."""

import numpy as np
import plotly.graph_objects as go

from ui.shell.curves import GENUINE, IMPOSTER, MARGIN, faded
from ui.shell.panels import figure, line_at


def cmc(curves: dict, looks: dict) -> go.Figure:
    """How often the right person is among the k nearest, mean ± standard error over draws. label -> (R, S)"""
    traces = []
    for label, each in curves.items():
        ranks, mean = np.arange(1, each.shape[1] + 1), each.mean(0)
        error = each.std(0, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.zeros_like(mean)
        traces.append({"type": "scatter", "x": np.concatenate([ranks, ranks[::-1]]), "fill": "toself", "mode": "lines",
                       "y": np.concatenate([np.minimum(mean + error, 1), (mean - error)[::-1]]), "line": {"width": 0},
                       "showlegend": False, "hoverinfo": "skip", "fillcolor": faded(looks[label]["color"]),
                       "legendgroup": label})
        traces.append({"type": "scatter", "x": ranks, "y": mean, "name": label, "mode": "lines+markers",
                       "legendgroup": label, "line": looks[label] | {"width": 2.5},
                       "hovertemplate": f"{label}<br>%{{y:.1%}} are among the %{{x}} nearest<extra></extra>"})
    return figure(traces, margin=MARGIN, height=480, xaxis={"title": "k, people looked at", "tickformat": "d"},
                  yaxis={"title": "right person among the k nearest", "tickformat": ".0%"})


def confusion(shares: np.ndarray, people: list[str]) -> go.Figure:
    """Who was taken for whom. (S, S); rows are who came. A cell carries its row and column, for whoever clicks."""
    colours = [[0, "rgba(128,128,128,0.08)"], [0.001, "rgba(0,114,178,0.15)"], [1, "#0072B2"]]
    where = np.indices(shares.shape).transpose(1, 2, 0).tolist()                              # (S, S, 2)
    cells = {"type": "heatmap", "z": np.round(shares, 3), "x": people, "y": people, "zmin": 0, "zmax": 1, "xgap": 1,
             "ygap": 1, "colorscale": colours, "showscale": False, "customdata": where,
             "hovertemplate": "%{y} taken for %{x}: %{z:.0%}<extra></extra>"}
    axis = {"type": "category", "showgrid": False, "nticks": 30}
    return figure([cells], margin=MARGIN, height=480, xaxis=axis | {"title": "taken for"},
                  yaxis=axis | {"title": "who came", "autorange": "reversed"})


def attack(table, threshold: float, colours: dict[str, str]) -> go.Figure:
    """Every person at the door as an imposter: the distance to the nearest enrolled person, and the threshold.

    The few that are much farther than the others stand at the right edge, so that the others have room.
    """
    distance, traces = table["distance"], []
    low, middle = min(distance.min(), threshold), max(distance.median(), threshold)
    edge = min(max(distance.max(), threshold), middle + 2 * (middle - low))
    for inside, name in ((True, "gets in"), (False, "is sent away")):
        rows = table[table["gets_in"] == inside]
        beyond, theirs = rows["distance"] > edge, [colours[person] for person in rows["nearest"]]
        traces.append({
            "type": "scatter", "x": rows["distance"].clip(upper=edge).to_numpy(), "y": rows["imposter"].tolist(),
            "mode": "markers+text", "name": name, "cliponaxis": False,
            "text": [f"as {who}{f', at {far:.3g} ▶' if out else ''}" for who, far, out in zip(
                rows["nearest"], rows["distance"], beyond, strict=True)],
            "textposition": ["middle left" if out else "middle right" for out in beyond],
            "customdata": rows[["nearest", "distance"]].to_numpy().tolist(),
            "marker": {"size": 13, "symbol": "circle" if inside else "circle-open", "color": theirs,
                       "line": {"width": 3, "color": theirs}},
            "hovertemplate": f"%{{y}} {name}: %{{customdata[1]:.4g}} from %{{customdata[0]}}<extra></extra>"})
    return figure(
        traces, margin=MARGIN | {"t": 30}, height=max(300, 70 + 24 * len(table)), showlegend=False,
        xaxis={"title": "distance to the nearest",
               "range": [low - 0.08 * (edge - low), edge + 0.75 * (edge - low)]},
        yaxis={"title": "imposter", "type": "category", "categoryorder": "array", "nticks": 100,
               "categoryarray": table["imposter"].tolist()[::-1]},
        **line_at(threshold, {"color": IMPOSTER, "width": 3}, "gets in ◀"))


def filters(table, names: tuple[str, str, str]) -> go.Figure:
    """What single filters add to a distance: of this pair, of two typical strangers, of a person to themselves.

    ``table`` has columns filter, pair, typical, own (which may be missing); the filters that matched most come first.
    """
    rows = table.iloc[::-1]
    labels = rows["name"].tolist() if "name" in rows else [f"filter {number}" for number in rows["filter"]]
    bars = np.column_stack([rows["typical"], rows["pair"], np.full(len(rows), np.nan)]).ravel()       # nan: a gap
    traces = [{"type": "scatter", "x": bars, "y": np.repeat(labels, 3).tolist(), "mode": "lines", "hoverinfo": "skip",
               "line": {"color": "#999999", "width": 2}, "showlegend": False}]
    looks = {"typical": ("#999999", "line-ns-open"), "genuine": (GENUINE, "circle-open"), "pair": (IMPOSTER, "circle")}
    for column, name in zip(("typical", "genuine", "pair"), names, strict=True):
        if column in rows:
            colour, symbol = looks[column]
            traces.append({"type": "scatter", "x": rows[column].to_numpy(), "y": labels, "mode": "markers",
                           "name": name, "marker": {"color": colour, "symbol": symbol, "size": 11,
                                                    "line": {"width": 2, "color": colour}},
                           "hovertemplate": f"{name}, %{{y}}<br>%{{x:.4g}}<extra></extra>"})
    return figure(traces, margin=MARGIN, height=80 + 28 * len(rows), yaxis={"type": "category"},
                  xaxis={"title": "what the filter adds to the distance"})
