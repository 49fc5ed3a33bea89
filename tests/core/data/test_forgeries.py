"""Forgeries in recordings: whom a sequence imitates is checked and kept, and a forger is nobody anywhere."""

import io

import numpy as np
import pytest

from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.inspection import remarks
from qpwl_core.data.joining import concatenate
from qpwl_core.data.loading import load_recordings
from qpwl_core.data.mne_bridge import from_epochs, to_epochs
from qpwl_core.data.preprocessing import recipe_for
from qpwl_core.data.recordings import Recordings
from qpwl_core.data.splits import split, split_validation
from tests.support.tiny import forged_recordings, tiny_npz, tiny_recordings


def small(**changes):
    """Two people, and a forgery of each: one by a stranger, one by the other person."""
    fields = {"sequences": [np.full((3, 1), i) for i in range(6)], "subjects": ["a", "a", "b", "b", "x", "b"],
              "channels": ("v",), "rate": 10.0, "imitates": ["", "", "", "", "b", "a"]}
    return Recordings(**{**fields, **changes})


def test_who_is_who():
    recordings = small()
    assert recordings.is_forgery.tolist() == [False] * 4 + [True] * 2
    assert recordings.people == ["a", "b"]
    assert recordings.claims.tolist() == ["a", "a", "b", "b", "b", "a"]
    assert recordings.genuine().subjects.tolist() == ["a", "a", "b", "b"]
    assert recordings.genuine().imitates is None
    assert recordings.of_people(["a"]).subjects.tolist() == ["a", "a", "b"]
    assert "2 of them forgeries, 2 subjects" in repr(recordings)


def test_nobody_imitated_is_no_imitates():
    assert small(imitates=[""] * 6).imitates is None
    assert small(imitates=None).is_forgery.tolist() == [False] * 6
    assert small(imitates=[" "] * 6).imitates is None


@pytest.mark.parametrize(("imitates", "sentence"), [
    (["a"], "imitates must name each of the 6 sequences, and there are 1"),
    (["", "", "", "", "nobody", ""], "sequence 4 is a forgery of nobody here: 'nobody'"),
    (["", "", "", "", "x", ""], "sequence 4 of 'x' imitates 'x'"),
    (["", "", "b", "b", "", "b"], "another person, and sequence 2 of 'b' imitates 'b'"),
    (["", "", "a", "a", "b", "a"], "forgery of nobody here: 'b'"),           # b forges only, so nobody forges b
    (["", "", "", "", "x\ny", ""], "printable"),
    ([1.5] * 6, "imitates must be a list of names"),
])
def test_what_does_not_fit_is_named(imitates, sentence):
    with pytest.raises(RecordingsError, match=sentence):
        small(imitates=imitates)


def test_a_selection_may_hold_a_forgery_alone_but_is_not_saved(tmp_path):
    alone = small().select(subjects="x")
    assert alone.imitates.tolist() == ["b"]
    assert alone.people == []
    with pytest.raises(RecordingsError, match="forgery of nobody"):
        alone.save(tmp_path / "alone.npz")
    assert not list(tmp_path.iterdir())
    with pytest.raises(RecordingsError, match="no sequence"):
        alone.genuine()


@pytest.mark.parametrize("stimuli", [None, ["s1", "s2", "s1", "s2", "forgery", "forgery"]])
@pytest.mark.parametrize("kind", ["npz", "csv"])
def test_files_keep_it(kind, stimuli, tmp_path):
    recordings = small(stimuli=stimuli)
    again = load_recordings(recordings.save(tmp_path / f"signed.{kind}"))
    assert again.imitates.tolist() == recordings.imitates.tolist()
    assert (again.stimuli is None) == (stimuli is None)
    assert (tmp_path / f"signed.{kind}").read_bytes() == again.save(tmp_path / f"again.{kind}").read_bytes()
    honest = small(stimuli=stimuli, imitates=None).save(tmp_path / f"honest.{kind}")
    assert load_recordings(honest).imitates is None


def test_a_folder_keeps_it(tmp_path):
    small().save(tmp_path / "1.npz")
    small(subjects=["c", "c", "d", "d", "y", "d"], imitates=None).save(tmp_path / "2.npz")
    found = load_recordings(tmp_path)
    assert found.imitates.tolist() == ["", "", "", "", "b", "a"] + [""] * 6
    assert found.people == ["a", "b", "c", "d", "y"]


