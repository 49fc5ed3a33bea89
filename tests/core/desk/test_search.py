"""Very many enrolled: bounds first, the same decisions; newcomers are added to what was loaded."""

import numpy as np
import pytest
import torch

from qpwl_core.desk import search
from qpwl_core.desk.database import Desk
from qpwl_core.desk.decisions import Enrolled, decide
from qpwl_core.desk.space import Space

LEVELS = tuple(torch.linspace(0, 1, 6).tolist())
SPACE = Space("a" * 64, "qp-wl", 1.5, LEVELS, (4, 6))


def crowd(people=300, each=3):
    random = torch.Generator().manual_seed(0)
    middle = 3 * torch.randn(people, 1, 4, 1, generator=random)
    values = (middle + torch.randn(people, each, 4, 6, generator=random)).sort(-1).values
    presented = (middle[40] + torch.randn(2, 4, 6, generator=random)).sort(-1).values
    return values, presented


@pytest.fixture
def by_bounds(monkeypatch):
    def switch(on: bool):
        monkeypatch.setattr(search, "FULL", 0 if on else 1 << 17)
    return switch


@pytest.mark.parametrize("claimed", [None, "person 040", "person 211"])
@pytest.mark.parametrize("copy", [False, True])
def test_decisions_are_the_same(claimed, copy, by_bounds):
    values, presented = crowd()
    if copy:
        presented[1] = values[250, 1]
    names = tuple(f"person {i:03d}" for i in range(300))
    made = []
    for on in (False, True):
        by_bounds(on)
        enrolled = Enrolled(SPACE, names, values.flatten(0, 1), np.repeat(np.arange(300), 3))
        made.append(decide(enrolled, presented, SPACE.model, 3.0, claimed))
    full, pruned = made
    assert (full.pruned, len(full.names)) == (0, 300)
    assert pruned.pruned > 0.1
    assert pruned.names[:100] == full.names[:100]
    np.testing.assert_array_equal(pruned.distances[:100], full.distances[:100])
    for name in ("claimed", "person", "distance", "compared", "enrolled", "copies", "verdict"):
        assert getattr(pruned, name) == getattr(full, name), name
    assert torch.equal(pruned.matched, full.matched)
    assert full.copies == copy


def test_newcomers_join_what_was_loaded(tmp_path, monkeypatch):
    values, _ = crowd(50)
    desk = Desk(tmp_path, SPACE)
    names = [f"person {7 * i % 30:02d}" for i in range(30)]              # not in the order of names
    read = []
    monkeypatch.setattr(Desk, "_read", lambda self, database, after=-1, read_=Desk._read: read.append(after) or read_(
        self, database, after))
    seen = []
    for i, name in enumerate(names):
        desk.enrol(name, values[i], SPACE.model)
        seen.append(desk.enrolled())
    assert read[0] == -1
    assert -1 not in read[1:], "nobody is loaded twice"
    assert [len(enrolled.names) for enrolled in seen] == list(range(1, 31))
    for count, enrolled in enumerate(seen, 1):                           # what was given out before stays what it was
        assert enrolled.names == tuple(sorted(names[:count]))
        for i in range(count):
            theirs = enrolled.values[enrolled.owner == enrolled.names.index(names[i])]
            assert torch.equal(theirs, values[i])


def test_who_left_is_gone_though_the_number_is_given_again(tmp_path):
    values, _ = crowd(50)
    desk = Desk(tmp_path, SPACE)
    for i, name in enumerate("abc"):
        desk.enrol(name, values[i], SPACE.model)
    desk.enrolled()
    desk.remove("c")
    desk.enrol("d", values[3], SPACE.model)                             # SQLite gives the number of c again
    enrolled = desk.enrolled()
    assert enrolled.names == ("a", "b", "d")
    assert torch.equal(enrolled.values[-3:], values[3])
    desk.remove("a")
    assert desk.enrolled().names == ("b", "d")
