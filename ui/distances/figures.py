"""Pictures of the Distances page: three distances side by side, one against another, and what decides a pair."""

from __future__ import annotations

from html import escape

import numpy as np
import plotly.graph_objects as go

from ui.shell.palette import COLOURS
from ui.shell.panels import MARGIN, figure, panel, panels
from ui.shell.people import called, named

GENUINE, IMPOSTER = "#0072B2", "#E69F00"
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x")        # where colours begin again
BELOW = {"orientation": "h", "y": -0.2, "yanchor": "top"}


def histograms(values: dict[str, np.ndarray], genuine: np.ndarray, titles: list[str], bins: int = 40) -> go.Figure:
    """Distances of genuine and imposter pairs, each scaled to area 1. {measure: (P,)}, (P,) bool"""
    traces = []
    for i, x in enumerate(values.values()):
        edges = np.linspace(x.min(), max(x.max(), x.min() + 1e-9), bins + 1)
        for name, kind, colour in (("imposter pairs", ~genuine, IMPOSTER), ("genuine pairs", genuine, GENUINE)):
            traces.append({
                "type": "bar", "x": (edges[:-1] + edges[1:]) / 2, "y": np.histogram(x[kind], edges)[0] / kind.sum(),
                "width": edges[1] - edges[0], "name": name, "opacity": 0.65, "legendgroup": name, "showlegend": i == 0,
                "marker": {"color": colour, "line": {"width": 0}}, **panel(i),
                "hovertemplate": f"%{{y:.1%}} of the {name} at %{{x:.3g}}<extra></extra>"})
    y = [{"showticklabels": False, "title": "" if i else "share of pairs"} for i in range(len(titles))]
    return figure(traces, height=400, barmode="overlay", bargap=0, legend=BELOW,
                  **panels(titles, [{"title": "distance"}] * len(titles), y))


