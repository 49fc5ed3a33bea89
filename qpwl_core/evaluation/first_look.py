"""What a first page says of a model's gallery: its best filter, a typical triple, and how often a stranger is nearer.

All pairs of people go into it, which takes PyTorch and a second. It lies beside models that ship, as
``first_look.json``, and holds for the very gallery it was computed from; any other is computed anew.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from qpwl_core.common.files import FileError, read_json, write_json
from qpwl_core.evaluation.pairs import draw_triple, filter_aucs, pairs_of, strangers_nearer
from qpwl_core.models.gallery import Gallery, load_gallery, resampled
from qpwl_core.transport.measures import wasserstein_of_few

FILE, TRIES = "first_look.json", 50


@dataclass(frozen=True)
class FirstLook:
    """Of a gallery at its model's order p. ``nearer``: triples with the stranger nearer, of all: best filter, all."""

    ranked_on: str                            # the part of the gallery whose people rank the filters
    aucs: tuple[float, ...]                   # of each filter alone, over all pairs of sequences of those people
    seed: int                                 # of a typical triple
    nearer: tuple[tuple[int, int], tuple[int, int]]

    @property
    def order(self) -> np.ndarray:
        """Filters from best to worst. (K,)"""
        return np.argsort(-np.array(self.aucs), kind="stable")


def first_look(folder: Path) -> FirstLook:
    """That of the gallery in the folder of a model: as it was kept, where it is this gallery's, or computed."""
    path = Path(folder) / FILE
    try:
        kept = read_json(path)
        if kept["gallery"] == checksum_of(folder):
            (one, triples), (every, _) = kept["nearer"]
            return FirstLook(str(kept["ranked_on"]), tuple(map(float, kept["aucs"])), int(kept["seed"]),
                             ((int(one), int(triples)), (int(every), int(triples))))
    except (FileError, KeyError, TypeError, ValueError):
        pass
    return look_at(load_gallery(folder))


def keep_first_look(folder: Path) -> None:
    """Compute it, and keep it beside the gallery."""
    found = asdict(look_at(load_gallery(folder)))
    write_json(Path(folder) / FILE, {"gallery": checksum_of(folder), **found})


def checksum_of(folder: Path) -> str:
    try:
        return hashlib.sha256((Path(folder) / "gallery.safetensors").read_bytes()).hexdigest()
    except OSError as error:
        raise FileError(f"{folder}/gallery.safetensors cannot be read: {(error.strerror or '').lower()}") from None


def look_at(gallery: Gallery) -> FirstLook:
    """All of it from the gallery."""
    part, aucs = ranking(gallery)
    k = int(np.argsort(-aucs, kind="stable")[0])
    return FirstLook(part, tuple(aucs.tolist()), typical_seed(gallery, k), nearer(gallery, gallery.p, k))


def ranking(gallery: Gallery) -> tuple[str, np.ndarray]:
    """AUC of each filter on the calibration people: nobody who is shown has a say. -> whose, (K,)

    Where there are too few of them, the people shown decide.
    """
    part = "calibration"
    try:
        people = gallery.part(part)
        pairs = pairs_of(people.subjects, people.sources)
    except ValueError:                            # nobody, or nobody to compare with
        part = "test"
        people = gallery.part(part)
        pairs = pairs_of(people.subjects, people.sources)
    seen = people.embeddings()
    assert seen.levels is not None
    return part, filter_aucs(seen.values, seen.levels, pairs, gallery.p)


def typical_seed(gallery: Gallery, k: int, tries: int = TRIES) -> int:
    """The seed of a typical triple: in filter k the stranger is farther by as much as in the median of so many.

    Of an even number the lower one of the two in the middle: nearest to their mean are both, up to rounding.
    """
    people = gallery.part("test")
    levels = people.levels_at()
    values = resampled(people.values[:, k:k + 1], people.levels, levels)                    # (n, 1, M+2)
    triples = np.array([draw_triple(people.subjects, people.sources, seed) for seed in range(tries)])
    near, far = (wasserstein_of_few(values[triples[:, 0]], values[triples[:, i]], levels, people.p)[:, 0]
                 for i in (1, 2))
    return int(np.argsort(far - near, kind="stable")[(tries - 1) // 2])


def nearer(gallery: Gallery, p: float, k: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Triples of test people in which the stranger is nearer, of how many: in filter k, and over all filters."""
    from qpwl_core.transport.distances import pairwise_wasserstein

    people = gallery.part("test")
    seen = people.embeddings()
    assert seen.levels is not None
    one, every = (strangers_nearer(pairwise_wasserstein(x, x, seen.levels, p).numpy(), people.subjects, people.sources)
                  for x in (seen.values[:, k:k + 1], seen.values))
    return one, every
