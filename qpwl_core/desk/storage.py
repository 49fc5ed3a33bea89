"""Where the tables of a desk are kept: a SQLite file, or a schema of a PostgreSQL database. All else is the same.

SQLite is one file per name in a folder and needs nothing. PostgreSQL is for more than one machine: the address
``postgresql://user@host/database`` stands in the folder's place, and every name is a schema there. Either way
``open(write)`` is one transaction: a reader sees one moment, one writer at a time has its turn, and what was committed
is on disk.
"""

from __future__ import annotations

import atexit
import os
import re
import secrets
import sqlite3
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from qpwl_core.common.files import FileError
from qpwl_core.common.lazy import Lazy
from qpwl_core.common.text import quoted
from qpwl_core.desk import tables as desk_tables

if TYPE_CHECKING:
    import sqlalchemy as sql
    from sqlalchemy import Connection, Engine, MetaData
    from sqlalchemy.exc import DBAPIError
else:
    sql = Lazy("sqlalchemy")

OURS, VERSION = 0x51505744, 1     # application_id of the files ("QPWD"), and user_version
NAMES = r"[a-z0-9]{1,32}"         # of a file or a schema, and of an owner
PREFIX = "qpwl_"                  # of our schemas
PRAGMAS = ("synchronous = FULL", "foreign_keys = ON", "trusted_schema = OFF", "secure_delete = ON")


def is_address(place) -> bool:
    """Whether a place is the address of a PostgreSQL database, not a folder."""
    return re.match(r"postgres(ql)?(\+psycopg)?://", str(place)) is not None


def storage_at(place, name: str, owner: str = "") -> SqliteFile | PostgresSchema:
    """What keeps the tables called ``name`` of one owner: in a folder, in a file that is there, or at an address."""
    if not re.fullmatch(NAMES, name) or not re.fullmatch(NAMES + "|", owner):
        raise ValueError(f"a name in a desk has 1 to 32 small letters and digits, not {quoted(name)} of "
                         f"{quoted(owner)}")
    if is_address(place):
        return PostgresSchema(str(place), name, owner)
    place = Path(place)
    return SqliteFile(place if place.is_file() else place / owner / f"{name}.sqlite")


class SqliteFile:
    """One file. It is made whole or not at all; what is deleted in it is overwritten."""

    def __init__(self, path: Path):
        self.path, self.where, self.schema, self.engine = path, str(path), None, _sqlite(path)

    def exists(self) -> bool:
        return self.path.exists()

    def beside(self) -> bool:
        """Whether there are others in the folder."""
        return any(path != self.path and _is_desk(path.stem) for path in self.path.parent.glob("*.sqlite"))

    def drop(self) -> None:
        """Remove the file, and what SQLite keeps beside it; what was in them is overwritten first."""
        for path in (self.path, *(self.path.with_name(self.path.name + end) for end in ("-wal", "-shm"))):
            with suppress(FileNotFoundError), open(path, "r+b", buffering=0) as file:
                file.write(bytes(path.stat().st_size))
                os.fsync(file.fileno())
            path.unlink(missing_ok=True)

    def create(self, tables: MetaData, facts: dict[str, str]) -> None:
        """Make the file beside its place and put it there whole; where another process was first, theirs stays."""
        part = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(part, isolation_level=None)) as file:
                for pragma in ("journal_mode = WAL", "synchronous = FULL", f"application_id = {OURS}",
                               f"user_version = {VERSION}"):
                    file.execute(f"PRAGMA {pragma}")
            with _sqlite(part).begin() as database:
                _fill(database, tables, facts)
            os.link(part, self.path)
            _sync_folder(self.path.parent)
        except FileExistsError:
            if not self.path.exists():         # it is the folder that is no folder
                raise FileError(f"{self.path.parent} is no folder to keep enrolments in") from None
        except (OSError, sqlite3.Error, sql.exc.DBAPIError) as error:
            why = getattr(error, "strerror", None) or str(getattr(error, "orig", error))
            raise FileError(f"{self.path} cannot be written: {why.lower()}") from None
        finally:
            for left in (part, part.with_name(part.name + "-wal"), part.with_name(part.name + "-shm")):
                with suppress(OSError):
                    left.unlink(missing_ok=True)

    @contextmanager
    def open(self, write: bool, patience: float):
        """A connection inside one transaction: committed at the end, rolled back where anything goes wrong."""
        try:
            with self.engine.connect().execution_options(write=write, patience=patience) as database, database.begin():
                yield database
        except UnicodeDecodeError:                   # of what a damaged file says
            raise FileError(damaged(self.where, "its text is no text")) from None
        except sql.exc.DBAPIError as error:
            raise FileError(self._reason(str(error.orig).lower(), patience)) from None

    def check(self, database: Connection) -> None:
        """Refuse what is not a database of ours, of this version."""
        ours, version = (database.exec_driver_sql(f"PRAGMA {name}").scalar_one()
                         for name in ("application_id", "user_version"))
        if ours != OURS:
            raise FileError(f"{self.where} is not an enrolment database; it is left as it is")
        if version != VERSION:
            raise FileError(f"{self.where} was written by another version of QP-WL Lab (enrolment format {version}, "
                            f"and this one reads {VERSION}); it is left as it is")

    def overwrite(self) -> None:
        """Nothing to do: SQLite overwrites what it deletes as it goes (secure_delete)."""

    def _reason(self, why: str, patience: float) -> str:
        if "locked" in why or "busy" in why:
            return f"{self.where} is busy: another process has been writing for {patience} s; try again"
        if "not a database" in why or "malformed" in why or "no such table" in why or "no such column" in why:
            return damaged(self.where, why)
        if "full" in why:
            return f"{self.where} cannot be written: {why}; nothing was changed"
        return f"{self.where} cannot be used: {why}"


