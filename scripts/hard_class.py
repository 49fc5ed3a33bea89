"""A class on a bad day: ten uploads of 200 MB at once, a full disk, a read-only folder, a clock set back.

In each, some visitors do what hurts (upload, enrol, train, answer a question, join) while others walk over all pages:
whoever is hurt gets one sentence, nobody sees an exception, and the others are as quick as before. When the bad day is
over, everything works again.

    python -m scripts.hard_class [uploads] [disk] [read-only] [clock]

The disk is a small tmpfs, which takes root; the folder is read-only for a process without root's right to write
anywhere (setpriv); the clock is that of a small library, made here by gcc, which the processes of the class see.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil

from qpwl_core.data.recordings import Recordings
from scripts import class_load
from scripts.large_upload import sentences
from tests.support.classroom import Class, running_class
from tests.support.client import Client, asked
from tests.support.tiny import tiny_recordings
from ui.library.jobs import jobs

WITHOUT = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t which, struct timespec *now) {       /* the real one, moved by the seconds in a file */
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int failed = real(which, now);
  if (failed || which != CLOCK_REALTIME) return failed;
  long seconds = 0;
  FILE *file = fopen(getenv("QPWL_SHIFT"), "r");
  if (file) { if (fscanf(file, "%ld", &seconds) != 1) seconds = 0; fclose(file); }
  now->tv_sec += seconds;
  return 0;
}
"""
DISK, OTHERS = 64, 8                        # MB; people
ALONE: dict = {"open": [(0, 0.0)], "act": [], "errors": []}         # nobody else was there
numbers = itertools.count()


async def act(client: Client, page: str, query: str, do, done: str) -> str:
    """"done", or the one sentence that the page says instead."""
    await client.open(page, query)
    with suppress(KeyError):                                  # the page has a sentence where the form would be
        await do(client)
    if client.errors:
        return f"EXCEPTION {client.errors}"
    said = sentences(client)
    return said[0] if len(said) == 1 else "done" if not said and done in client.text else f"SAID NOTHING {said}"


async def enrol(client: Client) -> None:
    await client.act(client.find("text_input", "Name"), f"person {next(numbers)}")
    await client.act(client.find("button", "Enrol"))


async def train(client: Client) -> None:
    await client.act(client.find("button", "Start training"))


async def answer(client: Client) -> None:
    client.find("radio", "Lesson")                            # the page stands
    radio = client.widgets("radio")[1]
    await client.act(radio, radio.proto.options[next(numbers) % 2])


def upload(path: Path) -> Callable:
    async def do(client: Client) -> None:
        client.errors.clear()
        await client.upload(client.find("file_uploader", "Recordings of several people"), path.name, path, 300)
    return do


async def all_of_it(room: Class, cookie: str, small: Path) -> dict[str, str]:
    """Everything that writes."""
    found = {}
    async with Client(room.address, cookie) as client:
        found["enrol"] = await act(client, "desk", "", enrol, "is enrolled with")
        found["upload"] = await act(client, "data", "data_view=Your+own", upload(small), "people")
        found["answer"] = await act(client, "lessons", "", answer, "")
    async with Client(room.address, cookie) as client:
        found["train"] = await act(client, "train", "", train, "stop-")
        for widget in [widget for widget in client.widgets("button") if widget.label in ("Stop", "Leave the queue")]:
            await client.act(widget)
    status, text, _ = await asyncio.to_thread(asked, room.address, f"/join/{room.secrets['join']}", {"name": "new"})
    said = text.partition("<p>")[2].partition("</p>")[0]
    found["join"] = "done" if status == 303 else said if status == 400 and said else f"SAID NOTHING {status}"
    return found


@contextmanager
def walking(room: Class, others: list[str], told: dict):
    """Others, by their cookies, who notice nothing."""
    options = SimpleNamespace(seed=3, every=2)
    tasks = [asyncio.create_task(class_load.student(room, i, options, float("inf"), told, cookie))
             for i, cookie in enumerate(others)]
    yield
    for task in tasks:
        task.cancel()


def judged(what: str, found: dict[str, str], told: dict, wanted: Callable[[str], bool]) -> list[str]:
    wrong = [f"{what}: {act}: {said}" for act, said in found.items() if not wanted(said)]
    for name, said in found.items():
        print(f"{what:12} {name:10} {said}")
    times = [took for kind in ("open", "act") for _, took, *_ in told[kind]]
    late = class_load.late(times, 0.95)
    print(f"{what:12} others: {len(times)} pages and acts, p95 {late:.2f} s, {len(told['errors'])} errors")
    wrong += [f"{what}: {error}" for error in told["errors"]]
    return wrong + [f"{what}: the others waited {late:.2f} s"] * (not times or late > class_load.OPEN)


def one_sentence(said: str) -> bool:
    return said != "done" and not said.startswith(("EXCEPTION", "SAID NOTHING")) and "Traceback" not in said


def fresh() -> dict:
    return {"open": [], "act": [], "errors": [], "memory": [], "cpu": []}


async def while_others(room: Class, others: list[str], told: dict, work):
    """What ``work`` gives, done while others walk about."""
    with walking(room, others, told):
        await asyncio.sleep(5)
        found = await work
        await asyncio.sleep(5)
        return found


