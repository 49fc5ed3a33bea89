"""Recordings into mne and back, and files that mne and edfio write."""

import io

import edfio
import mne
import numpy as np
import pytest

from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.loading import load_recordings
from qpwl_core.data.mne_bridge import from_epochs, from_raw, to_epochs, to_raw
from qpwl_core.data.recordings import Recordings


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("QPWL_CACHE", str(tmp_path / "cache"))


def eeg(stimuli=("face", "house", "face"), **info):
    rng = np.random.default_rng(0)
    return Recordings([rng.normal(scale=40, size=(500, 2)) for _ in range(3)], ["ann", "ann", "bob"], ("Fz", "Cz"), 250,
                      stimuli, {"units": "µV", **info})


def assert_same(a, b):
    for x, y in zip(a.sequences, b.sequences, strict=True):
        np.testing.assert_array_equal(x, y)
    assert (a.subjects.tolist(), a.channels, a.rate) == (b.subjects.tolist(), b.channels, b.rate)
    assert (None if a.stimuli is None else a.stimuli.tolist()) == (None if b.stimuli is None else b.stimuli.tolist())
    assert a.info.get("units") == b.info.get("units")


@pytest.mark.parametrize("stimuli", [None, ("face", "house", "face"), ("face",) * 3])
@pytest.mark.parametrize("lazy", [None, True])
def test_round_trips_are_exact(stimuli, lazy):
    recordings = eeg(stimuli)
    assert_same(from_epochs(to_epochs(recordings), lazy=lazy), recordings)
    for i in range(3):
        assert_same(from_raw(to_raw(recordings, i), lazy=lazy), recordings.select(index=[i]))


def test_mne_gets_volts():
    recordings = Recordings([np.full((10, 1), 50.0)], ["ann"], ("Fz",), 100, info={"units": "µV"})
    assert to_raw(recordings, 0).get_data().tolist() == [[50e-6] * 10]
    assert to_raw(recordings, 0).get_channel_types() == ["eeg"]
    assert to_epochs(recordings).get_data().max() == 50e-6


@pytest.mark.parametrize(("info", "kind"), [({}, "misc"), ({"units": "g"}, "misc"), ({"units": "uV"}, "eeg"),
                                            ({"domain": "eeg"}, "eeg"), ({"domain": "gait"}, "misc")])
def test_what_is_not_electrical_passes_as_it_is(info, kind):
    recordings = Recordings([np.full((10, 1), 50.0)], ["ann"], ("x",), 100, info=info)
    assert to_raw(recordings, 0).get_channel_types() == [kind]
    assert_same(Recordings(from_raw(to_raw(recordings, 0)).sequences, ["ann"], ("x",), 100), Recordings(
        recordings.sequences, ["ann"], ("x",), 100))
    assert to_raw(recordings, 0, electrical=False).get_data().max() == 50
    assert to_raw(recordings, 0, electrical=True).get_data().max() == 50e-6


def test_blocks_join_without_a_seam(monkeypatch):
    monkeypatch.setattr("qpwl_core.data.mne_bridge.BLOCK", 301)
    recordings = eeg()
    assert_same(from_epochs(to_epochs(recordings)), recordings)
    assert_same(from_raw(to_raw(recordings, 2)), recordings.select(index=[2]))


def test_subject_and_stimulus_can_be_given():
    raw = mne.io.RawArray(np.ones((1, 5)), mne.create_info(["x"], 10, "misc"), verbose="ERROR")
    with pytest.raises(RecordingsError, match="names no subject"):
        from_raw(raw)
    named = from_raw(raw, "eve", "rest")
    assert (named.subjects.tolist(), named.stimuli.tolist()) == (["eve"], ["rest"])
    assert from_raw(raw, "eve").stimuli is None


def test_epochs_of_others():
    info = mne.create_info(["x", "trigger"], 10, ["misc", "stim"])
    events = [[0, 0, 1], [10, 0, 2], [20, 0, 1]]
    epochs = mne.EpochsArray(np.arange(30.0).reshape(3, 2, 5), info, events, event_id={"go": 1, "stop": 2},
                             verbose="ERROR")
    with pytest.raises(RecordingsError, match="name no subjects"):
        from_epochs(epochs)
    recordings = from_epochs(epochs, "ann")
    assert recordings.subjects.tolist() == ["ann"] * 3
    assert recordings.stimuli.tolist() == ["go", "stop", "go"]
    assert recordings.channels == ("x",)
    assert recordings.sequences[1].ravel().tolist() == [10, 11, 12, 13, 14]
    assert from_epochs(epochs, ["a", "b", "c"]).subjects.tolist() == ["a", "b", "c"]


def test_epochs_must_be_equally_long():
    recordings = Recordings([np.ones((5, 1)), np.ones((7, 1))], ["a", "b"], ("x",), 10)
    with pytest.raises(RecordingsError, match="equally many samples, and there are 5 to 7"):
        to_epochs(recordings)


def test_only_triggers_are_no_recording():
    raw = mne.io.RawArray(np.ones((1, 5)), mne.create_info(["t"], 10, "stim"), verbose="ERROR")
    with pytest.raises(RecordingsError, match="no channel but triggers"):
        from_raw(raw, "a")


def test_nan_in_raw():
    raw = mne.io.RawArray(np.full((1, 5), np.nan), mne.create_info(["x"], 10, "eeg"), verbose="ERROR")
    with pytest.raises(RecordingsError, match="must be finite"):
        from_raw(raw, "a")


