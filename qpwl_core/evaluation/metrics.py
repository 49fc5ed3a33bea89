"""How well distances tell people apart: ROC, AUC, DET, EER, CMC, thresholds.

Most functions take two lists of distances: ``genuine``, of people to themselves, and ``imposter``, of people to
others. A match is accepted where distance <= threshold. FMR, the false match rate, is the share of imposter distances
accepted (the false positive rate of a ROC curve); FNMR, the false non-match rate, is the share of genuine distances
rejected (1 − the true positive rate). Some take a score matrix (S, S): row i are the distances d_j of what was
observed of person i to every person j, so genuine distances stand on the diagonal, imposter distances beside it.
"""

from collections.abc import Iterable

import numpy as np


def genuine_and_imposter(scores) -> tuple[np.ndarray, np.ndarray]:
    """The diagonal of a score matrix, and all beside it. (S, S) -> (S,), (S·(S−1),)"""
    scores = checked_matrix(scores)
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


def d_prime(genuine, imposter) -> float | None:
    """d′ = (mean imposter − mean genuine) / √((var imposter + var genuine) / 2), or None where it is not measurable.

    That is with fewer than two distances of a kind, and where neither kind varies.
    """
    genuine, imposter = _checked(genuine, imposter)
    if min(len(genuine), len(imposter)) < 2 or np.ptp(genuine) == np.ptp(imposter) == 0:
        return None  # judged by the range: rounding can give equal numbers a variance
    spread = np.sqrt((genuine.var(ddof=1) + imposter.var(ddof=1)) / 2)
    return float((imposter.mean() - genuine.mean()) / spread) if spread > 0 else None


def cmc(scores) -> np.ndarray:
    """Cumulative match characteristic: how often the right person is among the k nearest. (S, S) -> (S,), k = 1..S

    Ties are broken at random, on average: a person nearer than all but b, tied with t − 1 others, is among the
    first k with chance (k − b) / t. The first entry is the identification accuracy.

    >>> cmc([[0.0, 1.0], [1.0, 1.0]])
    array([0.75, 1.  ])
    """
    scores = checked_matrix(scores)
    right = scores.diagonal()[:, None]
    nearer, tied = (scores < right).sum(1, keepdims=True), (scores == right).sum(1, keepdims=True)  # (S, 1)
    ranks = np.arange(1, len(scores) + 1)
    return np.clip((ranks - nearer) / tied, 0, 1).mean(0)


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


def checked_matrix(scores) -> np.ndarray:
    """A finite score matrix (S, S) of at least two people, in float64."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1] or len(scores) < 2:
        raise ValueError(f"scores must be an (S, S) matrix of at least two people, got shape {scores.shape}")
    _distances("scores", scores.ravel())
    return scores
