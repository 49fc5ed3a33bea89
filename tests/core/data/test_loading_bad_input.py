"""Files that are not as they should be: each gives one sentence with the file's name, and nothing is loaded."""

import io
import os
import pickle
import struct
import tracemalloc
import zipfile

import mne
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qpwl_core.common import bounds
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.formats import folder as folder_module
from qpwl_core.data.loading import load_recordings
from qpwl_core.data.mne_bridge import to_epochs, to_raw
from qpwl_core.data.recordings import Recordings

GOOD = {"values": np.arange(12, dtype=np.float32).reshape(6, 2), "lengths": np.array([2, 4]),
        "subjects": np.array(["ann", "bob"]), "channels": np.array(["x", "y"]), "rate": np.array(50.0)}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("QPWL_CACHE", str(tmp_path / "cache"))


def refused(path, sentence, **options):
    """Loading gives one sentence that begins with the file's name and matches; the same from an upload."""
    with pytest.raises(RecordingsError, match=sentence) as caught:
        load_recordings(path, **options)
    assert str(caught.value).startswith(f"'{path.name}': ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    if path.is_file():
        with pytest.raises(RecordingsError, match=sentence):
            load_recordings(io.BytesIO(path.read_bytes()), name=path.name, **options)


def npy(array=None, header=None, data=b""):
    """The bytes of a .npy file: of an array, or of a header that claims what it likes."""
    file = io.BytesIO()
    if array is not None:
        np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=True)
    else:
        np.lib.format.write_array_header_1_0(file, header)
        file.write(data)
    return file.getvalue()


