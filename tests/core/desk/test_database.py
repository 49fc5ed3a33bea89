"""The enrolment database: what was confirmed stays, nothing half, nothing of another model, no name that does harm."""

import os
import re
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
from qpwl_core.desk.storage import _postgres
from qpwl_core.desk.visitors import Register
from tests.support.places import ROOT

LEVELS = tuple(torch.linspace(0, 1, 6).tolist())
SPACE = Space("a" * 64, "qp-wl", 1.0, LEVELS, (3, 6))
MARKUP = "<script>alert(1)</script> **x** [y](javascript:z) '); DROP TABLE people;--"


def embeddings(count=2, seed=0, shape=(3, 6)):
    return np.sort(np.random.default_rng(seed).normal(size=(count, *shape)).astype(np.float32), -1)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """Where a desk may be: a folder, or the address of a database. The tests hold for both."""
    return tmp_path if request.param == "sqlite" else request.getfixturevalue("address")


@pytest.fixture
def address(postgres):
    """Of an empty database."""
    address = postgres.new_database()
    yield address
    _postgres(address).dispose()


@pytest.fixture
def desk(place):
    return Desk(place, SPACE)


@pytest.fixture
def file(tmp_path):
    """A desk of which it matters that it is a file."""
    return Desk(tmp_path, SPACE)


def names(desk):
    return [person.name for person in desk.people()]


def test_who_is_enrolled_is_there_again(desk, place):
    person = desk.enrol("  Zoë ", embeddings(3), SPACE.model, "gallery")
    again = Desk(place, SPACE)
    assert again.people() == [person]
    assert (person.name, person.sequences, person.origin) == ("Zoë", 3, "gallery")
    enrolled = again.enrolled()
    assert enrolled.names == ("Zoë",)
    assert np.array_equal(enrolled.values.numpy(), embeddings(3))
    assert enrolled.values.dtype == torch.float32


def test_on_disk_in_wal_with_full_synchronisation(file):
    with file._open() as database:
        pragma = lambda name: database.exec_driver_sql(f"PRAGMA {name}").scalar()
        assert pragma("journal_mode") == "wal"
        assert (pragma("synchronous"), pragma("secure_delete")) == (2, 1)


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


def test_another_model_is_refused(desk, place):
    other = Space("b" * 64, "qp-wl", 1.0, LEVELS, (3, 6))
    desk.enrol("Ann", embeddings(), SPACE.model)
    for attempt in (lambda: desk.enrol("Bob", embeddings(), other.model),
                    lambda: desk.decide(embeddings(1), other.model, 1.0)):
        with pytest.raises(ValueError, match="embedded by another model"):
            attempt()
    with pytest.raises(FileError, match="another model, whose embeddings mean nothing"):
        Desk(place, other, create=False)
    assert names(desk) == ["Ann"]
    assert desk.log() == []
    beside = Desk(place, other)
    assert beside.where != desk.where
    assert names(beside) == []


def test_the_file_of_another_model_is_refused(file):
    with pytest.raises(FileError, match="holds people enrolled with another model"):
        Desk(file.path, Space("b" * 64, "qp-wl", 1.0, LEVELS, (3, 6)))


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


def test_what_another_process_changes_is_noticed(desk, place):
    desk.enrol("Ann", embeddings(), SPACE.model)
    before = desk.enrolled()
    assert desk.enrolled() is before, "loaded once"
    desk.record(decide(before, embeddings(1), SPACE.model, 1.0))
    assert desk.enrolled() is before, "the log is no reason to load again"
    Desk(place, SPACE).enrol("Bob", embeddings(seed=1), SPACE.model)
    assert desk.enrolled().names == ("Ann", "Bob")
    desk.remove("Ann")
    assert desk.enrolled().names == ("Bob",)


def test_a_new_file_in_its_place(file):
    file.enrol("Ann", embeddings(), SPACE.model)
    assert file.enrolled().names == ("Ann",)
    for path in file.path.parent.iterdir():
        path.unlink()
    Desk(file.path.parent, SPACE).enrol("Cat", embeddings(), SPACE.model)
    assert file.enrolled().names == ("Cat",)


def test_owners_have_a_desk_each(place):
    ann, bob, nobody = (Desk(place, SPACE, owner=owner) for owner in ("ann1", "bob2", ""))
    ann.enrol("Zoë", embeddings(), SPACE.model)
    ann.decide(embeddings(1), SPACE.model, 1.0)
    assert names(bob) == names(nobody) == bob.log() == nobody.log() == []
    bob.enrol("Zoë", embeddings(seed=1), SPACE.model)
    nobody.enrol("Zoë", embeddings(seed=2), SPACE.model)
    bob.remove("Zoë")
    assert (names(ann), names(bob), names(nobody)) == (["Zoë"], [], ["Zoë"])
    for owner in ("../x", "a/b", "Ann", "a" * 33, 'x"; DROP SCHEMA', ".", "a_b"):
        with pytest.raises(ValueError, match="small letters and digits"):
            Desk(place, SPACE, owner=owner)


