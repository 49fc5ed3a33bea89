"""Who keeps changing a training's settings has one measurement waiting, and nobody waits for what nobody wants."""

import threading

from ui.train.measuring import Measuring


def test_the_newest_takes_the_place_of_the_one_that_waits():
    measuring, go, done = Measuring(), threading.Event(), []

    def work(name):
        def measured():
            go.wait(10)
            done.append(name)
            return name
        return measured

    first = measuring.ask("ann", "a0", work("a0"))
    while not first.running():
        pass
    many = [measuring.ask("ann", f"a{i}", work(f"a{i}")) for i in range(1, 50)]
    bob = measuring.ask("bob", "b", work("b"))
    last = measuring.ask("ann", "a50", work("a50"))
    assert len(measuring.waiting) == 2
    go.set()
    assert [first.result(10), last.result(10), bob.result(10)] == ["a0", "a50", "b"]
    assert done == ["a0", "a50", "b"], "and ann kept her place"
    assert all(each.cancelled() for each in many)


def test_what_two_want_is_measured_once_and_stays_when_one_of_them_changes_their_mind():
    measuring, go, done = Measuring(), threading.Event(), []
    first = measuring.ask("eve", "e", lambda: go.wait(10))
    while not first.running():
        pass
    same = [measuring.ask(who, "same", lambda: done.append("same")) for who in ("ann", "bob", "ann")]
    other = measuring.ask("ann", "other", lambda: done.append("other"))
    assert same[0] is same[1] is same[2]
    go.set()
    other.result(10)
    same[0].result(10)
    assert sorted(done) == ["other", "same"]
    assert measuring.ask("ann", "same", lambda: done.append("again")) is same[0]
    measuring.ask("carl", "last", lambda: None).result(10)
    assert sorted(done) == ["other", "same"]


def test_back_and_forth_between_two_is_measured_in_the_end():
    """Two tabs of one person, each asking again and again."""
    measuring, go = Measuring(), threading.Event()
    measuring.ask("eve", "e", lambda: go.wait(10))
    asked = {}
    for turn in range(100):
        if turn == 10:
            go.set()
        for key in ("one", "two"):
            asked[key] = measuring.ask("ann", key, lambda key=key: key)
    assert asked["two"].result(10) == "two"


def test_a_failure_is_handed_on_and_results_are_bounded():
    measuring = Measuring()

    def fails():
        raise ValueError("no")

    assert isinstance(measuring.ask("ann", "fails", fails).exception(10), ValueError)
    for i in range(200):
        assert measuring.ask("ann", f"{i}", lambda i=i: i).result(10) == i
    assert len(measuring.known) <= 65
