"""A signature as ink, and the steps of its recipe, each of which can be switched off and seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from qpwl_core.common.bounds import DRAWN_SAMPLES
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.ink import strokes_of
from qpwl_core.data.preprocessing import recipe_for
from qpwl_core.data.preprocessing.signature import FEATURES
from qpwl_core.data.recordings import Recordings
from ui.shell.charts import chart
from ui.shell.frame import KEPT
from ui.shell.panels import figure
from ui.shell.text import plain

STEPS = {"Long pauses cut": "pause", "Long signatures cut": "longest", "Pen-up left out": "pen_up",
         "Smoothed": "smooth", "Centred": "centre", "One size": "size"}
OFF = {"pause": None, "longest": None, "pen_up": "keep", "smooth": 0.0, "centre": False, "size": False}
CHANNELS = {"x, y": "position", "Velocity": "velocity", "Log speed": "log_speed", "Direction": "direction",
            "Curvature": "curvature", "Change of speed": "change", "Pressure": "pressure", "Pen down": "down",
            "Time": "time", "Phase": "phase"}
MEANING = {            # of the options of the recipe
    "pause": "seconds that the pen may be up or still at a stretch; the rest is cut out",
    "longest": "seconds that are kept, and what follows is cut off; none is all",
    "pen_up": "while the pen is up: keep positions, hold the last one, or drop those samples",
    "smooth": "seconds, deviation of a Gaussian over the positions",
    "centre": "positions from the middle of the ink", "size": "divided by the size of the ink, so that devices compare",
    "position": "x and y are seen: forgers copy the shape well", "velocity": "velocity in x and y is seen",
    "log_speed": "the logarithm of the speed is seen", "direction": "the direction is seen, as cosine and sine",
    "curvature": "radians per second are seen", "pressure": "the pressure is seen, relative to the signature's mean",
    "down": "whether the pen touches is seen", "time": "seconds since the pen first touched are seen: the order",
    "phase": "which share of the ink is drawn is seen, as waves: the order, whatever the pace",
}


def is_ink(recordings: Recordings) -> bool:
    """Whether there is a pen to draw."""
    return {"x", "y"} <= set(recordings.channels)


def ink(recordings: Recordings, i: int, key: str) -> None:
    """Sequence i as it was written, its speed as colour; where the pen was up nothing is drawn."""
    if len(recordings.sequences[i]) > DRAWN_SAMPLES:
        st.caption(f"The first {DRAWN_SAMPLES:,} samples of {len(recordings.sequences[i]):,}.")
    first = replace(recordings.select(index=[i]), sequences=[recordings.sequences[i][:DRAWN_SAMPLES]],
                    imitates=None)
    strokes = strokes_of(first, 0)
    drawn = [(stroke.x, stroke.y, stroke.speed) for stroke in strokes]
    chart(figure_of(drawn, "speed"), key, f"Ink of {len(strokes)} strokes, coloured by speed",
          lambda: pd.DataFrame([{"stroke": n + 1, "x": x, "y": y, "speed": speed} for n, stroke in enumerate(drawn)
                                for x, y, speed in zip(*stroke, strict=True)]))


def ink_after(recordings: Recordings, i: int, options: dict, key: str) -> None:
    """The same after the steps of the recipe that change where the pen is, before channels are made of it."""
    only = dict.fromkeys(FEATURES, False) | {"position": True, "down": True}
    steps = {name: value for name, value in options.items() if name in OFF}
    recipe = recipe_for("signature", **(steps | only))
    one = recordings.select(index=[i])
    channels = recipe.needed(one.channels)
    values = one.sequences[0][:, [one.channels.index(name) for name in channels]]
    try:
        x, y, down = recipe.prepare(values, channels, one)[:DRAWN_SAMPLES].T
    except RecordingsError as error:
        st.caption(plain(str(error)))
        return
    edges = np.flatnonzero(np.diff(np.concatenate([[0], (down > 0.5).astype(int), [0]])))
    speed = np.hypot(np.gradient(x), np.gradient(y)) * recipe.rate if len(x) > 1 else np.zeros(len(x))
    drawn = [(x[a:b], y[a:b], speed[a:b]) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    chart(figure_of(drawn, "sizes per second" if recipe.size else "speed", joined=recipe.pen_up != "drop"), key,
          f"Ink after the recipe's steps, {len(x)} samples")


def figure_of(strokes: list[tuple], unit: str, joined: bool = True) -> go.Figure:
    """Strokes (x, y, speed), each a line with its samples coloured by speed, in true proportions."""
    fastest = max([float(np.quantile(speed, 0.95)) for _, _, speed in strokes if len(speed)] or [1.0])
    traces = []
    for n, (x, y, speed) in enumerate(strokes):
        traces.append({"type": "scatter", "x": x, "y": y, "mode": "lines+markers" if joined else "markers",
                       "showlegend": False, "name": f"stroke {n + 1}", "line": {"color": "#999999", "width": 1.5},
                       "marker": {"size": 5, "color": speed, "colorscale": "Viridis", "cmin": 0, "cmax": fastest,
                                  "showscale": n == 0, "colorbar": {"title": {"text": unit}, "thickness": 12}},
                       "customdata": speed, "hovertemplate": "%{customdata:.4g}<extra></extra>"})
    plain = {"showgrid": False, "zeroline": False, "showticklabels": False}
    return figure(traces, height=300, margin={"l": 10, "r": 10, "t": 10, "b": 10}, xaxis=plain,
                  yaxis=plain | {"scaleanchor": "x"})


def changed_steps(declared: dict, channels: tuple[str, ...]) -> dict:
    """Options of the signature recipe that are switched here: steps, and channels that come out."""
    steps = st.pills("Steps", STEPS, selection_mode="multi", key="data_ink_steps", **KEPT,
                     default=[name for name, option in STEPS.items() if declared[option] != OFF[option]])
    offered = {name: option for name, option in CHANNELS.items() if option != "pressure" or "pressure" in channels}
    seen = st.pills("What the network sees", offered, selection_mode="multi", key="data_ink_channels", **KEPT,
                    default=[name for name, option in offered.items() if declared[option]])
    if not seen:
        st.caption("With no channel there is nothing to see: the speed stays.")
    own = {option: (declared[option] if declared[option] != OFF[option] else ON[option]) if name in steps else
           OFF[option] for name, option in STEPS.items()}
    return own | {option: name in (seen or ["Log speed"]) for name, option in offered.items()}


ON = {name: getattr(recipe_for("signature"), name) for name in OFF}
