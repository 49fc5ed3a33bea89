"""A training job as its files tell it; `jobs.py` makes, stops and resumes jobs, `scheduler.py` gives them their turns.

`runs/<id>/` holds `job.json` (what was asked for, and by whom), `state.json` (where it stands, replaced often),
`live.jsonl` (its curve) and what the training itself writes. A job that waits is these files and no process. The
process of one that trains (`worker.py`) holds a lock on `lock` as long as it lives, whatever ends it: a job that says
it runs and holds no lock was interrupted, and no process number is trusted without it. So a reloaded page, another
server on the same folder or a restarted one sees the same. Stopping is a file named `stop`. Looking at jobs does not
load PyTorch, since the scheduler does so, too.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from qpwl_core.common.files import FileError, read_json
from qpwl_core.models.config import Config

LIVE = ("queued", "running")
COPY = "recordings.npz"                         # of an upload, in the folder of a run, until the run ends
SENT = "data.npz"                               # of a registered set, on a machine of a cluster that has none


@dataclass(frozen=True)
class Job:
    """A job as its files tell it. States: queued, running, finished, stopped, failed, interrupted."""

    folder: Path
    spec: dict           # job.json: kind ("train", "grid"), title, data, config, grid, ticket, threads, created, owner
    now: dict            # state.json: state, note, and step, steps, loss, eta, … as far as it came
    state: str

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def owner(self) -> str:
        """Whose job it is: a visitor's id, "" where one person works alone."""
        return str(self.spec.get("owner", ""))

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
    def why(self) -> str:
        """Why it was interrupted, where that is known."""
        return str(self.now.get("note") or "") if self.now.get("state") == "interrupted" else ""

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


def jobs(runs: Path) -> list[Job]:
    """All jobs in a folder of runs, the latest first."""
    try:
        names = [folder.name for folder in runs.iterdir()]
    except OSError:
        return []
    found = [find(runs, name) for name in names]
    return sorted((job for job in found if job), key=lambda job: job.spec["ticket"], reverse=True)


def find(runs: Path, name: str | None) -> Job | None:
    """The job of this id, None where there is none."""
    folder = runs / str(name)
    if not re.fullmatch(r"[0-9a-f]{12}", str(name)) or not os.path.exists(folder / "job.json"):
        return None
    try:
        spec, now = read_json(folder / "job.json"), read_json(folder / "state.json")
        said, _ = now["state"], spec["config"]["method"]
        if said == "running" and not held(folder / "lock"):
            now = read_json(folder / "state.json")           # who has just ended has written its state before
            said = now["state"] if now["state"] not in LIVE else "interrupted"
        return Job(folder, spec, now, said) if int(spec["ticket"]) else None
    except (FileError, ValueError, KeyError, TypeError, OSError):
        return None                              # being made or deleted, or not ours


def write_state(folder: Path, **now) -> None:
    """Replace state.json at once; it is written many times a minute, so nothing waits for the disk."""
    part = folder / f".state.json.{secrets.token_hex(8)}"
    try:
        part.write_text(json.dumps(now), encoding="utf-8")
        os.replace(part, folder / "state.json")
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def last_word(folder: Path, **changes) -> None:
    """Say how a job ended, also on a full disk: a file that is there already can be written over."""
    now: dict = {}
    with contextlib.suppress(FileError):
        now = read_json(folder / "state.json")
    try:
        write_state(folder, **now | changes)
    except OSError:
        with contextlib.suppress(OSError), open(folder / "state.json", "r+", encoding="utf-8") as file:
            file.write(json.dumps({"state": "failed", "note": "", **changes}))
            file.truncate()


def sentence(error: BaseException) -> str:
    """What went wrong, for the page."""
    if isinstance(error, MemoryError):
        return "There was not enough memory: try fewer pairs, fewer filters or a larger stride."
    if isinstance(error, OSError):
        return f"{error.filename or 'The disk'}: {error.strerror or error}"
    text = " ".join(str(error).split())
    if "out of memory" in text or "allocate memory" in text:
        return sentence(MemoryError())
    return text if isinstance(error, ValueError) else f"Unexpected {type(error).__name__}: {text[:300]}"


def state_of(folder: Path) -> str | None:
    """What state.json says, None where there is none yet."""
    with contextlib.suppress(FileError, AttributeError):
        return read_json(folder / "state.json").get("state")
    return None


def held(lock: Path) -> bool:
    """Whether a living process holds this lock."""
    try:
        with FileLock(lock, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:                              # not there, or not ours
        return False


def _lines(path: Path) -> list[dict]:
    """The whole lines of a file that is being appended to."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]
    except (OSError, ValueError):
        return []
