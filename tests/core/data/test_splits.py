"""Splits: disjoint, complete, reproducible, and blind to the order of the sequences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpwl_core.data.datasets import DATASETS
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.loading import load_recordings
from qpwl_core.data.recordings import Recordings
from qpwl_core.data.splits import split, split_dataset, split_validation
from qpwl_core.training.loop import train
from qpwl_core.training.run import Run
from tests.support.tiny import tiny_config, tiny_recordings


def people(count, stimuli=1, per=1):
    """Every one of ``count`` people with every stimulus, ``per`` times."""
    subjects = np.repeat([f"p{i:03d}" for i in range(count)], stimuli * per)
    names = np.tile(np.repeat([f"s{i}" for i in range(stimuli)], per), count)
    return Recordings([np.zeros((2, 1))] * len(subjects), subjects, ("x",), 2.0, names)


@pytest.mark.parametrize(("name", "train", "test"), [("diem", 105, 105), ("ltmm", 36, 35), ("uci-eeg-full", 61, 60)])
def test_sizes_of_the_paper(name, train, test):
    done = split_dataset(DATASETS[name], people(train + test, stimuli=4))
    subjects = done.table().set_index("part")["subjects"]
    assert subjects["train"] + subjects["validation"] == train
    assert subjects["test"] == test
    assert subjects["validation"] == round(0.2 * train)


def test_another_number_of_people_keeps_the_fraction():
    done = split(people(40), 105, 105)
    assert len(done.test) == 20
    assert len(split(people(10), 36, 35).test) == 5
    assert len(split(people(122), 61, 60).test) == 60


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5)), min_size=6, max_size=60), st.integers(0, 50),
       st.booleans(), st.floats(0, 0.9), st.randoms())
def test_disjoint_complete_reproducible(pairs, seed, stimuli_disjoint, validation, random):
    values = [np.full((1 + i % 3, 1), i) for i in range(len(pairs))]
    recordings = Recordings(values, [f"p{p}" for p, _ in pairs], ("x",), 1.0, [f"s{s}" for _, s in pairs])
    options = {"validation": validation, "stimuli_disjoint": stimuli_disjoint, "seed": seed}
    try:
        done = split(recordings, **options)
    except RecordingsError:
        return
    indices = np.concatenate(list(done.index.values()))
    assert sorted(indices) == list(range(len(pairs)))                     # every sequence in one part
    subjects = {part: set(recordings.subjects[index]) for part, index in done.index.items()}
    for a, b in (("train", "validation"), ("train", "test"), ("validation", "test")):
        assert not subjects[a] & subjects[b]
    if stimuli_disjoint:
        stimuli = {part: set(recordings.stimuli[index]) for part, index in done.index.items()}
        assert not (stimuli["train"] | stimuli["validation"]) & stimuli["test"]
    else:
        assert len(done.index["left out"]) == 0
    again = split(recordings, **options)
    order = list(range(len(pairs)))
    random.shuffle(order)
    shuffled = split(recordings.select(index=order), **options)
    for part, index in done.index.items():
        np.testing.assert_array_equal(index, again.index[part])
        assert sorted(np.array(order, dtype=int)[shuffled.index[part]]) == index.tolist()


def test_seed_changes_the_split():
    assert any((split(people(20), seed=0).index["test"] != split(people(20), seed=s).index["test"]).any()
               for s in range(1, 4))


def test_parts_and_table():
    done = split(people(10, stimuli=4, per=2), stimuli_disjoint=True)
    table = done.table().set_index("part")
    assert table.columns.tolist() == ["subjects", "sequences", "stimuli", "seconds"]
    assert table.index.tolist() == ["train", "validation", "test", "left out"]
    assert table.loc["train"].tolist() == [3, 12, 2, 12.0]
    assert table.loc["validation"].tolist() == [2, 8, 2, 8.0]
    assert table.loc["test"].tolist() == [5, 20, 2, 20.0]
    assert table.loc["left out", "sequences"] == 40
    assert len(done.train) == 12
    assert len(done.validation) == 8
    assert set(done.test.subjects).isdisjoint(done.train.subjects)


def test_no_validation():
    done = split(people(4), validation=0)
    assert len(done.index["validation"]) == 0
    with pytest.raises(RecordingsError):
        _ = done.validation


@pytest.mark.parametrize(("options", "match"), [
    ({"train_subjects": 3}, "test_subjects must be at least 1"),
    ({"train_subjects": -1, "test_subjects": 1}, "train_subjects must be at least 1"),
    ({"validation": 1.0}, "validation must be"), ({"validation": -0.1}, "validation must be"),
    ({"stimuli_disjoint": True}, "at least two stimuli")])
def test_bad_options(options, match):
    with pytest.raises(ValueError, match=match):
        split(people(6), **options)


def test_one_person_and_no_stimuli():
    with pytest.raises(RecordingsError, match="at least two subjects"):
        split(people(1, per=3))
    unnamed = Recordings([np.zeros((1, 1))] * 4, list("abcd"), ("x",), 1.0)
    with pytest.raises(RecordingsError, match="name their stimuli"):
        split(unnamed, stimuli_disjoint=True)
    apart = Recordings([np.zeros((1, 1))] * 2, ["a", "b"], ("x",), 1.0, ["u", "v"])
    results = []
    for seed in range(8):                                # whether a saw what training shows is a matter of the seed
        try:
            results.append(len(split(apart, stimuli_disjoint=True, seed=seed).test))
        except RecordingsError as error:
            results.append(str(error))
    assert set(results) == {1, "this split leaves no sequence for train: too few people saw the same stimuli"}


@pytest.mark.shared
def test_gazecom_split(shared_data):
    done = split_dataset(DATASETS["gazecom"], load_recordings(shared_data / "eye-gazecom-40.npz"))
    table = done.table().set_index("part")
    assert table["subjects"].tolist()[:3] == [16, 4, 19]       # one test person saw no test video
    assert table.loc[["train", "test"], "stimuli"].tolist() == [9, 9]
    assert table["sequences"].sum() == 619


@pytest.mark.parametrize(("people", "counts"), [(4, [1, 1, 2]), (8, [2, 2, 4]), (9, [2, 2, 5]), (30, [12, 3, 15])])
def test_two_validate_where_four_learn(people, counts):
    """The rule of training itself: what is shown is what a run uses."""
    found = split(tiny_recordings(people)).table().set_index("part")["subjects"]
    assert found[["train", "validation", "test"]].tolist() == counts


@pytest.mark.parametrize("seed", range(5))
def test_nobody_with_a_single_sequence_validates(seed):
    recordings = tiny_recordings(8)
    single = recordings.select(index=np.append(np.flatnonzero(recordings.subjects != "p0"), 0))
    assert "p0" not in split_validation(single, 0.2, seed)[1].subjects
    parts = split(single, seed=seed)
    assert "p0" not in parts.validation.subjects
    assert set(split(recordings, seed=seed).test.subjects) == set(parts.test.subjects)


def test_training_uses_the_validation_people_it_is_given():
    parts = split(tiny_recordings(8))
    *_, last = train(tiny_config(), parts.train, validation=parts.validation)
    assert last.model.card["data"]["subjects"] == 4
    again = Run(tiny_config(), parts.train, parts.validation)
    assert set(again.validate[0].subjects) == set(parts.validation.subjects)
    assert again.sampler.classes == 2


@pytest.mark.parametrize("seed", range(20))
def test_somebody_with_a_single_sequence_makes_nothing_untrainable(seed):
    """Who validates is drawn among those who can, and two with a pair are left to learn from."""
    for pairs, singles in ((6, 1), (6, 6), (8, 3), (10, 1)):
        subjects = [f"a{i}" for i in range(pairs) for _ in range(2)] + [f"b{i}" for i in range(singles)]
        recordings = Recordings([np.zeros((4, 1))] * len(subjects), subjects, ("x",), 10)
        parts = split(recordings, seed=seed)
        learn, validate = (np.unique(part.subjects, return_counts=True)[1] for part in (parts.train, parts.validation))
        assert (learn >= 2).sum() >= 2
        assert len(validate)
        assert (validate >= 2).all()
        learn, validate = split_validation(recordings, 0.2, seed)
        assert (np.unique(validate.subjects, return_counts=True)[1] >= 2).all()
