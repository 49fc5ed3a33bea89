"""The register of a class, in a file and in PostgreSQL."""

import threading

import pytest

from qpwl_core.desk import visitors
from qpwl_core.desk.storage import _postgres
from qpwl_core.desk.visitors import Register


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    if request.param == "sqlite":
        yield tmp_path
        return
    address = request.getfixturevalue("postgres").new_database()
    yield address
    _postgres(address).dispose()


def test_who_joined_is_known_until_removed(place):
    here, there = Register(place), Register(place)
    ann, bob = here.join("  Ann "), there.join()
    assert (ann.name, bob.name) == ("Ann", "")
    assert ann.id != bob.id
    assert len(ann.id) == 16
    assert {each.id for each in there.all()} == {ann.id, bob.id}
    assert there.find(ann.id) == ann
    there.remove(ann.id)
    assert here.find(ann.id) is None
    assert [each.id for each in here.all()] == [bob.id]
    assert here.find("' OR 1=1 --") is None


def test_a_class_has_a_bound_and_names_are_checked(place, monkeypatch):
    register = Register(place)
    monkeypatch.setattr(visitors, "MOST", 2)
    register.join()
    with pytest.raises(ValueError, match="cannot be shown"):
        register.join("a\u202eb")
    register.join()
    with pytest.raises(ValueError, match="2 people are in this class already"):
        register.join()


def test_thirty_join_at_once(place):
    threads = [threading.Thread(target=lambda: Register(place).join()) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({each.id for each in Register(place).all()}) == 30
