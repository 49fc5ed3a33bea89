"""LTMM: the most active minutes of long WFDB records that the tests write themselves."""

import numpy as np
import pytest

from qpwl_core.data.datasets import get_dataset
from qpwl_core.data.datasets.ltmm import CHANNELS, active_windows, quiet_wfdb
from qpwl_core.data.errors import RecordingsError
from tests.support.official_files import numbers

GAIN = 100.0


def write(folder, values, name="CO001", channels=CHANNELS, rate=100):
    """A record of format 16; returns the values as they can be read back, NaN where missing."""
    digital = np.where(np.isnan(values), -32768, np.round(np.nan_to_num(values) * GAIN)).astype(int)
    with quiet_wfdb() as wfdb:
        wfdb.wrsamp(name, fs=rate, units=["g"] * len(channels), sig_name=list(channels), d_signal=digital,
                    fmt=["16"] * len(channels), adc_gain=[GAIN] * len(channels), baseline=[0] * len(channels),
                    write_dir=str(folder))
    return np.where(digital == -32768, np.nan, digital / GAIN)


def naive(values, window, keep):
    """Standardise the whole record, then take the windows of largest standard deviation."""
    count = len(values) // window
    used = values[:count * window]
    standard = (used - used.mean(axis=0)) / used.std(axis=0)
    scores = [standard[i * window:(i + 1) * window].std(axis=0).mean() for i in range(count)]
    return sorted(np.argsort(scores)[::-1][:keep] * window)


def test_windows_are_those_of_the_standardised_record(tmp_path):
    rng = np.random.default_rng(0)
    loud = rng.uniform(0.1, 3, size=(57, 6)).repeat(200, axis=0)
    values = rng.normal(size=(57 * 200, 6)) * loud * [1, 1, 1, 10, 15, 20] + [1, 0, 0, 0, 0, 0]
    values = write(tmp_path, np.vstack([values, values[:130]]))           # the last window is not whole
    found = active_windows(tmp_path / "CO001", seconds=2, keep=9)
    assert [start for start, _ in found] == naive(values, 200, 9)
    for start, window in found:
        assert window.dtype == np.float32
        np.testing.assert_allclose(window, values[start:start + 200], rtol=1e-6)


def test_large_offset_does_not_cancel(tmp_path):
    """A mean a thousand times the deviation, as a badly set sensor gives."""
    rng = np.random.default_rng(1)
    values = 300 + rng.normal(size=(4000, 6)) * np.linspace(0.1, 0.4, 40).repeat(100)[:, None]
    values = write(tmp_path, values)
    assert [start for start, _ in active_windows(tmp_path / "CO001", seconds=1, keep=5)] == naive(values, 100, 5)


def test_windows_with_missing_samples_are_passed_over(tmp_path):
    values = numbers(0, 1000, 6)
    values[300:400] *= 10
    values[350, 2] = np.nan
    write(tmp_path, values)
    starts = [start for start, _ in active_windows(tmp_path / "CO001", seconds=1, keep=30)]
    assert starts == [0, 100, 200, 400, 500, 600, 700, 800, 900]


def test_constant_channel(tmp_path):
    values = numbers(0, 1000, 6)
    values[:, 3] = 0
    write(tmp_path, values)
    assert len(active_windows(tmp_path / "CO001", seconds=1, keep=4)) == 4


def test_thirty_minutes_a_person_and_the_day(tmp_path):
    """Thirty-two minutes, of which thirty are kept; all of the first day."""
    dataset = get_dataset("ltmm")
    values = numbers(0, 100 * 60 * 32, 6)
    write(tmp_path, values, "FL007")
    recordings = dataset.read(tmp_path)
    assert len(recordings) == 30
    assert set(recordings.lengths) == {6000}
    assert set(recordings.subjects) == {"FL007"}
    assert set(recordings.stimuli) == {"day-1"}
    assert recordings.rate == 100


@pytest.mark.parametrize(("damage", "match"), [
    ("cut", r"CO001\.dat.* is cut off: 6000 bytes, and its header promises 12000"), ("missing", "missing samples"),
    ("no dat", r"no 'CO001\.dat' beside"), ("no length", "header that WFDB can read"), ("garbage", "WFDB can read"),
    ("channels", "must have the channels"), ("short", "is 10 s long, and a window 60 s")])
def test_damaged_records(tmp_path, damage, match):
    values = np.full((1000, 6), np.nan) if damage == "missing" else numbers(0, 1000, 6)
    write(tmp_path, values, channels=("a", *CHANNELS[1:]) if damage == "channels" else CHANNELS)
    head, data = tmp_path / "CO001.hea", tmp_path / "CO001.dat"
    if damage == "cut":
        data.write_bytes(data.read_bytes()[:6000])
    elif damage == "no dat":
        data.unlink()
    elif damage == "no length":
        head.write_text(head.read_text().replace("CO001 6 100 1000", "CO001 6 100 x"))
    elif damage == "garbage":
        head.write_bytes(b"\xff\xfe\x00 nothing\n")
    with pytest.raises(RecordingsError, match=match) as error:
        active_windows(tmp_path / "CO001", seconds=60 if damage == "short" else 1)
    assert "\n" not in str(error.value)
    assert "CO001" in str(error.value)


def test_record_without_a_header(tmp_path):
    write(tmp_path, numbers(0, 1000, 6))
    (tmp_path / "CO001.hea").unlink()
    with pytest.raises(RecordingsError, match="no header"):
        active_windows(tmp_path / "CO001")
    with pytest.raises(RecordingsError, match="holds no file of ltmm"):
        get_dataset("ltmm").read(tmp_path)
