"""Where in a recording a filter fires: the output of Γ over time, and what part of the input each frame of it saw."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn

from qpwl_core.common.bounds import DRAWN_SAMPLES as LONGEST
from qpwl_core.data.preprocessing import FittedRecipe
from qpwl_core.data.preprocessing.gait import GaitRecipe
from qpwl_core.data.recordings import Recordings
from qpwl_core.models.model import Model
from qpwl_core.models.networks import ConvStack
from qpwl_core.transport.quantiles import empirical_quantiles


@dataclass(frozen=True, eq=False)
class Response:
    """All filters over one recording. Frame i is centred on second i · step and saw ``field`` seconds around it."""

    values: np.ndarray                # (K, T')
    step: float                       # seconds from frame to frame: the strides of the network
    field: float                      # seconds that one frame sees: the receptive field

    @property
    def seconds(self) -> np.ndarray:
        """The centre of each frame. (T',)"""
        return np.arange(self.values.shape[1]) * self.step

    def threshold(self, k: int, r: float) -> float:
        """Q̃(r) of filter k over this recording: a share r of its frames lies below."""
        return empirical_quantiles(torch.from_numpy(self.values[None, k:k + 1]), None, torch.tensor([r])).item()

    def above(self, k: int, r: float, seconds: np.ndarray) -> np.ndarray:
        """Whether filter k is at or above its quantile r at each of these seconds, those of the nearest frame. bool"""
        frame = np.clip(np.round(np.asarray(seconds) / self.step).astype(int), 0, self.values.shape[1] - 1)
        return self.values[k, frame] >= self.threshold(k, r)


def receptive_field(network: ConvStack) -> tuple[int, int]:
    """Samples that one frame of the output sees, and samples from one frame to the next.

    >>> receptive_field(ConvStack(1, filters=1, layers=2, kernel=5, stride=2))  # 5, then 4 more at every second one
    (13, 2)
    """
    field, step = 1, 1
    for convolution in network.convolutions:
        assert isinstance(convolution, nn.Conv1d), "there is nothing else"
        field += (convolution.kernel_size[0] - 1) * convolution.dilation[0] * step
        step *= convolution.stride[0]
    return field, step


def respond(model: Model, recordings: Recordings) -> Response:
    """Run a model's network over the one recording that is given, whole: windows are for embedding, not for looking."""
    if len(recordings) != 1:
        raise ValueError(f"recordings must hold one sequence to look at, got {len(recordings)}")
    network = model.embedder.network
    if not isinstance(network, ConvStack):
        raise ValueError("this network gives one frame for a whole recording, so its filters fire at no place in it")
    if getattr(model.recipe.recipe, "lost", None) == "drop":
        raise ValueError("this model drops lost samples, so its frames have no place in the recording")
    seen, _ = _uncut(model.recipe).cut(shortened(recordings))
    values = model.each(seen, lambda x, n: network(x, n)[0])[0].numpy()                  # (K, T')
    field, step = receptive_field(network)
    return Response(values, step / seen.rate, field / seen.rate)


def shortened(recordings: Recordings) -> Recordings:
    """The same with at most the first LONGEST samples of each sequence."""
    if recordings.lengths.max() <= LONGEST:
        return recordings
    return replace(recordings, sequences=[x[:LONGEST] for x in recordings.sequences])


def _uncut(fitted: FittedRecipe) -> FittedRecipe:
    """The recipe without its cutting into windows, where it cuts (gait)."""
    if not isinstance(fitted.recipe, GaitRecipe):
        return fitted
    return replace(fitted, recipe=replace(fitted.recipe, seconds=2 * LONGEST / fitted.rate))
