"""Confidence intervals of many measures at once, by resampling people: `metrics.subject_interval`, only faster.

To draw people again is to count each of them c times. Distances need not be sorted again for that: the error rates of
a resample are cumulative sums of counts (c_i of a genuine trial, c_i · c_j of an imposter trial) in one fixed order.
"""

from __future__ import annotations

import numpy as np

CELLS = 2_000_000                  # numbers held at once


def subject_intervals(scores, rates=(), *, resamples: int = 500, level: float = 0.95, seed: int = 0) -> dict:
    """Intervals of AUC, EER and FNMR at the false match ``rates``. (R, S, S) -> {"auc": (low, high), "eer": …, 0.1: …}

    Each is the mean over the R draws, as `metrics.subject_interval` takes it, with the same resamples.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 3 or scores.shape[1] != scores.shape[2] or scores.shape[1] < 2 or not np.isfinite(scores).all():
        raise ValueError(f"scores must be finite (R, S, S) of at least two people, got shape {scores.shape}")
    counts = _counts(scores.shape[1], resamples, seed)                       # (B, S)
    block = max(CELLS // scores[0].size, 1)
    values = {name: np.zeros(resamples) for name in ("auc", "eer", *rates)}
    for matrix in scores:
        for start in range(0, resamples, block):
            part = slice(start, start + block)
            for name, value in _measures(matrix, counts[part], rates).items():
                values[name][part] += value / len(scores)
    ends = [(1 - level) / 2, (1 + level) / 2]
    return {name: tuple(np.quantile(value, ends).tolist()) for name, value in values.items()}


def _counts(people: int, resamples: int, seed: int) -> np.ndarray:
    """How often each person is drawn in each resample. -> (B, S)"""
    random, counts = np.random.default_rng(seed), np.empty((resamples, people))
    for i in range(resamples):
        drawn = random.integers(people, size=people)
        while (drawn == drawn[0]).all():                                     # one person alone has no imposter
            drawn = random.integers(people, size=people)
        counts[i] = np.bincount(drawn, minlength=people)
    return counts


def _measures(matrix: np.ndarray, counts: np.ndarray, rates) -> dict:
    """The measures of every resample of one draw. (S, S), (B, S) -> {name: (B,)}"""
    people, resamples = len(matrix), len(counts)
    order = np.argsort(matrix, axis=None, kind="stable")
    ordered, diagonal = matrix.ravel()[order], np.arange(people) * (people + 1)
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))      # equal distances are accepted together
    pairs = (counts[:, :, None] * counts[:, None, :]).reshape(resamples, -1)
    pairs[:, diagonal] = 0
    own = np.zeros_like(pairs)
    own[:, diagonal] = counts
    accepted = [np.cumsum(weights[:, order], axis=1)[:, last] for weights in (pairs, own)]
    imposters, tpr = accepted[0], accepted[1] / people                       # (B, T): from the smallest distance on
    total = imposters[:, -1:]
    fmr = np.pad(imposters / total, ((0, 0), (1, 0)))                        # the curve starts with nothing accepted
    tpr = np.pad(tpr, ((0, 0), (1, 0)))
    rows, gap = np.arange(resamples), 1 - tpr - fmr
    after = np.argmax(gap <= 0, axis=1)
    share = gap[rows, after - 1] / (gap[rows, after - 1] - gap[rows, after])
    found = {"auc": np.trapezoid(tpr, fmr, axis=1),
             "eer": fmr[rows, after - 1] + share * (fmr[rows, after] - fmr[rows, after - 1])}
    for rate in rates:                                                       # the last point that accepts few enough
        allowed = (fmr * total <= np.floor(rate * total * (1 + 1e-12)) + 1e-9).sum(1) - 1
        found[rate] = 1 - tpr[rows, allowed]
    return found