def uploads(home: Path) -> list[str]:
    """Ten visitors upload 204 MB at once; some fit into what the server keeps, the rest are told."""
    large, before, told = home / "large.npz", fresh(), fresh()
    values = np.random.default_rng(0).normal(size=(10, 850_000, 6)).astype(np.float32)
    Recordings(list(values), [f"p{i // 2}" for i in range(10)], [f"c{i}" for i in range(6)], 50.0).save(
        large, compressed=False)
    print(f"a file of {large.stat().st_size / 1e6:.0f} MB")

    async def ready(room: Class, cookie: str):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "scripts.large_upload", room.address, cookie, str(large),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        await process.stdout.readline()
        return process

    async def begun(process) -> dict:
        return json.loads((await process.communicate(b"go\n"))[0])

    async def play(room: Class) -> list[dict]:
        others = [await asyncio.to_thread(room.join) for _ in range(OTHERS)]
        visitors = [await ready(room, await asyncio.to_thread(room.join)) for _ in range(10)]
        watch = asyncio.create_task(class_load.watch(room, float("inf"), told))
        await while_others(room, others, before, asyncio.sleep(20))
        found = await while_others(room, others, told, asyncio.gather(*map(begun, visitors)))
        watch.cancel()
        return found

    with running_class(home / "class") as room:
        found = asyncio.run(play(room))
    print(f"uploads      took {max(each['seconds'] for each in found):.0f} s at most, memory of the app "
          f"{max(used for _, used in told['memory']) / 2**30:.2f} GB at most")
    wrong = judged("before", {}, before, bool)
    return wrong + judged("uploads", {f"visitor {i}": each["said"] for i, each in enumerate(found)}, told,
                          lambda said: said == "done" or one_sentence(said))


@contextmanager
def small_disk(at: Path):
    at.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}m", "tmpfs", str(at)], check=True)
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


@contextmanager
def same_disk(at: Path):
    at.mkdir(parents=True)
    try:
        yield at
    finally:
        may_write(at, True)


def may_write(at: Path, yes: bool) -> None:
    for path in [at, *at.rglob("*")]:
        with suppress(FileNotFoundError):
            path.chmod(path.stat().st_mode | 0o200 if yes else path.stat().st_mode & ~0o222)


def disk(home: Path, what: str = "full disk") -> list[str]:
    """A disk without room for one more byte, or one that nobody may write to, and then it is well again."""
    small, told, after = home / "small.npz", fresh(), fresh()
    tiny_recordings(samples=10_000).save(small, compressed=False)          # too large to arrive in memory
    place = small_disk if what == "full disk" else same_disk
    with place(home / "disk") as at, running_class(at / "class", TMPDIR=str(at)) as room:
        ann, others = room.join("Ann"), [room.join() for _ in range(OTHERS)]
        before = asyncio.run(all_of_it(room, ann, small))
        wrong = judged("before", before, ALONE, lambda said: said == "done")
        if what == "full disk":
            with open(at / "full", "wb", buffering=0) as file:
                for size in (2**20, 4096, 1):
                    try:
                        while True:
                            file.write(b"\0" * size)
                    except OSError:
                        continue
        else:
            may_write(at, False)
        found = asyncio.run(while_others(room, others, told, all_of_it(room, ann, small)))
        told["errors"] = [error for error in told["errors"] if "cannot be written" not in error]
        found.pop("answer")                                   # kept in the session where it cannot be written
        wrong += judged(what, found, told, one_sentence)
        if what == "full disk":
            (at / "full").unlink()
        else:
            may_write(at, True)
        again = asyncio.run(while_others(room, others, after, all_of_it(room, ann, small)))
        wrong += judged("afterwards", again, after, lambda said: said == "done")
    return wrong


def read_only(home: Path) -> list[str]:
    return disk(home, "read-only")


def clock(home: Path) -> list[str]:
    """The clock goes back by a day in the middle of the class: whoever was in stays in, and all goes on."""
    small, told, stamp = home / "small.npz", fresh(), home / "shift"
    tiny_recordings().save(small)
    (home / "clock.c").write_text(CLOCK)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", home / "clock.so", home / "clock.c", "-ldl"], check=True)
    stamp.write_text("0")
    with running_class(home / "class", LD_PRELOAD=str(home / "clock.so"), QPWL_SHIFT=str(stamp)) as room:
        ann, others = room.join("Ann"), [room.join() for _ in range(OTHERS)]
        before = asyncio.run(all_of_it(room, ann, small))
        wrong = judged("before", before, ALONE, lambda said: said == "done")
        stamp.write_text("-86400")
        found = asyncio.run(while_others(room, others, told, all_of_it(room, ann, small)))
        wrong += judged("clock back", found, told, lambda said: said == "done")

        tickets = [job.spec for job in jobs(room.folder / "runs")]
        yesterday = (datetime.now() - timedelta(days=1)).strftime("%Y-%m-%d")
        if not tickets or not tickets[0]["created"].startswith(yesterday):
            wrong.append(f"clock: the run asked for last is not first: {[spec['created'] for spec in tickets]}")
    return wrong


def main() -> int:
    every = {"uploads": uploads, "disk": disk, "read-only": read_only, "clock": clock}
    wrong, begun = [], time.monotonic()
    for name in sys.argv[1:] or every:
        if name == "read-only" and os.geteuid() == 0 and "QPWL_WITHOUT" not in os.environ:
            done = subprocess.run([*WITHOUT, sys.executable, "-m", "scripts.hard_class", name],
                                  env=os.environ | {"QPWL_WITHOUT": "yes"})
            wrong += ["read-only: see above"] * bool(done.returncode)
            continue
        with tempfile.TemporaryDirectory(prefix="qpwl-hard-") as home:
            wrong += every[name](Path(home))
        for process in psutil.process_iter(["pid", "cmdline"]):
            if home in " ".join(process.info["cmdline"] or ()):       # the schedulers of a class that is gone
                os.kill(process.info["pid"], 9)
    print(*wrong, f"{time.monotonic() - begun:.0f} s: {f'{len(wrong)} wrong' if wrong else 'nothing wrong'}", sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
