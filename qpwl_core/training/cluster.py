"""Work on a folder, done on a Dask cluster whose machines share no disk with this one.

The folder's files go there, and what is written there comes back as it is written, file by file, each whole. Whoever
waits here says that they live and still want it: else the work there ends by itself. A machine of the cluster that is
lost is an error here; the files that had come stay, so that the work can be taken up again.
"""

from __future__ import annotations

import contextlib
import secrets
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qpwl_core.common.bounds import SILENCE

if TYPE_CHECKING:
    from distributed import Client

LOOK = 0.3                      # seconds between two looks, on both sides
ENOUGH = -1                     # instead of a number that grows: whoever waited wants no more
LOST = "its machine in the cluster was lost"


class ClusterError(ValueError):
    """There is no cluster, or it lost the work; in one sentence."""


def connect(address: str) -> Client:
    """A client of the Dask scheduler at an address."""
    try:
        from distributed import Client
    except ImportError:
        raise ClusterError("a Dask cluster needs the package distributed: pip install 'qpwl-lab[dask]'") from None
    try:
        return Client(address, timeout="5s")
    except (OSError, ValueError) as error:
        why = " ".join(str(error).split())[:120]
        raise ClusterError(f"there is no Dask scheduler at {address} ({why})") from None


def machines(address: str) -> int:
    """How many workers a cluster has now, at least one."""
    with connect(address) as client:
        return max(1, len(client.scheduler_info(n_workers=-1)["workers"]))


def work_there(address: str, work: Callable[[Path, threading.Event], Any], name: str, files: dict[str, bytes],
               wanted: Callable[[], bool], put: Callable[[str, bytes], None]) -> Any:
    """What ``work(a folder there, an event that says stop)`` returns or raises; the folder has that name and ``files``.

    ``wanted``: whether to go on; ``put``: takes every file that was written there, by its name; hidden ones stay there.
    """
    from distributed import Queue, Variable

    with connect(address) as client:
        key = f"qpwl-{secrets.token_hex(8)}"
        queue, sign = Queue(f"{key}-files", client), Variable(f"{key}-sign", client)
        sign.set(0)
        future = client.submit(_there, work, name, files, key, key=key, pure=False)
        count, ended = 0, False
        try:
            while not ended:
                over = future.done()                         # looked at first: what came before the end is taken
                count += 1
                sign.set(count if wanted() else ENOUGH)
                try:
                    file, content = queue.get(timeout=LOOK)
                    put(Path(file).name, content)
                except TimeoutError:
                    ended = over
            return _result(future)
        finally:
            with contextlib.suppress(OSError, RuntimeError):
                sign.set(ENOUGH)
                queue.close()


def _result(future) -> Any:
    """Its value, or what was raised there; all that Dask itself may say is that the work was lost."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    try:
        return future.result(timeout=10)
    except (KilledWorker, CancelledError, FutureCancelledError, TimeoutError, OSError):
        raise ClusterError(LOST) from None


def _there(work: Callable[[Path, threading.Event], Any], name: str, files: dict[str, bytes], key: str) -> Any:
    """On a machine of the cluster."""
    from distributed import Queue, Variable, get_client

    client = get_client()
    with contextlib.suppress(TimeoutError):                  # Dask does again what a lost machine did; we do not
        Variable(f"{key}-begun", client).get(timeout=LOOK)
        raise ClusterError(LOST)
    Variable(f"{key}-begun", client).set(True)
    with tempfile.TemporaryDirectory(prefix="qpwl-") as home:
        folder = Path(home) / name
        folder.mkdir()
        for file, content in files.items():
            (folder / file).write_bytes(content)
        with _Mirror(folder, Queue(f"{key}-files", client), Variable(f"{key}-sign", client)) as mirror:
            return work(folder, mirror.stop)


class _Mirror:
    """Sends what changes in a folder, and listens whether anybody still wants it."""

    def __init__(self, folder: Path, queue, sign):
        self.folder, self.queue, self.sign = folder, queue, sign
        self.stop, self.over, self.seen = threading.Event(), threading.Event(), dict(self._states())
        self.thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> _Mirror:
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.over.set()
        self.thread.join()
        self.send()

    def send(self) -> None:
        """Every file that changed, in the order of the changes."""
        for path, state in sorted(self._states(), key=lambda item: item[1]):
            if self.seen.get(path) != state:
                with contextlib.suppress(FileNotFoundError):
                    self.queue.put((path.name, path.read_bytes()))
                    self.seen[path] = state

    def _states(self) -> list[tuple[Path, tuple[int, int]]]:
        found = []
        for path in self.folder.glob("[!.]*"):
            with contextlib.suppress(FileNotFoundError):
                found.append((path, (path.stat().st_mtime_ns, path.stat().st_size)))
        return found

    def _follow(self) -> None:
        last, since = 0, time.monotonic()
        while not self.over.wait(LOOK):
            try:
                self.send()
                now = self.sign.get(timeout=LOOK)
            except (TimeoutError, OSError):                  # the scheduler is away, perhaps for a moment
                now = last
            if now != last:
                last, since = now, time.monotonic()
            if now == ENOUGH or time.monotonic() - since > SILENCE:
                self.stop.set()
