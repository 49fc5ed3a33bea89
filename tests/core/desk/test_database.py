"""The enrolment database: what was confirmed stays, nothing half, nothing of another model, no name that does harm."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torch

from qpwl_core.common.files import FileError
from qpwl_core.desk import database as enrolment
from qpwl_core.desk.database import Desk
from qpwl_core.desk.decisions import decide
from qpwl_core.desk.names import checked_name, name_key
from qpwl_core.desk.space import Space
from tests.support.places import ROOT

LEVELS = tuple(torch.linspace(0, 1, 6).tolist())
SPACE = Space("a" * 64, "qp-wl", 1.0, LEVELS, (3, 6))
MARKUP = "<script>alert(1)</script> **x** [y](javascript:z) '); DROP TABLE people;--"


def embeddings(count=2, seed=0, shape=(3, 6)):
    return np.sort(np.random.default_rng(seed).normal(size=(count, *shape)).astype(np.float32), -1)


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path, SPACE)


def names(desk):
    return [person.name for person in desk.people()]


def test_who_is_enrolled_is_there_again(desk):
    person = desk.enrol("  Zoë ", embeddings(3), SPACE.model, "gallery")
    again = Desk(desk.path.parent, SPACE)
    assert again.people() == [person]
    assert (person.name, person.sequences, person.origin) == ("Zoë", 3, "gallery")
    enrolled = again.enrolled()
    assert enrolled.names == ("Zoë",)
    assert np.array_equal(enrolled.values.numpy(), embeddings(3))
    assert enrolled.values.dtype == torch.float32


def test_on_disk_in_wal_with_full_synchronisation(desk):
    with desk._open() as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("PRAGMA synchronous").fetchone() == (2,)


@pytest.mark.parametrize(("name", "why"), [
    ("", "empty"), ("  \t ", "empty"), ("x" * 81, "81 characters"), ("x" * 10_000, "10000 characters"),
    ("a\nb", "cannot be shown"), ("\x1b[31mred", "cannot be shown"), ("a\u202eb", "cannot be shown"),
    ("\ud800", "cannot be shown")])
def test_names_that_are_refused(desk, name, why):
    with pytest.raises(ValueError, match=why) as error:
        desk.enrol(name, embeddings(), SPACE.model)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 250
    assert names(desk) == []


@pytest.mark.parametrize("other", ["zoë", " ZOË ", "Zoe\u0308", "\uff3aoë"])
def test_a_duplicate_however_it_is_written(desk, other):
    desk.enrol("Zoë", embeddings(), SPACE.model)
    with pytest.raises(ValueError, match="'Zoë' is enrolled already"):
        desk.enrol(other, embeddings(seed=1), SPACE.model)
    assert len(desk.enrolled().values) == 2
    desk.remove(other)
    assert names(desk) == []


def test_markup_is_a_name_like_any_other(desk):
    desk.enrol(MARKUP, embeddings(), SPACE.model)
    desk.enrol("O'Hara \"; --", embeddings(seed=1), SPACE.model)
    assert set(names(desk)) == {MARKUP, "O'Hara \"; --"}
    assert desk.decide(embeddings(1), SPACE.model, 0.1).person == MARKUP
    desk.remove(MARKUP)
    assert names(desk) == ["O'Hara \"; --"]
    assert desk.log()[0]["decided"] == MARKUP


def test_the_longest_name_and_the_key():
    assert checked_name("x" * 80) == "x" * 80
    assert name_key("Straße  A") == name_key("STRASSE a")


@pytest.mark.parametrize(("values", "why"), [
    (embeddings(shape=(3, 5)), "shape"), (embeddings(0), "at least one"), (np.full((1, 3, 6), np.nan), "finite"),
    (np.zeros((1001, 3, 6)), "at most 1000")])
def test_embeddings_that_are_refused(desk, values, why):
    with pytest.raises(ValueError, match=why):
        desk.enrol("Ann", values, SPACE.model)
    assert names(desk) == []


def test_another_model_is_refused(desk):
    other = Space("b" * 64, "qp-wl", 1.0, LEVELS, (3, 6))
    desk.enrol("Ann", embeddings(), SPACE.model)
    for attempt in (lambda: desk.enrol("Bob", embeddings(), other.model),
                    lambda: desk.decide(embeddings(1), other.model, 1.0)):
        with pytest.raises(ValueError, match="embedded by another model"):
            attempt()
    with pytest.raises(FileError, match="holds people enrolled with another model"):
        Desk(desk.path, other)
    with pytest.raises(FileError, match="another model, whose embeddings mean nothing"):
        Desk(desk.path.parent, other, create=False)
    assert names(desk) == ["Ann"]
    assert desk.log() == []
    beside = Desk(desk.path.parent, other)
    assert beside.path != desk.path
    assert names(beside) == []


def test_the_log_keeps_what_was_decided(desk):
    desk.enrol("=Ann", embeddings(), SPACE.model)
    desk.decide(embeddings(1), SPACE.model, 0.5)
    desk.decide(embeddings(1) + 9, SPACE.model, 0.5)
    desk.decide(embeddings(2), SPACE.model, 0.5, claimed="=ann")
    desk.remove("=Ann")
    last, middle, first = desk.log()
    expected = min(SPACE.pairwise(torch.from_numpy(embeddings(1) + 9), torch.from_numpy(embeddings()))[0])
    assert (first["kind"], first["claimed"], first["decided"], first["n"]) == ("identify", None, "=Ann", 1)
    assert (middle["decided"], middle["distance"]) == (None, pytest.approx(expected))
    assert (last["kind"], last["claimed"], last["decided"], last["enrolled"]) == ("verify", "=Ann", "=Ann", 1)
    assert last["time"].endswith("Z")
    assert last["model"] == SPACE.model
    assert desk.log(1) == [last]
    lines = desk.log_csv().splitlines()
    assert lines[0] == ",".join(enrolment.LOGGED)
    assert ",identify,,'=Ann," in lines[1], "a spreadsheet must not run a name"
    assert len(lines) == 4


def test_nobody_of_that_name(desk):
    for attempt in (lambda: desk.remove("Eve"), lambda: desk.decide(embeddings(1), SPACE.model, 1.0, "Eve")):
        with pytest.raises(ValueError, match="nobody called 'Eve'"):
            attempt()
    with pytest.raises(ValueError, match="nobody is enrolled yet"):
        desk.decide(embeddings(1), SPACE.model, 1.0)


def test_what_another_process_changes_is_noticed(desk):
    desk.enrol("Ann", embeddings(), SPACE.model)
    before = desk.enrolled()
    assert desk.enrolled() is before, "loaded once"
    desk.record(decide(before, embeddings(1), SPACE.model, 1.0))
    assert desk.enrolled() is before, "the log is no reason to load again"
    Desk(desk.path.parent, SPACE).enrol("Bob", embeddings(seed=1), SPACE.model)
    assert desk.enrolled().names == ("Ann", "Bob")
    desk.remove("Ann")
    assert desk.enrolled().names == ("Bob",)
    for path in desk.path.parent.iterdir():
        path.unlink()
    Desk(desk.path.parent, SPACE).enrol("Cat", embeddings(), SPACE.model)
    assert desk.enrolled().names == ("Cat",), "a new file in its place"


def damage(path, how):
    data = bytearray(path.read_bytes())
    if how == "noise":
        data[:] = np.random.default_rng(0).bytes(len(data))
    elif how == "empty":
        data.clear()
    elif how == "truncated":
        del data[len(data) // 2:]
    elif how == "overwritten":
        data[4096:] = b"\xff" * (len(data) - 4096)
    elif how == "bit":                      # inside an embedding
        at = data.index(embeddings().tobytes()[:8])
        data[at + 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("how", ["noise", "empty", "truncated", "overwritten", "bit"])
def test_a_damaged_file_is_one_sentence_and_stays_as_it_is(desk, how):
    desk.enrol("Ann", embeddings(), SPACE.model)
    damage(desk.path, how)
    before = desk.path.read_bytes()
    with pytest.raises(FileError, match="left as it is") as error:
        Desk(desk.path.parent, SPACE).enrolled()
    assert "\n" not in str(error.value)
    with pytest.raises(FileError, match="left as it is"):
        desk.decide(embeddings(1), SPACE.model, 1.0)
    assert desk.path.read_bytes() == before


def test_a_foreign_database_and_a_later_version(desk):
    def run(command):
        with sqlite3.connect(desk.path) as database:
            database.execute(command)
        database.close()

    run("PRAGMA user_version = 2")
    with pytest.raises(FileError, match="another version of QP-WL Lab .enrolment format 2"):
        Desk(desk.path.parent, SPACE)
    run("PRAGMA user_version = 1")
    run("UPDATE header SET value = 'no JSON' WHERE name = 'shape'")
    with pytest.raises(FileError, match="damaged .its header"):
        Desk(desk.path.parent, SPACE)
    run("PRAGMA application_id = 7")
    with pytest.raises(FileError, match="not an enrolment database"):
        desk.enrol("Ann", embeddings(), SPACE.model)


def test_a_folder_that_is_none(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileError, match="not an enrolment database|damaged"):
        Desk(tmp_path / "file", SPACE)
    with pytest.raises(FileError, match="no folder|cannot be written"):
        Desk(tmp_path / "file" / "below", SPACE)
    assert (tmp_path / "file").read_text() == "x"


def test_a_busy_database_says_so(desk, monkeypatch):
    monkeypatch.setattr(enrolment, "BUSY", 0.05)
    with desk._open(write=True), pytest.raises(FileError, match="is busy"):
        Desk(desk.path.parent, SPACE).enrol("Ann", embeddings(), SPACE.model)
    desk.enrol("Ann", embeddings(), SPACE.model)


def test_many_writers_and_readers_at_once(tmp_path):
    """Each thread has a desk of its own, as processes do; the first one there makes the file."""
    failed = []

    def work(number):
        try:
            desk = Desk(tmp_path, SPACE)
            for i in range(5):
                desk.enrol(f"{number}-{i}", embeddings(2, seed=number), SPACE.model)
                enrolled = desk.enrolled()
                assert len(enrolled.values) == 2 * len(enrolled.names), "never half a person"
                desk.decide(embeddings(1), SPACE.model, 1.0)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    desk = Desk(tmp_path, SPACE)
    assert failed == []
    assert len(desk.people()) == len(desk.log()) == 40


# One process imports PyTorch; what it forks says its number, enrols, confirms, and is killed.
ENROL_UNTIL_KILLED = """
import os, sys
from tests.core.desk.test_database import SPACE, embeddings
from qpwl_core.desk.database import Desk
for _ in range(10):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        print("end", flush=True)
        continue
    desk = Desk(sys.argv[1], SPACE)
    print(os.getpid(), flush=True)
    first = len(desk.people())
    for i in range(first, first + 10_000):
        desk.enrol(f"person {i}", embeddings(40, seed=i), SPACE.model)
        print(f"person {i}", flush=True)
"""


def test_kill_9_loses_nothing_that_was_confirmed_and_leaves_no_half(tmp_path):
    """A real process confirms on its output and is killed, at ten points; then all is counted."""
    confirmed, random = [], np.random.default_rng(0)
    with subprocess.Popen([sys.executable, "-c", ENROL_UNTIL_KILLED, str(tmp_path)], cwd=ROOT, text=True,
                          env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE) as process:
        said = lambda: process.stdout.readline().strip()  # noqa: E731
        for kills in range(1, 11):
            child = int(said())
            confirmed += [said() for _ in range(int(random.integers(1, 6)))]
            time.sleep(random.uniform(0, 0.03))
            os.kill(child, signal.SIGKILL)
            confirmed += iter(said, "end")                       # what had left it before it died
            desk = Desk(tmp_path, SPACE)
            people, enrolled = desk.people(), desk.enrolled()
            assert set(confirmed) <= {person.name for person in people}
            assert len(people) <= len(confirmed) + kills, "beyond those, at most one a kill, not yet confirmed"
            assert {person.sequences for person in people} == {40}
            assert len(enrolled.values) == 40 * len(people)
