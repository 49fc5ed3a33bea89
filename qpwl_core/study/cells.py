"""A cell of a study: one training, tested. It is there, whole, or it is not; what was interrupted goes on.

What is kept of every cell is its record (`record`), from which reports are made. Of a cell that ships there is also
``OUT/cells/<set>-<method>-<seed>/``: card.json and model.safetensors (a model like any other), gallery.safetensors,
distances.safetensors (the model's, in full precision, between all sequences of the people to test and of those to
calibrate on), scores.json and metrics.jsonl (its training).
"""

from __future__ import annotations

import json
import shutil
import threading
from collections import deque
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch

from qpwl_core.common.files import FileError, read_json, read_tensors, write_json, write_tensors
from qpwl_core.data.recordings import Recordings
from qpwl_core.data.splits import split_validation
from qpwl_core.models.gallery import build_gallery
from qpwl_core.models.methods import METHODS
from qpwl_core.models.model import Model
from qpwl_core.study.galleries import to_ship
from qpwl_core.study.record import FORMAT, moments, packed_wins, read_record, record_path, write_record
from qpwl_core.study.record import VERSION as RECORD
from qpwl_core.study.scores import VERSION, score, stack_of
from qpwl_core.study.sets import PRESETS, SETS, Cell
from qpwl_core.study.sweeps import sweep, swept
from qpwl_core.study.variants import people_to_learn
from qpwl_core.training.loop import train

ALONE = threading.Lock()     # one training at a time in a process: they share torch's threads and random numbers


class OtherSettings(FileError):
    """A cell that is there was trained with other settings."""


@dataclass(frozen=True, eq=False)
class Distances:
    """Distances between all sequences of some people, (n, n), whose each is (n,), and what it was cut from (n,).

    ``stimuli`` (n,): what was done, such as a session; ``imitates`` (n,): whom a forgery imitates, "" where nobody.
    """

    values: np.ndarray
    subjects: np.ndarray
    sources: np.ndarray
    stimuli: np.ndarray | None = None
    imitates: np.ndarray | None = None

    def select(self, index: np.ndarray) -> Distances:
        """Of some of the sequences, by a mask."""
        stimuli, imitates = (None if x is None else x[index] for x in (self.stimuli, self.imitates))
        return Distances(self.values[np.ix_(index, index)], self.subjects[index], self.sources[index], stimuli,
                         imitates)

    def genuine(self) -> Distances:
        """Without the forgeries."""
        if self.imitates is None:
            return self
        return replace(self.select(self.imitates == ""), imitates=None)


def folder_of(cell: Cell, out) -> Path:
    return Path(out) / "cells" / cell.name


def run_of(cell: Cell, out) -> Path:
    """Where its training lives until it is whole."""
    return Path(out) / "runs" / cell.name


def is_whole(cell: Cell, out, folder: bool = False) -> bool:
    """Whether the cell is there, with ``folder`` its model, too; an error where it was trained with other settings."""
    path, place = record_path(cell.name, out), folder_of(cell, out)
    if not (place.is_dir() or (path.exists() and not folder)):
        return False
    kept = read_record(path) if path.exists() else read_json(place / "card.json")
    stored, wanted = kept["config"], cell.config.to_dict()
    for name, value in wanted.items():
        if stored.get(name) != value and name != "device":
            raise OtherSettings(f"{path if path.exists() else place} was trained with {name} = {stored.get(name)!r}, "
                                f"not {value!r}: name another --out, or say --replace")
    return True


def drop_outdated(cells: list[Cell], out) -> list[str]:
    """Delete what is there of cells that were trained with other settings than they have now. -> their names"""
    dropped = []
    for cell in cells:
        try:
            is_whole(cell, out)
        except OtherSettings:
            record_path(cell.name, out).unlink(missing_ok=True)
            shutil.rmtree(folder_of(cell, out), ignore_errors=True)
            dropped.append(cell.name)
    return dropped


def make_cell(cell: Cell, out, data, threads: int, folder: bool = True) -> dict:
    """Train, test and keep a cell, with ``folder`` its model, too, unless it is there. -> {"cell", "error"}

    An error is one sentence, and returned, not raised, so that one training that diverges does not end a study of
    hours.
    """
    with ALONE:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            place = folder_of(cell, out)
            if not is_whole(cell, out, folder):
                _make(cell, Path(out), data, folder)
            elif place.is_dir() and read_json(place / "scores.json").get("version") != VERSION:
                score_again(place, cell.seed)
        except (ValueError, OSError, RuntimeError) as error:
            return {"cell": cell.name, "error": " ".join(str(error).split())}
        finally:
            torch.set_num_threads(before)
    return {"cell": cell.name, "error": None}


