"""The bootstrap over people: they are drawn again with replacement, and every figure is computed anew.

Pairs that share a person are not independent; people are. So *people* are resampled, never pairs: S of the S people are
drawn with replacement, their genuine distances and those between different people count as often as they were drawn,
and a person drawn twice is no imposter of itself. Of all that follow, the draws are those of `resample_people`; nothing
else in the house resamples. To draw people again is to count each of them c times, so a statistic need not be computed
from a longer list of distances: c_i weighs a genuine trial, c_i · c_j an imposter trial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from qpwl_core.evaluation import metrics
from qpwl_core.evaluation.paired import paired_p

RESAMPLES = 1000
LEVEL = 0.95
ENOUGH_PEOPLE = 10         # calibration people below which nothing is promised
BLOCK = 2**24              # values looked at in one go, to resample an AUC
CELLS = 2_000_000          # the same, to resample a whole curve


def resample_people(people: int, resamples: int = RESAMPLES, seed: int = 0) -> np.ndarray:
    """How often each person is drawn when as many people as there are are drawn with replacement. -> (B, S) int

    One person alone has no imposter, so that is drawn again.
    """
    random, counts = np.random.default_rng(seed), np.empty((resamples, people), dtype=int)
    for row in counts:
        drawn = random.integers(people, size=people)
        while (drawn == drawn[0]).all():
            drawn = random.integers(people, size=people)
        row[:] = np.bincount(drawn, minlength=people)
    return counts


def percentiles(values: np.ndarray, level: float = LEVEL) -> tuple[float, float]:
    """The interval that holds the middle ``level`` of the resampled values. (B,) -> low, high"""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def subject_interval(scores, statistic: Callable = metrics.auc, *, resamples: int = RESAMPLES, level: float = LEVEL,
                     seed: int = 0) -> tuple[float, float]:
    """Interval of any ``statistic(genuine, imposter)``. (S, S) or (R, S, S) -> low, high

    With R repeats the mean over them is taken.
    """
    scores = np.asarray(scores, dtype=np.float64)
    stack = [metrics.checked_matrix(m) for m in (scores if scores.ndim == 3 and len(scores) else [scores])]
    if resamples < 1 or not 0 < level < 1:
        raise ValueError(f"resamples must be at least 1 and level between 0 and 1, got {resamples} and {level}")
    values = np.empty(resamples)
    for i, count in enumerate(resample_people(len(stack[0]), resamples, seed)):
        drawn = np.repeat(np.arange(len(count)), count)
        different = drawn[:, None] != drawn
        values[i] = np.mean([statistic(m[drawn, drawn], m[np.ix_(drawn, drawn)][different]) for m in stack])
    return percentiles(values, level)


def subject_intervals(scores, rates: Iterable[float] = (), *, resamples: int = 500, level: float = LEVEL,
                      seed: int = 0) -> dict:
    """Intervals of AUC, EER and FNMR at the false match ``rates``. (R, S, S) -> {"auc": (low, high), "eer": …, 0.1: …}

    Each is what `subject_interval` gives, many times faster.
    """
    scores, rates = np.asarray(scores, dtype=np.float64), tuple(rates)
    if scores.ndim != 3 or scores.shape[1] != scores.shape[2] or scores.shape[1] < 2 or not np.isfinite(scores).all():
        raise ValueError(f"scores must be finite (R, S, S) of at least two people, got shape {scores.shape}")
    counts = resample_people(scores.shape[1], resamples, seed)               # (B, S)
    block = max(CELLS // scores[0].size, 1)
    values: dict = {name: np.zeros(resamples) for name in ("eer", *rates)}
    for matrix in scores:
        for start in range(0, resamples, block):
            part = slice(start, start + block)
            for name, value in _curve_measures(matrix, counts[part].astype(float), rates).items():
                values[name][part] += value / len(scores)
    values["auc"] = resampled_auc(scores, counts)
    return {name: percentiles(value, level) for name, value in values.items()}


def resampled_auc(stack: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """AUC of verification when people count as often as they were drawn, mean of repeats. (R, S, S), (B, S) -> (B,)

    With H[i, j, k] = 1 where person i is nearer to itself than j is to k (ties a half), AUC is the mean of H over i and
    over all pairs j ≠ k. H does not depend on the resampling, so a thousand of them are three matrix products.
    """
    return resampled_wins(wins_of(stack) / len(stack), counts)


def wins_of(stack: np.ndarray) -> np.ndarray:
    """H of `resampled_auc`, summed over repeats: all that AUC and its bootstrap need to know. (R, S, S) -> (S, S, S)"""
    people = stack.shape[-1]
    wins = np.zeros((people, people, people))
    for scores in stack:
        genuine = scores.diagonal()[:, None, None]
        wins += (scores > genuine) + 0.5 * (scores == genuine)
    wins[:, np.arange(people), np.arange(people)] = 0
    return wins


def resampled_wins(wins: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """AUC when people count as often as they were drawn, from H, the mean of repeats. (S, S, S), (B, S) -> (B,)"""
    people = len(wins)
    wins, values = wins.reshape(people, -1), []
    for some in np.array_split(counts.astype(float), -(-counts.size * people // BLOCK)):
        pairs = (some @ wins).reshape(-1, people, people)                               # (b, S, S)
        total = np.einsum("bj,bjk,bk->b", some, pairs, some, optimize=True)
        values.append(total / (some.sum(1) * (some.sum(1)**2 - (some**2).sum(1))))
    return np.concatenate(values)


def resampled_pairs_auc(distances: np.ndarray, genuine: np.ndarray, first: np.ndarray, second: np.ndarray,
                        counts: np.ndarray) -> np.ndarray:
    """AUC over pairs of sequences when people count as often as they were drawn. (P,), …, (B, S) -> (B,)

    ``first`` and ``second`` (P,) are the people of a pair, from 0; ``genuine`` (P,) whether they are one. A genuine
    pair of i counts c_i times, a pair of j and k c_j · c_k times. NaN where a draw leaves nothing to compare.
    """
    people = counts.shape[1]
    place = first[~genuine] * people + second[~genuine]
    imposter, wins = distances[~genuine], np.zeros((people, people * people))
    for i in range(people):
        nearer = np.sort(distances[genuine & (first == i)])
        below = (np.searchsorted(nearer, imposter, "left") + np.searchsorted(nearer, imposter, "right")) / 2
        wins[i] = np.bincount(place, below, people * people)
    of_person = np.bincount(first[genuine], minlength=people)
    of_pair = np.bincount(place, minlength=people * people).reshape(people, people)
    values = []
    for some in np.array_split(counts.astype(float), -(-counts.size * people // BLOCK)):
        pairs = (some @ wins).reshape(-1, people, people)                               # (b, S, S)
        total = np.einsum("bj,bjk,bk->b", some, pairs, some, optimize=True)
        weight = (some @ of_person) * np.einsum("bj,jk,bk->b", some, of_pair, some, optimize=True)
        values.append(np.divide(total, weight, out=np.full(len(some), np.nan), where=weight > 0))
    return np.concatenate(values)


def too_few_people(people: int, promised: tuple[float, float], target: float) -> bool:
    """Whether so few calibration people cannot promise a rate: fewer than ten, or twice as much is possible."""
    return people < ENOUGH_PEOPLE or promised[1] > 2 * target


def fmr_interval(scores: np.ndarray, threshold: float, *, resamples: int = 500, level: float = LEVEL,
                 seed: int = 0) -> tuple[float, float]:
    """What false match rate a threshold can promise, had other people been there to set it on. (R, S, S) -> low, high

    The rate of these people's imposter trials at or below the threshold, with people resampled.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 3 or scores.shape[1] != scores.shape[2] or scores.shape[1] < 2:
        raise ValueError(f"scores must be (R, S, S) of at least two people, got shape {scores.shape}")
    let_in = (scores <= threshold).mean(0)
    np.fill_diagonal(let_in, 0)
    counts = resample_people(len(let_in), resamples, seed).astype(float)
    trials = counts.sum(1)**2 - (counts**2).sum(1)
    return percentiles(np.einsum("bj,jk,bk->b", counts, let_in, counts, optimize=True) / trials, level)


