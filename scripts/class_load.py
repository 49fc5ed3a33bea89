"""Thirty students at once, by protocol: real web-socket clients of Streamlit's messages, no browser, during a training.

Each opens a page or does something on it every five seconds, across all pages, for five minutes; every fourth page is
opened as by a reload, with a new connection. Told are the median and the 95th percentile of opening and acting,
processor and memory of the app, how far the training came, what this script itself needed, and every error.

    python -m scripts.class_load [--students 30] [--minutes 5] [--every 5] [--workers 1] [--no-training] [--seed 0]
                                 [--browsers 10] [--warm 0] [--profile FOLDER]

``--every 0`` waits for nothing: how much gets done in a second is then what the server can do, after so many seconds
(``--warm``) in which every process came to know what it will show. ``--browsers``: so many
real ones beside (`class_browsers.py`). Exits with 0 where nobody saw an error, p95 of an act is at most 1.5 s and of an
opening 4 s, and memory at most 2.5 GB a process and flat (its mean over the last fifth within 1.1 times that over the
second fifth). Figures are kept in CLASS.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import psutil

from qpwl_core.common.files import read_json
from scripts.class_browsers import browsers, person
from tests.support.classroom import Class, running_class
from tests.support.client import Client, Widget, asked
from tests.support.views import PAGES

PLACES = [*PAGES, "classroom"]
RELOAD = 4                                  # of so many pages one is opened with a new connection
TIMED = Path(__file__).with_name("timed_server.py")
ACT, OPEN, MEMORY, FLAT = 1.5, 4.0, 2.5 * 2**30, 1.1
HARMLESS = ("Another pair", "Present", "An owner", "A stranger", "A false claim", "Enrol three people",
            "The best filter", "The weakest filter")       # buttons that a student may press again and again


def some_value(widget: Widget, chance: random.Random):
    """A value that the widget may have."""
    proto = widget.proto
    match widget.kind:
        case "checkbox":
            return not proto.default
        case "selectbox" | "radio":
            return chance.choice([getattr(option, "content", option) for option in proto.options])
        case "button_group":
            return chance.choice([option.content for option in proto.options])
        case "slider":
            if proto.options:
                return chance.choice(list(proto.options))
            steps = max(1, int((proto.max - proto.min) / (proto.step or 1)))
            return proto.min + chance.randint(0, min(steps, 100)) * (proto.step or 1)
    return None


def usable(client: Client) -> list[Widget]:
    """What a student would touch: no form, no button that deletes or starts a training."""
    return [widget for widget in client.widgets("checkbox", "selectbox", "button_group", "slider", "button")
            if not getattr(widget.proto, "form_id", "") and (widget.kind != "button" or widget.label in HARMLESS)
            and (widget.kind in ("button", "checkbox", "slider") or len(widget.proto.options) > 1)
            and widget.label not in ("Presenter",)]


async def student(room: Class, number: int, options, until: float, told: dict, cookie: str = "") -> None:
    """One person: opens a page, does two things there, opens the next; ``cookie`` of one who has joined before."""
    chance = random.Random(1000 * options.seed + number)
    cookie = cookie or await asyncio.to_thread(room.join, f"student {number}")
    await asyncio.sleep(chance.uniform(0, max(options.every, 1)))
    pages, step, at = list(PLACES), 0, ""
    chance.shuffle(pages)
    while time.monotonic() < until:
        try:
            begun = time.monotonic()
            await asyncio.to_thread(asked, room.address, f"/{pages[(step // 3) % len(pages)]}", None, cookie)
            async with Client(room.address, cookie) as client:
                client.keep_fragments_alive()
                came = time.monotonic() - begun
                for _ in range(3 * RELOAD):
                    begun, touch = time.monotonic(), None
                    if step % 3 and (able := usable(client)):
                        touch = chance.choice(able)
                        took = await client.act(touch, some_value(touch, chance))
                    else:
                        at = pages[(step // 3) % len(pages)]
                        took, came = came + await client.open(at), 0.0
                    if client.errors:
                        raise RuntimeError(client.errors[-1])
                    told["act" if touch else "open"].append((time.monotonic(), took, at, touch.label if touch else ""))
                    step += 1
                    await asyncio.sleep(max(0.0, options.every - (time.monotonic() - begun)))
                    if time.monotonic() >= until:
                        break
        except Exception as error:
            told["errors"].append(f"student {number} at {at or 'home'}: {type(error).__name__} {str(error)[:150]}")
            step += 1
            await asyncio.sleep(1)


async def train(room: Class) -> None:
    """The lecturer starts a training that lasts longer than the class."""
    async with Client(room.address, await asyncio.to_thread(room.lecturer)) as client:
        await client.open("train")
        await client.act(client.find("number_input", "Iterations"), 10_000)
        await client.act(client.find("button", "Start training"))
        if client.errors:
            raise RuntimeError(client.errors[-1])


def memory_of(pid: int) -> float:
    """Bytes of a process; what several share, such as PyTorch's code, counts in parts."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return 1024.0 * int(line.split()[1])
    return 0.0


async def watch(room: Class, until: float, told: dict) -> None:
    """Memory and processor time of the app's processes, and the training's apart, every two seconds."""
    def all_of_them():
        for process in [psutil.Process(room.process.pid), *psutil.Process(room.process.pid).children(recursive=True)]:
            try:
                yield process, " ".join(process.cmdline())
            except psutil.Error:
                continue

    before: dict[int, float] = {}
    while time.monotonic() < until:
        spent, each = 0.0, []
        for process, command in all_of_them():
            try:
                if "ui.library.worker" in command or "ui.library.scheduler" in command:
                    continue
                each.append(memory_of(process.pid))
                now = sum(process.cpu_times()[:2])
                spent += now - before.get(process.pid, now)
                before[process.pid] = now
            except (psutil.Error, OSError):
                continue
        told["memory"].append((time.monotonic(), sum(each)))
        told["processes"] = sorted(each, reverse=True)[:6]
        told["cpu"].append(spent / 2)
        await asyncio.sleep(2)


