"""Pictures of the page Class."""

from __future__ import annotations

from html import escape

import plotly.graph_objects as go

IN, OUT, LINE = "#009E73", "#0072B2", "#D55E00"
RUNGS, FEW = 12, 7                 # people on the ladder: as many as a projector shows at once; so few stand far apart


def ladder(best: list[dict], rows: list[dict], most: int = RUNGS) -> go.Figure:
    """Everyone's tries as small dots, their best as a large one, the best forger on top; left of the line is in."""
    shown = best[:most]
    rung = {row["visitor"]: i for i, row in enumerate(shown)}
    small = [row for row in rows if row["visitor"] in rung]
    step, large = (40, 18) if len(shown) <= FEW else (24, 14)
    high = max(1.5, min(6.0, max((row["times"] for row in small), default=1.5)))
    figure = go.Figure(go.Scatter(
        x=[min(row["times"], high) for row in small], y=[rung[row["visitor"]] for row in small], mode="markers",
        marker={"size": 8, "color": "#999999", "opacity": 0.5}, hoverinfo="skip", showlegend=False))
    figure.add_scatter(
        x=[min(row["times"], high) for row in shown], y=list(range(len(shown))), mode="markers+text", showlegend=False,
        text=[f"{row['times']:.2f}" for row in shown], textposition="middle right",
        cliponaxis=False, textfont={"size": large},
        marker={"size": large, "color": [IN if row["times"] <= 1 else OUT for row in shown],
                "symbol": ["star" if row["times"] <= 1 else "circle" for row in shown]},
        hovertemplate="%{text} times the line<extra></extra>")
    figure.add_vrect(x0=-0.03 * high, x1=1, fillcolor=IN, opacity=0.1, line_width=0)
    figure.add_vline(x=1, line={"color": LINE, "width": 2.5, "dash": "dash"},
                     annotation={"text": "the line", "yref": "paper", "y": 1, "yanchor": "bottom"})
    figure.update_layout(
        margin={"l": 10, "r": 10, "t": 30, "b": 10}, height=max(300, 110 + step * len(shown)), font={"size": 18},
        xaxis={"title": "distance, in times the line", "range": [-0.03 * high, high * 1.25], "zeroline": False},
        yaxis={"range": [len(shown) - 0.5, -0.5], "tickvals": list(range(len(shown))), "zeroline": False,
               "tickfont": {"size": large}, "ticktext": [escape(row["name"][:24], quote=False) for row in shown]})
    return figure
