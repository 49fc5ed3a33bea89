"""The process of one training job: ``python -m ui.library.worker FOLDER``, started by `scheduler.py` at its turn.

It knows nothing of pages. With ``QPWL_DASK``, the address of a Dask scheduler, the training itself runs on that
cluster, and this process keeps its folder here up to date.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import threading
import time
import traceback
from dataclasses import replace
from pathlib import Path

from filelock import FileLock, Timeout

from qpwl_core.common.bounds import STUCK, TRAINING_SHARE
from qpwl_core.common.memory import first_to_go, limit_memory, machine_memory
from qpwl_core.training.cluster import ClusterError
from ui.library.elsewhere import on_cluster
from ui.library.job import COPY, SENT, find, last_word, sentence, state_of, write_state
from ui.library.scheduler import step_back
from ui.visitors.classroom import in_class

GRACE = 0.7            # seconds that a step may still take after a stop; then the last checkpoint must do
FAR_GRACE = 10.0       # the same where it is trained on a cluster: its last checkpoint must come from there
BEAT = 2.0             # seconds between two signs of life
RECORDS = 600          # of a curve: what a picture can show, and a page read in no time


class Stopped(Exception):
    """Somebody asked for it."""


class Worker:
    """Tells the world where the job stands, shows that it lives, and listens for a stop."""

    def __init__(self, folder: Path, stopping: threading.Event | None = None):
        """``stopping``: says that a stop was asked for; without it, a file does, and this process is ended by it."""
        self.folder, self.job, self.grace = folder, find(folder.parent, folder.name), GRACE
        self.now, self.told, self.moved = dict(self.job.now), 0.0, time.monotonic()
        self.stopping, self.last_word = stopping or threading.Event(), threading.Lock()
        if stopping is None:
            threading.Thread(target=self._listen, daemon=True).start()

    @property
    def due(self) -> bool:
        """Whether it is time to say where it stands: four times a second, so that an accelerator is rarely asked."""
        return time.monotonic() - self.told > 0.25

    def tell(self, **changes) -> None:
        """Write where it stands: at once if the state changes, else when it is due."""
        self.now |= changes
        self.moved = time.monotonic()
        if "state" in changes or self.due:
            self.told = time.monotonic()
            write_state(self.folder, **self.now)

    def check(self) -> None:
        """Leave if a stop was asked for."""
        self.moved = time.monotonic()
        if self.stopping.is_set():
            raise Stopped

    def append(self, name: str, record: dict) -> None:
        with open(self.folder / name, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def _listen(self):
        """Show signs of life until a stop; a step or an import may take long: after a moment's grace, end it."""
        beat = 0.0
        while not os.path.exists(self.folder / "stop"):          # False where it cannot be looked at
            if time.monotonic() - beat > BEAT:
                beat = time.monotonic()
                if not os.path.exists(self.folder / "job.json"):  # somebody deleted the run
                    os._exit(1)
                with contextlib.suppress(OSError):
                    os.utime(self.folder / "state.json")         # needs no room on the disk
            if time.monotonic() - self.moved > STUCK:
                self.end(state="failed", note=f"One step took longer than {STUCK / 60:.0f} minutes, so it was ended: "
                                              "try fewer pairs, fewer filters or a larger stride.")
            time.sleep(0.1)
        self.stopping.set()
        time.sleep(self.grace)
        self.end(state="stopped", note="")

    def end(self, **changes):
        """The last word, which one thread has, and the end of the process, whatever goes wrong on the way.

        A run that is stopped can be resumed and needs the copy of an upload; one that has ended does not. Nothing that
        PyTorch would still do matters.
        """
        self.last_word.acquire()
        try:
            if changes.get("state") in ("finished", "failed"):
                with contextlib.suppress(OSError):
                    (self.folder / COPY).unlink(missing_ok=True)
            last_word(self.folder, **self.now | changes)
            sys.stderr.flush()
        finally:
            os._exit(0)


