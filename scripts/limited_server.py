"""The server under a limit of memory, visited by people who mean no good: ``python -m scripts.limited_server``.

Real web-socket clients of Streamlit's messages, many at once, against the app in a process that may have 3 GB of
address space: recordings whose training would need many gigabytes (seen: 8 long sequences), files of the most
sequences, people and channels there may be, or more; a model whose gallery is as large as one may be, and one of a
large network; bombs in a .zip; files of 200 MB side by side; every setting of every page as far as it goes, and links
that say anything. Meanwhile somebody else opens pages and uses them. Told are what each visitor was refused, how long
the others waited, every page that ended in an error, and whether the server lives.

    python -m scripts.limited_server [--seed 0] [--limit 3] [--only NAME …]
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote_plus

import numpy as np

from qpwl_core.common import bounds
from qpwl_core.data.recordings import Recordings
from tests.support.client import Client, Widget
from tests.support.views import LINKS, PAGES

ROOT = Path(__file__).resolve().parents[1]
KEYS = sorted({key for path in (ROOT / "ui").rglob("*.py") for key in re.findall(r'key="([\w-]+)"', path.read_text())})
ODD = ("", "-1", "0", "1e308", "nan", "inf", "99999999999999999999", "../../x", "%00", "own:../../x",
       "a" * 4000, "<script>alert(1)</script>", "[1,2,3]", "true", "None", "\ud7ff", "1.5", "--", "'; DROP TABLE x; --")
SIX = [f"p{i // 2}" for i in range(12)]
WORST = ("train_filters=512&train_layers=32&train_kernel=31&train_pairs=256&train_points=256&train_p=16.0"
         "&train_iterations=100000")


def limited(limit: int):
    def limit_this() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    return limit_this


# --- what they bring

def npz(recordings: Recordings) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        recordings.save(Path(folder) / "x.npz", compressed=False)
        return (Path(folder) / "x.npz").read_bytes()


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype("f4")


def long() -> bytes:
    """The seen case: an ordinary file of a few long sequences, of as many people as a training needs."""
    values = noise(1_500_000, 2)
    return npz(Recordings([values[i:] for i in range(12)], SIX, ("a", "b"), 100.0))


def pen() -> bytes:
    """Signatures of hours."""
    values = np.abs(noise(1_000_000, 3))
    return npz(Recordings([values[i:] for i in range(12)], SIX, ("x", "y", "down"), 100.0,
                          info={"domain": "signature"}))


def many(people: int, each: int) -> bytes:
    values = noise(20, 2)
    names = [f"p{i // each}" for i in range(people * each)]
    return npz(Recordings([values] * len(names), names, ("a", "b"), 20.0))


def wide() -> bytes:
    """As many channels as there may be."""
    return npz(Recordings([noise(60, bounds.CHANNELS)] * 24, [f"p{i // 3}" for i in range(24)],
                          [f"c{i}" for i in range(bounds.CHANNELS)], 20.0))


def slow() -> bytes:
    """A rate at which a second takes a quarter of an hour."""
    return npz(Recordings([noise(4000, 8)] * 24, [f"p{i // 3}" for i in range(24)], [f"c{i}" for i in range(8)],
                          bounds.SLOWEST))


def bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("card.json", "model.safetensors", "gallery.safetensors"):
            archive.writestr(name, bytes(300 * 2**20))
    return file.getvalue()


def models(folder: Path) -> dict[str, bytes]:
    """A model whose gallery is as large as may be, and one whose network is, each in a .zip."""
    from qpwl_core.models.gallery import build_gallery
    from qpwl_core.models.model import load_model
    from qpwl_core.training.loop import train
    from tests.support.tiny import tiny_config, tiny_recordings
    from ui.library.models import Entry
    from ui.library.shelf import packed

    *_, last = train(tiny_config(filters=64, device="cpu"), tiny_recordings(), folder / "gallery")
    small = build_gallery(last.model, tiny_recordings(), tiny_recordings(seed=1))
    n, (_, filters, levels) = bounds.GALLERY_SEQUENCES, small.values.shape
    n = min(n, int((bounds.GALLERY_WORK / filters / levels) ** 0.5), int((bounds.GALLERY_PARTS / filters) ** 0.5))
    index = np.arange(n) % len(small)
    people = np.array([f"person {i % bounds.GALLERY_PEOPLE}" for i in range(n)])
    full = replace(small.select(index), values=np.sort(noise(n, filters, levels), 2), subjects=people, stimuli=None,
                   sources=np.arange(n), parts=np.where(np.arange(n) < 0.7 * n, "test", "calibration"))
    full.save(folder / "gallery")
    heavy = tiny_config(filters=512, layers=32, kernel=3, points=256, iterations=1, pairs=2, device="cpu")
    *_, last = train(heavy, tiny_recordings(), folder / "network")
    build_gallery(load_model(folder / "network"), tiny_recordings()).save(folder / "network")
    return {name: packed(Entry(name, "trained", folder / name, {})) for name in ("gallery", "network")}


# --- who comes

class Visit:
    """A hostile visitor: a client, what it is called, and what came of it."""

    def __init__(self, address: str, name: str, chance: random.Random):
        self.address, self.name, self.chance, self.said, self.wrong = address, name, chance, [], []

    async def __aenter__(self):
        self.client = await Client(self.address).__aenter__()
        return self

    async def __aexit__(self, *error):
        self.wrong += self.client.errors
        await self.client.__aexit__(*error)

    async def open(self, path: str, query: str = "", timeout: float = 400) -> None:
        await self.client.open(path, query, timeout)
        self.listen()

    def listen(self) -> None:
        for element in self.client.elements.values():
            if element.WhichOneof("type") == "alert":
                text = " ".join(element.alert.body.split())
                if text not in self.said:
                    self.said.append(text)

    async def everything(self, *only: str, rounds: int = 40) -> None:
        """Every widget of every view of some pages, set to its end or to chance."""
        links = [link for link in LINKS if not only or link.split("?")[0].strip("/") in only]
        for link in links:
            path, _, query = link.strip("/").partition("?")
            await self.open(path, query)
            for _ in range(rounds // 10):
                able = [each for each in self.client.widgets() if settable(each)]
                if able:
                    widget = self.chance.choice(able)
                    await self.client.act(widget, extreme(widget, self.chance), 400)
                    self.listen()


def settable(widget: Widget) -> bool:
    return (widget.kind in ("checkbox", "selectbox", "button_group", "slider", "number_input", "text_input")
            and not getattr(widget.proto, "form_id", "")
            and (widget.kind not in ("selectbox", "button_group") or len(widget.proto.options) > 0))


def extreme(widget: Widget, chance: random.Random):
    proto = widget.proto
    match widget.kind:
        case "checkbox":
            return not proto.default
        case "selectbox":
            return getattr(chance.choice(proto.options), "content", None) or chance.choice(proto.options)
        case "button_group":
            return chance.choice(proto.options).content
        case "slider":
            return chance.choice(list(proto.options)) if proto.options else chance.choice((proto.min, proto.max))
        case "number_input":
            return chance.choice((proto.min, proto.max)) if proto.has_max else 1e300
    return chance.choice(ODD)


async def upload(visit: Visit, name: str, content: bytes) -> None:
    await visit.open("data", "data_view=Your+own")
    try:
        await visit.client.upload(visit.client.find("file_uploader", "data_upload"), name, content, 400)
    except RuntimeError as error:
        visit.said.append(f"put: {error}")
    visit.listen()


async def recordings(visit: Visit, content: bytes, pages=("data", "train", "desk"), domain: str = "") -> None:
    """Upload, look at all views of some pages with it, and let Train measure what the worst settings cost."""
    await upload(visit, "mine.npz", content)
    if domain:
        with suppress(KeyError):
            await visit.client.act(visit.client.find("selectbox", "Treat it as"), domain, 400)
    visit.client.keep_fragments_alive()
    for link in LINKS:
        path, _, query = link.strip("/").partition("?")
        if path in pages:
            await visit.open(path, f"{query}&data=own%3Amine")
    for view in ("New+run", "Tune+M+and+p"):
        await visit.open("train", f"train_view={view}&data=own%3Amine&{WORST}")
        for _ in range(70):
            await asyncio.sleep(1)
            visit.listen()
            if any("cannot be trained" in text for text in visit.said) or "as measured" in visit.client.text:
                break
    await visit.open("desk", "desk-who=data&desk-from=data")


async def model(visit: Visit, content: bytes, *pages: str) -> None:
    """Upload a model, and look at all views of the pages that show it."""
    await visit.open("train", "train_view=Models")
    try:
        await visit.client.upload_all(visit.client.find("file_uploader", "Files of one model"), {"m.zip": content}, 400)
    except RuntimeError as error:
        visit.said.append(f"put: {error}")
    visit.listen()
    options = [option for each in visit.client.widgets("selectbox") if each.label == "Model"
               for option in each.proto.options if "uploaded by you" in option]
    visit.said.append(f"at hand: {options}")
    if options:
        await visit.client.act(visit.client.find("selectbox", "Model"), options[0], 400)
    for link in LINKS:
        path, _, query = link.strip("/").partition("?")
        if path in pages:
            await visit.open(path, query)
            for widget in visit.client.widgets("multiselect"):
                if widget.label == "Models" and options:
                    await visit.client.act(widget, options, 400)
            visit.listen()


async def junk(visit: Visit, content: bytes) -> None:
    """Six files of 200 MB at once, chosen and never sent."""
    await visit.open("train", "train_view=Models")
    widget = visit.client.find("file_uploader", "Files of one model")
    for i in range(6):
        try:
            await visit.client.upload(replace(widget, kind="file_uploader"), f"{i}.bin", content, 400)
        except RuntimeError as error:
            visit.said.append(f"put: {error}")


async def links(visit: Visit, number: int) -> None:
    for _ in range(number):
        page = visit.chance.choice(list(PAGES))
        chosen = visit.chance.sample(KEYS, 6)
        query = "&".join(f"{key}={quote_plus(visit.chance.choice(ODD))}" for key in chosen)
        await visit.open(page, query)


async def bystander(address: str, stop: asyncio.Event, told: dict) -> None:
    """Somebody else, who opens pages and uses them, and looks whether the server answers."""
    chance, pages = random.Random(1), [link for link in LINKS if "fires" not in link]
    while not stop.is_set():
        try:
            async with Client(address) as client:
                for _ in range(10):
                    begun = time.monotonic()
                    link = chance.choice(pages).strip("/")
                    path, _, query = link.partition("?")
                    with urllib.request.urlopen(f"{address}/_stcore/health", timeout=60) as reply:
                        assert reply.status == 200
                    told["health"].append(time.monotonic() - begun)
                    told["open"].append((await client.open(path, query, 300), link))
                    if client.errors:
                        told["errors"] += [f"{link}: {error}" for error in client.errors]
                        client.errors.clear()
                    if stop.is_set():
                        return
        except Exception as error:
            told["errors"].append(f"{type(error).__name__}: {error}")
            await asyncio.sleep(1)


async def hostile(address: str, seed: int, only: list[str], folder: Path, told: dict) -> list[Visit]:
    brought = models(folder)
    known = ("filters", "distances", "verification", "identification", "desk", "sign", "quantile_layer")
    plan = {
        "long": lambda v: recordings(v, long()),
        "pen": lambda v: recordings(v, pen(), domain="signature"),
        "people": lambda v: recordings(v, many(bounds.UPLOAD_PEOPLE, 4), ("data", "train")),
        "too-many": lambda v: upload(v, "mine.npz", many(30_000, 2)),
        "wide": lambda v: recordings(v, wide()),
        "slow": lambda v: recordings(v, slow(), domain="gait"),
        "gallery": lambda v: model(v, brought["gallery"], *known),
        "network": lambda v: model(v, brought["network"], *known),
        "bomb": lambda v: model(v, bomb()),
        "junk": lambda v: junk(v, bytes(199 * 2**20)),
        "junk-too": lambda v: junk(v, bytes(199 * 2**20)),
        "links": lambda v: links(v, 60),
        "settings": lambda v: v.everything(),
        "worst": lambda v: v.open("train", WORST + "&data=eeg-simulated"),
    }
    visits = []

    async def one(name: str) -> None:
        visit, begun = Visit(address, name, random.Random(f"{seed} {name}")), time.monotonic()
        visits.append(visit)
        try:
            async with visit:
                await plan[name](visit)
        except Exception as error:
            visit.wrong.append(f"{type(error).__name__}: {error}")
        print(f"{name}: {time.monotonic() - begun:.0f} s", *(f"\n    {text[:300]}" for text in visit.said),
              *(f"\n  ! {text[:300]}" for text in visit.wrong), flush=True)

    await asyncio.gather(*(one(name) for name in plan if not only or name in only))
    return visits


async def visited(address: str, args, folder: Path) -> tuple[list[Visit], dict]:
    told: dict = {"health": [], "open": [], "errors": []}
    stop = asyncio.Event()
    async with Client(address) as first:                     # a server that has shown one page keeps what is typed
        await first.open()
    other = asyncio.create_task(bystander(address, stop, told))
    visits = await hostile(address, args.seed, args.only, folder, told)
    stop.set()
    await other
    return visits, told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=3.0, help="gigabytes")
    parser.add_argument("--only", nargs="+", default=[])
    args = parser.parse_args()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory(prefix="qpwl-limited-") as home, open(f"{home}/log.txt", "wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "ui.serve", "--server.port", str(port), "--server.headless", "true",
             "--server.address", "127.0.0.1"], cwd=ROOT, stdout=log, stderr=log,
            preexec_fn=limited(int(args.limit * 2**30)),
            env=os.environ | {"QPWL_RUNS": f"{home}/runs", "QPWL_DESK": f"{home}/desk"})
        try:
            for _ in range(240):
                with suppress(OSError), urllib.request.urlopen(f"{address}/_stcore/health", timeout=5):
                    break
                time.sleep(0.5)
            visits, told = asyncio.run(visited(address, args, Path(home)))
            alive = server.poll() is None
            if alive:
                used = Path(f"/proc/{server.pid}/status").read_text()
                print(*[line for line in used.splitlines() if line.startswith(("VmPeak", "VmHWM", "VmRSS"))], sep="\n")
            wrong = [f"{visit.name}: {error}" for visit in visits for error in visit.wrong] + told["errors"]
            tail = [line for line in Path(f"{home}/log.txt").read_text(errors="replace").splitlines()
                    if "Error" in line][-12:]
            print(*tail, sep="\n")
            print(json.dumps({"others opened": len(told["open"]), "longest": max(told["open"], default=None),
                              "health": max(told["health"], default=None), "errors": wrong}, indent=1))
            print(f"the server {'lives' if alive else 'is gone'}; {len(wrong)} errors")
            return 0 if alive and not wrong else 1
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
