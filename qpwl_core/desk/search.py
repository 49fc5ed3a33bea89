"""Who of many enrolled people is nearest: exactly, in one pass over all sequences or, of very many, by bounds first."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from qpwl_core.desk.space import Space
from qpwl_core.models.methods import METHODS
from qpwl_core.transport.nearest import Nearest

FULL = 1 << 17            # sequences up to which everyone's distance is computed: a tenth of a second
LADDER = 100              # people whose distances are known above that, the nearest ones
ALIKE = 1e-5              # of its largest value: what may differ in one sequence embedded in two batches


class Search:
    """N sequences, of J people who stand together, from ``starts`` (J,) on; ``owner`` (N,) numbers people."""

    def __init__(self, space: Space, values: Tensor, owner: np.ndarray, starts: np.ndarray):
        self.space, self.values, self.owner, self.starts = space, values, owner, starts
        self.nearest = (Nearest(values, torch.tensor(space.levels), space.p)
                        if METHODS[space.method].distance == "wasserstein" else None)
        self._last: tuple[Tensor, np.ndarray] | None = None
        self.by_bounds = self.nearest is not None and len(values) > FULL

    def people(self, presented: Tensor, also: tuple[int, ...] = ()) -> tuple[np.ndarray, np.ndarray, float]:
        """People, nearest first, their d_j(n), and the share of sequences that were not compared.

        By bounds, it is the nearest people, those who had to be compared to know it, and ``also``; else all. Of two at
        the same distance the one with the smaller number is first.
        """
        if self.by_bounds and self.nearest is not None:
            places = np.flatnonzero(np.isin(self.owner[self.starts], also))
            found = self.nearest.search(presented, min(LADDER, len(self.starts)), self.starts, tuple(places))
            who, distances, pruned = self.owner[self.starts[found.groups]], found.distances, found.pruned
        else:
            nearest = np.minimum.reduceat(self._between(presented), self.starts, axis=1)
            who, distances, pruned = self.owner[self.starts], nearest.mean(0, dtype=np.float64), 0.0
        order = np.lexsort((who, distances))
        return who[order], distances[order], pruned

    def nearest_of(self, presented: Tensor, person: int) -> np.ndarray:
        """Which sequence of a person is nearest to each presented one. -> (n,)"""
        theirs = np.flatnonzero(self.owner == person)
        return theirs[self._between(presented, theirs).argmin(1)]

    def likeliest(self, presented: Tensor) -> np.ndarray:
        """The sequence that each presented one would be, were it enrolled itself. -> (n,)"""
        if not self.by_bounds or self.nearest is None:
            return self._between(presented).argmin(1)
        bounds, found = self.nearest.bounds(presented), []
        for one, bound in zip(presented, bounds, strict=True):
            near = np.flatnonzero(bound <= ALIKE * float(one.abs().max()) * one.shape[0])
            near = near if len(near) else bound.argmin(keepdims=True)
            found.append(near[self.nearest.distances(one[None], near)[0].argmin()])
        return np.array(found)

    def _between(self, presented: Tensor, which: np.ndarray | None = None) -> np.ndarray:
        """Distances to all sequences, or to some of them. -> (n, N) or (n, m)"""
        if which is not None:
            return (self.space.pairwise(presented, self.values[which]) if self.nearest is None else
                    self.nearest.distances(presented, which))
        last = self._last
        if last is None or last[0] is not presented:           # a decision asks twice
            last = self._last = presented, (self.space.pairwise(presented, self.values) if self.nearest is None else
                                            self.nearest.distances(presented))
        return last[1]
