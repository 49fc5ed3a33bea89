"""What chance decides in the experiment: which sequences are observed, and in which order people are taken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpwl_core.common.text import quoted


@dataclass(frozen=True, eq=False)
class Draw:
    """What chance decides in R repeats with S people and O observed sequences each."""

    people: np.ndarray        # (S,) names, sorted
    left_out: list[str]       # names of those with too few sequences
    note: str                 # a sentence on who was left out, or nothing
    owner: np.ndarray         # (n,) index into people, −1 for sequences of those left out
    groups: np.ndarray | None  # (n,) index of each sequence's group
    observed: np.ndarray      # (R, S, O) sequences, in the order in which they are observed
    order: np.ndarray         # (R, S) people, shuffled: fractions of the people are its first ones

    def enrolled(self, repeat: int) -> np.ndarray:
        """The enrolled sequences of a repeat, person after person."""
        free = self.owner >= 0
        free[self.observed[repeat]] = False
        return np.flatnonzero(free)[np.argsort(self.owner[free], kind="stable")]


def draw(subjects, *, repeats: int = 10, observed: int = 5, seed: int = 0, groups=None) -> Draw:
    """Draw the observed sequences and the order of the people, for all repeats.

    It depends on the seed, the names and, for each person, the number and order of that person's sequences, not on
    how people are mixed in storage. Repeat r is the same however many repeats are asked for.

    ``groups`` (n,) names what may not be compared, such as the recording that several windows were cut from: enrolled
    sequences of the same group as the observed one are ignored, whoever they are of. Where each group is of one person,
    this errs against the method: a genuine distance is then a minimum over fewer sequences than an imposter distance.
    Where people share groups, such as videos, it asks an easier question: the imposters most alike are ignored too.
    People are left out who have fewer than ``observed`` + 1 sequences or, with groups, for whom a draw could leave
    nothing to compare with.

    >>> drawn = draw(["a"] * 6 + ["b"] * 7 + ["c"])
    >>> drawn.people.tolist(), drawn.observed.shape, drawn.note
    (['a', 'b'], (10, 2, 5), '1 of 3 subjects left out for too few sequences (fewer than 6): c')
    """
    subjects = _names("subjects", subjects)
    for name, value, least in (("repeats", repeats, 1), ("observed", observed, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {quoted(value)}")
    names, owner = np.unique(subjects, return_inverse=True)
    few = f"fewer than {observed + 1}"
    if groups is None:
        enough = np.bincount(owner) > observed
    else:
        groups = np.unique(_names("groups", groups, len(subjects)), return_inverse=True)[1]
        enough = _comparable(owner, groups, observed)
        few += f", or fewer than {observed} outside a group, {observed + 1} where others share it"
    if enough.sum() < 2:
        raise ValueError(f"subjects must name at least two people with enough sequences ({few} are too few), got "
                         f"{enough.sum()} of {len(names)}")
    people, left_out = names[enough], names[~enough].tolist()
    note = (f"{len(left_out)} of {len(names)} subjects left out for too few sequences ({few}): {', '.join(left_out)}"
            if left_out else "")
    owner = np.where(enough, np.cumsum(enough) - 1, -1)[owner]
    of_person = [np.flatnonzero(owner == person) for person in range(len(people))]
    chosen, order = np.empty((repeats, len(people), observed), dtype=int), np.empty((repeats, len(people)), dtype=int)
    for repeat in range(repeats):
        random = np.random.default_rng([seed, repeat])
        order[repeat] = random.permutation(len(people))
        chosen[repeat] = [random.permutation(sequences)[:observed] for sequences in of_person]
    return Draw(people, left_out, note, owner, groups, chosen, order)


def fair_groups(subjects: np.ndarray, sources: np.ndarray | None) -> np.ndarray | None:
    """What ``groups`` of the protocol should be: the recording that each window was cut from (gait), (n,).

    Windows of one recording are never compared, unless people have one recording each: then there would be nothing
    left. None where every sequence is a whole recording, or where that is so.
    """
    if sources is None or len(np.unique(sources)) == len(sources):
        return None
    try:
        draw(subjects, groups=sources)
    except ValueError:
        return None
    return sources


def _comparable(owner: np.ndarray, groups: np.ndarray, observed: int) -> np.ndarray:
    """Who keeps, whatever is drawn, an enrolled sequence outside the group of any observed one. -> (people,) bool

    The other observed - 1 sequences of a person may all be from outside a group, so ``observed`` outside it leave one;
    where the observed sequence may be another person's, all ``observed`` may be, and one more is needed.
    """
    _, both, size = np.unique(owner * (groups.max() + 1) + groups, return_inverse=True, return_counts=True)
    size = size[both]                                        # (n,) sequences of this person and group
    shared = np.bincount(groups)[groups] > size              # (n,) others have this group too
    count = np.bincount(owner)                               # (people,)
    short = count[owner] - size < observed + shared          # (n,)
    return (np.bincount(owner, weights=short) == 0) & (count > observed)


def _names(name: str, values, count: int | None = None) -> np.ndarray:
    values = np.asarray(values).astype(str)
    if values.ndim != 1 or len(values) == 0 or count not in (None, len(values)):
        raise ValueError(f"{name} must hold one name per sequence{f', {count} of them' if count else ''}, got shape "
                         f"{values.shape}")
    return values
