"""Ink: the samples of a pen at even times, and its strokes to draw."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qpwl_core.common.bounds import SIGNATURE_SECONDS as MOST_SECONDS
from qpwl_core.common.bounds import SIGNATURE_STEP as LONGEST_STEP
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.recordings import Recordings


def evenly(times, values, up, rate: float = 100.0) -> np.ndarray:
    """Samples at ``times`` (T,) seconds as x, y, pressure, down at an even rate. values (T, 3), up (T,) -> (T', 4)

    Between samples the line is straight. ``up[i]``: whether the pen is up from sample i, which counts as up, until the
    next. A sample at the time of the one before is left out; time that runs backwards, or never goes on, is refused,
    and so is a signature of more than ten minutes. A step of more than a minute counts as a minute.

    >>> evenly([0.0, 0.02], [[0, 0, 5], [4, 2, 5]], [False, False]).tolist()
    [[0.0, 0.0, 5.0, 1.0], [2.0, 1.0, 5.0, 1.0], [4.0, 2.0, 5.0, 1.0]]
    """
    times, values, up = np.asarray(times, np.float64), np.asarray(values, np.float64), np.asarray(up, dtype=bool)
    if not len(times):
        raise RecordingsError("has no sample of a pen")
    steps = np.diff(times)
    if (steps < 0).any():
        raise RecordingsError(f"has times that run backwards, at sample {int(np.argmax(steps < 0)) + 1}")
    if len(times) > 1 and not (steps > 0).any():
        raise RecordingsError(f"has {len(times)} samples at one time: its clock stands still")
    keep = np.append(True, steps > 0)
    steps = np.minimum(np.diff(times[keep]), LONGEST_STEP)
    times, values, up = np.append(0.0, np.cumsum(steps)), values[keep], up[keep]
    if times[-1] > MOST_SECONDS:
        raise RecordingsError(f"lasts {times[-1]:.0f} seconds, and a signature must take at most {MOST_SECONDS:g}")
    even = np.arange(int(np.floor(times[-1] * rate + 1e-6)) + 1) / rate
    columns = [np.interp(even, times, column) for column in values.T]
    down = ~up[np.searchsorted(times, even + 1e-9, side="right") - 1]
    return np.column_stack([*columns, down])


@dataclass(frozen=True, eq=False)
class Stroke:
    """What a pen draws from where it touches to where it leaves: k samples."""

    x: np.ndarray            # (k,)
    y: np.ndarray            # (k,) upwards
    speed: np.ndarray        # (k,) units of x and y per second


def strokes_of(recordings: Recordings, i: int) -> list[Stroke]:
    """The strokes of sequence ``i``, split where the pen is up; y is turned upwards where ``info["y"]`` is "down".

    >>> pen = Recordings([[[0, 0, 1], [3, 4, 1], [9, 9, 0], [9, 8, 1]]], ["ann"], ("x", "y", "down"), rate=10)
    >>> [(stroke.x.tolist(), stroke.speed.tolist()) for stroke in strokes_of(pen, 0)]
    [([0.0, 3.0], [50.0, 50.0]), ([9.0], [0.0])]
    """
    for name in ("x", "y"):
        if name not in recordings.channels:
            raise RecordingsError(f"ink needs the channels x and y, and the recordings lack {name}")
    values, names = np.asarray(recordings.sequences[i], dtype=np.float64), recordings.channels
    x, y = values[:, names.index("x")], values[:, names.index("y")]
    y = -y if recordings.info.get("y") == "down" else y
    down = values[:, names.index("down")] > 0.5 if "down" in names else np.ones(len(values), dtype=bool)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], down.astype(int), [0]])))
    return [Stroke(x[start:end], y[start:end], _speed(x[start:end], y[start:end], recordings.rate))
            for start, end in zip(edges[::2], edges[1::2], strict=True)]


def upright(recordings: Recordings) -> Recordings:
    """The same with y growing upwards: turned round where ``info["y"]`` is "down", which then says "up"."""
    if recordings.info.get("y") != "down" or "y" not in recordings.channels:
        return recordings
    turned = np.where(np.array(recordings.channels) == "y", -1, 1).astype(np.float32)
    return replace(recordings, sequences=[x * turned for x in recordings.sequences], info=recordings.info | {"y": "up"})


def _speed(x, y, rate):
    return np.hypot(np.gradient(x), np.gradient(y)) * rate if len(x) > 1 else np.zeros(len(x))
