import pytest
import torch
from pytorch_metric_learning import losses, miners

from qpwl_core.transport.distances import pairwise_wasserstein, wasserstein
from qpwl_core.transport.metric_learning import WassersteinDistance
from qpwl_core.transport.quantiles import QuantileLayer


@pytest.fixture
def embeddings():
    torch.manual_seed(0)
    layer = QuantileLayer(6)
    x = torch.randn(12, 4, 50) * torch.arange(1, 5).repeat(3)[:, None, None]
    return layer(x).detach(), layer.levels.detach(), torch.arange(4).repeat(3)


def test_the_matrix_is_ours(embeddings):
    values, levels, _ = embeddings
    distance = WassersteinDistance(levels, p=2)
    torch.testing.assert_close(distance(values.flatten(1)), pairwise_wasserstein(values, values, levels, 2))
    torch.testing.assert_close(distance.pairwise_distance(values[:6].flatten(1), values[6:].flatten(1)),
                               wasserstein(values[:6], values[6:], levels, 2))


@pytest.mark.parametrize("make", [
    lambda d: losses.TripletMarginLoss(margin=1.0, distance=d), lambda d: losses.ContrastiveLoss(0, 2, distance=d),
    lambda d: losses.NTXentLoss(distance=d)])
def test_its_losses_train_on_d_p(make, embeddings):
    values, levels, labels = embeddings
    free = values.clone().requires_grad_()
    loss = make(WassersteinDistance(levels))
    optimiser, seen = torch.optim.Adam([free], lr=0.05), []
    for _ in range(30):
        optimiser.zero_grad()
        value = loss(free.flatten(1), labels)
        value.backward()
        optimiser.step()
        seen.append(value.item())
    assert seen[-1] < 0.8 * seen[0]


def test_its_miners_mine_on_d_p(embeddings):
    values, levels, labels = embeddings
    distance = WassersteinDistance(levels)
    anchor, positive, negative = miners.TripletMarginMiner(margin=0.5, distance=distance)(values.flatten(1), labels)
    d = pairwise_wasserstein(values, values, levels)
    assert len(anchor)
    assert (d[anchor, negative] - d[anchor, positive] <= 0.5 + 1e-5).all()


def test_a_wrong_shape_is_named(embeddings):
    values, levels, labels = embeddings
    with pytest.raises(ValueError, match="^embeddings must "):
        losses.TripletMarginLoss(distance=WassersteinDistance(levels))(values.flatten(1)[:, :-1], labels)
