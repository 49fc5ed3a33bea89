"""Batches of N pairs from N different people (Sohn 2016), of sequences of any length.

Batch number ``step`` depends on the seed and on ``step`` alone: a run that was interrupted needs no sampler state to go
on, and a batch prepared ahead by another thread is the batch it would have been.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.recordings import Recordings
from qpwl_core.models.batching import Batch, collate


class PairSampler:
    """Draws batches; ``crop`` (samples, 0 = none) cuts longer sequences at random, in one stretch or, with ``pieces``,
    in several from all over the sequence: as many samples, and more of the distribution that the whole has.

    ``sources`` (n,) says which recording a sequence was cut from: the two of a pair come from different ones where the
    person has two, since windows of one recording resemble each other for reasons that are not the person's.
    ``channel_dropout``: fraction of the channels of each sequence, drawn anew, that are zero in a batch, which is what
    the recipes make of an ordinary value: no single electrode may tell who somebody is. ``forgeries``: of each person
    in a batch so many sequences that imitate them come along.
    """

    def __init__(self, recordings: Recordings, pairs: int, crop: int = 0, sources: np.ndarray | None = None,
                 seed: int = 0, channel_dropout: float = 0.0, forgeries: int = 0,
                 pieces: int = 1):
        names = np.array(recordings.people)                                    # a forger is nobody to learn
        self.labels = np.where(recordings.is_forgery, -1, np.searchsorted(names, recordings.subjects))
        self.of_person = [np.flatnonzero(self.labels == i) for i in range(len(names))]
        self.people = np.array([i for i, theirs in enumerate(self.of_person) if len(theirs) >= 2])
        if len(self.people) < 2:
            raise RecordingsError(f"training needs at least two people with two sequences each, and there are "
                                  f"{len(self.people)} such people")
        self.sequences, self.classes = recordings.sequences, len(names)
        self.sources = sources
        self.pairs = min(pairs, len(self.people))
        self.crop, self.seed, self.channel_dropout = crop, seed, channel_dropout
        self.pieces = max(1, min(pieces, crop))
        self.forgeries = forgeries if recordings.is_forgery.any() else 0
        whom = np.full(len(recordings), "") if recordings.imitates is None else recordings.imitates
        self.imitating = [np.flatnonzero(whom == name) for name in names]       # forgeries of each person

    def batch(self, step: int) -> Batch:
        """The batch of this step, the same whenever it is asked for."""
        random = np.random.default_rng([self.seed, step])
        people = random.choice(self.people, self.pairs, replace=False)
        drawn = np.array([self._pair(person, random) for person in people]).T.ravel()       # anchors, then positives
        labels, there = self.labels[drawn], None
        if self.forgeries:
            forged, there = self._forged(people, random)
            drawn, labels = np.concatenate([drawn, forged]), np.concatenate([labels, np.tile(people, self.forgeries)])
        batch = collate([self._cropped(self.sequences[i], random) for i in drawn], labels, there)
        if self.channel_dropout:           # in NumPy: PyTorch on this thread would keep cores from the one that trains
            batch.x.numpy()[random.random(batch.x.shape[:2]) < self.channel_dropout] = 0
        return batch

    def _pair(self, person: int, random: np.random.Generator) -> tuple[int, int]:
        theirs = self.of_person[person]
        first = random.choice(theirs)
        others = theirs[theirs != first]
        if self.sources is not None:
            elsewhere = others[self.sources[others] != self.sources[first]]
            others = elsewhere if len(elsewhere) else others
        return first, random.choice(others)

    def _forged(self, people: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """F forgeries of each person, the first of all first, and where there are that many. -> (F·N,), (N, F) bool"""
        chosen = np.array([[self.of_person[person][0]] * self.forgeries for person in people])          # (N, F)
        there = np.zeros(chosen.shape, dtype=bool)
        for row, kept, person in zip(chosen, there, people, strict=True):
            found = random.permutation(self.imitating[person])[:self.forgeries]
            row[:len(found)], kept[:len(found)] = found, True
        return chosen.T.ravel(), there

    def _cropped(self, sequence: np.ndarray, random: np.random.Generator) -> np.ndarray:
        if not self.crop or len(sequence) <= self.crop:
            return sequence
        size, found = self.crop // self.pieces, []               # in their order, and none of them overlap
        for i, place in enumerate(np.sort(random.integers(len(sequence) - self.crop + 1, size=self.pieces))):
            end = self.crop if i == self.pieces - 1 else (i + 1) * size
            found.append(sequence[place + i * size:place + end])
        return found[0] if self.pieces == 1 else np.concatenate(found)

    def batches(self, first: int, last: int, ahead: int = 2, pinned: bool = False) -> Iterator[Batch]:
        """The batches of steps first … last − 1, prepared ahead on another thread, ``pinned`` for CUDA."""
        def made(step: int) -> Batch:
            return self.batch(step).pinned() if pinned else self.batch(step)

        with ThreadPoolExecutor(1, thread_name_prefix="batches") as worker:
            waiting = [worker.submit(made, step) for step in range(first, min(first + ahead, last))]
            try:
                for step in range(first, last):
                    ready = waiting.pop(0).result()
                    if step + ahead < last:
                        waiting.append(worker.submit(made, step + ahead))
                    yield ready
            finally:
                for future in waiting:
                    future.cancel()
