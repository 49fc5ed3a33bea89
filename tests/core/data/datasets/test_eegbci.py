"""EEGBCI: EDF files that the tests write with mne, people at another rate, channels that are not there."""

import numpy as np
import pytest

from qpwl_core.data.datasets import get_dataset
from qpwl_core.data.errors import RecordingsError
from tests.support.official_files import eegbci, numbers, write_edf

DATASET = get_dataset("eegbci")


def test_people_at_another_rate_are_left_out_and_named(tmp_path):
    eegbci(tmp_path)
    recordings = DATASET.read(tmp_path)
    assert set(recordings.subjects) == {"001", "002"}
    assert recordings.info["left_out"] == "088 (128 Hz)"
    assert recordings.info["units"] == "µV"
    assert set(recordings.stimuli) == {"R01", "R02"}
    assert set(recordings.lengths) == {1600}


def test_motor_runs_are_not_read(tmp_path):
    eegbci(tmp_path)
    (tmp_path / "S001" / "S001R03.edf").write_text("not even looked at")
    assert len(DATASET.read(tmp_path)) == 8


def test_missing_channel_and_short_run(tmp_path):
    write_edf(tmp_path / "S001R01.edf", numbers(0, 3200, 63), 160, DATASET.channels[:63])
    with pytest.raises(RecordingsError, match=r"S001R01\.edf' lacks the channel Iz"):
        DATASET.read(tmp_path)
    write_edf(tmp_path / "S001R01.edf", numbers(0, 800, 64), 160, DATASET.channels)
    with pytest.raises(RecordingsError, match="no run of 10 s or more at 160 Hz"):
        DATASET.read(tmp_path)


def test_values_are_microvolts(tmp_path):
    values = np.tile(np.sin(np.arange(1600) / 10)[:, None] * 75, (1, 64))
    write_edf(tmp_path / "S001R02.edf", values, 160, DATASET.channels)
    np.testing.assert_allclose(DATASET.read(tmp_path).sequences[0], values, atol=0.01)
