"""Preprocessing recipes: options, statistics of the training people, and one way to apply both, always the same.

A recipe works in three steps: ``prepare`` cleans one sequence and brings it to the recipe's rate, ``measure`` takes
statistics over all prepared training sequences, ``finish`` turns a prepared sequence into what the network sees. Each
sequence is treated by itself, so it comes out the same alone and among others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from itertools import count
from typing import ClassVar, Self

import numpy as np

from qpwl_core.common import bounds
from qpwl_core.common.text import quoted, shown, some_of
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.recordings import Recordings

BLOCK = 2**16    # samples looked at in one go


@dataclass(frozen=True)
class Recipe:
    """The generic recipe: every channel standardised with the mean and deviation of the training sequences.

    ``rate``: Hz that everything is resampled to; None is the rate of the training recordings.
    """

    rate: float | None = None

    domain: ClassVar[str] = "generic"
    picks: ClassVar[bool] = False      # whether recordings may have more channels than it was fitted on
    # Options that came after models were shipped: at their defaults they are not written, so that checksums stay.
    later: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self):
        if self.rate is not None:
            self.require("rate", self.rate, bounds.SLOWEST <= self.rate <= bounds.FASTEST,
                         f"from {bounds.SLOWEST:g} to {bounds.FASTEST:g} Hz")

    def require(self, option, value, fine, wanted):
        """One sentence where an option is not what it must be."""
        if not fine:
            raise ValueError(f"{option} of the {self.domain} recipe must be {wanted}, not {quoted(value)}")

    def settled(self, recordings) -> Self:
        """This recipe with what it takes from the training recordings filled in."""
        return replace(self, rate=self.rate or recordings.rate)

    def needed(self, channels: tuple[str, ...]) -> tuple[str, ...]:
        """The channels of the recordings that are used."""
        return channels

    def output_channels(self, channels: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the channels that come out."""
        return channels

    def prepare(self, values, channels, recordings) -> np.ndarray:
        """One sequence (T, D) of ``recordings``, with these channels, cleaned and resampled, (T', C)."""
        return resampled(values, recordings.rate, self.rate)

    def prepare_all(self, channels, recordings) -> Iterator[np.ndarray]:
        """Every sequence prepared; an error says of which."""
        for values, subject, i in zip(picked(recordings, channels), recordings.subjects, count(), strict=False):
            try:
                yield self.prepare(values, channels, recordings)
            except RecordingsError as error:
                raise RecordingsError(f"sequence {i} of {shown(subject)}: {error}") from error.__cause__

    def measure(self, prepared, channels) -> dict[str, np.ndarray]:
        """Statistics over prepared training sequences: named float64 arrays."""
        centre, scale = moments(prepared)
        return {"centre": centre, "scale": scale}

    def finish(self, prepared, statistics, channels) -> list[np.ndarray]:
        """What comes out of one prepared sequence: a list of (T, D') arrays, empty where nothing is left of it."""
        return [(prepared - statistics["centre"]) / statistics["scale"]]

    def shapes(self, channels) -> dict[str, tuple[int, ...]]:
        """Shapes of the statistics, to check those that come from a file."""
        return {"centre": (len(channels),), "scale": (len(channels),)}

    def fit(self, recordings: Recordings) -> FittedRecipe:
        """Take the statistics of these recordings, which must be of training people only; forgeries do not count."""
        recordings = recordings.genuine()
        recipe = self.settled(recordings)
        channels = recipe.needed(recordings.channels)
        prepared = list(recipe.prepare_all(channels, recordings))
        statistics = recipe.measure(prepared, channels)
        # contiguous, because safetensors writes the memory as it lies
        return FittedRecipe(recipe, channels, {name: np.ascontiguousarray(x) for name, x in statistics.items()})


