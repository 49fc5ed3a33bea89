"""A look at recordings before anything is learned from them: what is unusual, and curves thin enough to draw."""

from __future__ import annotations

import hashlib
from itertools import pairwise

import numpy as np

from qpwl_core.common.text import shown, some_of
from qpwl_core.data.recordings import Recordings

ENOUGH = 6       # sequences of a person: five to observe and at least one to enrol
SHORT = 16       # samples below which a distribution is coarse


def remarks(recordings: Recordings) -> list[str]:
    """What a person should know before using these recordings, a sentence each; empty where all is well.

    >>> remarks(Recordings([np.arange(20.0)[:, None]] * 2, ["ann"] * 2, ("x",), rate=10))[-1]
    "1 sequence is a copy of another, such as sequence 1 ('ann') of sequence 0 ('ann')"
    """
    said = []
    names, counts = np.unique(recordings.subjects[~recordings.is_forgery], return_counts=True)
    if len(names) == 1:
        said.append("there is one person alone, and nobody to compare with")
    if (few := names[counts < ENOUGH]).size:
        said.append(f"{len(few)} of {len(names)} people have fewer than {ENOUGH} sequences and are left out of the "
                    f"experiment: {some_of(list(map(shown, few)))}")
    if (single := names[counts == 1]).size:
        said.append(f"{_people(single)} a single sequence, so that there is no pair to learn from: "
                    f"{some_of(list(map(shown, single)))}")
    if short := int((recordings.lengths < SHORT).sum()):
        said.append(f"{short} of {len(recordings)} sequences are shorter than {SHORT} samples, coarse distributions")
    lowest = np.min([x.min(axis=0) for x in recordings.sequences], axis=0)
    highest = np.max([x.max(axis=0) for x in recordings.sequences], axis=0)
    if still := [name for name, low, high in zip(recordings.channels, lowest, highest, strict=True) if low == high]:
        said.append(f"{len(still)} of {len(recordings.channels)} channels never change: "
                    f"{some_of(list(map(shown, still)))}")
    return said + _copies(recordings)


def thinned(values: np.ndarray, points: int, columns: list[int] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """A curve drawn with at most ``points`` values per channel that keeps every peak. (T, D) -> (P,) samples, (P, C)

    Each bucket of samples gives its smallest and its largest value, in the order in which they came. ``columns``:
    channels to look at (all); the others are not copied.

    >>> thinned(np.array([[0.0], [9], [1], [2], [-5], [3]]), 4)[1][:, 0].tolist()
    [0.0, 9.0, -5.0, 3.0]
    """
    chosen = slice(None) if columns is None else columns
    if len(values) <= points:
        return np.arange(len(values)), values[:, chosen]
    edges = np.linspace(0, len(values), max(1, points // 2) + 1).astype(int)
    curve = np.empty((2 * len(edges) - 2, values[:1, chosen].shape[1]), values.dtype)
    for i, (start, end) in enumerate(pairwise(edges)):
        block = values[start:end][:, chosen]
        ends = np.sort([block.argmin(axis=0), block.argmax(axis=0)], axis=0)                 # (2, D)
        curve[2 * i:2 * i + 2] = np.take_along_axis(block, ends, axis=0)
    middles = (edges[:-1] + edges[1:]) // 2
    return np.stack([edges[:-1], middles], axis=1).ravel(), curve


def _copies(recordings) -> list[str]:
    first: dict[tuple[bytes, int], int] = {}
    copies = []
    for i, values in enumerate(recordings.sequences):
        key = hashlib.blake2b(np.ascontiguousarray(values).data, digest_size=16).digest(), len(values)
        if first.setdefault(key, i) != i:
            copies.append((i, first[key]))
    if not copies:
        return []
    i, j = copies[0]
    return [f"{len(copies)} sequence{'s are copies' if len(copies) > 1 else ' is a copy'} of another, such as sequence "
            f"{i} ({shown(recordings.subjects[i])}) of sequence {j} ({shown(recordings.subjects[j])})"]


def _people(names):
    return "1 person has" if len(names) == 1 else f"{len(names)} people have"
