"""What a report says in sentences, for the web page and for RESULTS.md: who leads, by how much, on how many people."""

from __future__ import annotations

import json

from qpwl_core.common.text import counted, listed
from qpwl_core.models.methods import METHODS
from qpwl_core.study.sets import PRESETS, SETS
from qpwl_core.study.tables import REFERENCE
from qpwl_core.study.variants import CLOSE, ENROLLED, FINALISTS

LEVEL = 0.00005       # of AUC: what four digits do not show is no difference
STANDARD_ERROR = ("± is the standard error over all repeats of all splits, as in the paper over repeats; repeats of "
                  "one split share people and model, so it is smaller than what another choice of people would change. "
                  "Intervals in brackets resample people and, of three splits or more, splits (95 %).")
NOISE = ("Beyond noise: the interval over people and splits excludes nought and, of three splits or more, the paired "
         "t-test over splits, corrected for overlapping splits (Nadeau and Bengio) and for all methods that are "
         "compared (Holm), has p < 0.05.")


DOUBTED = "the corrected test doubts it"


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
    planned = len(PRESETS["quick"].seeds) if of_set["preset"].iloc[0] == "quick" else 0
    splits = f"{len(of_set)} of {planned} splits so far" if len(of_set) < planned else splits
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


def in_short(tables: dict) -> str:
    """Over all sets, at n = 1: where QP-WL is first, who is ahead of it, and whom it does not beat beyond noise.

    And which trained methods do not beat what learns nothing.
    """
    found = tables["differences"]
    if not len(found):
        return "Nothing to compare yet."
    found = found[found["n"] == 1]
    first = [title(name) for name, rows in found.groupby("set", sort=False) if (rows["difference"] > 0).all()]
    said = [f"first of all rows on {listed(first)}" if first else "first of all rows nowhere"]
    said += [f"behind {who}" for who in _where(found[found["difference"] <= 0])]
    parts = [f"AUC at n = 1, mean of splits: QP-WL is {'; '.join(said)}."]
    beaten = found["leads"] & found["clear"]
    if beaten.any():
        parts.append(f"Beyond noise it beats {'; '.join(_where(found[beaten]))}.")
    ever = found[beaten]["against"]
    nowhere, partly = found[~found["against"].isin(ever)], found[found["against"].isin(ever) & ~beaten]
    unbeaten = [f"{listed([METHODS[method].title for method in dict.fromkeys(nowhere['against'])])} on any set"]
    unbeaten = (unbeaten if len(nowhere) else []) + _where(partly)
    if unbeaten:
        parts.append(f"It does not beat beyond noise: {'; '.join(unbeaten)}.")
    level = _by_sets([(name, METHODS[method].title) for name in dict.fromkeys(tables["added"]["set"])
                      for method in _level_with_untrained(tables, name)])
    if level:
        parts.append(f"No network at all, on the same recipe, is not beaten beyond noise by {'; '.join(level)}.")
    return " ".join(parts)


def standing(rows) -> dict:
    """Other rows by how QP-WL stands to them: beyond noise, by the interval alone, or not told apart."""
    excluded = (rows["low"] > 0) | (rows["high"] < 0)
    sure, perhaps = rows["clear"], excluded & ~rows["clear"]
    return {"behind": rows[~rows["leads"] & sure], "perhaps behind": rows[~rows["leads"] & perhaps],
            "level": rows[~sure & ~perhaps], "perhaps ahead": rows[rows["leads"] & perhaps],
            "ahead": rows[rows["leads"] & sure]}


def _where(rows) -> list[str]:
    """Every other row, and on which sets."""
    return _by_sets([(row.set, METHODS[row.against].title) for row in rows.itertuples()])


def _by_sets(found: list[tuple[str, str]]) -> list[str]:
    """Who on which sets, those together that share theirs.

    >>> _by_sets([("eeg-uci", "A"), ("eeg-uci", "B"), ("gait-hapt", "B"), ("eeg-uci", "C")])
    ['A and C on EEG · UCI', 'B on EEG · UCI and Gait · HAPT']
    """
    sets: dict[str, list[str]] = {}
    for name, who in found:
        sets.setdefault(who, []).append(title(name))
    together: dict[tuple[str, ...], list[str]] = {}
    for who, names in sets.items():
        together.setdefault(tuple(names), []).append(who)
    return [f"{listed(whos)} on {listed(list(names))}" for names, whos in together.items()]


def shortfalls(tables: dict) -> list[str]:
    """Where QP-WL or any trained method does not beat another row beyond noise, in sentences.

    One per set, at n = 1, where all of them have most to lose.
    """
    found = tables["differences"]
    found = found[found["n"] == 1] if len(found) else found
    said = []
    for name, rows in found.groupby("set", sort=False):
        words = {"behind": "behind {} beyond noise", "perhaps behind": f"behind {{}}, but {DOUBTED}",
                 "level": "not told apart from {}", "perhaps ahead": f"ahead of {{}}, but {DOUBTED}",
                 "ahead": "ahead of {} beyond noise"}
        parts = [words[how].format("every other row" if len(of) == len(rows) > 1 else _rows(of))
                 for how, of in standing(rows).items() if len(of)]
        short = [METHODS[method].title for method in _level_with_untrained(tables, name)]
        said.append(f"{title(name)} ({counted(rows['splits'].max(), 'split', 'splits')}): QP-WL is "
                    f"{'; '.join(parts)}."
                    + (f" No network at all is not beaten beyond noise by {listed(short)}." if short else "")
                    + against_forgers(tables, name))
    return said


