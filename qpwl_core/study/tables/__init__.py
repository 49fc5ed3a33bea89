"""What a study found, as tidy DataFrames: one row per repeat and setting, and the means of those.

``se``: standard error over all repeats of all splits, as the paper's is over repeats. It is too small where it matters:
the repeats of a split share people and model. ``low`` and ``high`` resample people and, where there are three or more,
splits (95 %). ``cell`` names the record of a row in ``kept/``, ``cells`` those that a mean is of.
"""

from __future__ import annotations

import json

import numpy as np

from qpwl_core.evaluation.bootstrap import Resampled, resample_people, resampled_wins
from qpwl_core.evaluation.paired import holm
from qpwl_core.models.methods import METHODS
from qpwl_core.study import paper
from qpwl_core.study.cells import cell_record
from qpwl_core.study.record import unpacked_wins
from qpwl_core.study.scores import FMRS, GRID
from qpwl_core.study.sets import SETS, TEST, TRAIN, Cell

REFERENCE = "qp-wl"       # what all others are held against
SHARE = TEST / TRAIN      # people tested per person trained on: how much splits of the same people overlap
RESAMPLES = 1000


def collect(cells: list[Cell], out) -> dict:
    """All tables of the main cells that are there: name -> DataFrame. Files are written under the same names."""
    import pandas as pd

    cells = sorted((cell for cell in cells if not cell.variant),
                   key=lambda cell: (list(SETS).index(cell.set), list(METHODS).index(cell.method), cell.seed))
    records = {cell: cell_record(cell, out) for cell in cells}

    def rows(name):
        return pd.DataFrame([{"set": cell.set, "method": cell.method, "seed": cell.seed, **row, "cell": cell.name}
                             for cell in cells for row in records[cell][name]])

    tables = {"cells": pd.DataFrame([described(cell, records[cell]) for cell in cells])}
    tables |= {name: rows(name) for name in ("verification", "identification", "imposters", "calibrated")}
    resampled = _resampled(records)
    tables["table"] = _table(tables["verification"], tables["identification"], tables["imposters"], resampled)
    tables["differences"] = _differences(resampled)
    tables["roc"] = _curves(records, lambda record: record["roc"].items(), "n", "fpr", GRID, "tpr")
    tables["cmc"] = _curves(records, lambda record: [(5, record["cmc"])], "n", "rank", None, "rate")
    return tables


def mean_of(frame, measure: str, *by: str):
    """Mean and standard error of a measure over all repeats of all splits: ``by``, measure, se, count."""
    found = frame.groupby(list(by), sort=False)[measure].agg(["mean", "sem", "size"]).reset_index()
    return found.rename(columns={"mean": measure, "sem": "se", "size": "count"})


def described(cell: Cell, record: dict) -> dict:
    """What was trained and tested: a row of cells.csv, the place to look up any name of a cell."""
    config, training, split = record["config"], record["training"], record["split"]
    return {"cell": cell.name, "set": cell.set, "method": cell.method, "seed": cell.seed, "variant": cell.variant,
            "preset": cell.preset, **{f"{part}_people": len(split[part]) for part in ("train", "validation", "test")},
            "tested_people": record["subjects"], "tested_sequences": record["sequences"], "trials": record["trials"],
            "repeats": record["repeats"], "left_out": len(record["left_out"]), "windows_apart": record["windows_apart"],
            **{name: config[name] for name in ("filters", "layers", "points", "p", "pairs", "iterations")},
            "steps": training["steps"], "seconds": training["seconds"], "threads": training["threads"],
            "device": training["device"], "validation_auc": training["best_auc"], "sha256": record["sha256"],
            "config": json.dumps(config), "tested": " ".join(split["test"]), "reproduce": record["reproduce"]}


def resampled_cells(records: dict[Cell, str], repeats: int = 10) -> Resampled:
    """AUC with people resampled, of each split, from the packed wins of its cell; the same people for every method."""
    aucs, values = {}, {}
    for cell, packed in records.items():
        wins = unpacked_wins(packed, repeats)
        people = len(wins)
        aucs[cell.seed] = float(wins.sum() / (people * people * (people - 1)))
        values[cell.seed] = resampled_wins(wins, resample_people(people, RESAMPLES, cell.seed))
    return Resampled(aucs, values)


def named(cells) -> str:
    """The names of some cells that differ in their seed alone, shortly: ``eeg-uci-qp-wl-{0,1,2}``.

    >>> named([Cell("eeg-uci", "qp-wl", 0), Cell("eeg-uci", "qp-wl", 1)]), named([Cell("eeg-uci", "qp-wl", 0)])
    ('eeg-uci-qp-wl-{0,1}', 'eeg-uci-qp-wl-0')
    """
    cells = sorted(cells, key=lambda cell: cell.seed)
    first = cells[0]
    seeds = str(first.seed) if len(cells) == 1 else "{" + ",".join(str(cell.seed) for cell in cells) + "}"
    return f"{first.set}-{first.method}-{seeds}" + (f"-{first.variant}" if first.variant else "")


