"""Ink: even times from uneven ones, clocks that are broken, strokes to draw."""

import numpy as np
import pytest

from qpwl_core.data.datasets import get_dataset
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.ink import evenly, strokes_of
from qpwl_core.data.recordings import Recordings


def test_even_times_of_uneven_ones():
    times = np.array([5.0, 5.01, 5.013, 5.05])
    even = evenly(times, np.column_stack([times, 2 * times, 3 * times]), [False] * 4)
    np.testing.assert_allclose(even[:, 0], 5 + np.arange(6) / 100)
    np.testing.assert_allclose(even[:, 1:3], even[:, :1] * [2, 3])
    assert even[:, 3].all()


def test_the_pen_is_up_from_a_sample_until_the_next():
    even = evenly([0.0, 0.01, 0.05, 0.06], np.zeros((4, 3)), [False, True, False, False])
    assert even[:, 3].tolist() == [1, 0, 0, 0, 0, 1, 1]


def test_a_repeated_time_is_left_out_and_a_step_of_hours_is_a_minute():
    even = evenly([0.0, 0.01, 0.01, 0.02], [[0, 0, 0], [1, 1, 1], [9, 9, 9], [2, 2, 2]], [False] * 4)
    assert even[:, 0].tolist() == [0, 1, 2]
    assert len(evenly([0.0, 7200.0], np.zeros((2, 3)), [False] * 2)) == 6001
    assert len(evenly([3.0], np.zeros((1, 3)), [False])) == 1


@pytest.mark.parametrize(("times", "sentence"), [
    ([], "no sample"), ([0.0, 0.02, 0.01], "times that run backwards, at sample 2"),
    ([1.0, 1.0, 1.0], "3 samples at one time: its clock stands still"),
    (np.arange(12) * 59.0, "lasts 649 seconds, and a signature must take at most 600"),
])
def test_broken_clocks_are_one_sentence(times, sentence):
    with pytest.raises(RecordingsError, match=sentence):
        evenly(times, np.zeros((len(times), 3)), np.zeros(len(times)))


@pytest.mark.parametrize(("times", "sentence"), [("20 10", "run backwards"), ("10 10", "stands still")])
def test_readers_name_the_file_with_a_broken_clock(times, sentence, tmp_path):
    first, second = times.split()
    (tmp_path / "U3S1.TXT").write_text(f"2\n1 2 {first} 1 0 0 5\n2 3 {second} 1 0 0 5\n")
    with pytest.raises(RecordingsError, match=f"'U3S1.TXT' has .*{sentence}"):
        get_dataset("svc2004").read(tmp_path)
    (tmp_path / "007_g_1.sig").write_text(
        f"X, Y, TStamp, Pres., EndPts\nDataSize: 2\n1 2 {first} 9 0\n2 3 {second} 9 0\n")
    with pytest.raises(RecordingsError, match=f"'007_g_1.sig' has .*{sentence}"):
        get_dataset("susig-blind").read(tmp_path)


def test_a_forgery_of_nobody_is_one_sentence(tmp_path):
    (tmp_path / "U3S21.TXT").write_text("2\n1 2 0 1 0 0 5\n2 3 10 1 0 0 5\n")
    with pytest.raises(RecordingsError, match="forgery of nobody here: '03'"):
        get_dataset("svc2004").read(tmp_path)


def test_strokes():
    line = np.column_stack([np.arange(10.0), 2 * np.arange(10.0), [0, 1, 1, 1, 0, 0, 1, 1, 0, 1]])
    pen = Recordings([line], ["ann"], ("x", "y", "down"), 100.0)
    strokes = strokes_of(pen, 0)
    assert [stroke.x.tolist() for stroke in strokes] == [[1, 2, 3], [6, 7], [9]]
    np.testing.assert_allclose(strokes[0].speed, 100 * np.sqrt(5))
    assert strokes[2].speed.tolist() == [0]
    turned = strokes_of(Recordings([line], ["ann"], ("x", "y", "down"), 100.0, info={"y": "down"}), 0)
    np.testing.assert_array_equal(turned[0].y, -strokes[0].y)
    plain = strokes_of(Recordings([line[:, :2]], ["ann"], ("x", "y"), 100.0), 0)
    assert len(plain) == 1
    assert len(plain[0].x) == 10
    with pytest.raises(RecordingsError, match="lack y"):
        strokes_of(Recordings([line], ["ann"], ("x", "z", "down"), 100.0), 0)
