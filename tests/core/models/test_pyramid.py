"""The pyramid: of one piece it is QP-WL bit for bit; pieces keep order, the whole does not; padding never counts."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from qpwl_core.models.embedder import build_embedder
from qpwl_core.models.gallery import build_gallery, load_gallery
from qpwl_core.models.model import load_model
from qpwl_core.models.pyramid import QuantilePyramid, pieces
from qpwl_core.models.storeys import piece_names, pyramid_of
from qpwl_core.training.loop import train
from qpwl_core.transport.distances import wasserstein
from qpwl_core.transport.quantiles import QuantileLayer
from tests.support.tiny import tiny_config, tiny_recordings


def filters(b=3, k=4, t=23, seed=0):
    return torch.randn(b, k, t, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("text", ["", "0", "1+1", "a", "1+", "2.5", "65", "1+64", None])
def test_what_is_no_pyramid(text):
    with pytest.raises(ValueError, match="pyramid must be"):
        pyramid_of(text)


@given(st.integers(1, 60), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_pieces_cover_a_sequence_once_and_in_order(length, count):
    """Of N >= s frames, each stands in one piece; of fewer, every piece has one frame."""
    y = torch.arange(float(length + 5)).expand(1, 1, -1)
    found = [pieces(y, torch.tensor([length]), count, j) for j in range(count)]
    frames = [piece[0, 0, :n].tolist() for piece, (n,) in found]
    assert all(len(piece) >= 1 for piece in frames)
    if length >= count:
        assert [frame for piece in frames for frame in piece] == list(range(length))
    else:
        assert all(0 <= frame < length for piece in frames for frame in piece)


def test_each_piece_is_the_quantile_function_of_its_frames():
    y, layer = filters(1, 2, 17), QuantilePyramid(5, (1, 2, 4))
    found = layer(y, torch.tensor([17]))[0].unflatten(0, (7, 2))                  # (P, K, M+2)
    plain, cuts = QuantileLayer(5), [(0, 17), (0, 8), (8, 17), (0, 4), (4, 8), (8, 12), (12, 17)]
    for piece, (start, end), weight in zip(found, cuts, layer.weights, strict=True):
        alone = plain(y[..., start:end], torch.tensor([end - start]))[0]
        torch.testing.assert_close(piece, weight * alone)
    assert layer.weights.tolist() == pytest.approx([1, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25])


def test_of_one_piece_it_is_the_quantile_layer_bit_for_bit():
    y, lengths = filters(), torch.tensor([23, 1, 9])
    assert torch.equal(QuantilePyramid(6, (1,))(y, lengths), QuantileLayer(6)(y, lengths))
    recordings = tiny_recordings()
    *_, one = train(tiny_config(method="qp-wl-pyramid", pyramid="1"), recordings)
    *_, plain = train(tiny_config(method="qp-wl"), recordings)
    assert np.array_equal(one.model.distances(one.model.embed(recordings)),
                          plain.model.distances(plain.model.embed(recordings)))


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_shuffled_frames_leave_the_whole_and_move_the_pieces(seed):
    y, lengths = filters(2, 3, 40, seed), torch.tensor([40, 40])
    order = torch.randperm(40, generator=torch.Generator().manual_seed(seed))
    whole, pyramid = QuantilePyramid(8, (1,)), QuantilePyramid(8, (1, 2, 4))
    assert torch.equal(whole(y[..., order], lengths), whole(y, lengths))
    moved = wasserstein(pyramid(y[..., order], lengths), pyramid(y, lengths), pyramid.levels)
    assert (moved > 0.1).all()


@pytest.mark.parametrize("length", [1, 2, 3, 5, 22])
def test_alone_and_padded_embed_the_same(length):
    embedder = build_embedder("qp-wl-pyramid", 3, filters=4, layers=2, kernel=3, points=4).eval()
    x = filters(2, 3, 23, 1)
    alone = embedder(x[:1, :, :length], torch.tensor([length]))
    padded = x.clone()
    padded[0, :, length:] = 1e6
    torch.testing.assert_close(embedder(padded, torch.tensor([length, 23]))[:1], alone)


def test_gradients_reach_samples_weights_and_levels():
    layer, y = QuantilePyramid(4, (1, 2)), filters(2, 2, 9).double().requires_grad_()
    layer(y.float(), torch.tensor([9, 7])).square().sum().backward()
    assert layer.log_weights.grad.abs().min() > 0
    assert layer.layer.gaps.grad.abs().max() > 0
    assert y.grad[1, :, 7:].abs().max() == 0
    assert not QuantilePyramid(4, (1, 2), learn_weights=False).log_weights.requires_grad


@pytest.mark.parametrize("fixed", [True, False])
def test_weights_of_pieces_are_learned_or_stay_where_they_were(fixed):
    config = tiny_config(method="qp-wl-pyramid", pyramid="1+2", fixed_weights=fixed)
    last = list(train(config, tiny_recordings()))[-1]
    weights = last.model.embedder.aggregation.weights.tolist()
    assert (weights == pytest.approx([1, 0.5, 0.5])) == fixed


def test_a_trained_one_is_saved_and_loaded_with_its_gallery(tmp_path):
    recordings = tiny_recordings()
    for _ in train(tiny_config(method="qp-wl-pyramid", pyramid="1+3"), recordings, tmp_path):
        pass
    model = load_model(tmp_path)
    assert model.config.pyramid == "1+3"
    seen = model.embed(recordings)
    assert tuple(seen.values.shape[1:]) == (16, 6)
    gallery = build_gallery(model, recordings)
    np.testing.assert_allclose(gallery.distances(), model.distances(seen), rtol=1e-4)
    gallery.save(tmp_path)
    again = load_gallery(tmp_path)
    assert again.pyramid == "1+3"
    assert again.filter_name(0) == "filter 1"
    assert again.filter_name(5) == "filter 2, first third"
    np.testing.assert_allclose(again.distances(), model.distances(seen), rtol=2e-3)


def test_names_of_pieces():
    assert piece_names((1, 2, 4))[3:] == ["first quarter", "second quarter", "third quarter", "last quarter"]
    assert piece_names((5,))[4] == "piece 5 of 5"
