"""Recipes: known answers, statistics of training people only, the same at test time, refusals in one sentence."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, stats

from qpwl_core.data.datasets.uci_eeg import CHANNELS as EEG_CHANNELS
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.loading import load_recordings
from qpwl_core.data.preprocessing import RECIPES, fitted_from_dict, recipe_for
from qpwl_core.data.preprocessing.gait import active_windows
from qpwl_core.data.recordings import Recordings

SCREEN = (1280, 720, 0.40, 0.225, 0.45)
RNG = np.random.default_rng(0)
EYE = ("left_x_px", "left_y_px", "left_pupil", "right_x_px", "right_y_px", "right_pupil")
CHANNELS = {"eye": EYE, "gait": ("a", "b", "c"), "eeg": ("FP1", "CZ", "X"), "generic": ("u", "v"),
            "signature": ("x", "y", "down")}
ONE_SAMPLE = [domain for domain in RECIPES if domain != "signature"]     # where a single sample is something


def recordings(domain, lengths=None, rate=30.0, seed=0, scale=1.0):
    lengths = lengths or (40, 90, 60, 1 if domain in ONE_SAMPLE else 3)
    rng = np.random.default_rng(seed)
    channels = CHANNELS[domain]
    values = [rng.normal(size=(n, len(channels))) * 20 * scale + 400 for n in lengths]
    subjects = [f"p{i % 2}" for i in range(len(lengths))]
    return Recordings(values, subjects, channels, rate, [f"s{i}" for i in range(len(lengths))])


def same(a, b):
    assert a.channels == b.channels
    assert a.rate == b.rate
    assert a.subjects.tolist() == b.subjects.tolist()
    for x, y in zip(a.sequences, b.sequences, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("domain", ONE_SAMPLE)
class TestRecipesOfAnyLength:
    def test_deterministic_and_length_one_survives(self, domain):
        data = recordings(domain)
        fitted = recipe_for(domain).fit(data)
        out = fitted.apply(data)
        same(out, fitted.apply(data))
        assert out.channels == fitted.output_channels
        assert len(out) == 4
        assert out.lengths.tolist() == [40, 90, 60, 1]
        assert out.info["recipe"] == domain

    def test_any_rate_is_resampled(self, domain):
        slow = recordings(domain, rate=30.0)
        fitted = recipe_for(domain).fit(slow)
        fast = recordings(domain, lengths=(400, 300), rate=120.0)
        out = fitted.apply(fast)
        assert out.rate == fitted.rate == 30.0
        assert out.lengths.tolist() == [100, 75]
        assert recipe_for(domain, rate=60).fit(slow).apply(slow).lengths.tolist() == [80, 180, 120, 1]

    def test_constant_channels_come_out_finite(self, domain):
        data = Recordings([np.full((9, len(CHANNELS[domain])), 5.0)] * 2, ["a", "b"], CHANNELS[domain], 30.0)
        out = recipe_for(domain).fit(data).apply(data)
        assert all(np.isfinite(x).all() for x in out.sequences)


@pytest.mark.parametrize("domain", RECIPES)
class TestEveryRecipe:
    def test_statistics_come_from_training_only(self, domain):
        fitted = recipe_for(domain).fit(recordings(domain))
        before = {name: values.copy() for name, values in fitted.arrays.items()}
        fitted.apply(recordings(domain, seed=5, scale=100.0))
        for name, values in fitted.arrays.items():
            np.testing.assert_array_equal(values, before[name])

    def test_a_sequence_is_the_same_alone_and_among_others(self, domain):
        data = recordings(domain)
        fitted = recipe_for(domain).fit(data)
        for i, whole in enumerate(fitted.apply(data).sequences):
            np.testing.assert_array_equal(fitted.apply(data.select(index=[i])).sequences[0], whole)

    def test_stored_and_loaded(self, domain, tmp_path):
        from safetensors.numpy import load_file, save_file

        data = recordings(domain)
        fitted = recipe_for(domain).fit(data)
        save_file(fitted.arrays, tmp_path / "model.safetensors")
        stored = json.loads(json.dumps(fitted.to_dict()))
        again = fitted_from_dict(stored, load_file(tmp_path / "model.safetensors"))
        assert again.to_dict() == fitted.to_dict()
        same(again.apply(data), fitted.apply(data))

    def test_damaged_store(self, domain):
        fitted = recipe_for(domain).fit(recordings(domain))
        with pytest.raises(ValueError, match="finite arrays of shape"):
            fitted_from_dict(fitted.to_dict(), {"centre": np.zeros(1)})
        with pytest.raises(ValueError, match="finite arrays"):
            fitted_from_dict(fitted.to_dict(), {name: values * np.nan for name, values in fitted.arrays.items()})
        with pytest.raises(ValueError, match="domain, options and channels"):
            fitted_from_dict({"domain": domain}, fitted.arrays)
        stored = fitted.to_dict()
        with pytest.raises(ValueError, match="rate"):        # fuzz case 7885
            fitted_from_dict(stored | {"options": stored["options"] | {"rate": None}}, fitted.arrays)

    def test_other_channels_are_refused_by_name(self, domain):
        data = recordings(domain)
        fitted = recipe_for(domain).fit(data)
        less = Recordings([x[:, :-1] for x in data.sequences], data.subjects, data.channels[:-1], data.rate)
        with pytest.raises(RecordingsError, match=f"lack the channel '{data.channels[-1]}'"):
            fitted.apply(less)
        name = "confidence" if domain == "eye" else "extra"
        extra = Recordings([np.hstack([x, x[:, :1]]) for x in data.sequences], data.subjects, (*data.channels, name),
                           data.rate)
        if RECIPES[domain].picks:      # a cap with more electrodes has those too
            same(fitted.apply(extra), fitted.apply(data))
            return
        with pytest.raises(RecordingsError, match=f"have the channel '{name}'"):
            fitted.apply(extra)

    def test_channels_in_another_order_are_put_right(self, domain):
        data = recordings(domain)
        fitted = recipe_for(domain).fit(data)
        order = list(range(len(data.channels)))[::-1]
        turned = Recordings([x[:, order] for x in data.sequences], data.subjects,
                            tuple(data.channels[i] for i in order), data.rate, data.stimuli)
        same(fitted.apply(turned), fitted.apply(data))

    @pytest.mark.parametrize("rate", [0, -1, "fast"])
    def test_bad_rate(self, domain, rate):
        with pytest.raises(ValueError, match="rate"):
            recipe_for(domain, rate=rate)


def test_unknown_domain_and_option():
    with pytest.raises(ValueError, match="domain must be one of eye, gait, eeg, signature, generic, not 'ear'"):
        recipe_for("ear")
    with pytest.raises(ValueError, match="gait recipe has no option 'window'; it has rate, seconds, keep"):
        recipe_for("gait", window=3)


def test_generic_standardises():
    data = recordings("generic", lengths=(500, 300))
    out = recipe_for("generic").fit(data).apply(data)
    values = np.concatenate(out.sequences)
    np.testing.assert_allclose(values, stats.zscore(np.concatenate(data.sequences).astype(float)), atol=1e-4)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=6), st.floats(0.1, 1e4), st.floats(-1e4, 1e4))
def test_generic_does_not_mind_scale_and_offset(lengths, scale, offset):
    values = [np.random.default_rng(i).normal(size=(n, 2)) for i, n in enumerate(lengths)]
    if sum(lengths) < 2:
        return
    data, moved = (Recordings(x, ["p"] * len(x), ("u", "v"), 10.0)
                   for x in (values, [(v * scale + offset).astype(np.float64) for v in values]))
    a, b = (recipe_for("generic").fit(x).apply(x) for x in (data, moved))
    for x, y in zip(a.sequences, b.sequences, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-2 + 1e-5 * abs(offset) / scale)


def test_resampling_keeps_slow_and_drops_fast_waves():
    """1 Hz survives from 250 to 50 Hz; 60 Hz, above the new limit of 25 Hz, is filtered out instead of folding down."""
    t = np.arange(2500) / 250
    data = Recordings([np.stack([np.sin(2 * np.pi * t), np.sin(2 * np.pi * 60 * t)], axis=1)], ["a"], ("u", "v"), 250.0)
    fitted = recipe_for("generic", rate=50).fit(data)
    prepared = fitted.recipe.prepare(data.sequences[0], data.channels, data)
    middle = slice(50, -50)
    np.testing.assert_allclose(prepared[middle, 0], np.sin(2 * np.pi * np.arange(500) / 50)[middle], atol=5e-3)
    assert np.abs(prepared[middle, 1]).max() < 0.01


# ---------------------------------------------------------------------------------------------------------------- gait

def test_most_active_windows_by_a_naive_search():
    values = RNG.normal(size=(1000, 3)) * np.repeat(RNG.uniform(0.1, 2, size=(20, 1)), 50, axis=0)   # 81 windows
    starts = active_windows(values, window=50, keep=4, centre=0, scale=1)
    candidates = sorted({*range(0, 951, 12), 950}, key=lambda s: -values[s:s + 50].std(axis=0).mean())
    chosen = []
    for start in candidates:
        if len(chosen) < 4 and all(abs(start - other) >= 50 for other in chosen):
            chosen.append(start)
    assert starts == sorted(chosen)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 400), st.integers(1, 120), st.integers(1, 8))
def test_windows_do_not_overlap_and_lie_inside(length, window, keep):
    values = np.random.default_rng(length).normal(size=(length, 2))
    starts = active_windows(values, window, keep, np.zeros(2), np.ones(2))
    assert 1 <= len(starts) <= keep
    assert min(starts) >= 0
    assert all(b - a >= window for a, b in itertools.pairwise(starts))
    assert starts == [0] if length <= window else max(starts) + window <= length


def test_windows_remember_their_trial():
    data = recordings("gait", lengths=(300, 100, 20), rate=10.0)
    out = recipe_for("gait", seconds=5, keep=3).fit(data).apply(data)
    assert set(out.lengths) == {50, 20}
    assert out.stimuli.tolist() == ["s0"] * 3 + ["s1"] * len(out.stimuli[out.stimuli == "s1"]) + ["s2"]
    unnamed = Recordings(data.sequences, data.subjects, data.channels, data.rate)
    again = recipe_for("gait", seconds=5, keep=3).fit(unnamed).apply(unnamed)
    assert again.stimuli.tolist() == [f"sequence-{name[1]}" for name in out.stimuli]


def test_activity_counts_channels_alike():
    """A large unit (°/s) must not drown a small one (g): the quiet channel decides here."""
    rng = np.random.default_rng(3)
    values = np.stack([rng.normal(size=100) * 0.01, 300.0 * (-1) ** np.arange(100)], axis=1)
    values[60:80, 0] *= 50
    data = Recordings([values], ["a"], ("g", "deg"), 1.0)
    out = recipe_for("gait", seconds=20, keep=1).fit(data).apply(data)
    np.testing.assert_allclose(out.sequences[0][:, 0].std(), values[60:80, 0].std() / values[:, 0].std(), rtol=1e-4)


@pytest.mark.parametrize("options", [{"seconds": 0}, {"keep": 0}, {"seconds": "long"}])
def test_bad_gait_options(options):
    with pytest.raises(ValueError, match="gait recipe"):
        recipe_for("gait", **options)


# ----------------------------------------------------------------------------------------------------------------- EEG

def trials(rate=256.0, channels=("FP1", "CZ", "X")):
    rng = np.random.default_rng(0)
    return Recordings([rng.normal(size=(256, len(channels))) * [10, 5, 100][:len(channels)] + 30 for _ in range(20)],
                      [f"p{i % 4}" for i in range(20)], channels, rate)


def test_robust_statistics_by_scipy():
    data = trials()
    fitted = recipe_for("eeg").fit(data)
    prepared = np.concatenate([x - x.mean(axis=0) for x in (y.astype(float) for y in data.sequences)])
    np.testing.assert_allclose(fitted.arrays["scale"], stats.iqr(prepared, axis=0) / 1.349, rtol=1e-4)
    np.testing.assert_allclose(fitted.arrays["centre"], np.median(prepared, axis=0), atol=1e-4)


def test_one_artefact_does_not_move_the_statistics():
    data = trials()
    before = recipe_for("eeg").fit(data)
    spoiled = [x.copy() for x in data.sequences]
    spoiled[0][50:60, 0] = 1e5
    after = recipe_for("eeg").fit(Recordings(spoiled, data.subjects, data.channels, data.rate))
    assert abs(after.arrays["scale"][0] / before.arrays["scale"][0] - 1) < 0.1
    assert max(np.abs(x).max() for x in after.apply(data).sequences) <= 8


def test_baseline():
    data = trials()
    for baseline, part in (("mean", slice(None)), (0.25, slice(64))):
        fitted = recipe_for("eeg", baseline=baseline).fit(data)
        prepared = fitted.recipe.prepare(data.sequences[0], data.channels, data)
        np.testing.assert_allclose(prepared[part].mean(axis=0), 0, atol=1e-9)
    prepared = recipe_for("eeg", baseline=None).fit(data).recipe.prepare(data.sequences[0], data.channels, data)
    np.testing.assert_allclose(prepared, data.sequences[0])


def test_band_keeps_what_is_inside():
    t = np.arange(2560) / 256
    values = np.stack([np.sin(2 * np.pi * 10 * t), np.sin(2 * np.pi * 60 * t), np.full_like(t, 7.0)], axis=1)
    data = Recordings([values], ["a"], ("FP1", "CZ", "X"), 256.0)
    recipe = recipe_for("eeg", band=(5, 20)).fit(data).recipe
    prepared = recipe.prepare(values, data.channels, data)[300:-300]
    np.testing.assert_allclose(prepared[:, 0], values[300:-300, 0], atol=0.02)
    assert np.abs(prepared[:, 1:]).max() < 1e-2
    with pytest.raises(RecordingsError, match="below 128 Hz"):
        recipe_for("eeg", band=(5, 130)).fit(data)
    one = Recordings([np.ones((1, 3))], ["a"], data.channels, 256.0)
    assert np.isfinite(recipe_for("eeg", band=(5, 20)).fit(one).apply(one).sequences[0]).all()


def test_channels_picked_by_name():
    data = trials()
    fitted = recipe_for("eeg", channels=("CZ", "FP1")).fit(data)
    out = fitted.apply(data)
    assert out.channels == ("CZ", "FP1")
    every = recipe_for("eeg").fit(data).apply(data)
    np.testing.assert_array_equal(out.sequences[3], every.sequences[3][:, [1, 0]])
    fewer = Recordings([x[:, :2] for x in data.sequences], data.subjects, data.channels[:2], data.rate)
    same(fitted.apply(fewer), out)                       # X was never needed
    with pytest.raises(RecordingsError, match="lack the channel 'PZ'"):
        recipe_for("eeg", channels=("PZ",)).fit(data)
    with pytest.raises(ValueError, match="different names"):
        recipe_for("eeg", channels=("CZ", "CZ"))


@pytest.mark.parametrize("options", [{"baseline": "median"}, {"band": (20, 5)}, {"band": (5,)}, {"clip": 0},
                                     {"channels": ()}, {"change": 1}, {"whiten": "yes"}, {"equalise": None},
                                     {"compress": 0}, {"compress": float("inf")}])
def test_bad_eeg_options(options):
    with pytest.raises(ValueError, match="eeg recipe"):
        recipe_for("eeg", **options)


def test_change_is_the_step_between_samples():
    data = trials()
    prepared = recipe_for("eeg", change=True).fit(data).recipe.prepare(data.sequences[0], data.channels, data)
    np.testing.assert_allclose(prepared[1:], np.diff(data.sequences[0].astype(float), axis=0), atol=1e-9)
    assert not prepared[0].any()                         # as long as the trial, and a trial of one sample has a value
    one = Recordings([np.ones((1, 3))], ["a"], data.channels, 256.0)
    assert not recipe_for("eeg", change=True, whiten=True).fit(one).apply(one).sequences[0].any()


def test_whitened_channels_are_uncorrelated():
    data = trials()
    mixed = [x @ np.array([[1, 0.9, 0], [0, 1, 0.1], [0, 0, 1]]) for x in data.sequences]
    data = Recordings(mixed, data.subjects, data.channels, data.rate)
    fitted = recipe_for("eeg", whiten=True).fit(data)
    seen = np.concatenate(fitted.apply(data).sequences).astype(float)
    np.testing.assert_allclose(np.cov(seen.T), np.eye(3), atol=0.02)
    plain = np.concatenate(recipe_for("eeg").fit(data).apply(data).sequences).astype(float)
    both = np.corrcoef(seen.T, plain.T)[:3, 3:]
    assert (both.argmax(axis=1) == [0, 1, 2]).all()      # each is still mostly its own electrode
    np.testing.assert_allclose(fitted.arrays["mixing"], np.linalg.inv(linalg.sqrtm(plain.T @ plain / len(plain))),
                               rtol=1e-4, atol=1e-4)


def test_whitening_blows_up_nothing():
    data = trials()
    twice = Recordings([x[:, [0, 0, 1]] for x in data.sequences], data.subjects, data.channels, data.rate)
    fitted = recipe_for("eeg", whiten=True).fit(twice)   # two electrodes that touch
    assert np.abs(fitted.arrays["mixing"]).max() < 1 / np.sqrt(1e-3)
    flat = Recordings([np.zeros((9, 3))] * 3, list("abc"), data.channels, data.rate)
    assert not recipe_for("eeg", whiten=True).fit(flat).apply(flat).sequences[0].any()


def test_equalised_trials_are_equally_loud():
    data = trials()
    fitted = recipe_for("eeg", baseline=None, equalise=True, clip=1e6).fit(data)
    centre = fitted.arrays["centre"]
    louder = Recordings([centre + 3 * (x - centre) for x in data.sequences], data.subjects, data.channels, data.rate)
    seen = fitted.apply(data)
    np.testing.assert_allclose([np.square(x).mean() for x in seen.sequences], 1, rtol=1e-5)
    for x, y in zip(seen.sequences, fitted.apply(louder).sequences, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-5)
    flat = Recordings([np.zeros((9, 3))] * 3, list("abc"), data.channels, data.rate)
    assert not recipe_for("eeg", equalise=True).fit(flat).apply(flat).sequences[0].any()


def test_compressed_is_nearly_a_logarithm():
    data = trials()
    plain, bent = (recipe_for("eeg", compress=c).fit(data).apply(data).sequences[0] for c in (None, 10.0))
    np.testing.assert_allclose(np.sinh(bent) / 10, plain, rtol=1e-4, atol=1e-6)
    loud = np.abs(plain) > 1
    np.testing.assert_allclose(bent[loud], np.sign(plain[loud]) * np.log(20 * np.abs(plain[loud])), rtol=2e-3)


def test_a_whitening_recipe_comes_back_from_its_card():
    data = trials()
    fitted = recipe_for("eeg", change=True, whiten=True, equalise=True, compress=3.0).fit(data)
    again = fitted_from_dict(fitted.to_dict(), fitted.arrays)
    same(again.apply(data), fitted.apply(data))
    with pytest.raises(ValueError, match="mixing"):
        fitted_from_dict(fitted.to_dict(), {k: v for k, v in fitted.arrays.items() if k != "mixing"})


def test_all_64_channels():
    data = Recordings([RNG.normal(size=(256, 64)) for _ in range(4)], list("abcd"), EEG_CHANNELS, 256.0)
    assert recipe_for("eeg").fit(data).apply(data).channels == EEG_CHANNELS


# ----------------------------------------------------------------------------------------------------------------- eye

def gaze(x, y, confidence=None, rate=250.0, info=None):
    confidence = np.ones(len(x)) if confidence is None else confidence
    values = np.stack([x, y, confidence], axis=1)
    return Recordings([values], ["a"], ("x_px", "y_px", "confidence"), rate, info=info or {})


def column(out, name, i=0):
    return out.sequences[i][:, out.channels.index(name)]


def test_velocity_in_degrees_a_second():
    """A target that moves at 20 °/s to the right and 8 °/s down, seen on the screen of GazeCom."""
    t = np.arange(100) / 250
    pixels_per_metre = 1280 / 0.40
    x = 640 + np.tan(np.radians(-4 + 20 * t)) * 0.45 * pixels_per_metre
    y = 360 + np.tan(np.radians(-2 + 8 * t)) * 0.45 * pixels_per_metre
    data = gaze(x, y)
    fitted = recipe_for("eye", screen=SCREEN).fit(data)
    out = fitted.apply(data)
    np.testing.assert_allclose(column(out, "vx_slow"), np.tanh(20 / 50), atol=1e-4)
    np.testing.assert_allclose(column(out, "vy_slow"), np.tanh(8 / 50), atol=1e-4)
    np.testing.assert_allclose(column(out, "vx_fast"), 20 / 500, atol=1e-4)
    same(recipe_for("eye").fit(gaze(x, y, info={"screen": "1280 720 0.40 0.225 0.45"})).apply(data), out)
    assert fitted.to_dict()["options"]["screen"] == list(map(float, SCREEN))


def test_fast_movement_saturates_and_is_clipped():
    x = np.repeat([300.0, 900.0, 300.0], 40)
    out = recipe_for("eye", screen=SCREEN).fit(gaze(x, x / 2)).apply(gaze(x, x / 2))
    assert column(out, "vx_slow").max() == pytest.approx(1)
    assert column(out, "vx_fast").max() == 1
    assert column(out, "vx_fast").min() == -1


def test_without_geometry_velocity_is_in_units_of_training():
    x, y = RNG.normal(size=(2, 500)).cumsum(axis=1) + 500
    data = gaze(x, y)
    fitted = recipe_for("eye", margin=0).fit(data)
    speed = np.hypot(np.gradient(x), np.gradient(y)) * 250
    np.testing.assert_allclose(fitted.arrays["speed"], np.percentile(speed, 90), rtol=1e-4)
    bigger = gaze(x * 3, y * 3)
    again = recipe_for("eye").fit(bigger).apply(bigger)
    np.testing.assert_allclose(again.sequences[0], fitted.apply(data).sequences[0], atol=2e-3)


def test_fine_steps_are_in_units_of_their_median_and_nought_where_the_eye_was_lost():
    x, y = np.round(RNG.normal(size=(2, 300)).cumsum(axis=1), 1)
    confidence = np.ones(300)
    confidence[100:110] = 0
    fitted = recipe_for("eye", margin=0, fine=True).fit(gaze(x, y, confidence))
    out = fitted.apply(gaze(x, y, confidence))
    seen = np.r_[0:99, 111:299]                                      # neither lost nor beside what is
    step, scale = np.diff(x, append=x[-1]), fitted.arrays["steps"]
    np.testing.assert_allclose(np.sinh(column(out, "vx_fine"))[seen] * scale[0], step[seen], atol=1e-4)
    np.testing.assert_allclose(np.sinh(column(out, "ay_fine"))[seen[1:]] * scale[3], np.diff(np.diff(
        y, append=y[-1]), prepend=0)[seen[1:]], atol=1e-4)
    assert scale[0] == pytest.approx(np.median(np.abs(step)), rel=0.2)
    for name in ("vx_fine", "vy_fine", "ax_fine", "ay_fine"):
        assert (column(out, name)[99:111] == 0).all()
    same(fitted_from_dict(fitted.to_dict(), fitted.arrays).apply(gaze(x, y, confidence)), out)
    still = gaze(np.full(50, 7.0), np.full(50, 8.0))
    assert (column(recipe_for("eye", fine=True).fit(still).apply(still), "ax_fine") == 0).all()
    one = gaze(np.array([7.0]), np.array([8.0]))
    assert len(fitted.apply(one).sequences[0]) == 1


def test_eye_positions_can_be_left_out_and_what_shipped_before_is_written_as_it_was():
    data = gaze(*RNG.normal(size=(2, 50)))
    plain = recipe_for("eye").fit(data)
    assert recipe_for("eye", gaze=False).fit(data).output_channels == plain.output_channels[2:]
    assert not {"gaze", "fine"} & set(plain.to_dict()["options"])


def test_lost_samples_are_held():
    x = 600 + np.arange(100.0)
    x[40:50] = -3000
    confidence = np.ones(100)
    confidence[40:50] = 0.2
    data = gaze(x, np.full(100, 300.0), confidence)
    fitted = recipe_for("eye", screen=SCREEN, margin=0.008).fit(data)          # two samples each side
    out = fitted.apply(data)
    assert column(out, "valid").tolist() == [1] * 38 + [0] * 14 + [1] * 48
    assert len(set(column(out, "x")[37:52])) == 1
    assert (column(out, "vx_slow")[37:53] == 0).all()
    assert (column(out, "vx_slow")[1:37] > 0).all()
    dropped = recipe_for("eye", screen=SCREEN, margin=0.008, lost="drop").fit(data).apply(data)
    assert dropped.lengths.tolist() == [86]
    np.testing.assert_array_equal(dropped.sequences[0], out.sequences[0][column(out, "valid") == 1])
    assert "valid" not in recipe_for("eye", validity=False).fit(data).output_channels


def test_off_screen_by_half_its_size_is_lost():
    x = np.array([-641.0, -640.0, 0.0, 1280.0, 1920.0, 1921.0])
    data = gaze(x, np.full(6, 100.0))
    out = recipe_for("eye", screen=SCREEN, margin=0).fit(data).apply(data)
    assert column(out, "valid").tolist() == [0, 1, 1, 1, 1, 0]


def test_pupil_nought_is_a_blink_of_that_eye_alone():
    data = recordings("eye", lengths=(60,))
    data.sequences[0][10:20, 2] = 0
    out = recipe_for("eye", margin=0).fit(data).apply(data)
    assert column(out, "left_valid").sum() == 50
    assert column(out, "right_valid").sum() == 60
    assert len(set(column(out, "left_pupil")[9:20])) == 1
    assert recipe_for("eye", margin=0, lost="drop").fit(data).apply(data).lengths.tolist() == [60]
    assert out.channels == tuple(f"{eye}_{part}" for eye in ("left", "right") for part in (
        "x", "y", "vx_slow", "vy_slow", "vx_fast", "vy_fast", "pupil", "valid"))


def test_lost_samples_do_not_enter_the_statistics():
    data = recordings("eye", lengths=(100,))
    clean = recipe_for("eye", margin=0).fit(data.select(index=[0]))
    spoiled = [np.vstack([data.sequences[0], [[9e3, 9e3, 0, 9e3, 9e3, 0]] * 30])]
    dirty = recipe_for("eye", margin=0).fit(Recordings(spoiled, ["a"], EYE, 30.0))
    np.testing.assert_allclose(dirty.arrays["centre"], clean.arrays["centre"])
    np.testing.assert_allclose(dirty.arrays["scale"], clean.arrays["scale"])


def test_sequences_with_nothing_left_are_counted():
    good = recordings("eye", lengths=(50, 50, 50))
    fitted = recipe_for("eye").fit(good)
    values = [x.copy() for x in good.sequences]
    values[1][:, [2, 5]] = 0
    out = fitted.apply(Recordings(values, ["a", "b", "c"], EYE, 30.0))
    assert out.subjects.tolist() == ["a", "c"]
    assert out.info["lost_sequences"] == "1"
    nothing = Recordings([values[1]], ["b"], EYE, 30.0)
    with pytest.raises(RecordingsError, match="every sample is lost"):
        fitted.apply(nothing)
    with pytest.raises(RecordingsError, match="no sample that is not lost"):
        recipe_for("eye").fit(nothing)


def test_channels_in_degrees_need_no_screen():
    x = np.arange(50.0) * 0.1
    data = Recordings([np.stack([x, -x], axis=1)], ["a"], ("x_deg", "y_deg"), 100.0)
    fitted = recipe_for("eye").fit(data)
    np.testing.assert_allclose(column(fitted.apply(data), "vx_slow"), np.tanh(10 / 50), rtol=1e-5)
    assert fitted.arrays["speed"].tolist() == [50]


def test_velocity_does_not_depend_on_the_rate():
    """The same smooth movement at 1000, 250 and 50 Hz gives the same channels at the recipe's 250 Hz."""
    def at(rate):
        t = np.arange(int(4 * rate)) / rate
        return gaze(640 + 200 * np.sin(2 * np.pi * t), 360 + 100 * np.cos(2 * np.pi * t), rate=float(rate))

    fitted = recipe_for("eye", screen=SCREEN).fit(at(250))
    middle = slice(100, 900)
    for rate in (1000, 50):
        out = fitted.apply(at(rate))
        assert out.lengths.tolist() == [1000]
        np.testing.assert_allclose(out.sequences[0][middle], fitted.apply(at(250)).sequences[0][middle], atol=0.03)


