"""Why sequences are near or far: pairs to compare, filters that tell people apart, filters that decide a pair, a map.

Distances are between quantile functions, an array ``values`` (n, K, L) at ``levels`` (L,), as `Gallery.embeddings` has
them. Windows cut from one recording are no fair match, so pairs of them count neither as genuine nor as imposter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor
from torch.nn import functional as F

from qpwl_core.distances import pairwise_wasserstein, wasserstein
from qpwl_core.metrics import auc


def some_of_each(subjects, sources, each: int) -> np.ndarray:
    """Indices of at most ``each`` sequences a person, person by person, spread over that person's recordings.

    >>> some_of_each(["b", "a", "a", "a"], [0, 1, 1, 2], each=2).tolist()
    [1, 3, 0]
    """
    subjects, sources = np.asarray(subjects), np.asarray(sources)
    chosen = []
    for person in sorted(set(subjects.tolist())):
        index = np.flatnonzero(subjects == person)
        turn = [np.sum(sources[index[:i]] == sources[index[i]]) for i in range(len(index))]  # 0: first of its recording
        chosen += sorted(index[np.argsort(turn, kind="stable")[:each]])
    return np.array(chosen, dtype=int)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of different sequences, each once: where they stand in a distance matrix, and which are of one person."""

    first: np.ndarray                 # (P,)
    second: np.ndarray                # (P,) always after the first
    genuine: np.ndarray               # (P,) bool

    def __len__(self):
        return len(self.first)

    def of(self, distances: np.ndarray) -> np.ndarray:
        """The distances of the pairs. (n, n, ...) -> (P, ...)"""
        return distances[self.first, self.second]

    def auc(self, distances: np.ndarray) -> float:
        """The chance that a genuine pair is nearer than an imposter pair. (n, n) -> one number"""
        found = self.of(distances)
        return auc(found[self.genuine], found[~self.genuine])


def pairs_of(subjects, sources) -> Pairs:
    """All pairs of different sequences but those of one person cut from one recording."""
    subjects, sources = np.asarray(subjects), np.asarray(sources)
    first, second = np.triu_indices(len(subjects), 1)
    genuine = subjects[first] == subjects[second]
    keep = ~(genuine & (sources[first] == sources[second]))
    found = Pairs(first[keep], second[keep], genuine[keep])
    if not found.genuine.any() or found.genuine.all():
        raise ValueError("there must be two people or more, and one with two recordings: nothing to compare otherwise")
    return found


def filter_aucs(values: Tensor, levels: Tensor, pairs: Pairs, p: float = 1.0) -> np.ndarray:
    """How well each filter alone tells people apart: the AUC of its own W_p over the pairs. (n, K, L) -> (K,)"""
    distances = pairs.of(pairwise_wasserstein(values, values, levels, p, per_filter=True).numpy())   # (P, K)
    return np.array([auc(column[pairs.genuine], column[~pairs.genuine]) for column in distances.T])


def contributions(a: Tensor, b: Tensor, levels: Tensor, p: float = 1.0) -> dict[str, np.ndarray]:
    """What each filter adds to the distance of a pair, for three measures. (K, L), (K, L) -> {measure: (K,)}

    The parts sum to d_p, to 1 − cos (it is ½ |â − b̂|² of the unit vectors, a sum over filters; inner levels only, as in
    QP-NPL), and to the square of the Euclidean distance.
    """
    k = len(a)
    unit_a, unit_b = (F.normalize(x[:, 1:-1].reshape(-1), dim=0).view(k, -1) for x in (a, b))
    return {"wasserstein": wasserstein(a, b, levels, p, per_filter=True).numpy(),
            "cosine": (unit_a - unit_b).square().sum(1).numpy() / 2,
            "euclidean": (a - b).square().sum(1).numpy()}


def ranks(distances: np.ndarray) -> np.ndarray:
    """The share of pairs that are nearer, ties in order of appearance. (P,) -> (P,) from 0 to 1"""
    place = np.empty(len(distances))
    place[np.argsort(distances, kind="stable")] = np.arange(len(distances))
    return place / max(1, len(distances) - 1)


def disagreeing(pairs: Pairs, gap: np.ndarray, count: int) -> list[int]:
    """The pairs on which two rankings differ most, no sequence in two of them. (P,) -> at most ``count`` indices"""
    chosen, used = [], set()
    for i in np.argsort(-np.abs(gap), kind="stable").tolist():
        both = {int(pairs.first[i]), int(pairs.second[i])}
        if len(chosen) < count and not both & used:
            chosen.append(i)
            used |= both
        elif len(chosen) == count:
            break
    return chosen


def classical_map(distances: np.ndarray, axes: int = 2) -> tuple[np.ndarray, float]:
    """Classical multidimensional scaling: points whose distances are the given ones as nearly as a plane allows.

    (n, n) -> (n, axes) and the share of the squared distances that those axes hold: the sum of their eigenvalues over
    that of all positive ones. What is no distance in any space (negative eigenvalues) has no place on a map.

    >>> points, share = classical_map(np.array([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]]))
    >>> np.linalg.norm(points[1] - points[2]).round(6), round(share, 6)
    (np.float64(5.0), 1.0)
    """
    square = np.asarray(distances, dtype=np.float64) ** 2
    square = square - square.mean(0) - square.mean(1, keepdims=True) + square.mean()     # centred on both sides
    eigenvalues, vectors = np.linalg.eigh(-square / 2)                                   # in rising order
    top, vectors = eigenvalues[::-1][:axes].clip(0), vectors[:, ::-1][:, :axes]
    vectors = vectors * np.where(vectors[np.abs(vectors).argmax(0), range(vectors.shape[1])] < 0, -1, 1)  # one of two
    total = eigenvalues.clip(0).sum()
    return vectors * np.sqrt(top), float(top.sum() / total) if total > 0 else 0.0


def as_length(distances: np.ndarray, measure: str) -> np.ndarray:
    """Distances that a map can show: of a cosine, the straight line between the ends of the two unit vectors."""
    if measure != "cosine":
        return distances
    return np.sqrt(np.clip(2 + 2 * distances, 0, None)) * (1 - np.eye(len(distances)))   # no rounding on the diagonal
