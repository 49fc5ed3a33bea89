"""A class on a free port, started as ``make class`` starts it."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from qpwl_core.common.files import read_json
from tests.support.client import asked, joined
from tests.support.places import ROOT


@dataclass
class Class:
    """A class that runs."""

    address: str
    folder: Path
    process: subprocess.Popen

    @property
    def log(self) -> str:
        """What its processes said."""
        return (self.folder.parent / f"{self.folder.name}.log").read_text("utf-8", "replace")

    @property
    def secrets(self) -> dict:
        return read_json(self.folder / "class.json")

    def join(self, name: str = "") -> str:
        """The cookie of a new student."""
        return joined(self.address, f"/join/{self.secrets['join']}", name)

    def lecturer(self) -> str:
        return joined(self.address, f"/lecturer/{self.secrets['lecturer']}")

    def until_up(self, seconds: float = 60) -> None:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            try:
                if asked(self.address, "/")[0] == 403:
                    return
            except OSError:
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.2)
        raise TimeoutError(f"the class does not open: {self.log[-2000:]}")


@contextmanager
def running_class(folder: Path, workers: int = 1, script: str | None = None, **environment):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "scripts.classroom", "start", "--folder", str(folder), "--port", str(port),
               "--workers", str(workers), *(("--app", script) if script else ())]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.parent / f"{folder.name}.log", "wb") as log, subprocess.Popen(
            command, cwd=ROOT, env=os.environ | environment, stdout=log, stderr=log) as process:
        try:
            running = Class(f"http://localhost:{port}", folder, process)
            running.until_up()
            yield running
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
