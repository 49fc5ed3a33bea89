"""What a visitor uploaded: in the session of one person alone; in a class also on disk, so that a reload finds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from threading import Lock
from weakref import WeakValueDictionary

from qpwl_core.common.bounds import STORED_BYTES as LARGEST_ALL
from qpwl_core.common.bounds import STORED_BYTES_EACH as LARGEST_EACH
from qpwl_core.common.files import FileError, read_json, write_json
from qpwl_core.common.text import size
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.loading import load_recordings
from qpwl_core.data.recordings import Recordings


@dataclass(frozen=True)
class Own:
    """An upload: it lives in the session of the one who uploaded it; a training makes a copy, until it ends."""

    name: str
    recordings: Recordings
    domain: str                # which recipe it gets
    filename: str = ""         # as it was uploaded
    token: str = field(default_factory=lambda: token_hex(8))   # tells it from another upload of that name


_held: WeakValueDictionary[Path, Uploads] = WeakValueDictionary()
_turns: dict[Path, Lock] = {}
_guard = Lock()


class Uploads(dict):
    """Uploads by name, kept in a folder where there is one: what is set is saved, what is popped is deleted."""

    def __init__(self, folder: Path | None = None):
        super().__init__()
        self.folder = folder
        for path in sorted(folder.glob("*.json")) if folder is not None else ():
            try:
                said = read_json(path)
                found = load_recordings(path.with_suffix(".npz"))
                super().__setitem__(said["name"], Own(said["name"], found, said["domain"], said["filename"], path.stem))
            except (FileError, RecordingsError, KeyError, TypeError):
                continue                                         # half written, or damaged: as if it were not there

    def __setitem__(self, name: str, own: Own) -> None:
        old = self.get(name)
        if self.folder is not None:
            self._save(own)
            if old is not None and old.token != own.token:
                self._delete(old)
        super().__setitem__(name, own)

    def pop(self, name: str, *otherwise):
        own = super().pop(name, *otherwise)
        if self.folder is not None and isinstance(own, Own):
            self._delete(own)
        return own

    def _save(self, own: Own) -> None:
        values = self.folder / f"{own.token}.npz"
        try:
            if not values.exists():
                self._check_room(own)
                self.folder.mkdir(parents=True, exist_ok=True)
                own.recordings.save(values, compressed=False)
            write_json(self.folder / f"{own.token}.json",
                       {"name": own.name, "domain": own.domain, "filename": own.filename})
        except (OSError, FileError) as error:
            values.unlink(missing_ok=True)
            raise RecordingsError(f"it cannot be kept: {getattr(error, 'strerror', None) or error}") from None

    def _check_room(self, own: Own) -> None:
        needed = 4 * int(own.recordings.lengths.sum()) * len(own.recordings.channels)
        for folder, most, whose in ((self.folder, LARGEST_EACH, "your uploads are"),
                                    (self.folder.parent.parent, LARGEST_ALL, "the uploads of the whole class are")):
            there = sum(path.stat().st_size for path in folder.rglob("*.npz")) if folder.is_dir() else 0
            if there + needed > most:
                raise RecordingsError(f"{whose} bounded to {size(most)} of values in all, and this one needs "
                                      f"{size(needed)} where {size(max(0, most - there))} are left: remove one first")

    def _delete(self, own: Own) -> None:
        for end in (".json", ".npz"):
            (self.folder / f"{own.token}{end}").unlink(missing_ok=True)


def of_visitor(folder: Path, hold: Callable[[Recordings, list[Recordings]], None]) -> Uploads:
    """The uploads of a visitor, the same for all their tabs, or each tab would hold them once more. ``hold`` counts
    them; what there is no room for now stays on disk, and is there when there is."""
    with _guard:
        turn = _turns.setdefault(folder, Lock())
    with turn:                                                   # others need not wait while theirs are read
        found = _held.get(folder)
        if found is None:
            found = Uploads(folder)
            for name in list(found):
                try:
                    hold(found[name].recordings, [own.recordings for key, own in found.items() if key != name])
                except RecordingsError:
                    dict.pop(found, name)
            _held[folder] = found
        return found
