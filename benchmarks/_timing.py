"""Measuring side by side: the two are run in turns, so that what else the machine does falls on both."""

import math
import subprocess
import sys
import time
from collections.abc import Callable

Turn = Callable[[], tuple[float, float]]      # one round: seconds of ours, and of the reference


def turns_of(ours: Callable, reference: Callable) -> Turn:
    """One after the other, timed."""
    def turn():
        start = time.perf_counter()
        ours()
        middle = time.perf_counter()
        reference()
        return middle - start, time.perf_counter() - middle

    return turn


class Within:
    """Turns of ours beside seconds that are given. What another takes in turns with it, at least, is for the reader."""

    def __init__(self, most: float, ours: Callable, other: Callable = lambda: None):
        self.most, self.turn, self.other = most, turns_of(ours, other), math.inf

    def __call__(self) -> tuple[float, float]:
        ours, other = self.turn()
        self.other = min(self.other, other)
        return ours, self.most


def repeat_to(floor: float | Callable[[float], float], turn: Turn, at_least: bool = True, rounds: int = 15,
              seconds: float = 20.0, of: Callable = min) -> tuple[float, float, float, float]:
    """Rounds until the noise is smaller than the margin to the floor, or for so many seconds.

    The ratio is reference over ours where it must be at least the floor, ours over reference where at most; each is
    the least over the rounds, which is what the work itself takes, or another figure ``of`` them. Its noise: by how
    much it differs between thirds of the rounds. A floor may follow from the reference's seconds.
    -> (ours, reference, ratio, noise)
    """
    turn()
    times: list[tuple[float, float]] = []
    ends = time.perf_counter() + seconds
    while True:
        times += [turn() for _ in range(rounds)]
        ratios = [_ratio(times[i::3], at_least, of) for i in range(3)]
        ratio, noise = _ratio(times, at_least, of), (max(ratios) - min(ratios)) / 2
        mine, other = (of(column) for column in zip(*times, strict=True))
        limit = floor(other) if callable(floor) else floor
        if abs(ratio - limit) > noise or time.perf_counter() > ends:
            return mine, other, ratio, noise


def race_to(floor: float, ours: Callable, reference: Callable, at_least: bool = True, rounds: int = 15,
            seconds: float = 20.0) -> tuple[float, float, float, float]:
    """The two in turns, until the noise is smaller than the margin to the floor. -> (ours, reference, ratio, noise)"""
    return repeat_to(floor, turns_of(ours, reference), at_least, rounds, seconds)


def _ratio(times: list[tuple[float, float]], at_least: bool, of: Callable) -> float:
    mine, other = (of(column) for column in zip(*times, strict=True))
    return other / mine if at_least else mine / other


def row(what: str, measured: str, reference: str, ratio: float, floor: float, at_least: bool = True,
        noise: float = 0.0) -> dict:
    """One line of the table; ``floor`` is a least or a greatest ratio, missed where that is more than noise."""
    reached = ratio + noise >= floor if at_least else ratio - noise <= floor
    return {"what": what, "measured": measured, "reference": reference, "ratio": f"{ratio:.3g}",
            "noise": f"{noise:.2g}" if noise else "", "floor": f"{'>=' if at_least else '<='} {floor:g}",
            "ok": bool(reached)}


def extra_megabytes(setup: str, work: str) -> float:
    """Peak memory that ``work`` adds to a fresh process after ``setup``, by Linux's high-water mark."""
    code = f"""
def status(key):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(key)) / 1024
{setup}
open("/proc/self/clear_refs", "w").write("5")  # the mark starts again from here
before = status("VmRSS")
{work}
print(status("VmHWM") - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1])
