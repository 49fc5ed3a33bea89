"""The server under a limit of memory, visited by people who mean no good: ``python -m scripts.limited_server``.

One visitor uploads recordings whose training would need many gigabytes and opens Train with them, another follows links
that say anything; pages must answer meanwhile, and the server must live in the end.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np

from qpwl_core.data.recordings import Recordings

LIMIT = 3 * 2**30
LINKS = ("train?train_pairs=999999999&train_filters=-1&train_p=nan", "distances?p=1e308&M=-5",
         "filters?filter=99999999", "verification?n=99&models=../../etc&M=1e9", "desk?desk-n=-1&model=%00",
         "data?data=own:../../x&data_rate=1e308", "identification?draw=1e99", "results?x=" + "y" * 4000,
         "quantile_layer?p=inf", "sign?x=1", "lessons?lesson=../..")


def limited() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


def answers(address: str) -> float:
    """Seconds that another visitor waits for an answer."""
    started = time.monotonic()
    for path in ("/_stcore/health", "/"):
        with urllib.request.urlopen(address + path, timeout=60) as reply:
            assert reply.status == 200
    return time.monotonic() - started


def main() -> int:
    from playwright.sync_api import TimeoutError, sync_playwright

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as home:
        long = Path(home) / "long.npz"
        values = np.random.default_rng(0).normal(size=(2_000_000, 2)).astype("f4")
        Recordings([values[i:] for i in range(8)], [f"p{i // 2}" for i in range(8)], ("a", "b"), 100.0).save(
            long, compressed=False)
        server = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port), "--server.headless",
             "true", "--server.address", "127.0.0.1"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limited,
            env=os.environ | {"QPWL_RUNS": f"{home}/runs", "QPWL_DESK": f"{home}/desk"})
        try:
            for _ in range(120):
                try:
                    answers(address)
                    break
                except OSError:
                    time.sleep(0.5)
            waits = []
            with sync_playwright() as play:
                browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
                page, other = browser.new_page(), browser.new_page()
                page.set_default_timeout(120_000)
                other.set_default_timeout(120_000)
                page.goto(f"{address}/data?data_view=Your+own")
                page.locator("input[type=file]").first.set_input_files(long)
                other.goto(f"{address}/quantile_layer")
                other.get_by_role("heading", name="Quantile layer").first.wait_for()
                waits.append(answers(address))
                page.get_by_text("8 sequences").first.wait_for()
                print("uploaded: 8 sequences of 2,000,000 samples")
                page.get_by_role("link", name="Train").first.click()
                with contextlib.suppress(TimeoutError):          # a busy machine measures for a while
                    page.get_by_text("cannot be trained").or_(page.get_by_text("as measured")).first.wait_for()
                said = page.get_by_test_id("stAlert").all_inner_texts()
                print("Train says:", *[" ".join(text.split())[:300] for text in said])
                for link in LINKS:
                    other.goto(f"{address}/{link}")
                    other.wait_for_timeout(500)
                    waits.append(answers(address))
                browser.close()
            used = Path(f"/proc/{server.pid}/status").read_text()
            print(*[line for line in used.splitlines() if line.startswith(("VmPeak", "VmHWM", "VmRSS"))], sep="\n")
            alive = server.poll() is None
            print(f"the server {'lives' if alive else 'is gone'}; others waited {max(waits):.2f} s at most")
            return 0 if alive else 1
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