def against_forgers(tables: dict, name: str) -> str:
    """Where QP-WL makes fewer errors than the other rows against people who try, and against those who do not."""
    found, said = tables["forgers"], []
    for kind, who in (("skilled", "forgers who practised"), ("random", "others who merely claim")):
        rows = found[(found["set"] == name) & (found["kind"] == kind)]
        if not len(rows):
            continue
        words = {"behind": "beyond noise more than {}", "perhaps behind": f"more than {{}}, but {DOUBTED}",
                 "level": "not told apart from {}", "perhaps ahead": f"fewer than {{}}, but {DOUBTED}",
                 "ahead": "beyond noise fewer than {}"}
        parts = [words[how].format(_errors(of)) for how, of in standing(rows).items() if len(of)]
        said.append(f"against {who} QP-WL errs in {rows['eer'].iloc[0]:.1%} of cases (EER, {ENROLLED} enrolled"
                    f"{', mean of the data sets' if SETS[name].joined else ''}), {'; '.join(parts)}")
    return f" There, {', and '.join(said)}." if said else ""


def _errors(rows) -> str:
    return listed([f"{METHODS[row.against].title} ({row.against_eer:.1%})" for row in rows.itertuples()])


def _rows(rows) -> str:
    return listed([f"{METHODS[row.against].title} ({row.difference:+.4f})" for row in rows.itertuples()])


def _level_with_untrained(tables: dict, name: str) -> list[str]:
    """The trained methods that do not beat what learns nothing, on the recipe that QP-WL sees."""
    found = tables["added"]
    found = found[(found["set"] == name) & (found["n"] == 1)]
    return [method for method, rows in found.groupby("method", sort=False)
            if not (rows["leads"] & rows["clear"]).all()]


def what_a_network_adds(tables: dict, name: str) -> list[str]:
    """QP-WL against no network on the same recipe, in a sentence per distance."""
    found = tables["added"]
    found = found[(found["set"] == name) & (found["n"] == 1) & (found["method"] == REFERENCE)]
    said = []
    for row in found.itertuples():
        amount = f"{row.difference:+.4f} [{row.low:+.4f}, {row.high:+.4f}] AUC at n = 1 over {row.splits} splits"
        if row.clear:
            words = "the network adds" if row.leads else "the network costs"
            said.append(f"Against {METHODS[row.against].title} on the same recipe {words} {amount}.")
        elif row.low <= 0 <= row.high:
            said.append(f"Against {METHODS[row.against].title} on the same recipe the network adds nothing that "
                        f"{row.splits} splits can show: {amount}.")
        else:
            words = "ahead" if row.leads else "behind"
            said.append(f"Against {METHODS[row.against].title} on the same recipe the network is {words} by {amount}, "
                        f"but not beyond noise: the corrected test over splits has p = {row.holm:.2f}.")
    return said


def tuning_said(tables: dict) -> str:
    """How many tries each method had, in a sentence."""
    tries = tables["tries"]
    if not len(tries):
        return ("No set was tuned alike for all methods yet: settings are those of the quick preset, found mostly by "
                "the figures of QP-WL.")
    counts = tries.groupby(["set", "method"], sort=False)["attempt"].nunique()
    done, trained = tries.groupby("set", sort=False)["chosen"].any(), tries["set"].value_counts()
    whole = [title(name) for name in done.index[done]]
    part = [f"{title(name)} ({trained[name]} trainings so far)" for name in done.index[~done]]
    splits = tries.groupby("set", sort=False)["split"].nunique()
    again = splits[splits > 1]
    number = f"{counts.max()}" if counts.max() == counts.min() else f"{counts.min()} to {counts.max()} so far"
    return (f"Tries per method: {number}, the same settings for every method, on splits that are never tested on, "
            "judged by AUC at n = 1 (signatures: 1 − the mean EER against forgers and against others, 5 enrolled, "
            "every tablet alike)."
            + (f" Where one split judges a dozen people ({listed(list(map(title, again.index)))}), up to "
               f"{FINALISTS - 1} tries of each method that were less than {CLOSE} behind the preset there were held "
               f"against it on {again.max() - 1} more splits, and replace it where they are better by more than one "
               "standard error; elsewhere the best try replaces it."
               if len(again) else " The best try replaces the preset.") + " "
            + (f"Tuned to the end: {listed(whole)}. " if whole else "")
            + (f"Not yet: {listed(part)}; there the preset holds as it was." if part else "")).strip()


def recipe_said(tables: dict) -> str:
    """How far the recipe brings no network at all, and how far QP-WL, from its first step to its last."""
    found, said = tables["recipes"], []
    for method, rows in found.groupby("method", sort=False):
        if len(rows) > 1:
            first, last = rows.iloc[0], rows.iloc[-1]
            said.append(f"{METHODS[method].title}: from {first['auc']:.4f} to {last['auc']:.4f}")
    return f"{'; '.join(said)}." if said else ""
