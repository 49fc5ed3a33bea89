"""CSV that people open in a spreadsheet: the one place where tables become text.

A spreadsheet runs a cell that begins with = + - @ (or a tab, a line break) as a formula, and names come from anybody:
such text, in headers too, gets a quote before it. `text_of` takes it off again, so that our readers give back what was
written.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def cell_of(value: Any) -> Any:
    """What to write for a value: text that a spreadsheet would run gets a quote, numbers stay numbers.

    >>> cell_of("=1+1"), cell_of(-1.5), cell_of("ann")
    ("'=1+1", -1.5, 'ann')
    """
    return f"'{value}" if isinstance(value, str) and value.lstrip("'").startswith(FORMULA) else value


def text_of(cell: str) -> str:
    """The text that `cell_of` made this of.

    >>> text_of(cell_of("=x")), text_of(cell_of("'=x")), text_of("'tis")
    ('=x', "'=x", "'tis")
    """
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(FORMULA) else cell


def row_of(cells: Iterable[Any]) -> str:
    """One line of a CSV file, without its end."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([cell_of(cell) for cell in cells])
    return line.getvalue()


def safe_of(table):
    """A DataFrame whose text no spreadsheet runs: also what a page shows, since tables there can be downloaded."""
    safe = table.copy(deep=False)
    safe.columns = [cell_of(str(name)) for name in table.columns]
    for i, kind in enumerate(table.dtypes):
        if kind.kind not in "biufcmM":                       # text, or anything
            safe.isetitem(i, table.iloc[:, i].astype(object).map(cell_of))
    return safe


def csv_of(table) -> str:
    """A DataFrame as the text of a CSV file, without its index."""
    return safe_of(table).to_csv(index=False)
