"""The home page's pictures: two pairs of quantile functions with the area between them, and all filters at once."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

DASHES = ("solid", "dot", "dash")


def two_pairs(levels: np.ndarray, curves: np.ndarray, names: list[str], colours: list[str],
              titles: list[str]) -> go.Figure:
    """Q̄ of a recording beside one of the same person (left) and one of another (right); the area between is shaded.

    ``curves`` (3, M+2): the recording, the same person's other one, the stranger's.
    """
    figure = make_subplots(1, 2, shared_yaxes=True, horizontal_spacing=0.04, subplot_titles=titles)
    for column, other in ((1, 1), (2, 2)):
        for i in (0, other):
            figure.add_scatter(
                row=1, col=column, x=levels, y=curves[i], name=names[i], legendgroup=str(i), mode="lines+markers",
                showlegend=column == 1 or i == 2, marker={"size": 5, "color": colours[i]},
                line={"color": colours[i], "width": 2.5, "dash": DASHES[i]},
                fill="tonexty" if i else None, fillcolor=_pale(colours[i]),
                hovertemplate="%{x:.0%} of what the filter gave lies below %{y:.3g}<extra>%{fullData.name}</extra>")
    figure.update_xaxes(title="level r", tickformat=".0%", range=[-0.02, 1.02])
    figure.update_yaxes(title="Q̄(r)", col=1)
    figure.update_layout(height=430, margin={"l": 10, "r": 10, "t": 40, "b": 10},
                         legend={"orientation": "h", "y": -0.2})
    return figure


def all_filters(table: pd.DataFrame, colours: list[str], chosen: int) -> go.Figure:
    """W_p of both pairs in every filter. ``table``: filter, same person, another person, in the order to draw."""
    places = list(range(len(table)))
    names = [f"<b>{k} ▲</b>" if k == chosen else f"{k}" for k in table["filter"]]
    figure = go.Figure()
    ends = np.array([table["same_person"], table["another_person"], np.full(len(table), np.nan)])     # nan: a gap
    figure.add_scatter(x=np.repeat(places, 3), y=ends.T.ravel(), mode="lines", hoverinfo="skip", showlegend=False,
                       line={"color": "rgba(128,128,128,0.5)", "width": 2})
    for column, label, colour, symbol in (("same_person", "the same person", colours[0], "circle"),
                                          ("another_person", "another person", colours[1], "diamond")):
        figure.add_scatter(x=places, y=table[column], name=label, mode="markers", customdata=table["filter"],
                           marker={"color": colour, "size": 9, "symbol": symbol},
                           hovertemplate="filter %{customdata}: %{y:.3g}<extra>" + label + "</extra>")
    figure.update_layout(height=320, margin={"l": 10, "r": 10, "t": 30, "b": 10},
                         legend={"orientation": "h", "y": 1.15},
                         yaxis={"title": "W<sub>p</sub>", "rangemode": "tozero"},
                         xaxis={"title": "filter (▲ is the one above)", "tickvals": places, "ticktext": names})
    return figure


def _pale(colour: str) -> str:
    red, green, blue = (int(colour[i:i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"
