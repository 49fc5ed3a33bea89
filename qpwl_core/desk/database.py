"""The enrolment database: who is enrolled with which embeddings, and a log of all decisions. One SQLite file per model.

What was confirmed survives ``kill -9`` and a loss of power: every change is one short transaction that is on disk when
the call returns. Any number of processes read while one writes; the next writer waits its turn. A file that is damaged,
someone else's or from a later version is refused in one sentence and left as it is.
"""

from __future__ import annotations

import csv
import io
import json
import os
import secrets
import sqlite3
import zlib
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch

from qpwl_core.common.files import FileError
from qpwl_core.common.text import shown
from qpwl_core.desk.decisions import Decision, Enrolled, decide
from qpwl_core.desk.names import checked_name, name_key
from qpwl_core.desk.space import Space

OURS, VERSION = 0x51505744, 1     # application_id of the files ("QPWD"), and user_version
BUSY = 20                         # seconds that a writer waits for its turn
MOST_SEQUENCES = 1000             # of one person
SCHEMA = """
CREATE TABLE header (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, key TEXT NOT NULL UNIQUE, added TEXT NOT NULL,
                     origin TEXT NOT NULL) STRICT;
CREATE TABLE sequences (id INTEGER PRIMARY KEY, person INTEGER NOT NULL REFERENCES people ON DELETE CASCADE,
                        embedding BLOB NOT NULL, crc INTEGER NOT NULL) STRICT;
CREATE INDEX sequences_of ON sequences (person);
CREATE TABLE log (id INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, kind TEXT NOT NULL, claimed TEXT,
                  decided TEXT, distance REAL NOT NULL, threshold REAL NOT NULL, n INTEGER NOT NULL,
                  enrolled INTEGER NOT NULL, model TEXT NOT NULL) STRICT;
"""
# Beside the log where it is known, so that files of before are read and files of now can be read by what was before.
TRUTHS = "CREATE TABLE IF NOT EXISTS truths (log INTEGER PRIMARY KEY, truth TEXT, guess TEXT) STRICT"
WRITTEN = ("id", "time", "kind", "claimed", "decided", "distance", "threshold", "n", "enrolled", "model")
LOGGED = (*WRITTEN, "truth", "guess")


@dataclass(frozen=True)
class Person:
    """Someone enrolled."""

    name: str
    sequences: int
    added: str            # UTC
    origin: str           # where the sequences came from


