"""Pictures of the Distances page: three distances side by side, one against another, and what decides a pair."""

from __future__ import annotations

from html import escape

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

GENUINE, IMPOSTER = "#0072B2", "#E69F00"
LINE = "rgba(128,128,128,0.8)"
MARGIN = {"l": 10, "r": 10, "t": 50, "b": 10}
LEGEND = {"orientation": "h", "y": -0.12, "yanchor": "top"}


def histograms(values: dict[str, np.ndarray], genuine: np.ndarray, titles: list[str], bins: int = 40) -> go.Figure:
    """Distances of genuine and imposter pairs, each scaled to area 1. {measure: (P,)}, (P,) bool"""
    figure = make_subplots(rows=1, cols=len(values), subplot_titles=titles, horizontal_spacing=0.05)
    for i, x in enumerate(values.values()):
        edges = np.linspace(x.min(), max(x.max(), x.min() + 1e-9), bins + 1)
        for name, kind, colour in (("imposter pairs", ~genuine, IMPOSTER), ("genuine pairs", genuine, GENUINE)):
            height = np.histogram(x[kind], edges)[0] / max(1, kind.sum())
            figure.add_bar(x=(edges[:-1] + edges[1:]) / 2, y=height, width=np.diff(edges), name=name, opacity=0.65,
                           marker={"color": colour, "line_width": 0}, legendgroup=name, showlegend=i == 0, row=1,
                           col=i + 1, hovertemplate=f"%{{y:.1%}} of the {name} at %{{x:.3g}}<extra></extra>")
    figure.update_yaxes(showticklabels=False)
    figure.update_yaxes(title="share of pairs", row=1, col=1)
    figure.update_xaxes(title="distance")
    figure.update_layout(margin=MARGIN, height=400, barmode="overlay", bargap=0, legend={**LEGEND, "y": -0.22})
    return figure


def matrices(distances: dict[str, np.ndarray], subjects: np.ndarray, titles: list[str]) -> go.Figure:
    """Distance matrices (n, n) of sequences ordered by person, people separated by lines; dark is near."""
    figure = make_subplots(rows=1, cols=len(distances), subplot_titles=titles, horizontal_spacing=0.02)
    n, people = len(subjects), list(dict.fromkeys(subjects.tolist()))
    edges = np.flatnonzero(subjects[1:] != subjects[:-1]) + 0.5                          # between people
    middles = [float(np.flatnonzero(subjects == person).mean()) for person in people]
    ends = np.tile([-0.5, n - 0.5, np.nan], len(edges))
    lines = np.repeat(edges, 3)
    for i, distance in enumerate(distances.values()):
        off = distance[~np.eye(n, dtype=bool)]
        low, high = np.quantile(off, [0.01, 0.99])
        figure.add_heatmap(z=distance.astype(np.float32), zmin=low, zmax=high, colorscale="Cividis", showscale=False,
                           row=1, col=i + 1,
                           hovertemplate="sequences %{x} and %{y}<br>distance %{z:.4g}<extra></extra>")
        figure.add_scatter(x=np.concatenate([ends, lines]), y=np.concatenate([lines, ends]), mode="lines", row=1,
                           col=i + 1, line={"color": "rgba(255,255,255,0.7)", "width": 1}, hoverinfo="skip",
                           showlegend=False)
        named = len(people) <= 20
        axis = {"tickvals": middles, "ticktext": [escape(person) for person in people], "showgrid": False,
                "zeroline": False}
        figure.update_xaxes(**axis, showticklabels=named, tickangle=-90, range=[-0.5, n - 0.5], row=1, col=i + 1)
        figure.update_yaxes(**axis, showticklabels=named and i == 0, range=[n - 0.5, -0.5], row=1, col=i + 1)
    figure.update_layout(margin=MARGIN, height=480)
    return figure


