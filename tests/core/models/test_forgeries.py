"""Training against those who try: forgeries as negatives of the person they imitate, for every loss."""

import numpy as np
import pytest
import torch

from qpwl_core.data.recordings import Recordings
from qpwl_core.models.embedder import build_embedder
from qpwl_core.models.losses import multi_similarity_loss, n_pair_loss, wasserstein_loss
from qpwl_core.models.methods import METHODS
from qpwl_core.training.loop import train
from qpwl_core.training.sampling import PairSampler
from qpwl_core.transport.distances import MEASURES, paired_by, pairwise_by
from tests.support.tiny import tiny_config, tiny_recordings

INF = float("inf")
LEARNED = [name for name, method in METHODS.items() if method.loss != "none" and method.network == "conv"]


def with_forgeries(people=8, forged=6, each=3):
    """Tiny recordings with forgeries of the first people."""
    genuine, random = tiny_recordings(people), np.random.default_rng(5)
    fakes = [genuine.sequences[6 * i] * [1, 0.3] + 0.1 * random.normal(size=genuine.sequences[6 * i].shape)
             for i in range(forged) for _ in range(each)]           # the one channel copied, the other too calm
    whom = [f"p{i}" for i in range(forged) for _ in range(each)]
    return Recordings([*genuine.sequences, *fakes], [*genuine.subjects, *(f"forger-of-{name}" for name in whom)],
                      genuine.channels, genuine.rate, [*genuine.stimuli, *["forgery"] * len(whom)], genuine.info,
                      [""] * len(genuine) + whom)


def matrix(n=4, seed=0):
    return torch.rand(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.double)


def test_losses_with_negatives_against_a_plain_loop():
    d, extra = matrix(), torch.tensor([[0.3, 0.9], [0.1, INF], [INF, INF], [0.7, 0.2]], dtype=torch.double)
    plain, others = d.numpy(), extra.numpy()
    terms = [[np.exp(plain[i, i] - x) for x in [*np.delete(plain[i], i), *others[i]]] for i in range(4)]
    assert wasserstein_loss(d, negatives=extra).item() == pytest.approx(sum(np.log1p(row).sum() for row in terms))
    multi = sum(np.log1p(sum(row)) for row in terms)
    assert wasserstein_loss(d, True, extra).item() == pytest.approx(multi)
    assert n_pair_loss(-d, negatives=-extra).item() == pytest.approx(multi / 4)
    near = multi_similarity_loss(-d, negatives=-extra)
    assert near > multi_similarity_loss(-d)


def test_shared_negatives_against_a_plain_loop():
    d, extra = matrix(), torch.tensor([[0.3], [INF], [0.1], [0.7]], dtype=torch.double)
    others = [x for i, row in enumerate(d.numpy()) for x in np.delete(row, i)] + extra.flatten().tolist()
    terms = [[np.exp(d[i, i].item() - x) for x in others] for i in range(4)]
    assert wasserstein_loss(d, negatives=extra, shared=True).item() == pytest.approx(
        sum(np.log1p(row).sum() for row in terms))
    multi = sum(np.log1p(sum(row)) for row in terms)
    assert wasserstein_loss(d, True, extra, shared=True).item() == pytest.approx(multi)
    assert n_pair_loss(-d, negatives=-extra, shared=True).item() == pytest.approx(multi / 4)


@pytest.mark.parametrize("method", ["qp-wl", "qp-npl"])
def test_a_forgery_that_weighs_two_is_two_forgeries(method):
    options = {"filters": 4, "layers": 2, "points": 3, "multi_class": True, "scale": 0.5}
    once, twice = (build_embedder(method, 2, **options, forgery_weight=weight) for weight in (1.0, 2.0))
    a, b, forged = torch.randn(3, 5, *once.shape).sort(-1).values
    there = torch.ones(5, 1, dtype=torch.bool)
    torch.testing.assert_close(twice.loss(a, b, None, forged[None], there),
                               once.loss(a, b, None, torch.stack([forged] * 2), there.expand(-1, 2)))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("multi_class", [False, True])
def test_one_threshold_is_a_mean_of_shared_terms(shared, multi_class):
    embedder = build_embedder("qp-wl", 2, filters=4, layers=2, points=3, scale=0.5, multi_class=multi_class,
                              one_threshold=shared)
    a, b = torch.randn(2, 5, 4, 5).sort(-1).values
    found = wasserstein_loss(0.5 * embedder.pairwise(a, b), multi_class, shared=shared)
    torch.testing.assert_close(embedder.loss(a, b), found / (5 if multi_class else 20 * (5 if shared else 1)))


