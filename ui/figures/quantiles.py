"""Quantile functions as pictures."""

import numpy as np
import plotly.graph_objects as go


def quantile_functions(curves: dict[str, np.ndarray], levels: np.ndarray, colours: dict[str, str],
                       dashed: tuple[str, ...] = (), unit: str = "") -> go.Figure:
    """Q̄ of several sequences, one line each, with its knots."""
    figure = go.Figure()
    for name, values in curves.items():
        figure.add_scatter(
            x=levels, y=values, name=name, mode="lines+markers", marker_size=5,
            line={"color": colours[name], "width": 2.5, "dash": "dot" if name in dashed else "solid"},
            hovertemplate=f"{name}<br>%{{x:.0%}} of all samples lie below %{{y:.3g}} {unit}<extra></extra>")
    figure.update_layout(
        margin={"l": 10, "r": 10, "t": 10, "b": 10}, height=420, legend={"orientation": "h", "y": 1.12},
        xaxis={"title": "level r", "tickformat": ".0%", "range": [-0.01, 1.01]},
        yaxis={"title": f"Q̄(r){f' in {unit}' if unit else ''}"}, hovermode="closest")
    return figure
