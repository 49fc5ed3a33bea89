"""Trainings as pictures: loss, validation AUC, levels on the move, and the heat map over M and p."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

ROOM = {"l": 10, "r": 10, "t": 34, "b": 10}


def loss_curves(curves: dict[str, list[dict]], colours: dict[str, str], height: int = 300) -> go.Figure:
    """The training loss of one or more runs over their steps; records have step and loss."""
    figure = go.Figure()
    for name, records in curves.items():
        figure.add_scatter(x=[r["step"] for r in records], y=[round(r["loss"], 5) for r in records], name=name,
                           mode="lines", line={"color": colours[name], "width": 2},
                           hovertemplate="step %{x}: loss %{y:.4f}<extra></extra>")
    return _laid_out(figure, "Training loss", "loss", height, legend=len(curves) > 1)


def auc_curves(curves: dict[str, list[dict]], colours: dict[str, str], height: int = 300) -> go.Figure:
    """The AUC on validation people over the steps, the best one marked; records may have an auc."""
    figure = go.Figure()
    for name, records in curves.items():
        seen = [r for r in records if r["auc"] is not None]
        figure.add_scatter(x=[r["step"] for r in seen], y=[r["auc"] for r in seen], name=name, mode="lines+markers",
                           line={"color": colours[name], "width": 2}, marker_size=6,
                           hovertemplate="step %{x}: AUC %{y:.4f}<extra></extra>")
        if seen:
            best = max(seen, key=lambda r: (r["auc"], r["step"]))        # of equal ones the later is kept
            figure.add_scatter(x=[best["step"]], y=[best["auc"]], mode="markers", showlegend=False,
                               name=f"{name}, best", marker={
                                   "size": 15, "symbol": "circle-open", "color": colours[name], "line": {"width": 2.5}},
                               hovertemplate="the best so far, %{y:.4f}: these weights are kept<extra></extra>")
    return _laid_out(figure, "AUC on validation people", "AUC", height, legend=len(curves) > 1)


def moving_levels(records: list[dict], steps: int, colour: str, height: int = 300) -> go.Figure:
    """Where the M + 2 levels of the quantile layer stood at each step; records have step and levels."""
    figure = go.Figure()
    seen = [r for r in records if r.get("levels")]
    values = np.array([r["levels"] for r in seen]) if seen else np.zeros((0, 0))
    for m in range(values.shape[1]):
        ends = m in (0, values.shape[1] - 1)
        figure.add_scatter(x=[r["step"] for r in seen], y=values[:, m], mode="lines", showlegend=False,
                           name="an end, fixed" if ends else f"σ(α<sub>{m}</sub>)", opacity=0.5 if ends else 1,
                           line={"color": colour, "width": 1.6, "dash": "dot" if ends else "solid"},
                           hovertemplate="%{fullData.name} = %{y:.3f} at step %{x}<extra></extra>")
    figure = _laid_out(figure, "The levels, on the move", "level", height, legend=False)
    figure.update_layout(yaxis={"range": [-0.03, 1.03], "tickformat": ".0%"}, xaxis={"range": [0, steps]})
    return figure


def heat_map(found: dict[tuple, dict], points: list[int], orders: list[float], measure: str, chosen: tuple | None,
             colour: str) -> go.Figure:
    """AUC for every M (row) and p (column), mean ± half the range over seeds; runs that are to come are empty.

    ``found``: (M, p) -> measure and its spread, of `tune.summed_up`. Colours span 0.2 at least, so that what is chance
    does not look like structure.
    """
    values = [[(found.get((m, p)) or {}).get(measure) for p in orders] for m in points]
    spread = [[(found.get((m, p)) or {}).get(f"{measure}_spread") for p in orders] for m in points]
    text = [["" if v is None else f"{v:.3f}" if s is None else f"{v:.3f}<br>± {s:.3f}"
             for v, s in zip(*rows, strict=True)] for rows in zip(values, spread, strict=True)]
    across, down = [f"{p:g}" for p in orders], [str(m) for m in points]
    known = [v for row in values for v in row if v is not None] or [1.0]
    figure = go.Figure(go.Heatmap(z=values, x=across, y=down, text=text, texttemplate="%{text}", colorscale="Cividis",
                                  zmax=max(known), zmin=min(min(known), max(known) - 0.2),
                                  xgap=4, ygap=4, colorbar={"title": "AUC", "thickness": 14},
                                  customdata=[[[m, p] for p in orders] for m in points],
                                  hovertemplate="M = %{y}, p = %{x}<extra></extra>",
                                  showscale=any(v is not None for row in values for v in row)))
    where = [(m, p) for m in points for p in orders]
    for i, j in [(i, j) for i, row in enumerate(values) for j, v in enumerate(row) if v is None]:       # still to come
        figure.add_shape(type="rect", x0=j - 0.47, x1=j + 0.47, y0=i - 0.47, y1=i + 0.47, line={
            "color": "#999999", "width": 1, "dash": "dot"})
    if chosen in where:
        figure.add_scatter(x=[f"{chosen[1]:g}"], y=[str(chosen[0])], mode="markers", showlegend=False, hoverinfo="skip",
                           marker={"size": 46, "symbol": "square-open", "color": colour, "line": {"width": 4}})
    figure.update_layout(margin=ROOM, height=120 + 62 * len(points), xaxis={
        "title": "order p", "type": "category", "showgrid": False}, yaxis={
        "title": "levels M", "type": "category", "showgrid": False}, dragmode=False)
    return figure


def _laid_out(figure: go.Figure, title: str, y: str, height: int, legend: bool) -> go.Figure:
    figure.update_layout(title={"text": title, "font": {"size": 15}}, margin=ROOM | {"b": 10}, height=height,
                         showlegend=legend, legend={"orientation": "h", "y": -0.25}, uirevision="same",
                         xaxis={"title": "step", "rangemode": "tozero"}, yaxis={"title": y}, hovermode="closest")
    return figure
