"""Why two sequences are alike: what each filter contributes to their distance, and which sequences met.

The contributions add up to the distance, whichever the model uses, so a bar is a share of the decision.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch

from qpwl_core.distances import wasserstein
from qpwl_core.gallery import Gallery
from qpwl_core.methods import METHODS
from qpwl_core.trials import Trials


def filter_parts(gallery: Gallery, rows, columns, points: int | None = None, p: float | None = None) -> np.ndarray:
    """What each filter adds to the distance of sequence rows[i] to columns[i]. (m,), (m,) -> (m, K), summing to it

    Wasserstein: W_p of the filter. Cosine: its part of the negative scalar product of the two unit vectors.
    Euclidean: its squared difference over the distance. Options as in `Gallery.distances`.
    """
    measure, filters = METHODS[gallery.method].distance, gallery.values.shape[1]
    rows, columns = np.atleast_1d(rows), np.atleast_1d(columns)
    if gallery.own is None and points is None:          # vectors: whole blocks of K, such as means and then deviations
        a, b = (torch.from_numpy(gallery.vectors[index]) for index in (rows, columns))
        blocks = METHODS[gallery.method].aggregation != "sliced-wasserstein"        # whose slices mix the filters
        a, b = (x.unflatten(1, (-1, filters)).transpose(1, 2) if blocks else x[:, :, None] for x in (a, b))
    else:
        whole = gallery.embeddings(points)
        a, b = whole.values[rows], whole.values[columns]
        if measure == "wasserstein":
            return wasserstein(a, b, whole.levels, gallery.p if p is None else p, per_filter=True).numpy()
        if measure == "cosine":
            a, b = a[..., 1:-1], b[..., 1:-1]           # (m, K, M)
    if measure == "cosine":
        norms = a.flatten(1).norm(dim=1) * b.flatten(1).norm(dim=1)
        return (-(a * b).sum(-1) / torch.where(norms > 0, norms, 1.0)[:, None]).numpy()
    squares = ((a - b) ** 2).sum(-1)                    # (m, K)
    distance = squares.sum(1, keepdim=True).sqrt()
    return (squares / torch.where(distance > 0, distance, 1.0)).numpy()


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
    parts = filter_parts(gallery, rows.ravel(), nearest.ravel(), points, p)
    return parts.reshape(people, n, people, -1).mean(1)


def explain_pair(trials: Trials, by_filter: np.ndarray, n: int, repeat: int, one: int, other: int):
    """Which sequences of person ``one`` met which of person ``other``, and which filters made them alike.

    ``by_filter`` (S, S, K) is of :func:`match_by_filter`. -> two DataFrames: one row an observed sequence (observed,
    nearest, distance, own, own_distance: the nearest of their own), and one row a filter (filter, pair, typical: the
    median over all pairs of different people, own), the filter that did most to bring them together first.
    """
    import pandas as pd

    observed, nearest = nearest_sequences(trials, n, repeat)
    rows, met, own = observed[one], nearest[one, :, other], nearest[one, :, one]
    sequences = pd.DataFrame({"observed": rows, "nearest": met, "distance": trials.distances[rows, met],
                              "own": own, "own_distance": trials.distances[rows, own]})
    strangers = by_filter[~np.eye(len(by_filter), dtype=bool)]                               # (S·(S−1), K)
    filters = pd.DataFrame({"filter": np.arange(by_filter.shape[2]), "pair": by_filter[one, other],
                            "typical": np.median(strangers, axis=0), "own": by_filter[one, one]})
    order = (filters["pair"] - filters["typical"]).sort_values(kind="stable").index
    return sequences, filters.loc[order].reset_index(drop=True)
