"""The nearest of very many: d_p of a few probes to rows in memory or in a file, exactly, most of them never compared.

By Jensen's inequality W_p of two distributions is at least the distance of their means, for every p >= 1; so the sum
over filters of |difference of means| never exceeds d_p. Means are a hundredth of what full embeddings are: they are
looked at first, and in full only those whose bound is not above the best distances found so far.

Rows may be kept in float16, half of what float32 takes. Rounding moves a knot by at most 2^-11 of its size, and a W_p
by at most the largest move of its knots: `Nearest.rounding` is what a distance can be off by, filters added up.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from qpwl_core.common.checks import check_finite, check_float, check_levels, check_order, check_whole
from qpwl_core.transport.distances import pairwise_wasserstein
from qpwl_core.transport.kernels import call, kernels

CHUNK = 1 << 12               # rows at a time where they are read through PyTorch
FIRST = 1 << 8                # groups compared in full before the bounds are looked at again; then twice as many
UNIT = 2.0**-24               # half a unit in the last place of float32: a sum of K terms is off by at most K of them
OF_DISTANCES = 2e-6           # the distances that bounds are compared with
OF_MEANS = 2e-7               # of their size, by which a difference of two means, rounded once, can be off
HALF, SMALLEST = 2.0**-11, 2.0**-25    # the same of float16: relative, and where numbers are too small for that


@dataclass(frozen=True, eq=False)
class Found:
    """The nearest groups of rows, nearest first, and the share of all rows that was never compared."""

    groups: np.ndarray         # (k,)
    distances: np.ndarray      # (k,) mean over the probes of the distance to the nearest row of the group
    pruned: float
    rounding: float            # what any of the distances can be off by since rows are kept in float16; 0 in float32


class Nearest:
    """Rows (N, K, L) of quantile functions at ``levels``, to be searched; ``rows`` may be mapped from a file."""

    def __init__(self, rows, levels: Tensor, p: float = 1.0):
        rows = rows.numpy() if isinstance(rows, Tensor) else rows
        if rows.ndim != 3 or rows.dtype not in (np.float32, np.float16) or not rows.flags.c_contiguous:
            raise ValueError(f"rows must be (N, K, L) in float32 or float16, one after the other, got {rows.dtype} "
                             f"{rows.shape}")
        check_levels("levels", levels, count=rows.shape[2])
        self.rows, self.levels, self.p = rows, levels.float(), check_order(p)

    def __len__(self) -> int:
        return len(self.rows)

    def distances(self, probes: Tensor, which: np.ndarray | None = None) -> np.ndarray:
        """d_p of every probe to every row, or to those numbered ``which`` (m,). (n, K, L) -> (n, N) or (n, m)"""
        probes = self._checked(probes)
        if kernels() is None or self.rows.dtype == np.float16:
            return self._in_parts(probes, which)
        numbers = torch.arange(len(self)) if which is None else torch.from_numpy(np.ascontiguousarray(which, np.int64))
        out = torch.empty(len(probes), len(numbers))
        call(kernels().qpwl_scan, (probes, _tensor(self.rows), numbers, self.levels.diff(), out), self.p,
             torch.get_num_threads(), len(probes), len(numbers), *self.rows.shape[1:])
        return out.numpy()

    def _in_parts(self, probes: Tensor, which: np.ndarray | None) -> np.ndarray:
        """Part by part in float32, where rows are not, or no kernel reads them where they lie."""
        count = len(self) if which is None else len(which)
        parts = (slice(i, i + CHUNK) for i in range(0, count, CHUNK))
        return np.concatenate([np.zeros((len(probes), 0), np.float32), *(
            pairwise_wasserstein(probes, self._some(part if which is None else which[part]), self.levels,
                                 self.p).numpy() for part in parts)], axis=1)

    def _some(self, which: slice | np.ndarray) -> Tensor:
        """Some rows, in float32. -> (m, K, L)"""
        rows = np.asarray(self.rows[which])
        return torch.from_numpy(rows.astype(np.float32)) if rows.dtype == np.float16 else _tensor(rows)

    @cached_property
    def means(self) -> Tensor:
        """Of each filter of each row, rounded once. (N, K)"""
        return torch.cat([torch.zeros(0, self.rows.shape[1]), *(
            self._means(self._some(slice(i, i + CHUNK))) for i in range(0, len(self), CHUNK))])

    def rounding(self, which: np.ndarray) -> np.ndarray:
        """By how much the distances to these rows can differ from those to what was rounded to float16. (m,) -> (m,)"""
        if self.rows.dtype == np.float32:
            return np.zeros(len(which))
        largest = self._some(which).abs().amax(2).double()                                   # (m, K)
        return (largest * HALF / (1 - HALF) + SMALLEST).sum(1).numpy()

    def _means(self, values: Tensor) -> Tensor:
        widths = self.levels.double().diff()
        knots = torch.zeros(len(self.levels), dtype=torch.double)
        knots[:-1] += widths / 2
        knots[1:] += widths / 2
        return (values.double() @ knots).float()

    @cached_property
    def _sizes(self) -> Tensor:
        return self.means.abs().sum(1)

    def bounds(self, probes: Tensor) -> np.ndarray:
        """What no distance is below, whatever was rounded. (n, K, L) -> (n, N)"""
        means = self._means(self._checked(probes))
        slack = (means.shape[1] + 8) * UNIT + OF_DISTANCES
        bound = torch.cdist(means, self.means, p=1) * max(0.0, 1 - slack)
        return (bound - OF_MEANS * (means.abs().sum(1)[:, None] + self._sizes)).clamp_(min=0).numpy()

    def search(self, probes: Tensor, most: int = 1, starts: np.ndarray | None = None,
               also: tuple[int, ...] = ()) -> Found:
        """The ``most`` nearest groups: those at least, and others that had to be compared to know it; exact.

        Group j is the rows from ``starts[j]`` (J,) to before the next start; without it each row is a group. Its
        distance is the mean over the probes of the distance to its nearest row. ``also``: groups compared in any case.
        """
        check_whole("most", most)
        starts = np.arange(len(self)) if starts is None else starts
        ends = np.append(starts[1:], len(self))
        bounds = np.minimum.reduceat(self.bounds(probes), starts, axis=1).mean(0, dtype=np.float64)    # (J,)
        bounds[list(also)] = -1
        order = np.argsort(bounds, kind="stable")
        groups, found, compared, step, off = [np.zeros(0, int)], [np.zeros(0)], 0, FIRST, 0.0
        reached, edge = 0, np.inf
        while reached < len(order) and bounds[order[reached]] <= edge:
            now = order[reached:reached + step]
            now = np.sort(now[bounds[now] <= edge])
            which = np.concatenate([np.arange(starts[j], ends[j]) for j in now])
            first = np.cumsum(ends[now] - starts[now]) - (ends[now] - starts[now])
            nearest = np.minimum.reduceat(self.distances(probes, which), first, axis=1)
            groups.append(now)
            found.append(nearest.mean(0, dtype=np.float64))
            compared, off = compared + len(which), max(off, self.rounding(which).max(initial=0))
            everything = np.concatenate(found)
            edge = np.partition(everything, most - 1)[most - 1] if len(everything) >= most else np.inf
            reached, step = reached + step, 2 * step
        everyone, distances = np.concatenate(groups), np.concatenate(found)
        nearest_first = np.lexsort((everyone, distances))
        return Found(everyone[nearest_first], distances[nearest_first], 1 - compared / max(1, len(self)), float(off))

    def _checked(self, probes: Tensor) -> Tensor:
        check_float("probes", probes, dims=3)
        if probes.shape[1:] != self.rows.shape[1:]:
            raise ValueError(f"probes must be (n, {', '.join(map(str, self.rows.shape[1:]))}), got shape "
                             f"{tuple(probes.shape)}")
        check_finite("probes", probes)
        return probes.float().contiguous()


def open_rows(path) -> np.ndarray:
    """Rows (N, K, L) of an .npy file, float32 or float16, mapped: what is never looked at is never read."""
    return np.load(Path(path), mmap_mode="r", allow_pickle=False)


def _tensor(rows: np.ndarray) -> Tensor:
    """The same memory, as long as ``rows`` live. Of a mapped file PyTorch would warn that it must not be written."""
    if rows.flags.writeable or not rows.size:
        return torch.from_numpy(rows)
    memory = (ctypes.c_char * rows.nbytes).from_address(rows.ctypes.data)
    return torch.frombuffer(memory, dtype=torch.float32).reshape(rows.shape)
