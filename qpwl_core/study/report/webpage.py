"""The web page of a study: self-contained, works offline, light and dark; plotly.js is in it, once."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import numpy as np

from qpwl_core.models.methods import METHODS
from qpwl_core.study import paper
from qpwl_core.study.report import figures, questions
from qpwl_core.study.report.sentences import (
    NOISE,
    STANDARD_ERROR,
    budget,
    in_short,
    people,
    shortfalls,
    title,
    tuning_said,
    verdicts,
)
from qpwl_core.study.scores import FMRS
from qpwl_core.study.sets import PRESETS, SETS


class Body:
    """The parts of the page in their order; figures are numbered as they come."""

    def __init__(self):
        self.parts, self.figures = [], 0

    def add(self, *html: str) -> None:
        self.parts += html

    def figure(self, figure, caption: str) -> str:
        self.figures += 1
        place, text = f"figure-{self.figures}", escape(caption)
        data = figure.to_json().replace("<", "\\u003c")              # nothing in it can end the script
        return (f'<figure><div class="plot" id="{place}" role="img" aria-label="{text}"></div>'
                f'<script type="application/json" id="{place}-data">{data}</script>'
                f"<figcaption>Figure {self.figures}. {text}</figcaption></figure>")

    def row(self, *pairs) -> None:
        self.add('<div class="row">', *(self.figure(figure, caption) for figure, caption in pairs), "</div>")


def web_page(preset: str, tables: dict, command: str) -> str:
    """The page as HTML."""
    from plotly.offline import get_plotlyjs

    body, names = Body(), list(dict.fromkeys(tables["cells"]["set"]))
    plain, fixed = [n for n in names if not SETS[n].fixed], [n for n in names if SETS[n].fixed]
    links = {n: title(n) for n in names} | {
        "beside": "Network, M and p, how much is enough, tuning", "transport": "Wasserstein and Jensen–Shannon",
        "terms": "Data and terms"}
    body.add("<h1>Who leads, and by how much?</h1>",
             f'<p class="quiet">A study of {escape(paper.TITLE)}, with QP-WL Lab: {escape(PRESETS[preset].what)}. '
             f"{escape(budget(tables))}. {escape(tuning_said(tables))}</p>",
             '<div class="note"><b>Where it leads, and where it does not</b>'
             f"{_list([in_short(tables), NOISE])}{from_markdown(questions.glance(tables))}"
             f"{_list(shortfalls(tables))}</div>",
             f"<pre>{escape(command)}</pre>",
             "<nav>", *(f'<a href="#{place}">{escape(text)}</a>' for place, text in links.items()), "</nav>")
    for name in plain:
        if sentences := verdicts(tables, name):
            body.add(f'<div class="note"><b>{escape(title(name))}</b>{_list(sentences)}</div>')
    if plain and len(tables["differences"]):
        said = "mean of splits; bars resample people and splits (95 %). Right of nought QP-WL leads."
        body.row(*((figures.differences(tables, plain, n), f"Verification at n = {n}: AUC of QP-WL minus that of every "
                    f"other method, {said}") for n in (1, 5)))
    for name in plain:
        _one_set(body, tables, name)
    for name in fixed:
        _against_jaeger(body, tables, name)
    _beside(body, tables)
    _transport(body)
    _terms(body, names)
    page = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    return page.replace("/*plotly*/", get_plotlyjs(), 1).replace("<!--body-->", "\n".join(body.parts), 1)


def _one_set(body: Body, tables: dict, name: str) -> None:
    where = f"{people(tables, name)}."
    stands = "" if SETS[name].beside is None else (
        f"It stands for {paper.DATA[SETS[name].stands_for].name} of the paper. What differs: ")
    body.add(f'<h2 id="{name}">{escape(title(name))}</h2>', f"<p>{escape(stands + paper.differs(name))}</p>",
             f'<p class="quiet">{escape(where)} {escape(STANDARD_ERROR)}</p>', _table(tables, name),
             _error_table(tables, name))
    body.row((figures.roc(tables, name), "ROC of verification with n = 5 observed sequences, mean over repeats; "
              f"shaded: standard error. Zoomed in: a double click shows all. {where}"),
             (figures.auc_over_n(tables, name), "AUC of verification over n, ours with standard error; the paper's "
              f"dashed (a click in the legend shows its other methods). {where}"))
    body.row((figures.over_fraction(tables, name, "identification"), "Identification: share of people who are nearest "
              f"to themselves at n = 5, as a growing fraction is enrolled and observed; ± standard error. {where}"),
             (figures.over_fraction(tables, name, "imposters"), "Imposters: AUC of telling enrolled people from the "
              f"half that is never enrolled, n = 5; ± standard error. {where}"))
    body.row((figures.det(tables, name), "DET curve at n = 5 on normal-deviate axes, mean over repeats, down to the "
              f"rate that the trials can measure. {where}"),
             (figures.cmc(tables, name), "CMC: share of people who are among the k nearest to themselves, n = 5, all "
              f"enrolled; ± standard error. {where}"))


def _against_jaeger(body: Body, tables: dict, name: str) -> None:
    where = f"{people(tables, name)}."
    body.add(f'<h2 id="{name}">{escape(title(name))}: QP-WL against Jäger et al. 2019</h2>',
             "<p>As in Figure 4 of the paper: one gaze point, no pupil, sequences of one length for both. "
             f"{escape(paper.differs(name))}</p>", f'<p class="quiet">{escape(where)} {escape(STANDARD_ERROR)}</p>',
             _table(tables, name))
    if sentences := verdicts(tables, name):
        body.add(f'<div class="note">{_list(sentences)}</div>')
    body.row((figures.roc(tables, name), f"Verification: ROC at n = 5; shaded: standard error. {where}"),
             (figures.over_fraction(tables, name, "identification"), f"Identification accuracy, n = 5. {where}"),
             (figures.over_fraction(tables, name, "imposters"), f"AUC against imposters, n = 5. {where}"))


def _beside(body: Body, tables: dict) -> None:
    """What is asked beside the main table: pictures of the curves, and the tables of RESULTS.md."""
    body.add('<h2 id="beside">What the network adds, M and p, how much is enough</h2>')
    there = [what for what in questions.WHAT if (tables["sweeps"]["what"] == what).any()]
    for pair in (there[:2], there[2:]):
        body.row(*((figures.over(tables, what, questions.WHAT[what]), f"AUC at n = 1 over {questions.WHAT[what]}; bars "
                    "resample people and splits (95 %).") for what in pair))
    if len(tables["budget"]):
        body.row((figures.budget_curves(tables), f"The paper's own budget. {questions.BUDGET}"))
    body.add(from_markdown(questions.sections(tables)))


def from_markdown(lines: list[str]) -> str:
    """What `questions` writes, as HTML: headings, paragraphs, lists and tables, nothing else.

    >>> from_markdown(["## A", "", "**1** & `c`", "- x"])
    '<h3>A</h3><p><b>1</b> &amp; <code>c</code></p><ul><li>x</li></ul>'
    """
    found: list[str] = []
    rows: list[list[str]] = []
    items: list[str] = []

    def close():
        if rows:
            found.append(_wide(rows[0], [f"<tr>{''.join(f'<td>{_inline(cell)}</td>' for cell in row)}</tr>"
                                         for row in rows[2:]]))
        if items:
            found.append(f"<ul>{''.join(f'<li>{_inline(item)}</li>' for item in items)}</ul>")
        rows.clear()
        items.clear()

    for line in [*lines, ""]:
        if line.startswith("| "):
            rows.append(line[2:-2].split(" | "))
        elif line.startswith("- "):
            items.append(line[2:])
        else:
            close()
            if line.startswith("## "):
                found.append(f"<h3>{_inline(line[3:])}</h3>")
            elif line:
                found.append(f"<p>{_inline(line)}</p>")
    return "".join(found)


def _inline(text: str) -> str:
    """Bold and code of one line."""
    text = re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text, quote=False))
    return re.sub(r"\*\*(.*?)\*\*", r"<b>\1</b>", text)


def _transport(body: Body) -> None:
    body.add('<h2 id="transport">Why Wasserstein: how far, not only whether</h2>',
             "<p>As in Figure 1 of the paper. q₂ and q₃ both share nothing with q₁, so Jensen–Shannon calls them "
             "equally far; moving q₂ does not change it, and there is no gradient to learn from. The Wasserstein "
             "distance grows with every step.</p>",
             body.figure(figures.wasserstein_against_jensen_shannon(), "Left: three distributions. Right: W₁ and the "
                         "root of the Jensen–Shannon divergence between q₁ and a copy of it that is moved away, "
                         "computed from quantile functions by qpwl_core.transport. No people, no trials."))


def _terms(body: Body, names: list[str]) -> None:
    terms = "".join(f"<li><b>{escape(title(name))}</b>: {escape(SETS[name].terms['citation'])}. Terms: "
                    f"{escape(SETS[name].terms['licence'])}. {escape(SETS[name].terms['url'])}</li>" for name in names)
    said = "".join(f"<li>{escape(text)} <small>({escape(place)})</small></li>" for place, text in paper.STATEMENTS)
    body.add('<h2 id="terms">Data, terms, budget, and what the paper says</h2>',
             f"<ul>{terms}</ul>",
             f"<p>Paper: {escape(paper.BUDGET)}. Here: {escape(paper.OUR_BUDGET)}</p>",
             f"<p>Beside {escape(paper.TABLE)}, the paper says:</p><ul>{said}</ul>",
             '<p class="quiet">Every figure as numbers: the CSV files beside this page, one row per repeat and '
             "setting; all means in study.json.</p>")


def _table(tables: dict, name: str) -> str:
    """Table 1 of the paper for one set: AUC for n = 1 … 5, the paper's below ours, and the other two scenarios."""
    of_set = tables["table"][tables["table"]["set"] == name]
    best = of_set.groupby("n")["auc"].transform("max") == of_set["auc"]
    lines = []
    for method, rows in of_set.groupby("method", sort=False):
        cells = []
        for row in rows.itertuples():
            published = "" if np.isnan(getattr(row, "paper_auc", np.nan)) else (
                f"<small>paper {row.paper_auc:.4f} ± {row.paper_se:.4f}</small>")
            mark = ' class="best"' if best[row.Index] else ""
            cells.append(f"<td><span{mark}>{row.auc:.4f} ± {row.se:.4f}</span>{published}</td>")
        last = rows.iloc[-1]
        cells += [f"<td>[{last['low']:.4f}, {last['high']:.4f}]</td>",
                  f"<td>{last['identification']:.3f} ± {last['identification_se']:.3f}</td>",
                  f"<td>{last['imposter_auc']:.3f} ± {last['imposter_auc_se']:.3f}</td>"]
        lines.append(f"<tr><td>{escape(METHODS[method].title)}</td>{''.join(cells)}</tr>")
    heads = [f"AUC, n = {n}" for n in range(1, 6)] + ["n = 5, people resampled", "identification, n = 5",
                                                      "imposters, AUC, n = 5"]
    return _wide(["", *heads], lines)