def maps(points: dict[str, np.ndarray], subjects: np.ndarray, colours: dict[str, str], titles: list[str]) -> go.Figure:
    """Sequences on a map (n, 2) by each distance, a person in one colour with their name in the middle."""
    figure = make_subplots(rows=1, cols=len(points), subplot_titles=titles, horizontal_spacing=0.03)
    people = list(dict.fromkeys(subjects.tolist()))
    for i, x in enumerate(points.values()):
        figure.add_scatter(x=x[:, 0], y=x[:, 1], mode="markers", showlegend=False, row=1, col=i + 1,
                           marker={"color": [colours[name] for name in subjects], "size": 7, "opacity": 0.7},
                           text=[escape(name) for name in subjects], hovertemplate="%{text}<extra></extra>")
        middle = np.stack([x[subjects == person].mean(0) for person in people])
        figure.add_scatter(x=middle[:, 0], y=middle[:, 1], mode="text", row=1, col=i + 1, hoverinfo="skip",
                           text=[f"<b>{escape(name)}</b>" for name in people], showlegend=False, textfont_size=12)
    figure.update_xaxes(showticklabels=False, zeroline=False)
    figure.update_yaxes(showticklabels=False, zeroline=False)
    figure.update_layout(margin=MARGIN, height=440, hovermode="closest")
    return figure


def against(x: np.ndarray, y: np.ndarray, genuine: np.ndarray, index: np.ndarray, names: tuple[str, str]) -> go.Figure:
    """Each pair by two distances; a point carries its pair (P, 2) for whoever clicks it."""
    figure = go.Figure()
    for name, kind, colour, symbol in (("imposter pairs", ~genuine, IMPOSTER, "circle"),
                                       ("genuine pairs", genuine, GENUINE, "diamond")):
        figure.add_scattergl(x=x[kind], y=y[kind], mode="markers", name=name, customdata=index[kind],
                             marker={"color": colour, "size": 5, "opacity": 0.55, "symbol": symbol},
                             hovertemplate=f"{names[0]} %{{x:.4g}}, {names[1]} %{{y:.4g}}<extra>{name[:-1]}</extra>")
    figure.update_layout(margin=MARGIN, height=520, hovermode="closest", clickmode="event+select", dragmode="pan",
                         xaxis={"title": names[0]}, yaxis={"title": names[1]},
                         legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"})
    return figure


def deciding(shares: dict[str, np.ndarray], order: np.ndarray, colours: dict[str, str]) -> go.Figure:
    """The share of each filter in the distance of a pair, filters (from 0) in this order. {name: (K,)}, (k,)"""
    figure = go.Figure()
    for name, values in shares.items():
        figure.add_bar(x=[str(k + 1) for k in order], y=values[order], name=name, marker_color=colours[name],
                       hovertemplate=f"filter %{{x}}: %{{y:.1%}} of {name}<extra></extra>")
    figure.update_layout(margin=MARGIN, height=400, barmode="group", bargap=0.25,
                         legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
                         xaxis={"title": "filter", "type": "category"},
                         yaxis={"title": "share of the distance", "tickformat": ".0%"})
    return figure


def two_functions(values: dict[str, np.ndarray], levels: np.ndarray, colours: dict[str, str]) -> go.Figure:
    """Two quantile functions (L,) of one filter, and the area between them, which is W₁."""
    figure = go.Figure()
    for i, (name, y) in enumerate(values.items()):
        figure.add_scatter(x=levels, y=y, name=escape(name), mode="lines+markers", marker_size=5,
                           line={"color": colours[name], "width": 2.5, "dash": "dot" if i else "solid"},
                           fill="tonexty" if i else None, fillcolor="rgba(128,128,128,0.2)",
                           hovertemplate=f"{escape(name)}: Q̄(%{{x:.2f}}) = %{{y:.3g}}<extra></extra>")
    figure.update_layout(margin=MARGIN, height=400, hovermode="closest",
                         legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
                         xaxis={"title": "level r", "range": [-0.01, 1.01], "tickformat": ".0%"},
                         yaxis={"title": "Q̄(r)"})
    return figure
