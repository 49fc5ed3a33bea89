"""What a report says in sentences, for the web page and for RESULTS.md: who leads, by how much, on how many people."""

from __future__ import annotations

import json

from qpwl_core.methods import METHODS
from qpwl_core.study.sets import OF_THE_PAPER, SETS

STANDARD_ERROR = ("± is the standard error over all repeats of all seeds, as in the paper over repeats; repeats of one "
                  "seed share people and model, so it is smaller than what another choice of people would change. "
                  "Intervals in brackets resample people (95 %).")


def records(frame) -> list[dict]:
    """Rows ready for JSON: numbers as they are, None where there is none."""
    return json.loads(frame.to_json(orient="records", double_precision=12))


def listed(words: list[str]) -> str:
    """
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""


def verdicts(tables: dict, name: str) -> list[str]:
    """Whether QP-WL leads, a sentence for the paper's methods and one for those beyond."""
    own = tables["differences"][tables["differences"]["set"] == name]
    sentences = []
    for beyond in (False, True):
        rows = own[own["against"].isin(OF_THE_PAPER) != beyond]
        if not len(rows):
            continue
        ahead = [METHODS[m].title for m in rows["against"].unique() if rows[rows["against"] == m]["leads"].all()]
        if ahead:
            sentences.append(f"QP-WL leads {listed(ahead)} at every n.")
        for method in rows["against"].unique():
            behind = rows[(rows["against"] == method) & ~rows["leads"].astype(bool)]
            if len(behind):
                places = listed([f"n = {row.n} (by {-row.difference:.4f}{'' if row.clear else ', within chance'})"
                                 for row in behind.itertuples()])
                sentences.append(f"QP-WL does not lead {METHODS[method].title} at {places}.")
        unclear = rows[rows["leads"].astype(bool) & ~rows["clear"].astype(bool)]
        if len(unclear):
            who = listed([f"{METHODS[m].title} (n = {', '.join(map(str, part['n']))})"
                          for m, part in unclear.groupby("against", sort=False)])
            sentences.append(f"Other people could turn round its lead over {who}: the interval holds nought.")
    return sentences


def people(tables: dict, name: str) -> str:
    """How many people and trials stand behind the figures of a set."""
    cells = tables["cells"]
    own = cells[(cells["set"] == name) & (cells["method"] == cells[cells["set"] == name]["method"].iloc[0])]

    def span(column):
        low, high = own[column].min(), own[column].max()
        return f"{low}" if low == high else f"{low} to {high}"

    left = f" ({span('left_out')} more have too few sequences)" if own["left_out"].max() else ""
    splits = f"{len(own)} split{'s' if len(own) > 1 else ''}"
    return (f"{span('tested_people')} people{left} with {span('tested_sequences')} sequences, {span('trials')} trials "
            f"a repeat, {own['repeats'].iloc[0]} repeats for each of {splits} of the people; {span('train_people')} "
            f"people to train, {span('validation_people')} to validate and calibrate")


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
