"""Kill processes of a class with ``kill -9`` at random, during its load, while students enrol and a training runs.

Beside those who walk over all pages (`class_load.py`), some students enrol person after person by Streamlit's protocol
and note each that the page confirms; the lecturer keeps a training going and notes each run that the page shows. At
random moments, whether all is up again or not, one process is killed: an app process, nginx or its worker, the
training, the scheduler. At the end every confirmed enrolment must be there with all its sequences, every run must be
readable, its curve without a gap, nothing half written may lie about, and every student must find their own space by
their old cookie, and nobody else's.

    python -m scripts.kill_class [--kills 200] [--enrolling 4] [--students 12] [--workers 2] [--pause 4] [--seed 0]
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
from types import SimpleNamespace

import psutil

from scripts import class_load
from tests.support.classroom import Class, running_class
from tests.support.client import Client

PEOPLE = 3                                   # that a student enrols before the first of them leaves again


def victims(room: Class) -> list[tuple[str, int]]:
    """The processes of the class, by what they are."""
    found = []
    for each in psutil.Process(room.process.pid).children():
        try:
            nginx = "nginx" in each.name()
            found.append(("nginx" if nginx else "app", each.pid))
            found += [("worker of nginx", child.pid) for child in each.children() if nginx]
        except psutil.Error:
            continue
    for each in psutil.process_iter(["pid", "cmdline"]):
        command = " ".join(each.info["cmdline"] or ())
        if str(room.folder) in command and "ui.library." in command:
            found.append(("scheduler" if "scheduler" in command else "training", each.info["pid"]))
    return found


class Enrolling:
    """A student who enrols people: whom the page confirmed, and whom it said to be gone."""

    def __init__(self, room: Class, number: int):
        self.room, self.number, self.cookie = room, number, ""
        self.confirmed: dict[str, int] = {}              # name -> sequences that the page said
        self.doubtful: set[str] = set()                  # asked for, and no answer came
        self.done = self.broken = self.back = 0          # enrolments; sessions that were cut, and begun again

    @property
    def id(self) -> str:
        return self.cookie.partition(".")[0]

    async def work(self, over: asyncio.Event) -> None:
        """What breaks is tried again in a new session, as a browser does."""
        count = 0
        while not over.is_set():
            try:
                async with Client(self.room.address, self.cookie) as client:
                    await client.open("desk", timeout=30)
                    self.check_space(client)
                    for name in sorted(name for name in self.doubtful if f"{name}\"" in client.text):
                        await self.remove(client, name)
                    while not over.is_set():
                        count += 1
                        await self.enrol(client, f"person{self.number}x{count}")
                        if len(self.confirmed) >= PEOPLE:
                            await self.remove(client, next(iter(self.confirmed)))
            except (OSError, RuntimeError, TimeoutError, KeyError, ConnectionError):
                self.broken += 1
                await asyncio.sleep(0.3)
            except Exception as error:                    # of the web socket
                if "websockets" not in type(error).__module__:
                    raise
                self.broken += 1
                await asyncio.sleep(0.3)

    def check_space(self, client: Client) -> None:
        """Who comes again finds whom they enrolled."""
        missing = [name for name in self.confirmed if name not in client.text]
        if missing and client.runs and client.find("button", "Enrol"):    # the page is whole: its script has ended
            raise AssertionError(f"student {self.number} came back and did not find {missing}")
        self.back += bool(self.confirmed)

    async def enrol(self, client: Client, name: str) -> None:
        await client.act(client.find("text_input", "Name"), name, timeout=30)
        self.doubtful.add(name)
        await client.act(client.find("button", "Enrol"), timeout=30)
        if found := re.search(rf"{name} is enrolled with (\d+) sequences", client.text):
            self.confirmed[name] = int(found[1])
            self.done += 1
            self.doubtful.discard(name)
        if client.errors:
            raise RuntimeError(client.errors[-1])

    async def remove(self, client: Client, name: str) -> None:
        await client.act(client.find("selectbox", "Who"), name, timeout=30)
        self.confirmed.pop(name, None)
        self.doubtful.add(name)
        await client.act(client.find("button", "Remove"), timeout=30)
        if f"{name} is removed" not in client.text:
            raise RuntimeError(f"{name} was not seen to be removed")
        self.doubtful.discard(name)


async def lecturer(room: Class, cookie: str, over: asyncio.Event, started: set[str]) -> None:
    """Keep a training going, and note each run that the page shows."""
    while not over.is_set():
        try:
            async with Client(room.address, cookie) as client:
                await client.open("train", timeout=30)
                if not any(widget.label in ("Stop", "Leave the queue") for widget in client.widgets("button")):
                    await client.act(client.find("button", "Start training"), timeout=30)
                started |= set(re.findall(r"stop-([0-9a-f]{12})", client.text))
        except Exception:                                 # it was killed under our hands
            pass
        await asyncio.sleep(2)


async def killer(room: Class, options, over: asyncio.Event, killed: Counter) -> None:
    chance = random.Random(options.seed)
    while killed.total() < options.kills:
        await asyncio.sleep(chance.uniform(0, 2 * options.pause))
        by_kind: dict[str, list[int]] = {}
        for kind, pid in await asyncio.to_thread(victims, room):
            by_kind.setdefault(kind, []).append(pid)
        if by_kind:
            kind = chance.choice(sorted(by_kind))
            try:
                os.kill(chance.choice(by_kind[kind]), signal.SIGKILL)
                killed[kind] += 1
            except ProcessLookupError:
                continue
    over.set()


async def play(room: Class, options, told: dict) -> tuple[list[Enrolling], set[str], Counter]:
    over, killed, started = asyncio.Event(), Counter(), set()
    enrolling = [Enrolling(room, i) for i in range(options.enrolling)]
    for each in enrolling:
        each.cookie = await asyncio.to_thread(room.join, f"enrolling {each.number}")
    others = [await asyncio.to_thread(room.join, f"student {i}") for i in range(options.students)]
    cookie = await asyncio.to_thread(room.lecturer)
    load = SimpleNamespace(seed=options.seed, every=5)
    walking = [asyncio.create_task(class_load.student(room, i, load, float("inf"), told, each))
               for i, each in enumerate(others)]
    await asyncio.gather(killer(room, options, over, killed), lecturer(room, cookie, over, started),
                         *(each.work(over) for each in enrolling))
    for task in walking:
        task.cancel()
    await asyncio.gather(*walking, return_exceptions=True)
    return enrolling, started, killed


async def spaces(room: Class, enrolling: list[Enrolling]) -> list[str]:
    """Every student, again: their own people on the page, and nobody else's."""
    wrong = []
    for each in enrolling:
        async with Client(room.address, each.cookie) as client:
            await client.open("desk", timeout=60)
            if any(f"person{other.number}x" in client.text for other in enrolling if other is not each):
                wrong.append(f"student {each.number} sees people of another")
            if missing := [name for name in each.confirmed if name not in client.text]:
                wrong.append(f"student {each.number} does not see {missing}")
    return wrong


