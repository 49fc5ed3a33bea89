"""What uploads may take together, of one session and of the server, and that they go with the tab.

Two stages: the file as the browser sends it, which Streamlit keeps as long as its widget shows it
(`ui/visitors/arriving.py`), and what was read from it. Streamlit bounds no sum, and forgets a closed tab only when
another one closes: `guard` adds both to the server that runs.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
import weakref
from pathlib import Path

from qpwl_core.common.bounds import (
    PRIVATE_HOURS,
    VALUES_BYTES,
    VALUES_BYTES_SESSION,
    VALUES_SHARE,
)
from qpwl_core.common.memory import machine_memory
from qpwl_core.common.text import size
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.recordings import Recordings
from ui.visitors.arriving import bounded, watch_arriving

PRIVATE = ".private"           # in the folder of runs: models that a session uploaded and has not shared
LINGERS = 130.0                # seconds: Streamlit lets a closed tab come back for 120
_held: weakref.WeakSet[Recordings] = weakref.WeakSet()       # read uploads of all sessions that are still there
_guard = threading.Lock()


def bytes_of(recordings: Recordings) -> int:
    """Of the values of recordings."""
    return sum(x.nbytes for x in recordings.sequences)


def most_values() -> int:
    """Bytes of what was read from them."""
    return min(VALUES_BYTES, int(VALUES_SHARE * machine_memory()))


def hold(new: Recordings, of_session: list[Recordings]) -> None:
    """Count an upload as kept, where it fits; it is let go when nobody refers to it any more."""
    with _guard:
        mine, all_of_them = sum(map(bytes_of, of_session)), sum(map(bytes_of, _held))
        if mine + bytes_of(new) > VALUES_BYTES_SESSION:
            raise RecordingsError(f"a session keeps at most {size(VALUES_BYTES_SESSION)} of recordings, and with these "
                                  f"it would be {size(mine + bytes_of(new))}: remove some first")
        if all_of_them + bytes_of(new) > most_values():
            raise RecordingsError(f"this server keeps at most {size(most_values())} of uploaded recordings, of all "
                                  "visitors together, and these do not fit now: try again later, or a smaller file")
        _held.add(new)


class Private:
    """A folder that goes with whoever refers to this."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._end = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def keep(self) -> None:
        """The folder was moved, and stays."""
        self._end.detach()


def sweep(runs: Path) -> None:
    """Delete private models that a server which was killed left behind."""
    with contextlib.suppress(OSError):
        for folder in (runs / PRIVATE).iterdir():
            if time.time() - folder.stat().st_mtime > PRIVATE_HOURS * 3600:
                shutil.rmtree(folder, ignore_errors=True)


def guard(runs: Path) -> bool:
    """Bound what all sessions of this server may upload; once. Returns whether there is a server to guard."""
    from streamlit import runtime

    if not runtime.exists():
        return False
    server = runtime.get_instance()
    files = getattr(server, "_uploaded_file_mgr", None)
    with _guard:
        if files is None or getattr(files, "guarded", False):
            return files is not None
        files.guarded = True
        files.add_file = bounded(files, server)
        watch_arriving(files)
        sessions = server._session_mgr
        sessions.disconnect_session = _forgetting(sessions, server)
    sweep(runs)
    return True


def _forgetting(sessions, server):
    """`disconnect_session` of Streamlit, after which a tab that does not come back is forgotten in time.

    Streamlit drops it when it looks at its store again, and lets it go when the garbage collector finds it, which may
    be never (`set_modules_aside`): so what it holds is let go here.
    """
    disconnect = sessions.disconnect_session

    def disconnect_session(session_id: str) -> None:
        info = sessions._active_session_info_by_id.get(session_id)
        disconnect(session_id)
        with contextlib.suppress(AttributeError, RuntimeError):
            loop = server._get_async_objs().eventloop
            loop.call_soon_threadsafe(loop.call_later, LINGERS, forget, info)

    def forget(info) -> None:
        stored = sessions._session_storage
        stored._cache.expire()
        if info is None or sessions.is_active_session(info.session.id) or stored.get(info.session.id) is not None:
            return                                           # it came back
        info.session.shutdown()
        info.session.session_state.clear()

    return disconnect_session
