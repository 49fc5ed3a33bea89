"""Who leads, and by how much; the other figures of a study are those of Verification and Identification."""

import plotly.graph_objects as go

from ui.shell.curves import MARGIN
from ui.shell.panels import figure, line_at


def differences(table, names: dict[str, str], looks: dict[str, dict]) -> go.Figure:
    """QP-WL minus every other method, with intervals that resample people; right of nought QP-WL leads.

    ``table`` has columns title (of the set), against, difference, low, high; ``names`` and ``looks`` are by method.
    """
    traces = []
    for method, rows in table.groupby("against", sort=False):
        name, middle = names.get(method, method), rows["difference"]
        symbol = "circle" if looks[name]["dash"] == "solid" else "diamond-open"
        traces.append({
            "type": "scatter", "x": middle.to_numpy(), "y": rows["title"].tolist(), "mode": "markers", "name": name,
            "orientation": "h", "offsetgroup": method, "customdata": rows[["low", "high"]].to_numpy(),
            "marker": {"color": looks[name]["color"], "size": 9, "symbol": symbol},
            "error_x": {"symmetric": False, "array": (rows["high"] - middle).to_numpy(),
                        "arrayminus": (middle - rows["low"]).to_numpy()},
            "hovertemplate": f"%{{y}}, against {name}<br>%{{x:+.4f}} (%{{customdata[0]:+.4f}} to "
                             "%{customdata[1]:+.4f})<extra></extra>"})
    return figure(traces, margin=MARGIN, height=150 + 80 * table["title"].nunique(), scattermode="group",
                  yaxis={"type": "category", "autorange": "reversed"},
                  xaxis={"title": "AUC of QP-WL minus AUC of the other"},
                  **line_at(0, {"color": "#999999", "width": 1, "dash": "dot"}))
