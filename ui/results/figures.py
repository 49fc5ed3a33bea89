"""Who leads, and by how much; the other figures of a study are those of Verification and Identification."""

import pandas as pd
import plotly.graph_objects as go

from qpwl_core.models.methods import METHODS
from qpwl_core.study.palette import symbol_of
from ui.shell.curves import MARGIN
from ui.shell.palette import COLOURS, look_of
from ui.shell.panels import figure, line_at

WAYS = {"trained anew": "solid", "one model": "dash", "untrained": "dot"}


def differences(table, names: dict[str, str], looks: dict[str, dict]) -> go.Figure:
    """QP-WL minus every other method, a row each, with its interval; right of nought QP-WL leads.

    ``table`` has columns against, difference, low, high; ``names`` and ``looks`` are by method.
    """
    rows = []
    for each in table.itertuples():
        name = names.get(each.against, each.against)
        symbol = "circle" if looks[name]["dash"] == "solid" else "diamond-open"
        rows.append((name, pd.DataFrame([each]), {"color": looks[name]["color"], "symbol": symbol}))
    traces = [_with_interval(part, [name], name, marker) | {"showlegend": False} for name, part, marker in rows]
    return _from_nought(traces, len(rows), "AUC: QP-WL minus other")


def added(table) -> go.Figure:
    """A trained method minus no network at all, a row per method, a symbol per distance of the latter.

    ``table`` has columns method, against, difference, low, high.
    """
    traces = []
    for against, rows in table.groupby("against", sort=False):
        marker = {"color": look_of(against)["color"], "symbol": symbol_of(against)}
        labels = [METHODS[method].title for method in rows["method"]]
        traces.append(_with_interval(rows, labels, f"minus {METHODS[against].title}", marker)
                      | {"offsetgroup": against, "orientation": "h"})
    return _from_nought(traces, table["method"].nunique(), "AUC trained minus AUC untrained")


def _with_interval(rows, labels: list[str], name: str, marker: dict) -> dict:
    """Points of one colour and symbol, a row each, with their intervals."""
    middle = rows["difference"]
    return {"type": "scatter", "x": middle.to_numpy(), "y": labels, "mode": "markers", "name": name,
            "marker": marker | {"size": 9}, "customdata": rows[["low", "high"]].to_numpy(),
            "error_x": {"symmetric": False, "array": (rows["high"] - middle).to_numpy(),
                        "arrayminus": (middle - rows["low"]).to_numpy()},
            "hovertemplate": "%{y}: %{x:+.4f} (%{customdata[0]:+.4f} to %{customdata[1]:+.4f})"
                             "<extra>%{fullData.name}</extra>"}


def _from_nought(traces: list[dict], rows: int, axis: str) -> go.Figure:
    """Rows of differences, from the first on top, and a line at nought."""
    return figure(traces, margin=MARGIN, height=110 + 30 * rows, scattermode="group",
                  yaxis={"type": "category", "autorange": "reversed", "automargin": True}, xaxis={"title": axis},
                  **line_at(0, {"color": "#999999", "width": 1, "dash": "dot"}))


def over(table, axis: str, logarithmic: bool) -> go.Figure:
    """AUC over one setting, a colour per set, a dash per way: trained anew, one model, no network.

    A name stands for all curves of a set; what learns nothing, which is far below on some sets, has one name for all
    sets and is shown when it is pressed.

    ``table`` has columns title (of the set), method, trained, value, auc, low, high.
    """
    traces, names, named = [], list(dict.fromkeys(table["title"])), set()
    for (title, method, trained), rows in table.groupby(["title", "method", "trained"], sort=False):
        way = "untrained" if method == "untrained" else "trained anew" if trained == "anew" else "one model"
        if len(rows) < 2:                        # the main cell alone is no curve
            continue
        rows, group = rows.sort_values("value"), "no network" if way == "untrained" else title
        traces.append({
            "type": "scatter", "x": rows["value"].to_numpy(), "y": rows["auc"].to_numpy(), "mode": "lines+markers",
            "name": group, "legendgroup": group, "showlegend": group not in named,
            "visible": "legendonly" if way == "untrained" else True, "legendrank": 1000 + (way == "untrained"),
            "line": {"color": COLOURS[names.index(title) % len(COLOURS)], "dash": WAYS[way]},
            "error_y": {"symmetric": False, "array": (rows["high"] - rows["auc"]).to_numpy(), "thickness": 1,
                        "arrayminus": (rows["auc"] - rows["low"]).to_numpy()},
            "hovertemplate": f"%{{x}}: %{{y:.4f}}<extra>{title}, {way}</extra>"})
        named.add(group)
    values = apart(sorted(table["value"].unique()))
    ticks = {"type": "log", "tickvals": values, "ticktext": [f"{value:g}" for value in values]} if logarithmic else {}
    return figure(traces, margin=MARGIN | {"t": 70}, height=360, xaxis={"title": axis, **ticks},
                  yaxis={"title": "AUC, n = 1"})


def apart(values: list, ratio: float = 1.3) -> list:
    """Those of growing values that have room beside each other on a logarithmic axis, the first among them.

    >>> apart([8, 9, 10, 12, 14, 15, 32])
    [8, 12, 32]
    """
    kept = values[:1]
    for value in values[1:]:
        if value >= ratio * kept[-1]:
            kept.append(value)
    return kept


def validated(table) -> go.Figure:
    """Validation AUC over steps of long trainings; ``table`` has columns title, method, step, auc."""
    traces = []
    for method, rows in table.groupby("method", sort=False):
        look = look_of(method)
        traces.append({"type": "scatter", "x": rows["step"].to_numpy(), "y": rows["auc"].to_numpy(), "mode": "lines",
                       "name": rows["title"].iloc[0], "line": {"color": look["color"], "dash": look["dash"]},
                       "hovertemplate": "step %{x}: %{y:.4f}<extra>%{fullData.name}</extra>"})
    return figure(traces, margin=MARGIN, height=380, xaxis={"title": "step"}, yaxis={"title": "validation AUC"})
