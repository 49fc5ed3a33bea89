"""Many processes that train as one, on PyTorch's engine: what one process would do with the same batch.

Each process embeds its share of the batch, the embeddings are gathered, and every process computes the loss of the
whole batch. What is differentiated is the sum of all their losses; the mean of the gradients over the processes is then
the gradient that one process would have. With one process, everything here does nothing.
"""

from __future__ import annotations

import itertools
import os
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor, nn

from qpwl_core.common.text import quoted

BACKENDS = {"cuda": "nccl", "cpu": "gloo"}
_meetings = itertools.count()


def under_torchrun() -> bool:
    return dist.is_available() and dist.is_torchelastic_launched()


def together() -> bool:
    """Whether this process is one of several."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def rank() -> int:
    """The number of this process; the first, 0, validates, writes and prints. It knows before they have met."""
    if together():
        return dist.get_rank()
    return int(os.environ["RANK"]) if under_torchrun() else 0


def count() -> int:
    """How many processes train together."""
    return dist.get_world_size() if together() else 1


def device_of_process(device: torch.device) -> torch.device:
    """Under torchrun, ``cuda`` is the card of this process: the first process of a machine takes the first card."""
    if device.type != "cuda" or device.index is not None or not under_torchrun():
        return device
    local, cards = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
    if local >= cards:
        raise ValueError(f"--nproc-per-node must not exceed the number of GPUs of a machine, {cards} here")
    return torch.device("cuda", local)


@contextmanager
def meeting(device: torch.device):
    """All processes that torchrun started meet, and part at the end. Does nothing outside of torchrun.

    Where one fails it leaves without a word, since the others may wait for it: torchrun then ends them all.
    """
    if not under_torchrun() or dist.is_initialized():
        yield
        return
    if device.type not in BACKENDS:
        raise ValueError(f"device must be cuda or cpu for more than one process, not {quoted(device.type)}")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    board, number, count = next(dist.rendezvous("env://"))
    board = dist.PrefixStore(f"qpwl/{next(_meetings)}", board)       # a board that no meeting has used
    dist.init_process_group(BACKENDS[device.type], store=board, rank=number, world_size=count)
    yield
    dist.destroy_process_group()


def wait_for_all() -> None:
    if together():
        dist.barrier()


def rows_of_process(pairs: int, forgeries: int = 0) -> Tensor | slice:
    """Which rows of a batch, N anchors, N positives and F·N forgeries, this process embeds.

    Shares differ by one pair at most.
    """
    if not together():
        return slice(None)
    if pairs < count():
        raise ValueError(f"pairs must be at least the number of processes, {count()}, and a batch has {pairs}")
    share = torch.arange(pairs).tensor_split(count())[rank()]
    return torch.cat([part * pairs + share for part in range(2 + forgeries)])


def gather(embedded: Tensor, rows: Tensor | slice, count: int) -> Tensor:
    """The rows of all processes in the order of the batch, with gradients. (n, …), (n,) -> (count, …)

    Each adds its rows to noughts, so that shares need not be of one size.
    """
    if not together():
        return embedded
    assert isinstance(rows, Tensor), "rows_of_process gives numbers where there are several processes"
    return _Sum.apply(embedded.new_zeros(count, *embedded.shape[1:]).index_copy(0, rows.to(embedded.device), embedded))


def average_gradients(module: nn.Module) -> None:
    """Give every process the mean over all of them, in one message."""
    if not together():
        return
    gradients = [p.grad for p in module.parameters() if p.grad is not None]
    flat = torch.cat([g.flatten() for g in gradients])
    dist.all_reduce(flat)
    for gradient, mean in zip(gradients, (flat / count()).split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(mean.view_as(gradient))


def from_first(numbers: list[float], device: torch.device) -> list[float]:
    """The numbers that rank 0 has, for all."""
    if not together():
        return numbers
    sent = torch.tensor(numbers, dtype=torch.float64, device=device)
    dist.broadcast(sent, 0)
    return sent.tolist()


class _Sum(torch.autograd.Function):
    """The sum over all processes; what each makes of it counts, so that the gradient is a sum, too."""

    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, outer: Tensor) -> Tensor:
        return _Sum.apply(outer)


class SharedBatchNorm(nn.BatchNorm1d):
    """Batch norm over the real frames of all processes. (B, K[, T]), real (B, 1, T) or None -> (B, K[, T])

    PyTorch's SyncBatchNorm is for CUDA alone and knows no padding.
    """

    running_mean: Tensor               # all four are there, as statistics are always tracked
    running_var: Tensor
    num_batches_tracked: Tensor
    momentum: float

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        if not self.training:
            return super().forward(x)
        axes = (0, 2) if x.ndim == 3 else (0,)
        if real is None:
            real = torch.ones(len(x), 1, *x.shape[2:], dtype=self.running_mean.dtype, device=x.device)
        count = _Sum.apply(real.sum())
        mean = _Sum.apply((x * real).sum(axes, keepdim=True)) / count
        variance = _Sum.apply(((x - mean).square() * real).sum(axes, keepdim=True)) / count
        with torch.no_grad():
            self.running_mean.lerp_(mean.flatten(), self.momentum)
            self.running_var.lerp_((variance * count / (count - 1).clamp(min=1)).flatten(), self.momentum)
            self.num_batches_tracked += 1
        normal = (x - mean) * (variance + self.eps).rsqrt()
        if not self.affine:
            return normal
        shape = (-1, 1) if x.ndim == 3 else (-1,)
        return normal * self.weight.view(shape) + self.bias.view(shape)


def share_batch_norms(module: nn.Module) -> None:
    """Let every batch norm inside take its statistics over all processes; names and values of its state stay."""
    if not together():
        return
    for name, child in list(module.named_children()):
        if isinstance(child, nn.BatchNorm1d):
            shared = SharedBatchNorm(child.num_features, child.eps, child.momentum, child.affine).to(child.running_mean)
            shared.load_state_dict(child.state_dict())
            setattr(module, name, shared)
        else:
            share_batch_norms(child)