def resampled_eer(genuine, imposter, genuine_weights: np.ndarray, imposter_weights: np.ndarray) -> np.ndarray:
    """EER of trials that count as often as their people were drawn. (G,), (I,), (B, G), (B, I) -> (B,)

    It is what `metrics.eer` gives of lists that repeat each distance so often.
    """
    distances = np.concatenate([genuine, imposter])
    order = np.argsort(distances, kind="stable")
    last = np.flatnonzero(np.append(np.diff(distances[order]) > 0, True))    # equal distances are accepted together
    rates = []
    for weights, first in ((imposter_weights, len(genuine)), (genuine_weights, 0)):
        every = np.zeros((len(weights), len(distances)))
        every[:, first:first + weights.shape[1]] = weights
        accepted = np.cumsum(every[:, order], axis=1)[:, last]
        rates.append(np.pad(accepted / accepted[:, -1:], ((0, 0), (1, 0))))
    fmr, tpr = rates
    rows, gap = np.arange(len(fmr)), 1 - tpr - fmr
    after = np.argmax(gap <= 0, axis=1)
    share = gap[rows, after - 1] / (gap[rows, after - 1] - gap[rows, after])
    return fmr[rows, after - 1] + share * (fmr[rows, after] - fmr[rows, after - 1])


def _curve_measures(matrix: np.ndarray, counts: np.ndarray, rates: tuple[float, ...]) -> dict:
    """EER and FNMR at fixed FMR of every resample of one repeat. (S, S), (B, S) -> {name: (B,)}

    Distances need not be sorted again: the error rates of a resample are cumulative sums of counts in one fixed order.
    """
    people, resamples = len(matrix), len(counts)
    order = np.argsort(matrix, axis=None, kind="stable")
    ordered, diagonal = matrix.ravel()[order], np.arange(people) * (people + 1)
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))      # equal distances are accepted together
    imposter = (counts[:, :, None] * counts[:, None, :]).reshape(resamples, -1)
    imposter[:, diagonal] = 0
    genuine = np.zeros_like(imposter)
    genuine[:, diagonal] = counts
    accepted = [np.cumsum(weights[:, order], axis=1)[:, last] for weights in (imposter, genuine)]
    matched, tpr = accepted[0], accepted[1] / people                         # (B, T): from the smallest distance on
    total = matched[:, -1:]
    fmr = np.pad(matched / total, ((0, 0), (1, 0)))                          # the curve starts with nothing accepted
    tpr = np.pad(tpr, ((0, 0), (1, 0)))
    rows, gap = np.arange(resamples), 1 - tpr - fmr
    after = np.argmax(gap <= 0, axis=1)
    share = gap[rows, after - 1] / (gap[rows, after - 1] - gap[rows, after])
    found: dict = {"eer": fmr[rows, after - 1] + share * (fmr[rows, after] - fmr[rows, after - 1])}
    for rate in rates:                                                       # the last point that accepts few enough
        allowed = (fmr * total <= np.floor(rate * total * (1 + 1e-12)) + 1e-9).sum(1) - 1
        found[rate] = 1 - tpr[rows, allowed]
    return found


