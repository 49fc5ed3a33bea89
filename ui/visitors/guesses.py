"""Wrong codes at the door of a class, by address: a few at once, then one every few seconds.

All app processes of a class count in one file of its folder, which has its full size from the start: a process that is
killed forgets nothing, and a full disk changes nothing. Where there is no such file, a process counts for itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import ipaddress
import mmap
import struct
import threading
import time
from pathlib import Path

from filelock import FileLock

from qpwl_core.common.bounds import CODE_EVERY as EVERY
from qpwl_core.common.bounds import CODE_TRIES as TRIES

FILE, PLACES = "guesses", 8192      # two of thirty addresses share a place in one class of twenty
PLACE = struct.Struct("dd8s")       # how many count; when the last came, in seconds since the machine started; which
TURN = 1.0                          # seconds that a process waits for another that counts


class Guesses:
    """Who tried how often. ``at``: the file that all processes count in; ``key``: of the class."""

    def __init__(self, at: Path | None = None, key: str = "", tries: int = TRIES, every: float = EVERY,
                 clock=time.monotonic):
        self.key, self.tries, self.every, self.clock = key.encode(), tries, every, clock
        self.guard, self.lock = threading.Lock(), None
        self.counts: mmap.mmap | bytearray = bytearray(PLACES * PLACE.size)
        if at is not None:
            with contextlib.suppress(OSError, ValueError), open(at, "r+b") as file:     # not there, too short, closed
                self.counts = mmap.mmap(file.fileno(), PLACES * PLACE.size)
                self.lock = FileLock(f"{at}.lock", timeout=TURN)

    def may(self, address: str, code: str, right: bool) -> bool:
        """Whether a code is looked at; a wrong one counts. The same again does not: a page that is loaded again tries
        nothing new. Whoever has to wait has to with the right code, too, or they would learn that it is."""
        with self.guard, contextlib.ExitStack() as held:
            if self.lock is not None:
                with contextlib.suppress(OSError):       # a folder that is read-only by now: it is counted all the same
                    held.enter_context(self.lock)
            return self._count(PLACE.size * (int.from_bytes(self._digest(network_of(address)), "big") % PLACES),
                               self._digest(code), right)

    def _count(self, at: int, code: bytes, right: bool) -> bool:
        level, when, last = PLACE.unpack_from(self.counts, at)
        now = self.clock()
        level = max(0.0, min(level, self.tries) - max(0.0, now - when) / self.every)
        if level > self.tries - 1:
            if when > now:                               # the machine was started again
                PLACE.pack_into(self.counts, at, level, now, last)
            return False
        if not right and not (level and hmac.compare_digest(last, code)):
            PLACE.pack_into(self.counts, at, level + 1, now, code)
        return True

    def _digest(self, of: str) -> bytes:
        return hashlib.blake2b(of.encode("utf-8", "replace"), digest_size=8, key=self.key[:64]).digest()


def prepare(folder: Path) -> None:
    """The file for all processes, written out before they start, so that a disk that is full later has room for it."""
    for name, size in ((FILE, PLACES * PLACE.size), (f"{FILE}.lock", 0)):
        if not (folder / name).exists():
            (folder / name).write_bytes(bytes(size))
            (folder / name).chmod(0o600)


def network_of(address: str) -> str:
    """The address; of one with 64 bits that its owner may choose, the rest."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))
    return str(found)
