"""Kill processes of a class with ``kill -9`` at random while students enrol and a training runs; count what is left.

Students enrol person after person by Streamlit's protocol and note each that the page confirms; the lecturer keeps a
training going. A moment after the class serves again, one process of it is killed: app, nginx, the training, the
scheduler. At the end every confirmed enrolment must be there with all its sequences, every run must be readable, and
every student must find their own space, and nobody else's.

    python -m scripts.kill_class [--kills 200] [--students 6] [--workers 2] [--pause 4] [--seed 0]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil

from tests.support.classroom import Class, running_class
from tests.support.client import Client


def victims(room: Class) -> list[tuple[str, int]]:
    """The processes of the class, by what they are."""
    found = [("nginx" if "nginx" in each.name() else "app", each.pid)
             for each in psutil.Process(room.process.pid).children()]
    for each in psutil.process_iter(["pid", "cmdline"]):
        command = " ".join(each.info["cmdline"] or ())
        if str(room.folder) in command and "ui.library." in command:
            found.append(("scheduler" if "scheduler" in command else "training", each.info["pid"]))
    return found


async def student(room: Class, cookie: str, number: int, over: asyncio.Event, confirmed: list[str]) -> None:
    """Enrol somebody new again and again; what breaks is tried again in a new session, as a browser does."""
    count = 0
    while not over.is_set():
        try:
            async with Client(room.address, cookie) as client:
                while not over.is_set():
                    count += 1
                    name = f"person{number}x{count}"
                    await client.open("desk", timeout=30)
                    await client.act(client.find("text_input", "Name"), name, timeout=30)
                    await client.act(client.find("button", "Enrol"), timeout=30)
                    if f"{name} is enrolled with" in client.text:
                        confirmed.append(name)
        except Exception:
            await asyncio.sleep(0.5)


async def lecturer(room: Class, over: asyncio.Event, started: set[str]) -> None:
    """Keep a training going, and note each run that the page shows."""
    cookie = None
    while not over.is_set():
        try:
            cookie = cookie or await asyncio.to_thread(room.lecturer)
            async with Client(room.address, cookie) as client:
                await client.open("train", timeout=30)
                if not any(widget.label in ("Stop", "Leave the queue") for widget in client.widgets("button")):
                    await client.act(client.find("button", "Start training"), timeout=30)
                started |= set(re.findall(r"stop-([0-9a-f]{12})", client.text))
        except Exception:
            pass
        await asyncio.sleep(5)


async def killer(room: Class, options, over: asyncio.Event, killed: Counter) -> None:
    chance = random.Random(options.seed)
    while killed.total() < options.kills:
        await asyncio.to_thread(room.until_up)
        await asyncio.sleep(chance.uniform(0, 2 * options.pause))
        by_kind: dict[str, list[int]] = {}
        for kind, pid in victims(room):
            by_kind.setdefault(kind, []).append(pid)
        if by_kind:
            kind = chance.choice(sorted(by_kind))
            try:
                os.kill(chance.choice(by_kind[kind]), signal.SIGKILL)
                killed[kind] += 1
            except ProcessLookupError:
                continue
    over.set()


async def play(room: Class, options) -> tuple[dict[str, list[str]], set[str], Counter]:
    over, killed, started = asyncio.Event(), Counter(), set()
    cookies = [await asyncio.to_thread(room.join, f"student {i}") for i in range(options.students)]
    confirmed: dict[str, list[str]] = {cookie: [] for cookie in cookies}
    await asyncio.gather(killer(room, options, over, killed), lecturer(room, over, started),
                         *(student(room, cookie, i, over, confirmed[cookie]) for i, cookie in enumerate(cookies)))
    return confirmed, started, killed


async def spaces(room: Class, confirmed: dict[str, list[str]]) -> list[str]:
    """Every student, again: their own people on the page, and nobody else's."""
    wrong = []
    for i, (cookie, names) in enumerate(confirmed.items()):
        async with Client(room.address, cookie) as client:
            await client.open("desk", timeout=60)
            if any(f"person{j}x" in client.text for j in range(len(confirmed)) if j != i):
                wrong.append(f"student {i} sees people of another")
            if names and names[-1] not in client.text:
                wrong.append(f"student {i} does not see {names[-1]}")
    return wrong


def check(room: Class, confirmed: dict[str, list[str]], started: set[str]) -> list[str]:
    """What is wrong with the files."""
    from qpwl_core.desk.storage import people_in, storages_of
    from ui.library import jobs

    wrong = []
    for cookie, names in confirmed.items():
        there = [name for storage in storages_of(room.folder / "desk", cookie.partition(".")[0])
                 for name in people_in(storage)]
        missing = set(names) - set(there)
        if missing:
            wrong.append(f"{len(missing)} confirmed people are missing: {sorted(missing)[:5]}")
        if len(there) != len(set(there)):
            wrong.append("somebody is there twice")
    runs = room.folder / "runs"
    if lost := [name for name in started if jobs.find(runs, name) is None]:
        wrong.append(f"{len(lost)} runs that a page showed are missing: {lost[:5]}")
    if not any(confirmed.values()) or not started:
        wrong.append("no enrolment or no run was confirmed: this proves nothing")
    for folder in runs.glob("[!.]*"):
        if jobs.find(runs, folder.name) is None:
            wrong.append(f"run {folder.name} cannot be read: {[path.name for path in folder.iterdir()]}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--students", type=int, default=6)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--pause", type=float, default=4, help="seconds of service between two kills, on average")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as home, running_class(Path(home) / "class", options.workers) as room:
        confirmed, started, killed = asyncio.run(play(room, options))
        time.sleep(3)
        room.until_up()
        wrong = asyncio.run(spaces(room, confirmed)) + check(room, confirmed, started)
        for kind, pid in victims(room):
            if kind in ("scheduler", "training"):
                os.kill(pid, signal.SIGKILL)
    print(f"{killed.total()} kills ({', '.join(f'{count} {kind}' for kind, count in killed.items())}), "
          f"{sum(map(len, confirmed.values()))} enrolments confirmed by {options.students} students, "
          f"{len(started)} runs, "
          f"{time.monotonic() - begun:.0f} s: {'; '.join(wrong) or 'nothing lost, no half state'}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
