"""What the Filters and Distances pages compute: naive loops, known answers, edges."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import roc_auc_score

from qpwl_core.evaluation.pairs import as_length, classical_map, disagreeing, filter_aucs, pairs_of, ranks, some_of_each
from qpwl_core.transport.distances import pairwise_cosine, wasserstein

SUBJECTS = np.array(["a", "a", "a", "b", "b", "c"])
SOURCES = np.array([0, 0, 1, 2, 3, 4])


def functions(n=6, k=3, points=9, seed=0):
    random = np.random.default_rng(seed)
    levels = torch.linspace(0, 1, points)
    return torch.from_numpy(np.sort(random.normal(size=(n, k, points)), 2).astype(np.float32)), levels


def test_pairs_of_one_recording_do_not_count():
    found = pairs_of(SUBJECTS, SOURCES)
    listed = list(zip(found.first.tolist(), found.second.tolist(), found.genuine.tolist(), strict=True))
    wanted = [(i, j, bool(SUBJECTS[i] == SUBJECTS[j])) for i in range(6) for j in range(i + 1, 6) if (i, j) != (0, 1)]
    assert listed == wanted
    assert len(found) == 14


@pytest.mark.parametrize(("subjects", "sources"), [
    (["a", "a"], [0, 1]), (["a", "b"], [0, 1]), (["a", "a", "b"], [0, 0, 1]), ([], [])])
def test_too_few_people_or_recordings_are_one_sentence(subjects, sources):
    with pytest.raises(ValueError, match="two people or more"):
        pairs_of(subjects, sources)


def test_some_of_each_takes_other_recordings_first():
    assert some_of_each(SUBJECTS, SOURCES, 2).tolist() == [0, 2, 3, 4, 5]
    assert some_of_each(SUBJECTS, SOURCES, 99).tolist() == list(range(6))
    assert some_of_each([], [], 3).tolist() == []


@pytest.mark.parametrize("p", [1.0, 2.5])
def test_filter_aucs_are_scikit_learns(p):
    values, levels = functions()
    found = pairs_of(SUBJECTS, SOURCES)
    for k, score in enumerate(filter_aucs(values, levels, found, p)):
        one = [-wasserstein(values[i, k:k + 1], values[j, k:k + 1], levels, p).item()
               for i, j in zip(found.first, found.second, strict=True)]
        assert score == pytest.approx(roc_auc_score(found.genuine, one))


def test_a_filter_that_names_people_is_first():
    values, levels = functions(k=2)
    values[:, 1] = torch.tensor([0.0, 0, 0, 5, 5, 9])[:, None] + 0.01 * values[:, 1]
    aucs = filter_aucs(values, levels, pairs_of(SUBJECTS, SOURCES))
    assert aucs[1] == 1
    assert aucs.argmax() == 1


def test_a_map_of_a_plane_is_the_plane():
    points = np.random.default_rng(0).normal(size=(20, 2))
    found, share = classical_map(squareform(pdist(points)))
    np.testing.assert_allclose(pdist(found), pdist(points), atol=1e-9)
    assert share == pytest.approx(1)
    found, share = classical_map(squareform(pdist(np.random.default_rng(0).normal(size=(20, 12)))))
    assert found.shape == (20, 2)
    assert 0.1 < share < 0.6


def test_a_map_of_no_distances_is_one_point():
    found, share = classical_map(np.zeros((4, 4)))
    assert share == 0
    np.testing.assert_allclose(found, 0)


def test_cosines_become_lengths_of_unit_vectors():
    x = torch.randn(5, 7, generator=torch.Generator().manual_seed(0))
    lengths = as_length(pairwise_cosine(x, x).numpy(), "cosine")
    unit = (x / x.norm(dim=1, keepdim=True)).numpy()
    np.testing.assert_allclose(lengths, squareform(pdist(unit)), atol=1e-3)
    assert as_length(lengths, "wasserstein") is lengths


def test_disagreeing_pairs_share_no_sequence():
    found = pairs_of(SUBJECTS, SOURCES)
    gap = np.random.default_rng(0).normal(size=len(found))
    chosen = disagreeing(found, gap, 2)
    assert chosen[0] == np.abs(gap).argmax()
    used = [int(x) for i in chosen for x in (found.first[i], found.second[i])]
    assert len(used) == len(set(used)) == 4
    assert len(disagreeing(found, gap, 99)) <= 3


def test_ranks():
    np.testing.assert_allclose(ranks(np.array([3.0, 1.0, 2.0])), [1, 0, 0.5])
    assert ranks(np.array([3.0])).tolist() == [0]
