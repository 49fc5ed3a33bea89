"""Kernels by torch.compile, on the CPU in place of a card: the numbers of the operations one by one."""

import pytest
import torch

from qpwl_core.transport import compiled
from qpwl_core.transport import kernels as kernels_module
from qpwl_core.transport.distances import pairwise_wasserstein

LEVELS = torch.linspace(0, 1, 9)


@pytest.fixture
def card(monkeypatch):
    """A CPU without kernels of its own, whose kernels torch.compile makes."""
    monkeypatch.setattr(kernels_module, "_loaded", [None])
    monkeypatch.setattr(compiled, "_made", {})
    monkeypatch.setattr(compiled, "DEVICES", ("cpu",))
    monkeypatch.delenv("QPWL_COMPILE", raising=False)


def found(p, per_filter=False, learns=True):
    """Distances, and their gradients by both sides and by the levels."""
    torch.manual_seed(0)
    a, b = (torch.randn(n, 6, 9).sort(-1).values.requires_grad_(learns) for n in (7, 11))
    levels = LEVELS.clone().requires_grad_(learns)
    y = pairwise_wasserstein(a, b, levels, p, per_filter)
    return [y, *(torch.autograd.grad(y.square().sum(), [a, b, levels]) if learns else ())]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")       # of PyTorch's compiler itself
def test_one_kernel_says_what_the_operations_say(card, monkeypatch):
    """One p after the other: a kernel made for the first must not serve the second."""
    config = pytest.importorskip("torch._inductor.config")
    monkeypatch.setattr(config, "compile_threads", 1)           # no pool of compilers for a few lines
    for p, options in ((2.5, {}), (7.3, {"per_filter": True, "learns": False})):
        fused = found(p, **options)
        with monkeypatch.context() as plain:
            plain.setenv("QPWL_COMPILE", "0")
            eager = found(p, **options)
        for one, other in zip(fused, eager, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5 * float(other.detach().abs().max()))
    names = sorted(function.__name__ for function, *_ in compiled._made)
    assert names == ["_block", "_block", "_block_gradient"]
    assert all(kernel is not None for kernel in compiled._made.values()), "none of them fell back"


def test_where_it_cannot_be_compiled_it_is_said_once(card, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("no Triton for this card")

    monkeypatch.setattr(torch, "compile", broken)
    with pytest.warns(RuntimeWarning, match="without torch.compile on cpu, .*no Triton") as seen:
        y, *_ = found(2.5, learns=False)
    assert len(seen) == 1
    assert torch.equal(y, found(2.5, learns=False)[0])          # a second warning would be an error here
    monkeypatch.setattr(compiled, "DEVICES", ())
    assert torch.equal(y, found(2.5, learns=False)[0])


def test_a_card_that_is_full_says_so(card, monkeypatch):
    def full(*_, **__):
        raise torch.OutOfMemoryError("full")

    monkeypatch.setattr(torch, "compile", lambda *_, **__: full)
    with pytest.raises(torch.OutOfMemoryError):
        found(2.5, learns=False)
