"""The two-stream network of Jäger et al. 2019 (Deep Eyedentification), for sequences of one length."""

import itertools

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from qpwl_core.common.checks import check_lengths, check_whole
from qpwl_core.common.text import quoted
from qpwl_core.models.networks import check_input, padded_frames

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
            raise ValueError(f"velocity must name pairs of the {channels} channels by number, got {quoted(velocity)}")
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
        check_input(x, self.channels)
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
        return next(self.merge.parameters()).new_zeros(())


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
