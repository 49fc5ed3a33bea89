"""Measuring side by side: the two are run in turns, so that what else the machine does falls on both."""

import subprocess
import sys
import time
from collections.abc import Callable


def race(ours: Callable, reference: Callable, rounds: int = 9) -> tuple[float, float, float]:
    """Least seconds of each over the rounds, and reference over ours: the least is what the work itself takes."""
    ours(), reference()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        ours()
        middle = time.perf_counter()
        reference()
        times.append((middle - start, time.perf_counter() - middle))
    mine, other = (min(column) for column in zip(*times, strict=True))
    return mine, other, other / mine


def row(what: str, measured: str, reference: str, ratio: float, floor: float, at_least: bool = True) -> dict:
    """One line of the table; ``floor`` is a least or a greatest ratio."""
    reached = ratio >= floor if at_least else ratio <= floor
    return {"what": what, "measured": measured, "reference": reference, "ratio": f"{ratio:.3g}",
            "floor": f"{'>=' if at_least else '<='} {floor:g}", "ok": bool(reached)}


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
