"""What a pad hands over: right when it is right, one sentence when it is not, whatever came."""

import io
import json
import math
import random

import numpy as np
import pytest

from qpwl_core.common import bounds
from qpwl_core.data.capture import CHANNELS, RATE, Capture, CaptureError, captured, recordings_of
from qpwl_core.data.formats.writers import put_csv, put_npz
from qpwl_core.data.loading import load_recordings
from qpwl_core.data.preprocessing import recipe_for
from tests.support.drawings import mutated


def loops(seed=0, samples=120, step=8.0, strokes=2):
    """A drawing of ours: loops in some strokes, as a browser reports them."""
    draw = np.random.default_rng(seed)
    made, start = [], 1000.0
    for k in range(strokes):
        t = start + step * np.arange(samples)
        turn = np.linspace(0, 6, samples) + draw.normal(0, 0.02)
        x, y = 60 + 100 * k + 20 * turn + 15 * np.sin(6 * turn), 90 + 40 * np.cos(5 * turn)
        made.append(np.column_stack([t, x, y, np.full(samples, 0.5)]).round(2).ravel().tolist())
        start = t[-1] + 150
    return {"id": "abc", "device": "mouse", "strokes": made}


def test_a_drawing_becomes_a_hundred_samples_per_second_with_the_pen_up_between_strokes():
    sent = loops()
    found = captured(sent)
    assert found.values.shape[1] == len(CHANNELS)
    assert found.values.dtype == np.float32
    seconds = (sent["strokes"][1][-4] - sent["strokes"][0][0]) / 1000
    assert found.seconds == pytest.approx(seconds)
    assert len(found.values) == math.floor(seconds * RATE + 1e-6) + 1
    assert found.strokes == 2
    times = np.arange(len(found.values)) * 10.0
    first = np.array(sent["strokes"][0]).reshape(-1, 4)
    inside = times < first[-1, 0] - 1000
    for column, name in ((1, "x"), (2, "y")):
        truth = np.interp(times[inside], first[:, 0] - 1000, first[:, column])
        np.testing.assert_allclose(found.values[inside, CHANNELS.index(name)], truth, atol=1e-3)
    assert (found.values[inside, 3] == 1).all()
    gap = (times > first[-1, 0] - 1000 + 1) & (times < first[-1, 0] - 1000 + 149)
    assert (found.values[gap, 3] == 0).all()
    assert gap.sum() == 15


def test_a_pen_that_reports_nothing_stands_still():
    t = [0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 1000, 1008, 1016, 1024]
    x = [0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 44, 52, 60, 70]
    found = captured({"device": "touch", "strokes": [[v for s in zip(t, x, x, [0] * 14, strict=True) for v in s]]})
    assert found.values[50, 0] == 36, "in the middle of the pause it is where it was"
    assert found.values[98, 0] == 36


def test_samples_at_one_time_and_strokes_without_a_gap_are_no_trouble():
    sent = loops()
    first = sent["strokes"][0]
    first += first[-4:]                                           # the release where and when the last move was
    sent["strokes"][1][0] = first[-4]
    assert captured(sent).strokes == 2


def test_recordings_travel_through_both_files_and_the_recipe():
    captures = [captured(loops(seed)) for seed in range(3)]
    made = recordings_of(captures, ["ann", "ann", "bob"], imitates=["", "", "ann"],
                         stimuli=["session1", "session1", "forgery"])
    for put, name in ((put_npz, "drawn.npz"), (put_csv, "drawn.csv")):
        file = io.BytesIO()
        put(made, file)
        file.seek(0)
        again = load_recordings(file, name=name)
        assert again.channels == CHANNELS
        assert again.rate == RATE
        assert again.info == made.info
        assert again.imitates.tolist() == ["", "", "ann"]
        assert all((a == b).all() for a, b in zip(again.sequences, made.sequences, strict=True))
    seen = recipe_for("signature").fit(made).apply(made)
    assert len(seen) == 3


@pytest.mark.parametrize(("change", "said"), [
    (lambda c: c.update(device="brain"), "device must be"), (lambda c: c.update(device=["mouse"]), "device must be"),
    (lambda c: c.update(strokes=[]), "no stroke"), (lambda c: c.update(strokes="ink"), "no stroke"),
    (lambda c: c["strokes"][0].append(1), "time, x, y and pressure"),
    (lambda c: c["strokes"].append([]), "time, x, y and pressure"),
    (lambda c: c["strokes"][0].__setitem__(5, float("nan")), "finite"),
    (lambda c: c["strokes"][0].__setitem__(5, 10**400), "finite"),
    (lambda c: c["strokes"][0].__setitem__(5, "4"), "numbers and nothing else"),
    (lambda c: c["strokes"][0].__setitem__(5, True), "numbers and nothing else"),
    (lambda c: c["strokes"][0].__setitem__(5, 1e6), "within"),
    (lambda c: c["strokes"][0].__setitem__(7, 1.5), "pressure"),
    (lambda c: c["strokes"][0].__setitem__(8, 0.0), "backwards"),
    (lambda c: c["strokes"][1].__setitem__(-4, 1e6), "seconds"),
    (lambda c: c["strokes"][1].__setitem__(-4, 1e308), "clock"),
    (lambda c: c.update(strokes=[c["strokes"][0][:20]]), "very short"),
    (lambda c: c.update(strokes=[[0, 1, 1, 0] * 40]), "one time"),
    (lambda c: c.update(strokes=[[x for i in range(20) for x in (500 * i, i, i, 0)]]), "2 positions per second"),
    (lambda c: c.update(strokes=[[0, 0, 0, 0]] * (bounds.INK_STROKES + 1)), "strokes"),
    (lambda c: c.update(strokes=[[0] * 4 * (bounds.INK_SAMPLES + 1)]), "samples"),
])
def test_what_is_wrong_is_said_in_a_sentence(change, said):
    sent = loops()
    change(sent)
    with pytest.raises(CaptureError, match=said):
        captured(sent)


@pytest.mark.parametrize("sent", [None, 3, "ink", [], {}, {"device": "mouse"}, {"strokes": [[1, 2, 3, 4]]}])
def test_what_is_no_capture_at_all(sent):
    with pytest.raises(CaptureError):
        captured(sent)


def test_ten_thousand_mutated_messages_end_in_a_sentence_or_in_a_sound_capture():
    random.seed(1)
    sent = loops(samples=12, strokes=3)
    sent["strokes"] = [stroke[:48] for stroke in sent["strokes"]]
    refused = []
    for _ in range(10_000):
        try:
            found = captured(mutated(sent, random))
        except CaptureError as error:
            refused.append(str(error))
            continue
        assert isinstance(found, Capture)
        assert found.values.dtype == np.float32
        assert np.isfinite(found.values).all()
        assert 0 < len(found.values) <= bounds.INK_SECONDS * RATE + 1
        recordings_of([found], ["ann"])
    assert 2000 < len(refused) < 10_000
    assert all(10 < len(text) < 300 for text in refused)


def test_a_message_is_plain_json():
    assert captured(json.loads(json.dumps(loops()))).samples == 240
