"""Whose turn it is: one light process per folder of runs, ``python -m ui.library.scheduler RUNS``.

It holds a lock, starts the process of the next job, waits for its end, and leaves when nobody waits: nothing polls for
a turn. Whoever queues a job sees to it that there is one (`wake`); of several servers on one folder the first has it.
It outlives the server, and where it is killed, the next one goes on, with the job that still runs. It is also the
watchdog: a worker shows that it lives by the time of its state.json, and one that does not is ended, whatever holds it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from filelock import FileLock, Timeout

from qpwl_core.common.bounds import OWNERS, SILENCE
from qpwl_core.common.files import FileError, read_json, write_json
from ui.library.job import LIVE, Job, held, jobs, last_word, state_of

ROOT = Path(__file__).resolve().parents[2]
LOCK, MEMORY = ".scheduler", ".scheduler.json"
TICK = 2.0                                       # seconds between two looks at a worker's sign of life
_started: list[subprocess.Popen] = []            # by this process, to be reaped when they end
_seen: dict[Path, tuple[int, float]] = {}        # a scheduler's last sign of life, and when it was first seen here


def turns(waiting: list[Job], served: dict[str, int]) -> list[Job]:
    """Jobs in the order of their turns: owners take turns, who was served longest ago first; of one, who came first."""
    served, left, order = dict(served), sorted(waiting, key=lambda job: job.spec["ticket"]), []
    while left:
        job = min(left, key=lambda job: (served.get(job.owner, 0), job.spec["ticket"]))
        left.remove(job)
        order.append(job)
        served[job.owner] = max(served.values(), default=0) + 1
    return order


def served(runs: Path) -> dict[str, int]:
    """When each owner had the last turn, as a number that grows."""
    with contextlib.suppress(FileError, ValueError, TypeError, AttributeError):
        return {str(owner): int(turn) for owner, turn in read_json(runs / MEMORY)["served"].items()}
    return {}


def wake(runs: Path, silence: float = SILENCE) -> None:
    """See to it that somebody schedules; one that gives no sign of life is ended first, and another takes over."""
    _started[:] = [child for child in _started if child.poll() is None]
    if held(runs / LOCK):
        beat, now = _beat(runs / MEMORY), time.monotonic()
        seen, since = _seen.get(runs, (0, now))
        if beat != seen:
            _seen[runs] = beat, now
        if beat != seen or now - since < silence:
            return
        with contextlib.suppress(FileError, KeyError, TypeError):
            end(read_json(runs / MEMORY)["pid"])
    _seen.pop(runs, None)
    _started.append(subprocess.Popen(
        [sys.executable, "-m", "ui.library.scheduler", str(runs.resolve())], cwd=ROOT, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True))                 # Ctrl-C in the server's terminal is not for it


def wake_if_waiting(runs: Path) -> None:
    """For pages that show jobs: where some wait and the scheduler was lost (a reboot), there is one again."""
    with contextlib.suppress(OSError):
        if any(job.state == "queued" for job in jobs(runs)):
            wake(runs)


def places() -> int:
    """Trainings at a time: one on this machine, on a cluster (``QPWL_DASK``) as many as it has workers."""
    if not (address := os.environ.get("QPWL_DASK")):
        return 1
    from qpwl_core.training.cluster import machines

    try:
        return machines(address)
    except ValueError:                           # the job's own process says what is wrong
        return 1


def schedule(runs: Path, silence: float = SILENCE) -> None:
    """Give the jobs of a folder their turns until none waits."""
    lock, tried, at_a_time = FileLock(runs / LOCK), set(), 0

    def waiting() -> list[Job]:
        return [job for job in jobs(runs) if job.state == "queued" and (job.id, job.spec["ticket"]) not in tried]

    def begin(pool: ThreadPoolExecutor, going: dict[Future, Job]) -> None:
        """Watch what runs (its scheduler was killed, and it was not), and start what may: of each owner one."""
        for job in jobs(runs):
            if job.state == "running" and job.id not in [other.id for other in going.values()]:
                going[pool.submit(watch, runs, job, None, silence)] = job
        while len(going) < at_a_time:
            busy = {job.owner for job in going.values()} - {""}
            job = next(iter(turns([job for job in waiting() if job.owner not in busy], served(runs))), None)
            if job is None:
                return
            tried.add((job.id, job.spec["ticket"]))
            had = served(runs)
            _remember(runs, had | {job.owner: max(had.values(), default=0) + 1})
            going[pool.submit(run, runs, job, silence)] = job

    while waiting():                             # looked at again after the lock was let go: none is forgotten
        try:
            with lock.acquire(timeout=1), ThreadPoolExecutor() as pool:      # one who looks holds it for a moment
                _remember(runs, served(runs))
                at_a_time, going = at_a_time or places(), {}
                while begin(pool, going) or going:
                    done, _ = wait(going, TICK if at_a_time > 1 else None, FIRST_COMPLETED)
                    for each in done:
                        del going[each]
        except Timeout:
            return                               # another one does


def run(runs: Path, job: Job, silence: float) -> None:
    """The turn of one job: start its process, wait for its end, and have the last word where it had none."""
    count = str(job.spec.get("threads", 1))
    try:
        with open(job.folder / "log.txt", "ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "ui.library.worker", str(job.folder.resolve())], cwd=ROOT,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env=os.environ | {"OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count})
    except OSError as error:
        last_word(job.folder, state="failed", note=f"Its process cannot be started: {error.strerror or error}.")
        return
    watch(runs, job, process, silence)


def watch(runs: Path, job: Job, process: subprocess.Popen | None, silence: float) -> None:
    """Wait until a worker has ended; end one that gives no sign of life. ``process`` is None where it is no child."""
    note, ended = "", threading.Event()
    if process is not None:
        threading.Thread(target=lambda: (process.wait(), ended.set()), daemon=True).start()
    beat, since = 0, time.monotonic()            # monotonic: a computer that slept has not waited
    while not (ended.wait(TICK) if process is not None else _free(job.folder / "lock")):
        now = _beat(job.folder / "state.json")
        if now != beat:
            beat, since = now, time.monotonic()
        elif time.monotonic() - since > silence:
            note = (f"Its process gave no sign of life for {silence:g} seconds (it was suspended, or the computer "
                    "was overloaded), so it was ended.")
            with contextlib.suppress(FileError, KeyError, TypeError):
                end(process.pid if process is not None else read_json(job.folder / "state.json")["pid"])
            since = time.monotonic()
        with contextlib.suppress(OSError):
            os.utime(runs / MEMORY)
    if state_of(job.folder) in LIVE and not held(job.folder / "lock"):
        code = process.returncode if process is not None else None
        last_word(job.folder, state="interrupted", note=note or (
            f"Its process was ended from outside (signal {-code}): most likely memory ran out." if code and code < 0
            else f"Its process ended without a word (code {code}); its folder has log.txt." if code is not None
            else "Its process was ended from outside."))


def step_back(steps: int) -> None:
    """Let others have the processor first: pages, and of a class all of them."""
    if hasattr(os, "nice"):
        os.nice(steps)
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w", encoding="utf-8") as file:
        file.write(str(steps))                                 # Linux shares by session first, and this is one


def end(pid: int) -> None:
    """End a process and all that it started, also one that is suspended."""
    with contextlib.suppress(OSError, TypeError, ValueError):
        if pid != os.getpid() and pid > 1:
            (os.killpg if hasattr(os, "killpg") else os.kill)(pid, getattr(signal, "SIGKILL", signal.SIGTERM))


def _free(lock: Path) -> bool:
    """Whether a worker that is not our child has ended; waits a tick if not."""
    if not held(lock):
        return True
    time.sleep(TICK)
    return False


def _beat(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _remember(runs: Path, turns_had: dict[str, int]) -> None:
    """Keep who had the last turns, and the number of this process, which is trusted only while the lock is held."""
    latest = sorted(turns_had.items(), key=lambda item: item[1])[-OWNERS:]
    with contextlib.suppress(FileError):
        write_json(runs / MEMORY, {"pid": os.getpid(), "served": dict(latest)})


if __name__ == "__main__":
    with contextlib.suppress(OSError):
        schedule(Path(sys.argv[1]))
