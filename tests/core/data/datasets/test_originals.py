"""The readers on samples of the official files, against the raw text and against the project's own .npz of the same."""

import gzip

import numpy as np
import pytest

from qpwl_core.data.datasets import get_dataset
from qpwl_core.data.loading import load_recordings

pytestmark = pytest.mark.shared


def one(recordings, subject, stimulus, nth=0):
    """The nth sequence of a subject and stimulus."""
    match = np.flatnonzero((recordings.subjects == subject) & (recordings.stimuli == stimulus))
    return recordings.sequences[match[nth]]


def test_diem(shared_data):
    recordings = get_dataset("diem").read(shared_data / "original" / "diem")
    assert recordings.rate == 30
    assert recordings.subjects.tolist() == [f"diem{a}s0{b}" for a in (1, 5) for b in (1, 2, 3, 4)]
    assert set(recordings.stimuli) == {"documentary_dolphins_1280x720", "arctic_bears_1066x710"}
    path = next((shared_data / "original" / "diem").rglob("diem5s01.asc_15_*"))
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    values = one(recordings, "diem5s01", "arctic_bears_1066x710")
    assert values.shape == (len(lines), 6)
    lost = 0
    for line, row in zip(lines, values, strict=True):
        for eye, start in ((line[1:4], 0), (line[5:8], 3)):
            event = int(line[4 if start == 0 else 8])
            wanted = np.array(eye, dtype=np.float32)
            wanted[2] *= event > 0
            lost += event <= 0
            np.testing.assert_array_equal(row[start:start + 3], wanted)
    assert lost > 0


@pytest.mark.parametrize(("subject", "movie"), [("AAF", "beach"), ("AAF", "bridge_1"), ("AAW", "beach")])
def test_gazecom_equals_text_and_npz(shared_data, subject, movie):
    recordings = get_dataset("gazecom").read(shared_data / "original" / "gazecom")
    assert recordings.rate == 250
    assert len(recordings) == 3
    values = one(recordings, subject, movie)
    lines = (shared_data / "original" / "gazecom" / f"{subject}_{movie}.coord").read_text().splitlines()[2:]
    np.testing.assert_array_equal(values, np.array([line.split()[1:] for line in lines], dtype=np.float32))
    kept = load_recordings(shared_data / "eye-gazecom-40.npz")
    assert recordings.channels == kept.channels
    np.testing.assert_array_equal(values, one(kept, subject, movie))       # samples kept one by one, not resampled


@pytest.mark.parametrize("trial", ["4-1", "4-2", "152-1", "152-2"])
def test_ipol_equals_text_and_npz(shared_data, trial):
    recordings = get_dataset("ipol-gait").read(shared_data / "original" / "ipol-gait")
    subject = f"{int(trial.split('-')[0]):03d}"
    values = one(recordings, subject, trial)
    header, *lines = (shared_data / "original" / "ipol-gait" / f"{trial}.csv").read_text().splitlines()
    columns = [header.split(",").index(name) for name in recordings.channels]
    raw = np.array([line.split(",") for line in lines], dtype=np.float64)[:, columns]
    np.testing.assert_array_equal(values, raw.astype(np.float32))
    kept = load_recordings(shared_data / "gait-ipol-140.npz")
    assert recordings.channels == kept.channels
    assert recordings.rate == kept.rate == 100
    # the .npz was rounded to four decimals before it was stored, the official file has seven digits
    np.testing.assert_allclose(values, one(kept, subject, trial), rtol=0, atol=5.1e-5)
    np.testing.assert_allclose(raw.round(4), one(kept, subject, trial), rtol=1e-6, atol=1e-4)


def test_uci_equals_text_and_npz(shared_data):
    recordings = get_dataset("uci-eeg-small").read(shared_data / "original" / "uci-eeg")
    kept = load_recordings(shared_data / "eeg-uci-16.npz")
    assert recordings.channels == kept.channels
    assert recordings.rate == kept.rate == 256
    assert recordings.subjects.tolist() == ["co2a0000364"] * 6 + ["co2c0000337"] * 6
    assert recordings.info["empty_files"] == "0"
    paths = sorted((shared_data / "original" / "uci-eeg").rglob("*.gz"))
    for path, values, subject, stimulus in zip(paths, recordings.sequences, recordings.subjects, recordings.stimuli,
                                               strict=True):
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        assert lines[3].startswith(f"# {stimulus}")
        raw = np.zeros((256, 64), dtype=np.float32)
        for line in lines:
            if not line.startswith("#"):
                _, channel, sample, value = line.split()
                raw[int(sample), recordings.channels.index(channel)] = value
        np.testing.assert_array_equal(values, raw)
        same = kept.select(subjects=[subject], stimuli=[stimulus]).sequences
        assert any(np.array_equal(values, other) for other in same)


@pytest.mark.parametrize("name", ["uci-eeg-small", "uci-eeg-full"])
def test_group_is_the_fourth_letter(shared_data, name):
    recordings = get_dataset(name).read(shared_data / "original" / "uci-eeg")
    assert {subject[3] for subject in recordings.subjects} == {"a", "c"}
    assert "alcoholic" in recordings.info["group"]


@pytest.mark.parametrize(("part", "files", "y"), [("visual", 12, "down"), ("blind", 2, "up")])
def test_susig_equals_the_npz(shared_data, part, files, y):
    recordings = get_dataset(f"susig-{part}").read(shared_data / "original" / "susig")
    kept = load_recordings(shared_data / f"sign-susig-{part}-{74 if part == 'visual' else 90}.npz")
    assert len(recordings) == files
    assert recordings.info["y"] == y
    assert recordings.channels == kept.channels
    assert recordings.rate == kept.rate == 100
    assert set(recordings.stimuli) <= set(kept.stimuli)
    for i, values in enumerate(recordings.sequences):
        alike = kept.select(subjects=recordings.subjects[i], stimuli=recordings.stimuli[i])
        assert set(alike.claims.tolist()) == {recordings.claims[i]}
        same = [x for x in alike.sequences if len(x) == len(values) and np.allclose(x[0], values[0])]
        assert any(np.abs(x - values).max() <= 0.06 for x in same)        # the .npz was rounded to one decimal


def test_svc2004_equals_the_npz_but_for_the_pen_in_the_air(shared_data):
    recordings = get_dataset("svc2004").read(shared_data / "original" / "svc2004")
    kept = load_recordings(shared_data / "sign-svc2004-28.npz")
    assert recordings.subjects.tolist() == ["01", "01", "02", "02", "forger-of-01", "forger-of-02"]
    assert recordings.stimuli.tolist() == ["session1", "session2"] * 2 + ["forgery"] * 2
    for i, values in enumerate(recordings.sequences):
        alike = kept.select(subjects=recordings.subjects[i], stimuli=recordings.stimuli[i])
        same = [x for x in alike.sequences
                if len(x) == len(values) and np.abs(x[:, :3] - values[:, :3]).max() <= 0.06]
        assert len(same) == 1
        assert (values[:, 3] <= same[0][:, 3]).all()     # up at the first point of a stroke alone
        assert (values[:, 3] < same[0][:, 3]).any()
    text = (shared_data / "original" / "svc2004" / "Task2" / "U1S1.TXT").read_text().splitlines()
    points = np.array([line.split() for line in text[1:]], dtype=float)
    np.testing.assert_array_equal(recordings.sequences[0][:18, :2], points[:18, :2])
    assert recordings.sequences[0][1:17, 3].all()
    assert not recordings.sequences[0][17:28, 3].any()       # 100 ms in the air, and the first point after it
