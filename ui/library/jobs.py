"""Training jobs: a folder and a process each, one at a time, known by their files alone.

`runs/<id>/` holds `job.json` (what was asked for), `state.json` (where it stands, replaced often), `live.jsonl` (its
curve) and what the training itself writes. The process (`ui/worker.py`) holds a lock on `lock` as long as it lives,
whatever ends it: a job that says it runs and holds no lock was interrupted, and no process number is ever trusted. So a
reloaded page, another user or a restarted server sees the same. Stopping is a file named `stop`. Looking at jobs must
not load PyTorch, since a process that waits in the queue does so, too.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from qpwl_core.common.files import FileError, read_json, write_json
from qpwl_core.data.recordings import Recordings
from qpwl_core.models.config import Config

ROOT = Path(__file__).resolve().parents[2]
LIVE, WAITING = ("queued", "running"), 32       # states of a living process; jobs that may wait at a time
COPY = "recordings.npz"                         # of an upload, in the folder of a run, until the run ends
_children: list[subprocess.Popen] = []          # to be reaped when they end


@dataclass(frozen=True)
class Job:
    """A job as its files tell it. States: queued, running, finished, stopped, failed, interrupted."""

    folder: Path
    spec: dict           # job.json: kind ("train" or "grid"), title, data, config, grid, ticket, threads, created
    now: dict            # state.json: state, note, and step, steps, loss, eta, … as far as it came
    state: str

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def alive(self) -> bool:
        return self.state in LIVE

    @property
    def has_copy(self) -> bool:
        """Whether a copy of uploaded recordings lies in its folder."""
        return (self.folder / COPY).exists()

    @property
    def resumable(self) -> bool:
        """Whether there is something to go on with: an upload's copy is deleted when a run ends."""
        return not self.alive and self.state != "finished" and (not self.spec.get("uploaded") or self.has_copy)

    @property
    def config(self) -> Config:
        return Config.from_dict(self.spec["config"])

    def curve(self) -> list[dict]:
        """Its records so far: step, loss, auc, levels, seconds. Once resumed, the later record of a step counts."""
        records: list[dict] = []
        for record in _lines(self.folder / "live.jsonl"):
            while records and records[-1]["step"] >= record["step"]:
                records.pop()
            records.append(record)
        return records

    def cells(self) -> list[dict]:
        """What a grid has so far, one dict per run: points, p, seed, auc, test_auc, seconds."""
        return _lines(self.folder / "cells.jsonl")


