"""Recordings of several files as one, without people of one file being taken for those of another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from qpwl_core.common.text import shown
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.recordings import Recordings


def concatenate(parts: Sequence[Recordings], prefixes: Sequence[str] | None = None, *,
                same_people: bool = False) -> Recordings:
    """All sequences of the parts, one part after the other; channels and rate must be the same.

    The same name in two parts need not be the same person, so it is refused, unless each part has a prefix (put before
    the names of its subjects and of those they imitate) or ``same_people`` says that a name means one person in all
    parts. Of ``info`` stays what the parts agree on; names are joined with " + ".

    >>> ann, other = (Recordings([np.zeros((3, 1))], ["ann"], ("x",), 10) for _ in range(2))
    >>> concatenate([ann, other], prefixes=["pen-", "mouse-"]).people
    ['mouse-ann', 'pen-ann']
    """
    parts = list(parts)
    if not parts:
        raise RecordingsError("there must be at least one part to join, and there is none")
    prefixes = [""] * len(parts) if prefixes is None else list(prefixes)
    if len(prefixes) != len(parts):
        raise RecordingsError(f"prefixes must name each of the {len(parts)} parts, and there are {len(prefixes)}")
    first = parts[0]
    for i, part in enumerate(parts):
        check_alike(part, first, "part 0", f"part {i} ")
    subjects = [[prefix + name for name in part.subjects.tolist()]
                for part, prefix in zip(parts, prefixes, strict=True)]
    if not same_people:
        _check_apart(subjects)
    imitates = [[prefix + name if name else "" for name in _imitated(part)]
                for part, prefix in zip(parts, prefixes, strict=True)]
    return Recordings(
        [x for part in parts for x in part.sequences], list(chain(*subjects)), first.channels, first.rate,
        None if first.stimuli is None else np.concatenate([part.stimuli for part in parts]), _info(parts),
        list(chain(*imitates)))


def check_alike(part: Recordings, first: Recordings, first_name: str, start: str = "") -> None:
    """Raise where a part has other channels or another rate than the first, or names stimuli where that has none."""
    for what in ("channels", "rate"):
        if getattr(part, what) != getattr(first, what):
            raise RecordingsError(f"{start}has another {what.removesuffix('s')} than {first_name}: "
                                  f"{shown(getattr(part, what))}, not {shown(getattr(first, what))}")
    if (part.stimuli is None) != (first.stimuli is None):
        raise RecordingsError(f"{start}must name a stimulus just as {first_name} does: all do, or none")


def _check_apart(subjects: list[list[str]]) -> None:
    seen: dict[str, int] = {}
    for i, names in enumerate(subjects):
        for name in dict.fromkeys(names):
            if seen.setdefault(name, i) != i:
                raise RecordingsError(f"subjects of different parts must differ, and {shown(name)} is in part "
                                      f"{seen[name]} and in part {i}: give prefixes, or same_people=True")


def _imitated(part: Recordings) -> list[str]:
    return [""] * len(part) if part.imitates is None else part.imitates.tolist()


def _info(parts: list[Recordings]) -> dict[str, str]:
    """What all parts agree on, and all their names."""
    shared = {key: text for key, text in parts[0].info.items() if all(part.info.get(key) == text for part in parts)}
    names = dict.fromkeys(part.info["name"] for part in parts if "name" in part.info)
    return shared | ({"name": " + ".join(names)} if names else {})