def write_zip(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def npz_with(path, drop=(), raw=None, **changes):
    """A good file but for the changes: other arrays, or raw bytes for a member."""
    arrays = {f"{name}.npy": npy(array) for name, array in {**GOOD, **changes}.items() if name not in drop}
    return write_zip(path, {**arrays, **(raw or {})})


# .npz: what the arrays say

@pytest.mark.parametrize(("changes", "sentence"), [
    ({"values": np.full((6, 2), np.nan)}, "values must be finite .* 'ann'. has nan in channel 'x' at sample 0"),
    ({"values": np.full((6, 2), np.inf)}, "values must be finite"),
    ({"values": np.full((6, 2), 1e300)}, "values must be finite in float32"),
    ({"values": np.zeros((6, 2), complex)}, "values must hold real numbers, not complex128"),
    ({"values": np.zeros((6, 2), bool)}, "values must hold real numbers, not bool"),
    ({"values": np.zeros((6, 2), "U3")}, "values must hold real numbers, not <U3"),
    ({"values": np.zeros((6, 2), "M8[s]")}, "values must hold real numbers"),
    ({"values": np.zeros((6, 2), [("a", "f4")])}, "values must hold real numbers"),
    ({"values": np.zeros((6, 2), object)}, "holds pickled objects, which are never read"),
    ({"values": np.zeros(12)}, r"values must be an array \(samples, channels\).* not \(12,\)"),
    ({"values": np.zeros((6, 2, 1))}, "values must be an array"),
    ({"values": np.zeros((6, 0))}, "values must be an array"),
    ({"values": np.zeros((0, 2)), "lengths": np.zeros(0, int)}, "values must be an array"),
    ({"values": np.zeros((6, 3))}, "2 channels"),
    ({"lengths": [2, 3]}, "lengths add up to 5 samples, and values have 6"),
    ({"lengths": [-2, 8]}, "at least 1, and one is -2"),
    ({"lengths": [6, 0]}, "at least 1, and one is 0"),
    ({"lengths": np.array([2**63, 2**63 + 6], np.uint64)}, "lengths add up to 18446744073709551622"),
    ({"lengths": np.array([2**62] * 4 + [6])}, "lengths add up to 18446744073709551622"),
    ({"lengths": [2.0, 4.0]}, "lengths must be an array .* of integers, not .* float64"),
    ({"lengths": 6}, "lengths must be an array"),
    ({"lengths": [[2, 4]]}, "lengths must be a list of at most 1,000,000, and is an array"),
    ({"lengths": np.zeros(0, int)}, "there must be 1 to 1,000,000 sequences, and there are 0"),
    ({"lengths": [6]}, "subjects must name each of the 1 sequences, and there are 2"),
    ({"subjects": np.array(["ann", "bob"], object)}, "subjects.npy holds pickled objects"),
    ({"subjects": np.array([b"ann", b"\xff\xfe"])}, "subjects must be a list of names in valid UTF-8"),
    ({"subjects": np.array([0.5, 1.5])}, "subjects must be a list of names"),
    ({"subjects": np.array(["ann", ""])}, "subjects must be names of 1 to 200"),
    ({"channels": np.array(["x", "x"])}, "channel names must differ, and 'x' comes more than once"),
    ({"channels": np.array("xy")}, "channels must be a list of names"),
    ({"channels": np.array(["x", "y", "z"])}, "3 channels"),
    ({"rate": 0.0}, "rate must be one number"), ({"rate": -1}, "rate must be"), ({"rate": np.nan}, "rate must be"),
    ({"rate": "50"}, "rate must be"), ({"rate": [50.0, 50.0]}, "rate must be"), ({"rate": 50j}, "rate must be"),
    ({"stimuli": np.array(["walk"])}, "stimuli must name each"),
    ({"stimuli": np.array(["walk", None])}, "stimuli.npy holds pickled objects"),
    ({"info": np.array('{"a": 1}')}, "info must be a dictionary from text to text"),
    ({"info": np.array("[1")}, "cannot be read as an .npz file"),
    ({"info": np.array(["{}"])}, "info must be one JSON text"),
    ({"extra": np.zeros(3)}, "must hold only the arrays .* and holds 'extra.npy'"),
])
def test_npz_with_arrays_that_do_not_fit(tmp_path, changes, sentence):
    refused(npz_with(tmp_path / "bad.npz", **changes), sentence)


@pytest.mark.parametrize("lazy", [True, False])
def test_npz_with_nan_late_in_a_long_sequence(tmp_path, lazy):
    values = np.zeros((2_000_000, 1), np.float32)
    values[1_900_000] = np.nan
    path = npz_with(tmp_path / "bad.npz", values=values, lengths=[1, 1_999_999], channels=["x"])
    refused(path, "'bob'. has nan in channel 'x' at sample 1899999", lazy=lazy)


@pytest.mark.parametrize("name", GOOD)
def test_npz_without_an_array(tmp_path, name):
    refused(npz_with(tmp_path / "bad.npz", drop=[name]), f"and {name} is missing")


def test_names_with_impossible_characters(tmp_path):
    header = {"descr": "<U3", "fortran_order": False, "shape": (2,)}
    path = npz_with(tmp_path / "bad.npz", raw={"subjects.npy": npy(header=header, data=b"\xff" * 24)})
    refused(path, "subjects.npy holds numbers that are no characters")


# .npz: what the headers claim

def claim(shape, descr="<f4", data=b"\0" * 48):
    return npy(header={"descr": descr, "fortran_order": False, "shape": shape}, data=data)


@pytest.mark.parametrize(("member", "sentence"), [
    (claim((1_300_000_000, 2)), r"values.npy claims an array \(1300000000, 2\) of float32, 9.69 GB, and has 48 bytes"),
    (claim((2**62, 2**62)), "values.npy claims an array"),
    (claim((-6, -2)), "values.npy claims an array"),
    (claim((6, 2), "<f8"), "values.npy claims an array .* 96 bytes, and has 48 bytes"),
    (claim((6, 2), "|O"), "pickled objects"),
    (claim((5, 2)), "values.npy claims an array"),
    (claim((6, 2))[:-1], "values.npy claims an array"),
    (claim((6, 2))[:40], "cannot be read as an .npz file"),
    (b"", "cannot be read as an .npz file"),
    (b"\x93NUMPY\x03\x00" + claim((6, 2))[8:], r"version 1.0 of the .npy format, not \(3, 0\)"),
    (claim((6, 2)).replace(b"descr", b"DESCR"), "cannot be read as an .npz file"),
    (claim((6, 2)).replace(b"(6, 2)", b"(6, b)"), "cannot be read as an .npz file"),
    (claim((6, 2)).replace(b"(6, 2)", b"6.0,2 "), "cannot be read as an .npz file"),
    (pickle.dumps([1, 2]), "cannot be read as an .npz file"),
])
def test_npz_with_a_header_that_lies(tmp_path, member, sentence):
    path = npz_with(tmp_path / "bad.npz", raw={"values.npy": member})
    tracemalloc.start()
    refused(path, sentence)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_ten_gigabytes_declared_in_a_kilobyte(tmp_path, method):
    """The zip's directory lies too: it says the member has the ten gigabytes that the array's header claims."""
    path = write_zip(tmp_path / "bad.npz", {f"{name}.npy": npy(array) for name, array in GOOD.items()} |
                     {"values.npy": claim((2**30, 2))}, method)
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\x01\x02")
    while b"values" not in data[entry + 46:entry + 56]:
        entry = data.index(b"PK\x01\x02", entry + 4)
    data[entry + 24:entry + 28] = struct.pack("<I", 2**32 - 2)
    path.write_bytes(data)
    tracemalloc.start()
    refused(path, "the array values claims 4 GB, more than the file can hold|cannot be read as an .npz file")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


def test_zip_bomb(tmp_path):
    rows = 20_000_000
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("lengths", "subjects", "channels", "rate"):
            archive.writestr(f"{name}.npy", npy(np.array([rows]) if name == "lengths" else GOOD[name]))
        with archive.open("values.npy", "w") as stream:
            np.lib.format.write_array_header_1_0(stream, {"descr": "<f4", "fortran_order": False, "shape": (rows, 2)})
            for _ in range(160):
                stream.write(bytes(10**6))
    assert path.stat().st_size < 200_000
    tracemalloc.start()
    refused(path, r"the array values would expand \d+ times to 153 MB: a zip bomb")
    refused(path, "153 MB of values, more than the 10 MB that max_bytes|zip bomb", max_bytes=10 * 2**20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


def test_a_member_that_goes_on_beyond_its_size(tmp_path):
    """The directory understates a size: no more than it says is read, and the sum does not fit."""
    path = npz_with(tmp_path / "bad.npz", values=np.zeros((600, 2), np.float32), lengths=[200, 400])
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\x01\x02")
    assert b"values" in data[entry + 46:entry + 56]
    data[entry + 24:entry + 28] = struct.pack("<I", 1000)
    path.write_bytes(data)
    refused(path, "values.npy claims an array|CRC")


def test_many_names_in_few_bytes_are_bounded(tmp_path):
    path = npz_with(tmp_path / "bad.npz", lengths=np.ones(bounds.SEQUENCES + 1, int))
    refused(path, r"lengths must be a list of at most 1,000,000, and is an array \(1000001,\)")


def test_small_types_grow_within_max_bytes(tmp_path):
    path = npz_with(tmp_path / "bad.npz", values=np.ones((6000, 2), np.int8), lengths=[2000, 4000])
    refused(path, "holds 46.9 kB of values, more than the 19.5 kB", max_bytes=20_000)


def test_a_hundred_thousand_columns_take_no_time(tmp_path):
    names = [f"c{i}" for i in range(100_000)] + ["c99999"]
    path = npz_with(tmp_path / "bad.npz", values=np.ones((1, 100_001), np.int8), lengths=[1], channels=names)
    refused(path, "channels must be a list of at most 4,096")
    (tmp_path / "bad.csv").write_text(",".join(names) + "\n" + "1," * 100_000 + "1\n")
    refused(tmp_path / "bad.csv", "column names must differ, and 'c99999'", rate=1)


# .npz: the archive

@pytest.mark.parametrize("name", ["../values.npy", "/etc/passwd", "..\\values.npy", "sub/values.npy", "values.NPY",
                                  "values", "values.npy/", "évil.npy", "values.npy.npy"])
def test_members_with_other_names(tmp_path, name):
    before = set(os.listdir(tmp_path))
    refused(npz_with(tmp_path / "bad.npz", raw={name: b"x"}), "must hold only the arrays .* and holds '")
    assert set(os.listdir(tmp_path)) - before == {"bad.npz"}


def test_a_member_twice(tmp_path):
    path = npz_with(tmp_path / "bad.npz")
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("values.npy", npy(GOOD["values"]))
    refused(path, "holds the array values twice")


def test_a_member_name_that_is_no_utf8(tmp_path):
    path = npz_with(tmp_path / "bad.npz", raw={"ééé.npy": b""})
    path.write_bytes(path.read_bytes().replace("ééé".encode(), b"\xff\xfe\xff\xfe\xff\xfe"))
    refused(path, "cannot be read as an .npz file|must hold only")


def test_other_compressions_and_encryption(tmp_path):
    arrays = {f"{name}.npy": npy(array) for name, array in GOOD.items()}
    refused(write_zip(tmp_path / "bad.npz", arrays, zipfile.ZIP_LZMA), "must be stored or deflated and not encrypted")
    path = npz_with(tmp_path / "locked.npz")
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    refused(path, "must be stored or deflated and not encrypted")


def test_a_flipped_bit_is_noticed(tmp_path):
    path = tmp_path / "bad.npz"
    Recordings([np.ones((99, 2))], ["a"], ("x", "y"), 1).save(path, compressed=False)
    data = bytearray(path.read_bytes())
    data[data.index(b"values.npy") + 400] ^= 1
    path.write_bytes(data)
    for lazy in (True, False):
        refused(path, "cannot be read as an .npz file.*CRC", lazy=lazy)


# Any format: cut short, empty, something else

@pytest.fixture(scope="module")
def whole_files(tmp_path_factory):
    """One good file of each format."""
    folder = tmp_path_factory.mktemp("whole")
    rng = np.random.default_rng(0)
    recordings = Recordings([rng.normal(size=(200, 2)) for _ in range(3)], ["ann", "bob", "ann"], ("Fz", "Cz"), 100,
                            ["walk", "run", "run"], {"units": "µV"})
    for name in ("a.npz", "a.csv"):
        recordings.save(folder / name)
    raw = to_raw(recordings, 0)
    raw.save(folder / "a_raw.fif", verbose="ERROR")
    to_epochs(recordings).save(folder / "a-epo.fif", verbose="ERROR")
    for name in ("a.edf", "a.bdf"):
        mne.export.export_raw(folder / name, raw, verbose="ERROR")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


FORMATS = ["a.npz", "a.csv", "a.edf", "a.bdf", "a_raw.fif", "a-epo.fif"]


@pytest.mark.parametrize("name", FORMATS)
def test_the_whole_files_load(tmp_path, whole_files, name):
    (tmp_path / name).write_bytes(whole_files[name])
    assert load_recordings(tmp_path / name).rate == 100


@pytest.mark.parametrize("name", FORMATS)
def test_empty(tmp_path, name):
    (tmp_path / name).touch()
    refused(tmp_path / name, "is empty")


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "a.csv"])
def test_cut_short_anywhere(tmp_path, whole_files, name):
    data = whole_files[name]
    for length in {1, 7, 16, 100, 255, 256, 300, len(data) // 3, len(data) // 2, len(data) * 9 // 10, len(data) - 400,
                   len(data) - 16, len(data) - 2, len(data) - 1}:
        (tmp_path / name).write_bytes(data[:length])
        refused(tmp_path / name, "cut short")


