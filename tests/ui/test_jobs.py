"""Training jobs as real processes: they queue, stop, die and go on, and files alone tell."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import psutil
import pytest

from qpwl_core.common.files import FileError, read_json
from qpwl_core.data.splits import split
from qpwl_core.evaluation.evaluate import evaluate_distances
from qpwl_core.models.gallery import load_gallery
from qpwl_core.models.model import load_model
from tests.support.jobs import ended, until
from tests.support.places import ROOT
from tests.support.tiny import tiny_config, tiny_recordings
from ui.library import jobs, scheduler, worker
from ui.library import models as library
from ui.library.job import last_word

CONFIG = tiny_config(iterations=300, validate_every=100)
ENDLESS = replace(CONFIG, iterations=10**6)
SHORT = replace(CONFIG, iterations=6, validate_every=3)
PEOPLE = tiny_recordings(people=12, each=7)


@pytest.fixture
def runs(tmp_path):
    yield tmp_path / "runs"
    for job in jobs.jobs(tmp_path / "runs"):
        jobs.stop(job)
    for child in scheduler._started:
        child.wait(20)


def start(runs, config=CONFIG, people=PEOPLE, kind="train", **more):
    return jobs.submit(runs, kind, "a title", "own:tiny", config, people, **more)


def learning(job):
    return job.state == "running" and job.now.get("step", 0) >= 3


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run that nothing disturbed."""
    return until(start(tmp_path_factory.mktemp("runs")), ended)


def test_kept_runs_are_bounded_each_and_in_all(runs, monkeypatch):
    monkeypatch.setattr(jobs, "wake", lambda runs: None)
    monkeypatch.setattr(jobs, "RUNS_EACH", 2)
    monkeypatch.setattr(jobs, "RUNS", 3)
    first, _ = (start(runs, owner="ann", waiting_each=9) for _ in range(2))
    with pytest.raises(FileError, match="you keep 2 runs already, which is the most"):
        start(runs, owner="ann", waiting_each=9)
    start(runs, owner="bob", waiting_each=9)
    with pytest.raises(FileError, match="3 runs are kept here already, which is the most of all"):
        start(runs, owner="cat", waiting_each=9)
    start(runs)                                              # one person alone
    jobs.stop(first)
    jobs.delete(first)
    jobs.delete(next(job for job in jobs.jobs(runs) if job.owner == "bob" and not jobs.stop(job)))
    start(runs, owner="ann", waiting_each=9)


def test_a_clock_that_goes_back_changes_no_order(runs, monkeypatch):
    monkeypatch.setattr(jobs, "wake", lambda runs: None)
    first = start(runs)
    monkeypatch.setattr(jobs.time, "time_ns", lambda: 1)
    second = start(runs)
    assert [job.id for job in jobs.jobs(runs)] == [second.id, first.id]
    assert [job.id for job in scheduler.turns(jobs.jobs(runs), {})] == [first.id, second.id]


def test_it_ends_as_a_model_with_its_gallery_and_results(finished, monkeypatch):
    assert (finished.state, finished.now["note"]) == ("finished", "")
    monkeypatch.setattr(library, "SHIPPED", finished.folder / "none")
    monkeypatch.setenv("QPWL_RUNS", str(finished.folder.parent))
    entry, = library.entries()
    assert (entry.kind, entry.title, entry.has_gallery, entry.id) == ("trained", "a title", True, finished.id)
    model, gallery = load_model(entry.folder), load_gallery(entry.folder)
    assert gallery.model == model.checksum
    parts = split(PEOPLE)
    assert gallery.part("test").people == sorted(set(parts.test.subjects.tolist()))
    assert gallery.part("calibration").people == entry.card["split"]["validation"]
    assert not set(entry.card["split"]["train"]) & set(entry.card["split"]["validation"] + entry.card["split"]["test"])
    seen = model.embed(parts.test)
    wanted, _ = evaluate_distances(model.distances(seen), seen.subjects, seen.sources)
    found = entry.card["results"]["verification"]["1"]["auc"]
    assert found == pytest.approx(wanted["verification"]["1"]["auc"], abs=1e-3)
    assert finished.now["test_auc"] == found


def test_the_people_of_a_run_are_those_that_data_shows(finished):
    """One split, drawn once: whom Data ▸ Split shows, a run learns from, validates on and is tested on."""
    card, parts = read_json(finished.folder / "card.json"), split(PEOPLE)
    for part in ("train", "validation", "test"):
        assert card["split"][part] == sorted(set(PEOPLE.subjects[parts.index[part]].tolist())), part


