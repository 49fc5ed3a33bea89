"""Every query against every reference: W_p as one differentiable function with bounded memory.

Three ways to the same numbers. On a CPU in float32 the compiled kernels do it; for p = 1 without them, a short
sequence of PyTorch operations on blocks that fit the cache; for everything else (float64, a GPU, other p without a
compiler), the closed form on blocks. No checks here: `distances.py` has made them.
"""

import torch
from torch import Tensor

from qpwl_core.transport.closed_form import filter_distance, filter_distance_gradient
from qpwl_core.transport.compiled import in_one_kernel
from qpwl_core.transport.kernels import call, kernels, usable

BLOCK = 1 << 17          # differences in a CPU block: a few such blocks fit the second-level cache
BLOCK_GPU = 1 << 24      # on a GPU: enough to fill it, 64 MB per temporary
TILES = 1 << 24          # reference values tiled at a time, 64 MB


class PairwiseDistance(torch.autograd.Function):
    """(Q, K, L), (R, K, L), widths (L−1,) -> (Q, R), or (Q, R, K) per filter."""

    @staticmethod
    def forward(ctx, a: Tensor, b: Tensor, widths: Tensor, p: float, per_filter: bool) -> Tensor:
        a, b, widths = a.contiguous(), b.contiguous(), widths.contiguous()
        ctx.save_for_backward(a, b, widths)
        ctx.p, ctx.per_filter = p, per_filter
        if usable(a):
            return _compiled_forward(a, b, widths, p, per_filter)
        return _blocked_forward(a, b, widths, p, per_filter)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, outer: Tensor):
        a, b, widths = ctx.saved_tensors
        gradient = _compiled_backward if usable(a) else _blocked_backward
        return *gradient(a, b, widths, outer, ctx.p, ctx.per_filter), None, None


def _tiles(b: Tensor) -> Tensor:
    """References side by side, as many to a tile as a vector holds. (R, ...) -> (tiles, ..., lanes)"""
    lanes = kernels().lanes
    padded = -len(b) % lanes
    if padded:
        b = torch.cat([b, b.new_zeros(padded, *b.shape[1:])])
    return b.unflatten(0, (-1, lanes)).movedim(1, -1).contiguous()


def _compiled_forward(a: Tensor, b: Tensor, widths: Tensor, p: float, per_filter: bool) -> Tensor:
    (q, k, l), r = a.shape, len(b)
    out = a.new_empty((q, r, k) if per_filter else (q, r))
    stretch = max(1, TILES // (k * l))
    for first in range(0, r, stretch):
        part = b[first:first + stretch]
        call(kernels().qpwl_forward, (a, _tiles(part), widths, out), p, per_filter, torch.get_num_threads(),
             r, first, q, len(part), k, l)
    return out


def _compiled_backward(a: Tensor, b: Tensor, widths: Tensor, outer: Tensor, p: float, per_filter: bool):
    (q, k, l), tiles = a.shape, _tiles(b)
    outer = _tiles(outer.transpose(0, 1))  # (tiles, Q[, K], lanes)
    by_a, by_tiles = torch.zeros_like(a), torch.zeros_like(tiles)
    by_width = a.new_zeros(k, l - 1)
    call(kernels().qpwl_backward, (a, tiles, widths, outer, by_a, by_tiles, by_width), p, per_filter,
         torch.get_num_threads(), q, len(tiles), k, l)
    by_b = by_tiles.movedim(-1, 1).flatten(0, 1)[:len(b)].contiguous()
    return by_a, by_b, by_width.sum(0)


def _blocks(a: Tensor, b: Tensor):
    """Slices of queries and references whose differences are about as many as a block of this device holds."""
    block = BLOCK if a.device.type == "cpu" else BLOCK_GPU
    rows = max(1, block // a[0].numel()) if len(a) else 1
    columns = max(1, min(len(b), rows))
    rows = max(1, rows // columns)
    for i in range(0, len(a), rows):
        for j in range(0, len(b), columns):
            yield slice(i, i + rows), slice(j, j + columns)


def _blocked_forward(a: Tensor, b: Tensor, widths: Tensor, p: float, per_filter: bool) -> Tensor:
    q, k, r = len(a), a.shape[1], len(b)
    if p == 1 and not per_filter:
        return _blocked_order_one(a, b, widths)
    out = a.new_empty((q, r, k) if per_filter else (q, r))
    for i, j in _blocks(a, b):
        out[i, j] = _block(a[i], b[j], widths, p=p, per_filter=per_filter)
    return out


@in_one_kernel
def _block(a: Tensor, b: Tensor, widths: Tensor, *, p: float, per_filter: bool) -> Tensor:
    value = filter_distance(a[:, None] - b[None], widths, p)
    return value if per_filter else value.sum(-1)


def _blocked_order_one(a: Tensor, b: Tensor, widths: Tensor) -> Tensor:
    """p = 1 with few passes over each block: a weighted L1 distance of the knots, less what crossing segments save.

    A crossing segment (d0·d1 < 0) is shorter by w·|d0||d1|/(|d0| + |d1|), and there |d0| + |d1| = |d1 − d0|.
    """
    (q, k, l), r = a.shape, len(b)
    at_knot = torch.zeros(l, dtype=a.dtype, device=a.device)
    at_knot[:-1] += widths / 2
    at_knot[1:] += widths / 2
    at_knot, widths = at_knot.repeat(k), widths.repeat(k)
    a_left, a_right = a[..., :-1].flatten(1), a[..., 1:].flatten(1)
    b_left, b_right = b[..., :-1].flatten(1), b[..., 1:].flatten(1)
    a, b = a.flatten(1), b.flatten(1)
    tiny = torch.finfo(a.dtype).tiny
    out = a.new_empty(q, r)
    for i, j in _blocks(a, b):
        left, right = a_left[i, None] - b_left[None, j], a_right[i, None] - b_right[None, j]
        between = (left - right).abs_().add_(tiny)
        # max(…, 0) of −d0·(d1/|d1−d0|): the quotient first, so that tiny differences do not underflow
        saved = right.div_(between).mul_(left).clamp_(max=0)
        out[i, j] = (a[i, None] - b[None, j]).abs_() @ at_knot + saved @ widths
    return out


def _blocked_backward(a: Tensor, b: Tensor, widths: Tensor, outer: Tensor, p: float, per_filter: bool):
    by_a, by_b, by_widths = torch.zeros_like(a), torch.zeros_like(b), torch.zeros_like(widths)
    for i, j in _blocks(a, b):
        left, right, by_width = _block_gradient(a[i], b[j], widths, outer[i, j], p=p, per_filter=per_filter)
        by_a[i] += left
        by_b[j] -= right
        by_widths += by_width
    return by_a, by_b, by_widths


@in_one_kernel
def _block_gradient(a: Tensor, b: Tensor, widths: Tensor, outer: Tensor, *, p: float, per_filter: bool):
    by_d, by_width = filter_distance_gradient(a[:, None] - b[None], widths, p)
    above = (outer if per_filter else outer[..., None])[..., None]
    by_d = by_d * above
    return by_d.sum(1), by_d.sum(0), (by_width * above).sum((0, 1, 2))
