"""The same hand on another device: fewer samples, uneven in time, some missing, on a coarser grid."""

from __future__ import annotations

import numpy as np

from qpwl_core.common.text import shown
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.recordings import Recordings


def imitate_device(recordings: Recordings, seed: int, *, rate: tuple[float, float] = (50.0, 125.0),
                   jitter: float = 0.3, missing: float = 0.1, grid: float = 0.01) -> Recordings:
    """The recordings as another device would have given them, one drawn for each sequence from seed and place alone.

    A device takes samples at a rate between the two (Hz), each up to ``jitter`` of a period early or late (below 0.5,
    so that time never runs backwards), loses up to the fraction ``missing`` of them, and rounds x and y to a grid of up
    to the fraction ``grid`` of the signature's size. What it gives is interpolated to the rate of the recordings again:
    lengths, channels, subjects, stimuli and imitates stay. A channel ``down`` stays one of 0 and 1.

    >>> line = Recordings([np.linspace(0, 9, 10)[:, None] * [1, 0]], ["ann"], ("x", "y"), rate=100)
    >>> imitate_device(line, seed=0, grid=0).sequences[0][[0, 9], 0].tolist()
    [0.0, 9.0]
    """
    place, pen = columns_of_ink(recordings, "device")
    if not 0 < rate[0] <= rate[1] < np.inf:
        raise ValueError(f"rate must be two numbers of Hz above 0, the lower one first, not {rate}")
    for what, value, bound in (("jitter", jitter, 0.5), ("missing", missing, 1.0), ("grid", grid, np.inf)):
        if not 0 <= value < bound:
            raise ValueError(f"{what} must be at least 0 and below {bound:g}, not {value}")
    sequences = []
    for i, values in enumerate(recordings.sequences):
        random = np.random.default_rng([seed, i])
        own_rate, own_missing, own_grid = random.uniform(*rate), random.uniform(0, missing), random.uniform(0, grid)
        times = _times(len(values) / recordings.rate - 1 / recordings.rate, own_rate, jitter, own_missing, random)
        sequences.append(_seen(values, recordings.rate, times, own_grid, place, pen))
    again = Recordings(sequences, recordings.subjects, recordings.channels, recordings.rate, recordings.stimuli,
                       recordings.info)
    return again.marked(recordings.imitates)


def _times(seconds, rate, jitter, missing, random):
    """When the device takes a sample, from 0 to ``seconds``, both ends included. -> (k,) rising"""
    count = max(2, round(seconds * rate) + 1)
    times = np.linspace(0, seconds, count)
    inner = times[1:-1] + random.uniform(-jitter, jitter, count - 2) * seconds / (count - 1)
    kept = inner[random.random(count - 2) >= missing]
    return np.concatenate([times[:1], kept, times[-1:]])


def _seen(values, rate, times, grid, place, pen):
    """The sequence (T, D) as samples at ``times`` show it, at its own rate again."""
    own = np.arange(len(values)) / rate
    values = np.asarray(values, dtype=np.float64)
    taken = np.column_stack([np.interp(times, own, column) for column in values.T])               # (k, D)
    step = grid * np.sqrt(np.square(values[:, place] - values[:, place].mean(axis=0)).sum(axis=1).mean())
    if step > 0:
        taken[:, place] = np.round(taken[:, place] / step) * step
    again = np.column_stack([np.interp(own, times, column) for column in taken.T])
    if pen is not None:
        again[:, pen] = (again[:, pen] > 0.5).astype(float)
    return again.astype(np.float32)


def columns_of_ink(recordings: Recordings, imitated: str) -> tuple[list[int], int | None]:
    """Where x and y stand, and the pen where it is said; one sentence where there is no ink to imitate with."""
    for name in ("x", "y"):
        if name not in recordings.channels:
            raise RecordingsError(f"the recordings lack the channel {shown(name)}, so no {imitated} can be imitated")
    place = [recordings.channels.index(name) for name in ("x", "y")]
    return place, recordings.channels.index("down") if "down" in recordings.channels else None
