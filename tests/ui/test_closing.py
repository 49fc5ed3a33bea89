"""A tab that closes takes its uploads along: the real server, a real web socket, and what the server holds."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress

import pytest

from tests.support.client import Client
from tests.support.places import ROOT
from tests.support.tiny import tiny_npz

# The server as it is, but that a closed tab may come back for two seconds and not for two minutes, and that it writes
# down every fifth of a second what it holds.
SERVER = """
import json, sys, threading, time
from pathlib import Path
from streamlit.runtime import memory_session_storage as storage
real = storage.MemorySessionStorage.__init__
storage.MemorySessionStorage.__init__ = lambda self, *_, **__: real(self, ttl_seconds=2)
from qpwl_core.common.paths import runs_folder
from ui.library import totals
totals.LINGERS = 3.0
def tell():
    from streamlit import runtime
    while True:
        time.sleep(0.2)
        if runtime.exists():
            files = runtime.get_instance()._uploaded_file_mgr.file_storage
            held = {"files": sum(len(each.data) for kept in list(files.values()) for each in list(kept.values())),
                    "values": sum(map(totals.bytes_of, list(totals._held))),
                    "models": len(list((runs_folder() / totals.PRIVATE).glob("*")))}
            Path(TOLD + ".part").write_text(json.dumps(held))
            Path(TOLD + ".part").replace(TOLD)
threading.Thread(target=tell, daemon=True).start()
"""


@pytest.fixture
def server(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = tmp_path / "held.json"
    code = SERVER.replace("TOLD", repr(str(told))) + "from ui.serve import main\nmain()\n"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "--server.port", str(port), "--server.headless", "true", "--server.address",
         "127.0.0.1"], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=os.environ | {"QPWL_RUNS": str(tmp_path / "runs"), "QPWL_DESK": str(tmp_path / "desk")})
    address = f"http://127.0.0.1:{port}"
    for _ in range(300):
        with suppress(OSError), urllib.request.urlopen(f"{address}/_stcore/health", timeout=5):
            break
        time.sleep(0.2)
    yield address, lambda: json.loads(told.read_text())
    process.kill()
    process.wait()


async def until(held, wanted, seconds=60.0) -> dict:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        with suppress(OSError, ValueError):
            if wanted(held()):
                return held()
        await asyncio.sleep(0.1)
    return held()


def test_what_a_tab_chose_read_and_never_sent_goes_with_it(server):
    address, held = server

    async def visit():
        async with Client(address) as stays, Client(address) as goes:
            await stays.open()
            await stays.open("data", "data_view=Your+own")
            await stays.upload(stays.find("file_uploader", "data_upload"), "stays.npz", tiny_npz())
            before = await until(held, lambda now: now["values"])
            await goes.open("data", "data_view=Your+own")
            await goes.upload(goes.find("file_uploader", "data_upload"), "goes.npz", tiny_npz())
            await goes.open("train", "train_view=Models")
            widget = goes.find("file_uploader", "Files of one model")
            for name in ("card.json", "model.safetensors"):                  # chosen, and never sent
                await goes.upload(widget, name, bytes(10**6))
            full = await until(held, lambda now: now["values"] > before["values"] and now["files"] > 10**6)
            assert full["values"] == 2 * before["values"]
            await goes.__aexit__()
            after = await until(held, lambda now: now == before)
            assert after == before, "what one brought is gone with the tab, what the other brought is there"
        return await until(held, lambda now: not now["files"] and not now["values"])

    gone = asyncio.run(visit())
    assert (gone["files"], gone["values"], gone["models"]) == (0, 0, 0)