def test_a_file_with_a_forgery_of_nobody_is_one_sentence():
    with pytest.raises(RecordingsError, match=r"^'bad.npz': .*forgery of nobody"):
        load_recordings(io.BytesIO(tiny_npz(imitates=np.array(["someone"] * 48))), name="bad.npz")
    table = "# rate: 5\nsubject,sequence,imitates,v\nann,1,,0.5\nann,2,bob,0.5\n"
    with pytest.raises(RecordingsError, match="forgery of nobody here: 'bob'"):
        load_recordings(io.BytesIO(table.encode()), name="bad.csv")


def test_a_csv_must_say_one_thing_of_a_sequence():
    table = "# rate: 5\nsubject,sequence,imitates,v\nann,1,,0.5\nx,2,ann,0.5\nx,2,,0.5\n"
    with pytest.raises(RecordingsError, match="sequence '2' of subject 'x' must have one imitates, not 'ann' and ''"):
        load_recordings(io.BytesIO(table.encode()), name="bad.csv")


def test_epochs_keep_it():
    again = from_epochs(to_epochs(small()))
    assert again.imitates.tolist() == small().imitates.tolist()


def test_recipes_keep_it_and_learn_from_the_genuine_alone():
    recordings = small()
    fitted = recipe_for("generic").fit(recordings)
    np.testing.assert_array_equal(fitted.arrays["centre"], recipe_for("generic").fit(recordings.genuine())
                                  .arrays["centre"])
    assert fitted.apply(recordings).imitates.tolist() == recordings.imitates.tolist()
    assert fitted.apply(recordings.select(subjects="x")).imitates.tolist() == ["b"]
    windows, origin = recipe_for("gait", seconds=0.1).fit(recordings).cut(recordings)
    assert windows.imitates.tolist() == recordings.imitates[origin].tolist()


def test_forgeries_go_with_the_person_they_imitate():
    recordings = forged_recordings(people=8)
    for seed in range(4):
        parts = split(recordings, seed=seed)
        assert parts.table()["subjects"].sum() == 8
        assert len(parts.index["left out"]) == 0
        for part in (parts.train, parts.validation, parts.test, *split_validation(recordings, 0.25, seed)):
            assert set(part.imitates[part.is_forgery]) == set(part.people)
        honest = split(recordings.genuine(), seed=seed)
        assert parts.test.people == honest.test.people


def test_a_forger_is_no_person_to_count():
    recordings = small()
    with pytest.raises(RecordingsError, match=r"have 2 such subject\(s\) \(2 in all\)"):
        recordings.require(subjects=3)
    assert recordings.summary()[["subject", "sequences", "forgeries"]].to_numpy().tolist() == [["a", 2, 1], ["b", 2, 1]]
    assert "2 of 2 people have fewer" in remarks(recordings)[0]


def test_concatenate_keeps_people_apart():
    one, other = small(info={"name": "pen", "licence": "free"}), small(info={"name": "mouse", "licence": "free"})
    both = concatenate([one, other], prefixes=["p", "m"])
    assert both.people == ["ma", "mb", "pa", "pb"]
    assert both.imitates.tolist() == ["", "", "", "", "pb", "pa", "", "", "", "", "mb", "ma"]
    assert both.info == {"name": "pen + mouse", "licence": "free"}
    assert concatenate([one, other], same_people=True).people == ["a", "b"]
    assert len(concatenate([one])) == len(one)
    plain = tiny_recordings(2)
    assert concatenate([plain]).stimuli.tolist() == plain.stimuli.tolist()
    assert concatenate([plain]).imitates is None


@pytest.mark.parametrize(("others", "sentence"), [
    ({}, "subjects of different parts must differ, and 'a' is in part 0 and in part 1"),
    ({"channels": ("w",)}, "part 1 has another channel than part 0"),
    ({"rate": 20.0}, "part 1 has another rate than part 0: '20.0', not '10.0'"),
    ({"stimuli": ["s"] * 6}, "part 1 must name a stimulus just as part 0 does"),
])
def test_concatenate_refuses_what_does_not_fit(others, sentence):
    with pytest.raises(RecordingsError, match=sentence):
        concatenate([small(), small(**others)])


def test_concatenate_refuses_nothing_and_too_few_prefixes():
    with pytest.raises(RecordingsError, match="at least one part"):
        concatenate([])
    with pytest.raises(RecordingsError, match="prefixes must name each of the 2 parts, and there are 1"):
        concatenate([small(), small()], prefixes=["p"])
