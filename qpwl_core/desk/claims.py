"""Is it you? One claimed person, few enrolled sequences, and a line drawn by how much that person differs from oneself.

    d(n) = mean over the n presented of the distance to the nearest enrolled sequence      (as `decisions.py`)
    accepted where  d(n) ≤ θ · s

s is the *spread* of the claimed person. The median distance between two of their enrolled sequences would be that, but
few sequences say little about it, so s is the geometric mean of it and of the same for a typical calibration person;
of a single enrolled sequence it is the typical one. (Without this, owners were sent away twice as often on people not
calibrated on.) θ lets no more than a wanted share of those in who forged calibration people, and of strangers no
more than half of it: strangers do not try, and hold the line where few people were forged. Where owners lie well below
that, θ is in the middle between the two: other people's forgers may be better than those of a few. Distances are
counted from nought here: a negative cosine from −1, its smallest value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qpwl_core.evaluation.sessions import sessions_of, two_sessions

REPEATS = 10
OWNERS = 0.9               # of the owners' trials lie below what the line is held against
LEAST_SHARE = 0.05         # of the typical spread: nobody is narrower, copies of one sequence neither


@dataclass(frozen=True, eq=False)
class Rule:
    """What θ rests on: scores d(n) / s of calibration people, with E enrolled and n presented."""

    enrolled: int
    n: int
    own: bool                # whether s is the person's own
    typical: float           # the spread of a typical calibration person
    people: int
    genuine: np.ndarray      # scores of owners
    strangers: np.ndarray    # of other people's sequences
    forgers: np.ndarray      # of those who tried; empty where nobody did

    def theta(self, rate: float) -> float:
        """A score below which no more than this share of forgers lies, and half of it of strangers.

        Of all such scores the geometric mean of the largest and of the one that nine in ten owners keep to; where those
        reach beyond the largest, the largest.
        """
        largest = min(_below(scores, share) for scores, share in ((self.forgers, rate), (self.strangers, rate / 2))
                      if len(scores))
        owners = float(np.quantile(self.genuine, OWNERS))
        return math.sqrt(largest * owners) if 0 < owners < largest else largest

    def rates(self, theta: float) -> dict[str, float | None]:
        """Of the calibration people's trials: owners sent away, strangers and forgers let in; None without trials."""
        share = lambda x: float(np.mean(x)) if len(x) else None
        return {"owners": share(self.genuine > theta), "strangers": share(self.strangers <= theta),
                "forgers": share(self.forgers <= theta)}

    def spread(self, distances: np.ndarray) -> float:
        """s of a person from the distances among their enrolled sequences, (E, E)."""
        return shrunk(spread_of(distances), self.typical) if self.own and len(distances) > 1 else self.typical


def calibration_rule(distances: np.ndarray, subjects, imitates=None, stimuli=None, *, enrolled: int = 5, n: int = 1,
                     own: bool = True, seed: int = 0) -> Rule:
    """The rule from the distances (c, c), counted from nought, among calibration people's sequences and forgeries.

    Of each person E sequences are enrolled, of the first session where there are two, at random; the others (of the
    next session) are presented by their owner, n at a time, those of others by strangers, forgeries by forgers.
    """
    distances, subjects = np.asarray(distances), np.asarray(subjects)
    imitates = np.full(len(subjects), "") if imitates is None else np.asarray(imitates)
    if enrolled < 1 or n < 1:
        raise ValueError(f"enrolled and n must be at least 1, got {enrolled} and {n}")
    pools = _pools(subjects, imitates, stimuli, enrolled)
    if len(pools) < 2:
        raise ValueError(f"a line needs two calibration people with more than {enrolled} sequences, and there are "
                         f"{len(pools)}")
    own = own and enrolled > 1
    typical = float(np.median([spread_of(distances[np.ix_(pool, pool)]) for pool, _ in pools.values()]))
    scores: dict[str, list[np.ndarray]] = {"genuine": [], "strangers": [], "forgers": []}
    for repeat in range(REPEATS):
        random = np.random.default_rng([seed, repeat])
        for name, (pool, left) in pools.items():
            held = random.permutation(pool)[:enrolled]
            presented = left if left is not pool else np.setdiff1d(pool, held)
            s = shrunk(spread_of(distances[np.ix_(held, held)]), typical) if own else typical
            others = np.array([random.choice(theirs) for who, (_, theirs) in pools.items() if who != name
                               for _ in range(n)])
            groups = {"genuine": random.permutation(presented), "strangers": others,
                      "forgers": random.permutation(np.flatnonzero(imitates == name))}
            for kind, rows in groups.items():
                near = distances[np.ix_(rows, held)].min(1, initial=np.inf)
                scores[kind].append(near[:len(near) // n * n].reshape(-1, n).mean(1) / s)
    found = {kind: np.sort(np.concatenate(parts)) for kind, parts in scores.items()}
    if not len(found["genuine"]):
        raise ValueError(f"nobody among the calibration people has {n} sequences left to present")
    return Rule(enrolled, n, own, typical, len(pools), **found)


def claim_distance(near: np.ndarray, n: int) -> np.ndarray:
    """d(n) of every presented sequence with those before it: the mean of the last n. (m,) -> (m,)

    >>> claim_distance(np.array([1.0, 3.0, 5.0]), 2).tolist()
    [1.0, 2.0, 4.0]
    """
    return np.array([near[max(0, i + 1 - n):i + 1].mean() for i in range(len(near))])


def spread_of(distances: np.ndarray) -> float:
    """The median distance between two different sequences. (E, E) -> one number"""
    return float(np.median(distances[~np.eye(len(distances), dtype=bool)])) if len(distances) > 1 else 0.0


def shrunk(spread: float, typical: float) -> float:
    """Between what few sequences say and what is typical: the geometric mean.

    >>> shrunk(4.0, 1.0)
    2.0
    """
    return float(np.sqrt(max(spread, LEAST_SHARE * typical) * typical))


def from_nought(distances: np.ndarray, measure: str) -> np.ndarray:
    """Distances whose smallest possible value is nought: a negative cosine is counted from −1."""
    return distances + 1 if measure == "cosine" else distances


def _below(scores: np.ndarray, share: float) -> float:
    """Just below the first score, of those sorted, that would be one too many."""
    return float(np.nextafter(scores[min(int(share * len(scores)), len(scores) - 1)], -np.inf))


def _pools(subjects, imitates, stimuli, enrolled) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Of everyone with enough, sequences to enrol from, and to present: the same ones where there is one session."""
    apart, numbers, found = two_sessions(stimuli), sessions_of(stimuli), {}
    for name in np.unique(subjects[imitates == ""]).tolist():
        pool = left = np.flatnonzero((subjects == name) & (imitates == ""))
        if apart and numbers is not None:
            first, *others = np.unique(numbers[pool][numbers[pool] > 0]).tolist() or [0]
            if not others:
                continue
            pool, left = pool[numbers[pool] == first], pool[numbers[pool] == others[0]]
        if len(pool) >= enrolled and (left is not pool or len(pool) > enrolled) and len(pool) > 1:
            found[name] = pool, left
    return found
