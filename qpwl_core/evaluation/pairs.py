"""Why sequences are near or far: pairs to compare, filters that tell people apart, filters that decide a pair, a map.

Distances are between quantile functions, an array ``values`` (n, K, L) at ``levels`` (L,), as `Gallery.embeddings` has
them. Windows cut from one recording are no fair match, so pairs of them count neither as genuine nor as imposter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qpwl_core.evaluation.metrics import auc

if TYPE_CHECKING:
    from torch import Tensor


def some_of_each(subjects, sources, each: int) -> np.ndarray:
    """Indices of at most ``each`` sequences per person, person by person, spread over that person's recordings.

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
    """How well each filter alone tells people apart: the AUC of its W_p over the pairs. (n, K, L) -> (K,)"""
    from qpwl_core.transport.distances import pairwise_wasserstein

    distances = pairs.of(pairwise_wasserstein(values, values, levels, p, per_filter=True).numpy())   # (P, K)
    return np.array([auc(column[pairs.genuine], column[~pairs.genuine]) for column in distances.T])


def ranks(distances: np.ndarray) -> np.ndarray:
    """The share of pairs that are nearer, ties in order of appearance. (P,) -> (P,) from 0 to 1"""
    place = np.empty(len(distances))
    place[np.argsort(distances, kind="stable")] = np.arange(len(distances))
    return place / max(1, len(distances) - 1)


def disagreeing(pairs: Pairs, gap: np.ndarray, count: int) -> list[int]:
    """The pairs on which two rankings differ most, no sequence in two of them. (P,) -> at most ``count`` indices"""
    chosen: list[int] = []
    used: set[int] = set()
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


def draw_triple(subjects, sources, seed: int) -> tuple[int, int, int]:
    """Two sequences of one person, cut from different recordings, and one of another person, at random.

    >>> draw_triple(["ann", "ann", "bob"], [0, 1, 2], seed=0)
    (1, 0, 2)
    """
    subjects, sources = np.asarray(subjects), np.asarray(sources)
    random = np.random.default_rng(seed)
    genuine, imposter = _rows(subjects, sources)
    possible = np.flatnonzero(genuine.any(axis=1) & imposter.any(axis=1))
    if not len(possible):
        raise ValueError("subjects must name two people or more, one of them with two recordings")
    people = np.unique(subjects[possible])
    anchor = random.choice(possible[subjects[possible] == random.choice(people)])   # people alike, however many theirs
    other = random.choice(np.unique(subjects[imposter[anchor]]))
    return (int(anchor), int(random.choice(np.flatnonzero(genuine[anchor]))),
            int(random.choice(np.flatnonzero(subjects == other))))


def strangers_nearer(distances: np.ndarray, subjects, sources) -> tuple[int, int]:
    """In how many of all triples the other person's sequence is the nearer one, and how many triples there are.

    (n, n) -> two counts, over every first sequence, every other one of the same person and every stranger's.

    >>> strangers_nearer(np.array([[0, 2, 1], [2, 0, 3], [1, 3, 0]]), ["ann", "ann", "bob"], [0, 1, 2])
    (1, 2)
    """
    genuine, imposter = _rows(np.asarray(subjects), np.asarray(sources))
    nearer = 0
    for row, same, other in zip(np.asarray(distances), genuine, imposter, strict=True):
        nearer += int(np.searchsorted(np.sort(row[other]), row[same], side="left").sum())
    return nearer, int((genuine.sum(axis=1) * imposter.sum(axis=1)).sum())


def _rows(subjects, sources):
    """Of each sequence, which others are of the same person but another recording, and which of others. (n, n) twice"""
    same = subjects[:, None] == subjects
    return same & (sources[:, None] != sources), ~same
