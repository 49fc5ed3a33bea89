import math
from dataclasses import replace

import pytest
import torch

from qpwl_core.models.embedder import build_embedder
from qpwl_core.models.losses import wasserstein_loss
from qpwl_core.models.methods import CHOICES, METHODS
from qpwl_core.models.pyramid import QuantilePyramid
from qpwl_core.transport.quantiles import QuantileLayer

CHANNELS, PEOPLE, LENGTH = 3, 4, 40
LEARNED = [name for name, method in METHODS.items() if method.loss != "none"]
SMALL = {"filters": 6, "layers": 3, "kernel": 3, "points": 5, "classes": PEOPLE, "length": LENGTH, "width": 0.1}


def build(name, seed=0, **options):
    torch.manual_seed(seed)
    return build_embedder(name, CHANNELS, **{**SMALL, **options})


def batch(n=PEOPLE, seed=0):
    """Two sequences per person, of several lengths; people differ in how their channels spread."""
    torch.manual_seed(seed)
    spread = torch.rand(n, CHANNELS, 1) * 3 + 0.2
    x = torch.randn(2, n, CHANNELS, LENGTH) * spread
    lengths = torch.randint(LENGTH // 2, LENGTH + 1, (2, n))
    return x, lengths, torch.arange(n)


def step(embedder, x, lengths, labels):
    both = embedder(x.flatten(0, 1), lengths.flatten())
    anchors, positives = both.chunk(2)
    return embedder.loss(anchors, positives, labels)


@pytest.mark.parametrize("name", METHODS)
def test_a_sequence_embeds_the_same_alone_and_in_any_batch(name):
    embedder, (x, lengths, labels) = build(name, stride=2), batch()
    for _ in range(3 if name in LEARNED else 0):
        step(embedder, x, lengths, labels)                    # batch norms get statistics
    embedder.eval()
    x, lengths = x[0], torch.tensor([LENGTH, 13, 2, 1])
    together = embedder(x, lengths)
    assert tuple(together.shape[1:]) == embedder.shape
    for i, n in enumerate(lengths.tolist()):
        alone = embedder(x[i:i + 1, :, :n], lengths[i:i + 1])
        torch.testing.assert_close(alone[0], together[i], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("n", [2, PEOPLE])
@pytest.mark.parametrize("name", LEARNED)
def test_the_loss_is_finite_with_gradients_to_every_parameter(name, n, batch_norm):
    embedder = build(name, batch_norm=batch_norm)
    (step(embedder, *batch(n)) + 1e-3 * embedder.penalty()).backward()
    for key, parameter in embedder.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None, key
            assert parameter.grad.isfinite().all(), key
            assert parameter.grad.any(), key


@pytest.mark.parametrize("name", METHODS)
def test_distances_are_a_matrix_and_nearest_to_itself(name):
    embedder, (x, lengths, _) = build(name).eval(), batch()
    with torch.no_grad():
        a, b = (embedder(x[i], lengths[i]) for i in range(2))
        d = embedder.pairwise(torch.cat([a, b]), a)
    nearest = -1.0 if METHODS[name].distance == "cosine" else 0.0
    assert d.shape == (2 * PEOPLE, PEOPLE)
    torch.testing.assert_close(d[:PEOPLE], d[:PEOPLE].T, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(d.diagonal(), torch.full((PEOPLE,), nearest), rtol=0, atol=1e-5)
    assert (d >= nearest - 1e-5).all()


@pytest.mark.parametrize("name", METHODS)
def test_the_state_is_the_whole_model(name):
    one, two, given = build(name, seed=1), build(name, seed=2), batch()
    step(one, *given)
    two.load_state_dict(one.state_dict())
    x, lengths, _ = given
    one.eval(), two.eval()
    assert torch.equal(one(x[0], lengths[0]), two(x[0], lengths[0]))
    assert torch.equal(step(one, *given), step(two, *given))
    # What is used after training lacks the head, and nothing else.
    used = build(name, seed=3, classes=0)
    used.load_state_dict({key: value for key, value in one.state_dict().items() if not key.startswith("head.")})
    assert torch.equal(one(x[0], lengths[0]), used.eval()(x[0], lengths[0]))


@pytest.mark.parametrize("name", METHODS)
def test_the_same_seed_gives_the_same_model(name):
    for a, b in zip(build(name).state_dict().values(), build(name).state_dict().values(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("name", LEARNED)
def test_thirty_steps_reduce_the_loss(name):
    embedder, given = build(name), batch()
    optimiser, seen = torch.optim.Adam(embedder.parameters(), lr=1e-2), []
    for _ in range(30):
        optimiser.zero_grad()
        loss = step(embedder, *given)
        loss.backward()
        optimiser.step()
        seen.append(loss.item())
    assert min(seen[-5:]) < 0.8 * seen[0]


@pytest.mark.parametrize("name", METHODS)
def test_rows_declare_what_is_built(name):
    method, embedder = METHODS[name], build(name)
    assert method.name == name
    assert method.title
    assert method.what
    quantile = isinstance(embedder.aggregation, (QuantileLayer, QuantilePyramid))
    assert (embedder.levels is not None) == quantile
    filters = CHANNELS if method.network == "none" else 6 * 7 if "pyramid" in method.aggregation else 6
    sizes = {None: (filters, 7) if quantile else embedder.shape, "inner": (filters * 5,), "all": (filters * 7,)}
    assert embedder.shape == sizes[method.flatten]
    assert (embedder.head is not None) == (method.loss == "softmax")


def test_the_papers_five_and_the_ones_beyond():
    assert [name for name, method in METHODS.items() if method.in_paper] == [
        "qp-wl", "qp-npl", "mp-npl", "qp-cls", "jaeger-2019"]
    assert {"mean-npl", "meanstd-npl", "attentive-npl", "qp-wl-fixed", "pswe-npl", "qp-ms"} <= set(METHODS)
    for field, choices in CHOICES.items():                    # no option that no row uses
        assert {getattr(method, field) for method in METHODS.values()} == set(choices)


def test_a_new_row_needs_no_code():
    row = replace(METHODS["qp-wl"], name="mine", loss="n-pair")
    embedder, given = build(row), batch()
    same = build("qp-wl", multi_class=True)                   # on a distance, the multi-class form is the N-pair loss
    torch.testing.assert_close(step(embedder, *given), step(same, *given))


@pytest.mark.parametrize("multi_class", [False, True])
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_qp_wl_is_the_papers_sum_over_its_terms(multi_class, p):
    embedder, (x, lengths, _) = build("qp-wl", scale=0.5, multi_class=multi_class, p=p), batch()
    a, b = (embedder(x[i], lengths[i]) for i in range(2))
    terms = PEOPLE if multi_class else PEOPLE * (PEOPLE - 1)
    want = wasserstein_loss(0.5 * embedder.pairwise(a, b), multi_class) / terms
    torch.testing.assert_close(embedder.loss(a, b), want)


@pytest.mark.parametrize("name", [name for name in LEARNED if METHODS[name].loss != "softmax"])
def test_both_ways_each_of_a_pair_is_the_anchor_once(name):
    one, both, (x, lengths, _) = build(name), build(name, both_ways=True), batch()
    a, b = (one(x[i], lengths[i]) for i in range(2))
    torch.testing.assert_close(both.loss(a, b), (one.loss(a, b) + one.loss(b, a)) / 2)
    torch.testing.assert_close(both.loss(a, b), both.loss(b, a))
    assert not torch.isclose(one.loss(a, b), one.loss(b, a), rtol=1e-4), "or this test sees nothing"


@pytest.mark.parametrize("name", ["qp-wl", "qp-npl", "qp-euclid"])
def test_the_scale_is_learned_or_given(name):
    learned, given = build(name), build(name, scale=3.0)
    assert learned.log_scale.requires_grad
    assert not given.log_scale.requires_grad
    assert given.log_scale.exp().item() == pytest.approx(3)
    assert set(learned.state_dict()) == set(given.state_dict())


@pytest.mark.parametrize("filters", [8, 32, 128])
@pytest.mark.parametrize("name", ["qp-wl", "qp-euclid"])
def test_distances_in_the_loss_start_at_a_few_units_whatever_the_size(name, filters):
    embedder, (x, lengths, _) = build(name, filters=filters, layers=8, kernel=5), batch(16)
    with torch.no_grad():
        values = embedder(x[0], lengths[0])
        typical = (embedder.log_scale.exp() * embedder.pairwise(values, values)).mean().item()
    assert 0.3 < typical < 30


def test_levels_learn_only_where_they_may():
    assert build("qp-wl").aggregation.gaps.requires_grad
    assert not build("qp-wl-fixed").aggregation.gaps.requires_grad


@pytest.mark.parametrize(("call", "name"), [
    (lambda: build("qp"), "method"),
    (lambda: build("qp-wl", scale=0), "scale"),
    (lambda: build("qp-wl", scale="big"), "scale"),
    (lambda: build("qp-wl", scale=math.nan), "scale"),
    (lambda: build("qp-wl", p=0.5), "p"),
    (lambda: build("qp-wl", points=0), "points"),
    (lambda: build("jaeger-2019", length=0), "length"),
    (lambda: build("qp-wl").loss(torch.rand(2, 6, 7), torch.rand(3, 6, 7)), "anchors and positives"),
    (lambda: build("qp-wl").loss(torch.rand(1, 6, 7), torch.rand(1, 6, 7)), "anchors and positives"),
    (lambda: build("mp-npl").loss(torch.rand(2, 5), torch.rand(2, 5)), "anchors and positives"),
    (lambda: build("qp-cls").loss(torch.rand(2, 30), torch.rand(2, 30)), "labels"),
    (lambda: build("qp-cls").loss(torch.rand(2, 30), torch.rand(2, 30), torch.arange(3)), "labels"),
    (lambda: build("qp-cls", classes=0).loss(torch.rand(2, 30), torch.rand(2, 30), torch.arange(2)), "classes"),
    (lambda: replace(METHODS["qp-wl"], aggregation="median"), "aggregation"),
    (lambda: replace(METHODS["qp-wl"], flatten="all"), "distance"),
    (lambda: replace(METHODS["mp-npl"], distance="wasserstein"), "distance"),
    (lambda: replace(METHODS["mp-npl"], flatten="all"), "flatten"),
    (lambda: replace(METHODS["qp-ms"], distance="euclidean"), "distance"),
])
def test_bad_input_is_one_sentence_that_names_the_argument(call, name):
    with pytest.raises(ValueError, match=f"^{name} must "):
        call()
