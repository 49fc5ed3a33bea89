"""A training step against a plain eager PyTorch rendering of it, and embedding many sequences against one by one.

The rendering is what one writes first, and writes right: `nn.Conv1d`, `nn.PReLU`, a mask, `torch.sort`, `gather` and
`lerp`, W_1 by broadcasting its closed form, Adam. Both start from the same weights, and must give the same losses.
"""

from functools import partial

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from benchmarks._timing import race_to, row
from qpwl_core.data.recordings import Recordings
from qpwl_core.models.config import Config, preset
from qpwl_core.models.model import Model
from qpwl_core.training.run import Run

PEOPLE, EACH, PAIRS = 40, 4, 32
STEPS = 2             # of training in one round of a race
SEQUENCES = 2000      # to embed


def recordings(samples: int, channels: int, each: int = EACH, shortest: float = 1.0) -> Recordings:
    """Noise of another colour per person; lengths from ``shortest`` · samples to samples."""
    random = np.random.default_rng(0)
    sequences, subjects = [], []
    for i in range(PEOPLE * each):
        length = samples if i == 0 else random.integers(round(shortest * samples), samples + 1)
        person = i % PEOPLE
        x = random.normal(size=(length, channels)) * (1 + person / PEOPLE)
        sequences.append(np.cumsum(x, axis=0).astype(np.float32) * 0.02 if person % 2 else x.astype(np.float32))
        subjects.append(f"s{person:02d}")
    return Recordings(sequences, subjects, [f"c{i}" for i in range(channels)], 256.0)


class Plain(nn.Module):
    """QP-WL in plain PyTorch: 8 convolutions of 32 filters with PReLU, M = 16 learned levels, multi-class loss."""

    def __init__(self, channels: int, filters: int = 32, layers: int = 8, kernel: int = 5, points: int = 16):
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv1d(filters if i else channels, filters, kernel, padding=kernel // 2)
                                          for i in range(layers))
        self.activations = nn.ModuleList(nn.PReLU(filters) for _ in range(layers))
        self.gaps = nn.Parameter(torch.zeros(points + 1))
        self.log_scale = nn.Parameter(torch.zeros(()))

    def levels(self):
        inner = (0.05 / len(self.gaps) + 0.95 * self.gaps.softmax(0))[:-1].cumsum(0)
        return torch.cat([inner.new_zeros(1), inner, inner.new_ones(1)])                 # (L,)

    def forward(self, x, lengths):
        real = torch.arange(x.shape[2]) < lengths[:, None, None]                         # (B, 1, T)
        padded = not real.all()
        for convolution, activation in zip(self.convolutions, self.activations, strict=True):
            x = activation(convolution(x))
            if padded:
                x = x * real
        x = (x.masked_fill(~real, torch.inf) if padded else x).sort(-1).values           # (B, K, T)
        position = self.levels() * lengths[:, None]                                      # (B, L)
        below = torch.minimum(position.detach().long(), lengths[:, None] - 1)
        above = torch.minimum(below + 1, lengths[:, None] - 1)
        low, high = (x.gather(2, i[:, None].expand(-1, x.shape[1], -1)) for i in (below, above))
        return torch.lerp(low, high, (position - below)[:, None])                        # (B, K, L)

    def loss(self, anchors, positives):
        d = anchors[:, None] - positives[None]                                           # (N, N, K, L)
        d0, d1 = d[..., :-1], d[..., 1:]
        total = d0.abs() + d1.abs()
        crossing = (d0.square() + d1.square()) / (2 * total).clamp(min=1e-12)
        area = torch.where(d0 * d1 < 0, crossing, total / 2)
        distances = self.log_scale.exp() * (area * self.levels().diff()).sum((-1, -2))   # (N, N)
        return F.cross_entropy(-distances, torch.arange(len(distances)))

    def penalty(self):
        return sum(activation.weight.square().sum() for activation in self.activations)


def plain_step(run: Run):
    """A step of the rendering, from the weights that the run has now."""
    network = run.embedder.network
    plain = Plain(network.channels)
    plain.convolutions.load_state_dict(network.convolutions.state_dict())
    plain.activations.load_state_dict(network.activations.state_dict())
    with torch.no_grad():
        plain.log_scale.copy_(run.embedder.log_scale)
    optimiser = torch.optim.Adam(plain.parameters(), lr=run.config.learning_rate / 25)

    def step(batch) -> float:
        anchors, positives = plain(batch.x, batch.lengths).chunk(2)
        loss = plain.loss(anchors, positives)
        optimiser.zero_grad()
        (loss + run.config.penalty * plain.penalty()).backward()
        nn.utils.clip_grad_norm_(plain.parameters(), run.config.clip)
        optimiser.step()
        return loss.item()

    return step


