"""The simulators: the same bytes each time, labelled, and with the physics they claim."""

import hashlib
import zipfile
import zlib
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from qpwl_core.data.datasets import DATASETS
from qpwl_core.data.loading import load_recordings
from qpwl_core.data.simulate import SIMULATORS, eeg, eye, simulate_eeg, simulate_eye
from qpwl_core.data.simulate.electrodes import electrode_positions
from qpwl_core.data.simulate.seeds import stream
from qpwl_core.data.splits import split_dataset
from tests.support.places import ROOT

SAMPLES = ROOT / "sample_data"


@pytest.fixture(scope="module")
def shipped():
    return {domain: load_recordings(SAMPLES / f"{domain}-simulated.npz") for domain in SIMULATORS}


# --- the same again ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("domain", SIMULATORS)
def test_the_shipped_file_is_made_again_byte_for_byte(domain, tmp_path):
    old, new = SAMPLES / f"{domain}-simulated.npz", tmp_path / "again.npz"
    SIMULATORS[domain]().save(new)
    with zipfile.ZipFile(old) as a, zipfile.ZipFile(new) as b:
        assert {m.filename: m.CRC for m in a.infolist()} == {m.filename: m.CRC for m in b.infolist()}
    if "ng" not in zlib.ZLIB_RUNTIME_VERSION:     # zlib-ng packs the same contents into other bytes
        assert hashlib.sha256(old.read_bytes()).hexdigest() == hashlib.sha256(new.read_bytes()).hexdigest()
    assert old.stat().st_size < 6e6


