"""Networks from a sequence to filters: the conv stack Γ, and the two-stream network of Jäger et al. 2019.

Both take sequences x (B, D, T) of which the first ``lengths`` (B,) frames count, and return filters (B, K, T') with
their lengths. Keep ``lengths`` on the CPU: looking at it then never waits for a GPU.
"""

import itertools

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .checks import check_float, check_lengths, check_whole
from .kernels import call, kernels

SLOPE = 0.25             # of a PReLU before training


class ConvStack(nn.Module):
    """Γ: stacked 1-D convolutions, each with a PReLU of one slope a filter. (B, D, T), (B,) -> (B, K, T'), (B,)

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
            raise ValueError(f"stride and dilation must have at most one entry a layer, got {len(strides)} and "
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
            self.norms.append(MaskedBatchNorm(filters) if batch_norm else None)
            self.activations.append(FastPReLU(filters, init=SLOPE))

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        _check_input(x, self.channels)
        lengths = check_lengths(lengths, x.shape[0], x.shape[2])
        real = None
        if (padding := padded_frames(x, lengths)) is not None:               # (B, 1, T)
            x, real = x.masked_fill(padding, 0), (~padding).to(x.dtype)      # whatever was there, NaN too, is gone
        for step in self.strides:
            lengths = (lengths + step - 1) // step
        return self.convolve(x, real), lengths

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
        return sum(activation.weight.square().sum() for activation in self.activations)


class FastPReLU(nn.PReLU):
    """PReLU, one slope a filter. (B, K, T) -> (B, K, T)

    On a CPU, PyTorch's own takes half as long as a convolution, forward and back. Our kernel takes a tenth of that;
    where there is none, lerp(relu(x), x, slope) takes half of it.
    """

    def forward(self, x: Tensor) -> Tensor:
        if x.device.type == "cpu" and x.dtype == torch.float32 and kernels() is not None:
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

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        if real is None or not self.training:
            return super().forward(x)
        count = real.sum()
        mean = (x * real).sum((0, 2), keepdim=True) / count                                       # (1, K, 1)
        variance = ((x - mean).square() * real).sum((0, 2), keepdim=True) / count
        with torch.no_grad():
            unbiased = variance * count / (count - 1).clamp(min=1)
            self.running_mean.lerp_(mean.flatten(), self.momentum)
            self.running_var.lerp_(unbiased.flatten(), self.momentum)
            self.num_batches_tracked += 1
        normal = (x - mean) * (variance + self.eps).rsqrt()
        return normal * self.weight[:, None] + self.bias[:, None]


def padded_frames(x: Tensor, lengths: Tensor) -> Tensor | None:
    """Where frames are padding, True; None where no sequence is padded. (B, K, T), (B,) -> (B, 1, T)"""
    if len(lengths) == 0 or int(lengths.min()) == x.shape[2]:
        return None
    return (torch.arange(x.shape[2], device=x.device) >= lengths.to(x.device)[:, None])[:, None]


KERNELS = (9, 9, 9, 5, 5, 5, 5, 3, 3)
STREAMS = {"slow": (128,) * 3 + (256,) * 6, "fast": (32,) * 3 + (512,) * 6}      # filters of each block
STEEPNESS = 20.0         # of the slow stream, in ms/°
THRESHOLD = 0.04         # of the fast stream, in °/ms


class JaegerNetwork(nn.Module):
    """The two-stream network of Jäger et al. 2019 on gaze velocities v in °/ms. (B, D, T), (B,) -> (B, 128, 1), (B,)

    *Slow* sees tanh(20 v); *fast* sees v where the eye moves faster than 0.04 °/ms, 0 elsewhere, then z-scored. Each
    is 9 × [convolution → ReLU → batch norm → average pool 2] and dense 256, 256, 128; dense 256, 128 merge the two. The
    original trains the streams alone, freezes and then merges them; here all train end to end, so that one loop serves
    every method (`network.streams.requires_grad_(False)` freezes). ReLU and batch norm after dense layers, too, are
    our reading.

    ``velocity``: pairs of channels (vx, vy), an eye each, that hold v / ``unit``. The eye recipe's fast channels do, at
    its default saturation of 50 °/s: they are v / (0.5 °/ms), up to 500 °/s. Without ``velocity`` every channel is
    taken by itself, in deviations, one of which stands for 0.05 °/ms, where tanh bends: a use the authors did not have
    in mind. ``length``: frames that the network takes. Of a longer sequence it sees the first ones, a shorter one is
    filled up with velocity 0. Nine poolings need 512 frames; below, there are as many blocks as poolings fit.
    ``width`` scales the number of filters and dense units, the embedding keeps 128.
    """

    def __init__(self, channels: int, length: int, velocity: tuple[int, ...] = (), unit: float | None = None,
                 width: float = 1.0, embedding: int = 128):
        super().__init__()
        check_whole("channels", channels)
        check_whole("length", length, least=2)
        if len(velocity) % 2 or not all(0 <= i < channels for i in velocity):
            raise ValueError(f"velocity must name pairs of the {channels} channels by number, got {velocity!r}")
        if not 0 < width < float("inf"):
            raise ValueError(f"width must be a positive number, got {width}")
        self.channels, self.length, self.velocity = channels, length, tuple(velocity)
        self.unit = unit if unit is not None else 0.5 if velocity else 1 / STEEPNESS
        inputs = len(velocity) or channels
        self.z_score = nn.BatchNorm1d(inputs, affine=False)      # by the statistics of the training frames

        def scaled(units: int) -> int:
            return max(4, round(units * width))

        blocks = min(len(KERNELS), length.bit_length() - 1)      # after which at least one frame is left
        self.streams = nn.ModuleDict()
        for name, filters in STREAMS.items():
            sizes = [inputs, *map(scaled, filters[:blocks])]
            parts = [_block(sizes[i], sizes[i + 1], KERNELS[i]) for i in range(blocks)]
            flat = sizes[-1] * (length >> blocks)
            dense = _dense(flat, scaled(256), scaled(256), embedding)
            self.streams[name] = nn.Sequential(*parts, nn.Flatten(), dense)
        self.merge = _dense(2 * embedding, scaled(256), embedding)

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        _check_input(x, self.channels)
        lengths = check_lengths(lengths, x.shape[0], x.shape[2])
        x = x[..., :self.length]
        if (padding := padded_frames(x, lengths.clamp(max=self.length))) is not None:
            x = x.masked_fill(padding, 0)
        if self.velocity:
            x = x[:, list(self.velocity)]
        v = self.unit * F.pad(x, (0, self.length - x.shape[2]))              # (B, inputs, length)
        speed = v.unflatten(1, (-1, 2 if self.velocity else 1)).square().sum(2, keepdim=True).sqrt()
        moving = (speed > THRESHOLD).expand(-1, -1, 2 if self.velocity else 1, -1).flatten(1, 2)
        slow = self.streams["slow"](torch.tanh(STEEPNESS * v))
        fast = self.streams["fast"](self.z_score(v * moving))
        return self.merge(torch.cat([slow, fast], 1))[:, :, None], torch.ones_like(lengths)

    def slope_penalty(self) -> Tensor:
        """Nought: there are no PReLUs here."""
        return self.merge[0].weight.new_zeros(())


def velocity_channels(names: tuple[str, ...]) -> tuple[int, ...]:
    """Numbers of the channels that the eye recipe fills with clipped velocities, none for other recipes.

    >>> velocity_channels(("x", "y", "vx_slow", "vy_slow", "vx_fast", "vy_fast", "valid"))
    (4, 5)
    """
    return tuple(i for i, name in enumerate(names) if name.endswith(("vx_fast", "vy_fast")))


def _block(inputs: int, outputs: int, kernel: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv1d(inputs, outputs, kernel, padding="same"), nn.ReLU(), nn.BatchNorm1d(outputs),
                         nn.AvgPool1d(2))


def _dense(*sizes: int) -> nn.Sequential:
    layers = []
    for inputs, outputs in itertools.pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU(), nn.BatchNorm1d(outputs)]
    return nn.Sequential(*layers)


def _several(name: str, value: int | tuple[int, ...]) -> tuple[int, ...]:
    """One number or a tuple of them, as a tuple."""
    several = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not several:
        raise ValueError(f"{name} must be a whole number or a tuple of them, got none")
    for each in several:
        check_whole(name, each)
    return several


def _check_input(x: Tensor, channels: int) -> None:
    check_float("x", x, dims=3)
    if x.shape[1] != channels or x.shape[2] == 0:
        raise ValueError(f"x must be (B, {channels}, T) with T of at least 1, got shape {tuple(x.shape)}")
