"""What each filter contributes: parts add up to the distance, whoever asks, and everyone gets the same answer."""

import numpy as np
import pytest
import torch

from qpwl_core.desk.space import gallery_embeddings, space_of_gallery
from qpwl_core.evaluation.explain import pair_parts
from qpwl_core.evaluation.filter_parts import excess, filter_parts
from qpwl_core.models.gallery import build_gallery, load_gallery
from qpwl_core.models.methods import METHODS, by_filter
from qpwl_core.training.loop import train
from qpwl_core.transport.distances import MEASURES, pairwise_by
from tests.support.places import ROOT
from tests.support.tiny import tiny_config, tiny_recordings

LEVELS = torch.linspace(0, 1, 6)


def functions(n=5, filters=7, seed=0):
    """Quantile functions (n, K, 6)."""
    return torch.randn(n, filters, 6, generator=torch.Generator().manual_seed(seed)).sort(-1).values


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("p", [1.0, 2.5])
def test_parts_add_up_to_the_distance(measure, p):
    a, b = functions(seed=1), functions(seed=2)
    parts = filter_parts(measure, a, b, LEVELS, p)
    assert parts.shape == (5, 7)
    distance = pairwise_by(measure, a, b, LEVELS, p).diagonal()
    np.testing.assert_allclose(parts.sum(1), distance, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("measure", MEASURES)
def test_what_is_above_the_start_is_never_negative_and_nought_for_equals(measure):
    a, b = functions(seed=1), functions(seed=2)
    assert (excess(measure, a, b, LEVELS) >= 0).all()
    np.testing.assert_allclose(excess(measure, a, a, LEVELS), 0, atol=1e-12)
    b[:, 3] = a[:, 3]
    found = excess(measure, a, b, LEVELS)
    assert (found[:, 3] == 0).all() or measure == "cosine", "equal in both: nothing"


def test_a_cosine_part_is_about_what_differs_and_not_about_what_is_loud():
    a = torch.tensor([[[10.0], [1.0], [0.0]]])
    b = torch.tensor([[[10.0], [0.0], [1.0]]])                     # loud and equal in the first filter
    parts = filter_parts("cosine", a, b)[0]
    assert parts.argmin() == 0
    assert parts[0] == pytest.approx(-1 / 3)
    assert parts[1] == parts[2] > parts[0]


def test_noughts_have_no_direction_and_no_nan():
    zero, one = torch.zeros(1, 2, 3), torch.ones(1, 2, 3)
    assert torch.isfinite(filter_parts("cosine", zero, one)).all()
    assert filter_parts("euclidean", zero, zero).tolist() == [[0, 0]]


def test_wasserstein_needs_its_levels():
    with pytest.raises(ValueError, match="levels must name"):
        filter_parts("wasserstein", functions(), functions())


@pytest.mark.parametrize("method", [name for name, row in METHODS.items()
                                    if row.network != "jaeger" and row.distance != "dtw"])
def test_the_desk_the_pages_and_the_core_say_the_same(method):
    """One attribution: of a gallery's sequences, and of the same sequences at the desk."""
    recordings = tiny_recordings()
    *_, last = train(tiny_config(method=method), recordings)
    gallery = build_gallery(last.model, recordings)
    space, own = space_of_gallery(gallery), gallery_embeddings(gallery)
    rows, columns = np.array([0, 5, 20]), np.array([9, 30, 2])
    parts = pair_parts(gallery, rows, columns)
    np.testing.assert_allclose(space.by_filter(own[rows], own[columns]), parts, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(parts.sum(1), gallery.distances()[rows, columns], rtol=1e-4, atol=1e-5)
    knots = 0 if gallery.model_levels is None else len(gallery.model_levels)
    assert by_filter(own, METHODS[method], knots).flatten(1).shape == own.flatten(1).shape


def test_the_pair_on_which_the_page_distances_disagreed():
    """Of gait-hapt-qp-npl: the filter that decides a pair is the same one wherever it is asked for."""
    test = load_gallery(ROOT / "models" / "gait-hapt-qp-npl").part("test")
    seen = test.embeddings().values[..., 1:-1].double()
    rows, columns = np.arange(0, 40), np.arange(40, 80)
    on_distances = excess("cosine", seen[rows], seen[columns]).argmax(1)
    np.testing.assert_array_equal(pair_parts(test, rows, columns).argmax(1), on_distances)
    space, own = space_of_gallery(test), gallery_embeddings(test)
    np.testing.assert_array_equal(space.by_filter(own[rows], own[columns]).argmax(1), on_distances)
