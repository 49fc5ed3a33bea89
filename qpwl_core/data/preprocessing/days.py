"""The same hand on another day: a little faster here and slower there, a little turned, leaning and wider."""

from __future__ import annotations

import numpy as np

from qpwl_core.data.preprocessing.devices import columns_of_ink
from qpwl_core.data.recordings import Recordings

KNOTS = 5                # places of a sequence at which the hand is faster or slower; between them it changes evenly


def imitate_day(recordings: Recordings, seed: int, *, pace: float = 0.03, unevenness: float = 0.06, turn: float = 3.0,
                wider: float = 0.04, lean: float = 0.03) -> Recordings:
    """The recordings as the same hand would have given them on another day, drawn for each from seed and place alone.

    All five are deviations of what is drawn: ``pace`` of the logarithm of how long a sequence takes, ``unevenness`` of
    how long each fifth of it takes beside that, ``turn`` in degrees, ``wider`` of the logarithm of width over its root
    mean square with height (the area stays), ``lean`` of the slant. What comes out has the rate of the recordings, so
    that lengths change; channels, subjects, stimuli and imitates stay, and a channel ``down`` stays one of 0 and 1.

    >>> line = Recordings([np.linspace(0, 9, 10)[:, None] * [1, 0]], ["ann"], ("x", "y"), rate=100)
    >>> still = imitate_day(line, seed=0, pace=0, unevenness=0, turn=0, wider=0, lean=0)
    >>> bool(np.allclose(still.sequences[0], line.sequences[0]))
    True
    """
    place, pen = columns_of_ink(recordings, "other day")
    given = {"pace": pace, "unevenness": unevenness, "turn": turn, "wider": wider, "lean": lean}
    for what, value in given.items():
        if not 0 <= value < np.inf:
            raise ValueError(f"{what} must be a finite number of at least 0, not {value}")
    sequences = []
    for i, values in enumerate(recordings.sequences):
        random = np.random.default_rng([seed, i])
        at = _moments(len(values), random.normal(0, unevenness, KNOTS) + random.normal(0, pace))
        known = np.arange(len(values))
        again = np.column_stack([np.interp(at, known, column) for column in np.asarray(values, dtype=np.float64).T])
        if pen is not None:
            again[:, pen] = values[np.round(at).astype(int), pen]
        again[:, place] = again[:, place] @ _bent(random, np.deg2rad(turn), wider, lean).T
        sequences.append(again.astype(np.float32))
    other = Recordings(sequences, recordings.subjects, recordings.channels, recordings.rate, recordings.stimuli,
                       recordings.info)
    return other.marked(recordings.imitates)


def _moments(samples: int, knots: np.ndarray) -> np.ndarray:
    """Where in the sequence, in samples, each one of the other day is; ``knots``: logarithms of how long it takes."""
    if samples < 2:
        return np.zeros(samples)
    slower = np.exp(np.interp(np.linspace(0, len(knots) - 1, samples - 1), np.arange(len(knots)), knots))
    when = np.concatenate([[0], np.cumsum(slower)])                          # each sample on the other day
    return np.interp(np.linspace(0, when[-1], max(2, round(when[-1]) + 1)), when, np.arange(samples))


def _bent(random: np.random.Generator, turn: float, wider: float, lean: float) -> np.ndarray:
    """Lean and widen, then turn. -> (2, 2)"""
    angle, wide, slant = random.normal(0, turn), np.exp(random.normal(0, wider)), random.normal(0, lean)
    turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return turned @ np.array([[wide, slant], [0, 1 / wide]])
