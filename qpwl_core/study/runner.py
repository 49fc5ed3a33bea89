"""Run the cells of a study: several at a time on this machine, or on a Dask cluster, both through joblib."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

from qpwl_core.study.cells import is_whole, make_cell, run_of
from qpwl_core.study.sets import SETS, Cell


def run(cells: list[Cell], out, data, jobs: int | None = None, threads: int | None = None,
        dask: str | None = None, folders: frozenset[str] = frozenset()) -> list[str]:
    """Make the cells that are not there yet. -> the sentences of those that failed

    ``folders``: names of cells whose models are kept, too, not only their records.
    ``jobs``: cells at a time (as many as there are cores, and on a Dask cluster as many as it has workers), each with
    ``threads`` threads, by default all cores divided by the jobs: never more threads than cores.
    """
    from joblib import Parallel, cpu_count, delayed

    for name in dict.fromkeys(cell.set for cell in cells):
        SETS[name].check(data)
    out, data = Path(out).absolute(), Path(data).absolute()      # workers may live in other folders
    missing = [cell for cell in cells if not is_whole(cell, out, cell.name in folders)]
    for what, given in (("jobs", jobs), ("threads", threads)):
        if given is not None and given < 1:
            raise ValueError(f"--{what} must be at least 1, not {given}")
    jobs = min(jobs or cpu_count(), max(1, len(missing)))
    threads = threads or (1 if dask else max(1, cpu_count() // jobs))
    failures = []
    with _quiet_interrupt(), _quiet_workers(), _cluster(dask), Watch(cells, missing, out) as watch:
        # cells that are there go through, too: their scores may be of an older form
        results = Parallel(-1 if dask else jobs, return_as="generator_unordered", batch_size=1)(
            delayed(make_cell)(cell, out, data, threads, cell.name in folders) for cell in cells)
        for result in results:
            watch.done(result)
            if result["error"]:
                failures.append(f"{result['cell']}: {result['error']}")
    with contextlib.suppress(OSError):
        (out / "runs").rmdir()                   # where nothing is left in it
    return failures


@contextlib.contextmanager
def _quiet_interrupt():
    """After Ctrl-C the threads of joblib end in disorder: what they print of it is not for people."""
    stopped, print_error, handler = threading.Event(), threading.excepthook, signal.getsignal(signal.SIGINT)
    ours = threading.current_thread() is threading.main_thread() and handler is signal.default_int_handler

    def interrupt(*_):
        stopped.set()
        raise KeyboardInterrupt

    if ours:
        signal.signal(signal.SIGINT, interrupt)
        threading.excepthook = lambda error: None if stopped.is_set() else print_error(error)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, handler)
        if not stopped.is_set():                 # else a thread may still end later
            threading.excepthook = print_error


@contextlib.contextmanager
def _quiet_workers():
    """joblib replaces a worker whose memory has grown, which loses nothing, and warns each time that it does."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        yield


@contextlib.contextmanager
def _cluster(address: str | None):
    """joblib on a Dask cluster, where one is named."""
    if address is None:
        yield
        return
    from joblib import parallel_config

    from qpwl_core.training.cluster import connect

    with connect(address), parallel_config(backend="dask"):
        yield


class Watch:
    """How far the cells are, read from what their trainings leave in OUT/runs: a bar on a terminal, else lines.

    Cells run in other processes, perhaps on other machines, so that their files are the one thing all can see.
    """

    def __init__(self, cells: list[Cell], missing: list[Cell], out: Path):
        self.out, self.open = out, {cell.name: cell for cell in missing}
        self.cells, self.whole = len(cells), len(cells) - len(missing)
        self.steps = {cell.name: cell.config.iterations for cell in missing}
        self.total, self.ended, self.bar = sum(self.steps.values()), threading.Event(), None
        self.begun, self.first = time.monotonic(), self.reached()

    def __enter__(self):
        if self.whole:
            print(f"{self.whole} of {self.cells} cells are there already", flush=True)
        if sys.stderr is not None and sys.stderr.isatty():
            from tqdm import tqdm
            self.bar = tqdm(total=self.total, initial=self.first, unit="step")
        self.thread = threading.Thread(target=self._follow, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        if self.bar is not None:
            self.bar.close()

    def reached(self) -> int:
        """Steps done so far, of the cells that were missing."""
        return sum(steps if name not in self.open else min(steps, _last_step(self.open[name], self.out))
                   for name, steps in self.steps.items())

    @property
    def left(self) -> str:
        """Time to go, as minutes and seconds; a guess from the steps so far."""
        done = self.reached() - self.first
        seconds = (time.monotonic() - self.begun) / max(done, 1) * (self.total - self.first - done)
        return f"{int(seconds) // 60}:{int(seconds) % 60:02}" if done else "–"

    def done(self, result: dict) -> None:
        """A cell has ended."""
        if result["cell"] not in self.steps:
            return
        self.open.pop(result["cell"], None)
        text = f"{self.cells - len(self.open)}/{self.cells} cells  {result['cell']}: {result['error'] or 'done'}"
        if self.bar is not None:
            self.bar.write(text)
        else:
            print(f"{text}  ETA {self.left}", flush=True)

    def _follow(self) -> None:
        while not self.ended.wait(1.0):
            if self.bar is not None:
                self.bar.update(self.reached() - self.bar.n)


def _last_step(cell: Cell, out: Path) -> int:
    """The last step that a training has kept."""
    try:
        with (run_of(cell, out) / "metrics.jsonl").open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - 4096))
            return json.loads(file.read().splitlines()[-1])["step"]
    except (OSError, ValueError, IndexError, KeyError):
        return 0
