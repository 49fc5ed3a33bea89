"""What a report says in sentences, for the web page and for RESULTS.md: who leads, by how much, on how many people."""

from __future__ import annotations

import json

from qpwl_core.common.text import listed
from qpwl_core.models.methods import METHODS
from qpwl_core.study.sets import SETS

LEVEL = 0.00005       # of AUC: what four digits do not show is no difference
STANDARD_ERROR = ("± is the standard error over all repeats of all seeds, as in the paper over repeats; repeats of one "
                  "seed share people and model, so it is smaller than what another choice of people would change. "
                  "Intervals in brackets resample people (95 %).")


def records(frame) -> list[dict]:
    """Rows ready for JSON: numbers as they are, None where there is none."""
    return json.loads(frame.to_json(orient="records", double_precision=12))


def verdicts(tables: dict, name: str) -> list[str]:
    """Whether QP-WL leads, one sentence per other method: those of the paper first."""
    of_set = tables["differences"][tables["differences"]["set"] == name]
    return [_verdict(METHODS[method].title, rows) for method, rows in of_set.groupby("against", sort=False)]


def _verdict(other: str, rows) -> str:
    """QP-WL against one method: where it is ahead, level or behind, by how much, and where that is not sure."""
    places = {"ahead": rows[rows["difference"] >= LEVEL], "level": rows[rows["difference"].abs() < LEVEL],
              "behind": rows[rows["difference"] <= -LEVEL]}
    unsure = rows[(rows["low"] <= 0) & (rows["high"] >= 0) & (rows["difference"].abs() >= LEVEL)]
    doubt = f"; other people could turn it round at {_ns(unsure, rows)}" if len(unsure) else ""
    if len(places["ahead"]) == len(rows):
        return f"QP-WL leads {other} at every n ({_amounts(rows)}){doubt}."
    said = [f"{word} at {_ns(part, rows)}" + (f" ({_amounts(part)})" if word != "level" else "")
            for word, part in places.items() if len(part)]
    return f"QP-WL against {other}: {', '.join(said)}{doubt}."


def _ns(part, rows) -> str:
    return "every n" if len(part) == len(rows) else f"n = {listed([str(n) for n in part['n']])}"


def _amounts(rows) -> str:
    return "by " + ", ".join(f"{abs(x):.4f}" for x in rows["difference"])


def people(tables: dict, name: str) -> str:
    """How many people and trials stand behind the figures of a set."""
    cells = tables["cells"]
    of_set = cells[(cells["set"] == name) & (cells["method"] == cells[cells["set"] == name]["method"].iloc[0])]

    def span(column):
        low, high = of_set[column].min(), of_set[column].max()
        return f"{low}" if low == high else f"{low} to {high}"

    left = f" ({span('left_out')} more have too few sequences)" if of_set["left_out"].max() else ""
    splits = f"{len(of_set)} split{'s' if len(of_set) > 1 else ''}"
    return (f"{span('tested_people')} people{left} with {span('tested_sequences')} sequences, {span('trials')} trials "
            f"per repeat, {of_set['repeats'].iloc[0]} repeats for each of {splits} of the people; "
            f"{span('train_people')} people to train, {span('validation_people')} to validate and calibrate")


def budget(tables: dict) -> str:
    """What the trainings took."""
    cells = tables["cells"]
    threads = listed([f"{t} thread{'s' if t > 1 else ''}" for t in sorted(cells["threads"].unique())])
    minutes = (cells["seconds"] * cells["threads"]).sum() / 60
    return (f"{len(cells)} trainings, {cells['seconds'].min():.0f} to {cells['seconds'].max():.0f} s each, "
            f"{minutes:.0f} core minutes together on {listed(sorted(cells['device'].unique()))} "
            f"({threads} each)")


def title(name: str) -> str:
    return SETS[name].title + (" (simulated)" if SETS[name].simulated and "simulated" not in SETS[name].title else "")
