"""The sections of RESULTS.md beside the main table: what a network adds, M and p, how much is enough, tuning, …"""

from __future__ import annotations

import json

import pandas as pd

from qpwl_core.evaluation.forgeries import KINDS
from qpwl_core.models.methods import METHODS
from qpwl_core.study.report.sentences import (
    recipe_said,
    standing,
    title,
    tuning_said,
    what_a_network_adds,
)
from qpwl_core.study.tables.beside import means
from qpwl_core.study.tables.forgers import ALL, EACH, RATES
from qpwl_core.study.variants import ENROLLED

BUDGET = ("16 layers of 32 filters, Adam at a constant 0.0001, N = 16, the paper's sum of softplus, p = 1, M = 16, up "
          "to 50,000 steps or 10,000 without a better validation; filters and N are ours, the paper names neither.")
WHAT = {"points": "M, levels of the quantile layer", "p": "p, order of the distance",
        "enrolled": "enrolled sequences of each person", "people": "people to learn from"}
STEP_NAMES = {"raw": "baseline off, standardised", "change": "and steps between samples", "whiten": "and whitened",
              "equalise": "and one loudness", "compress": "and asinh: the quick preset"}

MARKED = ("In brackets the splits. ▲ ahead and ▼ behind beyond noise; △ and ▽ the interval says so, and the corrected "
          "test doubts it; · not told apart.")
MARKS = {"behind": "▼", "perhaps behind": "▽", "level": "·", "perhaps ahead": "△", "ahead": "▲"}
OF = {EACH: "each, their mean", ALL: "all, one line"}      # whose error rates


def whose(names) -> list[str]:
    """Whose error rates there are, in order: of each data set, their mean, of all people with one line."""
    return sorted(set(names), key=lambda of: (list(OF).index(of) if of in OF else -1, of))


def row(*cells) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def ranged(auc: float, low: float, high: float) -> str:
    """A figure with its interval, as all tables here have it."""
    return f"{auc:.4f} [{low:.4f}, {high:.4f}]"


def braced(names) -> str:
    """Names of cells, shortly: those that differ in their last number stand together.

    >>> braced(["a-qp-wl-{0,1}-p-1", "a-qp-wl-{0,1}-p-1.5", "a-qp-wl-{0,1}-narrow"])
    '`a-qp-wl-{0,1}-p-{1,1.5}`, `a-qp-wl-{0,1}-narrow`'
    """
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        begun, _, last = name.rpartition("-")
        alike, ending = (f"{begun}-", last) if last.replace(".", "").isdigit() else (name, "")
        found.setdefault(alike, []).append(ending)
    return ", ".join(f"`{alike}{{{','.join(endings)}}}`" if len(endings) > 1 else f"`{alike}{endings[0]}`"
                     for alike, endings in found.items())


def _each(numbers) -> str:
    """One number, where all are the same, else all of them."""
    return ", ".join(map(str, numbers if numbers.nunique() > 1 else numbers.iloc[:1]))


def sections(tables: dict) -> list[str]:
    """All of them that have something to say."""
    return [*added(tables), *recipes(tables), *curves(tables), *sessions(tables), *forgeries(tables), *tuning(tables),
            *budget(tables)]


def glance(tables: dict) -> list[str]:
    """QP-WL against every other row on every set, in one table: by how much, and how sure that is."""
    found = at_a_glance(tables["differences"])
    if not len(found):
        return []
    return [row(found.index.name, *found), row("---", *["---:"] * len(found.columns)),
            *(row(title_, *values) for title_, *values in found.itertuples()), "", MARKED]


def at_a_glance(differences: pd.DataFrame) -> pd.DataFrame:
    """What `glance` shows: a row per method, a column per set with the number of its splits."""
    if not len(differences):
        return differences
    found = differences[differences["n"] == 1]
    marks = {index: MARKS[how] for _, rows in found.groupby("set", sort=False)
             for how, part in standing(rows).items() for index in part.index}
    heads = {name: f"{title(name)} ({_each(rows['splits'])})" for name, rows in found.groupby("set", sort=False)}
    found = found.assign(head=found["set"].map(heads),
                         said=[f"{each.difference:+.4f} {marks[each.Index]}" for each in found.itertuples()])
    wide = found.pivot(index="against", columns="head", values="said").fillna("")
    wide = wide.loc[[method for method in METHODS if method in wide.index], list(heads.values())]
    return wide.rename(index=lambda method: METHODS[method].title).rename_axis("AUC of QP-WL at n = 1, minus that of",
                                                                               axis=0)


