"""Γ, the network from a sequence to filters: stacked convolutions.

Networks take sequences x (B, D, T) of which the first ``lengths`` (B,) frames count, and return filters (B, K, T') with
their lengths (so does `jaeger.py`). Keep ``lengths`` on the CPU: looking at it then never waits for a GPU.
"""

from typing import Any

import torch
from torch import Tensor, nn

from qpwl_core.common.checks import check_float, check_lengths, check_whole
from qpwl_core.common.watch import extremes, sent
from qpwl_core.models.fused import BARE, FIXED, LEARNS, MEAN, UNBIASED, Shape, stacked
from qpwl_core.transport.kernels import call, kernels, usable

SLOPE = 0.25             # of a PReLU before training


class ConvStack(nn.Module):
    """Γ: stacked 1-D convolutions, each with a PReLU of one slope per filter. (B, D, T), (B,) -> (B, K, T'), (B,)

    A sequence comes out the same alone and in any batch: padded frames are zero before every convolution, as the frames
    beyond its ends are, and in what comes out. ``dilation``: one for all layers, or a tuple that the layers go through
    in turn. ``stride``: of the first layer, or a tuple of the first layers, so that long sequences get short early; a
    layer of stride s leaves ceil(T / s) frames. With ``batch_norm``, convolution → batch norm → PReLU. Kernel, filters
    and strides are our choice: the paper says only that there are 16 layers with PReLU.
    """

    def __init__(self, channels: int, filters: int = 32, layers: int = 8, kernel: int = 5,
                 dilation: int | tuple[int, ...] = 1, stride: int | tuple[int, ...] = 1, batch_norm: bool = False):
        super().__init__()
        for name, value in (("channels", channels), ("filters", filters), ("layers", layers), ("kernel", kernel)):
            check_whole(name, value)
        if kernel % 2 == 0:
            raise ValueError(f"kernel must be odd, so that it has a middle, got {kernel}")
        dilations, strides = _several("dilation", dilation), _several("stride", stride)
        if len(strides) > layers or len(dilations) > layers:
            raise ValueError(f"stride and dilation must have at most one entry per layer, got {len(strides)} and "
                             f"{len(dilations)} for {layers} layers")
        self.channels = channels
        self.strides = strides + (1,) * (layers - len(strides))
        self.convolutions, self.norms, self.activations = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for i, step in enumerate(self.strides):
            wide = dilations[i % len(dilations)]
            convolution = nn.Conv1d(filters if i else channels, filters, kernel, stride=step, dilation=wide,
                                    padding=wide * (kernel // 2), bias=not batch_norm)
            # He et al. 2015 for PReLU, so that 16 layers keep the scale of the input; no PReLU precedes the first.
            nn.init.kaiming_normal_(convolution.weight, a=SLOPE if i else 1.0)
            if convolution.bias is not None:
                nn.init.zeros_(convolution.bias)
            self.convolutions.append(convolution)
            self.norms.add_module(str(i), MaskedBatchNorm(filters) if batch_norm else None)
            self.activations.append(FastPReLU(filters, init=SLOPE))

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        check_input(x, self.channels)
        lengths = check_lengths(lengths, x.shape[0], x.shape[2])
        after, real = lengths, None
        for step in self.strides:
            after = (after + step - 1) // step
        if x.numel() and usable(x) and lengths.device.type == "cpu" and self._is_plain():
            return self._fused(x, lengths.long()), after
        if (padding := padded_frames(x, lengths)) is not None:               # (B, 1, T)
            x, real = x.masked_fill(padding, 0), (~padding).to(x.dtype)      # whatever was there, NaN too, is gone
        return self.convolve(x, real), after

    def _is_plain(self) -> bool:
        """Whether all parts are what this class has put there, in float32: others do something else, or look on."""
        return not torch.is_autocast_enabled("cpu") and all(
            type(part) in (nn.Conv1d, MaskedBatchNorm, FastPReLU, nn.ModuleList) and not part._forward_hooks
            for parts in (self.convolutions, self.norms, self.activations) for part in parts.modules()) and all(
            p.dtype == torch.float32 and p.device.type == "cpu" for p in self.parameters())

    def _fused(self, x: Tensor, lengths: Tensor) -> Tensor:
        """The layers by the compiled kernel, which takes no notice of padding."""
        shapes, seen, norms = [], [], []
        parameters: list[Any] = []
        each: Any = zip(self.convolutions, self.norms, self.activations, strict=True)
        for convolution, norm, activation in each:
            (taps,), (step,), (wide,) = convolution.kernel_size, convolution.stride, convolution.dilation
            mode = BARE if norm is None else LEARNS if norm.training else FIXED
            shapes.append(Shape(taps, step, wide, mode, 0.0 if norm is None else norm.eps))
            parameters += [convolution.weight, activation.weight]
            parameters += [convolution.bias] if norm is None else [norm.weight, norm.bias]
            seen.append(x.new_empty(2, len(activation.weight)) if norm is None or norm.training else
                        torch.stack([norm.running_mean, norm.running_var]))
            norms.append(norm)
        y, states = stacked(x, lengths, shapes, parameters, seen)
        for norm, state in zip(norms, states, strict=True):
            if norm is not None and norm.training:
                norm.learn_from(state[MEAN], state[UNBIASED])
        return y

    def convolve(self, x: Tensor, real: Tensor | None) -> Tensor:
        """The layers alone, one graph for torch.compile. ``real`` (B, 1, T) is 0 at padding, None where none is."""
        for convolution, norm, activation, step in zip(self.convolutions, self.norms, self.activations, self.strides,
                                                       strict=True):
            x = convolution(x)                                               # (B, K, ceil(T / step))
            if real is not None:
                real = real[..., ::step]                                     # frame i·step is the middle of window i
            if norm is not None:
                x = norm(x, real)
            x = activation(x)
            if real is not None:
                x = x * real.to(x.dtype)                                     # many times faster than masked_fill
        return x

    def slope_penalty(self) -> Tensor:
        """Σ slope² over layers and filters, which pulls the PReLUs towards ReLUs.

        Abdelwahab & Landwehr 2019 regularise the slopes and tune how much; that the penalty is L2 is our reading.
        """
        first, *others = (slopes.square().sum() for slopes in self.activations.parameters())
        return sum(others, first)


class Identity(nn.Module):
    """No network: the channels of the recipe are the filters. (B, D, T), (B,) -> (B, D, T), (B,)"""

    def __init__(self, channels: int):
        super().__init__()
        self.channels = channels

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        check_input(x, self.channels)
        return x, check_lengths(lengths, x.shape[0], x.shape[2])

    def slope_penalty(self) -> Tensor:
        """Nought: there are no PReLUs here."""
        return torch.zeros(())


class FastPReLU(nn.PReLU):
    """PReLU, one slope per filter. (B, K, T) -> (B, K, T)

    On a CPU, PyTorch's own takes half as long as a convolution, forward and back. Our kernel takes a tenth of that;
    where there is none, lerp(relu(x), x, slope) takes half of it.
    """

    def forward(self, x: Tensor) -> Tensor:
        if usable(x):
            return _PReLU.apply(x, self.weight)
        return torch.lerp(x.relu(), x, self.weight.to(x.dtype)[:, None])


class _PReLU(torch.autograd.Function):
    """PReLU by the compiled kernel. x (B, K, T), slopes (K,) -> (B, K, T)"""

    @staticmethod
    def forward(ctx, x: Tensor, slopes: Tensor) -> Tensor:
        x, slopes = x.contiguous(), slopes.contiguous()
        ctx.save_for_backward(x, slopes)
        out = torch.empty_like(x)
        call(kernels().qpwl_prelu, (x, slopes, out), torch.get_num_threads(), *x.shape)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, outer: Tensor):
        x, slopes = ctx.saved_tensors
        by_x, by_slope = torch.empty_like(x), x.new_empty(x.shape[:2])
        call(kernels().qpwl_prelu_backward, (x, slopes, outer.contiguous(), by_x, by_slope), torch.get_num_threads(),
             *x.shape)
        return by_x, by_slope.sum(0)


class MaskedBatchNorm(nn.BatchNorm1d):
    """Batch norm that in training takes its statistics over real frames only. (B, K, T), real (B, 1, T) -> (B, K, T)

    ``real`` is 1 where a frame counts and 0 where it is padding. Where nothing is padded it is PyTorch's own.
    """

    running_mean: Tensor               # all four are there, as statistics are always tracked
    running_var: Tensor
    num_batches_tracked: Tensor
    momentum: float

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        if real is None or not self.training:
            return super().forward(x)
        count = real.sum()
        mean = (x * real).sum((0, 2), keepdim=True) / count                                       # (1, K, 1)
        variance = ((x - mean).square() * real).sum((0, 2), keepdim=True) / count
        with torch.no_grad():
            self.learn_from(mean.flatten(), (variance * count / (count - 1).clamp(min=1)).flatten())
        normal = (x - mean) * (variance + self.eps).rsqrt()
        return normal * self.weight[:, None] + self.bias[:, None]

    def learn_from(self, mean: Tensor, variance: Tensor) -> None:
        """Take the statistics of one more batch into account. (K,), (K,)"""
        self.running_mean.lerp_(mean, self.momentum)
        self.running_var.lerp_(variance, self.momentum)
        self.num_batches_tracked += 1


def padded_frames(x: Tensor, lengths: Tensor) -> Tensor | None:
    """Where frames are padding, True; None where it is known that none is. (B, K, T), (B,) -> (B, 1, T)"""
    if len(lengths) == 0 or ((found := extremes(lengths)) and found[0] == x.shape[2]):
        return None
    return (torch.arange(x.shape[2], device=x.device) >= sent(lengths, x.device)[:, None])[:, None]


def _several(name: str, value: int | tuple[int, ...]) -> tuple[int, ...]:
    """One number or a tuple of them, as a tuple."""
    several = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not several:
        raise ValueError(f"{name} must be a whole number or a tuple of them, got none")
    for each in several:
        check_whole(name, each)
    return several


def check_input(x: Tensor, channels: int) -> None:
    check_float("x", x, dims=3)
    if x.shape[1] != channels or x.shape[2] == 0:
        raise ValueError(f"x must be (B, {channels}, T) with T of at least 1, got shape {tuple(x.shape)}")