def matrices(distances: dict[str, np.ndarray], subjects: np.ndarray, titles: list[str]) -> go.Figure:
    """Distance matrices (n, n) of sequences ordered by person, people separated by lines; dark is near."""
    n, people = len(subjects), list(dict.fromkeys(subjects.tolist()))
    edges = np.repeat(np.flatnonzero(subjects[1:] != subjects[:-1]) + 0.5, 3)            # between people
    ends = np.tile([-0.5, n - 0.5, np.nan], len(edges) // 3)
    ticks = {"tickvals": [float(np.flatnonzero(subjects == person).mean()) for person in people], "showgrid": False,
             "ticktext": [escape(called(people)[person]) for person in people], "zeroline": False}
    traces, few = [], len(people) <= 20
    for i, distance in enumerate(distances.values()):
        low, high = np.quantile(distance[~np.eye(n, dtype=bool)], [0.01, 0.99])
        traces.append({"type": "heatmap", "z": distance.astype(np.float32), "zmin": low, "zmax": high, **panel(i),
                       "colorscale": "Cividis", "showscale": False,
                       "hovertemplate": "sequences %{x} and %{y}<br>distance %{z:.4g}<extra></extra>"})
        traces.append({"type": "scatter", "x": np.concatenate([ends, edges]), "y": np.concatenate([edges, ends]),
                       "mode": "lines", "line": {"color": "rgba(255,255,255,0.7)", "width": 1}, "hoverinfo": "skip",
                       "showlegend": False, **panel(i)})
    x = [{**ticks, "showticklabels": few, "tickangle": -90, "range": [-0.5, n - 0.5]}] * len(titles)
    y = [{**ticks, "showticklabels": few and i == 0, "range": [n - 0.5, -0.5]} for i in range(len(titles))]
    return figure(traces, height=490, **panels(titles, x, y, gap=0.02))


def maps(points: dict[str, np.ndarray], subjects: np.ndarray, colours: dict[str, str], titles: list[str]) -> go.Figure:
    """Sequences on a map (n, 2) by each distance, a person in one colour and shape with their name in the middle."""
    people, label, traces = list(dict.fromkeys(subjects.tolist())), named(subjects.tolist()), []
    first = {person: name.split()[0] for person, name in label.items()}          # there is room for a given name
    names = [escape(label[name]) for name in subjects]
    symbol = {person: SYMBOLS[i // len(COLOURS) % len(SYMBOLS)] for i, person in enumerate(sorted(colours))}
    for i, x in enumerate(points.values()):
        middle = np.stack([x[subjects == person].mean(0) for person in people])
        traces.append({"type": "scatter", "x": x[:, 0], "y": x[:, 1], "mode": "markers", "showlegend": False,
                       **panel(i), "marker": {"color": [colours[name] for name in subjects], "size": 7, "opacity": 0.7,
                                             "symbol": [symbol[name] for name in subjects]},
                       "text": names, "hovertemplate": "%{text}<extra></extra>"})
        traces.append({"type": "scatter", "x": middle[:, 0], "y": middle[:, 1], "mode": "text", "hoverinfo": "skip",
                       "text": [f"<b>{escape(first[name])}</b>" for name in people], "showlegend": False, **panel(i)})
    bare = [{"showticklabels": False, "zeroline": False}] * len(titles)
    return figure(traces, height=460, **panels(titles, bare, bare, gap=0.03))


def against(x: np.ndarray, y: np.ndarray, genuine: np.ndarray, index: np.ndarray, names: tuple[str, str]) -> go.Figure:
    """Each pair by two distances; a point carries its pair (P, 2) for whoever clicks it."""
    traces = [{"type": "scattergl", "x": x[kind], "y": y[kind], "mode": "markers", "name": f"{name} pairs",
               "customdata": index[kind], "marker": {"color": colour, "size": 5, "opacity": 0.55, "symbol": symbol},
               "hovertemplate": f"{names[0]} %{{x:.4g}}, {names[1]} %{{y:.4g}}<extra>{name} pair</extra>"}
              for name, kind, colour, symbol in (("imposter", ~genuine, IMPOSTER, "circle"),
                                                 ("genuine", genuine, GENUINE, "diamond"))]
    return figure(traces, height=520, clickmode="event+select", dragmode="pan", xaxis={"title": names[0]},
                  yaxis={"title": names[1]})


def deciding(shares: dict[str, np.ndarray], order: np.ndarray, colours: dict[str, str]) -> go.Figure:
    """The share of each filter in the distance of a pair, filters (from 0) in this order. {name: (K,)}, (k,)"""
    traces = [{"type": "bar", "x": [str(k + 1) for k in order], "y": values[order], "name": name,
               "marker": {"color": colours[name]},
               "hovertemplate": f"filter %{{x}}: %{{y:.1%}} of {name}<extra></extra>"}
              for name, values in shares.items()]
    return figure(traces, height=380, barmode="group", bargap=0.25, xaxis={"title": "filter", "type": "category"},
                  yaxis={"title": "share of the distance", "tickformat": ".0%"}, margin=MARGIN)


def two_functions(values: dict[str, np.ndarray], levels: np.ndarray, colours: dict[str, str]) -> go.Figure:
    """Two quantile functions (L,) of one filter, and the area between them, which is W₁."""
    traces = [{"type": "scatter", "x": levels, "y": y, "name": escape(name), "mode": "lines+markers",
               "marker": {"size": 5}, "line": {"color": colours[name], "width": 2.5, "dash": "dot" if i else "solid"},
               "fill": "tonexty" if i else "none", "fillcolor": "rgba(128,128,128,0.2)",
               "hovertemplate": f"{escape(name)}: Q̄(%{{x:.2f}}) = %{{y:.3g}}<extra></extra>"}
              for i, (name, y) in enumerate(values.items())]
    return figure(traces, height=380, yaxis={"title": "Q̄(r)"},
                  xaxis={"title": "level r", "range": [-0.01, 1.01], "tickformat": ".0%"})
