"""Heavy work in a process of its own, with a limit of memory and of time: a value or one sentence comes back.

`in_child(function, …)` runs a function of a module elsewhere. Whatever happens there (memory ends, it hangs, is killed,
the interpreter aborts) the caller gets its value, the ValueError that it raised, or a `ChildError`. A process that did
well waits for the next call, so that loading PyTorch is paid once; with its parent it ends.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing import Pipe, connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from qpwl_core.common.bounds import (
    ANSWER_BYTES,
    CHILD_MEMORY,
    CHILD_PATIENCE,
    CHILD_SECONDS,
    CHILD_TASKS,
    CHILDREN,
)
from qpwl_core.common.memory import first_to_go, limit_memory, unlimited, used_memory
from qpwl_core.common.text import sentence, size

WARM = ("torch", "qpwl_core.data.loading", "qpwl_core.models.gallery", "qpwl_core.models.model")
GROWN = 512 * 2**20            # bytes that a process may have kept from a task and still be used again


class ChildError(ValueError):
    """The work was not done; in one sentence why."""


class TooMuch(ValueError):
    """An answer is larger than the server takes."""


class Plain(ForkingPickler):
    """What `multiprocessing` says between a process and its children, without what PyTorch adds to it: a tensor would
    go by a socket that the other process may not open. Large arrays are left to ``buffers``, which copies none."""

    def __init__(self, file: io.BytesIO, buffers: list):
        super(ForkingPickler, self).__init__(file, 5, buffer_callback=buffers.append)


def send(pipe: Any, thing: Any, most: int | None = None) -> None:
    """Hand something over as plain bytes: what it is, then its arrays as they lie in memory. ``most``: bytes in all."""
    body, buffers = io.BytesIO(), list[Any]()
    Plain(body, buffers).dump(thing)
    parts = [body.getbuffer(), *(buffer.raw() for buffer in buffers)]
    total = sum(part.nbytes for part in parts)
    if most is not None and total > most:
        raise TooMuch(f"its result has {size(total)}, and {size(most)} is the most that the server takes")
    pipe.send_bytes(" ".join(str(part.nbytes) for part in parts).encode())
    for part in parts:
        if part.nbytes:
            pipe.send_bytes(part)


def receive(pipe: Any) -> Any:
    """What `send` handed over."""
    parts = [bytearray(int(nbytes)) for nbytes in pipe.recv_bytes().split()]
    for part in parts:
        if part:
            pipe.recv_bytes_into(part)
    return ForkingPickler.loads(parts[0], buffers=parts[1:])


class _Child:
    """A process that waits for work."""

    def __init__(self) -> None:
        path = os.pathsep.join(entry for entry in sys.path if entry)
        try:
            self.pipe, theirs = Pipe()
            number = theirs.fileno()
            if os.name == "nt":
                getattr(os, "set_handle_inheritable")(number, True)      # noqa: B009  (only Windows has it)
            options: dict[str, Any] = {"close_fds": False} if os.name == "nt" else {"pass_fds": [number]}
            self.process = subprocess.Popen([sys.executable, "-m", "qpwl_core.common.child", str(number)],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            env=os.environ | {"PYTHONPATH": path}, **options)
            theirs.close()
        except OSError as error:
            raise ChildError(f"no process can be started for it: {(error.strerror or str(error)).lower()}") from None
        self.tasks, self.late = 0, False

    def ask(self, work: tuple, seconds: float, memory: int) -> tuple[str, Any]:
        """What it answers: a kind and a value; ("ended", why) where it can answer no more."""
        self.tasks += 1
        timer = threading.Timer(seconds, self._too_late)
        timer.start()
        try:
            send(self.pipe, (work, seconds, memory))
            return receive(self.pipe)
        except (OSError, EOFError, MemoryError):
            self.close()
            if self.late:
                return "ended", f"it took longer than {seconds:g} seconds, which is the most"
            return "ended", (f"its process was ended (code {self.process.returncode}), most likely because it needed "
                             f"more than {memory / 2**30:g} GB of memory, which is the most")
        finally:
            timer.cancel()

    def _too_late(self) -> None:
        self.late = True
        self.process.kill()

    def close(self) -> None:
        self.process.kill()
        with contextlib.suppress(OSError):
            self.pipe.close()
        self.process.wait()


_places = threading.BoundedSemaphore(CHILDREN)
_idle: list[_Child] = []
_guard = threading.Lock()


def in_child(function: Callable, *arguments: Any, seconds: float = CHILD_SECONDS, memory: int = CHILD_MEMORY) -> Any:
    """``function(*arguments)`` of a module, done in a process that may take so long and so many bytes."""
    if not _places.acquire(timeout=CHILD_PATIENCE):
        raise ChildError("the server is busy with other people's files: try again in a minute")
    child = None
    try:
        with _guard:
            child = _idle.pop() if _idle else None
        if child is not None and child.process.poll() is not None:
            child.close()
            child = None
        child = child or _Child()
        kind, value = child.ask((function.__module__, function.__qualname__, arguments), seconds, memory)
        if kind == "ended":
            child = None
        elif child.tasks >= CHILD_TASKS or kind.endswith(", grown"):
            child.close()
            child = None
    except BaseException:
        if child is not None:
            child.close()
        child = None
        raise
    finally:
        if child is not None:
            with _guard:
                _idle.append(child)
        _places.release()
    kind = kind.removesuffix(", grown")
    if kind == "value":
        return value
    if kind == "refused":
        raise value
    if kind == "memory":
        raise ChildError(f"it needs more than {memory / 2**30:g} GB of memory, which is the most")
    raise ChildError(str(value))


def warm(count: int = 1) -> None:
    """Have so many processes ready before somebody waits for them."""
    with _guard, contextlib.suppress(ChildError):
        while len(_idle) < count and _places.acquire(blocking=False):
            _places.release()
            _idle.append(_Child())


@atexit.register
def close_all() -> None:
    """End the processes that wait."""
    with _guard:
        while _idle:
            _idle.pop().close()


def _serve(number: int) -> None:
    """Read work, do it, answer, until the parent is gone."""
    import signal

    pipe = getattr(connection, "PipeConnection" if os.name == "nt" else "Connection")(number)
    if hasattr(os, "nice"):
        os.nice(5)                                           # pages come first
    first_to_go()
    for name in WARM:
        importlib.import_module(name)
    base = used_memory()
    while True:
        try:
            work, seconds, memory = receive(pipe)
        except (EOFError, OSError):
            return
        except MemoryError:
            send(pipe, ("memory", None))
            continue
        if hasattr(signal, "alarm"):
            signal.alarm(int(seconds) + 10)                  # should the parent be gone
        limit_memory(memory)
        kind, value = _done(*work)
        unlimited()
        kind += ", grown" if used_memory() - base > GROWN else ""
        try:
            send(pipe, (kind, value), ANSWER_BYTES)
        except OSError:
            return
        except MemoryError:
            send(pipe, ("memory", None))
        except Exception as error:                           # what cannot be handed over, or is too much
            send(pipe, ("unexpected", sentence(str(error))))
        if hasattr(signal, "alarm"):
            signal.alarm(0)
        del work, value


def _done(module: str, name: str, arguments: tuple) -> tuple[str, Any]:
    """The kind of answer, and the answer."""
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return "value", found(*arguments)
    except MemoryError:
        return "memory", None
    except ValueError as error:
        try:
            return "refused", type(error)(sentence(str(error), 1000))
        except TypeError:                                    # some want more than a sentence
            return "refused", ValueError(sentence(str(error), 1000))
    except BaseException as error:
        text = " ".join(str(error).split())
        if "allocate memory" in text or "out of memory" in text:
            return "memory", None
        return "unexpected", f"unexpected {type(error).__name__}: {text[:300]}"


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
