"""Pairwise distances against `torch.cdist(p=1)` on the same values: K = 128, M = 16, 128 queries × 1024 references."""

import json
import os
import subprocess
import sys
import tempfile
import time

import torch

from benchmarks._timing import extra_megabytes, race_to, repeat_to, row
from qpwl_core.transport.distances import pairwise_wasserstein

Q, R, K, L = 128, 1024, 128, 18
FLOORS = {1: 0.9, 2: 3.0, 3: 1.0, 1.5: 1.0, 2.5: 1.0, 7.3: 1.0}


def data():
    torch.manual_seed(0)
    torch.set_num_threads(min(2, torch.get_num_threads()))      # OMP_NUM_THREADS=1 where others work too
    a, b = (torch.randn(n, K, L).sort(-1).values for n in (Q, R))
    return a, b, torch.linspace(0, 1, L)


def against_cdist(p: float, floor: float, label: str = "") -> dict:
    a, b, levels = data()
    flat = a.flatten(1), b.flatten(1)
    ours, theirs, ratio, noise = race_to(floor, lambda: pairwise_wasserstein(a, b, levels, p),
                                         lambda: torch.cdist(*flat, p=1), rounds=9)
    segments = Q * R * K * (L - 1) / ours / 1e9
    return row(f"pairwise W_p, p = {p:g}{label}", f"{ours * 1e3:.0f} ms, {segments:.2f} G segments/s",
               f"cdist(p=1) {theirs * 1e3:.0f} ms", ratio, floor, noise=noise)


def in_process(code: str, **environment: str) -> str:
    """What a fresh process prints last."""
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True,
                          text=True, check=True)
    return done.stdout.splitlines()[-1]


def without_compiler() -> dict:
    code = ("import json; from benchmarks.distances import against_cdist; "
            "print(json.dumps(against_cdist(1, 0.15, ', no compiler')))")
    return json.loads(in_process(code, QPWL_COMPILE="0"))


def first_call() -> list[dict]:
    """Seconds until the first distance, with an empty cache and with a full one, beside the rest of such a process."""
    code = ("import time, torch; from qpwl_core.transport.distances import pairwise_wasserstein as d; "
            "x = torch.rand(4, 2, 5); start = time.perf_counter(); d(x, x, torch.linspace(0, 1, 5)); "
            "print(time.perf_counter() - start)")
    def process(cache: str) -> tuple[float, float]:
        begun = time.perf_counter()
        call = float(in_process(code, QPWL_CACHE=cache))
        return call, time.perf_counter() - begun - call

    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for what, most, turn in (
                ("first call ever (compiles)", 3.0, lambda: process(tempfile.mkdtemp(dir=cache))),
                ("first call of a process (cached)", 0.2, lambda: process(cache))):
            call, rest, ratio, noise = repeat_to(most, turn, at_least=False, rounds=3)
            rows.append(row(what, f"{call:.2f} s", f"import torch … {rest:.2f} s", ratio, most, at_least=False,
                            noise=noise))
    return rows


def memory() -> list[dict]:
    """Beyond the result itself, which is 4 bytes per pair."""
    rows = []
    for p, queries, label in ((1, 10_000, ""), (2.5, 1000, ""), (1, 1000, ", no compiler"), (2.5, 50, ", no compiler")):
        setup = f"""
import os; os.environ["QPWL_COMPILE"] = "{int(not label)}"
import torch
from qpwl_core.transport.distances import pairwise_wasserstein as d
x, levels = torch.rand(10_000, 64, 18), torch.linspace(0, 1, 18)
d(x[:64], x[:64], levels, {p})
"""
        extra = extra_megabytes(setup, f"y = d(x[:{queries}], x, levels, {p})") - queries * 10_000 * 4 / 2**20
        rows.append(row(f"extra memory, {queries} × 10000 pairs, p = {p:g}{label}", f"{extra:.0f} MB", "300 MB",
                        extra / 300, 1, at_least=False))
    return rows


def run() -> list[dict]:
    return [*(against_cdist(p, floor) for p, floor in FLOORS.items()), without_compiler(), *first_call(), *memory()]
