"""Gait: the most active windows of each recording, standardised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from qpwl_core.preprocessing.recipe import Recipe


@dataclass(frozen=True)
class GaitRecipe(Recipe):
    """Every channel standardised, then the windows with the largest standard deviation cut out.

    ``seconds``: length of a window, one minute in the paper; a shorter sequence is kept whole. ``keep``: windows of one
    sequence at most. A window keeps the stimulus of its sequence, so that windows of one trial can stay together.
    """

    seconds: float = 60.0
    keep: int = 30

    domain: ClassVar[str] = "gait"

    def __post_init__(self):
        super().__post_init__()
        self.require("seconds", self.seconds, self.seconds > 0, "a length above 0")
        self.require("keep", self.keep, self.keep >= 1, "at least 1 window")

    def finish(self, prepared, statistics, channels):
        values = super().finish(prepared, statistics, channels)[0]
        window = max(1, round(self.seconds * self.rate))
        return [values[start:start + window] for start in active_windows(values, window, self.keep)]


def active_windows(values, window, keep) -> list[int]:
    """Starts of at most ``keep`` windows that do not overlap, the most active ones, in the order of time.

    Activity is the mean over channels of a window's standard deviation. Windows start at every quarter of a window, and
    the most active one is taken first; what overlaps it is out.
    """
    if len(values) <= window:
        return [0]
    starts = np.unique(np.append(np.arange(0, len(values) - window, max(1, window // 4)), len(values) - window))
    sums, squares = (np.vstack([np.zeros(values.shape[1]), np.cumsum(x, axis=0)]) for x in (values, values**2))
    mean, square = ((x[starts + window] - x[starts]) / window for x in (sums, squares))
    activity = np.sqrt(np.maximum(square - mean**2, 0)).mean(axis=1)
    chosen = []
    for i in np.argsort(-activity, kind="stable"):
        if len(chosen) == keep:
            break
        if all(abs(starts[i] - start) >= window for start in chosen):
            chosen.append(int(starts[i]))
    return sorted(chosen)
