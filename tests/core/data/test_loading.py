"""Files that are as they should be: round trips, values left on disk, tables, folders, uploads."""

import io
import mmap
import os
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.formats import buffers as storage
from qpwl_core.data.loading import load_recordings
from qpwl_core.data.recordings import Recordings


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("QPWL_CACHE", str(tmp_path / "cache"))


def some(seed=0, lengths=(5, 3, 8), stimuli=("s 1", "é,\"q\"", "s 1"), info=None):
    rng = np.random.default_rng(seed)
    return Recordings([rng.normal(size=(n, 2)) for n in lengths], ["ann", "bob", "ann"][:len(lengths)],
                      ("x", "y, µm"), 62.5, stimuli, info if info is not None else {"name": "walks\n", "licence": "ö"})


def assert_same(a, b):
    assert len(a) == len(b)
    for x, y in zip(a.sequences, b.sequences, strict=True):
        np.testing.assert_array_equal(x, y)
    assert a.subjects.tolist() == b.subjects.tolist()
    assert (a.channels, a.rate, a.info) == (b.channels, b.rate, b.info)
    assert (a.stimuli is None and b.stimuli is None) or a.stimuli.tolist() == b.stimuli.tolist()


def is_on_disk(recordings):
    base = recordings.sequences[0]
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap) and base.base is not None:
        base = base.base
    return isinstance(base, np.memmap | mmap.mmap)


# Round trips

@pytest.mark.parametrize("name", ["a.npz", "a.csv"])
@pytest.mark.parametrize("lazy", [None, True, False])
@pytest.mark.parametrize("changes", [{}, {"stimuli": None}, {"info": {}}])
def test_round_trip(tmp_path, name, lazy, changes):
    recordings = some(**changes)
    assert recordings.save(tmp_path / name) == tmp_path / name
    loaded = load_recordings(tmp_path / name, lazy=lazy)
    assert_same(loaded, recordings)
    assert is_on_disk(loaded) == bool(lazy)


NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).filter(
    lambda name: name.isprintable() and name.strip() == name)
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def any_recordings(draw):
    channels = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True).filter(
        lambda names: not {name.lower() for name in names} & {"subject", "sequence", "stimulus"}))
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    names = st.lists(NAMES, min_size=len(lengths), max_size=len(lengths))
    sequences = [draw(hnp.arrays(np.float32, (n, len(channels)), elements=FLOATS)) for n in lengths]
    return Recordings(sequences, draw(names), channels, draw(st.floats(1e-3, 1e6)), draw(st.none() | names),
                      draw(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(any_recordings(), st.booleans())
def test_every_recording_survives_both_formats(tmp_path, recordings, compressed):
    for name in ("any.npz", "any.csv"):
        recordings.save(tmp_path / name, compressed)
        assert_same(load_recordings(tmp_path / name), recordings)


def test_the_same_recordings_give_the_same_bytes(tmp_path):
    for name in ("a.npz", "b.npz", "a.csv", "b.csv"):
        some(info={"b": "1", "a": "2"} if name[0] == "a" else {"a": "2", "b": "1"}).save(tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_numpy_reads_what_we_write_and_we_read_what_numpy_writes(tmp_path):
    recordings = some()
    recordings.save(tmp_path / "ours.npz")
    with np.load(tmp_path / "ours.npz", allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["values"], np.concatenate(recordings.sequences))
        fields = dict(arrays)
    for write in (np.savez, np.savez_compressed):
        write(tmp_path / "theirs.npz", **fields)
        assert_same(load_recordings(tmp_path / "theirs.npz"), recordings)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", "i2", "u1", ">i8"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("lazy", [True, False])
def test_values_of_any_real_type_and_order(tmp_path, dtype, order, lazy):
    values = np.array([[1, 2], [3, 4], [5, 6]], dtype, order=order)
    np.savez(tmp_path / "a.npz", values=values, lengths=[1, 2], subjects=["a", "b"], channels=["x", "y"], rate=10)
    loaded = load_recordings(tmp_path / "a.npz", lazy=lazy)
    assert np.concatenate(loaded.sequences).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert loaded.sequences[0].dtype == np.float32


def test_saving_is_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    some().save(path)
    before = path.read_bytes()

    def full_disk(*arguments):
        raise OSError("no space")

    monkeypatch.setattr("qpwl_core.data.formats.writers._write", full_disk)
    with pytest.raises(OSError, match="no space"):
        some(seed=1).save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir() if file.name != "cache"] == ["a.npz"]


def test_a_saved_file_is_as_readable_as_any(tmp_path):
    (tmp_path / "plain").touch()
    some().save(tmp_path / "a.npz")
    assert (tmp_path / "a.npz").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_saving_over_the_file_that_is_mapped(tmp_path):
    path = tmp_path / "a.npz"
    some().save(path, compressed=False)
    loaded = load_recordings(path, lazy=True)
    loaded.select(subjects="ann").save(path, compressed=False)
    assert_same(loaded, some())
    assert load_recordings(path).subjects.tolist() == ["ann", "ann"]


def test_save_knows_two_formats(tmp_path):
    with pytest.raises(RecordingsError, match=r"'a.edf': recordings are saved as .npz or .csv"):
        some().save(tmp_path / "a.edf")
    assert not (tmp_path / "a.edf").exists()


# Values left on disk

def test_an_uncompressed_file_is_mapped_where_it_lies(tmp_path):
    some().save(tmp_path / "a.npz", compressed=False)
    loaded = load_recordings(tmp_path / "a.npz", lazy=True)
    assert is_on_disk(loaded)
    assert not (tmp_path / "cache").exists()
    before = (tmp_path / "a.npz").read_bytes()
    loaded.sequences[0][:] = 0  # a private copy of the page: the file keeps its values
    assert (tmp_path / "a.npz").read_bytes() == before


def test_values_that_lie_askew_are_copied_first(tmp_path):
    some().save(tmp_path / "a.npz", compressed=False)
    data = (tmp_path / "a.npz").read_bytes()
    for shift in range(5):  # a zip may have anything before it; the places in it count from its own beginning
        (tmp_path / "b.npz").write_bytes(b"x" * shift + data)
        loaded = load_recordings(tmp_path / "b.npz", lazy=True)
        assert_same(loaded, some())
        assert is_on_disk(loaded)
        assert all(x.flags.aligned for x in loaded.sequences)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads how much memory there is from /proc")
def test_a_map_may_be_larger_than_memory(tmp_path):
    rows = 2 * storage.available_memory() // 4
    with open(tmp_path / "values", "w+b") as file:  # sparse: it takes no room
        file.truncate(4 * rows)
        values = storage.map_values(file, 0, rows, 1)
    assert values[-1, 0] == 0
    values[-1, 0] = 1
    assert values.flags.writeable


def test_the_unnamed_file_leaves_nothing_behind(tmp_path):
    some().save(tmp_path / "a.npz")
    loaded = load_recordings(tmp_path / "a.npz", lazy=True)
    assert is_on_disk(loaded)
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("name", ["a.npz", "a.csv"])
def test_what_is_large_beside_the_free_memory_stays_on_disk(tmp_path, monkeypatch, name):
    some().save(tmp_path / name)
    assert not is_on_disk(load_recordings(tmp_path / name))
    monkeypatch.setattr(storage, "available_memory", lambda: 100)
    assert is_on_disk(load_recordings(tmp_path / name))


def test_available_memory_is_plausible():
    assert 2**20 < storage.available_memory() < 2**50


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    some().save(tmp_path / "a.npz")

    def full_disk(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full_disk)
    with pytest.raises(RecordingsError, match=r"'a.npz': needs 128 bytes of disk in .*, and no space left"):
        load_recordings(tmp_path / "a.npz", lazy=True)


# Tables

def load_csv(tmp_path, text, name="a.csv", encoding="utf-8", **options):
    (tmp_path / name).write_bytes(text.encode(encoding))
    return load_recordings(tmp_path / name, **options)


def test_long_table(tmp_path):
    loaded = load_csv(tmp_path, "# made by hand\n# rate: 4\nsubject,sequence,stimulus,x,y\n"
                                "007,1,walk,1,2\n007,1,walk,3,4\nNA,1,run,5,6\n")
    assert loaded.subjects.tolist() == ["007", "NA"]
    assert loaded.stimuli.tolist() == ["walk", "run"]
    assert [x.tolist() for x in loaded.sequences] == [[[1, 2], [3, 4]], [[5, 6]]]
    assert loaded.channels == ("x", "y")
    assert loaded.rate == 4


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_columns_in_any_order_spaces_blank_lines_and_line_ends(tmp_path, encoding, end):
    lines = ["x, Sequence, y, SUBJECT", "1, a, 1e1, é", "", "2, a, -2.5, é"]
    loaded = load_csv(tmp_path, end.join(lines), encoding=encoding, rate=4)
    assert loaded.sequences[0].tolist() == [[1, 10], [2, -2.5]]
    assert loaded.subjects.tolist() == ["é"]
    assert loaded.stimuli is None


@pytest.mark.parametrize("lazy", [True, False])
def test_rows_of_a_sequence_belong_together_wherever_they_stand(tmp_path, lazy):
    loaded = load_csv(tmp_path, "subject,sequence,x\na,1,1\nb,1,2\na,2,3\na,1,4\nb,1,5\n", rate=1, lazy=lazy)
    assert loaded.subjects.tolist() == ["a", "b", "a"]
    assert [x.ravel().tolist() for x in loaded.sequences] == [[1, 4], [2, 5], [3]]


def test_bare_table_is_one_sequence_named_by_its_file(tmp_path):
    loaded = load_csv(tmp_path, "x,y\n1,2\n3,4\n", name="ann_walk.csv", rate=50)
    assert (loaded.subjects.tolist(), loaded.stimuli.tolist(), loaded.rate) == (["ann"], ["walk"], 50)
    assert loaded.sequences[0].tolist() == [[1, 2], [3, 4]]
    assert load_csv(tmp_path, "x\n1\n", name="ann.csv", rate=50).stimuli is None


def test_tables_longer_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr("qpwl_core.data.formats.long_csv.BLOCK", 7)
    steps = [np.arange(n * 3.0).reshape(-1, 3) for n in (50, 1, 33)]
    recordings = Recordings(steps, ["a", "b", "c"], ("x", "y", "z"), 1)
    recordings.save(tmp_path / "a.csv")
    assert_same(load_recordings(tmp_path / "a.csv"), recordings)


def test_a_rate_that_contradicts_the_file_is_refused(tmp_path):
    some().save(tmp_path / "a.npz")
    assert load_recordings(tmp_path / "a.npz", rate=62.5).rate == 62.5
    with pytest.raises(RecordingsError, match=r"'a.npz': says 62.5 Hz, and rate=100 was given"):
        load_recordings(tmp_path / "a.npz", rate=100)


# Folders

def test_folder_of_one_file_a_sequence(tmp_path):
    folder = tmp_path / "walks"
    folder.mkdir()
    for i, name in enumerate(["ann_park_1.csv", "ann_town.csv", "bob_park_1.csv"]):
        (folder / name).write_text(f"# rate: 10\nx,y\n{i},{i}\n")
    (folder / "README.md").write_text("passed over")
    (folder / "ann_park_1.json").write_text("{}")
    (folder / ".hidden.csv").write_text("passed over")
    loaded = load_recordings(folder)
    assert loaded.subjects.tolist() == ["ann", "ann", "bob"]
    assert loaded.stimuli.tolist() == ["park_1", "town", "park_1"]
    assert [x.tolist() for x in loaded.sequences] == [[[0, 0]], [[1, 1]], [[2, 2]]]


@pytest.mark.parametrize("lazy", [None, True])
def test_folder_of_subject_folders(tmp_path, lazy):
    for subject in ("sub_1", "sub-2"):
        (tmp_path / "data" / subject).mkdir(parents=True)
        for trial in ("a_1", "b-2"):
            (tmp_path / "data" / subject / f"{trial}.csv").write_text("x\n1\n2\n")
    loaded = load_recordings(tmp_path / "data", rate=10, lazy=lazy)
    assert loaded.subjects.tolist() == ["sub-2", "sub-2", "sub_1", "sub_1"]
    assert loaded.stimuli.tolist() == ["a_1", "b-2"] * 2
    assert is_on_disk(loaded) == bool(lazy)
    assert [x.ravel().tolist() for x in loaded.sequences] == [[1, 2]] * 4


def test_files_in_a_folder_keep_the_subjects_they_name(tmp_path):
    folder = tmp_path / "mixed"
    folder.mkdir()
    some(info={"licence": "CC0", "name": "1"}).save(folder / "one.npz")
    some(seed=1, info={"licence": "CC0", "name": "2"}).save(folder / "two.csv")
    loaded = load_recordings(folder)
    assert loaded.subjects.tolist() == ["ann", "bob", "ann"] * 2
    assert loaded.info == {"licence": "CC0"}


@pytest.mark.shared
def test_gait_in_its_original_folder(shared_data):
    loaded = load_recordings(shared_data / "original" / "ipol-gait", rate=100)
    assert loaded.subjects.tolist() == ["152", "152", "4", "4"]
    assert loaded.stimuli.tolist() == ["1", "2", "1", "2"]
    rows = (shared_data / "original" / "ipol-gait" / "4-1.csv").read_text().splitlines()
    assert list(loaded.channels) == rows[0].split(",")
    np.testing.assert_array_equal(loaded.sequences[2][-1], np.array(rows[-1].split(","), np.float32))
    assert loaded.lengths[2] == len(rows) - 1


# Uploads

class Upload(io.BytesIO):
    """As a browser sends it: bytes, and a name that is not to be trusted."""

    name = "/etc/passwd.npz"


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
@pytest.mark.parametrize("lazy", [None, True])
def test_upload(tmp_path, suffix, lazy):
    some().save(tmp_path / f"a{suffix}")
    upload = Upload((tmp_path / f"a{suffix}").read_bytes())
    for _ in range(2):  # the caller's file stays open, and can be read again
        assert_same(load_recordings(upload, name=f"../../etc/x{suffix}", lazy=lazy), some())


def test_an_upload_needs_a_name(tmp_path):
    with pytest.raises(RecordingsError, match="an open file needs a name"):
        load_recordings(Upload(b"x"))


def test_max_bytes_bounds_values(tmp_path):
    for name in ("a.npz", "a.csv"):
        some(lengths=(500, 400, 300)).save(tmp_path / name)
        assert len(load_recordings(tmp_path / name, max_bytes=20_000)) == 3
        with pytest.raises(RecordingsError, match=rf"'{name}': .*holds .* more than the 8.79 kB that max_bytes allows"):
            load_recordings(tmp_path / name, max_bytes=9_000)


def test_max_bytes_bounds_a_folder(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for i in range(3):
        some(lengths=(500, 400, 300)).save(folder / f"{i}.npz")
    assert len(load_recordings(folder, max_bytes=30_000)) == 9
    with pytest.raises(RecordingsError, match=r"'folder': holds 28.1 kB of values, more than the 24.4 kB"):
        load_recordings(folder, max_bytes=25_000)


def test_a_table_cannot_have_a_channel_called_subject(tmp_path):
    with pytest.raises(RecordingsError, match=r"'a.csv': a table cannot have a channel that is called 'Subject'"):
        Recordings([np.ones((1, 1))], ["a"], ["Subject"], 1).save(tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()


# The real ones

@pytest.mark.shared
@pytest.mark.parametrize(("name", "people", "sequences", "channels", "rate"), [
    ("eye-gazecom-40", 40, 619, 3, 250), ("gait-ipol-140", 140, 627, 12, 100), ("eeg-uci-16", 16, 924, 64, 256),
    ("eeg-uci-28", 28, 560, 16, 256), ("gait-hapt-30", 30, 496, 6, 50), ("speech-vowels-9", 9, 640, 12, 156.25)])
def test_shared_recordings_load(shared_data, name, people, sequences, channels, rate):
    path = shared_data / f"{name}.npz"
    loaded = load_recordings(path)
    assert (len(loaded.summary()), len(loaded)) == (people, sequences)
    assert (len(loaded.channels), loaded.rate) == (channels, rate)
    with np.load(path, allow_pickle=False) as arrays:
        assert loaded.lengths.tolist() == arrays["lengths"].tolist()
        np.testing.assert_array_equal(loaded.sequences[-1], arrays["values"][-loaded.lengths[-1]:])


def test_members_are_stored_or_deflated_as_asked(tmp_path):
    for compressed, kind in ((True, zipfile.ZIP_DEFLATED), (False, zipfile.ZIP_STORED)):
        some().save(tmp_path / "a.npz", compressed)
        with zipfile.ZipFile(tmp_path / "a.npz") as archive:
            assert {entry.compress_type for entry in archive.infolist()} == {kind}


@pytest.mark.parametrize("text", ["subject;sequence;x;y\nann;1;0,5;-1\nann;1;1;2\n",
                                  "subject\tsequence\tx\ty\nann\t1\t0.5\t-1\nann\t1\t1\t2\n"])
def test_a_table_separated_by_semicolons_or_tabs_is_read(tmp_path, text):
    path = tmp_path / "spreadsheet.csv"
    path.write_text(f"# rate: 50\n{text}")
    found = load_recordings(path)
    assert (found.channels, found.subjects.tolist(), found.rate) == (("x", "y"), ["ann"], 50)
    np.testing.assert_array_equal(found.sequences[0], [[0.5, -1], [1, 2]])
