"""What pages computed is kept for whoever asks next, as far as so many bytes go: the longest unused goes first.

Streamlit's caches count entries, and one entry of a large gallery may have a hundred megabytes. Nobody changes what is
kept: all get the same. What another process refused to compute is refused again at once for a while, so that a page
that is drawn again and again does not keep that process from others.
"""

from __future__ import annotations

import functools
import inspect
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, cast

from qpwl_core.common.bounds import KEPT_BYTES, KEPT_BYTES_IDLE, KEPT_IDLE, KEPT_SHARE, REFUSED_SECONDS
from qpwl_core.common.child import ChildError
from qpwl_core.common.memory import machine_memory
from ui.visitors.classroom import in_class

Function = TypeVar("Function", bound=Callable)
_kept: OrderedDict[tuple, tuple[Any, int, float]] = OrderedDict()       # value, bytes, when it was used last
_refused: dict[tuple, tuple[ChildError, float]] = {}
_asked: dict[tuple, threading.Lock] = {}
_guard = threading.Lock()


def most() -> int:
    """Bytes that are kept at most."""
    return min(KEPT_BYTES, int(KEPT_SHARE * machine_memory()))


def kept(function: Function) -> Function:
    """Keep what a function gives, by its arguments; those whose names begin with _ are no part of the question."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def ask(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        key = (function.__module__, function.__qualname__,
               *(value for name, value in given.arguments.items() if not name.startswith("_")))
        with _guard:
            if key in _kept:
                return _used(key)
            turn = _asked.setdefault(key, threading.Lock())
        with turn:                                           # one computes, the others wait for it
            with _guard:
                if key in _kept:
                    return _used(key)
                if key in _refused and time.monotonic() - _refused[key][1] < REFUSED_SECONDS:
                    raise ChildError(str(_refused[key][0]))
            try:
                found = function(*args, **kwargs)
            except ChildError as error:
                with _guard:
                    _refused[key] = error, time.monotonic()
                    while len(_refused) > 1000:
                        _refused.pop(next(iter(_refused)))
                raise
            finally:
                with _guard:
                    _asked.pop(key, None)
            _put(key, found)
            return found

    return cast(Function, ask)


def forget_all() -> None:
    """Empty it."""
    with _guard:
        _kept.clear()
        _refused.clear()


def held() -> int:
    """Bytes that are kept now."""
    with _guard:
        return sum(nbytes for _, nbytes, _ in _kept.values())


def _used(key: tuple) -> Any:
    value, nbytes, _ = _kept[key]
    _kept[key] = value, nbytes, time.monotonic()
    _kept.move_to_end(key)
    return value


def _put(key: tuple, value: Any) -> None:
    """Keep it, and let the oldest go: what is too much, and in a class what nobody asked for in a while."""
    nbytes, now = size_of(value), time.monotonic()
    with _guard:
        if nbytes > most():
            return
        _kept[key] = value, nbytes, now
        total = sum(each for _, each, _ in _kept.values())
        idle = KEPT_BYTES_IDLE if in_class() else most()
        while total > most() or (total > idle and now - next(iter(_kept.values()))[2] > KEPT_IDLE):
            total -= _kept.popitem(last=False)[1][1]


def size_of(value: Any, seen: set[int] | None = None) -> int:
    """Bytes of the arrays in something, and a little for all else. Nothing counts twice."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if hasattr(value, "memory_usage") and hasattr(value, "columns"):             # a table
        return int(value.memory_usage(deep=True).sum())
    if isinstance(getattr(value, "nbytes", None), int):                          # an array, a tensor
        return value.nbytes
    if isinstance(value, dict):
        return 200 + sum(size_of(each, seen) for each in value.values())
    if isinstance(value, (list, tuple, set)):
        return 100 + sum(size_of(each, seen) for each in value)
    if callable(getattr(value, "parameters", None)):                             # a network
        return sum(each.nbytes for each in value.parameters())
    if is_dataclass(value):
        return 200 + sum(size_of(getattr(value, field.name), seen) for field in fields(value))
    if hasattr(value, "__dict__"):
        return 200 + sum(size_of(each, seen) for each in vars(value).values())
    return 100 + (len(value) if isinstance(value, (str, bytes)) else 0)
