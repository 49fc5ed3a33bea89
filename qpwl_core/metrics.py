"""How well distances tell people apart: ROC, AUC, DET, EER, CMC, thresholds, confidence intervals.

Most functions take two lists of distances: ``genuine``, of people to themselves, and ``imposter``, of people to
others. A match is accepted where distance <= threshold. FMR, the false match rate, is the share of imposter distances
accepted (the false positive rate of a ROC curve); FNMR, the false non-match rate, is the share of genuine distances
rejected (1 − the true positive rate). Some take a score matrix (S, S): row i are the distances d_j of what was
observed of person i to every person j, so genuine distances stand on the diagonal, imposter distances beside it.
"""

from collections.abc import Callable, Iterable

import numpy as np


def genuine_and_imposter(scores) -> tuple[np.ndarray, np.ndarray]:
    """The diagonal of a score matrix, and all beside it. (S, S) -> (S,), (S·(S−1),)"""
    scores = _matrix(scores)
    return scores.diagonal().copy(), scores[~np.eye(len(scores), dtype=bool)]


def roc(genuine, imposter):
    """ROC curve as a DataFrame: threshold, fpr, tpr, from nothing accepted to all accepted.

    Equal distances are accepted together, so a tie of genuine with imposter distances is a slanted line. Thresholds
    are finite: the first lies just below every distance. Points on a straight line between others are left out.
    """
    return _roc(*_checked(genuine, imposter), drop_intermediate=True)


def _roc(genuine: np.ndarray, imposter: np.ndarray, drop_intermediate: bool):
    import pandas as pd
    from sklearn.metrics import roc_curve

    distances = np.concatenate([genuine, imposter])
    is_genuine = np.arange(len(distances)) < len(genuine)
    fpr, tpr, thresholds = roc_curve(is_genuine, -distances, drop_intermediate=drop_intermediate)
    thresholds = np.append(np.nextafter(distances.min(), -np.inf), -thresholds[1:])  # scikit-learn starts at infinity
    return pd.DataFrame({"threshold": thresholds, "fpr": fpr, "tpr": tpr})


def auc(genuine, imposter) -> float:
    """Area under the ROC curve: the chance that a genuine distance is below an imposter distance, ties half.

    >>> auc([1.0, 2.0], [2.0, 3.0])
    0.875
    """
    genuine, imposter = _checked(genuine, imposter)
    ordered = np.sort(imposter)  # ranks give the area under scikit-learn's curve, so fast that it can be resampled
    not_above, below = (np.searchsorted(ordered, genuine, side=side).sum() for side in ("right", "left"))
    twice = 2 * len(genuine) * len(imposter)  # whole numbers up to the one division, so the result is exact
    return float((twice - not_above - below) / twice)


def det(genuine, imposter):
    """DET curve as a DataFrame: threshold, fmr, fnmr and both as normal deviates, the axes it is drawn on.

    Points where a rate is 0 or 1 lie at infinity on such axes and are left out: separable people give no row.
    """
    from scipy.stats import norm

    curve = _roc(*_checked(genuine, imposter), drop_intermediate=False)
    curve = curve.assign(fmr=curve["fpr"], fnmr=1 - curve["tpr"])[["threshold", "fmr", "fnmr"]]
    inside = (curve["fmr"] > 0) & (curve["fmr"] < 1) & (curve["fnmr"] > 0) & (curve["fnmr"] < 1)
    curve = curve[inside].reset_index(drop=True)
    return curve.assign(fmr_deviate=norm.ppf(curve["fmr"]), fnmr_deviate=norm.ppf(curve["fnmr"]))


def eer(genuine, imposter) -> float:
    """Equal error rate: where FMR = FNMR on the ROC curve, with straight lines between its points.

    From one point to the next FNMR − FMR falls, from 1 to −1, so there is exactly one such place.

    >>> eer([1.0, 2.0], [2.0, 3.0])
    0.25
    """
    curve = roc(genuine, imposter)
    fmr, fnmr = curve["fpr"].to_numpy(), 1 - curve["tpr"].to_numpy()
    gap = fnmr - fmr
    after = int(np.argmax(gap <= 0))  # never 0: the first gap is 1
    share = gap[after - 1] / (gap[after - 1] - gap[after])
    return float(fmr[after - 1] + share * (fmr[after] - fmr[after - 1]))