def _resampled(records: dict[Cell, dict]) -> dict[tuple[str, str, int], tuple[Resampled, str]]:
    """(set, method, n) -> the AUC with people resampled, of each split, and the names of the cells."""
    found = {}
    for name, method in dict.fromkeys((cell.set, cell.method) for cell in records):
        same = {cell: record for cell, record in records.items() if (cell.set, cell.method) == (name, method)}
        for n in range(1, 6):
            wins = {cell: record["wins"][str(n)] for cell, record in same.items()}
            found[name, method, n] = resampled_cells(wins), named(same)
    return found


def _table(verified, identified, imposters, resampled):
    """Table 1 of the paper and more, one row per set, method and n."""
    import pandas as pd

    rows = []
    for (name, method, n), (auc, cells) in resampled.items():
        found = verified[(verified["set"] == name) & (verified["method"] == method) & (verified["n"] == n)]
        low, high = auc.interval()
        row = {"set": name, "method": method, "n": n, "seeds": len(auc.aucs), "repeats": len(found),
               "auc": found["auc"].mean(), "se": found["auc"].sem(), "low": low, "high": high,
               "eer": found["eer"].mean(), "eer_se": found["eer"].sem(),
               **{f"fnmr_{fmr:g}": found[f"fnmr_{fmr:g}"].astype(float).mean(skipna=False) for fmr in FMRS},
               "d_prime": found["d_prime"].astype(float).mean(skipna=False)}
        if n == 5:                               # the other two scenarios are at n = 5
            for frame, measure, key in ((identified, "accuracy", "identification"), (imposters, "auc", "imposter_auc")):
                most = frame[(frame["set"] == name) & (frame["method"] == method)
                             & (frame["fraction"] == frame["fraction"].max())][measure]
                row |= {key: most.mean(), f"{key}_se": most.sem()}
        published = paper.VERIFICATION.get(SETS[name].beside or "", {}).get(method)
        row |= {"paper_auc": published[n - 1][0], "paper_se": published[n - 1][1]} if published else {}
        rows.append(row | {"cells": cells})
    return pd.DataFrame(rows)


def _differences(resampled):
    """QP-WL minus every other method, on the splits that both have; p corrected for all methods of a set (Holm)."""
    import pandas as pd

    rows = []
    for (name, method, n), (other, cells) in resampled.items():
        mine, own = resampled.get((name, REFERENCE, n), (None, ""))
        if method == REFERENCE or mine is None or not set(mine.aucs) & set(other.aucs):
            continue
        rows.append({"set": name, "method": REFERENCE, "against": method, "n": n, **mine.minus(other, share=SHARE),
                     "cells": own, "against_cells": cells})
    return judged(pd.DataFrame(rows, columns=["set", "method", "against", "n", "difference", "low", "high", "splits",
                                              "p", "cells", "against_cells"]))


def judged(frame, within: str = "n"):
    """Differences with what can be said of them: ``holm`` (p corrected within a set and n), ``leads``, ``clear``.

    ``clear``: beyond noise. The interval excludes nought and, where there are three splits or more to test over, the
    corrected p is below 0.05.
    """
    import pandas as pd

    frame = frame.assign(p=frame["p"].astype(float), holm=np.nan)
    for _, part in frame.groupby(["set", within], sort=False):
        frame.loc[part.index, "holm"] = holm(part["p"])
    sure = (frame["low"] > 0) | (frame["high"] < 0)
    clear = sure & (frame["holm"].isna() | (frame["holm"] < 0.05))
    return pd.concat([frame, pd.DataFrame({"leads": frame["difference"] > 0, "clear": clear})], axis=1)


def _curves(records: dict[Cell, dict], of, key: str, x: str, grid, y: str):
    """Mean curves over all repeats of all splits, with their standard error."""
    import pandas as pd

    found: dict[tuple, list] = {}
    for cell, record in records.items():
        for value, curve in of(record):
            found.setdefault((cell.set, cell.method, int(value)), []).append(curve)
    frames = []
    for (name, method, value), curves in found.items():
        shortest = min(len(curve["mean"]) for curve in curves)       # a split with fewer people has fewer ranks
        mean, std = (np.array([curve[part][:shortest] for curve in curves]) for part in ("mean", "std"))
        weight = np.array([curve["count"] for curve in curves], dtype=float)[:, None]
        total = weight.sum()
        middle = (weight * mean).sum(0) / total
        variance = np.maximum((weight * (std**2 + mean**2)).sum(0) / total - middle**2, 0) * total / max(total - 1, 1)
        frames.append(pd.DataFrame({
            "set": name, "method": method, key: value, x: np.arange(1, shortest + 1) if grid is None else grid,
            y: middle, "se": np.sqrt(variance / total)}))
    return pd.concat(frames, ignore_index=True)
