"""Models that ship: the paper's methods of the first seed, each with a gallery small enough for a repository."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from qpwl_core.common.files import FileError, read_json, write_json
from qpwl_core.evaluation.evaluate import evaluate_distances
from qpwl_core.evaluation.first_look import keep_first_look
from qpwl_core.models.gallery import load_gallery
from qpwl_core.models.methods import METHODS
from qpwl_core.study.cells import folder_of
from qpwl_core.study.record import read_record, record_path
from qpwl_core.study.sets import AGAINST_FORGERS, OF_THE_PAPER, SETS, Cell

LARGEST = 60_000_000      # bytes of all shipped models together


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
    gallery = load_gallery(folder)
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
    if cell.method == "qp-wl":                               # what Home shows first
        keep_first_look(temporary)
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
