"""Why two people are alike: which of their sequences met, and the attribution to filters (`filter_parts.py`)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from qpwl_core.evaluation.filter_parts import filter_parts
from qpwl_core.evaluation.trials import Trials
from qpwl_core.models.gallery import Gallery
from qpwl_core.models.methods import METHODS, by_filter


def pair_parts(gallery: Gallery, rows, columns, points: int | None = None, p: float | None = None) -> np.ndarray:
    """What each filter adds to the distance of sequence rows[i] to columns[i]. (m,), (m,) -> (m, K), summing to it

    Options as in `Gallery.distances`.
    """
    rows, columns = np.atleast_1d(rows), np.atleast_1d(columns)
    measure, values, levels = gallery.compared(points=points)
    a, b = (by_filter(values[index], METHODS[gallery.method]) for index in (rows, columns))
    return filter_parts(measure, a, b, levels, gallery.p if p is None else p).numpy()


def nearest_sequences(trials: Trials, n: int, repeat: int) -> tuple[np.ndarray, np.ndarray]:
    """Which sequences decide d_j(n): the n observed ones of each person, and the nearest enrolled one of each person j.

    -> (S, n) and (S, n, S), indices of sequences
    """
    drawn = trials.drawn
    observed, columns = drawn.observed[repeat][:, :n], drawn.enrolled(repeat)
    between = trials.distances[np.ix_(observed.ravel(), columns)]                            # (S·n, enrolled)
    if drawn.groups is not None:
        same = drawn.groups[observed.ravel()][:, None] == drawn.groups[columns]
        between = np.where(same, np.inf, between)
    edges = np.searchsorted(drawn.owner[columns], np.arange(len(drawn.people) + 1))
    nearest = np.stack([columns[start + between[:, start:end].argmin(1)]
                        for start, end in pairwise(edges)], axis=1)                          # (S·n, S)
    return observed, nearest.reshape(*observed.shape, len(drawn.people))


def match_by_filter(gallery: Gallery, trials: Trials, n: int, repeat: int, points: int | None = None,
                    p: float | None = None) -> np.ndarray:
    """What each filter adds to d_j(n) of every observed person to every person j. -> (S, S, K), summing to the scores

    ``gallery`` holds the sequences of ``trials``, in the same order.
    """
    observed, nearest = nearest_sequences(trials, n, repeat)
    people = len(observed)
    rows = np.repeat(observed[:, :, None], people, axis=2)                                   # (S, n, S)
    parts = pair_parts(gallery, rows.ravel(), nearest.ravel(), points, p)
    return parts.reshape(people, n, people, -1).mean(1)


def explain_pair(trials: Trials, by_filter: np.ndarray, n: int, repeat: int, one: int, other: int):
    """Which sequences of person ``one`` met which of person ``other``, and which filters made them alike.

    ``by_filter`` (S, S, K) is of :func:`match_by_filter`. -> two DataFrames: one row per observed sequence (observed,
    nearest, distance, genuine, genuine_distance: the nearest of person ``one``), and one row per filter (filter, pair,
    typical: the median over all pairs of different people, genuine), what did most to bring them together first.
    """
    import pandas as pd

    observed, nearest = nearest_sequences(trials, n, repeat)
    rows, met, genuine = observed[one], nearest[one, :, other], nearest[one, :, one]
    sequences = pd.DataFrame({"observed": rows, "nearest": met, "distance": trials.distances[rows, met],
                              "genuine": genuine, "genuine_distance": trials.distances[rows, genuine]})
    strangers = by_filter[~np.eye(len(by_filter), dtype=bool)]                               # (S·(S−1), K)
    filters = pd.DataFrame({"filter": np.arange(by_filter.shape[2]), "pair": by_filter[one, other],
                            "typical": np.median(strangers, axis=0), "genuine": by_filter[one, one]})
    order = (filters["pair"] - filters["typical"]).sort_values(kind="stable").index
    return sequences, filters.loc[order].reset_index(drop=True)
