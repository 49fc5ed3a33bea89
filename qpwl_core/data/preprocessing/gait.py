"""Gait: the most active windows of each recording, standardised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from qpwl_core.data.preprocessing.recipe import Recipe

WINDOWS = 64     # windows looked at in one go, so that a sequence of days takes no more memory than one of minutes


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
        assert self.rate is not None, "a recipe is settled before it is used"
        window = max(1, round(self.seconds * self.rate))
        starts = active_windows(prepared, window, self.keep, statistics["centre"], statistics["scale"])
        return [(prepared[start:start + window] - statistics["centre"]) / statistics["scale"] for start in starts]


def active_windows(values, window, keep, centre, scale) -> list[int]:
    """Starts of at most ``keep`` windows that do not overlap, the most active ones, in the order of time.

    Activity is the mean over channels of a window's standard deviation, each channel in units of its ``scale``. Windows
    start at every quarter of a window, and the most active one is taken first; what overlaps it is out.
    """
    if len(values) <= window:
        return [0]
    starts = np.unique(np.append(np.arange(0, len(values) - window, max(1, window // 4)), len(values) - window))
    activity = np.concatenate([_activity(values, starts[i:i + WINDOWS], window, centre, scale)
                               for i in range(0, len(starts), WINDOWS)])
    chosen: list[int] = []
    for i in np.argsort(-activity, kind="stable"):
        if len(chosen) == keep:
            break
        if all(abs(starts[i] - start) >= window for start in chosen):
            chosen.append(int(starts[i]))
    return sorted(chosen)


def _activity(values, starts, window, centre, scale):
    """Mean over channels of the standard deviation of each window, from running sums over the stretch they cover."""
    stretch = (values[starts[0]:starts[-1] + window] - centre) / scale
    sums, squares = (np.vstack([np.zeros(stretch.shape[1]), np.cumsum(x, axis=0)]) for x in (stretch, stretch**2))
    first = starts - starts[0]
    mean, square = ((x[first + window] - x[first]) / window for x in (sums, squares))
    return np.sqrt(np.maximum(square - mean**2, 0)).mean(axis=1)