@dataclass(frozen=True, eq=False)
class FittedRecipe:
    """A recipe with its statistics; a model file keeps ``to_dict()`` as JSON and ``arrays`` beside the weights."""

    recipe: Recipe
    channels: tuple[str, ...]             # that go in
    statistics: dict[str, np.ndarray]

    @property
    def output_channels(self) -> tuple[str, ...]:
        """Names of the channels that come out."""
        return self.recipe.output_channels(self.channels)

    @property
    def rate(self) -> float:
        """Hz of what comes out."""
        assert self.recipe.rate is not None, "a recipe is settled before it is fitted"
        return self.recipe.rate

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The statistics: named float64 arrays."""
        return dict(self.statistics)

    def apply(self, recordings: Recordings) -> Recordings:
        """The recordings as the network sees them; ``info`` says how many sequences nothing was left of."""
        return self.cut(recordings)[0]

    def cut(self, recordings: Recordings) -> tuple[Recordings, np.ndarray]:
        """As ``apply``, and of each sequence that comes out the index of the recording it was cut from."""
        given = self.recipe.needed(recordings.channels)
        for what, names in (("lack", set(self.channels) - set(given)), ("have", set(given) - set(self.channels))):
            if names and not (what == "have" and self.recipe.picks):
                raise RecordingsError(f"the recordings {what} the channel {shown(min(names))}, and this "
                                      f"{self.recipe.domain} recipe was fitted on {some_of(self.channels)}")
        sequences, origin = [], []
        for i, prepared in enumerate(self.recipe.prepare_all(self.channels, recordings)):
            pieces = self.recipe.finish(prepared, self.statistics, self.channels)
            sequences += [np.ascontiguousarray(piece, dtype=np.float32) for piece in pieces]
            origin += [i] * len(pieces)
        if not sequences:
            raise RecordingsError(f"the {self.recipe.domain} recipe leaves nothing: every sample is lost")
        stimuli = recordings.stimuli
        if stimuli is None and len(set(origin)) < len(origin):  # pieces of one sequence must be known as such
            stimuli = np.array([f"sequence-{i}" for i in range(len(recordings))])
        lost = len(recordings) - len(set(origin))
        info = recordings.info | {"recipe": self.recipe.domain, "lost_sequences": str(lost)}
        seen = Recordings(sequences, recordings.subjects[origin], self.output_channels, self.rate,
                          None if stimuli is None else stimuli[origin], info)
        return seen.marked(None if recordings.imitates is None else recordings.imitates[origin]), np.array(origin)

    def to_dict(self) -> dict:
        """Domain, options and channels, ready for JSON; ``from_dict`` is the way back."""
        standard = {f.name: f.default for f in fields(self.recipe)}
        options = {key: list(x) if isinstance(x, tuple) else x for key, x in asdict(self.recipe).items()
                   if key not in self.recipe.later or x != standard[key]}
        return {"domain": self.recipe.domain, "options": options, "channels": list(self.channels)}


def moments(sequences) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation over all samples of (T, C) arrays; a channel that never changes has deviation 1."""
    blocks = [(x, start) for x in sequences for start in range(0, len(x), BLOCK)]  # a sequence may be days long
    count = sum(len(x) for x in sequences)
    centre = sum(x[start:start + BLOCK].sum(axis=0, dtype=np.float64) for x, start in blocks) / count
    square = sum(((x[start:start + BLOCK] - centre) ** 2).sum(axis=0) for x, start in blocks) / count
    return centre, positive(np.sqrt(square))


def positive(scale) -> np.ndarray:
    """The scale, 1 where it is nought: a channel that never changes then comes out as zeros, not as NaN."""
    return np.where(scale > 1e-12, scale, 1.0)


def resampled(values, rate, target) -> np.ndarray:
    """Values (T, C) at another rate, low-pass filtered first where that is lower; a single sample stays as it is."""
    if math.isclose(rate, target, rel_tol=1e-6) or len(values) == 1:
        return values
    from scipy.signal import resample_poly

    ratio = Fraction(target / rate).limit_denominator(1000)
    if ratio == 0:
        raise RecordingsError(f"recordings at {rate:g} Hz cannot be brought to {target:g} Hz: that is too far")
    if len(values) * ratio * values.shape[1] > bounds.RESAMPLED:
        raise RecordingsError(f"a sequence of {len(values):,} samples at {rate:g} Hz would have "
                              f"{int(len(values) * ratio * values.shape[1]):,} values at {target:g} Hz, and at most "
                              f"{bounds.RESAMPLED:,} are made of one")
    # Padded along the line through first and last sample, so that the ends are not pulled towards zero.
    values = np.asarray(values, dtype=np.float64)
    return resample_poly(values, ratio.numerator, ratio.denominator, axis=0, padtype="line")


def picked(recordings, channels):
    """The sequences with these channels in this order."""
    columns = [recordings.channels.index(name) for name in channels]
    if columns == list(range(len(recordings.channels))):
        return recordings.sequences
    return (x[:, columns] for x in recordings.sequences)
