"""What people are called on a page: a friendly name, the same on all pages, and the id beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from qpwl_core.common.friendly import friendly_names


def named(ids: Iterable[str]) -> dict[str, str]:
    """Id -> "Ada Moss (04)"; an id that is a name already stays as it is."""
    return {person: person if name == person else f"{name} ({person})"
            for person, name in friendly_names(ids).items()}


def called(ids: Iterable[str]) -> dict[str, str]:
    """Id -> "Ada Moss", for where there is little room; the id is beside it where two people drew the same name."""
    names = friendly_names(ids)
    often = Counter(names.values())
    return {person: name if often[name] == 1 else f"{name} ({person})" for person, name in names.items()}


def name_of(person: str) -> str:
    """What a select box says of a person."""
    return named([person])[person]