def test_what_was_removed_is_overwritten(file):
    """Neither the name nor the embedding is left in the file, or beside it."""
    file.enrol("Zebulon", embeddings(), SPACE.model)
    file.enrol("Ann", embeddings(seed=1), SPACE.model)
    inside = lambda what: any(what in path.read_bytes() for path in file.path.parent.iterdir())
    gone = (b"Zebulon", b"zebulon", embeddings()[0].tobytes()[:32])
    assert all(map(inside, gone))
    file.remove("Zebulon")
    assert not any(map(inside, gone))
    assert names(file) == ["Ann"]


def test_what_was_removed_is_gone_from_the_files_of_postgresql(postgres, address):
    """What is checked out of its caches to disk no longer has it."""
    import psycopg

    desk = Desk(address, SPACE)
    desk.enrol("Zebulon", embeddings(), SPACE.model)
    desk.enrol("Ann", embeddings(seed=1), SPACE.model)

    def inside(what):
        with psycopg.connect(address, autocommit=True) as server:
            server.execute("CHECKPOINT")
            number = server.execute("SELECT oid FROM pg_database WHERE datname = current_database()").fetchone()[0]
        return any(what in path.read_bytes() for path in (postgres.home / "data" / "base" / str(number)).iterdir())

    gone = (b"Zebulon", embeddings()[0].tobytes()[:32])
    assert all(map(inside, gone))
    desk.remove("Zebulon")
    assert not any(map(inside, gone))
    desk.enrol("Zebulon", embeddings(), SPACE.model)
    desk.record(desk.decide(embeddings()[:1], SPACE.model, 1e9, "Zebulon"), truth="Zebulon", guess="Zebulon")
    assert desk.forget("Zebulon")
    assert not any(map(inside, gone)), "nor in the log"
    register = Register(address)
    visitor = register.join("Zebulon")
    assert inside(b"Zebulon")
    register.remove(visitor.id)
    assert not inside(b"Zebulon"), "nor on the register of a class"
    assert not inside(visitor.id.encode())


def test_a_desk_that_is_dropped_is_overwritten(file, tmp_path):
    """Whoever holds its blocks on the disk finds nothing: another name of the file stands for them."""
    file.enrol("Zebulon", embeddings(), SPACE.model)
    os.link(file.path, tmp_path / "same")
    assert b"Zebulon" in (tmp_path / "same").read_bytes()
    file.storage.drop()
    assert not file.path.exists()
    assert not (tmp_path / "same").read_bytes().strip(b"\0")
    file.storage.drop()                                                     # once more does no harm


def test_an_address_that_does_not_answer_or_is_none(tmp_path):
    with pytest.raises(FileError, match="cannot be reached") as error:
        Desk(f"postgresql://ann:geheim@/x?host={tmp_path}", SPACE)
    assert "geheim" not in str(error.value)
    assert "\n" not in str(error.value)
    with pytest.raises(FileError, match="must look like postgresql://"):
        Desk("postgresql://host:port/x", SPACE)


def test_a_schema_of_another_version_or_with_a_table_missing(address):
    import psycopg

    desk = Desk(address, SPACE)
    schema = desk.storage.schema
    with psycopg.connect(address, autocommit=True) as server:
        server.execute(f"ALTER TABLE {schema}.people RENAME TO persons")
        with pytest.raises(FileError, match="damaged"):
            desk.people()
        server.execute(f"UPDATE {schema}.header SET value = '2' WHERE name = 'format'")
    with pytest.raises(FileError, match="another version of QP-WL Lab .enrolment format 2"):
        Desk(address, SPACE)


def test_a_postgresql_that_is_killed_loses_nothing_that_was_confirmed(postgres, address):
    here, there = Desk(address, SPACE), Desk(address, SPACE)
    for i in range(3):
        here.enrol(f"person {i}", embeddings(40, seed=i), SPACE.model)
        postgres.stop(signal.SIGKILL)
        with pytest.raises(FileError, match="cannot be reached"):
            here.enrol("nobody", embeddings(), SPACE.model)
        postgres.start()
        assert names(there) == [f"person {j}" for j in range(i + 1)]
        assert there.decide(embeddings(1, seed=i), SPACE.model, 1.0).person == f"person {i}"
    assert len(here.log()) == 3


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
def test_a_damaged_file_is_one_sentence_and_stays_as_it_is(file, how):
    file.enrol("Ann", embeddings(), SPACE.model)
    damage(file.path, how)
    before = file.path.read_bytes()
    with pytest.raises(FileError, match="left as it is") as error:
        Desk(file.path.parent, SPACE).enrolled()
    assert "\n" not in str(error.value)
    with pytest.raises(FileError, match="left as it is"):
        file.decide(embeddings(1), SPACE.model, 1.0)
    assert file.path.read_bytes() == before


