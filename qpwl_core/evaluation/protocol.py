"""The experiment of the paper: from one distance matrix to verification, identification and imposters.

For each person and repeat, five sequences drawn at random are *observed* (probes), all others are *enrolled*. The score
of the first n observed sequences against person j is the mean of their distances to j's nearest enrolled sequence,

    d_j(n) = 1/n Σ_{i ≤ n} min_{s enrolled, of j} d(s_i, s).

All functions take ``distances`` (n, n) between all test sequences, NumPy or torch, row = observed, column = enrolled,
smaller is closer, not necessarily symmetric; ``subjects`` (n,), who each sequence is of; and the options of
:func:`draw`. Results are tidy DataFrames; ``attrs["left_out"]`` names the people who had too few sequences, and
``attrs["note"]`` says so in a sentence.
"""

from __future__ import annotations

import numpy as np

from qpwl_core.common.text import quoted
from qpwl_core.evaluation import metrics
from qpwl_core.evaluation.draws import Draw, draw

IDENTIFICATION_FRACTIONS = tuple(i / 10 for i in range(1, 11))
IMPOSTER_FRACTIONS = tuple(i / 20 for i in range(1, 11))
MEASURES = ("auc", "eer", "accuracy")


def person_distances(distances, drawn: Draw) -> np.ndarray:
    """d_j(n) for all repeats and all n. (n, n) -> (R, O, S, S): repeat, n − 1, observed person, claimed person j"""
    distances = _square(distances, len(drawn.owner))
    repeats, people, observed = drawn.observed.shape
    nearest = np.empty((repeats, people, observed, people))
    for repeat in range(repeats):
        rows, columns = drawn.observed[repeat].ravel(), drawn.enrolled(repeat)
        between = distances[np.ix_(rows, columns)]                                           # (S·O, enrolled)
        if drawn.groups is not None:
            between = np.where(drawn.groups[rows][:, None] == drawn.groups[columns], np.inf, between)
        starts = np.searchsorted(drawn.owner[columns], np.arange(people))                    # each person's first
        nearest[repeat] = np.minimum.reduceat(between, starts, axis=1).reshape(people, observed, people)
    if nearest.min() == nearest.max():
        raise ValueError(f"distances must differ to tell people apart, got {nearest.min():g} between all of them")
    return nearest.cumsum(2).transpose(0, 2, 1, 3) / np.arange(1, observed + 1)[:, None, None]


def verification(distances, subjects, *, repeats: int = 10, observed: int = 5, seed: int = 0, groups=None):
    """Is this the person it claims to be? Every (observed, claimed) pair of people is one trial.

    -> DataFrame, one row per repeat and n: repeat, n, subjects, trials, auc, eer
    """
    drawn = draw(subjects, repeats=repeats, observed=observed, seed=seed, groups=groups)
    rows = []
    for repeat, of_n in enumerate(person_distances(distances, drawn)):
        for n, scores in enumerate(of_n, start=1):                                           # (S, S)
            trials = metrics.genuine_and_imposter(scores)
            rows.append({"repeat": repeat, "n": n, "subjects": len(scores), "trials": scores.size,
                         "auc": metrics.auc(*trials), "eer": metrics.eer(*trials)})
    return _frame(rows, drawn)


def identification(distances, subjects, *, fractions=IDENTIFICATION_FRACTIONS, n: int = 5, repeats: int = 10,
                   observed: int = 5, seed: int = 0, groups=None):
    """Who is it? The person j with the smallest d_j(n), when a fraction of the people is enrolled and observed.

    The fractions of one repeat are nested, rounded (half up) to people, and at least two of them. A tie of t nearest
    people counts 1/t where the right one is among them, as if broken at random.
    -> DataFrame, one row per repeat and fraction: repeat, n, fraction, subjects, accuracy
    """
    fractions = _fractions(fractions, 1.0)
    drawn = draw(subjects, repeats=repeats, observed=observed, seed=seed, groups=groups)
    _check_n(n, observed)
    rows = []
    for repeat, scores in enumerate(person_distances(distances, drawn)[:, n - 1]):           # (S, S)
        for fraction in fractions:
            some = drawn.order[repeat][:max(_share(fraction, len(scores)), 2)]
            rows.append({"repeat": repeat, "n": n, "fraction": fraction, "subjects": len(some),
                         "accuracy": float(metrics.cmc(scores[np.ix_(some, some)])[0])})
    return _frame(rows, drawn)


