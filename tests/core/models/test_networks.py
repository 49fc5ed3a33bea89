import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from qpwl_core.models.jaeger import JaegerNetwork, velocity_channels
from qpwl_core.models.networks import ConvStack, FastPReLU, MaskedBatchNorm


def randomised(network):
    """As after training: batch norms with statistics and weights that are not 0 and 1, slopes of both signs."""
    for module in network.modules():
        if isinstance(module, nn.PReLU):
            nn.init.normal_(module.weight)
        if isinstance(module, nn.BatchNorm1d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
            if module.affine:
                nn.init.normal_(module.weight)
                nn.init.normal_(module.bias)
    return network.eval()


def by_loops(network, x):
    """One sequence through a stack without batch norm, tap by tap. (D, T) -> (K, T')"""
    for convolution, activation in zip(network.convolutions, network.activations, strict=True):
        weight, bias, slope = convolution.weight, convolution.bias, activation.weight
        (step,), (wide,) = convolution.stride, convolution.dilation
        frames = []
        for middle in range(0, x.shape[1], step):
            frame = bias.clone()
            for tap in range(weight.shape[2]):
                at = middle + (tap - weight.shape[2] // 2) * wide
                if 0 <= at < x.shape[1]:
                    frame = frame + weight[:, :, tap] @ x[:, at]
            frames.append(torch.where(frame > 0, frame, slope * frame))
        x = torch.stack(frames, 1)
    return x


@pytest.mark.parametrize("options", [{}, {"kernel": 1}, {"dilation": 3}, {"dilation": (1, 2)}, {"stride": 2},
                                     {"stride": (3, 2), "kernel": 3}, {"kernel": 7, "stride": 4, "dilation": 2}])
def test_the_stack_is_what_the_loops_say(options):
    torch.manual_seed(0)
    network = randomised(ConvStack(2, filters=3, layers=3, **options)).double()
    x = torch.randn(2, 17, dtype=torch.double)
    y, lengths = network(x[None], torch.tensor([17]))
    torch.testing.assert_close(y[0], by_loops(network, x))
    assert lengths.tolist() == [y.shape[2]]


@given(st.integers(0, 2**31), st.booleans(), st.sampled_from([1, 2, (2, 3), (1, 2, 2)]),
       st.sampled_from([1, 2, (1, 4)]), st.lists(st.integers(1, 40), min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_a_sequence_comes_out_the_same_alone_and_in_any_batch(seed, batch_norm, stride, dilation, lengths):
    torch.manual_seed(seed)
    network = randomised(ConvStack(3, 4, 4, 5, dilation, stride, batch_norm))
    x, lengths = torch.randn(len(lengths), 3, max(lengths) + 2), torch.tensor(lengths)
    x.masked_fill_(torch.arange(x.shape[2]) >= lengths[:, None, None], math.nan)   # padding may hold anything
    y, after = network(x, lengths)
    for i, n in enumerate(lengths.tolist()):
        alone, (m,) = network(x[i:i + 1, :, :n], torch.tensor([n]))
        left = n
        for step in network.strides:
            left = math.ceil(left / step)
        assert after[i] == m == alone.shape[2] == left
        torch.testing.assert_close(y[i, :, :m], alone[0], rtol=1e-4, atol=1e-5)
        assert not y[i, :, m:].any()


def test_padding_changes_no_gradient():
    torch.manual_seed(0)
    network, x, n = ConvStack(2, 4, 3, batch_norm=True).double(), torch.randn(3, 2, 20, dtype=torch.double), 20
    wide = torch.cat([x, torch.full((3, 2, 7), 9.0, dtype=torch.double)], 2)
    found = []
    for values in (x, wide):
        network.zero_grad()
        y, _ = network(values, torch.tensor([n] * 3))
        y[..., :n].square().mean().backward()
        found.append([p.grad.clone() for p in network.parameters()])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize(("layers", "kernel", "stride"), [(8, 5, 1), (16, 5, 1), (16, 9, (2, 2))])
def test_many_layers_keep_the_scale(layers, kernel, stride):
    scales = []
    for seed in range(5):
        torch.manual_seed(seed)
        y, _ = ConvStack(6, 32, layers, kernel, stride=stride)(torch.randn(4, 6, 400), torch.tensor([400] * 4))
        scales.append(y.square().mean().sqrt().item())
    assert 0.4 < sum(scales) / 5 < 2.5


def test_slope_penalty_is_the_sum_of_squares():
    network = ConvStack(2, filters=5, layers=3)
    assert network.slope_penalty().item() == pytest.approx(15 * 0.25**2)
    network.slope_penalty().backward()
    assert all(torch.equal(a.weight.grad, 2 * a.weight.data) for a in network.activations)


@pytest.mark.parametrize("dtype", [torch.double, torch.float])
@pytest.mark.parametrize("frames", [1, 9, 16, 67])
def test_prelu_is_pytorchs(dtype, frames):
    torch.manual_seed(0)
    theirs, ours = nn.PReLU(4).to(dtype), FastPReLU(4).to(dtype)
    theirs.weight.data = ours.weight.data = torch.tensor([-0.3, 0.25, 0.8, 1.5], dtype=dtype)
    x = torch.randn(3, 4, frames, dtype=dtype).index_fill_(2, torch.tensor([0]), 0)
    x = x.transpose(1, 2).contiguous().transpose(1, 2).requires_grad_()                # as it may lie in memory
    torch.testing.assert_close(ours(x), theirs(x))
    for a, b in zip(torch.autograd.grad(ours(x).square().sum() + ours(x).sum(), [x, ours.weight]),
                    torch.autograd.grad(theirs(x).square().sum() + theirs(x).sum(), [x, theirs.weight]), strict=True):
        torch.testing.assert_close(a, b)


def test_masked_batch_norm_is_batch_norm_of_the_real_frames():
    torch.manual_seed(0)
    lengths = torch.tensor([5, 1, 8])
    real = (torch.arange(9) < lengths[:, None])[:, None].double()
    x = (torch.randn(3, 4, 9, dtype=torch.double) * 3 + 1).requires_grad_()
    ours, theirs = MaskedBatchNorm(4).double(), nn.BatchNorm1d(4).double()
    with torch.no_grad():
        for norm in (ours, theirs):
            norm.weight.copy_(torch.arange(1.0, 5))
            norm.bias.copy_(torch.arange(4.0))
    flat = torch.cat([x[i, :, :n] for i, n in enumerate(lengths)], 1)                  # (K, all real frames)
    for _ in range(3):
        got, want = ours(x, real), theirs(flat.T).T
    together = torch.cat([got[i, :, :n] for i, n in enumerate(lengths)], 1)
    torch.testing.assert_close(together, want)
    outer = torch.randn_like(want)
    torch.testing.assert_close(torch.autograd.grad((together * outer).sum(), x, retain_graph=True),
                               torch.autograd.grad((want * outer).sum(), x, retain_graph=True))
    for name, value in theirs.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[name], value)
    torch.testing.assert_close(ours.eval()(x, real), ours(x))


def jaeger(length=64, velocity=(1, 2), **options):
    torch.manual_seed(0)
    return randomised(JaegerNetwork(4, length, velocity, width=0.05, **options))


def test_jaeger_has_the_published_shape():
    network = JaegerNetwork(2, 1000, (0, 1))
    for name, filters in (("slow", [128] * 3 + [256] * 6), ("fast", [32] * 3 + [512] * 6)):
        parts = network.streams[name]
        assert [block[0].out_channels for block in parts[:9]] == filters
        assert [block[0].kernel_size[0] for block in parts[:9]] == [9, 9, 9, 5, 5, 5, 5, 3, 3]
        dense = [layer for layer in parts[-1] if isinstance(layer, nn.Linear)]
        assert [layer.out_features for layer in dense] == [256, 256, 128]
        assert dense[0].in_features == filters[-1]                                    # 1000 / 2⁹: one frame is left
    assert [layer.out_features for layer in network.merge if isinstance(layer, nn.Linear)] == [256, 128]


def test_jaeger_streams_see_what_the_paper_says():
    network, seen = jaeger(length=4, velocity=(0, 1)), {}
    for name, stream in network.streams.items():
        stream.register_forward_pre_hook(lambda _, given, name=name: seen.update({name: given[0]}))
    v = torch.tensor([[0.03, 0.03, 0.0, 1.0], [0.02, 0.03, 0.0, 0.0]])                # °/ms: slow, fast, still, saccade
    x = torch.cat([v / 0.5, torch.randn(2, 4)])[None]                                 # as the eye recipe has it
    network(x, torch.tensor([4]))
    torch.testing.assert_close(seen["slow"][0], torch.tanh(20 * v))
    kept = v * torch.tensor([0.0, 1.0, 0.0, 1.0])                                 # |(.03, .03)| > .04 ≥ |(.03, .02)|
    z = network.z_score
    want = (kept - z.running_mean[:, None]) / (z.running_var + z.eps).sqrt()[:, None]
    torch.testing.assert_close(seen["fast"][0], want)


@pytest.mark.parametrize("velocity", [(), (1, 2)])
def test_jaeger_crops_fills_and_ignores_padding(velocity):
    network, x = jaeger(velocity=velocity), torch.randn(3, 4, 100)
    lengths = torch.tensor([100, 64, 10])
    y, after = network(x, lengths)
    assert y.shape == (3, 128, 1)
    assert after.tolist() == [1, 1, 1]
    for i, n in enumerate(lengths.tolist()):
        torch.testing.assert_close(network(x[i:i + 1, :, :n], lengths[i:i + 1])[0][0], y[i], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(network(x[:1, :, :64], torch.tensor([64]))[0], y[:1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("length", "blocks"), [(2, 1), (3, 1), (64, 6), (511, 8), (512, 9), (1500, 9)])
def test_jaeger_has_as_many_blocks_as_poolings_fit(length, blocks):
    network = jaeger(length)
    assert sum(isinstance(part[0], nn.Conv1d) for part in network.streams["slow"][:-2]) == blocks
    assert network(torch.randn(2, 4, length), torch.tensor([length, 1]))[0].isfinite().all()


def test_velocities_come_from_the_eye_recipe():
    """At 50 °/s the recipe's two channels are v / (0.5 °/ms), and tanh(20 v)."""
    import numpy as np

    from qpwl_core.data.preprocessing import recipe_for
    from qpwl_core.data.recordings import Recordings

    x = np.cumsum(np.random.default_rng(0).normal(size=(200, 2)), axis=0).astype(np.float32) * 0.1
    recordings = Recordings([x], ["a"], ("x_deg", "y_deg"), 1000.0)
    out = recipe_for("eye").fit(recordings).apply(recordings)
    fast = list(velocity_channels(out.channels))
    assert [out.channels[i] for i in fast] == ["vx_fast", "vy_fast"]
    v = np.gradient(x.astype(np.float64), axis=0)                                     # °/ms
    np.testing.assert_allclose(0.5 * out.sequences[0][:, fast], np.clip(v, -0.5, 0.5), atol=1e-5)
    slow = [out.channels.index("vx_slow"), out.channels.index("vy_slow")]
    np.testing.assert_allclose(out.sequences[0][:, slow], np.tanh(20 * v), atol=1e-5)
    assert velocity_channels(("left_vx_fast", "left_vy_fast", "FP1")) == (0, 1)
    assert velocity_channels(("FP1", "FP2")) == ()


@pytest.mark.parametrize(("call", "name"), [
    (lambda: ConvStack(0), "channels"),
    (lambda: ConvStack(2, filters=1.5), "filters"),
    (lambda: ConvStack(2, layers=0), "layers"),
    (lambda: ConvStack(2, kernel=4), "kernel"),
    (lambda: ConvStack(2, dilation=0), "dilation"),
    (lambda: ConvStack(2, stride=()), "stride"),
    (lambda: ConvStack(2, layers=1, stride=(2, 2)), "stride and dilation"),
    (lambda: ConvStack(2)(torch.randn(1, 3, 5), torch.tensor([5])), "x"),
    (lambda: ConvStack(2)(torch.randn(1, 2, 0), torch.tensor([0])), "x"),
    (lambda: ConvStack(2)(torch.randn(1, 2, 5), torch.tensor([6])), "lengths"),
    (lambda: ConvStack(2)(torch.randn(1, 2, 5), torch.tensor([0])), "lengths"),
    (lambda: JaegerNetwork(2, 1), "length"),
    (lambda: JaegerNetwork(2, 64, (0,)), "velocity"),
    (lambda: JaegerNetwork(2, 64, (0, 2)), "velocity"),
    (lambda: JaegerNetwork(2, 64, width=0), "width"),
    (lambda: JaegerNetwork(2, 64, width=0.1)(torch.randn(2, 3, 64), torch.tensor([64, 64])), "x"),
])
def test_bad_input_is_one_sentence_that_names_the_argument(call, name):
    with pytest.raises(ValueError, match=f"^{name} must "):
        call()
