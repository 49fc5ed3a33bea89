"""The enrolment database: who is enrolled with which embeddings, and a log of all decisions. One per model and owner.

It is a SQLite file, or a schema of a PostgreSQL database (`storage.py`). What was confirmed survives ``kill -9`` and a
loss of power: every change is one short transaction that is on disk when the call returns. Any number of processes read
while one writes; the next writer waits its turn. A database that is damaged, someone else's or from a later version is
refused in one sentence and left as it is.
"""

from __future__ import annotations

import json
import secrets
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from qpwl_core.common.bounds import ENROLLED_SEQUENCES as MOST_SEQUENCES
from qpwl_core.common.files import FileError
from qpwl_core.common.lazy import Lazy
from qpwl_core.common.sheets import row_of
from qpwl_core.common.text import shown
from qpwl_core.desk import tables
from qpwl_core.desk.decisions import Decision, Enrolled, decide, joined
from qpwl_core.desk.names import checked_name, name_key
from qpwl_core.desk.space import Space
from qpwl_core.desk.storage import SqliteFile, damaged, is_address, storage_at

if TYPE_CHECKING:
    import sqlalchemy as sql
else:
    sql = Lazy("sqlalchemy")

BUSY = 20                         # seconds that a writer waits for its turn
FORGOTTEN = "someone forgotten"  # in the log, where a name stood
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

    def __init__(self, place, space: Space, create: bool = True, owner: str = ""):
        """``place``: a folder, in which the file of this model is, or is made (``create``); or a file that is there; or
        the address of a PostgreSQL database. ``owner``: whose desk it is, where several people have one each."""
        self.space = space
        self.storage = storage_at(place, space.model[:16], owner)
        self.where = self.storage.where
        self._loaded: tuple[tuple, Enrolled] | None = None
        self._known: tuple | None = ()         # the file as it was when all of it was last looked at, or written by us
        if not self.storage.exists():
            if not create:
                raise FileError(_nobody(place, self.storage.beside()))
            self.storage.create(tables.TABLES, {
                "id": secrets.token_hex(8), "changes": "0", "model": space.model, "method": space.method,
                "p": repr(space.p), "levels": json.dumps(space.levels), "shape": json.dumps(space.shape),
                "created": _now()})
        with self._open():                     # a file that cannot be used is refused here
            pass

    @property
    def path(self) -> Path:
        """The file, where it is one."""
        if not isinstance(self.storage, SqliteFile):
            raise AttributeError(f"{self.where} is no file")
        return self.storage.path

    def enrol(self, name: str, values, model: str, origin: str = "") -> Person:
        """Enrol a person with embeddings (n, *shape) of ``model``: all of them or, where anything is wrong, none."""
        name, values = checked_name(name), self.space.checked(values, model).numpy()
        if len(values) > MOST_SEQUENCES:
            raise ValueError(f"a person is enrolled with at most {MOST_SEQUENCES} sequences, not {len(values)}")
        blobs = [np.ascontiguousarray(x, dtype="<f4").tobytes() for x in values]
        person = Person(name, len(blobs), _now(), "".join(filter(str.isprintable, origin))[:200])
        with self._open(write=True) as database:
            taken = _found(database, name)
            if taken is not None:
                raise ValueError(f"{shown(taken)} is enrolled already: choose another name, or remove them first")
            row = database.execute(tables.PEOPLE.insert().values(name=name, key=name_key(name), added=person.added,
                                                          origin=person.origin)).inserted_primary_key
            database.execute(tables.SEQUENCES.insert(), [{"person": row[0], "embedding": blob, "crc": zlib.crc32(blob)}
                                                  for blob in blobs])
            _count_change(database)
        return person

    def remove(self, name: str) -> None:
        """Remove a person and their embeddings, which are overwritten; the log keeps what was decided."""
        with self._open(write=True) as database:
            if not database.execute(tables.PEOPLE.delete().where(tables.PEOPLE.c.key == name_key(name))).rowcount:
                raise ValueError(f"nobody called {shown(name)} is enrolled")
            _count_change(database)
        self.storage.overwrite()

    def forget(self, name: str) -> int:
        """Remove a person as `remove` does, and their name from the log, too; returns how many lines had it."""
        name, lines = self.find(name), set()
        columns = [(tables.LOG, "claimed", "id"), (tables.LOG, "decided", "id")]
        with self._open(write=True) as database:
            if sql.inspect(database).has_table("truths", schema=self.storage.schema):
                columns += [(tables.TRUTHS, "truth", "log"), (tables.TRUTHS, "guess", "log")]
            for table, column, line in columns:
                lines |= set(database.execute(sql.select(table.c[line]).where(table.c[column] == name)).scalars())
                database.execute(table.update().where(table.c[column] == name).values({column: FORGOTTEN}))
            database.execute(tables.PEOPLE.delete().where(tables.PEOPLE.c.key == name_key(name)))
            _count_change(database)
        self.storage.overwrite()
        return len(lines)

    def people(self) -> list[Person]:
        """Everyone enrolled, by name."""
        people = tables.PEOPLE
        with self._open() as database:
            rows = database.execute(
                sql.select(people.c.name, sql.func.count(), people.c.added, people.c.origin)
                .join(tables.SEQUENCES).group_by(people.c.id).order_by(people.c.key)).all()
        return [Person(*row) for row in rows]

    def find(self, name: str) -> str:
        """The name as it was enrolled, however it is written here."""
        with self._open() as database:
            found = _found(database, name)
        if found is None:
            raise ValueError(f"nobody called {shown(name)} is enrolled")
        return found

    def enrolled(self) -> Enrolled:
        """Everyone's embeddings as one array, loaded once and again only after someone, in any process, changed them:
        as long as nobody did, it is the same object. Where the file was written by others it is looked at again, whole,
        so that a desk that is open notices another file in its place, or damage."""
        header, stamp = tables.HEADER, self._stamp()
        with self._open() as database:
            wanted = sql.select(header.c.value).where(header.c.name.in_(("changes", "id"))).order_by(header.c.name)
            version = tuple(database.execute(wanted).scalars())
            loaded = self._loaded
            if loaded is None or loaded[0] != version or self._known != stamp:
                ours = loaded is not None and self._known == stamp          # nobody else has written
                found = (self._more(database, *loaded, version) if ours and loaded else None) or self._load(database)
                if loaded is None or loaded[0] != version or not loaded[1].same(found):
                    loaded = version, found
                    self._loaded = loaded      # one assignment: other threads see the old or the new
                self._known = stamp
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
        row = {"time": _now(), "kind": decision.kind, "claimed": decision.claimed, "decided": decision.person,
               "distance": decision.distance, "threshold": decision.threshold, "n": decision.n,
               "enrolled": decision.enrolled, "model": decision.model}
        with self._open(write=True) as database:
            line = database.execute(tables.LOG.insert().values(row)).inserted_primary_key
            if truth is not None or guess is not None:
                tables.TRUTHS.create(database, checkfirst=True)
                database.execute(tables.TRUTHS.insert().values(log=line[0], truth=truth, guess=guess))

    def log(self, most: int | None = None) -> list[dict]:
        """Decisions, the last one first: time (UTC), kind, claimed, decided (None: rejected), …, truth, guess."""
        log, truths = tables.LOG, tables.TRUTHS
        with self._open() as database:
            if sql.inspect(database).has_table("truths", schema=self.storage.schema):
                wanted = sql.select(log, truths.c.truth, truths.c.guess).outerjoin(truths, truths.c.log == log.c.id)
            else:
                wanted = sql.select(log, sql.null(), sql.null())
            rows = database.execute(wanted.order_by(log.c.id.desc()).limit(most)).all()
        return [dict(zip(LOGGED, row, strict=True)) for row in rows]

    def log_csv(self) -> str:
        """All decisions as CSV, the first one first; a name that a spreadsheet would run as a formula gets a quote."""
        return "".join(row_of(row) + "\n" for row in (LOGGED, *(row.values() for row in reversed(self.log()))))

    def _load(self, database) -> Enrolled:
        nobody = Enrolled(self.space, (), torch.zeros(0, *self.space.shape), np.zeros(0, int))
        return joined(nobody, *self._read(database))

    def _more(self, database, known: tuple, before: Enrolled, now: tuple) -> Enrolled | None:
        """With those who came since; None where that is not all that changed: each change would be one who came."""
        if known[1] != now[1]:                 # another file
            return None
        newcomers = self._read(database, before.last)
        return joined(before, *newcomers) if len(newcomers[0]) == int(now[0]) - int(known[0]) else None

    def _read(self, database, after: int = -1) -> tuple[list[tuple[int, str]], np.ndarray, np.ndarray]:
        """People of later numbers than this one, in order: numbers and names, embeddings, and whose each is."""
        newcomers: list[tuple[int, str]] = []
        values, owner = [], []
        people, sequences = tables.PEOPLE, tables.SEQUENCES
        rows = database.execute(sql.select(people.c.id, people.c.name, sequences.c.embedding, sequences.c.crc)
                                .join(sequences).where(people.c.id > after).order_by(people.c.id, sequences.c.id))
        size = 4 * int(np.prod(self.space.shape))
        for person, name, blob, crc in rows:
            if len(blob) != size or zlib.crc32(blob) != crc:
                raise FileError(self._damaged(f"a sequence of {shown(name)} is not what was written"))
            if not newcomers or person != newcomers[-1][0]:
                newcomers.append((person, name))
            values.append(blob)
            owner.append(len(newcomers) - 1)
        table = np.frombuffer(b"".join(values), dtype="<f4").reshape(-1, *self.space.shape)
        if not np.isfinite(table).all():
            raise FileError(self._damaged("an embedding has NaN or infinite values"))
        return newcomers, table, np.array(owner, dtype=int)

    @contextmanager
    def _open(self, write: bool = False):
        """A connection inside one transaction, to a database that is ours, of this version, of this model."""
        before = self._stamp() if write else None
        with self.storage.open(write, BUSY) as database:
            self.storage.check(database)
            self._check(database)
            yield database
        if write and before == self._known:
            self._known = self._stamp()

    def _stamp(self) -> tuple | None:
        """What changes whenever the file is replaced or written, by whomever; None of a server, which keeps its own."""
        if not isinstance(self.storage, SqliteFile):
            return None
        try:
            found = self.path.stat()
        except OSError:
            return ()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def _check(self, database) -> None:
        """Refuse the people of another model."""
        facts = dict(map(tuple, database.execute(sql.select(tables.HEADER.c.name, tables.HEADER.c.value))))
        try:
            theirs = Space(facts["model"], facts["method"], float(facts["p"]), _tuple(facts["levels"]),
                           _tuple(facts["shape"]) or ())
        except (KeyError, TypeError, ValueError):
            raise FileError(self._damaged("its header cannot be read")) from None
        if theirs.model != self.space.model:
            raise FileError(f"{self.where} holds people enrolled with another model ({theirs.model[:8]}…, "
                            f"{theirs.method}) than this one ({self.space.model[:8]}…, {self.space.method}): choose "
                            "that model, or another desk")
        if theirs != self.space:
            raise FileError(self._damaged("its header does not fit the model it names"))

    def _damaged(self, why: str) -> str:
        return damaged(self.where, why)


def _nobody(place, others: bool) -> str:
    """Why there is no database to open."""
    where = "this database" if is_address(place) else place
    return f"nobody is enrolled with this model in {where}" + (
        "; who is enrolled there is so with another model, whose embeddings mean nothing to this one" if others else "")


def _found(database, name: str) -> str | None:
    """The name of a person, as it was enrolled."""
    people = tables.PEOPLE
    return database.execute(sql.select(people.c.name).where(people.c.key == name_key(name))).scalar()


def _count_change(database) -> None:
    count = sql.cast(sql.cast(tables.HEADER.c.value, sql.BigInteger) + 1, sql.Text)
    database.execute(tables.HEADER.update().where(tables.HEADER.c.name == "changes").values(value=count))


def _tuple(text: str) -> tuple | None:
    value = json.loads(text)
    return None if value is None else tuple(value)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
