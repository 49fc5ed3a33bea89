"""Trainings of the app on a Dask cluster: a real scheduler and two worker processes that share no folder with us."""

import os
import signal

import pytest

from qpwl_core.common.files import read_json
from qpwl_core.models.gallery import load_gallery
from qpwl_core.models.model import load_model
from tests.support.jobs import ended, until
from tests.support.tiny import tiny_config, tiny_recordings
from ui.library import jobs, scheduler

pytestmark = pytest.mark.filterwarnings("ignore")
CONFIG = tiny_config(iterations=120, validate_every=40)
LONG = tiny_config(iterations=100_000, validate_every=20)
PEOPLE = tiny_recordings(people=12, each=7)


@pytest.fixture(scope="module")
def cluster():
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None) as running:
        yield running


@pytest.fixture
def runs(tmp_path, monkeypatch, cluster):
    monkeypatch.setenv("QPWL_DASK", cluster.scheduler_address)
    yield tmp_path / "runs"
    for job in jobs.jobs(tmp_path / "runs"):
        jobs.stop(job)
    for child in scheduler._started:
        child.wait(30)


def start(runs, config=CONFIG, **more):
    return jobs.submit(runs, "train", "a title", "own:tiny", config, PEOPLE, **more)


def test_it_is_trained_there_and_all_is_here(runs, monkeypatch, tmp_path):
    """The same weights, bit for bit, as on this machine, also stopped and taken up again."""
    there = start(runs)
    monkeypatch.setenv("QPWL_DASK", "")
    here = jobs.submit(tmp_path / "here", "train", "a title", "own:tiny", CONFIG, PEOPLE)
    there, here = (until(job, ended) for job in (there, here))
    assert (there.state, here.state) == ("finished", "finished"), (there.folder / "log.txt").read_text()
    assert read_json(there.folder / "card.json")["sha256"] == read_json(here.folder / "card.json")["sha256"]
    assert load_gallery(there.folder).model == load_model(there.folder).checksum
    assert there.now["test_auc"] == here.now["test_auc"]
    assert [row["step"] for row in there.curve()] == [row["step"] for row in here.curve()]
    assert not there.has_copy, "the copy of an upload goes when the run has ended"


def test_two_people_train_at_once_each_has_one_and_it_can_be_stopped(runs):
    ann, again, bob = (start(runs, LONG, owner=who) for who in ("ann", "ann", "bob"))
    for job in (ann, bob):
        until(job, lambda now: now.state == "running" and now.now.get("step", 0) > 30)
    assert jobs.find(runs, again.id).state == "queued"
    jobs.stop(again)
    jobs.stop(ann)
    stopped = until(ann, ended)
    assert stopped.state == "stopped"
    assert (ann.folder / "checkpoint.safetensors").exists()
    reached = read_json(ann.folder / "state.json")["step"]
    jobs.resume(stopped)
    assert until(ann, lambda now: now.state == "running" and now.now.get("step", 0) > reached).curve()[0]["step"] == 1


def test_a_machine_of_the_cluster_that_is_lost_is_told_and_the_run_goes_on(runs, cluster):
    job = start(runs, LONG)
    until(job, lambda now: (now.folder / "checkpoint.safetensors").exists())
    for pid in [worker.pid for worker in cluster.workers.values()]:
        os.kill(pid, signal.SIGKILL)                       # nannies start new ones
    lost = until(job, ended)
    assert lost.state == "interrupted"
    assert "its machine in the cluster was lost" in lost.why
    jobs.resume(lost)
    until(job, lambda now: now.state == "running" and now.now.get("step", 0) > lost.now["step"])


def test_no_cluster_is_one_sentence(runs, monkeypatch):
    monkeypatch.setenv("QPWL_DASK", "tcp://127.0.0.1:9")
    job = start(runs)
    failed = until(job, ended)
    assert failed.state == "interrupted"
    assert "there is no Dask scheduler at tcp://127.0.0.1:9" in failed.why
    assert failed.resumable