def race_steps(name: str, samples: int, channels: int, shortest: float = 1.0) -> dict:
    config = Config(pairs=PAIRS, validation=0.1, iterations=10**8)      # so long that the learning rate stands still
    run = Run(config, recordings(samples, channels, shortest=shortest))
    plain, batch = plain_step(run), run.sampler.batch(0)
    for step in range(3):
        ours, theirs = run.learn(batch), plain(batch)
        assert abs(ours - theirs) < 1e-4 * max(1, theirs), (name, step, ours, theirs)

    def several(step):
        def steps():
            for _ in range(STEPS):
                step(batch)
        return steps

    ours, theirs, ratio, noise = race_to(1.3, several(run.learn), several(plain))
    return row(f"training step, {name}, N = {PAIRS}, T = {batch.x.shape[2]}, D = {channels}",
               f"{ours / STEPS * 1e3:.1f} ms", f"plain PyTorch {theirs / STEPS * 1e3:.1f} ms", ratio, 1.3, noise=noise)


def race_pyramid() -> dict:
    """What order costs: a step with the pyramid 1+2+4 against one of QP-WL, the network of the signature preset."""
    signed = recordings(400, 7, shortest=0.3)
    steps = []
    for method in ("qp-wl-pyramid", "qp-wl"):
        config = Config(method=method, filters=64, layers=5, stride=2, batch_norm=True, p=2.0, pairs=24,
                        validation=0.1, iterations=10**8)
        run = Run(config, signed)
        steps.append(partial(run.learn, run.sampler.batch(0)))
    ours, theirs, ratio, noise = race_to(0.4, *steps)
    return row("training step, pyramid 1+2+4, N = 24, T = 400, D = 7", f"{ours * 1e3:.1f} ms",
               f"QP-WL {theirs * 1e3:.1f} ms", ratio, 0.4, noise=noise)


def race_presets() -> list[dict]:
    """Steps of the quick presets against the same with the network's layers in PyTorch, as they were before our kernel.

    Both have all else that is quick: what the presets gained in all is in docs/speed.md.
    """
    rows = []
    for domain, samples, channels, shortest, floor in (("eeg", 256, 16, 1.0, 1.2), ("gait", 500, 12, 1.0, 1.2),
                                                       ("eye", 1000, 7, 1.0, 1.2), ("signature", 400, 10, 0.2, 1.5)):
        quick = preset("quick", domain)
        config = Config(**{name: getattr(quick, name) for name in (
            "filters", "layers", "stride", "batch_norm", "p", "pairs", "both_ways", "one_threshold")}, validation=0.1,
            iterations=10**8)
        runs = [Run(config, recordings(samples, channels, shortest=shortest)) for _ in range(2)]
        runs[1].embedder.network._is_plain = lambda: False
        batch = runs[0].sampler.batch(0)
        ours, theirs, ratio, noise = race_to(floor, partial(runs[0].learn, batch), partial(runs[1].learn, batch))
        rows.append(row(f"training step, quick preset of {domain}, N = {config.pairs}, T = {samples}",
                        f"{ours * 1e3:.1f} ms", f"layers in PyTorch {theirs * 1e3:.1f} ms", ratio, floor, noise=noise))
    return rows


def race_embedding() -> dict:
    """EEG sequences in one run against one by one, both from what the recordings hold."""
    eeg = recordings(256, 16, each=SEQUENCES // PEOPLE)
    model: Model = Run(Config(), eeg).model()
    alone = [eeg.select(index=[i]) for i in range(len(eeg))]

    def one_by_one():
        return torch.cat([model.embed(one).values for one in alone])

    torch.testing.assert_close(model.embed(alone[7]).values[0], model.embed(eeg).values[7])
    ours, theirs, ratio, noise = race_to(2.0, lambda: model.embed(eeg), one_by_one, rounds=3)
    return row(f"embed {len(eeg)} EEG sequences in one run, T = 256, D = 16", f"{ours:.2f} s, {len(eeg) / ours:.0f}/s",
               f"one by one {theirs:.2f} s", ratio, 2.0, noise=noise)


def run() -> list[dict]:
    torch.set_num_threads(min(2, torch.get_num_threads()))      # OMP_NUM_THREADS=1 where others work too
    return [race_steps("EEG-like", 256, 16), race_steps("gait-like", 500, 6),
            race_steps("lengths 250 to 500", 500, 6, shortest=0.5), *race_presets(), race_pyramid(), race_embedding()]
