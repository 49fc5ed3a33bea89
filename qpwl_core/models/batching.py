"""Sequences of any length as padded batches, and in groups of similar length so that little is padded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Batch:
    """Padded sequences. In training N anchors and N positives, stacked: rows i and N + i are one person's.

    With F forgeries per person F·N rows follow, forgery f of person i in row (2 + f)·N + i; where a person has none,
    ``forged`` says so, and the row is somebody's whom nobody looks at.
    """

    x: Tensor                        # ((2 + F)·N, D, T), zeros where padded
    lengths: Tensor                  # ((2 + F)·N,)
    labels: Tensor                   # ((2 + F)·N,) number of the person, or of the person imitated
    forged: Tensor | None = None     # (N, F) bool

    def pinned(self) -> Batch:
        """The same in memory that a CUDA card reads by itself, while the host goes on."""
        return replace(self, x=self.x.pin_memory(), labels=self.labels.pin_memory())


def collate(sequences: list[np.ndarray], labels=None, forged: np.ndarray | None = None) -> Batch:
    """Pad sequences (T_i, D) to one batch (n, D, T)."""
    lengths = np.array([len(s) for s in sequences])
    x = np.zeros((len(sequences), sequences[0].shape[1], lengths.max()), dtype=np.float32)
    for row, sequence in zip(x, sequences, strict=True):
        row[:, :len(sequence)] = sequence.T
    labels = np.zeros(len(sequences), dtype=np.int64) if labels is None else labels
    return Batch(torch.from_numpy(x), torch.from_numpy(lengths), torch.as_tensor(labels),
                 None if forged is None else torch.from_numpy(forged))


def by_length(lengths: np.ndarray, budget: int) -> Iterator[np.ndarray]:
    """Indices in groups of similar length, so that little is padded; a group has at most ``budget`` padded samples."""
    group: list[int] = []
    for i in np.argsort(lengths, kind="stable")[::-1]:      # longest first: memory peaks at the start, not at the end
        if group and (len(group) + 1) * lengths[group[0]] > budget:
            yield np.array(group)
            group = []
        group.append(i)
    if group:
        yield np.array(group)