def late(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


async def warmed(start: float, told: dict) -> None:
    """Forget what was measured before it counts."""
    await asyncio.sleep(start - time.monotonic())
    for kind in ("open", "act", "seen open", "seen act", "memory", "cpu"):
        told[kind].clear()


async def play(room: Class, options, told: dict) -> float:
    if not options.no_training:
        await train(room)
    async with browsers(room, options.browsers, told) as pages:
        start = time.monotonic() + options.warm
        until = start + 60 * options.minutes
        begun = time.process_time()
        await asyncio.gather(warmed(start, told), watch(room, until, told),
                             *(person(room, page, i, options, until, told, PLACES) for i, page in enumerate(pages)),
                             *(student(room, i, options, until, told) for i in range(options.students)))
    told["own"] = (time.process_time() - begun) / (time.monotonic() - start + options.warm)
    told["steps"] = sum(read_json(path).get("step", 0) for path in (room.folder / "runs").glob("*/state.json"))
    return start


def report(told: dict, start: float, options) -> int:
    seconds, good = 60 * options.minutes, not told["errors"]
    print(f"{options.students} students, {options.workers} workers, {seconds:.0f} s, every {options.every:g} s, "
          f"{'without' if options.no_training else 'during'} a training")
    by_browser = (("first", OPEN), ("seen open", OPEN), ("seen act", ACT)) * bool(options.browsers)
    for kind, most in (("open", OPEN), ("act", ACT), *by_browser):
        times = [took for _, took, *_ in told[kind]]
        good &= late(times, 0.95) <= most
        print(f"{kind:9} {len(times):6} times: median {late(times, 0.5):.2f} s, p95 {late(times, 0.95):.2f} s "
              f"(at most {most:g}), slowest {max(times, default=0):.2f} s")
        by_page: dict[str, list[float]] = {}
        for _, took, page, _ in told[kind]:
            by_page.setdefault(page or "home", []).append(took)
        print("      p95 by page: " + ", ".join(f"{page} {late(each, 0.95):.2f}" for page, each in
                                              sorted(by_page.items(), key=lambda item: -late(item[1], 0.95))))
    memory = told["memory"]
    parts = [statistics.mean([used for at, used in memory if i / 5 <= (at - start) / seconds < (i + 1) / 5] or [0])
             for i in range(5)]
    peak = max(used for _, used in memory)
    good &= peak <= MEMORY * options.workers and parts[4] <= FLAT * parts[1]
    print(f"memory of the app: at most {peak / 2**30:.2f} GB, by fifths "
          f"{', '.join(f'{part / 2**30:.2f}' for part in parts)}, last over second {parts[4] / parts[1]:.2f}, its "
          f"largest processes at the end {', '.join(f'{used / 2**20:.0f} MB' for used in told['processes'])}; "
          f"processor {statistics.mean(told['cpu']):.2f} cores; {len(told['open']) + len(told['act'])} done, "
          f"{(len(told['open']) + len(told['act'])) / seconds:.1f} per second; steps of training: {told['steps']}; "
          f"this script itself {told['own']:.2f} cores")
    print(f"{len(told['errors'])} errors", *told["errors"][:20], sep="\n  ")
    return int(not good)


def costs(times: Path) -> None:
    """What the runs of scripts cost the server, by page and kind: an act runs the page, a part only a part of it."""
    spent: dict[tuple[str, str], list[float]] = {}
    for line in times.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        spent.setdefault((row["page"], row["kind"]), []).append(row["cpu"])
    print(f"processor seconds of scripts: {sum(map(sum, spent.values())):.1f} in all")
    for (page, kind), each in sorted(spent.items(), key=lambda item: -sum(item[1])):
        print(f"  {page:16}{kind:5}{len(each):5} times {sum(each):7.1f} s in all, "
              f"{sum(each) / len(each):.3f} on average, p95 {late(each, 0.95):.2f}, most {max(each):.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--every", type=float, default=5)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--warm", type=float, default=0, help="seconds before anything counts")
    parser.add_argument("--no-training", action="store_true")
    parser.add_argument("--browsers", type=int, default=0, help="real browsers beside the students")
    parser.add_argument("--profile", type=Path, help="a folder for profiles of every page; all is slower then")
    options = parser.parse_args()
    told: dict = {kind: [] for kind in ("open", "act", "first", "seen open", "seen act", "errors", "memory", "cpu")}
    with tempfile.TemporaryDirectory() as home:
        noted = {"QPWL_TIMES": str(Path(home) / "times.jsonl")}
        if options.profile:
            options.profile.mkdir(parents=True, exist_ok=True)
            noted["QPWL_PROFILE"] = str(options.profile.absolute())
        with running_class(Path(home) / "class", options.workers, str(TIMED), **noted) as room:
            start = asyncio.run(play(room, options, told))
            if told["errors"]:
                told["errors"] += [line for line in room.log.splitlines() if "Error" in line][-10:]
        failed = report(told, start, options)
        costs(Path(noted["QPWL_TIMES"]))
    return failed


if __name__ == "__main__":
    sys.exit(main())
