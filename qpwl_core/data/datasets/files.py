"""The official files of a data set, wherever they lie: loose in folders, or inside archives that stay packed."""

from __future__ import annotations

import io
import re
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np

from qpwl_core.common.bounds import ARCHIVE_BYTES, MEMBER_BYTES
from qpwl_core.common.bounds import ARCHIVE_DEPTH as DEPTH
from qpwl_core.common.bounds import ARCHIVE_MEMBERS as MEMBERS
from qpwl_core.common.text import shown
from qpwl_core.data.errors import RecordingsError

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")
DAMAGED = (OSError, EOFError, zlib.error, zipfile.BadZipFile, tarfile.TarError, NotImplementedError, RuntimeError,
           ValueError)        # what zipfile and tarfile raise on files that are cut, garbled or encrypted


@dataclass(frozen=True)
class Member:
    """One official file: ``name`` is its path, through archives, as shown to people; ``base`` its last part."""

    name: str
    match: re.Match
    read_bytes: Callable[[], bytes]
    path: Path | None = None          # None inside an archive

    @property
    def base(self) -> str:
        return PurePosixPath(self.name).name

    def loose(self) -> Path:
        """The file's path, for libraries that open files themselves."""
        if self.path is None:
            raise RecordingsError(f"{shown(self.name)} is inside an archive: unpack it first")
        return self.path

    def text(self) -> str:
        """The file as text; the official files are plain ASCII."""
        return as_text(self.read_bytes(), self.name)


def members(folder: Path, pattern: str, exclude: str = "") -> Iterator[Member]:
    """Every file whose name matches ``pattern`` (and whose path does not match ``exclude``), in archives too.

    Nothing is ever extracted by name: members are read into memory, and an archive with a name that leads out of it
    (absolute, or with ..) is refused whole.
    """
    folder = Path(folder).expanduser()
    if not folder.exists():
        raise RecordingsError(f"{shown(folder)} is not there: give the folder that holds the official files")
    wanted, unwanted = re.compile(pattern), re.compile(exclude) if exclude else None
    base = folder.parent if folder.is_file() else folder
    for path in [folder] if folder.is_file() else sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(base).as_posix()
        if name.lower().endswith(ARCHIVES):
            with path.open("rb") as file:
                yield from _inside(file, name, wanted, unwanted, DEPTH)
        elif match := _wanted(name, wanted, unwanted):
            yield Member(name, match, partial(_bounded_file, path, name), path)


def as_text(data: bytes, name: str) -> str:
    """Bytes as text, or one sentence that the file is not what it should be."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise RecordingsError(f"{shown(name)} is not a text file") from None


def table(text: str, name: str, columns: int, delimiter: str | None = None) -> np.ndarray:
    """The numbers of a text file, (rows, columns) float64; anything but finite numbers in ``columns`` is an error."""
    if not text.strip():
        raise RecordingsError(f"{shown(name)} is empty")
    try:
        rows = np.loadtxt(io.StringIO(text), delimiter=delimiter, ndmin=2)
    except ValueError:
        raise RecordingsError(f"{shown(name)} is not a table of {columns} numbers per row") from None
    if rows.shape[1] != columns:
        raise RecordingsError(f"{shown(name)} must have {columns} numbers per row, and has {rows.shape[1]}")
    if not np.isfinite(rows).all():
        raise RecordingsError(f"{shown(name)} holds a value that is not finite, in row {_first_bad(rows)}")
    return rows


def natural(name: str) -> list:
    """Sort key that puts trial 2 before trial 10."""
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", name)]


def _first_bad(rows):
    return int(np.argwhere(~np.isfinite(rows))[0, 0]) + 1


def _wanted(name, wanted, unwanted):
    return None if unwanted and unwanted.search(name) else wanted.fullmatch(PurePosixPath(name).name)


def _bounded_file(path, name):
    if path.stat().st_size > MEMBER_BYTES:
        raise _too_large(name)
    return path.read_bytes()


def _inside(file, name, wanted, unwanted, depth) -> Iterator[Member]:
    """The wanted members of one open archive, and of archives inside it."""
    if depth == 0:
        raise RecordingsError(f"{shown(name)} is an archive more than {DEPTH} deep inside others")
    entries = _zip_entries if name.lower().endswith(".zip") else _tar_entries
    iterator = entries(file, name)
    count = 0
    while True:
        try:
            entry = next(iterator, None)
        except DAMAGED as error:
            if isinstance(error, RecordingsError):
                raise
            raise RecordingsError(f"{shown(name)} is damaged or not such an archive: download it again") from None
        if entry is None:
            return
        count += 1
        inner, open_member = entry
        path = PurePosixPath(inner.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or re.match(r"[A-Za-z]:", inner):
            raise RecordingsError(f"{shown(name)} holds the name {shown(inner)}, which leads out of the archive")
        if count > MEMBERS:
            raise RecordingsError(f"{shown(name)} holds more than {MEMBERS} files")
        full = f"{name}/{path}"
        if full.lower().endswith(ARCHIVES):
            with tempfile.TemporaryFile() as copy:
                _copy(open_member, copy, full, ARCHIVE_BYTES)
                copy.seek(0)
                yield from _inside(copy, full, wanted, unwanted, depth - 1)
        elif match := _wanted(full, wanted, unwanted):
            yield Member(full, match, partial(_bounded_member, open_member, full))


def _zip_entries(file, name):
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            if not entry.is_dir():
                yield entry.filename, lambda entry=entry: archive.open(entry)


def _tar_entries(file, name):
    with tarfile.open(fileobj=file) as archive:
        for entry in archive:
            if entry.isfile():
                yield entry.name, lambda entry=entry: archive.extractfile(entry)


def _bounded_member(open_member, name):
    target = io.BytesIO()
    _copy(open_member, target, name, MEMBER_BYTES)
    return target.getvalue()


def _copy(open_member, target, name, limit):
    """Copy a member block by block, so that a size declared wrongly (or a bomb) is noticed before it hurts."""
    try:
        with open_member() as source:
            size = 0
            while block := source.read(2**20):
                size += len(block)
                if size > limit:
                    raise _too_large(name)
                target.write(block)
    except DAMAGED as error:
        if isinstance(error, RecordingsError):
            raise
        raise RecordingsError(f"{shown(name)} is damaged: download the archive again") from None


def _too_large(name):
    return RecordingsError(f"{shown(name)} is larger than any file of this data set")
