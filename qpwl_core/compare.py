"""Several models on the same people and the same draws: how far apart they are, and whether that could be chance.

What chance decides is, above all, *which people* were tested. So a difference comes with a confidence interval that
resamples people, the same ones for both models. A test over repeats, as is often seen, only says whether the draw of
sequences matters, given these very people and these very models.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpwl_core import metrics

RESAMPLES = 1000
BLOCK = 2**24              # values looked at in one go


def resamplings(people: int, resamples: int = RESAMPLES, seed: int = 0) -> np.ndarray:
    """How often each person is drawn when as many people as there are are drawn with replacement. -> (B, S) int

    The draws are those of `metrics.subject_interval`: one person alone has no imposter, so that is drawn again.
    """
    random, counts = np.random.default_rng(seed), np.empty((resamples, people), dtype=int)
    for row in counts:
        drawn = random.integers(people, size=people)
        while (drawn == drawn[0]).all():
            drawn = random.integers(people, size=people)
        row[:] = np.bincount(drawn, minlength=people)
    return counts


def resampled_auc(stack: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """AUC of verification when people count as often as they were drawn, mean of repeats. (R, S, S), (B, S) -> (B,)

    With H[i, j, k] = 1 where person i is nearer to itself than j is to k (ties a half), AUC is the mean of H over i and
    over all pairs j ≠ k. H does not depend on the resampling, so a thousand of them are three matrix products.
    """
    people = stack.shape[-1]
    wins = np.zeros((people, people, people))
    for scores in stack:
        own = scores.diagonal()[:, None, None]
        wins += (scores > own) + 0.5 * (scores == own)
    wins[:, np.arange(people), np.arange(people)] = 0
    wins = wins.reshape(people, -1) / len(stack)
    values = []
    for some in np.array_split(counts.astype(float), -(-counts.size * people // BLOCK)):
        pairs = (some @ wins).reshape(-1, people, people)                               # (b, S, S)
        total = np.einsum("bj,bjk,bk->b", some, pairs, some, optimize=True)
        values.append(total / (some.sum(1) * (some.sum(1)**2 - (some**2).sum(1))))
    return np.concatenate(values)


@dataclass(frozen=True, eq=False)
class Resampled:
    """AUC of verification of one model (or of one method, trained for several splits), with people resampled."""

    aucs: dict[int, float]             # of each split, mean of repeats
    values: dict[int, np.ndarray]      # of each split, (B,): of each resampling

    @property
    def auc(self) -> float:
        """Mean of splits."""
        return float(np.mean(list(self.aucs.values())))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval of ``auc``."""
        return _interval(np.mean(list(self.values.values()), 0), level)

    def minus(self, other: Resampled, level: float = 0.95) -> dict:
        """Its AUC minus that of another on the same people, in the splits of both: difference, low, high, splits, p.

        ``p`` is of a paired t-test over splits: None with fewer than three of them, which cannot tell anything.
        """
        common = [split for split in self.aucs if split in other.aucs]
        if not common:
            raise ValueError(f"both must have a split in common, got {list(self.aucs)} and {list(other.aucs)}")
        apart = [self.aucs[split] - other.aucs[split] for split in common]
        low, high = _interval(np.mean([self.values[split] - other.values[split] for split in common], 0), level)
        return {"difference": float(np.mean(apart)), "low": low, "high": high, "splits": len(common), "p": _p_of(apart)}


def resample(stacks: dict[int, np.ndarray], resamples: int = RESAMPLES) -> Resampled:
    """Resample the people of each split by itself, the same ones for every model. {split: (R, S, S)} -> Resampled"""
    return Resampled({split: float(repeat_aucs(stack).mean()) for split, stack in stacks.items()},
                     {split: resampled_auc(stack, resamplings(stack.shape[-1], resamples, split))
                      for split, stack in stacks.items()})


def repeat_aucs(stack: np.ndarray) -> np.ndarray:
    """AUC of each repeat. (R, S, S) -> (R,)"""
    return np.array([metrics.auc(*metrics.genuine_and_imposter(scores)) for scores in stack])


def repeats_test(one: np.ndarray, other: np.ndarray) -> float:
    """p of Wilcoxon's signed-rank test on the AUC of each repeat; 1 where all are equal. (R, S, S), (R, S, S) -> ()"""
    from scipy.stats import wilcoxon

    apart = repeat_aucs(one) - repeat_aucs(other)
    return float(wilcoxon(apart).pvalue) if apart.any() else 1.0


def _interval(values: np.ndarray, level: float) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _p_of(apart: list[float]) -> float | None:
    from scipy.stats import ttest_1samp

    if len(apart) < 3:
        return None
    return float(ttest_1samp(apart, 0).pvalue) if np.ptp(apart) > 0 else float(apart[0] == 0)
