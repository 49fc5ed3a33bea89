"""Accuracy over the people enrolled, CMC, the confusion matrix, the attack, and the filters behind a match."""

import numpy as np
import plotly.graph_objects as go

from ui.figures.verification import GENUINE, IMPOSTER, LEGEND, MARGIN, faded


def over_fractions(tables: dict, looks: dict, measure: str, title: str, shares: bool) -> go.Figure:
    """A measure over the fraction of people enrolled, with errors. label -> DataFrame of `protocol.summarise`"""
    figure = go.Figure()
    style = "%{y:.1%} ± %{error_y.array:.1%}" if shares else "%{y:.4f} ± %{error_y.array:.4f}"
    for label, table in tables.items():
        figure.add_scatter(x=table["fraction"], y=table[measure], error_y={"array": table[f"{measure}_se"]}, name=label,
                           mode="lines+markers", line=looks[label] | {"width": 2.5},
                           hovertemplate=f"{label}, %{{x:.0%}} enrolled<br>{style}<extra></extra>")
    figure.update_layout(margin=MARGIN, height=380, legend=LEGEND,
                         xaxis={"title": "people enrolled, of all", "tickformat": ".0%"},
                         yaxis={"title": title, "tickformat": ".0%" if shares else ""})
    return figure


def cmc(curves: dict, looks: dict) -> go.Figure:
    """How often the right person is among the k nearest, mean ± standard error over draws. label -> (R, S)"""
    figure = go.Figure()
    for label, each in curves.items():
        ranks, mean = np.arange(1, each.shape[1] + 1), each.mean(0)
        error = each.std(0, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.zeros_like(mean)
        figure.add_scatter(x=np.concatenate([ranks, ranks[::-1]]), fill="toself", line={"width": 0}, hoverinfo="skip",
                           y=np.concatenate([np.minimum(mean + error, 1), (mean - error)[::-1]]), showlegend=False,
                           fillcolor=faded(looks[label]["color"]), legendgroup=label)
        figure.add_scatter(x=ranks, y=mean, name=label, mode="lines+markers", legendgroup=label,
                           line=looks[label] | {"width": 2.5},
                           hovertemplate=f"{label}<br>%{{y:.1%}} are among the %{{x}} nearest<extra></extra>")
    figure.update_layout(margin=MARGIN, height=480, legend=LEGEND,
                         xaxis={"title": "k, people looked at", "tickformat": "d"},
                         yaxis={"title": "right person among the k nearest", "tickformat": ".0%"})
    return figure


def confusion(shares: np.ndarray, people: list[str]) -> go.Figure:
    """Who was taken for whom. (S, S); rows are who came. Invisible points over the cells can be clicked."""
    colours = [[0, "rgba(128,128,128,0.08)"], [0.001, "rgba(0,114,178,0.15)"], [1, "#0072B2"]]
    figure = go.Figure(go.Heatmap(z=np.round(shares, 3), x=people, y=people, zmin=0, zmax=1, colorscale=colours, xgap=1,
                                  ygap=1, hoverinfo="skip", showscale=False))
    row, column = np.nonzero((shares > 0) | (len(people) <= 30))
    figure.add_scatter(
        x=[people[j] for j in column], y=[people[i] for i in row], mode="markers", showlegend=False, name="cells",
        marker={"size": max(6, 380 // len(people)), "symbol": "square", "opacity": 0},
        customdata=np.stack([row, column, np.round(shares[row, column], 3)], 1),
        hovertemplate="%{y} taken for %{x}: %{customdata[2]:.0%}<extra></extra>",
        selected={"marker": {"opacity": 0.35, "color": "#E69F00"}}, unselected={"marker": {"opacity": 0}})
    axis = {"type": "category", "showgrid": False, "nticks": 30}
    figure.update_layout(margin=MARGIN, height=480, xaxis=axis | {"title": "taken for"},
                         yaxis=axis | {"title": "who came", "autorange": "reversed"})
    return figure


def attack(table, threshold: float, colours: dict[str, str]) -> go.Figure:
    """Every person at the door as an imposter: the distance to the nearest enrolled person, and the threshold.

    The few that are much farther than the others stand at the right edge, so that the others have room.
    """
    distance = table["distance"]
    low, middle = min(distance.min(), threshold), max(distance.median(), threshold)
    edge, figure = min(max(distance.max(), threshold), middle + 2 * (middle - low)), go.Figure()
    for inside, name in ((True, "gets in"), (False, "is sent away")):
        rows = table[table["gets_in"] == inside]
        beyond = rows["distance"] > edge
        figure.add_scatter(
            x=rows["distance"].clip(upper=edge), y=rows["imposter"], mode="markers+text", name=name,
            text=[f"as {who}{f', at {far:.3g} ▶' if out else ''}" for who, far, out in zip(
                rows["nearest"], rows["distance"], beyond, strict=True)],
            textposition=["middle left" if out else "middle right" for out in beyond], cliponaxis=False,
            customdata=rows[["nearest", "distance"]], marker={
                "size": 13, "symbol": "circle" if inside else "circle-open",
                "line": {"width": 3, "color": [colours[person] for person in rows["nearest"]]},
                "color": [colours[person] for person in rows["nearest"]]},
            hovertemplate=f"%{{y}} {name}: %{{customdata[1]:.4g}} from %{{customdata[0]}}<extra></extra>")
    figure.add_vline(threshold, line={"color": IMPOSTER, "width": 3},
                     annotation={"text": "gets in ◀", "xanchor": "right", "yanchor": "bottom", "y": 1})
    figure.update_layout(
        margin=MARGIN | {"t": 30}, height=max(300, 70 + 24 * len(table)), showlegend=False,
        xaxis={"title": "distance to the nearest person enrolled",
               "range": [low - 0.08 * (edge - low), edge + 0.3 * (edge - low)]},
        yaxis={"title": "imposter", "type": "category", "categoryorder": "array", "nticks": 100,
               "categoryarray": table["imposter"].tolist()[::-1]})
    return figure


def filters(table, names: tuple[str, str, str]) -> go.Figure:
    """What single filters add to a distance: of this pair, of two typical strangers, of a person to themselves.

    ``table`` has columns filter, pair, typical, own (which may be missing); the filters that matched most come first.
    """
    rows, figure = table.iloc[::-1], go.Figure()
    labels = [f"filter {number}" for number in rows["filter"]]
    for label, typical, pair in zip(labels, rows["typical"], rows["pair"], strict=True):
        figure.add_scatter(x=[typical, pair], y=[label, label], mode="lines", line={"color": "#999999", "width": 2},
                           showlegend=False, hoverinfo="skip")
    looks = {"typical": ("#999999", "line-ns-open"), "own": (GENUINE, "circle-open"), "pair": (IMPOSTER, "circle")}
    for column, name in zip(("typical", "own", "pair"), names, strict=True):
        if column in rows:
            colour, symbol = looks[column]
            figure.add_scatter(x=rows[column], y=labels, mode="markers", name=name,
                               marker={"color": colour, "symbol": symbol, "size": 11, "line": {"width": 2}},
                               hovertemplate=f"{name}, %{{y}}<br>%{{x:.4g}}<extra></extra>")
    figure.update_layout(margin=MARGIN, height=80 + 28 * len(rows), legend=LEGEND,
                         xaxis={"title": "what the filter adds to the distance"}, yaxis={"type": "category"})
    return figure