def smallest_rate(trials: int) -> float:
    """The smallest error rate that ``trials`` can measure, 3 / trials: below it fewer than three errors are expected.

    It is the rule of three: no error in N independent trials is compatible (95 %) with any rate up to 3 / N.
    """
    if trials < 1:
        raise ValueError(f"trials must be at least 1, got {trials}")
    return 3 / trials


def threshold_at_fmr(imposter, fmr: float) -> float:
    """The largest threshold at which at most a share ``fmr`` of the imposter distances is accepted.

    Of N imposter distances in order, k = floor(fmr · N) may be accepted, so the threshold lies just below the one after
    them; distances equal to that one are all rejected, and the rate is then below ``fmr``, never above.

    >>> imposter = [1.0, 2.0, 3.0, 3.0, 4.0, 5.0]
    >>> round(threshold_at_fmr(imposter, 0.5), 6)  # three may be accepted, but the third and the fourth are equal
    3.0
    >>> apply_threshold([0.5], imposter, threshold_at_fmr(imposter, 0.5))["fmr"] == 2 / 6
    True
    """
    ordered = np.sort(_distances("imposter", imposter))
    _check_rate(fmr)
    if fmr < smallest_rate(len(ordered)):
        raise ValueError(f"fmr must be at least {smallest_rate(len(ordered)):.2g} to be measured with {len(ordered)} "
                         f"imposter distances (three errors expected), got {fmr:g}")
    allowed = _allowed(fmr, len(ordered))
    return float(ordered[-1] if allowed == len(ordered) else np.nextafter(ordered[allowed], -np.inf))


def fnmr_at_fmr(genuine, imposter, fmr: float) -> float | None:
    """FNMR at the threshold of :func:`threshold_at_fmr`, or None where the imposter distances are too few to tell.

    A false match rate is measurable where at least three false matches are expected, fmr · N >= 3: 0.1 needs 30
    imposter distances, 0.01 needs 300, 0.001 needs 3000.
    """
    genuine, imposter = _checked(genuine, imposter)
    _check_rate(fmr)
    if fmr < smallest_rate(len(imposter)):
        return None
    return apply_threshold(genuine, imposter, threshold_at_fmr(imposter, fmr))["fnmr"]


def apply_threshold(genuine, imposter, threshold: float) -> dict[str, float]:
    """The two error rates at a threshold that was set elsewhere: {"fmr", "fnmr"}."""
    genuine, imposter = _checked(genuine, imposter)
    if not np.isfinite(threshold):
        raise ValueError(f"threshold must be finite, got {threshold}")
    return {"fmr": float(np.mean(imposter <= threshold)), "fnmr": float(np.mean(genuine > threshold))}


def calibrated(scores, calibration, fmr: float) -> dict[str, float]:
    """Set a threshold on some people, apply it to the others. (S, S), (S,) bool -> {"threshold", "fmr", "fnmr"}

    ``calibration`` is true for the people that the threshold is set on. Only pairs within either side count, so no
    person is on both.
    """
    scores, calibration = _matrix(scores), np.asarray(calibration)
    if calibration.shape != (len(scores),) or calibration.dtype != bool:
        raise ValueError(f"calibration must be {len(scores)} truth values, one a person, got {calibration.dtype} of "
                         f"shape {calibration.shape}")
    if min(calibration.sum(), (~calibration).sum()) < 2:
        raise ValueError(f"calibration must leave at least two people on either side, got {calibration.sum()} and "
                         f"{(~calibration).sum()}")
    _, imposter = genuine_and_imposter(scores[np.ix_(calibration, calibration)])
    threshold = threshold_at_fmr(imposter, fmr)
    others = genuine_and_imposter(scores[np.ix_(~calibration, ~calibration)])
    return {"threshold": threshold, **apply_threshold(*others, threshold)}


def d_prime(genuine, imposter) -> float | None:
    """d′ = (mean imposter − mean genuine) / √((var imposter + var genuine) / 2), or None where it is not measurable.

    That is with fewer than two distances of a kind, and where neither kind varies.
    """
    genuine, imposter = _checked(genuine, imposter)
    if min(len(genuine), len(imposter)) < 2 or np.ptp(genuine) == np.ptp(imposter) == 0:
        return None  # told by the range: rounding can give equal numbers a variance
    spread = np.sqrt((genuine.var(ddof=1) + imposter.var(ddof=1)) / 2)
    return float((imposter.mean() - genuine.mean()) / spread) if spread > 0 else None


