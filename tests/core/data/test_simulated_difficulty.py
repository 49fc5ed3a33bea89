"""Simulated people are as hard to tell apart as real ones, by the plain features anyone would try first."""


import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from qpwl_core.data.loading import load_recordings
from qpwl_core.data.simulate import SIMULATORS, eeg
from tests.support.places import ROOT

SAMPLES = ROOT / "sample_data"
BANDS = ((1, 4), (4, 8), (8, 10), (10, 13), (13, 20), (20, 30), (30, 50))


@pytest.fixture(scope="module")
def shipped():
    return {domain: load_recordings(SAMPLES / f"{domain}-simulated.npz") for domain in SIMULATORS}


def gaze_features(gaze, seen):
    """Speeds, spread and losses of one eye at about 30 Hz, from (T, 2) px and (T,) bool."""
    steps = np.diff(gaze, axis=0)[seen[1:] & seen[:-1]]
    speed = np.hypot(*steps.T)
    levels = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
    return np.concatenate([
        np.log(0.1 + np.quantile(speed, levels)),
        np.log(0.1 + np.quantile(np.abs(steps), levels[1:-1], axis=0)).ravel(),
        gaze[seen].std(axis=0), gaze[seen].mean(axis=0),
        [np.mean(speed > 6 * np.median(speed)), np.mean(speed > 40), 1 - seen.mean()]])


def pair_features(values):
    """What two eyes and their pupils add: vergence, its change, pupil sizes."""
    left, right = np.split(values[values[:, 2] > 0].astype(float), 2, axis=1)
    pupil, apart = np.log(left[:, 2]), left[:, :2] - right[:, :2]
    return np.r_[apart.mean(axis=0), apart.std(axis=0), pupil.mean(), pupil.std(), np.log(right[:, 2]).mean()]


def band_powers(values):
    """Logarithm of the power in seven bands at each electrode, from (256, D) µV."""
    window = np.hanning(len(values))[:, None]
    power = np.abs(np.fft.rfft((values - values.mean(axis=0)) * window, axis=0)) ** 2
    return np.log([power[a:b].mean(axis=0) + 1e-3 for a, b in BANDS]).ravel()


def personal(features, subjects):
    """Share of each feature's variance that lies between people, averaged over features."""
    within = sum(features[subjects == s].var(axis=0) * np.mean(subjects == s) for s in np.unique(subjects))
    return float(np.mean(1 - within / features.var(axis=0)))


def verification(features, subjects, stimuli=None):
    """AUC of the distance to a claimed person's nearest other sequence (of another stimulus)."""
    features = StandardScaler().fit_transform(features)
    distance = cdist(features, features, "cityblock")
    np.fill_diagonal(distance, np.inf)
    if stimuli is not None:
        distance[stimuli[:, None] == stimuli] = np.inf
    people = np.unique(subjects)
    nearest = np.stack([distance[:, subjects == s].min(axis=1) for s in people], axis=1)
    kept = np.isfinite(nearest)
    return roc_auc_score((subjects[:, None] == people)[kept], -nearest[kept])


def eye_result(recordings):
    features = np.array([gaze_features(x[:, :2], x[:, 2] > 0) for x in recordings.sequences])
    return verification(features, recordings.subjects, recordings.stimuli), personal(features, recordings.subjects)


def eeg_result(recordings, of_each=8):
    first = np.concatenate([np.flatnonzero(recordings.subjects == s)[:of_each] for s in np.unique(recordings.subjects)])
    features = np.array([band_powers(recordings.sequences[i]) for i in first])
    return verification(features, recordings.subjects[first]), personal(features, recordings.subjects[first])


def test_simulated_eyes_are_neither_trivial_nor_hopeless(shipped):
    recordings = shipped["eye"]
    features = np.array([np.r_[gaze_features(x[:, :2], x[:, 2] > 0), gaze_features(x[:, 3:5], x[:, 2] > 0),
                               pair_features(x)] for x in recordings.sequences])
    assert 0.80 < verification(features, recordings.subjects, recordings.stimuli) < 0.95
    assert 0.72 < eye_result(recordings)[0] < 0.85               # gaze of one eye alone


def test_simulated_eeg_is_neither_trivial_nor_hopeless(shipped):
    assert 0.86 < eeg_result(shipped["eeg"])[0] < 0.97


@pytest.mark.shared
def test_simulated_eyes_vary_as_real_ones(shipped, shared_data):
    real = load_recordings(shared_data / "eye-gazecom-40.npz")
    features, kept = [], []
    for i, x in enumerate(real.sequences):
        frames = x[:len(x) // 8 * 8].reshape(-1, 8, 3)           # 250 Hz to 31 Hz
        seen = (frames[:, :, 2] >= 0.5).all(axis=1)
        if seen.mean() > 0.5:
            features.append(gaze_features(frames[:, :, :2].mean(axis=1), seen))
            kept.append(i)
    auc, share = eye_result(shipped["eye"])
    assert abs(auc - verification(np.array(features), real.subjects[kept], real.stimuli[kept])) < 0.08
    assert abs(share - personal(np.array(features), real.subjects[kept])) < 0.15


@pytest.mark.shared
@pytest.mark.parametrize("file", ["eeg-uci-16.npz", "eeg-uci-28.npz"])
def test_simulated_eeg_varies_as_real(shipped, shared_data, file):
    real = load_recordings(shared_data / file)
    columns = [eeg.CHANNELS.index(name) for name in real.channels]
    simulated = shipped["eeg"]
    ours = type(simulated)([x[:, columns] for x in simulated.sequences], simulated.subjects, real.channels, 256.0)
    (auc, share), (real_auc, real_share) = eeg_result(ours), eeg_result(real)
    assert abs(auc - real_auc) < 0.08
    assert abs(share - real_share) < 0.2