def imposters(distances, subjects, *, fractions=IMPOSTER_FRACTIONS, n: int = 5, repeats: int = 10, observed: int = 5,
              seed: int = 0, groups=None):
    """Is it anyone we know? A random half of the people is never enrolled; min_j d_j(n) is held against a threshold.

    Half is rounded down; of the others, a growing fraction of *all* people is enrolled (nested, rounded half up, at
    least one person). Enrolled people are separated from imposters.
    -> DataFrame, one row per repeat and fraction: repeat, n, fraction, enrolled, imposters, auc, eer
    """
    fractions = _fractions(fractions, 0.5)
    drawn = draw(subjects, repeats=repeats, observed=observed, seed=seed, groups=groups)
    _check_n(n, observed)
    rows = []
    for repeat, scores in enumerate(person_distances(distances, drawn)[:, n - 1]):
        for fraction in fractions:
            known, unknown, nearest = _known(scores, drawn.order[repeat], fraction)
            trials = nearest[known], nearest[unknown]
            rows.append({"repeat": repeat, "n": n, "fraction": fraction, "enrolled": len(known),
                         "imposters": len(unknown), "auc": metrics.auc(*trials), "eer": metrics.eer(*trials)})
    return _frame(rows, drawn)


def scores(distances, subjects, *, n: int = 5, repeat: int | None = None, repeats: int = 10, observed: int = 5,
           seed: int = 0, groups=None):
    """The distances behind :func:`verification`, of one repeat or, by default, of all.

    -> DataFrame, one row per repeat and pair: repeat, observed_subject, claimed_subject, genuine, distance
    """
    import pandas as pd

    drawn = draw(subjects, repeats=repeats, observed=observed, seed=seed, groups=groups)
    _check_n(n, observed)
    values = person_distances(distances, drawn)[:, n - 1]                                    # (R, S, S)
    which, i, j = np.indices(values.shape).reshape(3, -1)
    frame = pd.DataFrame({"repeat": which, "observed_subject": drawn.people[i], "claimed_subject": drawn.people[j],
                          "genuine": i == j, "distance": values.ravel()})
    return _frame(_one_repeat(frame, repeat, repeats), drawn)


def summarise(frame):
    """Mean and standard error over repeats: the settings, ``repeats``, and x and x_se for each of auc, eer, accuracy.

    This error says how much the draw of sequences matters. How much the choice of *people* matters is larger, and
    what :func:`qpwl_core.evaluation.bootstrap.subject_interval` measures.
    """
    measures = [name for name in MEASURES if name in frame]
    if not measures or "repeat" not in frame:
        raise ValueError(f"frame must come from verification, identification or imposters, got columns "
                         f"{', '.join(map(str, frame.columns))}")
    if frame["repeat"].nunique() < 2:
        raise ValueError(f"frame must hold at least two repeats for a standard error, got {frame['repeat'].nunique()}")
    settings = [name for name in frame.columns if name not in (*measures, "repeat")]
    columns = {"repeats": ("repeat", "size")}
    for name in measures:
        columns |= {name: (name, "mean"), f"{name}_se": (name, "sem")}
    summary = frame.groupby(settings, sort=False).agg(**columns).reset_index()
    summary.attrs = dict(frame.attrs)
    return summary


def _known(scores: np.ndarray, order: np.ndarray, fraction: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The enrolled people, the imposters, and everyone's smallest distance to an enrolled person."""
    people = len(order)
    known = order[:min(max(_share(fraction, people), 1), people - people // 2)]
    return known, order[people - people // 2:], scores[:, known].min(1)


def _share(fraction: float, people: int) -> int:
    return int(np.floor(round(fraction * people, 9) + 0.5))  # half up; 0.35 · 10 is 3.5, whatever floating point says


def _frame(rows, drawn: Draw):
    import pandas as pd

    frame = pd.DataFrame(rows)
    frame.attrs = {"left_out": drawn.left_out, "note": drawn.note}
    return frame


def _one_repeat(frame, repeat: int | None, repeats: int):
    if repeat is None:
        return frame
    if repeat not in range(repeats):
        raise ValueError(f"repeat must be one of 0 to {repeats - 1}, got {quoted(repeat)}")
    return frame[frame["repeat"] == repeat].reset_index(drop=True)


def _check_n(n: int, observed: int) -> None:
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 1 <= n <= observed:
        raise ValueError(f"n must be a whole number from 1 to observed = {observed}, got {quoted(n)}")


def _fractions(fractions, most: float) -> list[float]:
    fractions = [float(fraction) for fraction in fractions]
    if not fractions or not all(0 < fraction <= most for fraction in fractions):
        raise ValueError(f"fractions must be above 0 and at most {most:g}, got {fractions}")
    return fractions


def _square(distances, count: int) -> np.ndarray:
    """The distance matrix as NumPy, checked: (n, n), one row and one column per sequence, finite."""
    if hasattr(distances, "detach"):
        distances = distances.detach().cpu()
        distances = (distances.float() if distances.dtype.itemsize < 4 else distances).numpy()
    distances = np.asarray(distances)
    if distances.dtype.kind != "f":
        distances = distances.astype(np.float64)
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1]:
        raise ValueError(f"distances must be a square matrix (n, n), got shape {distances.shape}")
    if len(distances) != count:
        raise ValueError(f"subjects must hold one name per row of distances, got {count} for {len(distances)} rows")
    finite = np.isfinite(distances)
    if not finite.all():
        raise ValueError(f"distances must be finite, got {int((~finite).sum())} NaN or infinite values")
    return distances
