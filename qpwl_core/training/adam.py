"""Adam (Kingma & Ba 2015) in one pass over the weights, by the operation under `torch.optim.Adam(fused=True)`.

`torch.optim` loads PyTorch's compiler with the first optimiser, which takes a second that a short training feels, and
which nothing here needs. The numbers are the same, bit for bit; so are the names of what is kept.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

BETAS, EPS = (0.9, 0.999), 1e-8


class Adam:
    """Steps of Adam on parameters that have a gradient; set ``rate`` before each."""

    def __init__(self, parameters: Iterable[Tensor], rate: float):
        self.parameters, self.rate = list(parameters), rate
        self.state: dict[int, dict[str, Tensor]] = {}          # by number of the parameter: step, exp_avg, exp_avg_sq

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        moved = {i: x.grad for i, x in enumerate(self.parameters) if x.grad is not None}
        for i in moved:
            if i not in self.state:
                x = self.parameters[i]
                self.state[i] = {"step": torch.zeros((), device=x.device), "exp_avg": torch.zeros_like(x),
                                 "exp_avg_sq": torch.zeros_like(x)}
        first, second, steps = ([self.state[i][name] for i in moved] for name in ("exp_avg", "exp_avg_sq", "step"))
        torch._foreach_add_(steps, 1)
        torch._fused_adam_([self.parameters[i] for i in moved], list(moved.values()), first, second, [], steps,
                           lr=self.rate, beta1=BETAS[0], beta2=BETAS[1], weight_decay=0.0, eps=EPS, amsgrad=False,
                           maximize=False)

    def restore(self, state: dict[int, dict[str, Tensor]]) -> None:
        """Go on from a state that was kept, on the devices of the parameters."""
        self.state = {i: {name: value.to(self.parameters[i].device) for name, value in held.items()}
                      for i, held in state.items()}
