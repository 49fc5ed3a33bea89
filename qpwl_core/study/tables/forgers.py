"""People who try, in the tables of a study: error rates per data set, and QP-WL against every other row.

Where a set was joined of several, error rates are of each (its tablet, its forgers), of "each" with a line of its own
(their mean, every data set alike) and of "all" people with one line. Rows are held against each other with five
enrolled, each as it was better on the tuning split: normalised by the claimed person's spread, which helps warping, or
plain. What is compared is thus chosen on people who are not tested.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qpwl_core.evaluation.forgeries import KINDS
from qpwl_core.evaluation.paired import paired
from qpwl_core.models.methods import METHODS
from qpwl_core.study.plan import tuning_splits
from qpwl_core.study.sets import SETS, Cell
from qpwl_core.study.tables import REFERENCE, SHARE, named
from qpwl_core.study.variants import ENROLLED, TRIES, chosen, settings_of_try

ALL, EACH = "all", "each"
RATES = tuple(f"{kind}_eer" for kind in KINDS)


def rows_of(record: dict) -> Iterator[dict]:
    """The error rates of a record: of, enrolled, normalised, and one rate per kind of imposter."""
    parts = {name: {(row["enrolled"], row["normalised"]): row for row in part["forgeries"]}
             for name, part in {ALL: record["results"], **record.get("of_sets", {})}.items() if part.get("forgeries")}
    for of, rows in parts.items():
        yield from ({"of": of, **_rates([row])} for row in rows.values())
    several = [rows for of, rows in parts.items() if of != ALL]
    for key in several[0] if several else ():
        if all(key in rows for rows in several):
            yield {"of": EACH, **_rates([rows[key] for rows in several])}


def _rates(rows: list[dict]) -> dict:
    return {"enrolled": rows[0]["enrolled"], "normalised": rows[0]["normalised"],
            **{rate: float(np.mean([row[rate] for row in rows])) for rate in RATES}}


def compared(record: dict) -> dict[bool, dict]:
    """What of a record is held against others: by whether it is normalised, the rates with five enrolled."""
    rows = [row for row in rows_of(record) if row["enrolled"] == ENROLLED]
    of = EACH if any(row["of"] == EACH for row in rows) else ALL
    return {row["normalised"]: row for row in rows if row["of"] == of}


def normalises(name: str, method: str, preset: str, there) -> bool:
    """Whether a method is better normalised, on the tuning split, with the settings that were chosen there."""
    domain = SETS[name].domain
    number = next((i for i in range(TRIES) if settings_of_try(i, domain) == chosen(name, method)), 0)
    tried = [there.of(Cell(name, method, seed, preset, f"try-{number}")) for seed in tuning_splits(name)]
    forms = [compared(record) for record in tried if record is not None]
    if not forms or not all(True in form for form in forms):
        return False
    wrong = {which: np.mean([form[which]["random_eer"] + form[which]["skilled_eer"] for form in forms])
             for which in (False, True)}
    return bool(wrong[True] < wrong[False])


def differences(names: list[str], preset: str, there) -> Iterator[dict]:
    """How much fewer errors QP-WL makes than every other row, by kind of imposter; below nought it makes more."""
    for name in names:
        found = {method: each for method in METHODS if (each := _held(name, method, preset, there))}
        mine = found.pop(REFERENCE, None)
        if mine is None:
            continue
        for method, other in found.items():
            splits = sorted(set(mine["rates"]) & set(other["rates"]))
            for kind in KINDS if splits else ():
                own, others = ([each["rates"][split][f"{kind}_eer"] for split in splits] for each in (mine, other))
                yield {"set": name, "method": REFERENCE, "form": mine["form"], "against": method,
                       "against_form": other["form"], "kind": kind, "eer": float(np.mean(own)),
                       "against_eer": float(np.mean(others)), **paired(np.subtract(others, own), SHARE),
                       "cells": mine["cells"], "against_cells": other["cells"]}


def _held(name: str, method: str, preset: str, there) -> dict | None:
    """What of a method is held against others: its form, its rates by split, the names of its cells; None of none."""
    form = normalises(name, method, preset, there)
    cells = {cell: compared(record) for seed in range(10)
             if (record := there.of(cell := Cell(name, method, seed, preset)))}
    rates = {cell: found[form] for cell, found in cells.items() if form in found}
    if not rates:
        return None
    return {"form": "normalised" if form else "plain", "cells": named(rates),
            "rates": {cell.seed: row for cell, row in rates.items()}}
