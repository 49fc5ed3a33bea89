"""The space of a visitor: their runs, models, uploads and desks, listed for them alone, and removed at a word.

The lecturer sees all of them. In `make run` there is one person, whose space is everything.
"""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from qpwl_core.common.files import FileError, read_json, write_json
from qpwl_core.common.paths import desk_place, runs_folder
from qpwl_core.common.text import counted
from qpwl_core.desk.storage import is_address, people_in, storages_of
from ui.library import jobs
from ui.visitors.once import forget
from ui.visitors.who import is_mine, owner_of, sees_all, visitor

FOLDERS = ".visitors"             # in the folder of runs: one folder per visitor, with uploads and notes


@dataclass
class Space:
    """What one visitor has."""

    runs: list[jobs.Job]
    models: list[Path]            # folders with a card, a finished run's included
    uploads: list[Path]
    desks: dict[str, list[str]]   # where -> who is enrolled

    def __str__(self) -> str:
        people = sum(map(len, self.desks.values()))
        return (f"{counted(len(self.runs), 'run', 'runs')}, {counted(len(self.models), 'model', 'models')}, "
                f"{counted(len(self.uploads), 'upload', 'uploads')}, {counted(people, 'person', 'people')} enrolled")


    def brief(self) -> str:
        """What there is of it, for a row of a table."""
        people, state = sum(map(len, self.desks.values())), next((job.state for job in self.runs if job.alive), "")
        parts = [f"{counted(len(self.runs), 'run', 'runs')}{f' ({state})' if state else ''}" if self.runs else "",
                 counted(len(self.models), "model", "models") if self.models else "",
                 counted(len(self.uploads), "upload", "uploads") if self.uploads else "",
                 f"{people} enrolled" if people else ""]
        return ", ".join(filter(None, parts)) or "nothing yet"


def my_jobs() -> list[jobs.Job]:
    """The jobs of whoever looks, the latest first; the lecturer's are all."""
    me, everything = visitor(), sees_all()
    return [job for job in jobs.jobs(runs_folder()) if everything or job.owner == me]


def my_job(name: str | None) -> jobs.Job | None:
    """The job of this id, None where there is none or it is another's."""
    job = jobs.find(runs_folder(), name)
    return job if job is not None and is_mine(job.folder) else None


def folder_of(owner: str) -> Path:
    """Where a visitor's uploads and notes are kept."""
    return runs_folder() / FOLDERS / owner


def uploads_folder(owner: str) -> Path:
    return folder_of(owner) / "uploads"


class Notes(dict):
    """A small dict of JSON values, kept in a file where there is one: answers to lessons, say."""

    def __init__(self, path: Path | None):
        self.path = path
        with suppress(FileError, ValueError, TypeError):
            super().__init__(read_json(path) if path is not None else {})

    def __setitem__(self, key: str, value) -> None:
        if key in self and self[key] == value:
            return
        super().__setitem__(key, value)
        if self.path is not None and len(self) <= 1000:
            with suppress(FileError):                        # a full disk is no reason to forget it in this session
                write_json(self.path, dict(self))


def my_notes(name: str) -> dict:
    """Notes of whoever looks: as long as the session; in a class as long as the visitor is there."""
    who = visitor()
    if name not in st.session_state:
        st.session_state[name] = Notes(folder_of(who) / f"{name}.json" if who else None)
    return st.session_state[name]


def space_of(owner: str) -> Space:
    """All that a visitor has."""
    runs = runs_folder()
    folders = [path for path in (sorted(runs.glob("[!.]*")) if runs.is_dir() else ()) if owner_of(path) == owner]
    desks = {}
    for storage in storages_of(desk_place(), owner):
        with suppress(FileError):
            desks[storage.where] = people_in(storage)
    return Space([job for job in jobs.jobs(runs) if job.owner == owner],
                 [path for path in folders if (path / "card.json").exists()],
                 sorted(uploads_folder(owner).glob("*.json")), desks)


def clear(owner: str, patience: float = 10.0) -> Space:
    """Remove all that a visitor has, what runs included; returns what that was. A FileError says what is left."""
    if not owner:
        raise ValueError("owner must name a visitor")
    had = space_of(owner)
    for job in had.runs:
        jobs.stop(job)
    ends = time.monotonic() + patience
    while time.monotonic() < ends and any(job.alive for job in jobs.jobs(runs_folder()) if job.owner == owner):
        time.sleep(0.1)
    for folder in {job.folder for job in had.runs} | set(had.models):
        jobs.remove_folder(folder)
        forget(folder)
    shutil.rmtree(folder_of(owner), ignore_errors=True)
    for storage in storages_of(desk_place(), owner):
        storage.drop()
    if not is_address(desk_place()):
        shutil.rmtree(Path(desk_place()) / owner, ignore_errors=True)
    return had
