"""Colours, dashes and symbols of methods, one table for the app and the report.

The colours are Okabe and Ito's, which colour-blind people can tell apart.
"""

from __future__ import annotations

from qpwl_core.models.methods import METHODS

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
DASHES = ("solid", "dash", "dot", "dashdot")
SYMBOLS = ("circle", "square", "diamond", "cross", "x", "triangle-up", "triangle-down", "star", "hexagon", "pentagon")


def look_of(method: str) -> dict[str, str]:
    """The line of a method, the same everywhere: dashed where there are more methods than colours."""
    again, place = divmod(list(METHODS).index(method), len(COLOURS))
    return {"color": COLOURS[place], "dash": DASHES[again]}


def symbol_of(method: str) -> str:
    """The marker of a method."""
    return SYMBOLS[list(METHODS).index(method) % len(SYMBOLS)]
