"""The parts of a study, each a list of cells: what is tuned, tested, and asked beside. Adding a question is a function.

The main table takes every method on every split; the questions beside it (`added` … `enough`) take fewer splits, and
where a variant changes nothing of the main cell's settings, that cell is the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from qpwl_core.models.methods import METHODS
from qpwl_core.study.record import read_record, record_path
from qpwl_core.study.sets import OF_THE_PAPER, PRESETS, SETS, Cell, cells_of
from qpwl_core.study.variants import (
    NARROW,
    ORDERS,
    POINTS,
    SPACE,
    STEPS,
    TRIES,
    Scores,
    choose,
    choose_preset,
    finalists,
    is_tuned,
    score_of_try,
    send_on,
)

FEW = range(3)                            # splits of the questions beside the main table
FIRST = 1000                              # the split that all tries are judged on; no split of the tuning is tested on
# More splits, for the finalists: where one split judges a dozen people, who differ more than tries do.
AGAIN = dict.fromkeys(("eye-gazecom", "eeg-uci", "gait-hapt"), tuple(range(1001, 1006)))
PEOPLE = {"eeg-uci": (4, 6, 9, 12), "gait-hapt": (4, 6, 9, 12), "gait-ipol": (8, 16, 32, 48),
          "eye-gazecom": (6, 10, 15)}
BUDGET = "eeg-uci"                        # where the paper's own budget is spent once
# seconds that one training takes on one core, until there are records to go by
SECONDS = {"eeg-uci": 10, "gait-hapt": 12, "gait-ipol": 45, "eye-gazecom": 50, "eye-gazecom-fixed": 60,
           "signature-susig": 45}


def tuning_splits(name: str) -> tuple[int, ...]:
    """The splits that tries learn and are judged on, of which the first is for all of them: none is tested on."""
    return FIRST, *AGAIN.get(name, ())


def main(preset: str, names: tuple[str, ...], methods=None, seeds=None) -> list[Cell]:
    """Every method on every split, split by split, so that an early stop leaves something of every set."""
    return cells_of(preset, names, methods, seeds)


def tries(preset: str, names: tuple[str, ...]) -> Iterator[Cell]:
    """The same number of tries of every method, and those that go on, once it is known which."""
    for name in names:
        methods = PRESETS[preset].methods or SETS[name].methods
        if SETS[name].domain in SPACE:
            yield from (Cell(name, method, FIRST, preset, f"try-{number}")
                        for method in methods for number in range(TRIES))
            yield from (Cell(name, method, seed, preset, f"try-{number}") for seed in AGAIN.get(name, ())
                        for method in methods for number in finalists(name, method))


def added(preset: str, names: tuple[str, ...]) -> Iterator[Cell]:
    """No network at all, on the recipe that QP-WL sees: what does the network add?"""
    for name in _plain(names):
        yield from (Cell(name, method, seed, preset, "recipe-of-qp-wl") for seed in PRESETS[preset].seeds
                    for method in ("untrained", "untrained-cosine"))


def recipes(preset: str, names: tuple[str, ...]) -> Iterator[Cell]:
    """The EEG recipe step by step, with a network and without."""
    for name in _plain(names):
        if SETS[name].domain == "eeg":
            yield from (Cell(name, method, seed, preset, f"recipe-{step}") for seed in FEW for step in STEPS
                        for method in ("untrained", "untrained-cosine", "qp-wl"))


def points(preset: str, names: tuple[str, ...]) -> Iterator[Cell]:
    """QP-WL trained anew for every M."""
    for name in _plain(names):
        yield from (Cell(name, "qp-wl", seed, preset, f"points-{each}") for seed in FEW for each in POINTS)


def orders(preset: str, names: tuple[str, ...]) -> Iterator[Cell]:
    """QP-WL trained anew for every p."""
    for name in _plain(names):
        yield from (Cell(name, "qp-wl", seed, preset, f"p-{p:g}") for seed in FEW for p in ORDERS)


def enough(preset: str, names: tuple[str, ...]) -> Iterator[Cell]:
    """Fewer people to learn from. (Fewer enrolled sequences need no training: they are in every record.)"""
    for name in _plain(names):
        yield from (Cell(name, "qp-wl", seed, preset, f"people-{most}") for seed in FEW
                    for most in PEOPLE.get(name, ()))
        yield from (asked(name, seed, preset) for seed in FEW if name in PEOPLE)       # all of them


def budget(preset: str, names: tuple[str, ...]) -> Iterator[Cell]:
    """The paper's own budget, once: 50,000 steps, in as many sittings as it takes."""
    if BUDGET in names:
        yield from (Cell(BUDGET, method, 0, preset, "paper") for method in OF_THE_PAPER)


PARTS: dict[str, Callable[..., Iterable[Cell]]] = {
    "tries": tries, "main": main, "added": added, "recipes": recipes, "points": points, "orders": orders,
    "enough": enough, "paper": budget}
TITLES = {"tries": "equal tuning", "main": "main table", "added": "no network, QP-WL's recipe", "recipes": "EEG recipe",
          "points": "M, trained anew", "orders": "p, trained anew", "enough": "people to learn from",
          "paper": "the paper's budget"}


