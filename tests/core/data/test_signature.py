"""The signature recipe: known answers, what makes devices alike, every step on and off, refusals in one sentence."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.loading import load_recordings
from qpwl_core.data.preprocessing import fitted_from_dict, recipe_for
from qpwl_core.data.preprocessing.days import imitate_day
from qpwl_core.data.preprocessing.devices import imitate_device
from qpwl_core.data.recordings import Recordings

PLAIN = {"smooth": 0.0, "pause": None, "clip": 1e6}


def circle(turns=2.0, seconds=2.0, rate=100.0, radius=500.0, middle=(3000.0, 2000.0)):
    """A circle drawn anticlockwise at an even pace, (T, 2)."""
    angle = 2 * np.pi * turns * np.arange(round(seconds * rate)) / (seconds * rate)
    return np.stack([middle[0] + radius * np.cos(angle), middle[1] + radius * np.sin(angle)], axis=1)


def scribble(seed=0, seconds=3.0, rate=100.0, size=800.0):
    """Smooth loops that no two seeds share, (T, 2)."""
    random, t = np.random.default_rng(seed), np.arange(round(seconds * rate)) / rate
    waves = [sum(a * np.sin(2 * np.pi * f * t + b) for a, f, b in zip(
        random.normal(size=4), random.uniform(0.5, 4, 4), random.uniform(0, 6, 4), strict=True)) for _ in range(2)]
    return size * np.stack(waves, axis=1) + 4000


def signed(values, rate=100.0, channels=("x", "y"), **info):
    values = values if isinstance(values, list) else [values]
    return Recordings(values, ["ann"] * len(values), channels, rate, info=info)


def features(values, rate=100.0, channels=("x", "y"), info=None, **options):
    """The features of one signature before they are standardised, by name."""
    recipe = recipe_for("signature", **PLAIN | options)
    recordings = signed(values, rate, channels, **info or {})
    used = recipe.needed(channels)
    columns = [channels.index(name) for name in used]
    out = recipe.prepare(np.asarray(values)[:, columns], used, recordings)
    return dict(zip(recipe.output_channels(used), out.T, strict=True))


def test_a_circle_is_known():
    seen = features(circle(turns=2, seconds=2), position=True)              # one turn per second, radius = size
    inner = slice(2, -2)
    np.testing.assert_allclose(np.hypot(seen["x"], seen["y"]), 1, rtol=1e-6)
    np.testing.assert_allclose(np.hypot(seen["vx"], seen["vy"])[inner], 2 * np.pi, rtol=2e-3)
    np.testing.assert_allclose(seen["log_speed"][inner], np.log(2 * np.pi), atol=2e-3)
    np.testing.assert_allclose(np.sinh(seen["curvature"][inner]), 2 * np.pi, rtol=1e-2)  # anticlockwise is positive
    np.testing.assert_allclose(seen["change"][inner], 0, atol=1e-6)
    np.testing.assert_allclose(np.hypot(seen["cos"], seen["sin"])[inner], 1, atol=1e-3)


def test_place_and_size_do_not_matter():
    one, other = (features(scribble() * scale + shift) for scale, shift in ((1, 0), (0.03, 70)))
    for name, values in one.items():
        np.testing.assert_allclose(other[name], values, rtol=1e-6, atol=1e-6)
    large, small = (features(scribble() * factor, size=False)["log_speed"] for factor in (2, 1))
    np.testing.assert_allclose(large, small + np.log(2), rtol=1e-6)
    shifted = features(scribble() + 70, centre=False, position=True, size=False)
    np.testing.assert_allclose(shifted["x"], scribble()[:, 0] + 70)


def test_y_grows_upwards():
    turned = scribble() * [1, -1]
    one, other = features(scribble()), features(turned, info={"y": "down"})
    for name, values in one.items():
        np.testing.assert_allclose(other[name], values, atol=1e-9)
    assert not np.allclose(features(turned)["vy"], one["vy"])


@pytest.mark.parametrize("rate", [60.0, 133.0, 200.0])
def test_the_rate_of_a_device_does_not_matter(rate):
    one, other = features(scribble()), features(scribble(rate=rate), rate=rate)
    for name in ("vx", "vy", "log_speed"):
        levels = np.linspace(0.05, 0.95, 10)
        np.testing.assert_allclose(np.quantile(other[name], levels), np.quantile(one[name], levels),
                                   atol=0.1 * one[name].std())


def pen_up_gap(seconds):
    """Two strokes, and between them a pen that is up so long: x, y, down, 100 Hz."""
    gap = round(seconds * 100)
    first, second = circle(1, 1), circle(1, 1, middle=(6000.0, 2000.0))
    air = np.linspace(first[-1], second[0], gap + 2)[1:-1]
    down = np.repeat([1, 0, 1], [100, gap, 100])
    return np.column_stack([np.concatenate([first, air, second]), down])


def test_time_goes_on_while_the_pen_is_up_and_stands_still_in_what_is_cut():
    names = ("x", "y", "down")
    short, long = (features(pen_up_gap(s), channels=names, time=True, pause=0.4)["time"] for s in (0.2, 9.0))
    np.testing.assert_allclose(short, np.concatenate([np.arange(100), np.arange(120, 220)]) / 100)
    np.testing.assert_allclose(long, np.concatenate([np.arange(100), np.arange(140, 240)]) / 100)
    assert "time" not in features(pen_up_gap(0.2), channels=names)


def test_the_phase_is_the_share_of_ink_whatever_the_pace():
    names, waves = ("x", "y", "down"), ("phase_cos", "phase_sin", "phase_cos2", "phase_sin2")
    seen = features(circle(turns=1, seconds=2), phase=True)
    share = np.pi * np.linspace(0, 1, 200)
    for name, wave in zip(waves, (np.cos(share), np.sin(share), np.cos(2 * share), np.sin(2 * share)), strict=True):
        np.testing.assert_allclose(seen[name], wave, atol=1e-6)
    angle = 2 * np.pi * np.linspace(0, 1, 200) ** 2                            # the same ink, slow at first
    hasty = features(np.stack([np.cos(angle), np.sin(angle)], axis=1), phase=True)
    np.testing.assert_allclose(hasty["phase_cos"], np.cos(angle / 2), atol=1e-3)
    short, long = (features(pen_up_gap(s), channels=names, phase=True, pause=0.4) for s in (0.2, 9.0))
    for name in waves:                                                         # what is in the air is no ink
        np.testing.assert_allclose(short[name], long[name], atol=0.02)


@pytest.mark.parametrize("feature", ["time", "phase"])
def test_what_was_written_before_there_was_a_feature_stays_what_it_was(feature):
    one = Recordings([scribble()], ["ann"], ("x", "y"), rate=100)
    for there in (False, True):
        fitted = recipe_for("signature", **{feature: there}).fit(one)
        assert (feature in fitted.to_dict()["options"]) == there
        assert fitted_from_dict(fitted.to_dict(), fitted.arrays).recipe == fitted.recipe


def test_a_pause_is_cut_and_the_rest_stays():
    names = ("x", "y", "down")
    short, long = (features(pen_up_gap(s), channels=names, pen_up="keep", pause=0.4, down=True) for s in (0.4, 9.0))
    assert len(long["down"]) == len(short["down"]) == 240
    for name, values in short.items():
        np.testing.assert_allclose(long[name], values, atol=1e-6)
    assert len(features(pen_up_gap(9.0), channels=names, pen_up="keep")["vx"]) == 1100
    still = np.concatenate([circle(1, 1), np.repeat(circle(1, 1)[-1:], 500, axis=0), circle(1, 1)])
    assert len(features(still, pause=0.5)["vx"]) == 250


def test_pen_up():
    names, seen = ("x", "y", "down"), pen_up_gap(0.3)
    kept, held, dropped = (features(seen, channels=names, pen_up=way, down=True, position=True)
                           for way in ("keep", "hold", "drop"))
    assert [len(x["down"]) for x in (kept, held, dropped)] == [230, 230, 200]
    assert dropped["down"].all()
    np.testing.assert_array_equal(kept["x"][kept["down"] > 0], dropped["x"])
    assert np.ptp(held["x"][held["down"] == 0]) == 0
    assert np.ptp(kept["x"][kept["down"] == 0]) > 1
    around = np.column_stack([circle(), np.zeros(200)])
    around[50:150, 2] = 1
    assert len(features(around, channels=names, pen_up="keep")["vx"]) == 100     # air before and after is no signature


def test_the_longest_is_a_bound():
    assert len(features(circle(5, 30))["vx"]) == 2000
    assert len(features(circle(5, 30), longest=None)["vx"]) == 3000
    assert len(features(circle(5, 30), longest=1.5)["vx"]) == 150


def test_pressure_and_other_channels():
    values = np.column_stack([scribble(), np.full(300, 40.0), np.arange(300)])
    names = ("x", "y", "pressure", "tilt")
    np.testing.assert_allclose(features(values, channels=names, pressure=True)["pressure"], 1)
    assert "pressure" not in features(values, channels=names)
    fitted = recipe_for("signature").fit(signed(values, channels=names))
    assert fitted.channels == ("x", "y")
    assert fitted.output_channels == ("vx", "vy", "log_speed", "cos", "sin", "curvature", "change")
    with pytest.raises(RecordingsError, match="lack the channel 'pressure'"):
        recipe_for("signature", pressure=True).fit(signed(scribble()))
    with pytest.raises(RecordingsError, match="lack the channel 'y'"):
        recipe_for("signature").fit(signed(scribble(), channels=("x", "z")))


@pytest.mark.parametrize(("values", "sentence"), [
    (np.column_stack([scribble(), np.zeros(300)]), "sequence 0 of 'ann': the pen must touch.* no sample is pen-down"),
    (np.array([[3.0, 4.0, 1.0]]), "its ink is a single point"),
    (np.column_stack([np.full((50, 2), 7.0), np.ones(50)]), "its ink is a single point"),
    (np.column_stack([scribble(), np.arange(300) == 5]), "its ink is a single point"),
    (np.column_stack([scribble() + 1e9, np.ones(300)]), r"coordinates must stay within ±1e\+07, and one is 1"),
    (np.column_stack([np.random.default_rng(0).normal(size=(100_000, 2)), np.ones(100_000)]),
     "at most 600 seconds, and this one has 100,000 samples, 1000 seconds"),
])
def test_what_is_no_signature_is_one_sentence(values, sentence):
    with pytest.raises(RecordingsError, match=sentence) as error:
        recipe_for("signature").fit(signed(values, channels=("x", "y", "down")))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("option", [{"pen_up": "fly"}, {"pause": 0}, {"longest": -1}, {"smooth": -0.1}, {"clip": 0},
                                    {"velocity": 1}, {"rate": 0}])
def test_options_that_cannot_be(option):
    with pytest.raises(ValueError, match=f"{next(iter(option))} of the signature recipe must be"):
        recipe_for("signature", **option)
    with pytest.raises(ValueError, match="must be one of position, velocity"):
        recipe_for("signature", velocity=False, log_speed=False, direction=False, curvature=False, change=False)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 60), st.sampled_from(("keep", "hold", "drop")), st.floats(1, 1e6))
def test_whatever_was_drawn_comes_out_finite(seed, samples, way, size):
    random = np.random.default_rng(seed)
    values = np.column_stack([size * random.normal(size=(samples, 2)), random.random(samples) < 0.7])
    values[:2, 2] = 1
    data = signed(values, channels=("x", "y", "down"))
    out = recipe_for("signature", pen_up=way, position=True, down=True).fit(data).apply(data).sequences[0]
    assert np.isfinite(out).all()
    assert np.abs(out).max() <= 3


class TestDevices:
    def test_it_is_seeded_and_keeps_all_but_the_values(self):
        values = [np.column_stack([scribble(i), np.arange(300) % 50 < 40]) for i in range(4)]
        data = Recordings(values, ["ann", "ann", "bob", "x"], ("x", "y", "down"), 100.0, ["s"] * 4, {"name": "pens"},
                          ["", "", "", "bob"])
        one, again, other = (imitate_device(data, seed) for seed in (1, 1, 2))
        for a, b, c, before in zip(one.sequences, again.sequences, other.sequences, data.sequences, strict=True):
            np.testing.assert_array_equal(a, b)
            assert not np.array_equal(a, c)
            assert a.shape == before.shape
            assert set(np.unique(a[:, 2])) <= {0, 1}
            assert 0 < np.abs(a[:, :2] - before[:, :2]).max() < 0.25 * np.ptp(before[:, :2])
        assert one.imitates.tolist() == ["", "", "", "bob"]
        assert one.info == data.info
        assert one.stimuli.tolist() == data.stimuli.tolist()

    def test_a_perfect_device_changes_nothing(self):
        data = signed(scribble())
        same = imitate_device(data, 0, rate=(100, 100), jitter=0, missing=0, grid=0)
        np.testing.assert_allclose(same.sequences[0], data.sequences[0], rtol=1e-6)

    def test_the_grid(self):
        data = signed(circle(radius=100.0))
        coarse = imitate_device(data, 3, rate=(100, 100), jitter=0, missing=0, grid=0.5).sequences[0]
        steps = np.unique(np.round(np.diff(np.unique(coarse[:, 0])), 3))
        assert len(steps) == 1                                      # one step: everything lies on its grid
        assert 0 < steps[0] <= 50

    def test_short_ones_survive(self):
        for samples in (1, 2, 3):
            assert imitate_device(signed(scribble()[:samples]), 0).sequences[0].shape == (samples, 2)

    def test_refusals(self):
        with pytest.raises(RecordingsError, match="lack the channel 'y'"):
            imitate_device(signed(scribble(), channels=("x", "z")), 0)
        for option in ({"rate": (0, 5)}, {"rate": (9, 5)}, {"jitter": 0.5}, {"missing": 1}, {"grid": -1}):
            with pytest.raises(ValueError, match=f"{next(iter(option))} must be"):
                imitate_device(signed(scribble()), 0, **option)


class TestDays:
    def test_it_is_seeded_and_keeps_who_and_what(self):
        values = [np.column_stack([scribble(i), np.arange(300) % 50 < 40]) for i in range(4)]
        data = Recordings(values, ["ann", "ann", "bob", "x"], ("x", "y", "down"), 100.0, ["s"] * 4, {"name": "pens"},
                          ["", "", "", "bob"])
        one, again, other = (imitate_day(data, seed) for seed in (1, 1, 2))
        for a, b, c, before in zip(one.sequences, again.sequences, other.sequences, data.sequences, strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.shape != c.shape or not np.array_equal(a, c)
            assert 0.7 * len(before) < len(a) < 1.4 * len(before)
            assert set(np.unique(a[:, 2])) == {0, 1}
        assert one.imitates.tolist() == ["", "", "", "bob"]
        assert (one.info, one.stimuli.tolist()) == (data.info, data.stimuli.tolist())

    def test_a_slower_day_takes_longer_and_leaves_the_ink(self):
        data = signed(circle(turns=1, seconds=2))
        slow = imitate_day(data, 0, pace=0.5, unevenness=0, turn=0, wider=0, lean=0)
        assert len(slow.sequences[0]) != 200
        np.testing.assert_allclose(np.hypot(*(slow.sequences[0] - [3000, 2000]).T), 500, rtol=1e-3)
        np.testing.assert_allclose(slow.sequences[0][[0, -1]], data.sequences[0][[0, -1]], rtol=1e-6)

    def test_a_turned_day_is_a_rotation_and_a_wider_one_keeps_the_area(self):
        straight = {"pace": 0, "unevenness": 0}
        before = signed(circle(middle=(0, 0)))
        turned = imitate_day(before, 5, **straight, turn=30, wider=0, lean=0).sequences[0]
        np.testing.assert_allclose(np.hypot(*turned.T), 500, rtol=1e-5)
        assert not np.allclose(turned, before.sequences[0], atol=1)
        wider = imitate_day(before, 5, **straight, turn=0, wider=0.3, lean=0).sequences[0]
        across = np.ptp(wider, axis=0)
        assert across[0] != pytest.approx(1000, rel=0.01)
        assert across.prod() == pytest.approx(1000**2, rel=1e-3)

    def test_short_ones_survive(self):
        for samples in (1, 2, 3):
            assert len(imitate_day(signed(scribble()[:samples]), 0).sequences[0]) >= 1

    def test_refusals(self):
        with pytest.raises(RecordingsError, match="lack the channel 'y'"):
            imitate_day(signed(scribble(), channels=("x", "z")), 0)
        for name in ("pace", "unevenness", "turn", "wider", "lean"):
            with pytest.raises(ValueError, match=f"{name} must be"):
                imitate_day(signed(scribble()), 0, **{name: -1})


@pytest.mark.shared
def test_it_reads_every_shared_signature(shared_data):
    for name in ("sign-susig-visual-74", "sign-susig-blind-90", "sign-svc2004-28"):
        data = load_recordings(shared_data / f"{name}.npz").select(index=slice(None, None, 9))
        seen = recipe_for("signature").fit(data).apply(data)
        assert len(seen) == len(data)
        assert seen.lengths.max() <= 2000
        assert np.abs(np.concatenate(seen.sequences)).max() <= 3
