"""Kill a training with ``kill -9`` at 200 random moments and compare what it ends with, bit for bit.

A run (``python -m qpwl_core train``) is killed at a random moment after its first write, resumed, killed again, until
it has survived its share of the kills; then it may end. Its weights and its last checkpoint must have the bits of a run
that was never interrupted. A quarter of the kills wait for a moment in which a file is half-written. Processes that are
to be killed are forked from this one, which has imported PyTorch once; the two that end are started afresh.

    python scripts/kill_points.py [--kills 200] [--runs 5] [--seed 0]
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
# Methods with all there is to restore: learned levels, batch norm statistics, a softmax head.
METHODS = ("qp-wl", "qp-cls", "jaeger-2019", "mp-npl", "pswe-npl")
OPTIONS = ["--filters", "8", "--layers", "2", "--pairs", "8", "--validate-every", "5", "--threads", "1"]


def command(data: Path, method: str, steps: int, out: Path, resume: bool) -> list[str]:
    return ["train", "--data", str(data), "--domain", "eeg", "--method", method, "--iterations", str(steps), *OPTIONS,
            "--out", str(out), *(["--resume"] if resume else [])]


def whole_run(arguments: list[str]) -> None:
    """A training in a separate process, to its end."""
    subprocess.run([sys.executable, "-m", "qpwl_core", *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)


def killed_run(arguments: list[str], folder: Path, seconds: float, writing: bool) -> bool:
    """Kill a training so many seconds after its first write, then and there or when it is ``writing``; True if so."""
    from qpwl_core.cli.main import main as command_line

    before = stamp(folder)
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os._exit(command_line(arguments))
    deadline, ended = None, 0
    while not ended:
        if deadline is None and stamp(folder) != before:
            deadline = time.monotonic() + seconds
        if deadline is not None and time.monotonic() >= deadline and (not writing or half_written(folder)):
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            return os.WIFSIGNALED(status)
        time.sleep(0 if writing else 0.001)
        ended, status = os.waitpid(child, os.WNOHANG)
    if status:
        raise SystemExit("a training failed")
    return False


def stamp(folder: Path) -> list:
    """What lies in the folder, as far as one sees it from outside."""
    try:
        return sorted((entry.name, entry.stat().st_mtime_ns) for entry in os.scandir(folder))
    except FileNotFoundError:                                            # a file may go while one looks
        return []


def half_written(folder: Path) -> bool:
    return any(entry.name.startswith(".") for entry in os.scandir(folder))


def reached(folder: Path) -> int:
    """The step of the checkpoint."""
    from qpwl_core.common.files import read_tensors

    path = folder / "checkpoint.safetensors"
    return read_tensors(path)[1]["step"] if path.exists() else 0         # a torn file would be an error here


def same(first: Path, second: Path) -> bool:
    """Whether two runs ended with the same bits."""
    from qpwl_core.common.files import read_tensors

    for name in ("model.safetensors", "checkpoint.safetensors"):
        a, b = read_tensors(first / name)[0], read_tensors(second / name)[0]
        if a.keys() != b.keys() or any(a[k].tobytes() != b[k].tobytes() for k in a):
            return False
    return (first / "model.safetensors").read_bytes() == (second / "model.safetensors").read_bytes()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--seed", type=int, default=0)
    args = options.parse_args()
    import torch._dynamo  # noqa: F401  (what a training imports, so that a forked one starts at once)

    import qpwl_core.training.loop  # noqa: F401  (likewise)
    from qpwl_core.data.simulate import simulate_eeg
    from qpwl_core.transport.kernels import kernels

    kernels()
    chance, started, killed, torn = random.Random(args.seed), time.monotonic(), 0, 0
    failed = False
    print(f"{'run':>3}  {'method':12}  {'steps':>5}  {'kills':>5}  {'no progress':>12}  {'half-written':>12}  end")
    with tempfile.TemporaryDirectory() as folder:
        data = simulate_eeg(subjects=12, sequences=6, seed=0).save(Path(folder) / "eeg.npz")
        for number in range(args.runs):
            method = METHODS[number % len(METHODS)]
            share = args.kills * (number + 1) // args.runs - args.kills * number // args.runs
            steps = 40 * share                                           # long enough not to end before its kills
            whole, parts = Path(folder) / f"whole-{number}", Path(folder) / f"parts-{number}"
            clock = time.monotonic()
            whole_run(command(data, method, steps, whole, False))
            pace = (time.monotonic() - clock) / steps                    # seconds per step
            kills = half = idle = 0
            while kills < share:
                before = reached(parts)
                arguments = command(data, method, steps, parts, (parts / "config.json").exists())
                if not killed_run(arguments, parts, chance.uniform(0, 40 * pace), chance.random() < 0.25):
                    break
                kills += 1
                half += half_written(parts)
                idle += reached(parts) == before
                print(f"\r{kills} kills, step {reached(parts)}/{steps}", end="", file=sys.stderr, flush=True)
            whole_run(command(data, method, steps, parts, (parts / "config.json").exists()))
            identical = same(whole, parts)
            failed |= not identical
            killed, torn = killed + kills, torn + half
            print(f"\r{number + 1:3}  {method:12}  {steps:5}  {kills:5}  {idle:12}  {half:12}  "
                  f"{'bit-identical' if identical else 'DIFFERENT'}", flush=True)
    print(f"{killed} kills in {time.monotonic() - started:.0f} s, {torn} of them while a file was being written")
    sys.exit(failed or killed < args.kills)


if __name__ == "__main__":
    main()
