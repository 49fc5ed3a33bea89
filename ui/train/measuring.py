"""Measurements one at a time, with one place in the queue for everybody: what they ask for last takes it over."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

KEPT, FRESH = 64, 600.0           # results, and seconds that they count: the machine may be less busy by then


class Measuring:
    """Who keeps changing their mind has one measurement waiting, not one for every change; nobody loses their place."""

    def __init__(self) -> None:
        self.known: OrderedDict[str, tuple[Future, Callable[[], Any] | None, float]] = OrderedDict()
        self.waiting: OrderedDict[str, str] = OrderedDict()                # who -> which
        self.one, self.guard = ThreadPoolExecutor(1, thread_name_prefix="cost"), threading.Lock()

    def ask(self, who: str, key: str, work: Callable[[], Any]) -> Future:
        """What ``work`` gives, by its key: measured once for all. What they waited for before is no longer wanted."""
        with self.guard:
            self._forget()
            future = self.known.setdefault(key, (Future(), work, time.monotonic()))[0]
            before = self.waiting.get(who)
            if not future.running() and not future.done():
                self.waiting[who] = key                                    # in the place that they have
                if before is None:
                    self.one.submit(self._next)
            elif before is not None:
                self.waiting[who] = key                                    # nothing will be left to do
            if before not in (None, key, *self.waiting.values()):
                self.known.pop(before)[0].cancel()
            return future

    def _next(self) -> None:
        with self.guard:
            _, key = self.waiting.popitem(last=False)
            future, work, asked = self.known.get(key, (None, None, 0.0))
            if future is None or work is None:                             # somebody else asked for the same
                return
            future.set_running_or_notify_cancel()
            self.known[key] = future, None, asked                          # and the recordings go with it
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    def _forget(self) -> None:
        """Results that are old, and the oldest where there are many."""
        for key, (future, _, asked) in list(self.known.items()):
            if future.done() and (time.monotonic() - asked > FRESH or len(self.known) >= KEPT):
                del self.known[key]
