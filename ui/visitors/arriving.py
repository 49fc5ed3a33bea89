"""Files as browsers send them: what one visitor and all of them may have here together, and what became too much.

Streamlit bounds one file (`maxUploadSize`) but no sum, and whoever is refused by its server reads the number of an
error. Here a file that is too much, or that the disk has no room for, arrives empty; its page asks `refusal` and says
the sentence. What is too much is let go while it comes: neither memory nor disk fill up with what nobody will get.
"""

from __future__ import annotations

import contextlib
import weakref
from collections import OrderedDict

from qpwl_core.common.bounds import UPLOADED_BYTES, UPLOADED_BYTES_SESSION, UPLOADED_SHARE
from qpwl_core.common.memory import machine_memory
from qpwl_core.common.text import size
from ui.visitors.classroom import COOKIE, classroom, in_class

REMEMBERED = 1000                                      # refusals
_refused: OrderedDict[str, str] = OrderedDict()        # sentences by the number of the file
_coming: weakref.WeakSet = weakref.WeakSet()           # files on their way


def most_uploaded() -> int:
    """Bytes of the files of all sessions, as the browsers sent them: of a small server less."""
    return min(UPLOADED_BYTES, int(UPLOADED_SHARE * machine_memory()))


def refusal(file) -> str:
    """Why an uploaded file is empty; "" where it is all there."""
    return _refused.get(getattr(file, "file_id", ""), "")


class Refused(bytes):
    """No bytes, and the sentence that stands for them."""

    sentence = ""


def refused(sentence: str) -> Refused:
    nothing = Refused()
    nothing.sentence = sentence
    return nothing


def of_one() -> str:
    return (f"the files that one visitor uploads may have {size(UPLOADED_BYTES_SESSION)} together, and this one is too "
            "much: take one away first, or close the page for two minutes")


def of_all() -> str:
    return (f"the files that all visitors upload may have {size(most_uploaded())} together, and this one does not fit "
            "now: try again later, or a smaller one")


def bounded(files, server=None):
    """`add_file` of Streamlit's store, which keeps nothing of what is too much."""
    add, owners = files.add_file, dict[str, str]()

    def add_file(session_id: str, file) -> None:
        owners[session_id] = owner_of(session_id, server)
        for gone in owners.keys() - files.file_storage.keys() - {session_id}:
            del owners[gone]
        held = {name: sum(len(each.data) for each in list(kept.values()))
                for name, kept in list(files.file_storage.items())}
        mine = sum(held[name] for name in held if owners.get(name, name) == owners[session_id])
        data = file.data
        if not isinstance(data, Refused) and mine + len(data) > UPLOADED_BYTES_SESSION:
            data = refused(of_one())
        elif not isinstance(data, Refused) and sum(held.values()) + len(data) > most_uploaded():
            data = refused(of_all())
        if isinstance(data, Refused):
            _refused[file.file_id] = data.sentence
            while len(_refused) > REMEMBERED:
                _refused.popitem(last=False)
        add(session_id, file._replace(data=data))

    return add_file


def owner_of(session_id: str, server) -> str:
    """Whose session it is: all tabs of a visitor count together; one person alone is told apart by tabs."""
    client = server.get_client(session_id) if server is not None and in_class() else None
    context = getattr(client, "client_context", None)
    return (classroom().visitor_of(context.cookies.get(COOKIE)) if context is not None else None) or session_id


def watch_arriving(files) -> None:
    """Let go of a file on its way as soon as it is too much, or the disk is full; the rest of it is heard, and dropped.

    Many at once are neither on the disk nor in memory beside each other."""
    from starlette.datastructures import UploadFile

    write, read = UploadFile.write, UploadFile.read

    async def writing(self, data: bytes) -> None:
        if hasattr(self, "refused"):
            return
        _coming.add(self)
        there = sum(len(each.data) for kept in list(files.file_storage.values()) for each in list(kept.values()))
        coming = sum(each.size or 0 for each in _coming if not each.file.closed and not hasattr(each, "refused"))
        if there + coming + len(data) > most_uploaded():
            let_go(self, of_all())
            return
        try:
            await write(self, data)
        except OSError as error:
            let_go(self, f"this file cannot be taken: {(error.strerror or str(error)).lower()}")

    async def reading(self, wanted: int = -1) -> bytes:
        if hasattr(self, "refused"):
            return refused(self.refused)
        return await read(self, wanted)

    UploadFile.write, UploadFile.read = writing, reading


def let_go(file, sentence: str) -> None:
    file.refused = sentence
    with contextlib.suppress(OSError, ValueError):
        file.file.seek(0)
        file.file.truncate()