@pytest.mark.parametrize("simulate", SIMULATORS.values())
def test_a_person_does_not_depend_on_how_many_others_there_are(simulate):
    few, more = simulate(subjects=1, sequences=2, seed=3), simulate(subjects=2, sequences=3, seed=3)
    same = more.select(index=[0, 1])
    assert same.subjects.tolist() == few.subjects.tolist()
    assert same.stimuli.tolist() == few.stimuli.tolist()
    for a, b in zip(few.sequences, same.sequences, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(more.sequences[0], more.sequences[3])
    other = simulate(subjects=1, sequences=1, seed=4).sequences[0]
    assert other.shape != few.sequences[0].shape or not np.array_equal(other, few.sequences[0])


@pytest.mark.parametrize("simulate", SIMULATORS.values())
@pytest.mark.parametrize("bad", [{"subjects": 0}, {"subjects": 1000}, {"subjects": 2.5}, {"subjects": True},
                                 {"sequences": 0}, {"sequences": "3"}, {"seed": -1}, {"seed": 0.5}, {"seed": None}])
def test_bad_arguments_are_named(simulate, bad):
    with pytest.raises(ValueError, match=f"^{next(iter(bad))} must be a whole number .*, not "):
        simulate(**bad)


@pytest.mark.parametrize("domain", SIMULATORS)
def test_labelled_and_as_declared(shipped, domain):
    recordings, dataset = shipped[domain], DATASETS[f"{domain}-simulated"]
    assert recordings.simulated
    assert recordings.info["name"] == dataset.name
    assert recordings.info["licence"] == dataset.licence == "CC0 1.0"
    assert "no person was recorded" in recordings.info["what"]
    assert recordings.info["source"].startswith(f"python -m qpwl_core simulate {domain} ")
    assert (recordings.channels, recordings.rate) == (dataset.channels, dataset.rate)


@pytest.mark.parametrize("domain", SIMULATORS)
def test_enough_for_the_protocol(shipped, domain):
    test = split_dataset(DATASETS[f"{domain}-simulated"], shipped[domain]).test
    assert test.require(subjects=20, sequences=6) is test


def test_defaults_are_what_ships(shipped):
    assert simulate_eye.__defaults__ == (40, 16, 0)
    assert simulate_eeg.__defaults__ == (40, 8, 0)
    assert (len(shipped["eye"]), len(shipped["eeg"])) == (640, 320)


# --- eye --------------------------------------------------------------------------------------------------------------

def test_eye_values_look_like_diem(shipped):
    values = np.concatenate(shipped["eye"].sequences)
    lost = values[:, 2] == 0
    assert (values[lost] == 0).all()
    assert (values[~lost][:, [2, 5]] > 0).all()
    assert 0.01 < lost.mean() < 0.12
    np.testing.assert_array_equal(values % eye.STEP, 0)
    np.testing.assert_array_equal(values[:, [2, 5]] % 1, 0)
    seen = values[~lost]
    assert np.abs(seen[:, :2].mean(axis=0) - (640, 480)).max() < 60
    inside = (seen[:, [0, 1]] > 0) & (seen[:, [0, 1]] < (1280, 960))
    assert inside.mean() > 0.99
    step = np.abs(np.diff(values, axis=0))[~lost[1:] & ~lost[:-1]]
    fixation = step[np.hypot(step[:, 0], step[:, 1]) < 25]
    assert (np.median(fixation[:, :2], axis=0) > 1.5).all()      # eight recordings of DIEM: 1.9 to 4.0 px
    assert (np.median(fixation[:, :2], axis=0) < 5).all()


def test_saccades_follow_the_main_sequence():
    person = eye.eye_person(0)
    amplitudes = np.array([0.5, 1, 2, 5, 10, 20])
    shares = [eye.saccade(person, a) for a in amplitudes]
    assert all(share[-1] == 1 and (np.diff(share) >= 0).all() for share in shares)
    durations = np.array([len(share) for share in shares]) / eye.RATE
    assert (np.diff(durations) >= 0).all()
    np.testing.assert_allclose(durations, 0.021 + 0.0022 * amplitudes, atol=0.015)    # people: 21 ms + 2.2 ms a degree
    fine = [np.diff(share, prepend=0).max() * a * eye.RATE for share, a in zip(shares, amplitudes, strict=True)]
    wanted = person.peak_velocity * (1 - np.exp(-amplitudes / person.velocity_scale))
    np.testing.assert_allclose(fine[2:], wanted[2:], rtol=0.15)   # whole steps of 1/300 s
    assert len(eye.saccade(person, 10, vigour=1.3)) < len(eye.saccade(person, 10))


def test_main_sequence_shows_at_30_hz(shipped):
    """Larger saccades are faster, less than in proportion: the slope in log-log is between 0 and 1."""
    gaze = np.concatenate([x[(x[:, 2] > 0)][:, :2] for x in shipped["eye"].sequences[:64]])
    speed = np.hypot(*np.diff(gaze, axis=0).T)
    fast = speed > 40
    edges = np.diff(fast.astype(int))
    starts, ends = np.flatnonzero(edges == 1) + 1, np.flatnonzero(edges == -1) + 1
    ends = ends[ends > starts[0]][:len(starts)]
    starts = starts[:len(ends)]
    short = ends - starts <= 4
    amplitude = np.hypot(*(gaze[ends[short]] - gaze[starts[short]]).T)
    peak = np.array([speed[a:b].max() for a, b in zip(starts[short], ends[short], strict=True)])
    slope = np.polyfit(np.log(amplitude), np.log(peak), 1)[0]
    assert 0.5 < slope < 1.0
    assert len(amplitude) > 1000


def test_what_is_personal_shows(shipped):
    """Blinks, pupils and vergence of a person's recordings follow the person's own figures."""
    recordings = shipped["eye"]
    rows = []
    for i, name in enumerate(np.unique(recordings.subjects)):
        person, own = eye.eye_person(i), recordings.select(subjects=name).sequences
        lost = [x[:, 2] == 0 for x in own]
        runs = [np.diff(np.flatnonzero(np.diff(np.r_[0, x, 0]))).tolist()[::2] for x in lost]
        blinks = sum(length >= 4 for run in runs for length in run) / (sum(map(len, own)) / 30 / 60)
        seen = np.concatenate([x[~y] for x, y in zip(own, lost, strict=True)]).astype(float)
        rows.append((person.blinks, blinks, person.pupil, np.median(seen[:, 2]),
                     person.vergence[0], (seen[:, 0] - seen[:, 3]).mean() / eye.PX))
    rows = np.array(rows)
    assert np.corrcoef(rows[:, 0], rows[:, 1])[0, 1] > 0.8
    assert 0.7 < rows[:, 1].mean() / rows[:, 0].mean() < 1.3
    assert np.corrcoef(rows[:, 2], rows[:, 3])[0, 1] > 0.8
    assert np.corrcoef(rows[:, 4], rows[:, 5])[0, 1] > 0.8


def test_viewers_share_the_stimulus(shipped):
    """Two who watch the same video look at the same place more often than two who watch different ones."""
    gaze = {(s, v): np.where(x[:, :1] > 0, x[:, :2], np.nan)[:450] for s, v, x in zip(
        shipped["eye"].subjects, shipped["eye"].stimuli, shipped["eye"].sequences, strict=True)}
    people, videos = sorted({s for s, _ in gaze})[:10], sorted({v for _, v in gaze})
    apart = lambda a, b: np.nanmedian(np.hypot(*(gaze[a] - gaze[b]).T))
    same = np.mean([apart((a, v), (b, v)) for v in videos for a, b in pairwise(people)])
    other = np.mean([apart((a, v), (b, w)) for v, w in pairwise(videos) for a, b in pairwise(people)])
    assert same < 0.9 * other


def test_pursuit_follows_a_moving_target():
    steps = 600
    ramp = np.stack([np.linspace(-6, 6, steps), np.zeros(steps)], axis=1)
    seen = eye.Video(np.tile(ramp, (eye.TARGETS, 1, 1)), np.zeros((eye.TARGETS, steps)), np.zeros(steps), np.array([0]))
    path = eye._path(eye.eye_person(0), seen, dict.fromkeys(("explore", "vigour", "fixation"), 1.0) | {"explore": 0.0},
                     stream(eye.DOMAIN, "recording", 0, 0))
    velocity = np.diff(path[:, 0]) * eye.RATE
    slow = velocity[np.abs(velocity) < 12]
    speed = 12 / (steps / eye.RATE)
    assert 0.4 * speed < np.median(slow) <= speed
    assert np.abs(path[300:] - ramp[300:]).mean() < 1.5


# --- EEG --------------------------------------------------------------------------------------------------------------

def trials(number, count, condition="S1 obj"):
    """Many trials of one person, (count, 256, 64)."""
    person = eeg.eeg_person(number)
    random = stream(eeg.DOMAIN, "recording", 99, number)
    return person, np.stack([eeg.record(person, condition, random) for _ in range(count)])


def spectrum(values):
    """Mean power at 0, 1, … 128 Hz, (129, 64)."""
    window = np.hanning(eeg.SAMPLES)[:, None]
    return (np.abs(np.fft.rfft((values - values.mean(axis=1, keepdims=True)) * window, axis=1)) ** 2).mean(axis=0)


def column(name):
    return eeg.CHANNELS.index(name)


@pytest.mark.parametrize("number", range(4))
def test_alpha_peaks_at_the_persons_frequency(number):
    person, values = trials(number, 80)
    back = spectrum(values)[:, [column(name) for name in ("PO7", "PO8", "O1", "O2")]].mean(axis=1)
    band = np.arange(6, 15)
    excess = back[band] - np.interp(band, [5, 15], back[[5, 15]])
    excess = np.maximum(excess, 0) ** 2
    assert abs((band * excess).sum() / excess.sum() - person.alpha_hz) < 0.8


def test_shaped_noise_has_the_power_asked_for():
    random = np.random.default_rng(0)
    noise = eeg._shaped(random, lambda f: f**-1.5, 4000)
    assert noise.std() == pytest.approx(1, abs=0.02)
    power = (np.abs(np.fft.rfft(noise * np.hanning(eeg.SAMPLES)[:, None], axis=0)) ** 2).mean(axis=1)
    band = np.r_[4:36]
    assert -np.polyfit(np.log(band), np.log(power[band]), 1)[0] == pytest.approx(1.5, abs=0.1)
    assert power[60:].max() < 0.02 * power[30]


def test_background_is_coloured_and_low_passed(shipped):
    """Power of the middle trial falls with frequency as in UCI, where it falls as f to the -1.1 to -1.8 up to 6 Hz."""
    values = np.stack(shipped["eeg"].sequences)
    power = np.median([spectrum(x[None]) for x in values], axis=0)[:, [column(x) for x in ("FP1", "CZ", "OZ")]]
    slopes = -np.polyfit(np.log([2, 3, 4, 6]), np.log(power[[2, 3, 4, 6]]), 1)[0]
    assert (slopes > 0.9).all()
    assert (slopes < 2.0).all()
    assert (power[60:].mean(axis=0) < 0.05 * power[20:30].mean(axis=0)).all()


def test_neighbours_see_alike():
    values = trials(2, 20)[1]
    alike = np.mean([np.corrcoef(x.T) for x in values], axis=0)
    assert alike[column("FZ"), column("F1")] > 0.75 > alike[column("FZ"), column("OZ")] + 0.2
    assert alike[column("O1"), column("O2")] > alike[column("O1"), column("FP2")]


def test_evoked_waves_come_at_the_persons_latency_and_tell_conditions_apart():
    person, shown = trials(3, 200)
    evoked = shown.mean(axis=0) - shown[:, :10].mean(axis=(0, 1))
    side = evoked[:, [column("PO7"), column("PO8")]].mean(axis=1)
    window = slice(int(0.13 * eeg.RATE), int(0.21 * eeg.RATE))
    assert abs((window.start + np.argmin(side[window])) / eeg.RATE - person.latencies[1]) < 0.02
    match = trials(3, 200, "S2 match")[1].mean(axis=0)
    late = slice(int(0.22 * eeg.RATE), int(0.45 * eeg.RATE))
    assert shown.mean(axis=0)[late, column("PZ")].mean() > match[late, column("PZ")].mean() + 1


def test_blinks_are_frontal_and_as_frequent_as_the_person_blinks():
    person, values = trials(5, 200)
    reach = np.ptp(values, axis=1)
    blinked = reach[:, column("FP1")] > 60
    assert abs(blinked.mean() - person.blink_rate) < 0.08
    big = np.median(reach[blinked], axis=0)
    assert big[column("FP1")] > 2 * big[column("FZ")]
    assert big[column("FP1")] > 3 * big[column("OZ")]


def test_eeg_amplitudes_and_steps(shipped):
    values = np.stack(shipped["eeg"].sequences)
    np.testing.assert_array_equal(values % eeg.STEP, 0)
    assert 3 < np.median(values.std(axis=1)) < 10                # UCI: 4 to 11 µV
    assert sorted(set(shipped["eeg"].stimuli.tolist())) == sorted(eeg.CONDITIONS)


def test_electrodes_sit_where_their_names_say():
    at = dict(zip(eeg.CHANNELS, electrode_positions(eeg.CHANNELS), strict=True))
    points = np.array(list(at.values()))
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1)
    assert cdist(points, points)[np.triu_indices(64, 1)].min() > 0.1
    for left, right in (("FP1", "FP2"), ("AF1", "AF2"), ("T7", "T8"), ("FC5", "FC6"), ("PO7", "PO8"), ("O1", "O2")):
        np.testing.assert_allclose(at[left] * (-1, 1, 1), at[right], atol=1e-12)
        assert at[right][0] > 0
    front_to_back = [at[name][1] for name in ("FPZ", "AFZ", "FZ", "FCZ", "CZ", "CPZ", "PZ", "POZ", "OZ")]
    assert (np.diff(front_to_back) < 0).all()
    assert at["C6"][0] > at["C4"][0] > at["C2"][0] > 0
