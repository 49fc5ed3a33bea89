"""Who is it? The distances of presented sequences to enrolled people, the verdict, and which filters made it.

Person j is as far away as in the experiment of the paper (`protocol.py`): of each presented sequence the distance to
j's *nearest* enrolled sequence, and of those the mean, d_j(n). Identification takes the person with the smallest d_j,
and rejects where that is above a threshold; verification looks at the claimed person alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from qpwl_core.common.bounds import PRESENTED as MOST
from qpwl_core.common.text import quoted
from qpwl_core.desk.names import name_key
from qpwl_core.desk.search import Search
from qpwl_core.desk.space import Space


@dataclass(frozen=True, eq=False)
class Enrolled:
    """Everyone in a database, at one moment: N sequences of J people, person after person."""

    space: Space
    names: tuple[str, ...]      # J
    values: Tensor              # (N, *shape)
    owner: np.ndarray           # (N,) index into names; one person's sequences stand together
    last: int = -1              # the number of the last who came
    taken: list[int] = field(default_factory=lambda: [-1])   # sequences in the memory that ``values`` is the start of

    @cached_property
    def starts(self) -> np.ndarray:
        """The first sequence of each person, in the order in which they stand. (J,)"""
        return np.flatnonzero(np.diff(self.owner, prepend=-1))

    def same(self, other: Enrolled) -> bool:
        """Whether these are the same people with the same sequences."""
        return (self.names == other.names and np.array_equal(self.owner, other.owner)
                and torch.equal(self.values, other.values))

    def owners_of(self, values) -> list[str | None]:
        """Under which name each of some embeddings (n, *shape) is enrolled, if it is that very sequence. (n,)"""
        return [self._by_bytes.get(np.asarray(x, dtype=np.float32).tobytes()) for x in values]

    @cached_property
    def _by_bytes(self) -> dict[bytes, str]:
        return {x.tobytes(): self.names[j] for x, j in zip(self.values.numpy(), self.owner, strict=True)}

    @cached_property
    def search(self) -> Search:
        """Who of them is nearest."""
        return Search(self.space, self.values, self.owner, self.starts)


def joined(before: Enrolled, newcomers: list[tuple[int, str]], values: np.ndarray, owner: np.ndarray) -> Enrolled:
    """Those who were there, and newcomers (number, name) with embeddings (m, *shape) of ``owner`` (m,).

    Names stay in their order, sequences in that in which people came. There is room for more behind the embeddings, so
    that the next to come costs no copy of all; what stands before is never touched, and others may still look at it.
    """
    old, new = len(before.values), len(before.values) + len(values)
    room = before.values.untyped_storage().nbytes() // (4 * max(1, int(np.prod(before.values.shape[1:]))))
    if new > room or before.taken[0] != old:
        held = torch.empty(new + new // 8, *before.values.shape[1:])
        held[:old] = before.values
        taken = [old]
    else:
        held = torch.as_strided(before.values, (room, *before.values.shape[1:]), before.values.stride())
        taken = before.taken
    held[old:new] = torch.from_numpy(values.astype(np.float32))
    taken[0] = new
    everyone = [*before.names, *(name for _, name in newcomers)]
    order = sorted(range(len(everyone)), key=lambda i: name_key(everyone[i]))
    place = np.empty(len(everyone), dtype=int)
    place[order] = np.arange(len(everyone))
    return Enrolled(before.space, tuple(everyone[i] for i in order), held[:new],
                    place[np.concatenate([before.owner, len(before.names) + owner])],
                    newcomers[-1][0] if newcomers else before.last, taken)


@dataclass(frozen=True, eq=False)
class Decision:
    """What came of presenting n sequences: everyone's distance, the verdict, and what each filter added."""

    claimed: str | None          # None: who is it? else: is it this one?
    person: str | None           # accepted as this one; None: rejected
    names: tuple[str, ...]       # enrolled people, nearest first
    distances: np.ndarray        # (J,) their d_j(n)
    threshold: float
    n: int
    model: str
    compared: tuple[str, ...]    # whose filters are shown: the nearest (or the claimed), and the next best
    filters: np.ndarray          # (1 or 2, K) what each filter adds to their d_j
    presented: Tensor            # (n, *shape)
    matched: Tensor              # (1 or 2, n, *shape) the nearest enrolled sequences of those compared
    copies: int                  # presented sequences that are themselves enrolled: no fair match
    enrolled: int                # people in all; ``names`` are all of them, or of very many the nearest
    pruned: float                # share of the sequences that a bound spared: they are too far away to matter

    @property
    def kind(self) -> str:
        return "identify" if self.claimed is None else "verify"

    @property
    def accepted(self) -> bool:
        return self.person is not None

    @property
    def distance(self) -> float:
        """What was held against the threshold: of the claimed person, or of the nearest."""
        return float(self.distances[self.names.index(self.compared[0])])

    @property
    def verdict(self) -> str:
        """A short sentence."""
        if self.claimed is None:
            return f"Accepted as {self.person}" if self.accepted else "Rejected: nobody we know"
        return f"Accepted: it is {self.person}" if self.accepted else f"Rejected: not {self.claimed}"


def decide(enrolled: Enrolled, presented, model: str, threshold: float, claimed: str | None = None) -> Decision:
    """Accept as whom, or reject: 1 to 5 presented embeddings (n, *shape) of ``model`` against everyone enrolled.

    It is the exact minimum over all enrolled sequences. Of people at the same distance, the first by name is taken.
    """
    presented = enrolled.space.checked(presented, model)
    if len(presented) > MOST:
        raise ValueError(f"present 1 to {MOST} sequences, not {len(presented)}")
    if isinstance(threshold, bool) or not np.isfinite(threshold):
        raise ValueError(f"threshold must be a finite number, got {threshold}")
    if not enrolled.names:
        raise ValueError("nobody is enrolled yet, so there is no one to compare with")
    if claimed is not None and claimed not in enrolled.names:
        raise ValueError(f"nobody called {quoted(claimed)} is enrolled")
    search = enrolled.search
    order, distances, pruned = search.people(presented, () if claimed is None else (enrolled.names.index(claimed),))
    first = order[0] if claimed is None else enrolled.names.index(claimed)
    compared = [first, *[j for j in order if j != first][:1]]
    matched = torch.stack([enrolled.values[search.nearest_of(presented, j)] for j in compared])
    return Decision(
        claimed, enrolled.names[first] if distances[list(order).index(first)] <= threshold else None,
        tuple(enrolled.names[j] for j in order), distances, float(threshold), len(presented), model,
        tuple(enrolled.names[j] for j in compared),
        np.stack([enrolled.space.by_filter(presented, theirs).mean(0) for theirs in matched]), presented, matched,
        sum(_same(enrolled.values[row], x) for row, x in zip(search.likeliest(presented), presented, strict=True)),
        len(enrolled.names), pruned)


def _same(a: Tensor, b: Tensor) -> bool:
    """Whether two embeddings are of one sequence: alike but for the rounding of another batch."""
    return bool((a - b).abs().max() <= 1e-5 * b.abs().max())
