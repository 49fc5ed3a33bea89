"""A class: its join code, the lecturer's secret, and the key that signs visitors' cookies, in one file of its folder.

``QPWL_CLASS`` names the folder; without it there is no class, and one person works alone. Streamlit is not needed here.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from qpwl_core.common.files import FileError, read_json, write_json

FILE, COOKIE, LECTURER = "class.json", "qpwl_visitor", "lecturer"
OUTSIDE = "This is a class of QP-WL Lab: ask the lecturer for the link."
BEHIND = "QPWL_BEHIND"                                # set where our own nginx stands in front and tells who asks
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"           # none that is taken for another when it is read aloud


@dataclass(frozen=True)
class Classroom:
    """What must be known to let people in."""

    join: str                # in the students' link: 40 bits, and guessing is slow
    lecturer: str            # in the lecturer's link
    key: str                 # signs cookies; a new class has a new one, and old cookies open nothing

    def ticket(self, visitor: str) -> str:
        """The cookie of a visitor: their id, signed."""
        return f"{visitor}.{hmac.digest(self.key.encode(), visitor.encode(), hashlib.sha256).hex()}"

    def visitor_of(self, ticket: str | None) -> str | None:
        """Whose cookie it is, None where we did not sign it."""
        visitor = (ticket or "").partition(".")[0]
        if not re.fullmatch(r"[a-z0-9]{1,32}", visitor):
            return None
        return visitor if same(ticket or "", self.ticket(visitor)) else None


def same(a: str, b: str) -> bool:
    """Whether two secrets are the same; how long it takes tells nothing."""
    return hmac.compare_digest(a.encode("utf-8", "replace"), b.encode())


def folder() -> Path | None:
    """The folder of the class, None where one person works alone."""
    named = os.environ.get("QPWL_CLASS")
    return Path(named) if named else None


def in_class() -> bool:
    return folder() is not None


def whose_computer() -> str:
    """Where what visitors leave is kept: here, or also where the database and the cluster are."""
    elsewhere = "://" in os.environ.get("QPWL_DESK", "") or os.environ.get("QPWL_DASK")
    return "the lecturer's computers" if elsewhere else "the lecturer's computer"


def classroom() -> Classroom:
    """The class of this process; a FileError where its file is missing or was edited."""
    at = folder()
    if at is None:
        raise FileError("there is no class: start one with make class")
    return _read(str(at))


def open_class(at: Path) -> Classroom:
    """The class in a folder, made where there is none yet: a restarted server knows its visitors again."""
    if not (at / FILE).exists():
        at.mkdir(parents=True, exist_ok=True)
        at.chmod(0o700)
        write_json(at / FILE, {"join": "".join(secrets.choice(LETTERS) for _ in range(8)),
                               "lecturer": secrets.token_urlsafe(24), "key": secrets.token_hex(32)})
        (at / FILE).chmod(0o600)
    return _read(str(at))


@lru_cache(maxsize=2)
def _read(at: str) -> Classroom:
    said = read_json(Path(at) / FILE)
    try:
        return Classroom(said["join"], said["lecturer"], said["key"])
    except (KeyError, TypeError):
        raise FileError(f"{at}/{FILE} is no class of ours: move it away to begin a new one") from None
