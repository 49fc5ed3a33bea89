"""Shapes without values: every method, layer and distance on fake CUDA tensors, and on the meta device."""

import pytest
import torch

from qpwl_core.models.aggregation import AGGREGATIONS
from qpwl_core.models.embedder import build_embedder
from qpwl_core.models.losses import multi_similarity_loss, n_pair_loss, wasserstein_loss
from qpwl_core.models.methods import METHODS
from qpwl_core.transport.distances import DISTANCES, pairwise_by, wasserstein
from qpwl_core.transport.quantiles import QuantileLayer, density, empirical_quantiles, interpolate_quantiles
from tests.support.fake_cuda import fake_cuda, moved

B, D, T, M = 6, 4, 40, 5


@pytest.fixture(params=["fake cuda", "meta"])
def device(request):
    """A device whose tensors have no values."""
    if request.param == "meta":
        yield torch.device("meta")
        return
    with fake_cuda() as cuda:
        yield cuda


@pytest.mark.parametrize("host", [True, False], ids=["lengths on the CPU", "lengths there"])
@pytest.mark.parametrize("method", METHODS)
def test_methods(method, host, device):
    options = {"filters": 8, "layers": 2, "points": M, "classes": 7, "length": T, "width": 0.1, "batch_norm": True}
    embedder, x = moved(build_embedder(method, D, **options), device), torch.empty(B, D, T, device=device)
    lengths = torch.full((B,), T - 3, device=device if device.type == "meta" else "cpu" if host else device)
    for training in (True, False):
        embedder.train(training)
        embedded = embedder(x, lengths)
        assert embedded.shape == (B, *embedder.shape)
        assert embedded.device == device
    if METHODS[method].loss != "none":
        labels = torch.zeros(B // 2, dtype=torch.long, device=device)
        loss = embedder.loss(*embedded.chunk(2), labels)
        assert loss.shape == ()
        assert loss.device == device
    between = embedder.pairwise(embedded, embedded[:2])
    assert between.shape == (B, 2)
    assert between.device == device


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_layers(name, device):
    layer, y = moved(AGGREGATIONS[name](8, M), device), torch.empty(B, 8, T, device=device)
    out = layer(y, torch.full((B,), T, device=device if device.type == "meta" else "cpu"))
    assert out.shape[0] == B
    assert out.device == device


@pytest.mark.parametrize("p", [1.0, 2.0, 2.5])
@pytest.mark.parametrize("measure", DISTANCES)
def test_distances(measure, p, device):
    a, b, levels = (torch.empty(*shape, device=device) for shape in ((5, 8, M), (3, 8, M), (M,)))
    assert pairwise_by(measure, a, b, levels, p).shape == (5, 3)
    if measure == "wasserstein":
        assert wasserstein(a, b[0], levels, p, per_filter=True).shape == (5, 8)
        other = torch.empty(5, 8, M + 1, device=device)
        assert wasserstein(a, other, levels, p, levels_b=torch.empty(M + 1, device=device)).shape == (5,)


def test_functions_and_losses(device):
    x, levels = torch.empty(B, 8, T, device=device), torch.empty(M, device=device)
    assert empirical_quantiles(x, None, levels).shape == (B, 8, M)
    assert moved(QuantileLayer(M), device)(x).shape == (B, 8, M + 2)
    values = torch.empty(B, M, device=device)
    assert interpolate_quantiles(values, levels, torch.empty(9, device=device)).shape == (B, 9)
    assert density(values, levels)[1].shape == (B, M - 1)
    matrix = torch.empty(B, B, device=device)
    for loss in (wasserstein_loss, n_pair_loss, multi_similarity_loss):
        assert loss(matrix).shape == ()
        assert loss(matrix, negatives=torch.empty(B, 2, device=device)).shape == ()


@pytest.mark.parametrize("wrong", [lambda x: x.double().long(), lambda x: x[0]])
def test_shapes_and_types_are_checked_all_the_same(wrong, device):
    with pytest.raises(ValueError, match="x must"):
        moved(QuantileLayer(M), device)(wrong(torch.empty(B, 8, T, device=device)))
