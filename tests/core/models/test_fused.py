"""The stack by the compiled kernel is the stack layer by layer in float64: values, gradients, running statistics."""

import math

import pytest
import torch
from torch import nn

from qpwl_core.models.networks import ConvStack
from qpwl_core.transport.kernels import kernels

pytestmark = pytest.mark.skipif(kernels() is None, reason="no compiler here")
SHAPES = [{}, {"kernel": 1}, {"dilation": (1, 3)}, {"stride": 2}, {"stride": (3, 2), "kernel": 3},
          {"kernel": 7, "stride": 4, "dilation": 2}, {"filters": 17}, {"filters": 32, "layers": 8}]


def network(batch_norm, learns, **options):
    """Every number in it is drawn, slopes and weights of batch norms of both signs."""
    made = ConvStack(3, batch_norm=batch_norm, **{"filters": 5, "layers": 3, **options})
    for module in made.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
        for parameter in module.parameters(recurse=False):
            if parameter.ndim == 1:
                nn.init.normal_(parameter)
    return made.train(learns)


def everything(made, x, lengths, outer):
    """What comes out, by name."""
    x = x.clone().requires_grad_()
    y, after = made(x, lengths)
    (y * outer.to(y.dtype)).sum().backward()
    return {"y": y.detach(), "after": after, "by x": x.grad, **{f"by {n}": p.grad for n, p in made.named_parameters()},
            **dict(made.named_buffers())}


@pytest.mark.parametrize("lengths", [[40] * 10, [1, 7, 33, 40, 16]], ids=["alike", "padded"])
@pytest.mark.parametrize("learns", [True, False], ids=["learns", "fixed"])
@pytest.mark.parametrize("batch_norm", [True, False], ids=["norms", "biases"])
@pytest.mark.parametrize("options", SHAPES)
def test_it_is_the_stack_layer_by_layer(options, batch_norm, learns, lengths):
    torch.manual_seed(0)
    single = network(batch_norm, learns, **options)
    double = network(batch_norm, learns, **options)
    double.load_state_dict(single.state_dict())
    x, lengths = torch.randn(len(lengths), 3, 43), torch.tensor(lengths)
    x.masked_fill_(torch.arange(43) >= lengths[:, None, None], math.nan)             # padding may hold anything
    outer = torch.randn(single(x, lengths)[0].shape)
    single.load_state_dict(double.state_dict())
    got, want = everything(single, x, lengths, outer), everything(double.double(), x.double(), lengths, outer)
    assert got.keys() == want.keys()
    for name, value in want.items():
        largest = max(1e-6, value.abs().max().item())
        torch.testing.assert_close(got[name].double() / largest, value.double() / largest, rtol=0, atol=1e-5, msg=name)


def test_neither_threads_nor_neighbours_nor_gradients_change_a_bit():
    torch.manual_seed(0)
    made, x, lengths = network(True, False, filters=32), torch.randn(9, 3, 300), torch.tensor([300, 17, 160] * 3)
    before, found = torch.get_num_threads(), []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append(everything(made, x, lengths, torch.ones(())))
        made.zero_grad()
    torch.set_num_threads(before)
    for name, value in found[0].items():
        assert all(torch.equal(value, other[name]) for other in found[1:]), name
    with torch.no_grad():
        assert torch.equal(made(x, lengths)[0], found[0]["y"])
        for i, n in enumerate(lengths.tolist()):
            assert torch.equal(made(x[i:i + 1, :, :n], lengths[i:i + 1])[0][0], found[0]["y"][i, :, :n])


def test_who_looks_on_still_sees_every_layer():
    made, seen = network(False, True), []
    x, lengths = torch.randn(2, 3, 20), torch.tensor([20, 20])
    fused = made(x, lengths)[0]
    handle = made.activations[1].register_forward_hook(lambda module, given, y: seen.append(y.shape))
    torch.testing.assert_close(made(x, lengths)[0], fused)
    assert seen == [(2, 5, 20)]
    handle.remove()