def cmc(scores) -> np.ndarray:
    """Cumulative match characteristic: how often the right person is among the k nearest. (S, S) -> (S,), k = 1..S

    Ties are broken at random, on average: a person nearer than all but b, tied with t − 1 others, is among the
    first k with chance (k − b) / t. The first entry is the identification accuracy.

    >>> cmc([[0.0, 1.0], [1.0, 1.0]])
    array([0.75, 1.  ])
    """
    scores = _matrix(scores)
    right = scores.diagonal()[:, None]
    nearer, tied = (scores < right).sum(1, keepdims=True), (scores == right).sum(1, keepdims=True)  # (S, 1)
    ranks = np.arange(1, len(scores) + 1)
    return np.clip((ranks - nearer) / tied, 0, 1).mean(0)


def subject_interval(scores, statistic: Callable = auc, *, resamples: int = 1000, level: float = 0.95,
                     seed: int = 0) -> tuple[float, float]:
    """Confidence interval of ``statistic(genuine, imposter)`` by resampling *people*. (S, S) or (R, S, S) -> low, high

    Pairs that share a person are not independent, people are: each resample draws S of the S people with replacement;
    their genuine distances and those of pairs of different people count as often as they were drawn, a person drawn
    twice is no imposter of itself. With R repeats the mean over them is taken. Percentile bootstrap.
    """
    scores = np.asarray(scores, dtype=np.float64)
    stack = [_matrix(m) for m in (scores if scores.ndim == 3 and len(scores) else [scores])]  # R of (S, S)
    if resamples < 1 or not 0 < level < 1:
        raise ValueError(f"resamples must be at least 1 and level between 0 and 1, got {resamples} and {level}")
    random, people = np.random.default_rng(seed), len(stack[0])
    values = np.empty(resamples)
    for i in range(resamples):
        drawn = random.integers(people, size=people)
        while (drawn == drawn[0]).all():  # one person alone has no imposter
            drawn = random.integers(people, size=people)
        different = drawn[:, None] != drawn
        values[i] = np.mean([statistic(m[drawn, drawn], m[np.ix_(drawn, drawn)][different]) for m in stack])
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def mean_roc(trials: Iterable[tuple], grid=None):
    """Mean ROC curve over repeats on common false positive rates, as a DataFrame: fpr, tpr, se.

    ``trials`` holds (genuine, imposter) of each repeat, at least two; ``grid`` the rates, by default 0 to 1 in steps
    of 0.005. Each curve is read with straight lines between its points, and at a vertical step at its top.
    """
    import pandas as pd

    grid = np.linspace(0, 1, 201) if grid is None else _distances("grid", grid)
    if grid.min() < 0 or grid.max() > 1:
        raise ValueError(f"grid must lie in [0, 1], got {grid.min():g} to {grid.max():g}")
    read = []
    for genuine, imposter in trials:
        curve = roc(genuine, imposter)
        read.append(np.interp(grid, curve["fpr"], curve["tpr"]))  # of points with one fpr it takes the last, the top
    if len(read) < 2:
        raise ValueError(f"trials must hold at least two repeats for a standard error, got {len(read)}")
    return pd.DataFrame({"fpr": grid, "tpr": np.mean(read, 0), "se": np.std(read, 0, ddof=1) / np.sqrt(len(read))})


def _allowed(rate: float, trials: int) -> int:
    """floor(rate · trials), where 0.29 · 100 is 29 although floating point says 28.999…"""
    return int(np.floor(rate * trials * (1 + 1e-12)))


def _check_rate(fmr: float) -> None:
    if not 0 < fmr <= 1:
        raise ValueError(f"fmr must be above 0 and at most 1, got {fmr}")


def _distances(name: str, values) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"{name} must be a list of at least one number, got shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite, got {int((~np.isfinite(values)).sum())} NaN or infinite values")
    return values


def _checked(genuine, imposter) -> tuple[np.ndarray, np.ndarray]:
    return _distances("genuine", genuine), _distances("imposter", imposter)


def _matrix(scores) -> np.ndarray:
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1] or len(scores) < 2:
        raise ValueError(f"scores must be an (S, S) matrix of at least two people, got shape {scores.shape}")
    _distances("scores", scores.ravel())
    return scores
