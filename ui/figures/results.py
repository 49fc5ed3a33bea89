"""Who leads, and by how much; the other figures of a study are those of Verification and Identification."""

import plotly.graph_objects as go

from ui.figures.verification import LEGEND, MARGIN


def differences(table, names: dict[str, str], looks: dict[str, dict]) -> go.Figure:
    """QP-WL minus every other method, with intervals that resample people; right of nought QP-WL leads.

    ``table`` has columns title (of the set), against, difference, low, high; ``names`` and ``looks`` are by method.
    """
    figure = go.Figure()
    for method, rows in table.groupby("against", sort=False):
        name = names.get(method, method)
        figure.add_scatter(
            x=rows["difference"], y=rows["title"], mode="markers", name=name,
            marker={"color": looks[name]["color"], "size": 11},
            error_x={"symmetric": False, "array": rows["high"] - rows["difference"],
                     "arrayminus": rows["difference"] - rows["low"]}, customdata=rows[["low", "high"]],
            hovertemplate=f"%{{y}}, against {name}<br>%{{x:+.4f}} (%{{customdata[0]:+.4f}} to %{{customdata[1]:+.4f}})"
                          "<extra></extra>")
    figure.add_vline(0, line={"color": "#999999", "width": 1, "dash": "dot"})
    figure.update_layout(margin=MARGIN, height=150 + 80 * table["title"].nunique(), scattermode="group",
                         legend=LEGEND, yaxis={"type": "category", "autorange": "reversed"},
                         xaxis={"title": "AUC of QP-WL minus AUC of the other"})
    return figure