def added(tables: dict) -> list[str]:
    """What the network adds to the recipe."""
    found = tables["added"]
    if not len(found):
        return []
    lines = ["## What the network adds", "", "Trained minus untrained (quantiles of the recipe's channels, nothing "
             "learned), both on the recipe that QP-WL sees, on the same people.", ""]
    for name in dict.fromkeys(found["set"]):
        lines += [f"- **{title(name)}**: {' '.join(what_a_network_adds(tables, name))}"]
    lines += ["", row("set", "trained", "untrained", "n = 1", "p, Holm", "n = 5", "p, Holm", "cells"),
              row("---", "---", "---", *["---:"] * 4, "---")]
    for (name, method, against), rows in found.groupby(["set", "method", "against"], sort=False):
        values = []
        for each in rows.itertuples():
            text = f"{each.difference:+.4f} [{each.low:+.4f}, {each.high:+.4f}]"
            values += [text if each.leads and each.clear else f"**{text}**", _p(each.holm)]
        lines.append(row(title(name), METHODS[method].title, METHODS[against].title, *values,
                         f"`{rows['cells'].iloc[0]}`, `{rows['against_cells'].iloc[0]}`"))
    return [*lines, "", "**Bold**: the trained one is not ahead beyond noise.", ""]


def recipes(tables: dict) -> list[str]:
    """Where the EEG figures come from: the recipe, step by step, with and without a network."""
    found = tables["recipes"]
    if found["recipe"].nunique() < 2:
        return []
    methods = list(dict.fromkeys(found["method"]))
    lines = ["## Recipe and network, EEG", "", "AUC at n = 1 as the recipe does one thing more at a time, with a "
             f"network and without. {recipe_said(tables)}", "",
             row("recipe", *(METHODS[method].title for method in methods), "splits", "cells"),
             row("---", *["---:"] * (len(methods) + 1), "---")]
    for step, rows in found.groupby("recipe", sort=False):
        by = rows.set_index("method")
        values = [ranged(*by.loc[method, ["auc", "low", "high"]]) if method in by.index else "not yet"
                  for method in methods]
        lines.append(row(STEP_NAMES.get(step, step), *values, f"{rows['splits'].min()}",
                         ", ".join(f"`{cells}`" for cells in rows["cells"])))
    return [*lines, ""]


def curves(tables: dict) -> list[str]:
    """M, p, enrolled sequences, people to learn from: one table each, over all sets."""
    found, lines = tables["sweeps"], []
    for what, rows in found.groupby("what", sort=False):
        values = sorted(rows["value"].unique())
        lines += [f"## Over {WHAT[what]}", "", "AUC at n = 1, with intervals over people and splits.", "",
                  row("set", "", *(f"{value:g}" for value in values), "splits", "cells"),
                  row("---", "---", *["---:"] * (len(values) + 1), "---")]
        for (name, method, trained), part in rows.groupby(["set", "method", "trained"], sort=False):
            by = part.set_index("value")
            how = METHODS[method].title
            if method != "untrained":
                how += f", {'trained anew' if trained == 'anew' else 'one model'}, {part['filters'].iloc[0]:g} filters"
            lines.append(row(title(name), how,
                             *(ranged(*by.loc[v, ["auc", "low", "high"]]) if v in by.index else "" for v in values),
                             _each(part["splits"]), braced(part["cells"])))
        lines.append("")
    return lines


def sessions(tables: dict) -> list[str]:
    """Known again on another day."""
    found = tables["sessions"]
    if not len(found):
        return []
    lines = ["## Across sessions", "", "AUC of the same people, enrolled in one session, observed in the same or the "
             "next (mean of splits).", "",
             row("set", "method", "within, n = 1", "across, n = 1", "within, most", "across, most", "splits"),
             row("---", "---", *["---:"] * 5)]
    for (name, method), rows in means(found, "set", "method", "sessions", "n").groupby(["set", "method"], sort=False):
        by = rows.set_index(["sessions", "n"])["auc"]
        most = rows["n"].max()
        lines.append(row(title(name), METHODS[method].title, *(f"{by[which, n]:.4f}" for n in (1, most) for which in
                                                              ("within", "across")), rows["splits"].min()))
    return [*lines, "", "Every split: `sessions.csv`.", ""]


def forgeries(tables: dict) -> list[str]:
    """People who try: error rates of every data set, and QP-WL against the others."""
    lines: list[str] = []
    for name, found in tables["forgeries"].groupby("set", sort=False):
        parts = whose(found["of"])
        lines += ["## Forgeries", "", f"{title(name)}: equal error rates against random / skilled / mixed imposters, "
                  "with so many signatures of the first session enrolled, one of the next observed (mean of splits). "
                  "Every data set by itself has a line of its own; then their mean, and all people with one line.", "",
                  row("method", "enrolled", "normalised", *(OF.get(of, of) for of in parts), "splits", "cells"),
                  row("---", "---:", "---:", *["---:"] * (len(parts) + 1), "---")]
        kept = means(found, "method", "enrolled", "normalised", "of")
        for (method, enrolled, normalised), rows in kept.groupby(["method", "enrolled", "normalised"], sort=False):
            by = rows.set_index("of")
            cells = found[found["method"] == method]["cell"].unique()
            lines.append(row(METHODS[method].title, enrolled, "yes" if normalised else "no",
                             *(_three(by.loc[of]) if of in by.index else "" for of in parts), rows["splits"].min(),
                             braced(cells)))
        lines += ["", "Every split: `forgeries.csv`.", ""]
    return [*lines, *_forgers(tables)] if lines else []