def _make(cell: Cell, out: Path, data, folder: bool) -> None:
    studied, config, run = SETS[cell.set], cell.config, run_of(cell, out)
    recordings = studied.load(data, PRESETS[cell.preset].people)
    learn, test = studied.parts(recordings, cell.seed)
    training, calibration = split_validation(learn, config.validation, config.seed)
    training = fewer_people(training, people_to_learn(cell.variant), cell.seed)
    model = deque(train(config, training, run, resume=(run / "config.json").exists(), validation=calibration),
                  maxlen=1).pop().model
    assert model is not None, "the last record carries it"
    parts = {"test": distances_of(model, test, studied.fixed),
             "calibration": distances_of(model, calibration, studied.fixed)}
    scores = score(parts["test"], parts["calibration"], cell.seed)
    model.card |= {
        "title": f"{studied.title} · {METHODS[cell.method].title}", "set": cell.set, "terms": studied.terms,
        "split": {"train": _people(training), "validation": _people(calibration), "test": _people(test)},
        "results": scores["results"], "notes": scores["notes"],
        "reproduce": f"{cell.command} --threads {torch.get_num_threads()}"}
    gallery = None
    if METHODS[cell.method].distance != "dtw" and (folder or swept(cell)):   # which compares sequences: none is kept
        gallery = build_gallery(model, test, calibration)
    curve = curve_of(run / "metrics.jsonl")
    if folder:
        temporary = out / "cells" / f".{cell.name}"
        shutil.rmtree(temporary, ignore_errors=True)         # of a process that was killed while it wrote
        temporary.mkdir(parents=True)
        model.save(temporary)
        if gallery is not None:
            to_ship(gallery, studied).save(temporary)        # chosen here, from all: a gallery of all may be too large
        write_distances(temporary, parts)
        write_json(temporary / "scores.json", scores)
        if curve:
            shutil.copy(run / "metrics.jsonl", temporary)
        temporary.rename(folder_of(cell, out))               # at once: it is there, whole
    facts = {"sha256": model.checksum, **model.card, **model.described}
    sweeps = sweep(cell, parts["test"], gallery) if gallery is not None and swept(cell) else {}
    write_record(record_path(cell.name, out), record_of(cell, facts, scores, parts["test"], curve, sweeps))
    shutil.rmtree(run)


def cell_record(cell: Cell, out) -> dict:
    """What is kept of a cell; of one that an older version made, what its folder says."""
    path, folder = record_path(cell.name, out), folder_of(cell, out)
    if path.exists():
        return read_record(path)
    return record_of(cell, read_json(folder / "card.json"), read_json(folder / "scores.json"),
                     read_distances(folder)["test"], curve_of(folder / "metrics.jsonl"), {})


def record_of(cell: Cell, card: dict, scores: dict, test: Distances, curve: list, sweeps: dict) -> dict:
    """The record of a cell, ready for JSON."""
    stack, people = stack_of(test.genuine(), cell.seed)
    same = ("config", "split", "training", "sha256", "reproduce", "notes", "results")
    rest = {name: value for name, value in scores.items() if name not in (*same, "version", "roc", "cmc")}
    return {"format": FORMAT, "version": RECORD, "cell": asdict(cell), **{name: card[name] for name in same}, **rest,
            "people": people.tolist(), "wins": {str(n + 1): packed_wins(stack[:, n]) for n in range(stack.shape[1])},
            "named": [int(x) for x in (stack[:, -1].argmin(2) == np.arange(len(people))).sum(0)],
            "roc": {n: moments(curves) for n, curves in scores["roc"].items()}, "cmc": moments(scores["cmc"]),
            "curve": curve, "sweeps": sweeps}


def curve_of(path: Path) -> list[list]:
    """Step, loss and validation AUC at every validation of a training."""
    if not path.exists():                        # nothing was trained
        return []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [[row["step"], round(row["loss"], 5), round(row["auc"], 6)] for row in rows if row["auc"] is not None]


def fewer_people(recordings: Recordings, most: int | None, seed: int) -> Recordings:
    """At most so many of the people, drawn by the seed, the same ones first for every number."""
    if most is None:
        return recordings
    return recordings.of_people(np.random.default_rng(seed).permutation(recordings.people)[:most].tolist())


def distances_of(model: Model, recordings: Recordings, fixed: bool) -> Distances:
    """The model's distances. Pieces of fixed length were cut before the model saw them: sources say of what."""
    embeddings = model.embed(recordings)
    sources = embeddings.sources
    if fixed and recordings.stimuli is not None:
        names = [f"{who}\n{what}" for who, what in zip(recordings.subjects, recordings.stimuli, strict=True)]
        sources = np.unique(names, return_inverse=True)[1]
    assert sources is not None, "embed says what each was cut from"
    return Distances(model.distances(embeddings), embeddings.subjects, sources, embeddings.stimuli, embeddings.imitates)


def write_distances(folder: Path, parts: dict[str, Distances]) -> None:
    arrays = {f"{what}.values": part.values for what, part in parts.items()}
    arrays |= {f"{what}.sources": part.sources for what, part in parts.items()}
    names = {what: part.subjects.tolist() for what, part in parts.items()}
    names |= {f"{what}.{kind}": getattr(part, kind).tolist() for what, part in parts.items()
              for kind in ("stimuli", "imitates") if getattr(part, kind) is not None}
    write_tensors(folder / "distances.safetensors", arrays, names)


def read_distances(folder: Path) -> dict[str, Distances]:
    """Those of the people to test and of those to calibrate on."""
    arrays, facts = read_tensors(folder / "distances.safetensors")
    names = {what: np.array(each, dtype=str) for what, each in facts.items()}
    return {what: Distances(arrays[f"{what}.values"], names[what], arrays[f"{what}.sources"],
                            names.get(f"{what}.stimuli"), names.get(f"{what}.imitates"))
            for what in names if "." not in what}


def score_again(folder: Path, seed: int) -> None:
    """Write the scores anew, from the distances of the cell."""
    parts = read_distances(folder)
    write_json(folder / "scores.json", score(parts["test"], parts["calibration"], seed))


def _people(recordings: Recordings) -> list[str]:
    return recordings.people