@pytest.mark.parametrize("length", [5, 15, 40, 75])
def test_a_table_cut_short(tmp_path, whole_files, length):
    (tmp_path / "a.csv").write_bytes(whole_files["a.csv"][:length])
    refused(tmp_path / "a.csv", "no table|header|must have|does not say|lines on top|line 4")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("other", FORMATS)
def test_content_of_another_kind(tmp_path, whole_files, name, other):
    if name[-4:] == other[-4:]:
        return
    (tmp_path / name).write_bytes(whole_files[other])
    try:
        loaded = load_recordings(tmp_path / name)
    except RecordingsError as error:
        assert str(error).startswith(f"'{name}': ")  # noqa: PT017  (either is right)  (one pair of kinds is the same but for a number's width)
    else:
        pytest.fail(f"{other} was read as {name}: {loaded}")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("content", [b"\0" * 2000, b"\xff" * 2000, b"hello, world\n" * 200, b"PK\x05\x06" + bytes(18),
                                     np.random.default_rng(0).bytes(2000)])
def test_rubbish(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    refused(tmp_path / name, "cut short|must|no table|is not a|does not say")


@pytest.mark.parametrize("name", ["a.txt", "a.npy", "a", "a.npz.gz", "a.pkl", ".npz"])
def test_wrong_extension(tmp_path, whole_files, name):
    (tmp_path / name).write_bytes(whole_files["a.npz"])
    refused(tmp_path / name, r"must be a folder or end in .npz, .csv, .edf, .bdf, .fif, .zip, not in '")


def test_extensions_in_capitals(tmp_path, whole_files):
    for name in FORMATS:
        (tmp_path / name.upper()).write_bytes(whole_files[name])
        assert load_recordings(tmp_path / name.upper()).rate == 100


def test_nothing_there(tmp_path):
    refused(tmp_path / "none.npz", "there is no such file or folder")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@pytest.mark.parametrize("name", FORMATS)
@given(changes=st.lists(st.tuples(st.integers(0, 10**6), st.binary(min_size=1, max_size=4)), min_size=1, max_size=3))
def test_damage_anywhere_gives_recordings_or_one_sentence(whole_files, name, changes):
    data = bytearray(whole_files[name])
    for position, patch in changes:
        position %= len(data)
        data[position:position + len(patch)] = patch
    try:
        load_recordings(io.BytesIO(data), name=name, max_bytes=10**7)
    except RecordingsError as error:
        assert "\n" not in str(error)  # noqa: PT017  (either is right)


# .csv

@pytest.mark.parametrize(("text", "sentence"), [
    ("subject,x\na,1\n", "must have the columns subject and sequence, and sequence is missing"),
    ("sequence,x\na,1\n", "subject is missing"),
    ("stimulus,x\na,1\n", "subject and sequence is missing"),
    ("subject,sequence\na,1\n", "must have a column for each channel"),
    ("subject,sequence,x,x\na,1,1,1\n", "names must differ, and 'x' comes more than once"),
    ("subject,Subject,sequence,x\na,a,1,1\n", "'subject' comes more than once"),
    ("subject,sequence,x\n", "has a header and no rows"),
    ("subject,sequence,x\n\n\n", "has a header and no rows"),
    ("subject,sequence,x,y\na,1,1,2\na,1,3\n", "line 3: there are 3 columns, and 4 in the header"),
    ("subject,sequence,x,y\na,1,1,2,3\n", "line 2: there are 5 columns, and 4 in the header"),
    ("# note\nsubject,sequence,x\na,1,1\na,1,one\n", "line 4: column 'x' must hold numbers, not 'one'"),
    ("subject,sequence,x\na,1,\n", "line 2: column 'x' must hold numbers, not ''"),
    ("subject,sequence,x\na,1,nan\n", "values must be finite .* has nan"),
    ("subject,sequence,x\na,1,1e99\n", "values must be finite in float32"),
    ("subject,sequence,x\n,1,1\n", "subjects must be names"),
    ("subject,sequence,stimulus,x\na,1,u,1\na,1,v,1\n", "sequence '1' of subject 'a' must have one stimulus, not"),
    ("1,2\n3,4\n", "the first line must name the columns, and holds numbers"),
    ("# rate: fast\nx\n1\n", "lines on top must be like"),
    ("# rate: 0\nx\n1\n", "rate must be one number"),
    ("# rate: nan\nx\n1\n", "rate must be one number"),
    ("# info: {\nx\n1\n", "lines on top must be like"),
    ("# info: 3\nx\n1\n", "info must be"),
    ("# only\n# comments\n", "has no table in it"),
    ("\n", "must have a column for each channel|channels must be names"),
    (",\n1,2\n", "names must differ"),
    ("x\n\"1\n2\n", "line 3: unexpected end of data"),
    ("x\n" + "1" * 2**20 + "\n", "has a line of more than 1,048,576 characters"),
    ("x,y\n1," + "1" * 200_000 + "\n", "line 2: field larger than field limit"),
])
def test_tables_that_do_not_fit(tmp_path, text, sentence):
    (tmp_path / "bad.csv").write_text(text)
    refused(tmp_path / "bad.csv", sentence, rate=10)


def test_a_table_without_a_rate(tmp_path):
    (tmp_path / "bad.csv").write_text("x\n1\n")
    refused(tmp_path / "bad.csv", "does not say its rate: begin it with a line '# rate: 250', or pass rate=250")
    with pytest.raises(RecordingsError, match=r"'bad.csv': rate must be one number of Hz above 0, not '-1'"):
        load_recordings(tmp_path / "bad.csv", rate=-1)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_table_that_is_not_utf8(tmp_path, encoding):
    (tmp_path / "bad.csv").write_bytes("subject,sequence,x\nRenée,1,1\n".encode(encoding))
    refused(tmp_path / "bad.csv", "must be text in UTF-8, and is not", rate=10)


# .edf and .fif

def edf_with(whole_files, path, **fields):
    """A good EDF file but for fields of its header."""
    places = {"length": (184, 8), "kind": (192, 44), "blocks": (236, 8), "seconds": (244, 8), "signals": (252, 4),
              "label": (256, 16), "label_2": (272, 16)}
    data = bytearray(whole_files["a.edf"])
    for field, text in fields.items():
        start, width = places[field]
        data[start:start + width] = text.encode().ljust(width)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(("fields", "sentence"), [
    ({"label": "Cz"}, "channel names must differ, and 'Cz' comes more than once"),
    ({"kind": "EDF+D"}, "has gaps in time"),
    ({"blocks": "99999999"}, "must have .* bytes by its header, and has .*: cut short or damaged"),
    ({"blocks": "-1"}, "claims 3 signals, -1 blocks"),
    ({"blocks": "many"}, "cannot be read as an .edf"),
    ({"signals": "9999"}, "claims 9999 signals"),
    ({"signals": "0"}, "claims 0 signals"),
    ({"length": "0"}, "header of 0 bytes"),
    ({"seconds": "nan"}, "rate must be|cannot be read as an .edf"),
    ({"seconds": "-1"}, "rate must be|cannot be read as an .edf"),
])
def test_edf_with_a_header_that_lies(tmp_path, whole_files, fields, sentence):
    refused(edf_with(whole_files, tmp_path / "bad.edf", **fields), sentence)


def test_edf_and_fif_within_max_bytes(tmp_path, whole_files):
    for name in ("a.edf", "a.bdf", "a_raw.fif", "a-epo.fif"):
        (tmp_path / name).write_bytes(whole_files[name])
        refused(tmp_path / name, "more than the 1000 bytes that max_bytes allows", max_bytes=1000)


def tag(kind, data=b"", following=0, dtype=3):
    return struct.pack(">iIii", kind, dtype, len(data), following) + data


@pytest.mark.parametrize(("data", "sentence"), [
    (tag(100, bytes(20)) + tag(101, b"\xff" * 4) + tag(118, b"/etc/other.fif", dtype=10) + tag(108, following=-1),
     "is one of several files of one recording"),
    (tag(100, bytes(20)) + tag(101, b"\xff" * 4, following=16), "is a damaged .fif file|damaged"),
    (tag(100, bytes(20)) + tag(101, b"\xff" * 4, following=36), "its tags run in a circle"),
    (struct.pack(">iIii", 100, 3, 2**31 - 1, 0) + bytes(100), "cut short or damaged"),
    (struct.pack(">iIii", 100, 3, -5, 0) + bytes(100), "cut short or damaged"),
    (tag(7, bytes(20)) + tag(108, following=-1), "is not a .fif file"),
    (tag(100, bytes(20)) + tag(101, b"\xff" * 4) + tag(108, following=-1), "cannot be read as a .fif file"),
])
def test_fif_with_tags_that_lie(tmp_path, data, sentence):
    (tmp_path / "bad_raw.fif").write_bytes(data)
    refused(tmp_path / "bad_raw.fif", sentence)


def test_an_uploaded_fif_cannot_hide_a_reference_in_its_directory(tmp_path, whole_files):
    """A directory, which mne believes, could list tags that lie inside others; uploads are read without theirs."""
    data = whole_files["a_raw.fif"]
    assert data[36:40] == struct.pack(">i", 101)
    pointed = data[:52] + struct.pack(">i", len(data) - 16) + data[56:]
    assert len(load_recordings(io.BytesIO(pointed), name="a_raw.fif")) == 1


# Folders

def test_folder_with_nothing_to_read(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "README.md").touch()
    refused(tmp_path / "empty", "holds no file that ends in .npz")


def test_folder_with_one_bad_file(tmp_path):
    npz_with(tmp_path / "a.npz")
    npz_with(tmp_path / "b.npz", rate=np.nan)
    refused(tmp_path, "'b.npz': rate must be one number")


@pytest.mark.parametrize(("text", "sentence"), [
    ("# rate: 10\nx,z\n1,2\n", "'b_1.csv': has another channel than 'a_1.csv'"),
    ("# rate: 20\nx,y\n1,2\n", "'b_1.csv': has another rate than 'a_1.csv': '20.0', not '10.0'"),
])
def test_folder_of_files_that_differ(tmp_path, text, sentence):
    (tmp_path / "a_1.csv").write_text("# rate: 10\nx,y\n1,2\n")
    (tmp_path / "b_1.csv").write_text(text)
    refused(tmp_path, sentence)


def test_folder_where_some_name_no_stimulus(tmp_path):
    (tmp_path / "ann_walk.csv").write_text("x\n1\n")
    (tmp_path / "bob.csv").write_text("x\n1\n")
    refused(tmp_path, "'bob.csv': must name a stimulus just as 'ann_walk.csv' does", rate=10)


def test_folders_deeper_than_a_subject(tmp_path):
    (tmp_path / "data" / "ann" / "eeg").mkdir(parents=True)
    refused(tmp_path / "data", "'eeg' is a folder in a folder in a folder")


def test_links_in_a_circle(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "loop").symlink_to(folder)
    refused(folder, "'loop' is a folder in a folder in a folder")
    (folder / "loop").unlink()
    (folder / "a.csv").symlink_to(folder / "a.csv")
    refused(folder, "'a.csv' is .* a link that leads nowhere")
    with pytest.raises(RecordingsError, match=r"'a.csv': there is no such file"):
        load_recordings(folder / "a.csv")


def test_too_many_files(tmp_path, monkeypatch):
    monkeypatch.setattr(folder_module, "MAX_FILES", 2)
    for i in range(3):
        (tmp_path / f"{i}.csv").write_text("x\n1\n")
    refused(tmp_path, "holds more than 2 files to read", rate=1)


def test_a_file_name_that_is_no_utf8(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    with open(os.fsencode(folder) + b"/ren\xe9e_1.csv", "w") as file:
        file.write("x\n1\n")
    refused(folder, r"'ren\\udce9e_1.csv': subjects must be names of 1 to 200 printable characters", rate=1)


def test_devices_and_pipes_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    refused(tmp_path / "a.csv", "there is no such file or folder")
    refused(tmp_path, "holds no file that ends in")


def test_one_subject_loads_and_what_needs_two_says_so(tmp_path):
    path = npz_with(tmp_path / "one.npz", subjects=["ann", "ann"])
    loaded = load_recordings(path)
    with pytest.raises(RecordingsError, match="at least 2 subject"):
        loaded.require(subjects=2)
