"""The number that training watches."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from qpwl_core.evaluation.validation import validation_auc


def naive(distances, subjects, groups):
    """Loops and scikit-learn."""
    scores, genuine = [], []
    for i, who in enumerate(subjects):
        for person in sorted(set(subjects)):
            others = [distances[i, j] for j in range(len(subjects))
                      if j != i and subjects[j] == person and (groups is None or groups[j] != groups[i])]
            if others:
                scores.append(-min(others))
                genuine.append(who == person)
    return roc_auc_score(genuine, scores)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("grouped", [False, True])
def test_as_loops_say(seed, grouped):
    random = np.random.default_rng(seed)
    distances = random.normal(size=(20, 20)).round(1)                # ties, too
    subjects = random.choice(["a", "b", "c", "alone"], 20, p=[0.4, 0.3, 0.2, 0.1])
    groups = random.integers(0, 4, 20) if grouped else None
    assert validation_auc(distances, subjects, groups) == pytest.approx(naive(distances, subjects, groups), abs=1e-12)


def test_known_answers():
    subjects = np.array(["a", "a", "b", "b"])
    near = np.where(subjects[:, None] == subjects, 1.0, 2.0)
    assert validation_auc(near, subjects) == 1
    assert validation_auc(-near, subjects) == 0
    assert validation_auc(np.ones((4, 4)), subjects) == 0.5


def test_nothing_to_tell_apart():
    assert validation_auc(np.zeros((3, 3)), np.array(["a"] * 3)) == 0.5
    assert validation_auc(np.zeros((3, 3)), np.array(["a", "b", "c"])) == 0.5


def test_groups_that_leave_nothing_genuine_are_ignored():
    """One recording a person, cut into windows: better compared with each other than not at all."""
    subjects = np.array(["a", "a", "b", "b"])
    near = np.where(subjects[:, None] == subjects, 1.0, 2.0)
    assert validation_auc(near, subjects, np.array([0, 0, 1, 1])) == 1


def test_distances_are_left_as_they_were():
    distances = np.ones((2, 2))
    validation_auc(distances, np.array(["a", "b"]), np.array([0, 0]))
    assert (distances == 1).all()
