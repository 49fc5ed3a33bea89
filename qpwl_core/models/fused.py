"""Γ by the compiled kernel: a whole stack of convolutions, batch norms and PReLUs as one differentiable function.

Half of a training step is what stands between convolutions, most of it waiting for memory. The kernel makes it on the
way into the cache (convolutions.h); of each layer only the bare convolution is kept for the gradient.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from qpwl_core.transport.kernels import call, kernels

STATES, MEAN, UNBIASED = 5, 0, 4  # rows that the kernel keeps of a layer: mean, 1/std, scale, shift, unbiased variance
BARE, FIXED, LEARNS = range(3)   # a bias alone; batch norm by what it has seen so far; batch norm by this batch


class Shape(NamedTuple):
    """One layer, as the kernel wants it."""

    taps: int
    stride: int
    dilation: int
    mode: int
    eps: float


def stacked(x: Tensor, lengths: Tensor, shapes: list[Shape], parameters: list[Tensor],
            seen: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """y (B, K, T'), noughts where padded, and the state of each layer (STATES, K).

    ``parameters``: per layer weight (K, C, taps), slopes (K,), and the bias of the convolution, or weight and bias of
    the batch norm; ``seen`` (2, K) per layer: mean and variance so far, which count where a batch norm does not learn.
    """
    states: list[Tensor] = []
    y = _Stack.apply(x, lengths, shapes, seen, states, *parameters)
    return y, states


class _Stack(torch.autograd.Function):

    @staticmethod
    def forward(ctx, x: Tensor, lengths: Tensor, shapes: list[Shape], seen: list[Tensor], states: list[Tensor],
                *parameters: Tensor) -> Tensor:
        weights, slopes, norms = _by_layer([p.contiguous() for p in parameters], shapes)
        kept, counts, nothing = [x.contiguous()], [lengths.contiguous()], x.new_empty(0)
        threads = torch.get_num_threads()
        for i, shape in enumerate(shapes):
            (b, c, ti), (k, _, taps) = kept[-1].shape, weights[i].shape
            counts.append((counts[-1] + shape.stride - 1) // shape.stride)
            z, state = x.new_empty(b, k, -(-ti // shape.stride)), x.new_empty(STATES, k)
            one = norms[i] if shape.mode != BARE else [norms[i][0], norms[i][0]]
            given = torch.cat([seen[i], torch.stack(one)])
            before = (states[-1], slopes[i - 1]) if i else (nothing, nothing)
            call(kernels().qpwl_layer, (kept[-1], *before, weights[i], given, counts[-2], counts[-1], z, state),
                 shape.eps, shape.mode, threads, b, c, k, ti, z.shape[2], taps, shape.stride, shape.dilation)
            kept = [*kept, z] if any(ctx.needs_input_grad) else [z]
            states.append(state)
        y = torch.empty_like(kept[-1])
        call(kernels().qpwl_activated, (kept[-1], states[-1], slopes[-1], counts[-1], y), threads, *y.shape)
        if any(ctx.needs_input_grad):
            ctx.shapes = shapes
            ctx.save_for_backward(*kept, *counts, *states, *weights, *slopes)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, by_y: Tensor) -> Any:
        n, saved = len(ctx.shapes), list(ctx.saved_tensors)
        kept, counts, states = saved[:n + 1], saved[n + 1:2 * n + 2], saved[2 * n + 2:3 * n + 2]
        weights, slopes = saved[3 * n + 2:4 * n + 2], saved[4 * n + 2:]
        by_y, nothing, threads = by_y.contiguous(), by_y.new_empty(0), torch.get_num_threads()
        sums = by_y.new_empty(*by_y.shape[:2], 3)
        call(kernels().qpwl_sums, (by_y, kept[-1], states[-1], slopes[-1], counts[-1], sums), threads, *by_y.shape)
        found: list[Tensor] = []
        for i in reversed(range(n)):
            shape, x, z, w = ctx.shapes[i], kept[i], kept[i + 1], weights[i]
            by_x = torch.empty_like(x) if i or ctx.needs_input_grad[0] else nothing
            before = (states[i - 1], slopes[i - 1]) if i else (nothing, nothing)
            sums_before = x.new_empty(*x.shape[:2], 3) if i else nothing
            by_w, by_norm = torch.empty_like(w), x.new_empty(3, w.shape[0])
            call(kernels().qpwl_layer_backward,
                 (by_y, z, states[i], slopes[i], sums, x, *before, w, counts[i], counts[i + 1], by_x, sums_before, by_w,
                  by_norm), shape.mode, threads, *x.shape[:2], w.shape[0], x.shape[2], z.shape[2], w.shape[2],
                 shape.stride, shape.dilation)
            found = [by_w, by_norm[2], *(by_norm[1:2] if shape.mode == BARE else by_norm[:2]), *found]
            by_y, sums = by_x, sums_before
        return by_y if ctx.needs_input_grad[0] else None, None, None, None, None, *found


def _by_layer(parameters: list[Tensor], shapes: list[Shape]) -> tuple[list[Tensor], list[Tensor], list[list[Tensor]]]:
    """Weights, slopes, and what follows, layer by layer."""
    weights, slopes, norms, at = [], [], [], 0
    for shape in shapes:
        more = 1 if shape.mode == BARE else 2
        weights.append(parameters[at])
        slopes.append(parameters[at + 1])
        norms.append(parameters[at + 2:at + 2 + more])
        at += 2 + more
    return weights, slopes, norms
