"""The data page's pictures: who and how long, sequences channel by channel, the split, a sequence before and after."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from qpwl_core.data.splits import PARTS
from ui.shell.panels import figure

MARGIN = {"l": 10, "r": 10, "t": 30, "b": 10}
PART_COLOURS = dict(zip(PARTS, ("#0072B2", "#56B4E9", "#E69F00", "#999999"), strict=True))


def recorded_time(summary: pd.DataFrame, colours: dict[str, str], names: dict[str, str]) -> go.Figure:
    """One bar per person, as long as all recordings together. ``summary``: subject, sequences, seconds."""
    bars = {"type": "bar", "x": [escape(names[person]) for person in summary["subject"]],
            "y": summary["seconds"].to_numpy(),
            "customdata": summary["sequences"].to_numpy(),
            "marker": {"color": [colours[person] for person in summary["subject"]]},
            "hovertemplate": "%{x}<br>%{customdata} sequences, %{y:.1f} s<extra></extra>"}
    return figure([bars], height=420, margin=MARGIN, xaxis={"type": "category", "tickangle": -90},
                  yaxis={"title": "seconds in all"})


def sequence_lengths(seconds: np.ndarray, colour: str) -> go.Figure:
    """How long the sequences are, a histogram."""
    counts, edges = np.histogram(seconds, bins=min(40, max(1, len(np.unique(seconds)))))
    bars = {"type": "bar", "x": (edges[:-1] + edges[1:]) / 2, "y": counts, "width": np.diff(edges),
            "marker": {"color": colour}, "customdata": np.stack([edges[:-1], edges[1:]], axis=1),
            "hovertemplate": "%{y} sequences of %{customdata[0]:.2f} to %{customdata[1]:.2f} s<extra></extra>"}
    return figure([bars], height=340, margin=MARGIN, bargap=0, xaxis={"title": "seconds of one sequence"},
                  yaxis={"title": "sequences"})


@dataclass(frozen=True)
class Curve:
    """A sequence to draw: its heading, time (P,), values (P, C) and colour."""

    title: str
    seconds: np.ndarray
    values: np.ndarray
    colour: str


def channel_by_channel(curves: list[Curve], channels: list[str]) -> go.Figure:
    """Sequences side by side, a row per channel; time and the scale of a channel are common to all of them."""
    drawn = make_subplots(len(channels), len(curves), shared_xaxes="all", shared_yaxes="rows", horizontal_spacing=0.03,
                           vertical_spacing=min(0.04, 0.3 / len(channels)), column_titles=[c.title for c in curves])
    for column, curve in enumerate(curves, 1):
        for row, name in enumerate(channels, 1):
            drawn.add_trace(go.Scattergl(
                x=curve.seconds, y=curve.values[:, row - 1], mode="lines", showlegend=False,
                line={"color": curve.colour, "width": 1.3}, name=name,
                hovertemplate="%{x:.3f} s: %{y:.4g}<extra>" + name + "</extra>"), row=row, col=column)
    for row, name in enumerate(channels, 1):
        drawn.update_yaxes(title={"text": name, "font": {"size": 12}}, row=row, col=1)
    drawn.update_xaxes(title="seconds", row=len(channels))
    drawn.update_layout(height=110 + max(90, 150 - 10 * len(channels)) * len(channels), margin=MARGIN)
    return drawn


def split_map(table: pd.DataFrame, names: dict[str, str]) -> go.Figure:
    """People × stimuli, coloured by the part that their sequences are in.

    ``table``: subject, stimulus, part, sequences (how many). Rows and columns come in the order of the parts, so that
    what is kept apart stands apart.
    """
    place = {part: i for i, part in enumerate(PARTS)}
    ordered = table.assign(place=table["part"].map(place))
    used = ordered[ordered["part"] != "left out"]
    people = used.groupby("subject")["place"].min().sort_values(kind="stable").index.tolist()
    stimuli = used.groupby("stimulus")["place"].min().sort_values(kind="stable").index.tolist()
    people += sorted(set(ordered["subject"]) - set(people))
    stimuli += sorted(set(ordered["stimulus"]) - set(stimuli))
    cells = ordered.pivot(index="subject", columns="stimulus", values="place").loc[people, stimuli]
    counts = ordered.pivot(index="subject", columns="stimulus", values="sequences").loc[people, stimuli].fillna(0)
    steps = np.repeat(np.linspace(0, 1, len(PARTS) + 1), 2)[1:-1]
    scale = list(zip(steps, np.repeat(list(PART_COLOURS.values()), 2), strict=True))
    words = cells.map(lambda place: "" if pd.isna(place) else PARTS[int(place)])
    drawn = go.Figure(go.Heatmap(
        z=cells.to_numpy(), x=stimuli, y=[escape(names[person]) for person in people], colorscale=scale, zmin=-0.5,
        zmax=len(PARTS) - 0.5, showscale=False, xgap=1, ygap=1,
        customdata=np.stack([words.to_numpy(), counts.to_numpy(int)], axis=2), hoverongaps=False,
        hovertemplate="%{y}, %{x}<br>%{customdata[1]} sequences: %{customdata[0]}<extra></extra>"))
    for part in PARTS:
        if (table["part"] == part).any():
            drawn.add_scatter(x=[None], y=[None], mode="markers", name=part,
                               marker={"symbol": "square", "size": 12, "color": PART_COLOURS[part]})
    drawn.update_layout(height=int(np.clip(180 + 17 * len(people), 300, 900)), margin=MARGIN,
                         legend={"orientation": "h", "y": 1.01, "yanchor": "bottom"},
                         xaxis={"title": "stimulus", "type": "category", "showgrid": False},
                         yaxis={"type": "category", "autorange": "reversed", "showgrid": False,
                                **({"dtick": 1} if len(people) <= 42 else {})})
    return drawn