@pytest.mark.parametrize("loss", [wasserstein_loss, n_pair_loss, multi_similarity_loss])
def test_negatives_infinitely_far_change_nothing(loss):
    sign = 1 if loss is wasserstein_loss else -1
    d = matrix().requires_grad_()
    far = torch.full((4, 2), sign * INF, dtype=torch.double)
    torch.testing.assert_close(loss(sign * d, negatives=far), loss(sign * d))
    loss(sign * d, negatives=far).backward()
    assert torch.isfinite(d.grad).all()


@pytest.mark.parametrize("measure", MEASURES)
def test_distances_one_by_one_are_the_diagonal(measure):
    x, levels = torch.randn(2, 5, 3, 6).sort(-1).values, torch.linspace(0, 1, 6)
    torch.testing.assert_close(paired_by(measure, *x, levels, 2.5), pairwise_by(measure, *x, levels, 2.5).diagonal())


def test_a_batch_has_the_forgeries_of_its_people():
    recordings = with_forgeries()
    sampler = PairSampler(recordings, 8, seed=1, forgeries=2)
    batch, again = sampler.batch(3), sampler.batch(3)
    assert torch.equal(batch.x, again.x)
    assert len(batch.x) == 4 * 8
    assert batch.forged.shape == (8, 2)
    people = batch.labels[:8]
    assert torch.equal(batch.labels, people.repeat(4))
    assert batch.forged.sum(1).tolist() == [2 if person < 6 else 0 for person in people.tolist()]
    plain = PairSampler(recordings.genuine(), 8, seed=1).batch(3)
    shown = min(plain.x.shape[2], batch.x.shape[2])
    assert torch.equal(batch.x[:16, :, :shown], plain.x[..., :shown]), "the pairs are those of a batch without"
    for i in range(8):
        if batch.forged[i, 0]:
            row, length = batch.x[16 + i], int(batch.lengths[16 + i])
            name = sampler_name(sampler, recordings, row[:, :length].T.numpy())
            assert recordings.imitates[name] == f"p{people[i]}"


def sampler_name(sampler, recordings, values):
    return next(i for i, x in enumerate(recordings.sequences) if x.shape == values.shape and np.array_equal(x, values))


@pytest.mark.parametrize("method", LEARNED)
def test_every_loss_learns_from_forgeries(method):
    recordings = with_forgeries()
    *_, last = train(tiny_config(method=method, forgeries=1), recordings)
    assert np.isfinite(last.best_auc)
    *_, without = train(tiny_config(method=method), recordings)
    a, b = (x.model.distances(x.model.embed(recordings)) for x in (last, without))
    assert not np.allclose(a, b)
    assert "forgeries" in last.model.config.to_dict()
    assert "forgeries" not in without.model.config.to_dict(), "what was written before it was there stays what it was"


def test_a_softmax_has_one_class_more_per_forged_person():
    embedder = build_embedder("qp-cls", 2, filters=3, layers=1, kernel=3, points=2, classes=10)
    a, b = torch.randn(2, 4, *embedder.shape)
    labels, forged = torch.tensor([0, 1, 2, 4]), torch.randn(1, 4, *embedder.shape)
    there = torch.tensor([[True], [False], [True], [True]])
    kept = there[:, 0]
    logits = embedder.head(torch.cat([a, b, forged[0][kept]]))
    wanted = torch.nn.functional.cross_entropy(logits, torch.cat([labels, labels, labels[kept] + 5]))
    torch.testing.assert_close(embedder.loss(a, b, labels, forged, there), wanted)


def test_forgeries_push_the_forgers_away():
    recordings = with_forgeries()
    far = {}
    for count in (0, 2):
        *_, last = train(tiny_config(method="qp-wl", forgeries=count, iterations=150, validate_every=150), recordings)
        seen = last.model.embed(recordings)
        d = last.model.distances(seen)
        genuine = np.array([d[i, (seen.subjects == seen.subjects[i]) & (np.arange(len(d)) != i)].mean()
                            for i in np.flatnonzero(seen.imitates == "")])
        fakes = np.array([d[i, seen.subjects == seen.imitates[i]].mean() for i in np.flatnonzero(seen.imitates != "")])
        far[count] = fakes.mean() / genuine.mean()
    assert far[2] > far[0]