class Desk:
    """The database of one model. Objects are cheap; many may be open on one file, in any thread and process."""

    def __init__(self, place, space: Space, create: bool = True):
        """``place``: a folder, in which the file of this model is, or is made (``create``); or a file that is there."""
        place = Path(place)
        self.space = space
        self.path = place if place.is_file() else place / f"{space.model[:16]}.sqlite"
        self._loaded: tuple[tuple, Enrolled] | None = None
        if not self.path.exists():
            if not create:
                raise FileError(_nobody(place, space))
            self._create()
        with self._open():                     # a file that cannot be used is refused here
            pass

    def enrol(self, name: str, values, model: str, origin: str = "") -> Person:
        """Enrol a person with embeddings (n, *shape) of ``model``: all of them or, where anything is wrong, none."""
        name, values = checked_name(name), self.space.checked(values, model).numpy()
        if len(values) > MOST_SEQUENCES:
            raise ValueError(f"a person is enrolled with at most {MOST_SEQUENCES} sequences, not {len(values)}")
        blobs = [np.ascontiguousarray(x, dtype="<f4").tobytes() for x in values]
        person = Person(name, len(blobs), _now(), origin[:200])
        with self._open(write=True) as database:
            taken = database.execute("SELECT name FROM people WHERE key = ?", [name_key(name)]).fetchone()
            if taken:
                raise ValueError(f"{shown(taken[0])} is enrolled already: choose another name, or remove them first")
            row = database.execute("INSERT INTO people (name, key, added, origin) VALUES (?, ?, ?, ?)",
                                   [name, name_key(name), person.added, person.origin])
            database.executemany("INSERT INTO sequences (person, embedding, crc) VALUES (?, ?, ?)",
                                 [(row.lastrowid, blob, zlib.crc32(blob)) for blob in blobs])
            _count_change(database)
        return person

    def remove(self, name: str) -> None:
        """Remove a person and their embeddings; the log keeps what was decided."""
        with self._open(write=True) as database:
            if not database.execute("DELETE FROM people WHERE key = ?", [name_key(name)]).rowcount:
                raise ValueError(f"nobody called {shown(name)} is enrolled")
            _count_change(database)

    def people(self) -> list[Person]:
        """Everyone enrolled, by name."""
        with self._open() as database:
            rows = database.execute("SELECT people.name, COUNT(*), added, origin FROM people JOIN sequences "
                                    "ON person = people.id GROUP BY people.id ORDER BY key").fetchall()
        return [Person(*row) for row in rows]

    def find(self, name: str) -> str:
        """The name as it was enrolled, however it is written here."""
        with self._open() as database:
            row = database.execute("SELECT name FROM people WHERE key = ?", [name_key(name)]).fetchone()
        if not row:
            raise ValueError(f"nobody called {shown(name)} is enrolled")
        return row[0]

    def enrolled(self) -> Enrolled:
        """Everyone's embeddings, loaded once and again only after someone, in any process, changed them."""
        with self._open() as database:
            version = tuple(database.execute("SELECT value FROM header WHERE name IN ('changes', 'id') ORDER BY name"))
            loaded = self._loaded
            if loaded is None or loaded[0] != version:
                loaded = version, self._load(database)
                self._loaded = loaded          # one assignment: other threads see the old or the new
        return loaded[1]

    def decide(self, presented, model: str, threshold: float, claimed: str | None = None,
               truth: str | None = None) -> Decision:
        """Identify (or verify a claim) and write it into the log: there is no decision without its line."""
        if claimed is not None:
            claimed = self.find(claimed)
        decision = decide(self.enrolled(), presented, model, threshold, claimed)
        self.record(decision, truth)
        return decision

    def record(self, decision: Decision, truth: str | None = None, guess: str | None = None) -> None:
        """Write a decision into the log, with who it really was and what was guessed, where that is known."""
        row = [_now(), decision.kind, decision.claimed, decision.person, decision.distance, decision.threshold,
               decision.n, len(decision.names), decision.model]
        with self._open(write=True) as database:
            line = database.execute(f"INSERT INTO log ({', '.join(WRITTEN[1:])}) VALUES "
                                    f"({', '.join('?' * len(row))})", row)
            if truth is not None or guess is not None:
                database.execute(TRUTHS)
                database.execute("INSERT INTO truths VALUES (?, ?, ?)", [line.lastrowid, truth, guess])

    def log(self, most: int | None = None) -> list[dict]:
        """Decisions, the last one first: time (UTC), kind, claimed, decided (None: rejected), …, truth, guess."""
        with self._open() as database:
            there = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'truths'").fetchone()
            known = "truth, guess FROM log LEFT JOIN truths ON log = id" if there else "NULL, NULL FROM log"
            rows = database.execute(f"SELECT {', '.join(WRITTEN)}, {known} ORDER BY id DESC LIMIT ?",
                                    [-1 if most is None else most]).fetchall()
        return [dict(zip(LOGGED, row, strict=True)) for row in rows]

    def log_csv(self) -> str:
        """All decisions as CSV, the first one first; a name that a spreadsheet would run as a formula gets a quote."""
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(LOGGED)
        for row in reversed(self.log()):
            table.writerow([f"'{x}" if isinstance(x, str) and x.startswith(("=", "+", "-", "@")) else x
                            for x in row.values()])
        return text.getvalue()

    def _load(self, database) -> Enrolled:
        names, values, owner = [], [], []
        rows = database.execute("SELECT people.id, name, embedding, crc FROM people JOIN sequences "
                                "ON person = people.id ORDER BY key, sequences.id")
        size, last = 4 * int(np.prod(self.space.shape)), None
        for person, name, blob, crc in rows:
            if len(blob) != size or zlib.crc32(blob) != crc:
                raise FileError(self._damaged(f"a sequence of {shown(name)} is not what was written"))
            if person != last:
                names.append(name)
                last = person
            values.append(blob)
            owner.append(len(names) - 1)
        table = np.frombuffer(b"".join(values), dtype="<f4").reshape(-1, *self.space.shape).astype(np.float32)
        if not np.isfinite(table).all():
            raise FileError(self._damaged("an embedding has NaN or infinite values"))
        return Enrolled(self.space, tuple(names), torch.from_numpy(table), np.array(owner, dtype=int))

    def _create(self) -> None:
        """Make the file beside its place and put it there whole; where another process was first, theirs stays."""
        part = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        facts = {"id": secrets.token_hex(8), "changes": "0", "model": self.space.model, "method": self.space.method,
                 "p": repr(self.space.p), "levels": json.dumps(self.space.levels),
                 "shape": json.dumps(self.space.shape), "created": _now()}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(part, isolation_level=None)) as database:
                database.execute("PRAGMA journal_mode = WAL")
                database.execute("PRAGMA synchronous = FULL")
                database.executescript(f"BEGIN; PRAGMA application_id = {OURS}; PRAGMA user_version = {VERSION}; "
                                       f"{SCHEMA} COMMIT")
                database.executemany("INSERT INTO header VALUES (?, ?)", facts.items())
            os.link(part, self.path)
            _sync_folder(self.path.parent)
        except FileExistsError:
            if not self.path.exists():         # it is the folder that is no folder
                raise FileError(f"{self.path.parent} is no folder to keep enrolments in") from None
        except (OSError, sqlite3.Error) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise FileError(f"{self.path} cannot be written: {why.lower()}") from None
        finally:
            with suppress(OSError):
                part.unlink()

    @contextmanager
    def _open(self, write: bool = False):
        """A connection inside one transaction: committed at the end, rolled back where anything goes wrong."""
        try:
            place = f"{self.path.absolute().as_uri()}?mode=rw"
            with closing(sqlite3.connect(place, timeout=BUSY, isolation_level=None, uri=True)) as database:
                for pragma in ("synchronous = FULL", "foreign_keys = ON", "trusted_schema = OFF"):
                    database.execute(f"PRAGMA {pragma}")
                database.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                self._check(database)
                yield database
                database.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            raise FileError(self._reason(error)) from None

    def _check(self, database) -> None:
        """Refuse what is not a database of ours, of this version, of this model."""
        ours, version = (database.execute(f"PRAGMA {name}").fetchone()[0]
                         for name in ("application_id", "user_version"))
        if ours != OURS:
            raise FileError(f"{self.path} is not an enrolment database; it is left as it is")
        if version != VERSION:
            raise FileError(f"{self.path} was written by another version of QP-WL Lab (enrolment format {version}, and "
                            f"this one reads {VERSION}); it is left as it is")
        facts = dict(database.execute("SELECT name, value FROM header"))
        try:
            theirs = Space(facts["model"], facts["method"], float(facts["p"]), _tuple(facts["levels"]),
                           _tuple(facts["shape"]) or ())
        except (KeyError, TypeError, ValueError):
            raise FileError(self._damaged("its header cannot be read")) from None
        if theirs.model != self.space.model:
            raise FileError(f"{self.path} holds people enrolled with another model ({theirs.model[:8]}…, "
                            f"{theirs.method}) than this one ({self.space.model[:8]}…, {self.space.method}): choose "
                            "that model, or another desk")
        if theirs != self.space:
            raise FileError(self._damaged("its header does not fit the model it names"))

    def _reason(self, error: sqlite3.DatabaseError) -> str:
        text = str(error).lower()
        if "locked" in text or "busy" in text:
            return f"{self.path} is busy: another process has been writing for {BUSY} s; try again"
        if "not a database" in text or "malformed" in text or "no such table" in text or "no such column" in text:
            return self._damaged(text)
        if "full" in text:
            return f"{self.path} cannot be written: {text}; nothing was changed"
        return f"{self.path} cannot be used: {text}"

    def _damaged(self, why: str) -> str:
        return (f"{self.path} is damaged ({why}); it is left as it is: put a copy of it back, or move it away to begin "
                "anew")


def _nobody(folder: Path, space: Space) -> str:
    """Why there is no database to open."""
    others = any(path.stem != space.model[:16] for path in folder.glob("*.sqlite"))
    return f"nobody is enrolled with this model in {folder}" + (
        "; who is enrolled there is so with another model, whose embeddings mean nothing to this one" if others else "")


def _count_change(database) -> None:
    database.execute("UPDATE header SET value = value + 1 WHERE name = 'changes'")


def _sync_folder(folder: Path) -> None:
    """So that the name of a new file survives a loss of power, too."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _tuple(text: str) -> tuple | None:
    value = json.loads(text)
    return None if value is None else tuple(value)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