def test_the_copy_of_an_upload_lives_as_long_as_its_run_needs_it(runs, finished):
    assert not (finished.folder / jobs.COPY).exists(), "deleted when it is finished"
    assert not finished.resumable
    job = until(start(runs, ENDLESS), learning)
    jobs.stop(job)
    job = until(job, ended)
    assert job.has_copy
    assert job.resumable
    jobs.forget(job)
    job = jobs.find(runs, job.id)
    assert (job.has_copy, job.resumable) == (False, False)
    with pytest.raises(FileError, match="upload them and start it again"):
        jobs.resume(job)
    failed = until(start(runs, replace(CONFIG, learning_rate=1e30)), ended)
    assert (failed.state, failed.has_copy, failed.resumable) == ("failed", False, False)


def test_a_gallery_that_is_not_to_be_kept_is_not(runs):
    job = until(start(runs, keep_gallery=False), ended)
    assert job.state == "finished"
    assert sorted(path.name for path in job.folder.iterdir() if path.suffix in (".npz", ".safetensors")) == [
        "checkpoint.safetensors", "model.safetensors"]
    card = read_json(job.folder / "card.json")
    assert card["results"]["verification"]["1"]["auc"] > 0.5, "the numbers are kept"
    assert not any(name in json.dumps(card) for name in set(PEOPLE.subjects.tolist())), "and the people are not"


def test_its_curve(finished):
    curve = finished.curve()
    assert [r["step"] for r in curve] == sorted({r["step"] for r in curve})
    assert curve[-1]["step"] == 300
    assert [r["step"] for r in curve if r["auc"] is not None] == [100, 200, 300]
    assert max(r["auc"] for r in curve if r["auc"] is not None) == finished.now["best_auc"]
    assert len(curve[0]["levels"]) == 6
    written = [json.loads(line) for line in (finished.folder / "metrics.jsonl").read_text().splitlines()]
    np.testing.assert_allclose([r["loss"] for r in curve], [r["loss"] for r in written])


def same_weights(a, b):
    return read_json(a.folder / "card.json")["sha256"] == read_json(b.folder / "card.json")["sha256"]


def test_stopped_within_a_second_and_resumed_it_ends_the_same(runs, finished):
    job = until(start(runs), learning)
    asked = time.monotonic()
    jobs.stop(job)
    job = until(job, ended)
    assert time.monotonic() - asked < 1
    assert job.state == "stopped"
    assert 0 < job.now["step"] < 300
    jobs.resume(job)
    with pytest.raises(FileError, match="already"):
        jobs.resume(job)
    job = until(job, ended)
    assert job.state == "finished"
    assert same_weights(job, finished)
    assert [r["step"] for r in job.curve()] == sorted({r["step"] for r in job.curve()})


def test_killed_it_is_interrupted_and_resumes_the_same(runs, finished):
    job = until(start(runs), lambda job: job.now.get("best_auc") is not None)
    os.kill(job.now["pid"], signal.SIGKILL)
    job = until(job, ended)
    assert job.state == "interrupted"
    assert "signal 9" in until(job, lambda job: job.why).why
    jobs.resume(job)
    job = until(job, ended)
    assert job.state == "finished"
    assert same_weights(job, finished)


def test_a_step_that_takes_long_is_stopped_as_quickly(runs):
    slow = tiny_config(filters=768, layers=16, kernel=15, iterations=50)
    job = until(start(runs, slow), lambda job: job.now["note"] == "training")
    time.sleep(0.5)
    asked = time.monotonic()
    jobs.stop(job)
    assert until(job, ended).state == "stopped"
    assert time.monotonic() - asked < 1


def test_one_at_a_time_in_the_order_they_came(runs):
    first, second, third = (start(runs, config) for config in (ENDLESS, CONFIG, CONFIG))
    until(first, learning)
    assert [job.state for job in jobs.jobs(runs)] == ["queued", "queued", "running"]
    assert [job.id for job in jobs.jobs(runs)] == [third.id, second.id, first.id]
    assert [job.id for job in jobs.ahead_of(third)] == [second.id, first.id]
    jobs.stop(second)                            # leaves the queue
    assert until(second, ended).state == "stopped"
    with pytest.raises(FileError, match="running"):
        jobs.delete(first)
    jobs.stop(first)
    assert until(third, ended).state == "finished"
    assert jobs.find(runs, second.id).state == "stopped"
    jobs.delete(until(first, ended))
    assert jobs.find(runs, first.id) is None
    assert not first.folder.exists()


