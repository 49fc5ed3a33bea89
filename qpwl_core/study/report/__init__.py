"""What a study leaves: a web page, tidy CSV files, one JSON file and, where wanted, a results page in Markdown."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from qpwl_core.common.files import write_json, write_whole
from qpwl_core.common.sheets import csv_of
from qpwl_core.common.version import __version__
from qpwl_core.models.methods import METHODS
from qpwl_core.study import paper
from qpwl_core.study.report.markdown import results_page
from qpwl_core.study.report.sentences import (
    budget,
    in_short,
    people,
    records,
    shortfalls,
    title,
    tuning_said,
    verdicts,
    what_a_network_adds,
)
from qpwl_core.study.report.webpage import web_page
from qpwl_core.study.sets import SETS, Cell
from qpwl_core.study.tables import collect, mean_of
from qpwl_core.study.tables.beside import collect_beside, means

FORMAT, VERSION = "qpwl-study", 1


def write_report(cells: list[Cell], out: Path, command: str, results=None) -> list[Path]:
    """Write report.html, study.json and one CSV file per table into ``out``, and RESULTS.md where ``results`` says."""
    import pandas as pd

    try:
        import plotly  # noqa: F401  (asked for before hours of work end without it)
    except ImportError:
        raise ValueError("a report needs the package plotly: pip install 'qpwl-lab[study]'") from None
    tables = collect(cells, out)
    tables |= collect_beside(list(dict.fromkeys(tables["cells"]["set"])), cells[0].preset, out)
    files = {name: table for name, table in tables.items() if name != "variants"}
    files["cells"] = pd.concat([tables["cells"], tables["variants"]], ignore_index=True)     # any name is found there
    for name, table in files.items():
        write_whole(out / f"{name}.csv", csv_of(table).encode())
    write_json(out / "study.json", _summary(cells, tables, command))
    write_whole(out / "report.html", web_page(cells[0].preset, tables, command).encode())
    written = [out / "report.html", out / "study.json"]
    if results:
        write_whole(Path(results), results_page(cells[0].preset, tables, command).encode())
        written.append(Path(results))
    return written


def _of_the_paper(name: str) -> str:
    """The data of the paper that a set stands for, "" where the paper has nothing of the kind."""
    domain = SETS[name].stands_for
    return paper.DATA[domain].name if domain else ""


def _summary(cells: list[Cell], tables: dict, command: str) -> dict:
    """What a page or a script may want of it, with all means; every repeat is in the CSV files."""
    names = list(dict.fromkeys(tables["cells"]["set"]))
    return {
        "format": FORMAT, "version": VERSION, "preset": cells[0].preset, "command": command, "budget": budget(tables),
        "versions": {"qpwl_core": __version__, "python": sys.version.split()[0], "numpy": np.__version__},
        "sets": {name: {"title": title(name), "domain": SETS[name].domain, "simulated": SETS[name].simulated,
                        "fixed": SETS[name].fixed, "stands_for": _of_the_paper(name),
                        "terms": SETS[name].terms, "people": people(tables, name), "differs": paper.differs(name),
                        "verdicts": verdicts(tables, name), "adds": what_a_network_adds(tables, name)}
                 for name in names},
        "methods": {name: METHODS[name].title for name in dict.fromkeys(tables["cells"]["method"])},
        "cells": records(tables["cells"].drop(columns=["config", "tested", "reproduce"])),
        "verification": records(tables["table"]),
        "differences": records(tables["differences"]), "calibrated": records(tables["calibrated"]),
        "identification": records(mean_of(tables["identification"], "accuracy", "set", "method", "fraction")),
        "imposters": records(mean_of(tables["imposters"], "auc", "set", "method", "fraction")),
        "short": in_short(tables), "shortfalls": shortfalls(tables), "tuning": tuning_said(tables),
        **{name: records(tables[name]) for name in ("tries", "added", "sweeps", "recipes", "forgers", "papers")},
        "curves": records(tables["budget"]),
        "sessions": records(means(tables["sessions"], "set", "method", "sessions", "n")),
        "forgeries": records(means(tables["forgeries"], "set", "of", "method", "enrolled", "normalised")),
        "paper": {"title": paper.TITLE, "place": paper.TABLE, "budget": paper.BUDGET,
                  "verification": paper.VERIFICATION, "statements": paper.STATEMENTS}}
