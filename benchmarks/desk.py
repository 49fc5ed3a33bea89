"""A decision at the desk with 10,000 enrolled sequences (K = 64, M = 16), after loading and with its log line: 0.3 s.

Five sequences are presented. Beside it, in turns, stands `torch.cdist(p=1)` on the same values, which knows neither
levels nor crossings. The decision is compared with a minimum by brute force in double precision.
"""

import tempfile

import numpy as np
import torch

from benchmarks._timing import Within, repeat_to, row
from qpwl_core.desk.database import Desk
from qpwl_core.desk.space import Space
from qpwl_core.transport.distances import wasserstein

PEOPLE, EACH, K, L, N, MOST_SECONDS = 500, 20, 64, 18, 5, 0.3


def brute_force(presented, values, levels) -> np.ndarray:
    """d_j of everyone, pair by pair in double precision. -> (PEOPLE,)"""
    nearest = [[min(wasserstein(x, theirs, levels).tolist()) for theirs in values.double()] for x in presented.double()]
    return np.mean(nearest, axis=0)


def run() -> list[dict]:
    random = torch.Generator().manual_seed(0)
    levels = torch.linspace(0, 1, L)
    middle = torch.randn(PEOPLE, 1, K, 1, generator=random)
    values = (middle + torch.randn(PEOPLE, EACH, K, L, generator=random)).sort(-1).values
    presented = (middle[123] + torch.randn(N, K, L, generator=random)).sort(-1).values
    space = Space("0" * 64, "qp-wl", 1.0, tuple(levels.tolist()), (K, L))
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(folder, space)
        for i in range(PEOPLE):
            desk.enrol(f"person {i}", values[i], space.model)
        desk.enrolled()
        decision = desk.decide(presented, space.model, 100.0)
        exact = brute_force(presented, values, levels.double())
        assert decision.person == f"person {exact.argmin()}"
        assert np.allclose(sorted(exact), decision.distances, rtol=1e-5)
        flat = presented.flatten(1), values.flatten(0, 1).flatten(1)
        turn = Within(MOST_SECONDS, lambda: desk.decide(presented, space.model, 100.0),
                      lambda: torch.cdist(*flat, p=1))
        seconds, _, ratio, noise = repeat_to(1, turn, at_least=False, rounds=9)
    return [row(f"a decision, {PEOPLE * EACH} enrolled sequences, n = {N}, exact minimum, logged",
                f"{seconds * 1e3:.0f} ms", f"{MOST_SECONDS:g} s; cdist(p=1) {turn.other * 1e3:.0f} ms",
                ratio, 1, at_least=False, noise=noise)]
