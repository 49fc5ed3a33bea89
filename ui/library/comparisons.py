"""What the Filters and Distances pages compute, kept for whoever asks next, by the model's folder and checksum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from qpwl_core.common.bounds import PICTURE_SEQUENCES
from qpwl_core.evaluation.pairs import Pairs, as_length, classical_map, pairs_of, some_of_each
from qpwl_core.models.gallery import Gallery
from ui.library import elsewhere
from ui.library.models import worked
from ui.visitors.kept import kept

SEQUENCES = 200          # that filters are ranked on: all pairs of so many are done in a moment


@dataclass(frozen=True)
class Ranking:
    """AUC of each filter alone (K,), and what it was measured on."""

    aucs: np.ndarray
    sequences: int
    people: int
    genuine: int
    imposters: int


@kept
def ranking_of(folder: str, checksum: str, points: int | None, p: float, _test: Gallery) -> Ranking:
    """How well each filter alone tells the test people apart."""
    few, pairs = _ranked_on(_test)
    genuine = int(pairs.genuine.sum())
    return Ranking(worked(few, elsewhere.filter_aucs_of, few, points, p), len(few), len(few.people), genuine,
                   len(pairs) - genuine)


@st.cache_data(max_entries=256, show_spinner=False)
def filter_interval(folder: str, checksum: str, points: int | None, p: float, k: int,
                    _test: Gallery) -> tuple[float, float]:
    """The 95 % interval of the AUC of filter k (from 0) in the ranking, with the test people resampled."""
    few, _ = _ranked_on(_test)
    return worked(few, elsewhere.filter_interval, few, points, p, k, 500)


def _ranked_on(test: Gallery) -> tuple[Gallery, Pairs]:
    """Some sequences of every test person, and all their pairs: what filters are ranked on."""
    each = max(2, SEQUENCES // max(1, len(test.people)))
    few = test.select(some_of_each(test.subjects, test.sources, each)[:PICTURE_SEQUENCES])
    return few, pairs_of(few.subjects, few.sources)


@dataclass(frozen=True)
class Comparison:
    """Three distances between the same sequences (n, n), over the same pairs; the AUCs are over all of those pairs."""

    index: np.ndarray                 # (n,) of the test part
    distances: dict[str, np.ndarray]
    pairs: Pairs
    aucs: dict[str, float]


@kept
def comparison_of(folder: str, checksum: str, each: int, points: int | None, p: float, inner: bool,
                  _test: Gallery) -> Comparison:
    """Wasserstein, cosine and Euclidean distances of at most ``each`` sequences of every test person.

    All see the same M + 2 values of each filter; with ``inner``, cosine and Euclid the M inner ones.
    """
    index = some_of_each(_test.subjects, _test.sources, each)[:PICTURE_SEQUENCES]
    few = _test.select(index)
    pairs = pairs_of(few.subjects, few.sources)
    distances = worked(few, elsewhere.distances_by_each, few, points, p, inner)
    return Comparison(index, distances, pairs, {name: pairs.auc(d) for name, d in distances.items()})


@kept
def maps_of(folder: str, checksum: str, each: int, points: int | None, p: float, inner: bool, _found: Comparison):
    """A map (n, 2) by each distance, and the share of the squared distances that it holds."""
    return {measure: classical_map(as_length(d, measure)) for measure, d in _found.distances.items()}


@kept
def labels_of(folder: str, checksum: str, _test: Gallery) -> np.ndarray:
    """A name for each sequence: its person, and its number among theirs. (n,)"""
    count: dict[str, int] = {}
    names = []
    for person in _test.subjects.tolist():
        count[person] = count.get(person, 0) + 1
        names.append(f"{person} · {count[person]}")
    return np.array(names)