def parts_of(worker: Worker):
    """The split that Data shows: people to learn from, to validate on and to test on."""
    from qpwl_core.data.datasets import DATASETS, load_dataset
    from qpwl_core.data.loading import load_recordings
    from qpwl_core.data.splits import split, split_dataset

    data = worker.job.spec["data"]
    if (worker.folder / COPY).exists():
        return split(load_recordings(worker.folder / COPY))
    sent = worker.folder / SENT
    return split_dataset(DATASETS[data], load_recordings(sent) if sent.exists() else load_dataset(data))


def train_one(worker: Worker) -> str:
    """Train, then embed and evaluate the people held out; returns a note."""
    from qpwl_core.training.loop import train

    parts = parts_of(worker)
    config, last = worker.job.config, None
    begun = time.monotonic() - worker.now.get("seconds", 0.0)
    curve = Curve(worker, max(1, config.iterations // RECORDS))
    worker.tell(note="training")
    resume = (worker.folder / "config.json").exists()
    with contextlib.closing(train(config, parts.train, worker.folder, resume, parts.validation)) as records:
        try:
            for last in records:
                if last.model is not None:
                    break
                curve.add(last, round(time.monotonic() - begun, 2))
                worker.check()
        finally:
            curve.show()
    return finish(worker, last.model, parts)


class Curve:
    """The records of a training, shown when that is due: an accelerator is asked for its losses then, all at once."""

    def __init__(self, worker: Worker, every: int):
        self.worker, self.every = worker, every                # steps per point of the curve
        self.waiting: list = []                                # records with their seconds, losses not yet read
        self.losses: list[float] = []                          # of the point to come

    def add(self, record, seconds: float) -> None:
        self.waiting.append((record, seconds))
        self.worker.moved = time.monotonic()
        if record.auc is not None or record.step == 1 or self.worker.due:
            self.show()

    def show(self) -> None:
        for record, seconds in self.waiting:
            if not math.isfinite(loss := record.loss):         # an accelerator says later that it diverged
                continue
            self.losses.append(loss)
            if record.auc is not None or record.step % self.every == 0 or record.step == 1:
                self.worker.append("live.jsonl", {
                    "step": record.step, "loss": sum(self.losses) / len(self.losses), "auc": record.auc,
                    "seconds": seconds, "levels": record.levels and [round(level, 5) for level in record.levels]})
                self.losses = []
        if self.waiting:
            record, seconds = self.waiting[-1]
            auc = record.auc if record.auc is not None else self.worker.now.get("auc")
            self.worker.tell(**record.record() | {"auc": auc, "seconds": seconds})
        self.waiting = []


def finish(worker: Worker, model, parts) -> str:
    """The gallery of people held out, the results, the card; returns a note."""
    from qpwl_core.evaluation.evaluate import evaluate_distances
    from qpwl_core.models.gallery import build_gallery

    keep, info = worker.job.spec.get("keep_gallery", True), parts.recordings.info
    worker.tell(state="running", note="embedding the people held out", eta=0.0)
    gallery = build_gallery(model, parts.test, parts.validation, progress=lambda *_: worker.check())
    if keep:
        gallery.save(worker.folder)
    fits = gallery.fitting()
    of_test, problem, results, notes = gallery.part("test"), "", None, []
    try:
        results, notes = evaluate_distances(of_test.distances(), of_test.subjects, of_test.sources)
    except ValueError as error:                                # such as too few sequences a person
        problem = f"The people held out could not be evaluated: {error}"
    if len(fits) < len(gallery):
        notes = [*notes, f"The gallery keeps {len(fits):,} of {len(gallery):,} sequences, as many as pages can compare "
                         "with each other; the results are of all."]
    worker.check()
    names = {part: sorted(set(parts.recordings.subjects[parts.index[part]].tolist()))
             for part in ("train", "validation", "test")}
    if not keep:                                               # neither what they did nor what they are called
        counts = [len(people) for people in names.values()]
        names, notes = {}, [note.partition(":")[0] for note in notes] + [
            "Learned from {} people, validated on {}, tested on {}; neither what the model saw in them nor their names "
            "were kept.".format(*counts)]
    terms = {"licence": info.get("licence", ""), "citation": info.get("citation", ""), "url": info.get("source", "")}
    model.card |= {"kind": "trained", "title": worker.job.spec["title"], "set": worker.job.spec["data"], "split": names,
                   "terms": terms, "results": results, "notes": notes + [problem] * bool(problem)}
    model.save(worker.folder)
    if results:
        worker.now |= {"test_auc": results["verification"]["1"]["auc"],
                       "test_auc_5": results["verification"]["5"]["auc"], "test_subjects": results["subjects"]}
    return problem


def train_grid(worker: Worker) -> str:
    """A short training for every M, p and seed; those that are done are not done again."""
    from qpwl_core.evaluation.validation import validation_auc
    from qpwl_core.training.loop import Diverged, train

    parts = parts_of(worker)
    grid, done = worker.job.spec["grid"], {(c["points"], c["p"], c.get("seed")) for c in worker.job.cells()}
    seeds = grid.get("seeds") or [worker.job.config.seed]      # round by round, so that every square fills in early
    cells = [(points, p, seed) for seed in seeds for points in grid["points"] for p in grid["p"]]
    started, steps = time.monotonic(), worker.job.config.iterations
    trained = 0                                                # steps of this process
    for number, (points, p, seed) in enumerate(cells):
        if (points, p, seed) in done:
            continue
        config, begun, last = replace(worker.job.config, points=points, p=p, seed=seed), time.monotonic(), None
        cell = {"points": points, "p": p, "seed": seed, "auc": None, "test_auc": None}
        try:
            for last in train(config, parts.train, validation=parts.validation):
                trained += last.model is None
                to_go = steps * (len(cells) - number) - last.step
                if worker.due:
                    worker.tell(note=f"M = {points}, p = {p:g}, seed {seed}", step=number * steps + last.step,
                                steps=len(cells) * steps, loss=last.loss, per_second=last.per_second, cell=number + 1,
                                cells=len(cells), eta=(time.monotonic() - started) / max(1, trained) * to_go)
                worker.check()
            seen = last.model.embed(parts.test)
            cell |= {"auc": last.best_auc,
                     "test_auc": validation_auc(last.model.distances(seen), seen.subjects, seen.sources)}
        except Diverged:
            cell["note"] = "diverged"
        worker.append("cells.jsonl", cell | {"seconds": round(time.monotonic() - begun, 2)})
    return ""


WORK = {"train": train_one, "grid": train_grid}


def trained_there(folder: Path, stop: threading.Event) -> tuple[str, dict]:
    """On a machine of the cluster: a note, and where it stands; who stopped it knows."""
    import torch
    from distributed import get_worker

    torch.set_num_threads(get_worker().state.nthreads)
    worker = Worker(folder, stop)
    note = ""
    with contextlib.suppress(Stopped):
        note = WORK[worker.job.spec["kind"]](worker)
    return note, worker.now


def main(folder: Path) -> None:
    lock = FileLock(folder / "lock")
    try:
        lock.acquire(timeout=5)                                # one who looks holds it for a moment; ours until we end
    except (Timeout, OSError):
        return
    if state_of(folder) != "queued":                           # stopped or deleted meanwhile
        return
    worker = Worker(folder)
    try:
        worker.tell(state="running", note="reading the recordings", pid=os.getpid())
        step_back(19 if in_class() else 5)
        first_to_go()
        if address := os.environ.get("QPWL_DASK"):
            from ui.library.worker import trained_there  # by its name: this module is the program

            worker.grace = FAR_GRACE
            note = on_cluster(address, trained_there, worker)
            worker.check()
        else:
            import torch
            torch.set_num_threads(worker.job.spec["threads"])
            limit_memory(int(TRAINING_SHARE * machine_memory()))   # a sentence, not the system's choice of a victim
            note = WORK[worker.job.spec["kind"]](worker)
        worker.end(state="finished", note=note, eta=0.0)
    except Stopped:
        worker.end(state="stopped", note="")
    except ClusterError as error:                              # it can be taken up again
        worker.end(state="interrupted", note=f"{error}.")
    except BaseException as error:                             # one sentence for the page, the rest for the log
        traceback.print_exc()
        worker.end(state="failed", note=sentence(error))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