@dataclass(frozen=True, eq=False)
class Resampled:
    """AUC of verification of one model (or of one method, trained for several splits), with people resampled."""

    aucs: dict[int, float]             # of each split, mean of repeats
    values: dict[int, np.ndarray]      # of each split, (B,): of each resampling

    @property
    def auc(self) -> float:
        """Mean of splits."""
        return float(np.mean(list(self.aucs.values())))

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Confidence interval of ``auc``, over people and, where there are three or more, over splits."""
        return percentiles(over_splits(np.array(list(self.values.values()))), level)

    def minus(self, other: Resampled, level: float = LEVEL, share: float = 0.0) -> dict:
        """Its AUC minus that of another on the same people, in the splits of both: difference, low, high, splits, p.

        ``low`` and ``high`` are over people and splits. ``p`` is of a paired t-test over splits: None with fewer than
        three of them, which cannot tell anything. ``share``: people tested per person trained on; splits of the same
        people overlap, so that their variance is larger by it (the corrected resampled t-test of Nadeau and Bengio).
        """
        common = [split for split in self.aucs if split in other.aucs]
        if not common:
            raise ValueError(f"both must have a split in common, got {list(self.aucs)} and {list(other.aucs)}")
        differences = [self.aucs[split] - other.aucs[split] for split in common]
        low, high = percentiles(over_splits(np.array([self.values[split] - other.values[split] for split in common])),
                                level)
        return {"difference": float(np.mean(differences)), "low": low, "high": high, "splits": len(common),
                "p": paired_p(differences, share)}


def resample(stacks: dict[int, np.ndarray], resamples: int = RESAMPLES) -> Resampled:
    """Resample the people of each split by itself, the same ones for every model. {split: (R, S, S)} -> Resampled"""
    return Resampled({split: float(repeat_aucs(stack).mean()) for split, stack in stacks.items()},
                     {split: resampled_auc(stack, resample_people(stack.shape[-1], resamples, split))
                      for split, stack in stacks.items()})


def over_splits(values: np.ndarray, seed: int = 0) -> np.ndarray:
    """Splits drawn with replacement, each time with other people of theirs drawn; their mean. (splits, B) -> (B,)

    Fewer than three splits are taken as they are: so few cannot stand for others.
    """
    splits, resamples = values.shape
    if splits < 3:
        return values.mean(0)
    random = np.random.default_rng([seed, splits])
    which, whom = (random.integers(most, size=(splits, resamples)) for most in (splits, resamples))
    return values[which, whom].mean(0)


def repeat_aucs(stack: np.ndarray) -> np.ndarray:
    """AUC of each repeat. (R, S, S) -> (R,)"""
    return np.array([metrics.auc(*metrics.genuine_and_imposter(scores)) for scores in stack])


def repeats_test(one: np.ndarray, other: np.ndarray) -> float:
    """p of Wilcoxon's signed-rank test on the AUC of each repeat; 1 where all are equal. (R, S, S), (R, S, S) -> ()"""
    from scipy.stats import wilcoxon

    differences = repeat_aucs(one) - repeat_aucs(other)
    return float(wilcoxon(differences).pvalue) if differences.any() else 1.0
