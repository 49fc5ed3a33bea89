"""What an accelerator would wait for, without one: host reads counted in steps on a CPU that is taken for one."""

import json
import threading

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from qpwl_core.models.methods import METHODS
from qpwl_core.training import run as module
from qpwl_core.training.adam import Adam
from qpwl_core.training.loop import ASK_EVERY, Diverged, Progress, train
from qpwl_core.training.run import Run
from qpwl_core.transport import kernels
from tests.support.tiny import forged_recordings, tiny_config, tiny_recordings

LEARNED = [name for name, row in METHODS.items() if row.loss != "none"]
READS = {"_local_scalar_dense", "item", "nonzero", "nonzero_numpy", "masked_select", "unique_dim", "_unique",
         "_unique2", "unique_consecutive", "is_nonzero", "equal", "argwhere", "repeat_interleave"}


class HostReads(TorchDispatchMode):
    """Names of the operations that a host must wait for."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        masked = name in ("index", "index_put", "index_put_") and any(
            i is not None and i.dtype in (torch.bool, torch.uint8) for i in args[1])
        if name in READS or masked:
            self.found.append(name)
        return function(*args, **(kwargs or {}))


@pytest.fixture
def accelerator(monkeypatch):
    """The CPU is taken for an accelerator, and has none of our kernels."""
    monkeypatch.setattr(module, "reads_at_once", lambda device: False)
    monkeypatch.setattr(kernels, "_loaded", [None])


@pytest.mark.parametrize("form", ["pairs", "one logarithm, both ways", "forgeries"])
@pytest.mark.parametrize("method", LEARNED)
def test_a_step_reads_nothing(method, form, accelerator):
    forged = form == "forgeries"
    config = tiny_config(method=method, forgeries=2 if forged else 0, multi_class=form == "one logarithm, both ways",
                         both_ways=form != "pairs", batch_norm=forged, p=2.5 if forged else 1.0)
    run = Run(config, forged_recordings() if forged else tiny_recordings())
    run.learn(run.sampler.batch(0))                                      # Adam makes its state in the first one
    batch = run.sampler.batch(1)
    with HostReads() as reads:
        loss, levels = run.learn(batch), run.levels
        progress = Progress(2, 12, loss, levels=levels)
    assert reads.found == []
    with HostReads() as reads:
        run.ask()
    assert len(reads.found) <= 1, "one read for all checks"              # tolist may be none of PyTorch's operations
    assert np.isfinite(progress.loss)
    assert levels is None or len(progress.levels) == config.points + 2


def test_counting_finds_the_reads_of_a_cpu(monkeypatch):
    monkeypatch.setattr(kernels, "_loaded", [None])
    run = Run(tiny_config(), tiny_recordings())
    with HostReads() as reads:
        run.learn(run.sampler.batch(0))
    assert len(reads.found) > 5


def test_batches_are_pinned_ahead_and_copied_without_blocking(monkeypatch):
    """Of a card that is not there: where memory is pinned, and how it is copied."""
    run = Run(tiny_config(), tiny_recordings())
    run.device = torch.device("cuda")
    pinned, copied, to = [], [], torch.Tensor.to

    def pin_memory(x):
        pinned.append((threading.current_thread().name, tuple(x.shape)))
        return x

    def copy(x, *args, non_blocking=False, **kwargs):
        if args and isinstance(args[0], torch.device) and args[0].type == "cuda":
            copied.append((tuple(x.shape), non_blocking))
            return x
        return to(x, *args, **kwargs)

    monkeypatch.setattr(torch.Tensor, "pin_memory", pin_memory)
    batches = run.batches(2)
    batch = next(batches)
    batches.close()
    shapes = {tuple(batch.x.shape), tuple(batch.labels.shape)}
    assert {shape for _, shape in pinned} >= shapes, "and those of the next one"
    assert all(name.startswith("batches") for name, _ in pinned), "by the thread that prepares them"
    monkeypatch.setattr(torch.Tensor, "to", copy)
    run._loss(batch)
    assert tuple(batch.x.shape) in {shape for shape, _ in copied}
    assert all(without_blocking for _, without_blocking in copied)


def test_it_learns_what_the_cpu_learns(monkeypatch, tmp_path):
    usual = list(train(tiny_config(), tiny_recordings(), tmp_path / "usual"))
    monkeypatch.setattr(module, "reads_at_once", lambda device: False)
    ahead = list(train(tiny_config(), tiny_recordings(), tmp_path / "ahead"))
    assert [r.loss for r in ahead] == pytest.approx([r.loss for r in usual], rel=1e-4)
    curves = [[json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
              for name in ("usual", "ahead")]
    assert [r["loss"] for r in curves[1]] == pytest.approx([r["loss"] for r in curves[0]], rel=1e-4)
    assert [r["step"] for r in curves[1]] == [r["step"] for r in curves[0]]


def test_a_run_of_an_accelerator_is_resumed(accelerator, tmp_path):
    config, recordings = tiny_config(), tiny_recordings()
    whole = list(train(config, recordings, tmp_path / "whole"))[-1].model
    records = train(config, recordings, tmp_path / "part")
    for _ in range(6):
        next(records)
    records.close()
    resumed = list(train(config, recordings, tmp_path / "part", resume=True))[-1].model
    for name, x in whole.embedder.state_dict().items():
        assert torch.equal(x, resumed.embedder.state_dict()[name]), name


@pytest.mark.parametrize("at", [3, ASK_EVERY + 2])
def test_what_went_wrong_is_told_later_with_its_step(at, accelerator, monkeypatch):
    """The sentence is the CPU's, the step the one in which it happened, though it is asked for some steps later."""
    learn = Run.learn

    def spoiled(run, batch):
        if run.step == at - 1:
            with torch.no_grad():
                run.embedder.network.convolutions[0].weight[0, 0, 0] = torch.nan
        return learn(run, batch)

    monkeypatch.setattr(Run, "learn", spoiled)
    records = train(tiny_config(iterations=40, validate_every=40), tiny_recordings())
    for _ in range((at // ASK_EVERY + 1) * ASK_EVERY - 1):
        next(records)
    with pytest.raises(Diverged, match=f"diverged at step {at}, .*must be finite, got .* NaN or infinite"):
        next(records)


def test_adam_is_pytorchs_bit_for_bit():
    torch.manual_seed(0)
    ours = [torch.randn(n, 3, requires_grad=True) for n in (1, 40, 7)]
    theirs = [x.detach().clone().requires_grad_() for x in ours]
    adam, torchs = Adam(ours, 1e-2), torch.optim.Adam(theirs, lr=1e-2, fused=True)
    for step in range(5):
        adam.rate = torchs.param_groups[0]["lr"] = 1e-2 / (step + 1)
        for parameters, optimiser in ((ours, adam), (theirs, torchs)):
            optimiser.zero_grad()
            sum((x**2).sum() * (step - i) for i, x in enumerate(parameters[:2 + step % 2])).backward()
            optimiser.step()
    for x, y in zip(ours, theirs, strict=True):
        assert torch.equal(x, y)
    for i, held in torchs.state_dict()["state"].items():
        assert all(torch.equal(value, adam.state[i][name]) for name, value in held.items())