def threads() -> int:
    """Of the CPU, for a training: all but one, which is for the pages."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores - 1)


def jobs(runs: Path) -> list[Job]:
    """All jobs in a folder of runs, the latest first."""
    _children[:] = [child for child in _children if child.poll() is None]
    found = [find(runs, folder.name) for folder in (runs.iterdir() if runs.is_dir() else ())]
    return sorted((job for job in found if job), key=lambda job: job.spec["ticket"], reverse=True)


def find(runs: Path, name: str | None) -> Job | None:
    """The job of this id, None where there is none."""
    folder = runs / str(name)
    if not re.fullmatch(r"[0-9a-f]{12}", str(name)) or not (folder / "job.json").exists():
        return None
    try:
        held = _held(folder / "lock")            # looked at first: who has just ended has written its state before
        spec, now = read_json(folder / "job.json"), read_json(folder / "state.json")
        said, _ = now["state"], spec["config"]["method"]
        return Job(folder, spec, now, said if held or said not in LIVE else "interrupted") if spec["ticket"] else None
    except (FileError, ValueError, KeyError, TypeError, OSError):
        return None                              # being made or deleted, or not ours


def submit(runs: Path, kind: str, title: str, data: str, config: Config, recordings: Recordings | None = None,
           grid: dict | None = None, keep_gallery: bool = True) -> Job:
    """Queue a job: ``data`` is the name of a registered set, unless ``recordings`` are given, which go with the job.

    ``grid``: {"points": [...], "p": [...], "seeds": [...]} of a job of kind "grid". The copy of ``recordings`` is
    deleted when the run ends; ``keep_gallery``: whether what the model saw in the people held out is kept.
    """
    waiting = [job for job in jobs(runs) if job.alive]
    if len(waiting) >= WAITING:
        raise FileError(f"{WAITING} jobs are waiting already: cancel one first")
    folder = runs / secrets.token_hex(6)
    try:
        folder.mkdir(parents=True)
        if recordings is not None:
            recordings.save(folder / COPY, compressed=False)
    except OSError as error:
        raise FileError(f"{runs} cannot be written: {(error.strerror or str(error)).lower()}") from None
    spec = {"kind": kind, "title": title, "data": data, "config": config.to_dict(), "grid": grid, "threads": threads(),
            "created": datetime.now(UTC).isoformat(timespec="seconds"), "ticket": 0,
            "uploaded": recordings is not None, "keep_gallery": keep_gallery}
    _start(folder, spec)
    return find(runs, folder.name)


def resume(job: Job) -> None:
    """Go on with a job that was stopped or interrupted, or failed, at the end of the queue."""
    if job.spec.get("uploaded") and not job.has_copy:
        raise FileError("the copy of its recordings was deleted when it ended: upload them and start it again")
    _start(job.folder, job.spec)


def forget(job: Job) -> None:
    """Delete the copy of uploaded recordings of a job that does not run; it then cannot be resumed."""
    now = find(job.folder.parent, job.id)
    if now is not None and now.alive:
        raise FileError("it is running: stop it first")
    (job.folder / COPY).unlink(missing_ok=True)


def stop(job: Job) -> None:
    """Ask a job to stop, or to leave the queue; it does so within a second, keeping all that it reached."""
    if job.alive:
        (job.folder / "stop").touch()


def delete(job: Job) -> None:
    """Remove a job that does not run, with all its files."""
    remove_folder(job.folder)


def remove_folder(folder: Path) -> None:
    """Delete the folder of a run or an uploaded model, unless it is in use; to all who look it is gone at once."""
    if _held(folder / "lock"):
        raise FileError("it is running: stop it first")
    gone = folder.with_name(f".gone-{secrets.token_hex(6)}")
    try:
        os.replace(folder, gone)
    except OSError as error:
        raise FileError(f"it cannot be deleted: {(error.strerror or str(error)).lower()}") from None
    shutil.rmtree(gone, ignore_errors=True)


def ahead_of(job: Job) -> list[Job]:
    """Who is before a job in the queue, the one that runs included."""
    return [other for other in jobs(job.folder.parent) if other.alive and other.spec["ticket"] < job.spec["ticket"]]


def write_state(folder: Path, **now) -> None:
    """Replace state.json at once; it is written many times a minute, so nothing waits for the disk."""
    part = folder / f".state.json.{secrets.token_hex(8)}"
    part.write_text(json.dumps(now))
    os.replace(part, folder / "state.json")


def state_of(folder: Path) -> str | None:
    """What state.json says, None where there is none yet."""
    with contextlib.suppress(FileError):
        return read_json(folder / "state.json").get("state")
    return None


def take_turn(runs: Path) -> int | None:
    """The right to train, which one process has at a time: an open file, or None."""
    handle = os.open(runs / ".turn", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return handle
    except BlockingIOError:
        os.close(handle)
        return None


def _start(folder: Path, spec: dict) -> None:
    """Start the process of a job. It inherits the lock that was taken here, so there is no moment without it."""
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
    try:
        ending = state_of(folder) not in LIVE    # one who has said that it ends still holds it while Python closes
        for _ in range(500 if ending else 20):   # one who looks holds it for a moment
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.01)
        else:
            raise FileError("it is running already")
        (folder / "stop").unlink(missing_ok=True)
        now = {}
        with contextlib.suppress(FileError):
            now = read_json(folder / "state.json")
        write_state(folder, **now | {"state": "queued", "note": ""})
        write_json(folder / "job.json", spec | {"ticket": time.time_ns()})
        command = [sys.executable, "-m", "ui.library.worker", str(folder.resolve())]
        count = str(spec["threads"])
        with open(folder / "log.txt", "ab") as log:
            _children.append(subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[handle],
                start_new_session=True,          # Ctrl-C in the server's terminal is not for it
                env=os.environ | {"OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count}))
    finally:
        os.close(handle)


def _held(lock: Path) -> bool:
    """Whether a living process holds this lock."""
    try:
        handle = os.open(lock, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(handle)


def _lines(path: Path) -> list[dict]:
    """The whole lines of a file that is being appended to."""
    try:
        return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
    except (OSError, ValueError):
        return []
