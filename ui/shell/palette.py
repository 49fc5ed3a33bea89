"""Colours of people and methods, the same on all pages."""

from __future__ import annotations

from qpwl_core.study.palette import COLOURS, DASHES, look_of

__all__ = ["COLOURS", "DASHES", "colours_of", "dashes_of", "look_of"]


def colours_of(people: list[str]) -> dict[str, str]:
    """A colour for each person, the same on all pages: by their place among all people of the model or data set."""
    return {person: COLOURS[i % len(COLOURS)] for i, person in enumerate(sorted(people))}


def dashes_of(colours: dict[str, str]) -> dict[str, str]:
    """A dash for each person of `colours_of`: another one where the colours begin again, so that no two look alike."""
    return {person: DASHES[i // len(COLOURS) % len(DASHES)] for i, person in enumerate(sorted(colours))}
