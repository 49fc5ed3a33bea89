"""One stream of random numbers per person, stimulus and recording, so that each can be made again alone."""

from __future__ import annotations

import numpy as np

from qpwl_core.common.text import quoted

KINDS = {"person": 0, "stimulus": 1, "session": 2, "recording": 3}


def stream(domain: int, kind: str, seed: int, *numbers: int) -> np.random.Generator:
    """The generator of, say, person 7: the same whatever else is simulated, and however many people.

    >>> float(stream(1, "person", 0, 7).random()) == float(stream(1, "person", 0, 7).random())
    True
    """
    key = (domain, KINDS[kind], *numbers)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def around(random: np.random.Generator, median: float, spread: float) -> float:
    """A positive quantity of a person: log-normal about its median, ``spread`` the deviation of its logarithm."""
    return float(median * np.exp(spread * random.standard_normal()))


def checked_count(name: str, value: int, most: int) -> int:
    """The value, if it is a whole number from 1 to ``most``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= most:
        raise ValueError(f"{name} must be a whole number from 1 to {most}, not {quoted(value)}")
    return int(value)


def checked_seed(seed: int) -> int:
    """The seed, if it is a whole number of at least 0."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0, not {quoted(seed)}")
    return int(seed)
