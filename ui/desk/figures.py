"""Pictures of the enrolment desk. Names are people's own: they are shown as they are, whatever markup they hold."""

from __future__ import annotations

from html import escape

import numpy as np
import plotly.graph_objects as go

LINE, IN = "#D55E00", "#009E73"
MARGIN = {"l": 10, "r": 10, "t": 30, "b": 10}


def ladder(names: list[str], distances: np.ndarray, colours: dict[str, str], threshold: float | None = None,
           large: bool = False) -> go.Figure:
    """Everyone's distance as a dot, the nearest on top; what lies left of the threshold is let in."""
    shown = [escape(name, quote=False) for name in names]
    rungs = list(range(len(names)))
    figure = go.Figure(go.Scatter(
        x=distances, y=rungs, mode="markers", customdata=shown, showlegend=False,
        marker={"size": 20 if large else 13, "color": [colours[name] for name in names]},
        hovertemplate="%{customdata}<br>distance %{x:.4g}<extra></extra>"))
    low, high = float(min(distances)), float(max(distances))
    if threshold is not None:
        low, high = min(low, threshold), max(high, threshold)
    low = 0.0 if low >= 0 else low - 0.08 * (high - low)      # cosines are below zero, and have no such beginning
    room = 0.08 * (high - low) or 1.0
    if threshold is not None:
        figure.add_vrect(x0=low, x1=threshold, fillcolor=IN, opacity=0.1, line_width=0)
        figure.add_vline(x=threshold, line={"color": LINE, "width": 2.5, "dash": "dash"},
                         annotation={"text": f"threshold {threshold:.4g}", "yref": "paper", "y": 1, "yanchor": "bottom",
                                     "xanchor": "right" if threshold > (low + high) / 2 else "left"})
    size = {"font": {"size": 18}} if large else {}
    figure.update_layout(
        margin=MARGIN, height=max(420 if large else 240, 110 + (44 if large else 30) * len(names)), **size,
        xaxis={"title": "distance d_j(n): smaller is closer", "range": [low, high + room], "zeroline": False},
        yaxis={"range": [len(names) - 0.5, -0.5], "showgrid": True, "zeroline": False, "tickvals": rungs,
               "ticktext": [escape(short(name), quote=False) for name in names],
               "tickfont": {"size": 18 if large else 14}})
    return figure


def short(name: str, most: int = 24) -> str:
    """A name that leaves room for the picture; the whole one shows on touch."""
    return name if len(name) <= most else name[:most - 1] + "…"


def contributions(filters: np.ndarray, names: list[str], colours: dict[str, str], most: int = 16) -> go.Figure:
    """What the filters that differ most add to the distances to two people: (2, K), two bars per filter."""
    order = telling(filters)[:most]
    figure = go.Figure()
    for i, (name, values) in enumerate(zip(names, filters, strict=True)):
        label = escape(short(name), quote=False)
        figure.add_bar(x=[f"{i + 1}" for i in order], y=values[order], name=label,
                       marker={"color": colours[name], "pattern": {"shape": "/" if i else ""}},  # colours may be alike
                       hovertemplate=f"filter %{{x}} adds %{{y:.3g}}<extra>{label}</extra>")
    figure.update_layout(margin=MARGIN, height=360, barmode="group", legend={"orientation": "h", "y": 1.12},
                         xaxis={"title": "filter", "type": "category"}, yaxis={"title": "adds to the distance"})
    return figure


def telling(filters: np.ndarray) -> np.ndarray:
    """Filters in the order in which they tell the two people apart; with one person, by what they add. -> (K,)"""
    gap = filters[-1] - filters[0] if len(filters) > 1 else filters[0]
    return np.argsort(-np.abs(gap), kind="stable")


def functions(curves: list[tuple[str, np.ndarray, str, bool]], levels: np.ndarray, large: bool = False) -> go.Figure:
    """Quantile functions of one filter: (name, values (n, L), colour, dotted), a thin line per sequence, all of a name
    in one colour."""
    figure = go.Figure()
    for name, values, colour, dotted in curves:
        label = escape(short(name), quote=False)
        for i, value in enumerate(values):
            figure.add_scatter(
                x=levels, y=value, mode="lines", name=label, legendgroup=label, showlegend=i == 0,
                line={"color": colour, "width": 4 if dotted else 2.5, "dash": "dot" if dotted else "solid"},
                hovertemplate=f"{label}<br>%{{x:.0%}} of what this filter gives lies below %{{y:.3g}}<extra></extra>")
    size = {"font": {"size": 16}} if large else {}
    figure.update_layout(margin=MARGIN, height=420 if large else 360, legend={"orientation": "h", "y": 1.14}, **size,
                         xaxis={"title": "level r", "tickformat": ".0%", "range": [-0.01, 1.01]},
                         yaxis={"title": "Q̄(r)"})
    return figure
