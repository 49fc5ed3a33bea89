"""How long the quick preset takes: every method on the shared sets, by the command line, one after the other.

    python -m scripts.quick_times [--methods qp-wl …] [--sets eye-gazecom-40 …] [--data ../shared/data] [--limit 120]

Prints one row per training and exits with 1 where one took longer than ``--limit`` seconds or failed. For a quiet
machine.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from qpwl_core.models.methods import METHODS

SETS = {"eeg-uci-28": "eeg", "gait-hapt-30": "gait", "gait-ipol-140": "gait", "eye-gazecom-40": "eye"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--limit", type=float, default=120)
    options, late = parser.parse_args(), 0
    for name in options.sets:
        for method in options.methods:
            with tempfile.TemporaryDirectory() as home:
                start = time.monotonic()
                done = subprocess.run([sys.executable, "-m", "qpwl_core", "train", "--data",
                                       str(options.data / f"{name}.npz"), "--domain", SETS[name], "--method", method,
                                       "--out", f"{home}/run"], capture_output=True, text=True, check=False)
                seconds = time.monotonic() - start
            said = "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]
            # a method that cannot be trained on such data says so at once, and is not late
            late += seconds > options.limit or (done.returncode != 0 and method != "jaeger-2019")
            print(f"{name:16} {method:20} {seconds:6.1f} s  {said}", flush=True)
    return int(bool(late))


if __name__ == "__main__":
    sys.exit(main())
