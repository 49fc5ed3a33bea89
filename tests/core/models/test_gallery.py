"""Galleries: what is re-evaluated from one is what the model itself would give."""

from collections import deque

import numpy as np
import pytest
import torch

from qpwl_core.common.files import FileError, read_tensors, write_tensors
from qpwl_core.models.gallery import build_gallery, dense_levels, load_gallery, resampled
from qpwl_core.models.methods import METHODS
from qpwl_core.models.model import load_model
from qpwl_core.training.loop import train
from qpwl_core.transport.distances import pairwise_wasserstein
from qpwl_core.transport.quantiles import QuantileLayer
from tests.support.tiny import tiny_config, tiny_recordings


def trained(method="qp-wl"):
    domain = "eye" if method == "jaeger-2019" else "generic"
    learn = tiny_recordings(domain=domain)
    return deque(train(tiny_config(method=method, domain=domain), learn), maxlen=1).pop().model


@pytest.fixture(scope="module")
def model():
    return trained()


def others(people=5, seed=9, domain="generic"):
    return tiny_recordings(people=people, seed=seed, domain=domain)


@pytest.mark.parametrize("method", [name for name, row in METHODS.items() if row.distance != "dtw"])
def test_own_distances_are_the_models(method, tmp_path):
    model = trained(method)
    test = others(domain="eye" if method == "jaeger-2019" else "generic")
    wanted = model.distances(model.embed(test))
    gallery = build_gallery(model, test)
    np.testing.assert_allclose(gallery.distances(), wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())
    model.save(tmp_path)
    gallery.save(tmp_path)
    again = load_gallery(tmp_path)
    assert again.model == load_model(tmp_path).checksum
    np.testing.assert_allclose(again.distances(), wanted, atol=5e-3 * np.abs(wanted).max())


@pytest.mark.parametrize(("points", "p"), [(1, 1.0), (16, 2.0), (64, 1.0), (64, 3.0)])
def test_any_m_and_p_is_close_to_a_layer_with_that_m(model, points, p):
    test = others()
    layer = QuantileLayer(points, learn_levels=False)
    seen, _ = model.recipe.cut(test)
    exact = model.each(seen, lambda x, n: layer(*model.embedder.network(x, n)))
    wanted = pairwise_wasserstein(exact, exact, layer.levels, p).numpy()
    got = build_gallery(model, test).distances(points=points, p=p)
    np.testing.assert_allclose(got, wanted, atol=0.05 * wanted.max())


def test_parts_and_sources_stay_apart(model):
    gallery = build_gallery(model, others(5), others(3, seed=4))
    assert (len(gallery), len(gallery.part("test")), len(gallery.part("calibration"))) == (48, 30, 18)
    assert len(np.unique(gallery.sources)) == 48
    assert gallery.part("calibration").people == ["p0", "p1", "p2"]
    with pytest.raises(ValueError, match="part must be one of"):
        gallery.part("train")
    between = gallery.part("test").distances(other=gallery.part("calibration"))
    np.testing.assert_array_equal(between, gallery.distances()[:30, 30:])


def test_resampling_is_exact_at_kept_levels_and_linear_between():
    random = np.random.default_rng(0)
    levels = dense_levels(np.array([0, 0.1234, 0.5, 0.77, 1]))
    values = np.sort(random.normal(size=(2, 3, len(levels))))
    np.testing.assert_array_equal(resampled(values, levels, levels), values)
    wanted = random.random(50)
    for i in range(2):
        for k in range(3):
            np.testing.assert_allclose(resampled(values, levels, wanted)[i, k], np.interp(wanted, levels, values[i, k]))


def test_measures(model):
    gallery = build_gallery(model, others())
    for measure in ("wasserstein", "cosine", "euclidean"):
        assert gallery.distances(measure, points=8).shape == (30, 30)
    with pytest.raises(ValueError, match="measure must be one of wasserstein, cosine, euclidean"):
        gallery.distances("manhattan")
    with pytest.raises(ValueError, match="points"):
        gallery.distances(points=0)
    flat = gallery.embeddings().values[..., 1:-1].flatten(1)
    cosine = -torch.nn.functional.cosine_similarity(flat[:, None], flat[None], dim=2)
    np.testing.assert_allclose(gallery.distances("cosine"), cosine.numpy(), atol=1e-5)


@pytest.mark.parametrize(("change", "message"), [
    ({"format": "other"}, "is not the gallery"), ({"version": 9}, "another version"),
    ({"subjects": ["a"]}, "subjects must hold one entry"), ({"method": "nope"}, "no method"),
    ({"parts": ["x"] * 30}, "parts must be"), ({"p": None}, "not a gallery this version"),
])
def test_a_file_that_is_none_is_one_sentence(model, tmp_path, change, message):
    build_gallery(model, others()).save(tmp_path)
    path = tmp_path / "gallery.safetensors"
    arrays, facts = read_tensors(path)
    write_tensors(path, arrays, facts | change)
    with pytest.raises(FileError, match=message):
        load_gallery(tmp_path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(FileError, match="truncated"):
        load_gallery(tmp_path)