def test_owners_take_turns(runs):
    """Who was served longest ago comes first; of one owner's jobs, the one that came first."""
    def waiting(owner, ticket):
        return jobs.Job(runs, {"owner": owner, "ticket": ticket}, {}, "queued")

    queue = [waiting(owner, ticket) for ticket, owner in enumerate("AAABCB", 1)]
    assert [job.owner for job in scheduler.turns(queue, {})] == list("ABCABA")
    assert [job.owner for job in scheduler.turns(queue, {"A": 7, "B": 3})] == list("CBABAA")
    assert [job.spec["ticket"] for job in scheduler.turns(queue[:3], {})] == [1, 2, 3]


def test_each_owner_has_room_for_one_that_runs_and_two_that_wait(runs, monkeypatch):
    monkeypatch.setattr(jobs, "wake", lambda runs: None)         # nobody has a turn in this test
    for _ in range(3):
        start(runs, people=None, owner="ada")
    with pytest.raises(FileError, match="2 jobs of yours are waiting already"):
        start(runs, people=None, owner="ada")
    for _ in range(2):
        start(runs, people=None, owner="ben")
    with pytest.raises(FileError, match="2 jobs of yours"):
        start(runs, people=None, owner="ben")
    job, = (job for job in jobs.jobs(runs) if not jobs.ahead_of(job))
    assert job.owner == "ada"
    with pytest.raises(FileError, match="5 jobs are waiting already, which is the most"):
        start(runs, people=None, owner="cleo", most=5)
    for _ in range(4):
        start(runs, people=None)                                 # one person alone: the bound of all
    assert len(jobs.jobs(runs)) == 9
    assert len(list(runs.iterdir())) == 9, "what was refused left nothing"


def test_a_queue_that_is_left_leaves_no_recordings(runs, monkeypatch):
    monkeypatch.setattr(jobs, "wake", lambda runs: None)
    job = start(runs)
    assert job.has_copy
    jobs.stop(job)
    job = jobs.find(runs, job.id)
    assert (job.state, job.has_copy, job.resumable) == ("stopped", False, False)


def test_a_suspended_worker_is_ended_and_the_next_one_trains(runs, monkeypatch):
    monkeypatch.setattr(jobs, "wake", lambda runs: None)
    first, second = start(runs, ENDLESS), start(runs)
    at_work = threading.Thread(target=scheduler.schedule, args=(runs, 3.0))
    at_work.start()
    first = until(first, learning)
    os.kill(first.now["pid"], signal.SIGSTOP)
    first = until(first, ended)
    assert (first.state, first.resumable) == ("interrupted", True)
    assert "no sign of life for 3 seconds" in until(first, lambda job: job.why).why
    assert until(second, ended).state == "finished"
    at_work.join(60)
    assert not at_work.is_alive(), "with nothing to do, nobody waits"


def test_a_killed_scheduler_is_followed_by_another_one(runs):
    first = until(start(runs, ENDLESS), learning)
    pid = read_json(runs / scheduler.MEMORY)["pid"]
    os.kill(pid, signal.SIGKILL)
    for child in scheduler._started:
        child.wait(20)
    second = start(runs)                                         # takes over, and waits for the one that runs
    time.sleep(1)
    assert [job.state for job in jobs.jobs(runs)] == ["queued", "running"]
    jobs.stop(first)
    assert until(second, ended).state == "finished"
    assert read_json(runs / scheduler.MEMORY)["pid"] != pid


def test_a_suspended_scheduler_is_ended_and_another_one_goes_on(runs):
    first = until(start(runs, ENDLESS), learning)
    pid, worker = read_json(runs / scheduler.MEMORY)["pid"], first.now["pid"]
    os.kill(pid, signal.SIGSTOP)
    second = start(runs, SHORT)
    os.kill(worker, signal.SIGSTOP)                              # and what it watches, too
    ends = time.monotonic() + 60
    while read_json(runs / scheduler.MEMORY)["pid"] == pid and time.monotonic() < ends:
        scheduler.wake(runs, silence=1.0)                        # pages that show jobs do so
        time.sleep(0.2)
    assert read_json(runs / scheduler.MEMORY)["pid"] != pid
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    os.kill(worker, signal.SIGKILL)                              # the watchdog would in a minute
    assert until(second, ended).state == "finished"
    assert jobs.find(runs, first.id).state == "interrupted"


