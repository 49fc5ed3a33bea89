"""Where the embeddings of one model live: who made them, their shape, and how two of them are compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from qpwl_core.evaluation.filter_parts import filter_parts
from qpwl_core.models.gallery import Gallery
from qpwl_core.models.methods import METHODS, by_filter
from qpwl_core.models.model import Model
from qpwl_core.transport.distances import (
    pairwise_by,
)


@dataclass(frozen=True)
class Space:
    """Where the embeddings of one model live: who made them, their shape, and how two of them are compared."""

    model: str                          # sha256 of the weights
    method: str
    p: float
    levels: tuple[float, ...] | None    # M + 2 of them where the model has a quantile layer
    shape: tuple[int, ...]              # (K, M+2) quantile functions or (E,) a vector

    def checked(self, values, model: str) -> Tensor:
        """Embeddings (n, *shape) as float32, n >= 1; of another model or not finite, they are refused."""
        if model != self.model:
            raise ValueError(f"these sequences were embedded by another model ({model[:8]}…) than the one people are "
                             f"enrolled with ({self.model[:8]}…), and their distances would mean nothing")
        values = torch.as_tensor(values).detach().cpu().to(torch.float32).contiguous()
        if tuple(values.shape[1:]) != self.shape or len(values) == 0:
            raise ValueError(f"sequences must be at least one embedding of shape {self.shape}, got shape "
                             f"{tuple(values.shape)}")
        if not torch.isfinite(values).all():
            raise ValueError("sequences must be finite, and an embedding has NaN or infinite values")
        return values

    def pairwise(self, a: Tensor, b: Tensor) -> np.ndarray:
        """The model's distance of every a to every b. (Q, *shape), (R, *shape) -> (Q, R)"""
        return pairwise_by(METHODS[self.method].distance, a, b, self._levels, self.p).numpy()

    def by_filter(self, a: Tensor, b: Tensor) -> np.ndarray:
        """What each filter adds to the distance of a to b, one by one; it sums to it. (n, *shape) twice -> (n, K)"""
        return filter_parts(METHODS[self.method].distance, self.split(a), self.split(b), self._levels, self.p).numpy()

    def split(self, values: Tensor) -> Tensor:
        """Embeddings, filter by filter. (n, *shape) -> (n, K, numbers of one filter)"""
        return by_filter(values, METHODS[self.method], len(self.levels or ()))

    @property
    def _levels(self) -> Tensor | None:
        return None if self.levels is None else torch.tensor(self.levels)


def space_of(model: Model) -> Space:
    """The space of a loaded model."""
    levels = model.embedder.levels
    return Space(model.checksum, model.config.method, model.config.p,
                 None if levels is None else tuple(levels.detach().cpu().float().tolist()), model.embedder.shape)


def space_of_gallery(gallery: Gallery) -> Space:
    """The space of the model that a gallery belongs to; the weights need not be loaded."""
    levels = None if gallery.model_levels is None else tuple(torch.from_numpy(gallery.model_levels).float().tolist())
    shape = tuple(gallery_embeddings(gallery.select([0])).shape[1:])
    return Space(gallery.model, gallery.method, gallery.p, levels, shape)


def gallery_embeddings(gallery: Gallery) -> Tensor:
    """The model's embeddings of the sequences of a gallery, to the precision of its file. (n, *shape)"""
    _, values, _ = gallery.compared()
    return values.flatten(1) if METHODS[gallery.method].flatten else values
