"""Forge the lecturer: figures of tries in files, shared by all processes, without a line that anybody drew."""

import threading

import numpy as np
import pytest

from qpwl_core.common.files import FileError
from qpwl_core.data.capture import captured, recordings_of
from qpwl_core.models.gallery import build_gallery, load_gallery
from qpwl_core.models.model import load_model
from tests.support.drawings import as_payload, loops
from tests.support.places import ROOT
from ui.classroom import game
from ui.classroom.figures import ladder
from ui.library.models import entries

NAME = "signature-susig-qp-wl"


@pytest.fixture(scope="module")
def entry():
    return next(entry for entry in entries() if entry.id == NAME)


@pytest.fixture(scope="module")
def seen():
    """What the model sees in drawings: three of the owner, one alike, one slow."""
    model = load_model(ROOT / "models" / NAME)
    hands = ((0, 1), (1, 1), (2, 1), (3, 1), (4, 2.5))
    drawings = [captured(as_payload(loops(seed, slower))) for seed, slower in hands]
    return build_gallery(model, recordings_of(drawings, ["x"] * len(drawings)))


@pytest.fixture
def on(tmp_path, entry, seen):
    game.begin(tmp_path, "the lecturer", entry.card["sha256"], seen.select([0, 1, 2]), None)
    return game.current(tmp_path)


def test_a_try_is_judged_as_on_the_page_sign(on, entry, seen):
    near, far = (game.judge(on, entry, seen.select([i])) for i in (3, 4))
    assert near.times < far.times
    assert far.why.startswith("filter ")
    again = game.judge(on, entry, seen.select([0]))
    assert again.accepted
    assert again.times == pytest.approx(0, abs=0.05)


def test_tries_of_many_at_once_are_all_there(on):
    def work(number):
        for i in range(20):
            game.add_try(on, f"v{number}", f"name {number}", game.Verdict(1 + number + i, "filter 1"))

    threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = game.tries(on)
    best = game.best_of(rows)
    assert len(rows) == 160
    assert [row["times"] for row in best] == [1 + i for i in range(8)]
    assert {row["tries"] for row in best} == {20}
    game.without(on, "v0")
    assert len(game.tries(on)) == 140
    assert len(ladder(game.best_of(game.tries(on)), game.tries(on)).data[1].x) == 7


def test_tries_are_bounded_each_and_in_all(on, monkeypatch):
    monkeypatch.setattr(game, "EACH", 2)
    monkeypatch.setattr(game, "MOST", 3)
    for who in ("ann", "ann", "bob"):
        game.add_try(on, who, who, game.Verdict(1.0, "filter 1"))
    with pytest.raises(FileError, match="3 tries were written down, which is the most"):
        game.add_try(on, "bob", "bob", game.Verdict(1.0, "filter 1"))
    monkeypatch.setattr(game, "MOST", 9)
    with pytest.raises(FileError, match="you have tried 2 times, which is the most"):
        game.add_try(on, "ann", "ann", game.Verdict(1.0, "filter 1"))
    game.add_try(on, "bob", "bob", game.Verdict(1.0, "filter 1"))


def test_who_is_forgotten_takes_no_try_of_another_along(on):
    """Seen: a try that was written down while another's were struck out was gone with them."""
    def work():
        for i in range(200):
            game.add_try(on, "ann", "Ann", game.Verdict(1.0 + i, "filter 1"))

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        game.without(on, "bob")
    thread.join()
    assert len(game.tries(on)) == 200


def test_half_a_line_and_a_game_before_are_not_counted(on, tmp_path):
    game.add_try(on, "v", "n", game.Verdict(2.0, "filter 3"))
    with open(on.folder / "tries.jsonl", "a") as file:
        file.write('{"game": "another", "visitor": "v", "name": "n", "times": 0, "why": ""}\nhalf\n{"game"')
    assert [row["times"] for row in game.tries(on)] == [2.0]
    game.end(tmp_path)
    assert game.current(tmp_path) is None
    assert game.tries(on) == []
    assert not list(tmp_path.iterdir())


def test_a_person_of_the_gallery_can_be_forged(tmp_path, entry):
    part = load_gallery(entry.folder).part("test")
    who = part.people[0]
    theirs = np.flatnonzero(part.subjects == who)
    game.begin(tmp_path, who, entry.card["sha256"], part.select(theirs[:5]), None)
    on = game.current(tmp_path)
    other = np.flatnonzero(part.subjects != who)
    own, others = (game.judge(on, entry, part.select([i])).times for i in (theirs[5], other[0]))
    assert own < others
