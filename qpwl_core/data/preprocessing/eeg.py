"""EEG: channels picked, baseline removed, robustly standardised; then what brings out who it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from qpwl_core.common.text import shown
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.preprocessing.recipe import Recipe, positive

FLOOR = 1e-3     # of the largest variance of any direction: no smaller one is made as large


@dataclass(frozen=True)
class EegRecipe(Recipe):
    """Baseline removed from each trial, then (x - median) / spread with median and quartiles of the training trials.

    ``channels``: names to keep, None is all. ``baseline``: "mean" of the trial, or seconds at its start whose mean is
    removed, or None. ``band``: (low, high) Hz of a zero-phase Butterworth band-pass, None is no filter. ``clip``:
    largest value, in spreads; eye blinks are ten times what the brain does.

    Most of an EEG is slow and common to all electrodes; what tells people apart is neither (scripts/SEARCH.md).
    ``change``: the step from each sample to the next instead of the sample, which makes fast rhythms as large as slow
    ones. ``whiten``: times the inverse square root of the training trials' covariance, so that each channel shows what
    the others do not; it stays the channel of its electrode. ``equalise``: each trial divided by its root mean square
    over all channels, so that a loud trial is as near to its own kind as a soft one. ``compress``: x becomes
    asinh(compress · x), close to a logarithm for large values on both sides; None leaves it.
    """

    channels: tuple[str, ...] | None = None
    baseline: str | float | None = "mean"
    band: tuple[float, float] | None = None
    clip: float = 8.0
    change: bool = False
    whiten: bool = False
    equalise: bool = False
    compress: float | None = None

    domain: ClassVar[str] = "eeg"
    picks: ClassVar[bool] = True       # electrodes have names that mean the same in every cap

    def __post_init__(self):
        super().__post_init__()
        if self.channels is not None:
            self.require("channels", self.channels, not isinstance(self.channels, str) and len(self.channels) > 0
                         and len(set(self.channels)) == len(self.channels), "different names, at least one")
            object.__setattr__(self, "channels", tuple(self.channels))
        fine = self.baseline in ("mean", None) or (not isinstance(self.baseline, str) and self.baseline > 0)
        self.require("baseline", self.baseline, fine, "'mean', a number of seconds or None")
        if self.band is not None:
            self.require("band", self.band, not isinstance(self.band, str) and len(self.band) == 2
                         and 0 < self.band[0] < self.band[1], "two frequencies above 0, the lower one first")
            object.__setattr__(self, "band", tuple(self.band))
        self.require("clip", self.clip, self.clip > 0, "a number above 0")
        for name in ("change", "whiten", "equalise"):
            self.require(name, getattr(self, name), isinstance(getattr(self, name), bool), "True or False")
        self.require("compress", self.compress, self.compress is None or 0 < self.compress < np.inf,
                     "a number above 0 or None")

    def needed(self, channels):
        for name in self.channels or ():
            if name not in channels:
                raise RecordingsError(f"the recordings lack the channel {shown(name)} that the eeg recipe picks")
        return self.channels or channels

    def prepare(self, values, channels, recordings):
        if self.band is not None:
            values = self._filtered(values, recordings.rate)
        values = super().prepare(values, channels, recordings)
        if self.baseline is not None:
            assert self.rate is not None, "a recipe is settled before it is used"
            first = len(values) if isinstance(self.baseline, str) else max(1, round(self.baseline * self.rate))
            values = values - values[:first].mean(axis=0, dtype=np.float64)
        return np.diff(values, axis=0, prepend=values[:1]) if self.change else values

    def _filtered(self, values, rate):
        from scipy.signal import butter, sosfiltfilt

        assert self.band is not None, "else there is nothing to filter"
        if self.band[1] >= rate / 2:
            raise RecordingsError(f"band of the eeg recipe must stay below {rate / 2:g} Hz, half the rate of the "
                                  f"recordings, and goes up to {self.band[1]:g}")
        sections = butter(4, self.band, btype="bandpass", fs=rate, output="sos")
        return sosfiltfilt(sections, values, axis=0, padlen=min(27, len(values) - 1))

    def measure(self, prepared, channels):
        quartiles = np.array([np.percentile(np.concatenate([x[:, d] for x in prepared]), (25, 50, 75))
                              for d in range(len(channels))])                             # (D, 3)
        # 1.349 is the distance between the quartiles of a normal distribution of deviation 1.
        statistics = {"centre": quartiles[:, 1], "scale": positive((quartiles[:, 2] - quartiles[:, 0]) / 1.349)}
        if self.whiten:
            statistics["mixing"] = whitening(self._standardised(x, statistics, channels) for x in prepared)
        return statistics

    def _standardised(self, prepared, statistics, channels):
        standard, = super().finish(prepared, statistics, channels)
        return np.clip(standard, -self.clip, self.clip)

    def finish(self, prepared, statistics, channels):
        values = self._standardised(prepared, statistics, channels)
        if self.whiten:
            values = np.clip(values @ statistics["mixing"], -self.clip, self.clip)
        if self.equalise:
            values = values / positive(np.sqrt(np.square(values).mean()))
        return [values if self.compress is None else np.arcsinh(self.compress * values)]

    def shapes(self, channels):
        square = {"mixing": (len(channels), len(channels))} if self.whiten else {}
        return super().shapes(channels) | square


def whitening(sequences) -> np.ndarray:
    """The symmetric inverse square root of the covariance of (T, D) arrays with means of about nought, (D, D).

    A direction with less than a thousandth of the largest variance counts as if it had that, so that what no training
    trial does is not blown up.
    """
    total, count = 0.0, 0
    for x in sequences:
        total, count = total + x.T @ x, count + len(x)
    variances, directions = np.linalg.eigh(total / count)
    least = FLOOR * max(variances[-1], 1e-12)
    return (directions / np.sqrt(np.maximum(variances, least))) @ directions.T
