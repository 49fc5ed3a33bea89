"""Galleries: the dense quantile functions of what a model saw in people it was not trained on.

A gallery lies beside a model that ships, so that pages show real results with no recordings at hand. Each filter's
quantile function is kept at many levels; the embedding for any M, and the distance for any p, is computed from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qpwl_core.common import bounds
from qpwl_core.common.files import FileError, read_tensors, write_tensors
from qpwl_core.common.paths import model_folder
from qpwl_core.common.plain_checks import check_whole
from qpwl_core.common.text import quoted
from qpwl_core.data.recordings import Recordings, forgery_mask
from qpwl_core.models.gallery_checks import PARTS, check_gallery, check_shapes
from qpwl_core.models.methods import METHODS
from qpwl_core.models.storeys import piece_names, pyramid_of
from qpwl_core.transport.measures import MEASURES

if TYPE_CHECKING:                              # a gallery can be opened and drawn before PyTorch is loaded
    from torch import Tensor

    from qpwl_core.models.model import Embeddings, Model

FORMAT, VERSION = "qpwl-gallery", 1
SEGMENTS = 64                                  # even steps between 0 and 1 at which quantile functions are kept
FEWER = 16                                     # of a pyramid, which has a function per piece: seven times as many


@dataclass(frozen=True, eq=False)
class Gallery:
    """n sequences of held-out people: people to test, and others to set a threshold on (calibration)."""

    values: np.ndarray                # (n, K, L) float32, quantile functions of the K filters
    levels: np.ndarray                # (L,) from 0 to 1
    model_levels: np.ndarray | None   # (M+2,) of the model's quantile layer, all of them among ``levels``
    vectors: np.ndarray | None        # (n, E) the model's embeddings where they are no quantiles
    subjects: np.ndarray              # (n,)
    stimuli: np.ndarray | None        # (n,)
    sources: np.ndarray               # (n,) the recording that each sequence was cut from
    parts: np.ndarray                 # (n,) "test" or "calibration"
    method: str
    p: float                          # order of the model's distance
    model: str                        # sha256 of the weights that saw this
    imitates: np.ndarray | None = None  # (n,) whom a forgery imitates, "" where nobody; None where there is none
    pyramid: str = "1"                # the pieces whose functions ``values`` has, piece after piece: K is P times Γ's

    def __len__(self):
        return len(self.values)

    @cached_property
    def people(self) -> list[str]:
        """Names of those with genuine sequences, sorted."""
        return np.unique(self.subjects[~self.is_forgery]).tolist()

    @property
    def is_forgery(self) -> np.ndarray:
        """Which sequences imitate somebody, (n,) bool."""
        return forgery_mask(self.imitates, len(self))

    def select(self, index) -> Gallery:
        """Some of the sequences, by index or mask."""
        index = np.arange(len(self))[index]
        if len(index) and (np.diff(index) == 1).all():       # a stretch of them is no copy
            index = slice(index[0], index[-1] + 1)
        cut: dict[str, Any] = {
            name: None if getattr(self, name) is None else getattr(self, name)[index]
            for name in ("values", "vectors", "subjects", "stimuli", "sources", "parts", "imitates")}
        return replace(self, **cut)

    def part(self, name: str, forgeries: bool = False) -> Gallery:
        """The genuine sequences of one part; with ``forgeries`` those that imitate its people, too."""
        if name not in PARTS:
            raise ValueError(f"part must be one of {', '.join(PARTS)}, not {quoted(name)}")
        if forgeries or self.imitates is None:
            return self.select(self.parts == name)
        return replace(self.select((self.parts == name) & ~self.is_forgery), imitates=None)

    def embeddings(self, points: int | None = None) -> Embeddings:
        """Quantile functions (n, K, M+2) at M even levels, or at the model's (16 even ones where it has none)."""
        import torch

        from qpwl_core.models.model import Embeddings

        levels = self.levels_at(points)
        return Embeddings(torch.from_numpy(resampled(self.values, self.levels, levels)),
                          torch.from_numpy(levels.astype(np.float32)), self.subjects, self.stimuli, self.sources,
                          self.imitates)

    def levels_at(self, points: int | None = None) -> np.ndarray:
        """M even levels and both ends, or the model's (16 even ones where it has none). (M+2,)"""
        if points is None and self.model_levels is not None:
            return self.model_levels
        check_whole("points", 16 if points is None else points)
        return np.linspace(0, 1, (16 if points is None else points) + 2)

    def distances(self, measure: str | None = None, points: int | None = None, p: float | None = None,
                  other: Gallery | None = None) -> np.ndarray:
        """Distance of every sequence to every one (of another gallery of the same model), (n, m); smaller is closer.

        With nothing given it is the model's distance, to the precision of the file. ``measure``: wasserstein,
        cosine or euclidean, between the quantile functions of the filters at M = ``points`` even levels, or at the
        model's where that is None; cosine looks at the M inner values of each, as QP-NPL does.
        """
        from qpwl_core.transport.distances import pairwise_by

        found, a, levels = self.compared(measure, points)
        b = a if other is None else other.compared(measure, points)[1]
        return pairwise_by(found, a, b, levels, self.p if p is None else p).numpy()

    def compared(self, measure: str | None = None, points: int | None = None) -> tuple[str, Tensor, Tensor | None]:
        """What `distances` compares: the measure, the sequences (n, …), and the levels where they are functions."""
        import torch

        if measure is None and points is None and self.vectors is not None:
            return METHODS[self.method].distance, torch.from_numpy(self.vectors), None
        measure = measure or METHODS[self.method].distance
        if measure not in MEASURES:
            raise ValueError(f"measure must be one of {', '.join(MEASURES)}, not {quoted(measure)}")
        seen = self.embeddings(points)
        if measure == "wasserstein":
            return measure, seen.values, seen.levels
        return measure, seen.values[..., 1:-1] if measure == "cosine" else seen.values, None

    @property
    def filters(self) -> int:
        """Filters of Γ: of a pyramid each has a quantile function per piece."""
        return self.values.shape[1] // len(piece_names(pyramid_of(self.pyramid)))

    def filter_name(self, k: int) -> str:
        """What to call filter k, from 0; of a pyramid also the piece that it looks at."""
        names = piece_names(pyramid_of(self.pyramid))
        piece, number = divmod(k, self.filters)
        return f"filter {number + 1}" + (f", {names[piece]}" if names[piece] != "whole" else "")

    def fitting(self) -> Gallery:
        """As many sequences of everybody as a gallery may hold, spread over theirs; all of them where they fit."""
        if (few := self._fewer_people()) is not self:
            return few.fitting()
        _, filters, levels = self.values.shape
        most = min(bounds.GALLERY_SEQUENCES, math.isqrt(bounds.GALLERY_PARTS // filters),
                   math.isqrt(bounds.GALLERY_WORK // filters // levels))
        if len(self) <= most:
            return self
        order = np.random.default_rng(0).permutation(len(self))
        turn, count = np.empty(len(self), int), dict.fromkeys(self.subjects.tolist(), 0)
        for i in order:                                      # 0: the first that is drawn of a person
            turn[i] = count[self.subjects[i]]
            count[self.subjects[i]] += 1
        return self.select(np.sort(np.lexsort((order, turn))[:most]))

    def _fewer_people(self) -> Gallery:
        """As many people of each part as a gallery may hold, drawn at random, with what imitates them."""
        keep = np.ones(len(self), dtype=bool)
        claims = self.subjects if self.imitates is None else np.where(self.is_forgery, self.imitates, self.subjects)
        for part in PARTS:
            people = np.unique(claims[self.parts == part])
            if len(people) > bounds.GALLERY_PEOPLE:
                chosen = np.random.default_rng(0).permutation(people)[:bounds.GALLERY_PEOPLE]
                keep &= (self.parts != part) | np.isin(claims, chosen)
        return self if keep.all() else self.select(keep)

    def save(self, folder) -> None:
        """Write ``gallery.safetensors`` into the folder of a model, as far as it fits; functions in float16."""
        if (fits := self.fitting()) is not self:
            return fits.save(folder)
        arrays = {"values": self.values.astype(np.float16), "levels": self.levels, "sources": self.sources}
        arrays |= {name: x for name, x in (("own", self.model_levels), ("vectors", self.vectors)) if x is not None}
        facts = {"format": FORMAT, "version": VERSION, "subjects": self.subjects.tolist(),
                 "stimuli": None if self.stimuli is None else self.stimuli.tolist(), "parts": self.parts.tolist(),
                 "method": self.method, "p": self.p, "model": self.model}
        if self.imitates is not None:
            facts["imitates"] = self.imitates.tolist()
        if self.pyramid != "1":
            facts["pyramid"] = self.pyramid
        write_tensors(Path(folder) / "gallery.safetensors", arrays, facts)


def build_gallery(model: Model, test: Recordings, calibration: Recordings | None = None, progress=None) -> Gallery:
    """What a model sees in people it was not trained on; ``progress(done, of)`` is called on the way, part by part."""
    import torch

    from qpwl_core.models.pyramid import QuantilePyramid
    from qpwl_core.transport.quantiles import empirical_quantiles

    method, network, learned = METHODS[model.config.method], model.embedder.network, model.embedder.levels
    model_levels = None if learned is None else learned.detach().cpu().double().numpy()
    if method.distance == "dtw":
        raise ValueError("dynamic time warping compares sequences as they are, which a gallery does not keep")
    segments = FEWER if "pyramid" in method.aggregation else SEGMENTS
    levels = dense_levels(model_levels, segments) if method.network != "jaeger" else np.array([0.0, 1.0])
    dense, offset = torch.from_numpy(levels), 0
    parts: list[dict[str, Any]] = []

    def quantiles(x: Tensor, lengths: Tensor) -> Tensor:
        filters, counts = network(x, lengths)
        aggregation = model.embedder.aggregation
        if isinstance(aggregation, QuantilePyramid):
            return aggregation.at(filters, counts, dense)
        return empirical_quantiles(filters, counts, dense)

    for part, recordings in (("test", test), ("calibration", calibration)):
        if recordings is None:
            continue
        seen, sources = model.recipe.cut(recordings)
        values = model.each(seen, quantiles, progress)
        parts.append({
            "values": values.numpy(), "subjects": seen.subjects, "parts": np.full(len(seen), part, "U11"),
            "vectors": None if model_levels is not None else model.embed_cut(seen, sources).values.flatten(1).numpy(),
            "stimuli": seen.stimuli, "sources": sources + offset,
            "imitates": np.full(len(seen), "") if seen.imitates is None else seen.imitates})
        offset += len(recordings)
    joined: dict[str, Any] = {name: None if parts[0][name] is None else np.concatenate([part[name] for part in parts])
                              for name in parts[0]}
    if not (joined["imitates"] != "").any():
        joined["imitates"] = None
    return Gallery(**joined, levels=levels, model_levels=model_levels, method=method.name, p=model.config.p,
                   model=model.checksum, pyramid=model.config.pyramid if "pyramid" in method.aggregation else "1")


def load_gallery(folder) -> Gallery:
    """The gallery in the folder of a model; one sentence says what is wrong with a file that is none."""
    path = model_folder(folder) / "gallery.safetensors"
    arrays, facts = read_tensors(path, check_shapes)
    if facts.get("format") != FORMAT:
        raise FileError(f"{path} is not the gallery of a QP-WL model")
    if facts.get("version") != VERSION:
        raise FileError(f"{path} was written by another version of QP-WL Lab (gallery format "
                        f"{quoted(facts.get('version'))}, and this one reads {VERSION})")
    try:
        gallery = Gallery(
            arrays["values"].astype(np.float32), arrays["levels"].astype(np.float64), arrays.get("own"),
            arrays.get("vectors"), np.array(facts["subjects"], dtype=str),
            None if facts["stimuli"] is None else np.array(facts["stimuli"], dtype=str), arrays["sources"],
            np.array(facts["parts"], dtype=str), facts["method"], float(facts["p"]), str(facts["model"]),
            np.array(facts["imitates"], dtype=str) if "imitates" in facts else None, str(facts.get("pyramid", "1")))
        check_gallery(gallery)
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"{path} is not a gallery this version understands: {error}") from None
    return gallery


def dense_levels(model_levels: np.ndarray | None, segments: int = SEGMENTS) -> np.ndarray:
    """The levels a gallery is kept at: even ones and, so that nothing of it is lost, the model's. (L,)"""
    even = np.linspace(0, 1, segments + 1)
    return even if model_levels is None else np.union1d(even, model_levels)


def resampled(values: np.ndarray, levels: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Piecewise-linear functions at other levels. (n, K, L), (L,), (W,) -> (n, K, W)

    >>> resampled(np.array([[[0.0, 1.0, 4.0]]]), np.array([0, 0.5, 1]), np.array([0.0, 0.25, 0.5, 1.0]))
    array([[[0. , 0.5, 1. , 4. ]]])
    """
    above = np.clip(np.searchsorted(levels, wanted, side="left"), 1, len(levels) - 1)
    share = ((wanted - levels[above - 1]) / (levels[above] - levels[above - 1])).astype(values.dtype)
    return values[..., above - 1] * (1 - share) + values[..., above] * share
