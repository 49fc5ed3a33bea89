"""A training step with the quantile layer against the same step with max pooling: 8 convolutions of 32 filters."""

import torch
from torch import nn

from benchmarks._timing import race_to, row
from qpwl_core.transport.quantiles import QuantileLayer


class MaxPool(nn.Module):
    def forward(self, x):
        return x.amax(-1)


def step(pool: nn.Module, x: torch.Tensor):
    torch.manual_seed(0)
    layers, channels = [], x.shape[1]
    for _ in range(8):
        layers += [nn.Conv1d(channels, 32, 5, padding=2), nn.PReLU(32)]
        channels = 32
    model = nn.Sequential(*layers, pool)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)

    def train():
        optimiser.zero_grad()
        model(x).square().mean().backward()
        optimiser.step()

    return train


def run() -> list[dict]:
    torch.set_num_threads(min(2, torch.get_num_threads()))      # OMP_NUM_THREADS=1 where others work too
    rows = []
    for length, batch in ((256, 64), (1000, 32), (6000, 8)):
        x = torch.randn(batch, 6, length)
        ours, theirs, ratio, noise = race_to(1.05, step(QuantileLayer(16), x), step(MaxPool(), x), at_least=False,
                                             rounds=24)
        rows.append(row(f"training step with the quantile layer, T = {length}, batch {batch}", f"{ours * 1e3:.1f} ms",
                        f"max pooling {theirs * 1e3:.1f} ms", ratio, 1.05, at_least=False, noise=noise))
    return rows
