"""Many enrolled (K = 64, M = 16): one probe against 100,000 sequences beside reading them once, a search by bounds, and
1,000,000 in a file.

Rows of one benchmark are people ten by ten, who differ in their means by as much as one person's samples do. What is
found is checked against comparing all.
"""

import itertools
import statistics
import tempfile
from pathlib import Path

import numpy as np
import torch

from benchmarks._timing import Within, race_to, repeat_to, row
from qpwl_core.desk.database import Desk
from qpwl_core.desk.space import Space
from qpwl_core.transport.nearest import Nearest, open_rows

N, MANY, EACH, K, L = 100_000, 1_000_000, 10, 64, 18
MOST_SECONDS = 0.05         # for enrolling one
LEVELS = torch.linspace(0, 1, L)


def crowd(count: int, seed: int) -> torch.Tensor:
    """Sequences of people, ten each. -> (count, K, L)"""
    random = torch.Generator().manual_seed(seed)
    middle = torch.randn(count // EACH, 1, K, 1, generator=random)
    return (middle + torch.randn(count // EACH, EACH, K, L, generator=random)).flatten(0, 1).sort(-1).values


def in_memory(rows: torch.Tensor, probe: torch.Tensor) -> list[dict]:
    flat, found = rows.flatten(), []
    for p in (1.0, 2.0):
        nearest = Nearest(rows, LEVELS, p)
        ours, reading, ratio, noise = race_to(2.5, lambda n=nearest: n.distances(probe), flat.sum, at_least=False,
                                              rounds=9)
        found.append(row(f"one probe against {N} sequences in full, p = {p:g}", f"{ours * 1e3:.0f} ms",
                         f"reading them once {reading * 1e3:.0f} ms", ratio, 2.5, at_least=False, noise=noise))
    nearest, starts = Nearest(rows, LEVELS), np.arange(0, N, EACH)
    searched = nearest.search(probe, 10, starts)
    exact = np.minimum.reduceat(nearest.distances(probe), starts, axis=1)[0]
    assert searched.groups[:10].tolist() == np.argsort(exact, kind="stable")[:10].tolist()
    ours, reading, ratio, noise = race_to(1, lambda: nearest.search(probe, 10, starts), flat.sum, at_least=False)
    found.append(row(f"the ten nearest people of {N // EACH} by bounds",
                     f"{ours * 1e3:.1f} ms, {searched.pruned:.1%} never compared",
                     f"reading all {reading * 1e3:.0f} ms", ratio, 1, at_least=False, noise=noise))
    return found


def in_a_file(rows: torch.Tensor, probe: torch.Tensor, kind: str = "float32") -> dict:
    """After the means are known, which is one pass over the file; ten crowds, all but the first one moved."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        file = np.lib.format.open_memmap(path, "w+", np.dtype(kind), (MANY, K, L))
        for i in range(0, MANY, N):
            moved = torch.randn(N // EACH, 1, K, 1, generator=torch.Generator().manual_seed(i)) * (i > 0)
            file[i:i + N] = (rows.unflatten(0, (-1, EACH)) + moved).flatten(0, 1).numpy()
        del file
        nearest, starts = Nearest(open_rows(path), LEVELS), np.arange(0, MANY, EACH)
        found = nearest.search(probe, 10, starts)
        seconds, _, ratio, noise = repeat_to(1, Within(1.0, lambda: nearest.search(probe, 10, starts)), at_least=False,
                                             rounds=6)
    off = f", off by at most {found.rounding / found.distances[0]:.1%}" if found.rounding else ""
    return row(f"the ten nearest people of {MANY // EACH}, {MANY} sequences in a mapped file of {kind}",
               f"{seconds:.2f} s, {found.pruned:.1%} never compared{off}", "1 s", ratio, 1, at_least=False, noise=noise)


def enrolling(rows: torch.Tensor) -> dict:
    space = Space("0" * 64, "qp-wl", 1.0, tuple(LEVELS.tolist()), (K, L))
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(folder, space)
        for i in range(0, N, 1000):
            desk.enrol(f"crowd {i}", rows[i:i + 1000], space.model)
        desk.enrolled()
        numbers = itertools.count()

        def comes():
            i = next(numbers)
            desk.enrol(f"newcomer {i}", rows[i:i + 1], space.model)
            desk.enrolled()

        seconds, _, ratio, noise = repeat_to(1, Within(MOST_SECONDS, comes), at_least=False, rounds=9,
                                             of=statistics.median)
    return row(f"enrolling one among {N}, until the desk knows them", f"{seconds * 1e3:.0f} ms",
               f"{MOST_SECONDS * 1e3:.0f} ms", ratio, 1, at_least=False, noise=noise)


def run() -> list[dict]:
    torch.set_num_threads(min(2, torch.get_num_threads()))      # OMP_NUM_THREADS=1 where others work too
    rows = crowd(N, 0)
    probe = (rows[70:71] + 0.1 * torch.randn(1, K, L, generator=torch.Generator().manual_seed(9))).sort(-1).values
    return [*in_memory(rows, probe), enrolling(rows), in_a_file(rows, probe),
            in_a_file(rows, probe, "float16")]
