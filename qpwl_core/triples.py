"""Triples: two recordings of one person and one of another, the smallest test that a distance can pass or fail."""

from __future__ import annotations

import numpy as np


def draw_triple(subjects, sources, seed: int) -> tuple[int, int, int]:
    """Two sequences of one person, cut from different recordings, and one of another person, at random.

    >>> draw_triple(["ann", "ann", "bob"], [0, 1, 2], seed=0)
    (1, 0, 2)
    """
    subjects, sources = np.asarray(subjects), np.asarray(sources)
    random = np.random.default_rng(seed)
    own, strange = _rows(subjects, sources)
    possible = np.flatnonzero(own.any(axis=1) & strange.any(axis=1))
    if not len(possible):
        raise ValueError("subjects must name two people or more, one of them with two recordings")
    people = np.unique(subjects[possible])
    anchor = random.choice(possible[subjects[possible] == random.choice(people)])   # people alike, however many theirs
    other = random.choice(np.unique(subjects[strange[anchor]]))
    return (int(anchor), int(random.choice(np.flatnonzero(own[anchor]))),
            int(random.choice(np.flatnonzero(subjects == other))))


def strangers_nearer(distances: np.ndarray, subjects, sources) -> tuple[int, int]:
    """In how many of all triples the other person's sequence is the nearer one, and how many triples there are.

    (n, n) -> two counts, over every first sequence, every other one of the same person and every stranger's.

    >>> strangers_nearer(np.array([[0, 2, 1], [2, 0, 3], [1, 3, 0]]), ["ann", "ann", "bob"], [0, 1, 2])
    (1, 2)
    """
    own, strange = _rows(np.asarray(subjects), np.asarray(sources))
    nearer = 0
    for row, mine, theirs in zip(np.asarray(distances), own, strange, strict=True):
        nearer += int(np.searchsorted(np.sort(row[theirs]), row[mine], side="left").sum())
    return nearer, int((own.sum(axis=1) * strange.sum(axis=1)).sum())


def _rows(subjects, sources):
    """Of each sequence, which others are of the same person but another recording, and which of others. (n, n) twice"""
    same = subjects[:, None] == subjects
    return same & (sources[:, None] != sources), ~same