def planned(preset: str, parts=None, sets=None, methods=None, seeds=None, variants=None) -> list[Cell]:
    """The cells of some parts (all of them, of a smoke study the main one), of some sets, methods and seeds.

    ``variants``: instead, exactly these of the sets, methods and seeds.
    """
    plain = main(preset, sets, methods, seeds)                   # says what is wrong with any of them
    if variants:
        return [Cell(cell.set, cell.method, cell.seed, preset, variant) for cell in plain for variant in variants]
    for part in parts or ():
        if part not in PARTS:
            raise ValueError(f"there is no {part!r} among the parts; there are {', '.join(PARTS)}")
    parts = parts or (tuple(PARTS) if preset == "quick" and not methods and not seeds else ("main",))
    cells = []
    for part in PARTS:
        if part in parts:
            cells += plain if part == "main" else [
                cell for cell in PARTS[part](preset, tuple(sets or PRESETS[preset].sets))
                if (not methods or cell.method in methods) and (not seeds or cell.seed in seeds)]
    return list(dict.fromkeys(map(plainest, cells)))


def asked(name: str, seed: int, preset: str, method: str = "qp-wl") -> Cell:
    """The cell that M, p and people to learn from are asked of: the main one, or a narrower one (`variants.NARROW`)."""
    narrow = method == "qp-wl" and preset == "quick" and name in NARROW
    return Cell(name, method, seed, preset, "narrow" if narrow else "")


def plainest(cell: Cell) -> Cell:
    """The cell that a question is asked of, or the main one, where a variant changes nothing of its settings."""
    kind = cell.variant.partition("-")[0]
    if kind not in ("points", "p", "recipe"):
        return cell
    plain = replace(cell, variant="") if kind == "recipe" else asked(cell.set, cell.seed, cell.preset, cell.method)
    return plain if plain.config == cell.config else cell


def part_of(cell: Cell) -> str:
    """The part that a cell belongs to first."""
    kind = cell.variant.partition("-")[0]
    if cell.variant == "recipe-of-qp-wl":
        return "added"
    return {"": "main", "try": "tries", "recipe": "recipes", "p": "orders", "people": "enough", "narrow": "points"}.get(
        kind, kind)


def stage_of(cell: Cell) -> int:
    """When a cell can be made: tries first; then those of them that go on; then what trains with what they chose."""
    return 2 if part_of(cell) != "tries" else 0 if cell.seed == FIRST else 1


def settle(out) -> list[str]:
    """Write down what the tries chose, for every set all of whose tries are there. -> the sets that are tuned

    Before, which tries go on to more splits, for every method that has all tries of the first. Where all sets of a
    domain are tuned, its quick preset follows, by the same rule over the splits of all of them.
    """
    found = {}
    for name in SETS:
        domain = SETS[name].domain
        if domain not in SPACE or SETS[name].simulated:
            continue
        if name in AGAIN:
            scores = _scores(name, out)
            whole = {method for method, number in scores
                     if sum(who == method and FIRST in scores[who, k] for who, k in scores) == TRIES}
            send_on(name, {key: of_splits for key, of_splits in scores.items() if key[0] in whole}, FIRST)
        found[name] = tried(name, out)
        if found[name]:
            choose(name, found[name], domain)
    for domain in SPACE:
        of_domain = {name: scores for name, scores in found.items() if SETS[name].domain == domain}
        if of_domain and all(of_domain.values()):            # simplified data speak for what needs them alone
            choose_preset(domain, [{key: of_splits for key, of_splits in scores.items()
                                    if SETS[name].fixed == (METHODS[key[0]].network == "jaeger")}
                                   for name, scores in of_domain.items()])
    return [name for name in SETS if is_tuned(name)]


def tried(name: str, out) -> Scores:
    """What the tries of a set were judged, on each split; nothing until all of them are there."""
    scores = _scores(name, out)
    return scores if sum(map(len, scores.values())) == len(list(tries("quick", (name,)))) else {}


def _scores(name: str, out) -> Scores:
    """What the tries that are there were judged."""
    scores: Scores = {}
    for cell in tries("quick", (name,)):
        if (path := record_path(cell.name, out)).exists():
            record = read_record(path)
            score = score_of_try(record["results"], record.get("of_sets", {}), SETS[name].domain)
            scores.setdefault((cell.method, int(cell.variant.removeprefix("try-"))), {})[cell.seed] = score
    return scores


def listing(cells: list[Cell], out) -> list[dict]:
    """How far a study is: one row per part and set, with part, set, cells, done, and the core minutes to go."""
    spent: dict[tuple, list[float]] = {}
    done = {cell for cell in cells if record_path(cell.name, out).exists()}
    for cell in done:
        spent.setdefault((cell.set, _cost(cell)), []).append(
            read_record(record_path(cell.name, out))["training"]["seconds"] + OVERHEAD)
    rows: dict[tuple[str, str], dict] = {}
    for cell in cells:
        row = rows.setdefault((part_of(cell), cell.set), {"part": part_of(cell), "set": cell.set, "cells": 0, "done": 0,
                                                          "minutes": 0.0})
        row["cells"] += 1
        row["done"] += cell in done
        if cell not in done:
            known = spent.get((cell.set, _cost(cell)))
            row["minutes"] += (sum(known) / len(known) if known else _guess(cell)) / 60
    return list(rows.values())


OVERHEAD = 3.0       # seconds to load, test and keep a cell


def _cost(cell: Cell) -> str:
    kind = METHODS[cell.method]
    return "paper" if cell.variant == "paper" else kind.distance if kind.loss == "none" else "trained"


def _guess(cell: Cell) -> float:
    once = SECONDS.get(cell.set, 5)
    return {"paper": 1300.0, "dtw": 90.0, "wasserstein": 2.0, "cosine": 2.0, "trained": once}[_cost(cell)] + OVERHEAD


def _plain(names: tuple[str, ...]) -> list[str]:
    return [name for name in names if not SETS[name].fixed and SETS[name].domain in SPACE]
