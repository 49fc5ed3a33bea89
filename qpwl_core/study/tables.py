"""What a study found, as tidy DataFrames: one row per repeat and setting, and the means of those.

``se``: standard error over all repeats of all seeds, as the paper's is over repeats. It is too small where it matters:
the repeats of a seed share people and model. ``low`` and ``high`` resample people (95 %).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from qpwl_core.common.files import read_json
from qpwl_core.evaluation.bootstrap import Resampled, resample
from qpwl_core.models.methods import METHODS
from qpwl_core.study import paper
from qpwl_core.study.cells import folder_of, read_distances
from qpwl_core.study.scores import FMRS, GRID, stack_of
from qpwl_core.study.sets import SETS, Cell

REFERENCE = "qp-wl"       # what all others are held against


def collect(cells: list[Cell], out) -> dict:
    """All tables of the cells that are there: name -> DataFrame. Files are written under the same names."""
    import pandas as pd

    cells = sorted(cells, key=lambda cell: (list(SETS).index(cell.set), list(METHODS).index(cell.method), cell.seed))
    scores = {cell: read_json(folder_of(cell, out) / "scores.json") for cell in cells}

    def rows(name):
        return pd.DataFrame([{"set": cell.set, "method": cell.method, "seed": cell.seed, **row}
                             for cell in cells for row in scores[cell][name]])

    tables = {"cells": pd.DataFrame([_cell(cell, scores[cell], out) for cell in cells])}
    tables |= {name: rows(name) for name in ("verification", "identification", "imposters", "calibrated")}
    resampled = _resampled(cells, out)
    tables["table"] = _table(tables["verification"], tables["identification"], tables["imposters"], resampled)
    tables["differences"] = _differences(resampled)
    tables["roc"] = _curves(scores, lambda score: [(int(n), curves) for n, curves in score["roc"].items()],
                            "n", "fpr", GRID, "tpr")
    tables["cmc"] = _curves(scores, lambda score: [(5, score["cmc"])], "n", "rank", None, "rate")
    return tables


def mean_of(frame, measure: str, *by: str):
    """Mean and standard error of a measure over all repeats of all seeds: the columns of ``by``, measure, se, count."""
    found = frame.groupby(list(by), sort=False)[measure].agg(["mean", "sem", "size"]).reset_index()
    return found.rename(columns={"mean": measure, "sem": "se", "size": "count"})


def _cell(cell: Cell, score: dict, out: Path) -> dict:
    card = read_json(folder_of(cell, out) / "card.json")
    config, training = card["config"], card["training"]
    return {"set": cell.set, "method": cell.method, "seed": cell.seed,
            **{f"{part}_people": len(card["split"][part]) for part in ("train", "validation", "test")},
            "tested_people": score["subjects"], "tested_sequences": score["sequences"], "trials": score["trials"],
            "repeats": score["repeats"], "left_out": len(score["left_out"]), "windows_apart": score["windows_apart"],
            **{name: config[name] for name in ("filters", "layers", "points", "p", "pairs", "iterations")},
            "steps": training["steps"], "seconds": training["seconds"], "threads": training["threads"],
            "device": training["device"], "validation_auc": training["best_auc"], "sha256": card["sha256"]}


def _resampled(cells: list[Cell], out) -> dict[tuple[str, str, int], Resampled]:
    """(set, method, n) -> the AUC with people resampled, of each seed."""
    found = {}
    for name, method in dict.fromkeys((cell.set, cell.method) for cell in cells):
        same = [cell for cell in cells if (cell.set, cell.method) == (name, method)]
        stacks = {cell.seed: stack_of(read_distances(folder_of(cell, out))["test"], cell.seed)[0] for cell in same}
        for n in range(1, 6):
            found[name, method, n] = resample({seed: stack[:, n - 1] for seed, stack in stacks.items()})
    return found


def _table(verified, identified, imposters, resampled):
    """Table 1 of the paper and more, one row per set, method and n."""
    import pandas as pd

    rows = []
    for (name, method, n), auc in resampled.items():
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
        rows.append(row)
    return pd.DataFrame(rows)


def _differences(resampled):
    """QP-WL minus every other method, on the seeds that both have."""
    import pandas as pd

    rows = []
    for (name, method, n), other in resampled.items():
        mine = resampled.get((name, REFERENCE, n))
        if method == REFERENCE or mine is None or not set(mine.aucs) & set(other.aucs):
            continue
        found = mine.minus(other)
        rows.append({"set": name, "method": REFERENCE, "against": method, "n": n, **found,
                     "leads": found["difference"] > 0, "clear": found["low"] > 0 or found["high"] < 0})
    columns = ["set", "method", "against", "n", "difference", "low", "high", "splits", "p", "leads", "clear"]
    return pd.DataFrame(rows, columns=columns)


def _curves(scores: dict, of, key: str, x: str, grid, y: str):
    """Mean curves over all repeats of all seeds, with their standard error."""
    import pandas as pd

    found: dict[tuple, list] = {}
    for cell, score in scores.items():
        for value, curves in of(score):
            found.setdefault((cell.set, cell.method, value), []).extend(curves)
    frames = []
    for (name, method, value), curves in found.items():
        shortest = min(map(len, curves))         # a split with fewer people has fewer ranks
        stack = np.array([curve[:shortest] for curve in curves])
        frames.append(pd.DataFrame({
            "set": name, "method": method, key: value, x: np.arange(1, shortest + 1) if grid is None else grid,
            y: stack.mean(0), "se": stack.std(0, ddof=1) / np.sqrt(len(stack))}))
    return pd.concat(frames, ignore_index=True)