def check(room: Class, enrolling: list[Enrolling], started: set[str]) -> list[str]:
    """What is wrong with the files."""
    from qpwl_core.desk.storage import storages_of
    from qpwl_core.models.gallery import load_gallery
    from ui.library import jobs

    wrong = []
    for each in enrolling:
        there: dict[str, int] = dict(room_people(storages_of(room.folder / "desk", each.id)))
        for name, sequences in each.confirmed.items():
            if there.get(name) != sequences:
                wrong.append(f"{name} has {there.get(name)} of {sequences} confirmed sequences")
        if strange := set(there) - set(each.confirmed) - each.doubtful:
            wrong.append(f"nobody enrolled {sorted(strange)[:5]}, or they were confirmed to be gone")
    runs = room.folder / "runs"
    if lost := [name for name in started if jobs.find(runs, name) is None]:
        wrong.append(f"{len(lost)} runs that a page showed are missing: {lost[:5]}")
    for folder in runs.glob("[!.]*"):
        if (job := jobs.find(runs, folder.name)) is None:
            wrong.append(f"run {folder.name} cannot be read: {[path.name for path in folder.iterdir()]}")
        elif job.state == "finished" and load_gallery(folder).model != job_checksum(folder):
            wrong.append(f"run {folder.name} has a gallery of other weights")
        elif (steps := [row["step"] for row in job.curve()]) != sorted(set(steps)):
            wrong.append(f"run {folder.name} has a curve that goes back")
    if not sum(len(each.confirmed) for each in enrolling) or not started:
        wrong.append("no enrolment or no run was confirmed: this proves nothing")
    return wrong


def room_people(storages) -> list[tuple[str, int]]:
    """(name, sequences) of everybody in some desks, counted in the rows themselves."""
    from sqlalchemy import text

    found = []
    for storage in storages:
        with storage.open(False, 20) as connection:
            rows = connection.execute(text(
                "SELECT people.name, count(sequences.id) FROM people LEFT JOIN sequences ON sequences.person = "
                "people.id GROUP BY people.id, people.name"))
            found += [(str(name), int(count)) for name, count in rows]
    return found


def job_checksum(folder: Path) -> str:
    from qpwl_core.models.model import load_model

    return load_model(folder).checksum


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--enrolling", type=int, default=4)
    parser.add_argument("--students", type=int, default=12)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--pause", type=float, default=4, help="seconds between two kills, on average")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    begun = time.monotonic()
    told: dict = {"open": [], "act": [], "errors": []}
    with tempfile.TemporaryDirectory() as home, running_class(Path(home) / "class", options.workers) as room:
        enrolling, started, killed = asyncio.run(play(room, options, told))
        time.sleep(3)
        room.until_up()
        wrong = asyncio.run(spaces(room, enrolling)) + check(room, enrolling, started)
        for kind, pid in victims(room):
            if kind in ("scheduler", "training"):
                os.kill(pid, signal.SIGKILL)
    broken, back = (sum(getattr(each, what) for each in enrolling) for what in ("broken", "back"))
    print(f"{killed.total()} kills ({', '.join(f'{count} {kind}' for kind, count in sorted(killed.items()))}), "
          f"{sum(each.done for each in enrolling)} enrolments confirmed by {options.enrolling} students, whose "
          f"sessions were cut {broken} times and {back} times found their people again; {len(started)} runs; "
          f"{len(told['open']) + len(told['act'])} pages and acts of {options.students} others, "
          f"{time.monotonic() - begun:.0f} s: {'; '.join(wrong) or 'nothing lost, no half state'}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
