"""The container: what it accepts, selects and counts."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.recordings import Recordings


def small(**changes):
    """Five sequences of three people."""
    fields = {"sequences": [np.full((i + 1, 2), i) for i in range(5)], "subjects": ["b", "b", "a", "a", "c"],
              "channels": ("x", "y"), "rate": 2.0, "stimuli": ["walk", "run", "walk", "walk", "run"]}
    return Recordings(**{**fields, **changes})


def test_fields_are_converted_once():
    recordings = small(info={"simulated": "yes", "name": "steps"})
    assert all(x.dtype == np.float32 and type(x) is np.ndarray for x in recordings.sequences)
    assert recordings.lengths.tolist() == [1, 2, 3, 4, 5]
    assert len(recordings) == 5
    assert recordings.channels == ("x", "y")
    assert recordings.subjects.dtype.kind == recordings.stimuli.dtype.kind == "U"
    assert recordings.simulated
    assert "simulated" in repr(recordings)
    assert not small().simulated


def test_float32_is_not_copied():
    values = np.zeros((10, 2), np.float32)
    assert np.shares_memory(small(sequences=[values[:4]] * 5).sequences[0], values)


def test_whole_numbers_name_subjects_too():
    assert small(subjects=np.arange(5)).subjects.tolist() == ["0", "1", "2", "3", "4"]


def test_bytes_name_subjects_if_utf8():
    assert small(subjects=np.array([b"a", "é".encode(), b"c", b"d", b"e"])).subjects[1] == "é"


@pytest.mark.parametrize(("changes", "sentence"), [
    ({"sequences": []}, "at least one sequence"),
    ({"sequences": [np.zeros(3)] * 5}, r"sequence 0 must be an array .* not \(3,\)"),
    ({"sequences": [np.zeros((0, 2))] * 5}, r"sequence 0 .* at least one sample, not \(0, 2\)"),
    ({"sequences": [np.zeros((3, 3))] * 5}, r"2 channels.*not \(3, 3\)"),
    ({"sequences": [np.zeros((3, 2), complex)] * 5}, "real numbers, not complex128"),
    ({"sequences": [np.zeros((3, 2), object)] * 5}, "real numbers, not object"),
    ({"sequences": [np.zeros((3, 2), bool)] * 5}, "real numbers, not bool"),
    ({"sequences": [np.array([["1", "2"]])] * 5}, "real numbers"),
    ({"sequences": [[[1, 2], [3]]] * 5}, "its rows differ"),
    ({"sequences": [np.full((3, 2), np.nan)] * 5}, "sequence 0 .subject 'b'. has nan in channel 'x' at sample 0"),
    ({"sequences": [np.full((3, 2), -np.inf)] * 5}, "has -inf"),
    ({"sequences": [np.full((3, 2), 1e300)] * 5}, "finite in float32.*has inf"),
    ({"subjects": ["a"]}, "subjects must name each of the 5 sequences, and there are 1"),
    ({"subjects": [["a"]]}, "subjects must be a list of names"),
    ({"subjects": [1.5] * 5}, "subjects must be a list of names"),
    ({"subjects": ["a", "b", "", "c", "d"]}, "printable characters, not ''"),
    ({"subjects": ["a", "b", "x\ny", "c", "d"]}, r"printable characters, not 'x\\ny'"),
    ({"subjects": ["a", "b", "\udce9", "c", "d"]}, r"printable characters, not '\\udce9'"),
    ({"subjects": ["a" * 201] * 5}, "1 to 200 printable"),
    ({"subjects": np.array([b"\xe9"] * 5)}, "subjects must be a list of names in valid UTF-8"),
    ({"subjects": np.array([None, 1, 2, 3, 4])}, "subjects must be a list of names"),
    ({"stimuli": ["walk"]}, "stimuli must name each"),
    ({"channels": ("x", "x")}, "channel names must differ, and 'x' comes more than once"),
    ({"channels": ()}, "the number of channels must be from 1 to 4,096, not 0"),
    ({"rate": 0}, "rate must be one number of Hz above 0, not '0'"),
    ({"rate": -5}, "rate"), ({"rate": np.nan}, "rate"), ({"rate": np.inf}, "rate"), ({"rate": "250"}, "rate"),
    ({"rate": [1, 2]}, "rate"), ({"rate": 1j}, "rate"), ({"rate": None}, "rate"),
    ({"info": {"n": 3}}, "info must be a dictionary from text to text"),
    ({"info": "text"}, "info must be"),
])
def test_what_does_not_fit_is_named(changes, sentence):
    with pytest.raises(RecordingsError, match=sentence):
        small(**changes)


def test_the_sample_that_is_not_finite_is_found_far_in():
    values = np.zeros((2**20, 2), np.float32)
    values[1_000_000, 1] = np.inf
    with pytest.raises(RecordingsError, match="channel 'y' at sample 1000000"):
        Recordings([values], ["a"], ("x", "y"), 1)


def test_select():
    recordings = small(info={"name": "steps"})
    assert recordings.select(subjects="a").lengths.tolist() == [3, 4]
    assert recordings.select(subjects=["a", "c"], stimuli="run").lengths.tolist() == [5]
    assert recordings.select(index=[4, 0, 0]).lengths.tolist() == [5, 1, 1]
    assert recordings.select(index=recordings.lengths > 2, stimuli=["walk"]).lengths.tolist() == [3, 4]
    assert recordings.select(index=-1).lengths.tolist() == [5]
    part = recordings.select(subjects={"a"})
    assert part.stimuli.tolist() == ["walk", "walk"]
    assert part.info == recordings.info
    assert part.info is not recordings.info
    assert np.shares_memory(part.sequences[0], recordings.sequences[2])
    assert small(stimuli=None).select(subjects="a").stimuli is None


@pytest.mark.parametrize(("arguments", "sentence"), [
    ({"subjects": "z"}, "subjects must be among those recorded, and 'z' is not"),
    ({"stimuli": ["walk", "fly"]}, "'fly' is not"),
    ({"subjects": "c", "stimuli": "walk"}, "no sequence has all"),
    ({"index": []}, "index must|no sequence"),
    ({"index": [7]}, "index must hold integers below 5"),
    ({"index": [True]}, "index must hold"),
])
def test_select_refuses_what_is_not_there(arguments, sentence):
    with pytest.raises(RecordingsError, match=sentence):
        small().select(**arguments)


def test_select_by_stimulus_needs_stimuli():
    with pytest.raises(RecordingsError, match="name no stimuli"):
        small(stimuli=None).select(stimuli="walk")


def test_summary_is_one_row_a_subject():
    table = small().summary()
    assert table.columns.tolist() == ["subject", "sequences", "stimuli", "samples", "seconds"]
    assert table.to_numpy().tolist() == [["b", 2, 2, 3, 1.5], ["a", 2, 1, 7, 3.5], ["c", 1, 1, 5, 2.5]]
    assert small(stimuli=None).summary()["stimuli"].tolist() == [0, 0, 0]


def test_require_says_what_is_missing():
    recordings = small()
    assert recordings.require(subjects=2, sequences=2) is recordings
    with pytest.raises(RecordingsError, match=r"at least 2 subject.* and the recordings have 1 such subject"):
        recordings.select(subjects="a").require(subjects=2)
    with pytest.raises(RecordingsError, match=r"steps have 0 such subject\(s\) \(3 in all\)"):
        small(info={"name": "steps"}).require(sequences=6)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 9)), min_size=1, max_size=20))
def test_parts_by_subject_make_up_the_whole(people):
    recordings = Recordings([np.ones((n, 1)) for _, n in people], [name for name, _ in people], ("x",), 1)
    table = recordings.summary()
    assert table["samples"].sum() == recordings.lengths.sum()
    for row in table.itertuples():
        part = recordings.select(subjects=row.subject)
        assert (len(part), part.lengths.sum()) == (row.sequences, row.samples)


def test_importing_is_light():
    program = ("import sys, qpwl_core.data.recordings, qpwl_core.data.mne_bridge, qpwl_core.data.formats.readers\n"
               "assert not {'torch', 'mne', 'pandas', 'pooch', 'streamlit'} & set(sys.modules)")
    subprocess.run([sys.executable, "-c", program], check=True)
