"""Loading 60 MB of recordings: the memory it takes beside their size, the seconds beside a plain ``numpy.load``."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks._timing import race_to, row
from qpwl_core.data.loading import load_recordings
from qpwl_core.data.recordings import Recordings

ROWS, CHANNELS = 240_000, 64   # 61 MB of float32

# VmHWM and not ru_maxrss: a child starts with the largest ru_maxrss of its parent. The first load is for the imports.
PEAK = """
import sys
from qpwl_core.data.loading import load_recordings
def kilobytes(field):
    return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith(field)))
load_recordings(sys.argv[1])
open("/proc/self/clear_refs", "w").write("5")   # the peak counts from here
before = kilobytes("VmRSS"), kilobytes("RssAnon")
recordings = load_recordings(sys.argv[2], lazy=bool(int(sys.argv[3])))
print(kilobytes("VmHWM") - before[0], kilobytes("RssAnon") - before[1])
"""


def memory(small, path, lazy) -> tuple[float, float]:
    """Megabytes that loading adds at its peak, and those that are not pages of a file at its end."""
    done = subprocess.run([sys.executable, "-c", PEAK, str(small), str(path), str(int(lazy))], check=True, text=True,
                          capture_output=True, cwd=Path(__file__).resolve().parent.parent)
    peak, kept = done.stdout.split()
    return int(peak) / 1024, int(kept) / 1024


def run() -> list[dict]:
    """Rows for a compressed file that is read, and for an uncompressed one that is mapped."""
    values = np.random.default_rng(0).normal(size=(ROWS, CHANNELS)).round(1).astype(np.float32)
    names = [f"c{i}" for i in range(CHANNELS)]
    recordings = Recordings(np.split(values, 1000), [f"s{i % 20}" for i in range(1000)], names, 250)
    size = values.nbytes / 2**20
    with tempfile.TemporaryDirectory() as folder:
        small, path, plain = (Path(folder) / name for name in ("small.npz", "packed.npz", "plain.npz"))
        recordings.select(index=[0]).save(small)
        recordings.save(path)
        recordings.save(plain, compressed=False)

        def reference():
            with np.load(path, allow_pickle=False) as arrays:
                return dict(arrays)

        ours, theirs, ratio, noise = race_to(0.5, lambda: load_recordings(path), reference, rounds=6)
        peak, _ = memory(small, path, lazy=False)
        _, kept = memory(small, plain, lazy=True)
    return [row("memory to load 60 MB of recordings", f"{peak:.0f} MB", f"{size:.0f} MB", peak / size, 2.0,
                at_least=False),
            row("memory of 60 MB of recordings left on disk", f"{kept:.1f} MB", f"{size:.0f} MB", kept / size, 0.1,
                at_least=False),
            row("load 60 MB of recordings, against numpy.load", f"{ours:.2f} s", f"{theirs:.2f} s", ratio, 0.5,
                noise=noise)]