def worked(job, code: str) -> subprocess.CompletedProcess:
    """The process of a job, with something done to it first; it must end by itself."""
    begin = ("import os, resource, sys, time\nfrom pathlib import Path\nimport ui.library.worker as worker\n"
             f"folder = Path({str(job.folder)!r})\n")
    return subprocess.run([sys.executable, "-c", f"{begin}{code}\nworker.main(folder)"], cwd=ROOT, timeout=120,
                          capture_output=True, text=True, check=False)


def test_a_step_without_end_is_ended_by_the_watchdog(runs, monkeypatch):
    """It still shows signs of life: a thread of it listens, and the step hangs."""
    monkeypatch.setattr(jobs, "wake", lambda runs: None)
    job = start(runs, ENDLESS)
    worked(job, "worker.STUCK = 1.0\nworker.WORK['train'] = lambda at_work: time.sleep(600)")
    job = jobs.find(runs, job.id)
    assert job.state == "failed"
    assert "One step took longer than" in job.now["note"]
    assert not job.has_copy
    assert not scheduler.held(job.folder / "lock")


def test_a_full_disk_met_while_told_to_stop_frees_the_lock_and_the_queue(runs, monkeypatch):
    """From the third step on nothing more can be written, by the system's own limit, and somebody asks for a stop."""
    monkeypatch.setattr(jobs, "wake", lambda runs: None)
    first, second = start(runs, ENDLESS), start(runs, SHORT)
    done = worked(first, """
look = worker.Worker.check
def check(self):
    if self.now.get("step", 0) >= 3:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        (self.folder / "stop").touch()
    look(self)
worker.Worker.check = check""")
    assert done.returncode == 0
    assert not scheduler.held(first.folder / "lock")
    assert jobs.find(runs, first.id).state in ("interrupted", "stopped", "failed")
    scheduler.schedule(runs)
    assert jobs.find(runs, second.id).state == "finished"


def test_a_full_disk_ends_it_in_a_sentence(runs, monkeypatch):
    monkeypatch.setattr(jobs, "wake", lambda runs: None)
    job = start(runs)
    (job.folder / "live.jsonl").symlink_to("/dev/full")
    scheduler.schedule(runs)
    job = jobs.find(runs, job.id)
    assert (job.state, job.has_copy) == ("failed", False)
    assert "No space left on device" in job.now["note"]


def test_the_last_word_needs_no_room(tmp_path, monkeypatch):
    jobs.write_state(tmp_path, state="running", note="training", step=7)
    monkeypatch.setattr(os, "replace", Mock(side_effect=OSError(28, "No space left on device")))
    last_word(tmp_path, state="failed", note="the disk is full")
    assert read_json(tmp_path / "state.json") == {"state": "failed", "note": "the disk is full"}
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def test_a_run_that_somebody_deleted(runs, monkeypatch):
    monkeypatch.setattr(jobs, "wake", lambda runs: None)
    job = start(runs)
    jobs.stop(job)
    stopped = jobs.find(runs, job.id)
    shutil.rmtree(job.folder)
    for what in (jobs.resume, jobs.delete):
        with pytest.raises(FileError, match="somebody deleted it"):
            what(stopped)
    jobs.stop(job)
    jobs.forget(stopped)
    assert not job.folder.exists()


def test_a_run_deleted_while_it_trains_ends_its_process(runs):
    job = until(start(runs, ENDLESS), learning)
    shutil.rmtree(job.folder, ignore_errors=True)
    for child in scheduler._started:
        child.wait(30)
    assert not psutil.pid_exists(job.now["pid"])


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="a place that cannot be written")
def test_a_place_that_cannot_be_written_is_one_sentence():
    with pytest.raises(FileError, match="cannot be written"):
        jobs.submit(Path("/proc/runs"), "train", "t", "own:x", CONFIG, PEOPLE)


def test_it_outlives_the_server_that_started_it(runs):
    PEOPLE.save(runs.parent / "people.npz")
    code = ("import sys; from pathlib import Path; from qpwl_core.data.loading import load_recordings; "
            "from ui.library.jobs import submit; from tests.ui.test_jobs import CONFIG; "
            "print(submit(Path(sys.argv[1]), 'train', 't', 'own:x', CONFIG, load_recordings(sys.argv[2])).id); "
            "import os; sys.stdout.flush(); os._exit(1)")
    done = subprocess.run([sys.executable, "-c", code, str(runs), str(runs.parent / "people.npz")], cwd=ROOT, text=True,
                          capture_output=True, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False)
    job = jobs.find(runs, done.stdout.strip())
    assert job.alive
    assert until(job, ended).state == "finished"