class PostgresSchema:
    """One schema of a database that many machines share."""

    def __init__(self, address: str, name: str, owner: str = ""):
        self.engine = _postgres(address)
        self.schema = f"{PREFIX}{name}" + (f"_{owner}" if owner else "")
        self.where = f"{_shown_address(address)}, schema {self.schema}"

    def exists(self) -> bool:
        with self._connected() as database:
            return sql.inspect(database).has_table("header", schema=self.schema)

    def beside(self) -> bool:
        with self._connected() as database:
            return any(name != self.schema and _is_desk(name.removeprefix(PREFIX).partition("_")[0])
                       for name in sql.inspect(database).get_schema_names() if name.startswith(PREFIX))

    def drop(self) -> None:
        """Remove the schema with its tables, and their files."""
        with self._connected() as database, database.begin():
            database.execute(sql.text(f'DROP SCHEMA IF EXISTS "{self.schema}" CASCADE'))

    def create(self, tables: MetaData, facts: dict[str, str]) -> None:
        """Make the schema with its tables; where another process was first, theirs stays."""
        with self._connected() as database, database.begin():
            database.execute(sql.text("SELECT pg_advisory_xact_lock(:ours)"), {"ours": OURS})
            if not sql.inspect(database).has_table("header", schema=self.schema):
                database.execute(sql.text(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"'))
                _fill(database, tables, facts | {"format": str(VERSION)})
                desk_tables.TRUTHS.create(database, checkfirst=True)

    @contextmanager
    def open(self, write: bool, patience: float):
        """A connection inside one transaction: a reader sees one moment, writers wait for one another."""
        with self._connected(patience) as database:
            # a writer sees what the one before it wrote; that one it waits for at the header
            level = "READ COMMITTED" if write else "REPEATABLE READ"
            with database.execution_options(isolation_level=level).begin():
                if write:
                    database.execute(sql.text(f"SET LOCAL lock_timeout = {int(1000 * patience)}"))
                    database.execute(self._fact("changes").with_for_update())
                yield database

    def check(self, database: Connection) -> None:
        """Refuse what is of another version."""
        version = database.execute(self._fact("format")).scalar()
        if version != str(VERSION):
            raise FileError(f"{self.where} was written by another version of QP-WL Lab (enrolment format {version}, "
                            f"and this one reads {VERSION}); it is left as it is")

    def _fact(self, name: str):
        header = desk_tables.HEADER
        return sql.select(header.c.value).where(header.c.name == name)

    def overwrite(self) -> None:
        """Write the tables anew without what was deleted: PostgreSQL keeps it in their files until then."""
        with self._connected() as database:
            database = database.execution_options(isolation_level="AUTOCOMMIT")
            for table in sql.inspect(database).get_table_names(schema=self.schema):
                database.execute(sql.text(f'VACUUM FULL "{self.schema}"."{table}"'))

    @contextmanager
    def _connected(self, patience: float = 20):
        try:
            with self.engine.connect() as database:
                yield database.execution_options(schema_translate_map={None: self.schema})
        except UnicodeDecodeError:                   # of what a damaged file says
            raise FileError(damaged(self.where, "its text is no text")) from None
        except sql.exc.DBAPIError as error:
            raise FileError(self._reason(error, patience)) from None

    def _reason(self, error: DBAPIError, patience: float) -> str:
        code = getattr(error.orig, "sqlstate", None) or ""
        why = " ".join(str(error.orig).split()).lower()[:200]
        if code == "55P03":
            return f"{self.where} is busy: another process has been writing for {patience} s; try again"
        if code in ("42P01", "42703", "3F000", "XX001", "XX002"):     # a table or column is missing, a page is damaged
            return damaged(self.where, why)
        if code == "53100":
            return f"{self.where} cannot be written: its disk is full; nothing was changed"
        if error.connection_invalidated or not code:
            return f"{self.where} cannot be reached: {why}"
        return f"{self.where} cannot be used: {why}"


def storages_of(place, owner: str = "") -> list[SqliteFile | PostgresSchema]:
    """All that one owner keeps at a place: their desks."""
    if is_address(place):
        whole = PostgresSchema(str(place), "class")
        with whole._connected() as database:
            parts = [name.removeprefix(PREFIX).split("_") for name in sql.inspect(database).get_schema_names()
                     if name.startswith(PREFIX)]
        names = [part[0] for part in parts if part[1:] == ([owner] if owner else [])]
    else:
        names = [path.stem for path in sorted((Path(place) / owner).glob("*.sqlite"))]
    return [storage_at(place, name, owner) for name in names if _is_desk(name)]


def people_in(storage: SqliteFile | PostgresSchema) -> list[str]:
    """The names of those enrolled in a desk, whatever model it is of."""
    with storage.open(False, 5) as database:
        people = desk_tables.PEOPLE
        return list(database.execute(sql.select(people.c.name).order_by(people.c.key)).scalars())


def _is_desk(name: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{16}", name) is not None


def damaged(where: str, why: str) -> str:
    """The sentence for a database that cannot be trusted."""
    return f"{where} is damaged ({why}); it is left as it is: put a copy of it back, or move it away to begin anew"


def _fill(database: Connection, tables: MetaData, facts: dict[str, str]) -> None:
    tables.create_all(database)
    header = tables.tables["header"]
    database.execute(header.insert(), [{"name": name, "value": value} for name, value in facts.items()])


def _sqlite(path: Path) -> Engine:
    """Connections to a file that is there, each opened anew: the file may have been replaced."""
    place = f"{path.absolute().as_uri()}?mode=rw"
    engine = sql.create_engine("sqlite://", poolclass=sql.NullPool,
                           creator=lambda: sqlite3.connect(place, isolation_level=None, uri=True))
    sql.event.listen(engine, "begin", _begin)
    return engine


def _begin(database: Connection) -> None:
    options = database.get_execution_options()
    for pragma in (f"busy_timeout = {int(1000 * options.get('patience', 5))}", *PRAGMAS):
        database.exec_driver_sql(f"PRAGMA {pragma}")
    database.exec_driver_sql("BEGIN IMMEDIATE" if options.get("write") else "BEGIN")


@lru_cache
def _postgres(address: str) -> Engine:
    """The pool of connections of this process to one database."""
    try:
        url = sql.make_url(address).set(drivername="postgresql+psycopg")
        engine = sql.create_engine(url, pool_size=4, max_overflow=16, pool_pre_ping=True, pool_recycle=600,
                               connect_args={"connect_timeout": 10})
        atexit.register(engine.dispose)
        return engine
    except (ModuleNotFoundError, sql.exc.NoSuchModuleError):
        raise FileError(f"{_shown_address(address)} is a PostgreSQL database, and its driver is not installed: pip "
                        "install 'psycopg[binary]'") from None
    except (sql.exc.ArgumentError, ValueError):
        raise FileError("the address of a desk must look like postgresql://user@host/database") from None


def _shown_address(address: str) -> str:
    """An address that may be printed: without its password."""
    with suppress(sql.exc.ArgumentError, ValueError):
        return sql.make_url(address).render_as_string(hide_password=True)
    return "this address"


def _sync_folder(folder: Path) -> None:
    """So that the name of a new file survives a loss of power, too."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
