"""What people are called on a page: a friendly name, the same on all pages, and the id beside it."""

from __future__ import annotations

from collections.abc import Iterable

from qpwl_core.common.friendly import friendly_names


def named(ids: Iterable[str]) -> dict[str, str]:
    """Id -> "Ada Moss (04)"."""
    return {person: f"{name} ({person})" for person, name in friendly_names(ids).items()}
