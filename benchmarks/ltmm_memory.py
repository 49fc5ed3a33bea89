"""Memory that windowing a record of LTMM's size takes: 17 million samples of 6 channels, two days at 100 Hz."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks._timing import row

SAMPLES = 17_000_000
FLOOR_MB = 300.0
PEAK = r"""
import sys, resource
from qpwl_core.data.datasets.ltmm import active_windows, quiet_wfdb
with quiet_wfdb():
    pass
def now():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
before = now()
windows = active_windows(sys.argv[1])
assert len(windows) == 30 and all(values.shape == (6000, 6) for _, values in windows)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before) / 2**20)
"""


def write_record(folder: Path, samples: int = SAMPLES) -> Path:
    """A record in WFDB format 16 with quiet and lively stretches, written in blocks."""
    from qpwl_core.data.datasets.ltmm import CHANNELS

    random = np.random.default_rng(0)
    with (folder / "CO001.dat").open("wb") as file:
        for start in range(0, samples, 600_000):
            rows = min(600_000, samples - start)
            lively = random.uniform(0.1, 4.0, size=(-(-rows // 6000), 1)).repeat(6000, axis=0)[:rows]
            file.write((random.normal(size=(rows, 6)) * lively * 500).astype("<i2").tobytes())
    lines = [f"CO001 6 100 {samples}"]
    lines += [f"CO001.dat 16 1000(0)/{'g' if i < 3 else 'deg/s'} 16 0 0 0 0 {name}" for i, name in enumerate(CHANNELS)]
    (folder / "CO001.hea").write_text("\n".join(lines) + "\n")
    return folder / "CO001"


def run() -> list[dict]:
    """One row: megabytes at the peak above what the process had after its imports, the record's size beside it."""
    with tempfile.TemporaryDirectory() as folder:
        record = write_record(Path(folder))
        size = record.with_suffix(".dat").stat().st_size / 2**20
        done = subprocess.run([sys.executable, "-c", PEAK, str(record)], capture_output=True, text=True, check=True,
                              cwd=Path(__file__).resolve().parent.parent)
    peak = float(done.stdout)
    return [row(f"memory to window LTMM's {SAMPLES / 1e6:.0f} million samples × 6 (file: {size:.0f} MB)",
                f"{peak:.0f} MB", f"{FLOOR_MB:.0f} MB", peak / FLOOR_MB, 1, at_least=False)]
