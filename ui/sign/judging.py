"""Is it you? What the page asks of the core: distances at the page's p and M, the line, and what gave a forger away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpwl_core.data.capture import RATE, Capture
from qpwl_core.desk.claims import Rule, claim_distance, from_nought
from qpwl_core.evaluation.explain import pair_parts
from qpwl_core.models.gallery import Gallery
from qpwl_core.models.methods import METHODS
from ui.library.models import Entry
from ui.library.signatures import join, rule_for

TOLD = 1.25               # how many times a figure must be out of the owner's range to be named


@dataclass(frozen=True)
class Settings:
    """What can be moved on the page."""

    entry: Entry
    p: float
    points: int | None        # M even levels, None: those the model learned
    n: int = 1
    rate: float = 0.1         # of forgers let in, on calibration people
    own: bool = True          # whether the line follows the owner's own spread


@dataclass(frozen=True, eq=False)
class Judged:
    """m presented sequences, one after the other, against E enrolled ones."""

    near: np.ndarray          # (m,) distance of each to its nearest enrolled one
    nearest: np.ndarray       # (m,) which one that is
    d: np.ndarray             # (m,) d(n): the mean of the last n
    spread: float             # s
    theta: float
    rule: Rule

    @property
    def threshold(self) -> float:
        return self.theta * self.spread

    @property
    def accepted(self) -> np.ndarray:
        """(m,)"""
        return self.d <= self.threshold


def between(settings: Settings, a: Gallery, b: Gallery) -> np.ndarray:
    """Distances counted from nought. (n, m)"""
    return from_nought(a.distances(None, settings.points, settings.p, other=b), METHODS[a.method].distance)


def judge(settings: Settings, enrolled: Gallery, presented: Gallery) -> Judged:
    """Hold presented sequences against enrolled ones of one person."""
    rule = rule_for(settings.entry, len(enrolled), settings.n, settings.own, settings.points, settings.p)
    distances = between(settings, presented, enrolled)
    near = distances.min(1)
    return Judged(near, distances.argmin(1), claim_distance(near, settings.n),
                  rule.spread(between(settings, enrolled, enrolled)), rule.theta(settings.rate), rule)


def alike(settings: Settings, enrolled: Gallery) -> np.ndarray:
    """How far each enrolled sequence is from its nearest other one. (E, E) -> (E,), E >= 2"""
    distances = between(settings, enrolled, enrolled)
    np.fill_diagonal(distances, np.inf)
    return distances.min(1)


def gave_away(settings: Settings, enrolled: Gallery, one: Gallery, nearest: int) -> tuple[np.ndarray, np.ndarray]:
    """What each filter adds to the distance of one sequence to the nearest enrolled one, and to a typical distance
    among the enrolled. -> (K,), (K,)"""
    count = len(enrolled)
    parts = pair_parts(join(one, enrolled), [0], [nearest + 1], settings.points, settings.p)[0]
    if count < 2:
        return parts, np.zeros_like(parts)
    rows, columns = np.triu_indices(count, 1)
    return parts, np.median(pair_parts(enrolled, rows, columns, settings.points, settings.p), axis=0)


def in_words(capture: Capture, owners: list[Capture]) -> list[str]:
    """What a person can see of the difference: how long it took, how fast, how often the pen was lifted."""
    found = []
    for what, unit, of in (("took", "s", lambda c: c.seconds), ("moved at", "sizes per second", _speed)):
        mine, theirs = of(capture), [of(owner) for owner in owners]
        if mine > TOLD * max(theirs) or mine < min(theirs) / TOLD:
            found.append(f"it {what} {mine:.1f} {unit}, yours {np.median(theirs):.1f}")
    strokes = [owner.strokes for owner in owners]
    if not min(strokes) <= capture.strokes <= max(strokes):
        found.append(f"it has {capture.strokes} strokes, yours {round(float(np.median(strokes)))}")
    return found


def _speed(capture: Capture) -> float:
    """Ink per second, in sizes of the drawing, as the recipe counts."""
    ink = capture.values[capture.values[:, 3] > 0.5, :2]
    size = np.sqrt(np.square(ink - ink.mean(0)).sum(1).mean())
    return capture.path / max(float(size), 1e-9) / (len(ink) / RATE)
