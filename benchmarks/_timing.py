"""Measuring side by side: the two are run in turns, so that what else the machine does falls on both."""

import subprocess
import sys
import time
from collections.abc import Callable


def _in_turns(ours: Callable, reference: Callable, rounds: int) -> list[tuple[float, float]]:
    """Seconds of each, round by round."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        ours()
        middle = time.perf_counter()
        reference()
        times.append((middle - start, time.perf_counter() - middle))
    return times


def race(ours: Callable, reference: Callable, rounds: int = 9) -> tuple[float, float, float]:
    """Least seconds of each over the rounds, and reference over ours: the least is what the work itself takes."""
    ours(), reference()
    times = _in_turns(ours, reference, rounds)
    mine, other = (min(column) for column in zip(*times, strict=True))
    return mine, other, other / mine


def race_to(floor: float, ours: Callable, reference: Callable, at_least: bool = True, rounds: int = 15,
            seconds: float = 20.0) -> tuple[float, float, float, float]:
    """As `race`, repeated until the noise is smaller than the margin to the floor, or for so many seconds.

    The ratio is reference over ours where it must be at least the floor, ours over reference where at most. Its noise:
    by how much it differs between thirds of the rounds. -> (ours, reference, ratio, noise)
    """
    ours(), reference()
    times: list[tuple[float, float]] = []
    ends = time.perf_counter() + seconds
    while True:
        times += _in_turns(ours, reference, rounds)
        ratios = [_ratio(times[i::3], at_least) for i in range(3)]
        ratio, noise = _ratio(times, at_least), (max(ratios) - min(ratios)) / 2
        if abs(ratio - floor) > noise or time.perf_counter() > ends:
            return *(min(column) for column in zip(*times, strict=True)), ratio, noise


def _ratio(times: list[tuple[float, float]], at_least: bool) -> float:
    mine, other = (min(column) for column in zip(*times, strict=True))
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
