"""The home page's pictures: two pairs of quantile functions with the area between them, and all filters at once."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ui.shell.panels import figure, panel, panels

DASHES = ("solid", "dot", "dash")
FARTHER, NEARER = "#0072B2", "#D55E00"


def two_pairs(levels: np.ndarray, curves: np.ndarray, names: list[str], colours: list[str],
              titles: list[str]) -> go.Figure:
    """Q̄ of a recording beside one of the same person (left) and one of another (right); the area between is shaded.

    ``curves`` (3, M+2): the recording, the same person's other one, the stranger's.
    """
    reach = np.array([curves.min(), curves.max()]) + np.array([-0.06, 0.06]) * (np.ptp(curves) or 1)
    traces = [{"type": "scatter", "x": levels, "y": curves[i], "name": names[i], "legendgroup": str(i), **panel(column),
               "mode": "lines+markers", "showlegend": column == 0 or i == 2, "marker": {"size": 5, "color": colours[i]},
               "line": {"color": colours[i], "width": 2.5, "dash": DASHES[i]}, "fill": "tonexty" if i else "none",
               "fillcolor": _pale(colours[i]), "hovertemplate": "%{x:.0%} of what the filter gave lies below %{y:.3g}"
                                                                "<extra>%{fullData.name}</extra>"}
              for column, other in ((0, 1), (1, 2)) for i in (0, other)]
    x = {"title": "level r", "tickformat": ".0%", "range": [-0.02, 1.02]}
    y = {"range": reach.tolist()}
    return figure(traces, height=430, margin={"l": 10, "r": 10, "t": 40, "b": 10},
                  legend={"orientation": "h", "y": -0.2},
                  **panels(titles, [x, x], [y | {"title": "Q̄(r)"}, y | {"showticklabels": False}]))


def all_filters(table: pd.DataFrame, chosen: int) -> go.Figure:
    """W_p of both pairs in every filter, a line from the one to the other: how much farther or nearer the stranger is.

    ``table``: filter, same_person, another_person, in the order to draw. All lines of a colour are one trace with gaps,
    because two hundred markers draw three times slower.
    """
    gap = np.full(len(table), np.nan)
    ends = np.column_stack([table["same_person"], table["another_person"], gap])                      # (K, 3)
    farther = (table["another_person"] >= table["same_person"]).to_numpy()
    traces = []
    for kind, label, colour in ((farther, "the other person is farther", FARTHER),
                                (~farther, "the other person is nearer", NEARER)):
        place, names = np.repeat(np.flatnonzero(kind), 3), np.repeat(table["filter"].to_numpy()[kind], 3)
        traces.append({"type": "scatter", "x": place, "y": ends[kind].ravel(), "customdata": names, "mode": "lines",
                       "name": label, "line": {"color": colour, "width": 6},
                       "hovertemplate": "filter %{customdata}: %{y:.3g}<extra>" + label + "</extra>"})
    # Words below the axis, no tick: of a single tick at the edge Plotly cannot measure how far down its name reaches.
    mark = {"text": f"▲ filter {chosen}", "x": table["filter"].tolist().index(chosen), "xanchor": "left", "y": 0,
            "yref": "paper", "yanchor": "top", "showarrow": False, "xshift": -6}
    return figure(traces, height=320, annotations=[mark], margin={"l": 10, "r": 10, "t": 30, "b": 10},
                  legend={"orientation": "h", "y": 1.15}, yaxis={"title": "W<sub>p</sub>", "rangemode": "tozero"},
                  xaxis={"title": "filters, the best first", "showticklabels": False, "range": [-1, len(table)]})


def _pale(colour: str) -> str:
    red, green, blue = (int(colour[i:i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"


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
