"""The threshold of a desk, for a wanted false match rate, set on people who are neither trained nor tested on.

What is calibrated is what the desk does: n sequences are presented, J people are enrolled with m sequences each, and
the *smallest* of J distances is held against the threshold. With more people enrolled a stranger has more chances, so
the same rate needs a lower threshold. Of C calibration people one knocks and at most C − 1 can be enrolled. Beyond that
we extrapolate as if the chances were independent: with J' = min(J, C − 1) enrolled, the rate to aim at is
1 − (1 − rate)^(J'/J).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpwl_core.common.text import counted
from qpwl_core.evaluation.bootstrap import percentiles, resample_people, too_few_people
from qpwl_core.evaluation.metrics import smallest_rate

REPEATS, RESAMPLES = 20, 300
DEFAULT_FMR = 0.1


@dataclass(frozen=True)
class Calibration:
    """A threshold, what it was set for, and what it rests on."""

    threshold: float
    fmr: float               # the wanted share of strangers who get in
    n: int                   # sequences presented
    enrolled: int            # J, people at the desk
    sequences: int           # m, sequences enrolled of each, at most
    people: int              # C
    emulated: int            # J', people enrolled in the trials
    trials: int              # of strangers that share no presented sequence
    refused: float | None    # share of owners among the calibration people who would be sent away
    owners: int              # trials of owners behind that
    promised: tuple[float, float] = (0.0, 1.0)   # what share of strangers may get in, had other people been there

    @property
    def aimed(self) -> float:
        """The rate aimed at with J' people enrolled."""
        return 1 - (1 - self.fmr) ** (self.emulated / self.enrolled)

    @property
    def measurable(self) -> bool:
        """Whether at least three strangers could be expected to get in."""
        return self.aimed >= smallest_rate(self.trials)

    @property
    def doubtful(self) -> bool:
        """Whether so few calibration people cannot promise the wanted rate."""
        return too_few_people(self.people, self.promised, self.fmr)

    @property
    def promise(self) -> str:
        """How sure the wanted rate is, in a sentence."""
        low, high = (f"{100 * rate:.0f}" for rate in self.promised)
        start = "Too few calibration people to promise this" if self.doubtful else "How sure that is"
        return f"{start}: with other people in their place {low} to {high} % of strangers would get in."

    @property
    def note(self) -> str:
        """What to know about it, in a sentence or two."""
        text = (f"Set on {self.people} calibration people so that {_percent(self.fmr)} of all strangers get in when "
                f"{counted(self.enrolled, 'person', 'people')} may be mistaken for them ({self.trials} trials)")
        if self.emulated < self.enrolled:
            text += (f"; with {self.emulated} enrolled that is {_percent(self.aimed)}, and {self.enrolled} are "
                     "extrapolated as independent chances")
        if not self.measurable:
            least = _percent(smallest_rate(self.trials))
            text += f". So few trials cannot measure a rate below {least}: take it as a guide"
        return text + "."


def calibrate(distances: np.ndarray, subjects: np.ndarray, fmr: float, *, n: int = 1, enrolled: int = 1,
              sequences: int = 10, sources: np.ndarray | None = None, seed: int = 0) -> Calibration:
    """Set the threshold from the distances (c, c) between all sequences of calibration people, ``subjects`` (c,).

    ``enrolled``: J, 1 for verification, where one claim is looked at. ``sources``: the recording that each sequence was
    cut from; an owner is not compared with the recording they present. 20 random draws are pooled.

    >>> x = np.array([0.0, 1, 10, 11, 20, 22])
    >>> calibrate(abs(x[:, None] - x), np.array(list("aabbcc")), 0.5, sequences=1).threshold > 9
    True
    """
    if not 0 < fmr < 1:
        raise ValueError(f"fmr must be above 0 and below 1, got {fmr}")
    for name, value in (("n", n), ("enrolled", enrolled), ("sequences", sequences)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    names, person = np.unique(subjects, return_inverse=True)
    counts = np.bincount(person)
    if len(names) < 2 or counts.max() < n:
        raise ValueError(f"a threshold for a false match rate needs at least two calibration people with {n} "
                         f"sequences, and there are {int((counts >= n).sum())}: set the threshold by hand")
    emulated, random = min(enrolled, len(names) - 1), np.random.default_rng(seed)
    of_strangers, of_owners, desks = [], [], []
    for _ in range(REPEATS):
        rows = [random.permutation(np.flatnonzero(person == j)) for j in range(len(names))]
        kept = [theirs[:max(1, min(sequences, len(theirs) - n))] for theirs in rows]
        starts = np.cumsum([0, *map(len, kept)])[:-1]
        near = np.minimum.reduceat(distances[:, np.concatenate(kept)], starts, axis=1)         # (c, C)
        for i, theirs in enumerate(rows):
            groups = near[theirs[:len(theirs) // n * n]].reshape(-1, n, len(names)).mean(1)         # (probes, C)
            others = random.permutation(np.delete(np.arange(len(names)), i))
            others = others[:len(others) // emulated * emulated].reshape(-1, emulated)         # disjoint desks
            nearest = groups[:, others].min(2)                                                 # (probes, desks)
            of_strangers.append(nearest.ravel())
            desks.append((i, others, nearest))
            of_owners.append(_genuine_distances(distances, theirs[len(kept[i]):], kept[i], n, sources))
    strangers, owners = np.sort(np.concatenate(of_strangers)), np.concatenate(of_owners)
    trials = int((counts // n).sum()) * ((len(names) - 1) // emulated)
    aimed = 1 - (1 - fmr) ** (emulated / enrolled)
    threshold = float(np.nextafter(strangers[int(aimed * len(strangers))], -np.inf))
    promised = _resampled_rate(desks, threshold, len(names), enrolled / emulated, smallest_rate(trials))
    return Calibration(threshold, fmr, n, enrolled, sequences, len(names), emulated, trials,
                       float(np.mean(owners > threshold)) if len(owners) else None, len(owners) // REPEATS, promised)


def _resampled_rate(desks, threshold: float, people: int, more: float, least: float) -> tuple[float, float]:
    """The interval of the share of strangers let in, with the calibration people resampled.

    A stranger i at a desk of some others counts c_i times how often those were drawn on average: with one enrolled,
    c_i · c_j, as everywhere. ``more``: how many times as many people are enrolled as in the trials. Where nobody got
    in, up to ``least`` may have been missed (the rule of three).
    """
    counts = resample_people(people, RESAMPLES)                                                # (B, C)
    inside, total = np.zeros(len(counts)), np.zeros(len(counts))
    for i, others, nearest in desks:
        weight = counts[:, i, None] * counts[:, others].mean(2)                                # (B, desks)
        inside += weight @ (nearest <= threshold).sum(0)
        total += weight.sum(1) * len(nearest)
    rate = np.divide(inside, total, out=np.zeros_like(inside), where=total > 0)
    low, high = percentiles(rate)
    low, high = (1 - (1 - each) ** more for each in (low, min(1.0, max(high, least))))
    return low, high


def _genuine_distances(distances, left: np.ndarray, kept: np.ndarray, n: int, sources) -> np.ndarray:
    """d of an owner's sequences that are not enrolled, n at a time, to those that are. -> (probes,)"""
    between = distances[np.ix_(left, kept)]
    if sources is not None:
        between = np.where(sources[left][:, None] == sources[kept], np.inf, between)
    near = between.min(1)
    near = near[np.isfinite(near)]
    return near[:len(near) // n * n].reshape(-1, n).mean(1)


def _percent(rate: float) -> str:
    return f"{100 * rate:.2g} %"
