"""AUC of verification for any p, M and distance, with people resampled: computed from a gallery, kept for all.

It is the one AUC of the app: an observed sequence against the nearest enrolled one of each test person, mean of ten
draws, as in the paper (`qpwl_core.evaluation`); whatever page says it asks here or computes the same.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import streamlit as st

from qpwl_core.common.bounds import GALLERY_HERE, PEOPLE_HERE
from qpwl_core.common.child import ChildError
from qpwl_core.evaluation.bootstrap import Resampled, resample
from qpwl_core.evaluation.trials import Trials, make_trials
from qpwl_core.models.gallery import Gallery
from qpwl_core.models.methods import METHODS
from ui.library import elsewhere
from ui.library.models import Entry, distances_of, gallery_of, light, worked
from ui.visitors.kept import kept

ORDERS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
POINTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
RESAMPLES = 500


def part_of(folder: str, checksum: str, part: str) -> Gallery:
    """One part of the gallery of a model, by its folder and checksum."""
    return gallery_of(Entry("", "", Path(folder), {"sha256": checksum})).part(part)


@kept
def trials_by(folder: str, checksum: str, part: str, measure: str | None, points: int | None, p: float | None,
              inner: bool = True) -> Trials:
    """The trials of a gallery; ``measure`` None is the model's distance. Computed once for all; nobody changes them."""
    held = part_of(folder, checksum, part)
    if len(held.people) < 2:
        raise ValueError(f"there are no {part} people beside this model")
    if measure is None:
        found = distances_of(folder, checksum, part, None, points, p)
    else:
        found = worked(held, elsewhere.distances_by, held, measure, points, p, inner)
    return worked(held, make_trials, found, held.subjects, held.sources)


@st.cache_data(max_entries=1024, show_spinner=False)
def resampled_by(folder: str, checksum: str, measure: str | None, points: int | None, p: float | None,
                 inner: bool = True, n: int = 1) -> Resampled:
    """AUC of the test people with its interval over people."""
    trials = trials_by(folder, checksum, "test", measure, points, p, inner)
    return worked(part_of(folder, checksum, "test"), resample, {0: trials.scores[:, n - 1]}, RESAMPLES)


def over_p(folder: str, checksum: str, measure: str | None, points: int | None, n: int = 1) -> pd.DataFrame:
    """AUC over p, with its interval over people: p, auc, low, high."""
    _check_quick(folder, checksum)
    return _curve("p", [(p, resampled_by(folder, checksum, measure, points, p, True, n)) for p in ORDERS])


def without_p(folder: str, checksum: str, measure: str | None, points: int | None, inner: bool = True,
              n: int = 1) -> pd.DataFrame:
    """The same of a distance that has no p: as good at every p."""
    found = resampled_by(folder, checksum, measure, points, None if measure is None else 1.0, inner, n)
    return _curve("p", [(p, found) for p in ORDERS])


def over_points(folder: str, checksum: str, measure: str | None, p: float | None, inner: bool = True,
                n: int = 1) -> pd.DataFrame:
    """AUC over M even levels, with its interval over people: M, auc, low, high."""
    _check_quick(folder, checksum)
    return _curve("M", [(m, resampled_by(folder, checksum, measure, m, p, inner, n)) for m in POINTS])


def _check_quick(folder: str, checksum: str) -> None:
    """A curve compares all with all twenty times: where once leaves the server, nobody waits for twenty."""
    held = part_of(folder, checksum, "test")
    if not light(held):
        raise ChildError(f"a curve compares all {len(held):,} test sequences with all, for each of its points, and "
                         f"sequences² · filters · levels may be {GALLERY_HERE:,} for that, people {PEOPLE_HERE}")


def has_order(entry: Entry) -> bool:
    """Whether p means anything to the model's distance."""
    return METHODS[entry.method].distance == "wasserstein" and gallery_of(entry).model_levels is not None


def _curve(name: str, found: list[tuple[float, Resampled]]) -> pd.DataFrame:
    return pd.DataFrame([{name: x, "auc": each.auc, "low": each.interval()[0], "high": each.interval()[1]}
                         for x, each in found])
