"""Training jobs: queue one, stop it, resume it, delete it (`job.py` says what one is, `scheduler.py` whose turn it is).

Every OSError on the way to a job becomes one sentence.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from qpwl_core.common.bounds import JOBS, JOBS_WAITING_EACH, RUNS, RUNS_EACH
from qpwl_core.common.files import FileError, read_json, write_json
from qpwl_core.data.recordings import Recordings
from qpwl_core.models.config import Config
from ui.library.job import COPY, LIVE, Job, find, jobs, state_of, write_state
from ui.library.scheduler import served, turns, wake

__all__ = ["COPY", "LIVE", "Job", "ahead_of", "check_kept", "check_room", "delete", "find", "forget", "jobs",
           "remove_folder", "resume", "stop", "submit", "threads", "write_state"]
GONE = "it is not there any more: somebody deleted it"


def threads() -> int:
    """Of the CPU, for a training: all but one, which is for the pages."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores - 1)


def submit(runs: Path, kind: str, title: str, data: str, config: Config, recordings: Recordings | None = None,
           grid: dict | None = None, keep_gallery: bool = True, owner: str = "", *, most: int = JOBS,
           waiting_each: int = JOBS_WAITING_EACH) -> Job:
    """Queue a job: ``data`` is the name of a registered set, unless ``recordings`` are given, which go with the job.

    ``grid``: {"points": [...], "p": [...], "seeds": [...]} of a job of kind "grid". The copy of ``recordings`` is
    deleted when the run ends; ``keep_gallery``: whether what the model saw in the people held out is kept. ``owner``:
    who asks for it; each may have one job that runs and ``waiting_each`` that wait, all together ``most``, and one
    person alone ("") has no bound but the latter.
    """
    check_room(runs, owner, most, waiting_each)
    check_kept(runs, owner)
    folder = runs / secrets.token_hex(6)
    spec = {"kind": kind, "title": title, "data": data, "config": config.to_dict(), "grid": grid, "threads": threads(),
            "created": datetime.now(UTC).isoformat(timespec="seconds"), "ticket": 0, "owner": owner,
            "uploaded": recordings is not None, "keep_gallery": keep_gallery}
    try:
        with _sentence(f"{runs} cannot be written", making=True):
            folder.mkdir(parents=True)
            if recordings is not None:
                recordings.save(folder / COPY, compressed=False)
        _queue(folder, spec)
    except BaseException:                        # nothing half made stays, least of all recordings
        shutil.rmtree(folder, ignore_errors=True)
        raise
    job = find(runs, folder.name)
    if job is None:
        raise FileError(GONE)
    return job


def check_room(runs: Path, owner: str = "", most: int = JOBS, waiting_each: int = JOBS_WAITING_EACH) -> None:
    """Refuse where as many jobs are in the queue as may be, of all people or of this one."""
    alive = [job for job in jobs(runs) if job.alive]
    if len(alive) >= most:
        raise FileError(f"{most} jobs are waiting already, which is the most: cancel one first")
    waiting = [job for job in alive if job.state == "queued"]
    if len(waiting) == len(alive):
        waiting = turns(waiting, served(runs))[1:]           # the first of them runs in a moment
    if owner and sum(job.owner == owner for job in waiting) >= waiting_each:
        raise FileError(f"{waiting_each} jobs of yours are waiting already, which is the most that one person may have "
                        "beside the one that runs: cancel one first")


def check_kept(runs: Path, owner: str) -> None:
    """Refuse where a visitor of a class, or all of them, keep as many runs as may be; one person alone has no bound."""
    kept = [job.owner for job in jobs(runs)] if owner else []
    if kept.count(owner) >= RUNS_EACH:
        raise FileError(f"you keep {RUNS_EACH} runs already, which is the most that one person may have here: delete "
                        "one first")
    if len(kept) >= RUNS:
        raise FileError(f"{RUNS} runs are kept here already, which is the most of all people together: delete one of "
                        "yours first, or ask the lecturer")