def test_a_foreign_database_and_a_later_version(file):
    def run(command):
        with sqlite3.connect(file.path) as database:
            database.execute(command)
        database.close()

    run("PRAGMA user_version = 2")
    with pytest.raises(FileError, match="another version of QP-WL Lab .enrolment format 2"):
        Desk(file.path.parent, SPACE)
    run("PRAGMA user_version = 1")
    run("UPDATE header SET value = 'no JSON' WHERE name = 'shape'")
    with pytest.raises(FileError, match="damaged .its header"):
        Desk(file.path.parent, SPACE)
    run("PRAGMA application_id = 7")
    with pytest.raises(FileError, match="not an enrolment database"):
        file.enrol("Ann", embeddings(), SPACE.model)


def test_a_folder_that_is_none(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileError, match="not an enrolment database|damaged"):
        Desk(tmp_path / "file", SPACE)
    with pytest.raises(FileError, match="no folder|cannot be written"):
        Desk(tmp_path / "file" / "below", SPACE)
    assert (tmp_path / "file").read_text() == "x"


def test_a_busy_database_says_so(desk, place, monkeypatch):
    monkeypatch.setattr(enrolment, "BUSY", 0.05)
    with desk._open(write=True), pytest.raises(FileError, match="is busy"):
        Desk(place, SPACE).enrol("Ann", embeddings(), SPACE.model)
    desk.enrol("Ann", embeddings(), SPACE.model)


def test_many_writers_and_readers_at_once(place):
    """Each thread has a desk of its own, as processes do; the first one there makes the file."""
    failed = []

    def work(number):
        try:
            desk = Desk(place, SPACE)
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
    desk = Desk(place, SPACE)
    assert failed == []
    assert len(desk.people()) == len(desk.log()) == 40


# One process imports PyTorch; what it forks says its number, enrols, confirms, and is killed.
ENROL_UNTIL_KILLED = """
import os, sys
from tests.core.desk.test_database import SPACE, embeddings
from qpwl_core.desk.database import Desk
from qpwl_core.desk.visitors import Register
for _ in range(10):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        print("end", flush=True)
        continue
    desk = Desk(sys.argv[1], SPACE)
    print(os.getpid(), flush=True)
    os.read(0, 1)                                  # wait until those before were counted
    first = len(desk.people())
    for i in range(first, first + 10_000):
        desk.enrol(f"person {i}", embeddings(40, seed=i), SPACE.model)
        print(f"person {i}", flush=True)
"""


def _until_end(lines):
    """The lines before "end", which may follow a line that death cut short; nothing more to read ends it, too."""
    for line in lines:
        before, end = re.fullmatch(r"(.*?)(end)?", line.strip()).groups()
        if before:
            yield before
        if end:
            return


def test_kill_9_loses_nothing_that_was_confirmed_and_leaves_no_half(place):
    """A real process confirms on its output and is killed, at ten points; then all is counted."""
    confirmed, random = [], np.random.default_rng(0)
    with subprocess.Popen([sys.executable, "-c", ENROL_UNTIL_KILLED, str(place)], cwd=ROOT, text=True,
                          env=os.environ | {"PYTHONPATH": str(ROOT)}, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        said = lambda: process.stdout.readline().strip()
        for kills in range(1, 11):
            child = int(said())
            process.stdin.write("x")
            process.stdin.flush()
            confirmed += [said() for _ in range(int(random.integers(1, 6)))]
            time.sleep(random.uniform(0, 0.03))
            os.kill(child, signal.SIGKILL)
            confirmed += _until_end(process.stdout)              # what had left it before it died
            desk = Desk(place, SPACE)
            people, enrolled = desk.people(), desk.enrolled()
            assert set(confirmed) <= {person.name for person in people}
            assert len(people) <= len(confirmed) + kills, "beyond those, at most one a kill, not yet confirmed"
            assert {person.sequences for person in people} == {40}
            assert len(enrolled.values) == 40 * len(people)


def test_an_open_desk_notices_that_its_file_was_replaced_or_damaged(file, tmp_path):
    file.enrol("Ada", embeddings(), SPACE.model)
    held = file.enrolled()
    file.decide(embeddings(1, seed=5), SPACE.model, 1.0)
    assert file.enrolled() is held, "what we write ourselves changes nobody"
    other = Desk(tmp_path / "elsewhere", SPACE)
    other.enrol("Eve", embeddings(seed=1), SPACE.model)
    with sqlite3.connect(other.path) as database:                # whoever replaces it may copy its number, too
        with sqlite3.connect(file.path) as ours:
            number, = ours.execute("SELECT value FROM header WHERE name = 'id'").fetchone()
        database.execute("UPDATE header SET value = ? WHERE name = 'id'", (number,))
    database.close()
    ours.close()
    os.replace(other.path, file.path)
    assert file.enrolled().names == ("Eve",)
    content = bytearray(file.path.read_bytes())
    at = content.index(embeddings(seed=1)[0].tobytes()[:32])
    content[at] ^= 1
    file.path.write_bytes(content)
    with pytest.raises(FileError, match="damaged"):
        file.enrolled()
