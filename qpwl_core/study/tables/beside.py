"""What is asked beside the main table, as tidy DataFrames: tries, what a network adds, M and p, how much is enough.

All of it comes from the records of cells; a table has no rows where no cell was made for it yet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from qpwl_core.models.methods import METHODS
from qpwl_core.study.cells import cell_record, curve_of, run_of
from qpwl_core.study.plan import FEW, PARTS, asked, plainest
from qpwl_core.study.record import record_path
from qpwl_core.study.sets import OF_THE_PAPER, SETS, Cell
from qpwl_core.study.sweeps import ENROLLED
from qpwl_core.study.tables import REFERENCE, SHARE, described, judged, named, resampled_cells
from qpwl_core.study.tables.forgers import RATES, differences, rows_of
from qpwl_core.study.variants import ORDERS, POINTS, STEPS, chosen, is_tuned, score_of_try, settings_of_try

UNTRAINED = ("untrained", "untrained-cosine")
COLUMNS = {
    "tries": ("set", "method", "attempt", "split", "score", "auc", "auc_5", "seconds", "chosen", "settings",
              "cell"),
    "added": ("set", "method", "against", "n", "difference", "low", "high", "splits", "p", "cells", "against_cells",
              "holm", "leads", "clear"),
    "sweeps": ("what", "set", "method", "value", "trained", "filters", "auc", "low", "high", "splits", "cells"),
    "recipes": ("set", "recipe", "method", "auc", "low", "high", "splits", "cells"),
    "sessions": ("set", "method", "seed", "sessions", "n", "auc", "se", "eer", "cell"),
    "forgeries": ("set", "of", "method", "seed", "enrolled", "normalised", *RATES, "cell"),
    "forgers": ("set", "method", "form", "against", "against_form", "kind", "eer", "against_eer", "difference", "low",
                "high", "splits", "p", "cells", "against_cells", "holm", "leads", "clear"),
    "budget": ("cell", "set", "method", "step", "loss", "auc", "whole"),
    "papers": ("cell", "set", "method", "trained", "steps", "n", "auc", "se", "eer"),
}


def collect_beside(names: list[str], preset: str, out) -> dict:
    """All these tables of some sets: name -> DataFrame."""
    import pandas as pd

    there = Records(out)
    made = {"tries": tries, "sweeps": sweeps, "recipes": recipes, "sessions": sessions, "forgeries": forgeries,
            "budget": budget, "papers": papers}
    tables = {name: pd.DataFrame(list(rows(names, preset, there)), columns=COLUMNS[name])
              for name, rows in made.items()}
    for name, rows, within in (("added", added, "n"), ("forgers", differences, "kind")):
        tables[name] = judged(pd.DataFrame(list(rows(names, preset, there)), columns=COLUMNS[name][:-3]), within)
    kept = sorted((cell.name, cell) for cell, record in there.known.items() if record and cell.variant)
    tables["variants"] = pd.DataFrame([described(cell, there.known[cell]) for _, cell in kept])
    return tables


class Records:
    """The records of a study, each read once."""

    def __init__(self, out):
        self.out, self.known = out, {}

    def of(self, cell: Cell) -> dict | None:
        """The record of a cell, None where it was not made yet."""
        cell = plainest(cell)
        if cell not in self.known:
            self.known[cell] = cell_record(cell, self.out) if record_path(cell.name, self.out).exists() else None
        return self.known[cell]

    def resampled(self, cells: list[Cell], wins=lambda record: record["wins"]["1"]):
        """AUC of those of the cells that are there, with people resampled, and their names; None where there is none.

        ``wins``: which wins of a record, None where it has none.
        """
        found = {}
        for cell in map(plainest, cells):
            record = self.of(cell)
            packed = None if record is None else wins(record)
            if packed is not None:
                found[cell] = packed
        return (resampled_cells(found), named(found)) if found else None


def tries(names: list[str], preset: str, there: Records) -> Iterator[dict]:
    """Every try, the losing ones too."""
    for name in names:
        for cell in PARTS["tries"](preset, (name,)):
            record = there.of(cell)
            if record is None:
                continue
            number = int(cell.variant.removeprefix("try-"))
            settings = settings_of_try(number, SETS[name].domain)
            verified = record["results"]["verification"]
            yield {"set": name, "method": cell.method, "attempt": number, "split": cell.seed,
                   "score": score_of_try(record["results"], record.get("of_sets", {}), SETS[name].domain),
                   "auc": verified["1"]["auc"], "auc_5": verified["5"]["auc"], "seconds": record["training"]["seconds"],
                   "chosen": is_tuned(name) and chosen(name, cell.method) == settings,
                   "settings": json.dumps(settings), "cell": cell.name}


def added(names: list[str], preset: str, there: Records) -> Iterator[dict]:
    """Every trained method of the paper minus no network at all, on the recipe that QP-WL sees."""
    for name in names:
        for method in OF_THE_PAPER:
            for against in UNTRAINED:
                for n in ("1", "5"):
                    mine, other = (there.resampled([Cell(name, row, seed, preset, variant) for seed in range(10)],
                                                   lambda record, n=n: record["wins"][n])
                                   for row, variant in ((method, ""), (against, "recipe-of-qp-wl")))
                    if mine and other and set(mine[0].aucs) & set(other[0].aucs):
                        yield {"set": name, "method": method, "against": against, "n": int(n),
                               **mine[0].minus(other[0], share=SHARE), "cells": mine[1], "against_cells": other[1]}


def sweeps(names: list[str], preset: str, there: Records) -> Iterator[dict]:
    """AUC at n = 1 over M, p, enrolled sequences and people to learn from."""
    for name in names:
        for method in (REFERENCE, "untrained"):
            # M and p on the splits that are also trained anew, so that what is compared differs in nothing else
            few = [asked(name, seed, preset, method) for seed in FEW]
            every = [Cell(name, method, seed, preset) for seed in range(10)]
            for what, values, cells in (("points", POINTS, few), ("p", ORDERS, few), ("enrolled", ENROLLED, every)):
                for value in values:
                    key = f"{value:g}"
                    yield from _swept(there, what, name, method, value, "no", cells,
                                      lambda record, w=what, k=key: record["sweeps"].get(w, {}).get(k))
        for what, values in (("points", POINTS), ("p", ORDERS)) if list(PARTS["points"](preset, (name,))) else ():
            for value in values:
                yield from _swept(there, what, name, REFERENCE, value, "anew",
                                  [Cell(name, REFERENCE, seed, preset, f"{what}-{value:g}") for seed in FEW])
        learned = sorted({int(cell.variant.removeprefix("people-")) for cell in PARTS["enough"](preset, (name,))
                          if cell.variant.startswith("people-")})
        for value in learned:
            yield from _swept(there, "people", name, REFERENCE, value, "anew",
                              [Cell(name, REFERENCE, seed, preset, f"people-{value}") for seed in FEW])
        everyone = [asked(name, seed, preset) for seed in FEW]
        if learned and (record := next((r for r in map(there.of, everyone) if r), None)):
            yield from _swept(there, "people", name, REFERENCE, len(record["split"]["train"]), "anew", everyone)


def recipes(names: list[str], preset: str, there: Records) -> Iterator[dict]:
    """AUC at n = 1 as the EEG recipe does one thing more at a time, with a network and without."""
    for name in names:
        for step in STEPS if SETS[name].domain == "eeg" else ():
            for method in (*UNTRAINED, REFERENCE):
                for row in _swept(there, "recipe", name, method, step, "anew",
                                  [Cell(name, method, seed, preset, f"recipe-{step}") for seed in FEW]):
                    yield {"recipe": step, **{key: row[key] for key in COLUMNS["recipes"] if key != "recipe"}}


def _swept(there: Records, what, name, method, value, trained, cells, wins=lambda record: record["wins"]["1"]):
    if found := there.resampled(cells, wins):
        low, high = found[0].interval()
        filters = None if METHODS[method].loss == "none" else cells[0].config.filters
        yield {"what": what, "set": name, "method": method, "value": value, "trained": trained, "filters": filters,
               "auc": found[0].auc, "low": low, "high": high, "splits": len(found[0].aucs), "cells": found[1]}


def sessions(names: list[str], preset: str, there: Records) -> Iterator[dict]:
    """Within a session and across two, where a set has them."""
    for cell, record in _main(names, preset, there):
        for which in ("within", "across"):
            for n, row in record["results"].get(f"{which}_sessions", {}).items():
                yield {"set": cell.set, "method": cell.method, "seed": cell.seed, "sessions": which, "n": int(n), **row,
                       "cell": cell.name}


def forgeries(names: list[str], preset: str, there: Records) -> Iterator[dict]:
    """People who try, where a set has them."""
    for cell, record in _main(names, preset, there):
        for row in rows_of(record):
            yield {"set": cell.set, "method": cell.method, "seed": cell.seed, **row, "cell": cell.name}


def budget(names: list[str], preset: str, there: Records) -> Iterator[dict]:
    """The curves of the paper's own budget, as far as they are: of trainings that go on, too."""
    for name in names:
        for cell in PARTS["paper"](preset, (name,)):
            record = there.of(cell)
            curve = record["curve"] if record else curve_of(run_of(cell, there.out) / "metrics.jsonl")
            for step, loss, auc in curve:
                yield {"cell": cell.name, "set": name, "method": cell.method, "step": step, "loss": loss, "auc": auc,
                       "whole": record is not None}


def papers(names: list[str], preset: str, there: Records) -> Iterator[dict]:
    """What the paper's own budget reaches on people to test, and the quick preset on the same split beside it."""
    for name in names:
        for cell in PARTS["paper"](preset, (name,)):
            for trained, each in (("paper", cell), ("quick", replace(cell, variant=""))):
                if (record := there.of(each)) is not None:
                    yield from ({"cell": each.name, "set": name, "method": cell.method, "trained": trained,
                                 "steps": record["training"]["steps"], "n": int(n), **row}
                                for n, row in record["results"]["verification"].items())


def _main(names, preset, there: Records) -> Iterator[tuple[Cell, dict]]:
    for name in names:
        for method in METHODS:
            for seed in range(10):
                cell = Cell(name, method, seed, preset)
                if (record := there.of(cell)) is not None:
                    yield cell, record


def means(frame, *by: str):
    """Means over splits of the numbers of a table."""
    numbers = [name for name in frame.select_dtypes("number").columns if name not in (*by, "seed")]
    found = frame.groupby(list(by), sort=False)[numbers].mean().reset_index()
    return found.assign(splits=frame.groupby(list(by), sort=False)["seed"].nunique().to_numpy())

