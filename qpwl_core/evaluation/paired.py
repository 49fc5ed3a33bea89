"""What several splits say together: paired tests over splits, and what is left of them where many were made.

Splits of the same people overlap, so that differences of theirs vary less than those of other people would. ``share``,
people tested per person trained on, makes up for it (the corrected resampled t-test of Nadeau and Bengio).
"""

from __future__ import annotations

import numpy as np


def paired(differences, share: float = 0.0, level: float = 0.95) -> dict:
    """Differences of as many splits: their mean, its interval over splits and p, corrected for overlapping splits.

    Of fewer than three splits nothing is known but the mean. ``share``: see above.
    """
    from scipy.stats import t

    count, middle = len(differences), float(np.mean(differences))
    if count < 3:
        return {"difference": middle, "low": np.nan, "high": np.nan, "splits": count, "p": None}
    half = t.ppf((1 + level) / 2, count - 1) * _spread(differences, share)
    return {"difference": middle, "low": middle - half, "high": middle + half, "splits": count,
            "p": paired_p(differences, share)}


def paired_p(differences, share: float = 0.0) -> float | None:
    """p of a paired t-test over splits; None of fewer than three, which cannot tell anything. ``share``: see above."""
    from scipy.stats import t

    count = len(differences)
    if count < 3:
        return None
    if np.ptp(differences) == 0:
        return float(differences[0] == 0)
    return float(2 * t.sf(abs(np.mean(differences)) / _spread(differences, share), count - 1))


def _spread(differences, share: float) -> float:
    """How far the mean of the differences may be off: its standard error, larger by the share."""
    return float(np.std(differences, ddof=1) * np.sqrt(1 / len(differences) + share))


def holm(ps) -> np.ndarray:
    """p values corrected for having looked at all of them (Holm 1979); NaN stays, and does not count. (m,) -> (m,)

    >>> holm([0.01, 0.04, float("nan"), 0.03]).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    ps = np.asarray(ps, dtype=np.float64)
    found, order = np.full(len(ps), np.nan), np.argsort(ps)[:np.isfinite(ps).sum()]
    found[order] = np.minimum(np.maximum.accumulate(ps[order] * np.arange(len(order), 0, -1)), 1)
    return found