def _forgers(tables: dict) -> list[str]:
    """How much fewer errors QP-WL makes than the others."""
    found = tables["forgers"]
    if not len(found):
        return []
    lines = [f"Errors of the other method minus those of QP-WL, in points of EER with {ENROLLED} enrolled, the mean of "
             "the data sets, and its interval over splits. Each row is normalised or plain as it was better on the "
             "tuning split. **Bold**: QP-WL is not ahead beyond noise.", "",
             row("set", "against", "its form", *(f"{kind}, p" for kind in KINDS), "splits", "cells"),
             row("---", "---", "---", *["---:"] * (len(KINDS) + 1), "---")]
    for (name, against), rows in found.groupby(["set", "against"], sort=False):
        values = []
        for each in rows.itertuples():
            text = f"{100 * each.difference:+.2f}"
            if each.splits > 2:
                text += f" [{100 * each.low:+.2f}, {100 * each.high:+.2f}]"
            values.append(f"{text if each.leads and each.clear else f'**{text}**'}, {_p(each.holm)}")
        first = rows.iloc[0]
        lines.append(row(title(name), METHODS[against].title, first["against_form"], *values, first["splits"],
                         f"`{first['cells']}`, `{first['against_cells']}`"))
    return [*lines, "", f"QP-WL itself: {first['form']}. All of it: `forgers.csv`.", ""]


def _three(rates) -> str:
    return " / ".join(f"{100 * rates[rate]:.1f}" for rate in RATES)


def tuning(tables: dict) -> list[str]:
    """The same search for every method: what was tried, what won, what lost."""
    found, lines = tables["tries"], ["## Tuning, alike for all", "", tuning_said(tables), ""]
    if not len(found):
        return lines
    lines += [row("set", "method", "tries, in their order, on the first split", "went on, mean of splits", "splits",
                  "chosen", "what it changes"), row("---", "---", "---", "---", "---:", "---", "---")]
    for (name, method), rows in found.groupby(["set", "method"], sort=False):
        first = rows[rows["split"] == rows["split"].min()].set_index("attempt")["score"].sort_index()
        splits = rows[rows["attempt"] == 0]["split"].nunique()
        again = rows[rows["attempt"].isin(rows[rows["split"] != rows["split"].min()]["attempt"])]
        again = again.groupby("attempt")["score"].mean()
        won = rows[rows["chosen"]]
        settings = json.loads(won["settings"].iloc[0]) if len(won) else {}
        changes = ", ".join(f"{key} {value}" for key, value in settings.items()) or ("nothing" if len(won) else "")
        lines.append(row(title(name), METHODS[method].title, ", ".join(f"{x:.4f}" for x in first),
                         ", ".join(f"try {number}: {x:.4f}" for number, x in again.items()), splits,
                         f"`{name}-{method}-{_these(sorted(won['split']))}-try-{won['attempt'].iloc[0]}`" if len(won)
                         else "not yet", changes))
    return [*lines, "", "Every try, the losing ones too: `tries.csv`.", ""]


def _these(splits: list[int]) -> str:
    return str(splits[0]) if len(splits) == 1 else f"{{{','.join(map(str, splits))}}}"


def budget(tables: dict) -> list[str]:
    """The paper's own budget, as far as it got, as a set of its own; beside it the quick preset on the same split."""
    found, tested = tables["budget"], tables["papers"]
    if not len(found):
        return []
    lines = ["## The paper's own budget", "", BUDGET, "",
             row("method", "trained", "steps", "last loss in training", "best validation AUC",
                 *(f"n = {n}" for n in range(1, 6)), "cell"),
             row("---", "---", *["---:"] * 8, "---")]
    for (cell, method, whole), rows in found.groupby(["cell", "method", "whole"], sort=False):
        steps = f"{rows['step'].max():,}" + ("" if whole else " (goes on)")
        lines.append(row(METHODS[method].title, "as the paper", steps, f"{rows.loc[rows['step'].idxmax(), 'loss']:.5f}",
                         f"{rows['auc'].max():.4f}",
                         *_of_cell(tested, cell), f"`{cell}`"))
        quick = tested[(tested["method"] == method) & (tested["trained"] == "quick")]
        if len(quick):
            lines.append(row(METHODS[method].title, "quick preset, tuned", f"{quick['steps'].iloc[0]:,}", "", "",
                             *_of_cell(tested, quick["cell"].iloc[0]), f"`{quick['cell'].iloc[0]}`"))
    return [*lines, "", "AUC of verification of one split's people, who had no part. A loss of nought says that the "
            "few people to learn from were learned by heart. Curves: `budget.csv`.", ""]


def _of_cell(tested, cell: str) -> list[str]:
    aucs = tested[tested["cell"] == cell].sort_values("n")["auc"]
    return [f"{auc:.4f}" for auc in aucs] or [""] * 5


def _p(value: float) -> str:
    return "–" if value != value else f"{value:.3f}"