def resume(job: Job, *, most: int = JOBS, waiting_each: int = JOBS_WAITING_EACH) -> None:
    """Go on with a job that was stopped or interrupted, or failed, at the end of the queue."""
    now = find(job.folder.parent, job.id)
    if now is None:
        raise FileError(GONE)
    if now.alive:
        raise FileError("it is running already" if now.state == "running" else "it is waiting for its turn already")
    if now.spec.get("uploaded") and not now.has_copy:
        raise FileError("the copy of its recordings was deleted when it ended: upload them and start it again")
    check_room(job.folder.parent, job.owner, most, waiting_each)
    _queue(now.folder, now.spec)


def forget(job: Job) -> None:
    """Delete the copy of uploaded recordings of a job that does not run; it then cannot be resumed."""
    now = find(job.folder.parent, job.id)
    if now is not None and now.alive:
        raise FileError("it is running: stop it first")
    with _sentence("the copy cannot be deleted"):
        (job.folder / COPY).unlink(missing_ok=True)


def stop(job: Job) -> None:
    """Ask a job to stop, which it does within a second, keeping all that it reached; one that waits leaves the queue.

    Who leaves before the first step leaves no recordings behind.
    """
    now = find(job.folder.parent, job.id)
    if now is None or not now.alive:
        return
    with _sentence("it cannot be stopped"):
        (job.folder / "stop").touch()
        with contextlib.suppress(Timeout), FileLock(job.folder / "lock", timeout=0):
            now = find(job.folder.parent, job.id)            # nobody runs it, and nobody begins to while we hold this
            if now is not None and state_of(job.folder) == "queued":
                if not (job.folder / "config.json").exists():
                    (job.folder / COPY).unlink(missing_ok=True)
                write_state(job.folder, **now.now | {"state": "stopped", "note": ""})


def delete(job: Job) -> None:
    """Remove a job that does not run, with all its files."""
    remove_folder(job.folder)


def remove_folder(folder: Path) -> None:
    """Delete the folder of a run or an uploaded model, unless it is in use; to all who look it is gone at once."""
    now = find(folder.parent, folder.name)
    if now is not None and now.alive:
        raise FileError("it is running: stop it first")
    gone = folder.with_name(f".gone-{secrets.token_hex(6)}")
    with _sentence("it cannot be deleted"):
        os.replace(folder, gone)
    shutil.rmtree(gone, ignore_errors=True)


def ahead_of(job: Job) -> list[Job]:
    """Who is before a job in the queue, the one that runs included."""
    runs = job.folder.parent
    alive = [other for other in jobs(runs) if other.alive]
    order = turns([other for other in alive if other.state == "queued"], served(runs))
    place = next((i for i, other in enumerate(order) if other.id == job.id), None)
    if place is None:                                        # it runs, or has ended
        return []
    return [*order[:place][::-1], *(other for other in alive if other.state == "running")]


def _queue(folder: Path, spec: dict) -> None:
    """Put a job at the end of the queue, and see to it that somebody takes the next one."""
    with _sentence("it cannot be started"):
        try:
            with FileLock(folder / "lock", timeout=5):       # one who has said that it ends holds it a moment longer
                (folder / "stop").unlink(missing_ok=True)
                now: dict = {}
                with contextlib.suppress(FileError):
                    now = read_json(folder / "state.json")
                last = max((job.spec["ticket"] for job in jobs(folder.parent)), default=0)
                write_json(folder / "job.json", spec | {"ticket": max(time.time_ns(), last + 1)})   # clocks go back
                write_state(folder, **now | {"state": "queued", "note": ""})
        except Timeout:
            raise FileError("it is running already") from None
        wake(folder.parent)


@contextlib.contextmanager
def _sentence(what: str, making: bool = False) -> Iterator[None]:
    """``what`` went wrong, and why, where the disk or the system says no; ``making``: nothing is there yet."""
    try:
        yield
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not making:
            raise FileError(GONE) from None
        raise FileError(f"{what}: {(error.strerror or str(error)).lower()}") from None
