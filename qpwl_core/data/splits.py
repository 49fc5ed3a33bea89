"""Splits as in the paper: training and test share no person and, for eye movements, no stimulus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.recordings import Recordings

PARTS = ("train", "validation", "test", "left out")


@dataclass(frozen=True, eq=False)
class Split:
    """Recordings in parts; ``index[part]`` are the sequences of a part, as indices in their order."""

    recordings: Recordings
    index: dict[str, np.ndarray]

    @property
    def train(self) -> Recordings:
        """What models learn from."""
        return self.recordings.select(index=self.index["train"])

    @property
    def validation(self) -> Recordings:
        """Training people set aside to tune with."""
        return self.recordings.select(index=self.index["validation"])

    @property
    def test(self) -> Recordings:
        """People never seen in training."""
        return self.recordings.select(index=self.index["test"])

    def table(self):
        """One row per part: part, subjects, sequences, stimuli, seconds (a DataFrame).

        Left out are sequences of a training person with a test stimulus, or the other way round.
        """
        import pandas as pd

        names, stimuli = self.recordings.claims, self.recordings.stimuli
        lengths = self.recordings.lengths
        return pd.DataFrame([{
            "part": part, "subjects": len(np.unique(names[index])), "sequences": len(index),
            "stimuli": 0 if stimuli is None else len(np.unique(stimuli[index])),
            "seconds": float(lengths[index].sum() / self.recordings.rate),
        } for part, index in self.index.items()])


def split(recordings: Recordings, train_subjects=0, test_subjects=0, validation=0.2, stimuli_disjoint=False,
          seed=0) -> Split:
    """Divide the people at random into training, validation and test.

    ``train_subjects`` and ``test_subjects`` are the paper's counts (105 and 105, 36 and 35, 61 and 60); where the
    recordings have another number of people, the same fraction is used; 0 and 0 is one half each. ``validation`` is
    the fraction of training people who are set aside to validate on, chosen as `split_validation` does. With
    ``stimuli_disjoint`` half of the stimuli are for training and validation, the other half for test. The split depends
    on the names and the seed alone (and on who has a single sequence), not on the order of the sequences.

    >>> four = Recordings([np.zeros((1, 1))] * 4, ["a", "b", "c", "d"], ("x",), 1.0)
    >>> split(four).table()["subjects"].tolist()
    [1, 1, 2, 0]
    """
    for what, value in (("train_subjects", train_subjects), ("test_subjects", test_subjects)):
        if value < 0 or (value == 0) != (train_subjects + test_subjects == 0):
            raise ValueError(f"{what} must be at least 1, or both counts 0 for one half each, not {value}")
    if not 0 <= validation < 1:
        raise ValueError(f"validation must be a fraction from 0 to below 1, not {validation}")
    random = np.random.default_rng(seed)
    people = random.permutation(recordings.people)
    if len(people) < 2:
        raise RecordingsError("a split needs at least two subjects, one to train and one to test, and there is one")
    counts = (train_subjects, test_subjects) if train_subjects else (1, 1)
    first = min(max(round(len(people) * counts[0] / sum(counts)), 1), len(people) - 1)
    people = _trainable(recordings, people, first)
    held = _validation_people(recordings, people[first - 1::-1], validation) if validation and first > 1 else []
    groups = {"train": people[:first][~np.isin(people[:first], held)], "validation": np.array(held, dtype=people.dtype),
              "test": people[first:]}
    index = {part: np.isin(recordings.claims, names) for part, names in groups.items()}
    if stimuli_disjoint:
        if recordings.stimuli is None:
            raise RecordingsError("stimuli_disjoint needs recordings that name their stimuli, and these do not")
        seen = random.permutation(np.unique(recordings.stimuli))
        if len(seen) < 2:
            raise RecordingsError("stimuli_disjoint needs at least two stimuli, and there is one")
        of_training = np.isin(recordings.stimuli, seen[:(len(seen) + 1) // 2])
        index = {part: mask & (~of_training if part == "test" else of_training) for part, mask in index.items()}
    for part, mask in index.items():
        if len(groups[part]) and not mask.any():
            raise RecordingsError(f"this split leaves no sequence for {part}: too few people saw the same stimuli")
    index["left out"] = ~np.logical_or.reduce(list(index.values()))
    return Split(recordings, {part: np.flatnonzero(index[part]) for part in PARTS})


def split_dataset(dataset, recordings: Recordings, seed=0) -> Split:
    """The split that a registered data set declares."""
    return split(recordings, dataset.train_subjects, dataset.test_subjects, stimuli_disjoint=dataset.stimuli_disjoint,
                 seed=seed)


def split_validation(recordings: Recordings, fraction: float, seed: int) -> tuple[Recordings, Recordings]:
    """Training and validation people: a fraction of them set aside, leaving two to learn from.

    At least two are set aside where there are four or more, since one person alone cannot be confused with anyone; and
    only people with two sequences, since one sequence alone has nothing to be compared with.
    """
    people = np.random.default_rng(seed).permutation(recordings.people)
    if len(people) < 3:
        raise RecordingsError("training needs at least three people, two to learn from and one to validate on, and "
                              f"there {'is' if len(people) == 1 else 'are'} {len(people)}")
    held = np.isin(recordings.claims, _validation_people(recordings, people, fraction))
    return recordings.select(index=~held), recordings.select(index=held)


def _validation_people(recordings: Recordings, people: np.ndarray, fraction: float) -> list[str]:
    """Whom to validate on: the first of these people who can, a fraction of all, two or more where four are there."""
    able = _able(recordings, people)
    count = max(round(fraction * len(people)), 2 if len(people) >= 4 else 1)
    most = max(min(len(people), len(able) or len(people)) - 2, 1)    # two who have a pair are left to learn from
    return (able or people.tolist())[:min(count, most)]


def _able(recordings: Recordings, people: np.ndarray) -> list[str]:
    """Those of the people who have two genuine sequences or more: a pair to learn from, or to validate with."""
    names, counts = np.unique(recordings.subjects[~recordings.is_forgery], return_counts=True)
    return [name for name in people.tolist() if counts[np.searchsorted(names, name)] >= 2]


def _trainable(recordings: Recordings, people: np.ndarray, first: int) -> np.ndarray:
    """The people in an order of which the first can be trained on, where they can: three who have two sequences each.

    Nothing changes where the first are enough already. Else those with a single sequence change places with others.
    """
    able, people = set(_able(recordings, people)), people.copy()
    give = [i for i in range(first) if people[i] not in able]
    take = [i for i in range(first, len(people)) if people[i] in able]
    short = min(3, first) - (first - len(give))
    for i, j in list(zip(give, take, strict=False))[:max(short, 0)]:
        people[i], people[j] = people[j], people[i]
    return people