def test_a_dead_process_is_known_by_its_lock_and_not_by_its_number(runs, finished):
    """Whatever process has its number by now."""
    folder = runs / "0123456789ab"
    folder.mkdir(parents=True)
    (folder / "lock").touch()
    spec = read_json(finished.folder / "job.json")
    (folder / "job.json").write_text(json.dumps(spec))
    jobs.write_state(folder, state="running", note="", pid=os.getpid())
    job = jobs.find(runs, folder.name)
    assert job.state == "interrupted"
    jobs.stop(job)
    assert not (folder / "stop").exists()


@pytest.mark.parametrize("name", ["../x", "", None, "0123456789ab", "a" * 12, "/etc"])
def test_what_is_no_job(runs, name):
    (runs / "aaaaaaaaaaaa").mkdir(parents=True)
    (runs / "aaaaaaaaaaaa" / "job.json").write_text("{")
    assert jobs.find(runs, name) is None
    assert jobs.jobs(runs) == []


@pytest.mark.parametrize(("config", "people", "message"), [
    (CONFIG, tiny_recordings(people=4), "at least two people"),
    (replace(CONFIG, learning_rate=1e30), PEOPLE, "diverged at step"),
])
def test_a_failure_is_one_sentence(runs, config, people, message):
    job = until(start(runs, config, people), ended)
    assert job.state == "failed"
    assert message in job.now["note"]
    assert "\n" not in job.now["note"]


def test_people_with_few_sequences_still_give_a_model(runs):
    job = until(start(runs, CONFIG, tiny_recordings(people=10, each=3)), ended)
    assert job.state == "finished"
    assert "could not be evaluated" in job.now["note"]
    assert load_gallery(job.folder).people


def test_a_grid(runs):
    grid = {"points": [2, 6], "p": [1.0, 2.0], "seeds": [0, 1]}
    job = until(start(runs, replace(CONFIG, iterations=150), kind="grid", grid=grid), lambda job: len(job.cells()) >= 1)
    jobs.stop(job)
    job = until(job, ended)
    assert job.state == "stopped"
    begun = job.cells()
    assert 1 <= len(begun) < 8
    jobs.resume(job)
    job = until(job, ended)
    assert job.state == "finished"
    cells = job.cells()
    assert cells[:len(begun)] == begun, "what was done is not done again"
    assert [(cell["points"], cell["p"], cell["seed"]) for cell in cells] == [
        (points, p, seed) for seed in (0, 1) for points, p in ((2, 1.0), (2, 2.0), (6, 1.0), (6, 2.0))]
    assert all(0 < cell["auc"] <= 1 and 0 < cell["test_auc"] <= 1 for cell in cells)


class Unread:
    """A record of an accelerator that counts how often its loss is read."""

    reads = 0

    def __init__(self, step, auc=None):
        self.step, self.auc, self.levels = step, auc, None

    @property
    def loss(self):
        Unread.reads += 1
        return float(self.step)

    def record(self):
        return {"step": self.step, "loss": self.loss}


def test_losses_are_read_when_they_are_shown(monkeypatch):
    """Between two signs of life nothing is read; what the curve shows then is what it would have shown at once."""
    class Told:
        now, moved, due = {}, 0.0, False

        def __init__(self):
            self.lines = []

        def append(self, name, record):
            self.lines.append((record["step"], record["loss"], record["auc"]))

        def tell(self, **changes):
            self.now = self.now | changes

    monkeypatch.setattr(Unread, "reads", 0)
    told = Told()
    curve = worker.Curve(told, every=2)
    for step in range(1, 10):
        curve.add(Unread(step), step / 10)
    assert Unread.reads == 2, "of the first step alone, once for the curve and once for the state"
    curve.add(Unread(10, auc=0.9), 1.0)
    assert told.lines == [(1, 1.0, None), (2, 2.0, None), *((step, step - 0.5, None) for step in (4, 6, 8)),
                          (10, 9.5, 0.9)]
    assert told.now == {"step": 10, "loss": 10.0, "auc": 0.9, "seconds": 1.0}
