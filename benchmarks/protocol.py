"""All three scenarios for 1,500 test sequences of 100 people, after the distance matrix: at most 3 seconds.

Beside it, taken in turns with it, stands what the machine needs to sort that matrix row by row once.
"""

import numpy as np

from benchmarks._timing import Within, repeat_to, row
from qpwl_core.evaluation.protocol import identification, imposters, verification

PEOPLE, EACH, MOST_SECONDS = 100, 15, 3.0


def data() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    subjects = np.repeat([f"p{i:03d}" for i in range(PEOPLE)], EACH)
    x = np.repeat(random.normal(size=(PEOPLE, 8)), EACH, axis=0) + 0.7 * random.normal(size=(PEOPLE * EACH, 8))
    return np.linalg.norm(x[:, None] - x, axis=-1).astype(np.float32), subjects


def run() -> list[dict]:
    distances, subjects = data()

    def scenarios():
        return [scenario(distances, subjects) for scenario in (verification, identification, imposters)]

    assert [len(frame) for frame in scenarios()] == [50, 100, 100]  # ten repeats of five n, and of ten fractions
    turn = Within(MOST_SECONDS, scenarios, lambda: np.sort(distances, axis=1))
    seconds, _, ratio, noise = repeat_to(1, turn, at_least=False, rounds=6)
    what = f"all scenarios, 10 repeats, n = 1..5, ten fractions, {PEOPLE * EACH} sequences of {PEOPLE} people"
    return [row(what, f"{seconds:.2f} s", f"{MOST_SECONDS:g} s; one np.sort of the matrix {turn.other * 1e3:.0f} ms",
                ratio, 1, at_least=False, noise=noise)]
