"""The register of a class: who joined, under which name, and who was removed. It lies where the desks lie."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

from qpwl_core.common.bounds import VISITORS as MOST
from qpwl_core.common.lazy import Lazy
from qpwl_core.desk.names import checked_name
from qpwl_core.desk.storage import storage_at

if TYPE_CHECKING:
    import sqlalchemy as sql
else:
    sql = Lazy("sqlalchemy")

PATIENCE = 20               # seconds that a writer waits for its turn


@dataclass(frozen=True)
class Visitor:
    """Someone who joined."""

    id: str
    name: str               # as they want to be shown; "" where they gave none
    joined: str             # UTC


class Register:
    """All visitors of a class, for any number of processes and machines."""

    def __init__(self, place):
        self.storage = storage_at(place, "class")
        if not self.storage.exists():
            self.storage.create(_tables(), {"id": secrets.token_hex(8), "changes": "0"})

    def join(self, name: str = "") -> Visitor:
        """Let someone in, with a new id that nobody can guess."""
        visitor = Visitor(secrets.token_hex(8), checked_name(name) if name.strip() else "",
                          datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        with self.storage.open(True, PATIENCE) as database:
            if database.execute(sql.select(sql.func.count()).select_from(_visitors())).scalar_one() >= MOST:
                raise ValueError(f"{MOST} people are in this class already, which is the most it takes")
            database.execute(_visitors().insert().values(vars(visitor)))
        return visitor

    def find(self, name: str) -> Visitor | None:
        """The visitor of this id, None where there is none (any more)."""
        with self.storage.open(False, PATIENCE) as database:
            row = database.execute(sql.select(_visitors()).where(_visitors().c.id == name)).first()
        return Visitor(*row) if row else None

    def all(self) -> list[Visitor]:
        """Everyone, who came first first."""
        with self.storage.open(False, PATIENCE) as database:
            rows = database.execute(sql.select(_visitors()).order_by(_visitors().c.joined, _visitors().c.id)).all()
        return [Visitor(*row) for row in rows]

    def remove(self, name: str) -> None:
        """Strike a visitor out, and overwrite who it was: from now on their cookie opens nothing."""
        with self.storage.open(True, PATIENCE) as database:
            database.execute(_visitors().delete().where(_visitors().c.id == name))
        self.storage.overwrite()


@cache
def _tables():
    tables = sql.MetaData()
    sql.Table("header", tables, sql.Column("name", sql.Text, primary_key=True),
              sql.Column("value", sql.Text, nullable=False), sqlite_strict=True)
    sql.Table("visitors", tables, sql.Column("id", sql.Text, primary_key=True),
              sql.Column("name", sql.Text, nullable=False), sql.Column("joined", sql.Text, nullable=False),
              sqlite_strict=True)
    return tables


def _visitors():
    return _tables().tables["visitors"]