def _error_table(tables: dict, name: str) -> str:
    """Error rates at n = 1 and 5, and what a threshold set on other people gives."""
    of_set = tables["table"][(tables["table"]["set"] == name) & tables["table"]["n"].isin([1, 5])]
    calibrated = tables["calibrated"]
    lines = []
    for row in of_set.itertuples():
        rates = [f"{row.eer:.4f} ± {row.eer_se:.4f}"]
        rates += [_rate(of_set.loc[row.Index, f"fnmr_{fmr:g}"]) for fmr in FMRS]
        part = calibrated
        for column, value in (("set", name), ("method", row.method), ("n", row.n), ("aimed", 0.1)):
            part = part[part[column] == value] if len(part) else part
        rates.append(f"{part['fmr'].mean():.3f}, {part['fnmr'].mean():.3f}" if len(part) else "too few people")
        lines.append(f"<tr><td>{escape(METHODS[row.method].title)}</td><td>{row.n}</td>"
                     + "".join(f"<td>{rate}</td>" for rate in rates) + "</tr>")
    return _wide(["", "n", "EER", "FNMR at FMR 10 %", "at 1 %", "at 0.1 %",
                  "FMR, FNMR of a threshold set for 10 % on calibration people"], lines)


def _list(sentences: list[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in sentences)}</ul>"


def _rate(value) -> str:
    return "not measurable" if value is None or np.isnan(value) else f"{value:.4f}"


def _wide(heads: list[str], lines: list[str]) -> str:
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    return f'<div class="wide"><table><tr>{top}</tr>{"".join(lines)}</table></div>'
