"""Models that ship: the paper's methods of the first seed, each with a gallery small enough for a repository."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from qpwl_core.common.files import FileError, read_json, write_json
from qpwl_core.evaluation.draws import draw, fair_groups
from qpwl_core.evaluation.evaluate import evaluate_distances
from qpwl_core.models.gallery import Gallery, load_gallery
from qpwl_core.study.cells import folder_of
from qpwl_core.study.sets import OF_THE_PAPER, SETS, Cell

LARGEST = 40_000_000      # bytes of all shipped models together


def ship(cells: list[Cell], out, target) -> list[Path]:
    """Copy the cells of the first seed that ship to ``target/<set>-<method>/``, each whole or not at all."""
    first = min(cell.seed for cell in cells)
    shipped = []
    for cell in cells:
        folder = folder_of(cell, out)
        if cell.seed == first and cell.method in OF_THE_PAPER and SETS[cell.set].ships and folder.is_dir():
            shipped.append(_ship(cell, folder, Path(target) / f"{cell.set}-{cell.method}"))
    size = sum(path.stat().st_size for path in Path(target).rglob("*") if path.is_file())
    if size > LARGEST:
        raise FileError(f"{target} has {size / 1e6:.1f} MB, and models that ship have at most {LARGEST / 1e6:g} MB: "
                        "lower `ships` in qpwl_core/study/sets.py")
    return shipped


def _ship(cell: Cell, folder: Path, target: Path) -> Path:
    ships = SETS[cell.set].ships
    assert ships is not None, "only sets that ship come here"
    gallery = smaller(load_gallery(folder), *ships)
    test = gallery.part("test")
    card = read_json(folder / "card.json")
    results, notes = evaluate_distances(test.distances(), test.subjects, test.sources, cell.seed)
    card["gallery"] = {
        **{part: gallery.part(part).people for part in ("test", "calibration")}, "sequences": len(gallery),
        "note": "the people and sequences of the gallery, drawn at random from those of the split so that it stays "
                "small; results here are theirs, results of the card are of all people to test",
        "results": results, "notes": notes}
    temporary = target.with_name(f".{target.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    shutil.copy(folder / "model.safetensors", temporary)
    gallery.save(temporary)
    write_json(temporary / "card.json", card)
    shutil.rmtree(target, ignore_errors=True)
    temporary.rename(target)
    return target


def smaller(gallery: Gallery, test: int, calibration: int, sequences: int) -> Gallery:
    """At most so many people to test and to calibrate, and sequences of each, drawn at random, always the same ones.

    People come from those whom the protocol can use. Of a person the sequences are kept in their order.
    """
    random, kept = np.random.default_rng(0), []
    for part, most in (("test", test), ("calibration", calibration)):
        places = np.flatnonzero(gallery.parts == part)
        subjects, sources = gallery.subjects[places], gallery.sources[places]
        try:
            usable = draw(subjects, repeats=1, groups=fair_groups(subjects, sources)).people
        except ValueError:                       # too few for the protocol: a threshold cannot be set on them anyway
            usable = np.unique(subjects)
        for person in np.sort(random.permutation(usable)[:most]):
            of_person = places[subjects == person]
            kept.append(np.sort(random.permutation(of_person)[:sequences]))
    return gallery.select(np.concatenate(kept))