# Files

@pytest.mark.parametrize("lazy", [None, True])
def test_fif_files(tmp_path, lazy):
    recordings = eeg()
    to_raw(recordings, 1).save(tmp_path / "ann_house_raw.fif", fmt="double", verbose="ERROR")
    to_epochs(recordings).save(tmp_path / "all-epo.fif", fmt="double", verbose="ERROR")
    assert_same(load_recordings(tmp_path / "ann_house_raw.fif", lazy=lazy), recordings.select(index=[1]))
    assert_same(load_recordings(tmp_path / "all-epo.fif", lazy=lazy), recordings)
    assert_same(load_recordings(tmp_path, lazy=lazy), recordings.select(index=[0, 1, 2, 1]))


def test_single_precision_rounds_the_last_bit(tmp_path):
    recordings = eeg()
    to_raw(recordings, 1).save(tmp_path / "ann_house_raw.fif", verbose="ERROR")
    loaded = load_recordings(tmp_path / "ann_house_raw.fif")
    np.testing.assert_allclose(loaded.sequences[0], recordings.sequences[1], rtol=3e-7)


def test_epochs_file_without_metadata_takes_the_name_of_its_file(tmp_path):
    epochs = to_epochs(eeg())
    epochs.metadata = None
    epochs.save(tmp_path / "eve-epo.fif", verbose="ERROR")
    loaded = load_recordings(tmp_path / "eve-epo.fif")
    assert loaded.subjects.tolist() == ["eve"] * 3
    assert loaded.stimuli.tolist() == ["face", "house", "face"]


@pytest.mark.parametrize(("write", "kind", "digits"), [(edfio.Edf, ".edf", 16), (edfio.Bdf, ".bdf", 24)])
@pytest.mark.parametrize("lazy", [None, True])
def test_edf_and_bdf_values_against_the_digital_ones(tmp_path, write, kind, digits, lazy):
    """Microvolts and millivolts become µV; what is not electrical keeps its unit; names come from the file's name."""
    signal = edfio.EdfSignal if kind == ".edf" else edfio.BdfSignal
    rng = np.random.default_rng(1)
    physical = rng.uniform(-100, 100, size=(3, 400))
    units = ("uV", "mV", "g")
    path = tmp_path / f"sub-01_rest{kind}"
    write([signal(x, 200, label=unit + "-channel", physical_dimension=unit, physical_range=(-100, 100))
           for x, unit in zip(physical, units, strict=True)]).write(path)
    loaded = load_recordings(path, lazy=lazy)
    assert (loaded.subjects.tolist(), loaded.stimuli.tolist(), loaded.rate) == (["sub-01"], ["rest"], 200)
    assert loaded.channels == ("uV-channel", "mV-channel", "g-channel")
    expected = (physical * [[1], [1000], [1]]).T
    step = 200 / 2**digits * np.array([1, 1000, 1])
    assert (np.abs(loaded.sequences[0] - expected) < step + 1e-6 * np.abs(expected)).all()
    upload = load_recordings(io.BytesIO(path.read_bytes()), name=f"C:\\evil/../sub-01_rest{kind}")
    np.testing.assert_array_equal(upload.sequences[0], loaded.sequences[0])


def test_edf_with_annotations_has_no_channel_of_them(tmp_path):
    raw = to_raw(eeg(), 0)
    mne.export.export_raw(tmp_path / "ann.edf", raw, verbose="ERROR")
    loaded = load_recordings(tmp_path / "ann.edf")
    assert loaded.channels == ("Fz", "Cz")
    assert loaded.stimuli.tolist() == ["face"]
    assert loaded.info == {"units": "µV"}


def test_edf_of_several_rates_is_refused_rather_than_resampled(tmp_path):
    signals = [edfio.EdfSignal(np.arange(2.0 * rate), rate, label=f"{rate} Hz", physical_range=(-9, 9))
               for rate in (4, 2)]
    edfio.Edf(signals).write(tmp_path / "ann.edf")
    with pytest.raises(RecordingsError, match=r"'ann.edf': must have channels of one rate: pick them with mne"):
        load_recordings(tmp_path / "ann.edf")
    raw = mne.io.read_raw_edf(tmp_path / "ann.edf", include=["2 Hz"], verbose="ERROR")
    assert from_raw(raw, "ann").rate == 2


def test_folder_of_edf_files(tmp_path):
    for i, name in enumerate(["S1_face.edf", "S1_house.edf", "S2_face.edf"]):
        mne.export.export_raw(tmp_path / name, to_raw(eeg(), i), physical_range=(-400, 400), verbose="ERROR")
    loaded = load_recordings(tmp_path)
    assert loaded.subjects.tolist() == ["S1", "S1", "S2"]
    assert loaded.stimuli.tolist() == ["face", "house", "face"]
    for x, y in zip(loaded.sequences, eeg().sequences, strict=True):
        np.testing.assert_allclose(x, y, atol=800 / 2**16)


@pytest.mark.shared
def test_real_eeg_as_epochs(shared_data):
    recordings = load_recordings(shared_data / "eeg-uci-16.npz").select(index=slice(0, 50))
    epochs = to_epochs(recordings, electrical=True)
    assert epochs.get_data(copy=False).shape == (50, 64, 256)
    assert_same(from_epochs(epochs), Recordings(recordings.sequences, recordings.subjects, recordings.channels, 256,
                                                recordings.stimuli, {"units": "µV"}))
