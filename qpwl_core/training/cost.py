"""How long a training will take, estimated from a few of its steps."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from qpwl_core.data.recordings import Recordings
from qpwl_core.models.config import Config

PEOPLE = 12          # looked at to measure: their sequences are as long as everybody's
PATIENCE = 0.4       # seconds that one measured step may take; larger batches are measured in part and scaled
ONCE = 6.0           # seconds to start a process, load PyTorch and read the recordings
DOUBT = 0.35         # least relative error that is admitted


@dataclass(frozen=True)
class Cost:
    """Seconds that the parts of a training take on this machine."""

    step: float
    validation: float
    ending: float           # embedding and evaluating the people held out
    doubt: float            # relative

    def training(self, config: Config) -> float:
        """Seconds of the steps and validations of a run."""
        validations = -(-config.iterations // config.validate_every)
        return config.iterations * self.step + validations * self.validation

    def whole(self, config: Config) -> tuple[float, float]:
        """Seconds from the start of a run to its results, and plus or minus how many."""
        seconds = ONCE + self.training(config) + self.ending
        return seconds, self.doubt * seconds

    def grid(self, config: Config, runs: int) -> tuple[float, float]:
        """The same for a grid of so many runs in one process."""
        seconds = ONCE + runs * (self.training(config) + self.ending / 2)
        return seconds, self.doubt * seconds


def looked_at(recordings: Recordings) -> tuple[Recordings, int, int]:
    """What `measure_some` needs of the recordings to learn from: some of the people, and how many all are."""
    people = np.random.default_rng(0).permutation(recordings.people)
    return recordings.of_people(people[:PEOPLE]), len(people), len(recordings)


def measure(config: Config, recordings: Recordings, held_out: int, threads: int = 0, steps: int = 4) -> Cost:
    """Train a few steps on some of the people and time them; ``held_out``: sequences embedded in the end.

    ``threads``: of the CPU, for this thread of Python alone, so that pages served beside it keep theirs; 0 is as it is.
    """
    return measure_some(config, *looked_at(recordings), held_out, threads, steps)


def measure_some(config: Config, some: Recordings, people: int, sequences: int, held_out: int, threads: int = 0,
                 steps: int = 4) -> Cost:
    """`measure`, given what `looked_at` took of all the people: it may be done elsewhere."""
    import torch
    from threadpoolctl import threadpool_limits

    from qpwl_core.training.run import Run

    torch.zeros(1).exp()                                  # PyTorch sets a thread's count at its first use
    with threadpool_limits(threads or None, user_api="openmp"):
        run = Run(replace(config, pairs=2), some)
        run.learn(run.sampler.batch(0))                   # the first one also builds and allocates
        small = _step_seconds(run, 2, 3)
        learners = people - max(2, round(config.validation * people))
        pairs = max(2, min(config.pairs, learners))
        most = min(pairs, len(run.sampler.people))        # what the people looked at allow
        if most > 2 and float(np.median(small)) * most / 2 < PATIENCE:
            times, share = _step_seconds(run, most, steps), pairs / most
        else:
            times, share = small, pairs / 2
        started = time.perf_counter()
        run.check()
        validation = time.perf_counter() - started
    each = validation / len(set(run.validate[1].tolist()))            # seconds per recording
    validated = (people - learners) / people * sequences
    spread = (max(times) - min(times)) / 2 / np.median(times)
    return Cost(float(np.median(times)) * share, each * validated, 3 * each * (held_out + validated),
                float(np.clip(spread, DOUBT, 1)))


def _step_seconds(run, pairs: int, steps: int) -> list[float]:
    """Seconds of each of some steps with so many pairs."""
    from qpwl_core.training import processes

    run.sampler.pairs, run.rows, times = pairs, processes.rows_of_process(pairs, run.sampler.forgeries), []
    for step in range(1, steps + 1):
        batch = run.sampler.batch(step)
        started = time.perf_counter()
        run.learn(batch)
        run.ask()                                         # an accelerator is done then
        times.append(time.perf_counter() - started)
    return times