@pytest.mark.parametrize(("channels", "match"), [
    (("x", "z"), "cannot place the channel 'z'"), (("left_x", "right_y"), "needs both x and y"),
    (("x_px", "x_deg"), "cannot place the channel 'x_deg'"), (("pupil", "confidence"), "needs both")])
def test_channels_that_are_no_eye(channels, match):
    with pytest.raises(RecordingsError, match=match):
        recipe_for("eye").fit(Recordings([np.ones((5, 2))], ["a"], channels, 30.0))


@pytest.mark.parametrize("options", [{"screen": (1, 2)}, {"screen": (1, 1, 1, 1, 0)}, {"lost": "keep"}, {"margin": -1},
                                     {"saturation": 0}])
def test_bad_eye_options(options):
    with pytest.raises(ValueError, match="eye recipe"):
        recipe_for("eye", **options)


def test_bad_screen_in_info():
    with pytest.raises(RecordingsError, match=r"info\['screen'\]"):
        recipe_for("eye").fit(gaze(np.ones(5), np.ones(5), info={"screen": "wide"}))


@pytest.mark.shared
@pytest.mark.parametrize(("name", "domain", "options"), [
    ("eye-gazecom-40", "eye", {"screen": SCREEN, "rate": 125}), ("gait-ipol-140", "gait", {"seconds": 5, "keep": 3}),
    ("gait-hapt-30", "gait", {}), ("eeg-uci-16", "eeg", {}), ("speech-vowels-9", "generic", {})])
def test_on_real_recordings(shared_data, name, domain, options):
    data = load_recordings(shared_data / f"{name}.npz")
    some = np.unique(data.subjects)[:6]
    train, test = data.select(subjects=some[:3]), data.select(subjects=some[3:])
    out = recipe_for(domain, **options).fit(train).apply(test)
    values = np.concatenate(out.sequences)
    assert np.isfinite(values).all()
    assert np.abs(values).max() < 60
    assert 0.05 < values.std() < 5
    assert set(out.subjects) == set(some[3:])
    if name.startswith("gait-ipol"):
        assert set(out.lengths) == {500}
