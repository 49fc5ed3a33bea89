"""Models that ship: the paper's methods of the first seed, each with a gallery small enough for a repository."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np

from qpwl_core.common.files import FileError, read_json, write_json
from qpwl_core.evaluation.draws import draw, fair_groups
from qpwl_core.evaluation.evaluate import evaluate_distances
from qpwl_core.evaluation.sessions import sessions_of
from qpwl_core.models.gallery import SEGMENTS, Gallery, dense_levels, load_gallery
from qpwl_core.models.methods import METHODS
from qpwl_core.study.cells import folder_of
from qpwl_core.study.record import read_record, record_path
from qpwl_core.study.sets import AGAINST_FORGERS, OF_THE_PAPER, SETS, Cell

LARGEST = 60_000_000      # bytes of all shipped models together
DENSE = 64                # filters, beyond which every second of a gallery's even levels is enough


def first_that_ship(cells: list[Cell]) -> list[Cell]:
    """The cells of the first seed whose models ship."""
    first = min((cell.seed for cell in cells if not cell.variant), default=0)
    pyramid = {name: ("qp-wl-pyramid",) if SETS[name].domain == "signature" else () for name in SETS}
    return [cell for cell in cells if not cell.variant and cell.seed == first and SETS[cell.set].ships
            and cell.method in OF_THE_PAPER + pyramid[cell.set]]


def ship(cells: list[Cell], out, target) -> list[Path]:
    """Copy the cells of the first seed that ship to ``target/<set>-<method>/``, each whole or not at all."""
    shipped = [_ship(cell, folder_of(cell, out), Path(target) / f"{cell.set}-{cell.method}")
               for cell in first_that_ship(cells) if folder_of(cell, out).is_dir()]
    size = sum(path.stat().st_size for path in Path(target).rglob("*") if path.is_file())
    if size > LARGEST:
        raise FileError(f"{target} has {size / 1e6:.1f} MB, and models that ship have at most {LARGEST / 1e6:g} MB: "
                        "lower `ships` in qpwl_core/study/sets.py")
    return shipped


def _ship(cell: Cell, folder: Path, target: Path) -> Path:
    ships = SETS[cell.set].ships
    assert ships is not None, "only sets that ship come here"
    gallery = thinner(smaller(load_gallery(folder), *ships, origins=[f"{name}-" for name, _ in SETS[cell.set].joined]))
    test = gallery.part("test", forgeries=True)
    card = read_json(folder / "card.json")
    if unlearned := nothing_learned(cell, folder.parent.parent):
        card["nothing_learned"] = unlearned
    results, notes = evaluate_distances(test.distances(), test.subjects, test.sources, cell.seed, test.stimuli,
                                        test.imitates)
    card["gallery"] = {
        **{part: gallery.part(part).people for part in ("test", "calibration")}, "sequences": len(gallery),
        "note": "the people and sequences of the gallery, drawn from those of the split so that it stays "
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


def nothing_learned(cell: Cell, out: Path) -> dict[str, list]:
    """What needs no training reaches against forgers on the same people to test, by method, as far as it was studied.

    Dynamic time warping compares signatures themselves, which never ship: its figures can, beside a model's.
    """
    unlearned = [method for method in AGAINST_FORGERS if METHODS[method].loss == "none"]
    paths = {method: record_path(replace(cell, method=method).name, out) for method in unlearned}
    found = {method: read_record(path)["results"].get("forgeries", []) for method, path in paths.items()
             if path.exists()}
    return {method: rows for method, rows in found.items() if rows}


def smaller(gallery: Gallery, test: int, calibration: int, sequences: int, origins: Sequence[str] = ()) -> Gallery:
    """At most so many people to test and to calibrate, and sequences of each, the same ones for every method.

    People come from those whom the protocol can use and, where there are sessions, who have two; where sets were joined
    (``origins``: how the names of their people begin), from every set in turn, since a line that was set on people of
    one tablet is none for those of another. Of a person the sequences are kept in their order, where there are
    sessions as many of each, and half as many forgeries come along.
    """
    kept = []
    for part, most in (("test", test), ("calibration", calibration)):
        places = np.flatnonzero((gallery.parts == part) & ~gallery.is_forgery)
        subjects, sources = gallery.subjects[places], gallery.sources[places]
        try:
            usable = draw(subjects, repeats=1, groups=fair_groups(subjects, sources)).people
        except ValueError:                       # too few for the protocol: a threshold cannot be set on them anyway
            usable = np.unique(subjects)
        if gallery.imitates is not None:
            usable = _in_two_sessions(gallery.select(places), usable)
        for person in np.sort(_of_every_set(usable[_mixed(usable)], origins)[:most]):
            of_person = _mixed_places(gallery, places[subjects == person])
            if gallery.imitates is None:
                kept.append(np.sort(of_person[:sequences]))
                continue
            forged = _mixed_places(gallery, np.flatnonzero(gallery.imitates == person))
            kept += [np.sort(_in_turn(of_person, gallery.stimuli)[:sequences]), np.sort(forged[:sequences // 2])]
    return gallery.select(np.concatenate(kept))


def _mixed(names) -> np.ndarray:
    """An order of the names that looks drawn, and in which two come the same way round whoever else is there. (n,)"""
    return np.argsort([sha256(str(name).encode()).hexdigest() for name in names], kind="stable")


def _mixed_places(gallery: Gallery, places: np.ndarray) -> np.ndarray:
    """The places in an order that looks drawn; a recipe that loses a sequence changes nothing of the others' order."""
    sources = gallery.sources[places]
    return places[_mixed([f"{source} {np.count_nonzero(sources[:i] == source)}" for i, source in enumerate(sources)])]


def thinner(gallery: Gallery) -> Gallery:
    """Every second of the even levels where there are very many filters; the model's levels stay, and so its distance.

    Of a pyramid, whose pieces have few levels each, all stay.
    """
    if gallery.values.shape[1] <= DENSE or gallery.pyramid != "1":
        return gallery
    even = dense_levels(gallery.model_levels, SEGMENTS // 2)
    keep = np.isin(gallery.levels, even)
    return replace(gallery, values=gallery.values[:, :, keep], levels=gallery.levels[keep])


def _of_every_set(people: np.ndarray, origins: Sequence[str]) -> np.ndarray:
    """The people in their order, one of every set, then the next of every set, and so on."""
    of_set = [next((i for i, start in enumerate(origins) if name.startswith(start)), -1) for name in people]
    rank = [of_set[:place].count(each) for place, each in enumerate(of_set)]
    return people[np.argsort(rank, kind="stable")]


def _in_two_sessions(gallery: Gallery, people: np.ndarray) -> np.ndarray:
    """Those of the people who were there twice; all of them where nobody was."""
    numbers = sessions_of(gallery.stimuli)
    if numbers is None:
        return people
    both = [len(np.unique(numbers[(gallery.subjects == name) & (numbers > 0)])) > 1 for name in people]
    return people[both] if any(both) else people


def _in_turn(places: np.ndarray, stimuli: np.ndarray | None) -> np.ndarray:
    """One of each session, then the next of each, and so on, so that the first ones are of all sessions alike."""
    numbers = sessions_of(stimuli)
    if numbers is None:
        return places
    rank = np.array([np.count_nonzero(numbers[places[:i]] == numbers[place]) for i, place in enumerate(places)])
    return places[np.argsort(rank, kind="stable")]
