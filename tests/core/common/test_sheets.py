"""Every CSV that leaves: what a spreadsheet would run as a formula is quoted, and our readers give it back."""

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest

from qpwl_core.common.sheets import FORMULA, cell_of, csv_of, text_of
from qpwl_core.data.loading import load_recordings
from qpwl_core.data.recordings import Recordings
from tests.support.places import ROOT

BAD = ["=1+1", "+1", "-1", "@SUM(A1)", "'=x", "=cmd|' /C calc'!A0"]


def cells_of(text):
    return [cell for row in csv.reader(io.StringIO(text)) for cell in row]


def is_number(cell):
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False


@pytest.mark.parametrize("kind", [object, "category", "string"])
def test_a_table(kind):
    table = pd.DataFrame({"=name": pd.Series(BAD, dtype=kind), "value": -np.arange(6.0), "when": None})
    found = csv_of(table)
    assert not [cell for cell in cells_of(found) if cell.startswith(FORMULA) and not is_number(cell)]
    again = pd.read_csv(io.StringIO(found))
    assert [text_of(x) for x in again["'=name"]] == BAD
    assert again["value"].tolist() == table["value"].tolist(), "numbers stay numbers"
    assert table.columns[0] == "=name", "what was given is not changed"


def test_recordings_come_back_as_they_were(tmp_path):
    walk = Recordings([np.full((2, 2), -1.5)] * 6, BAD, ("=x", "-y"), 10, stimuli=BAD[::-1],
                      info={"name": "a,=1+1", "licence": "one; =2"})
    walk.save(tmp_path / "walk.csv")
    text = (tmp_path / "walk.csv").read_text(encoding="utf-8")
    assert not [cell for cell in cells_of(text) if cell.lstrip().startswith(FORMULA) and not is_number(cell)]
    again = load_recordings(tmp_path / "walk.csv")
    assert again.subjects.tolist() == BAD
    assert again.stimuli.tolist() == BAD[::-1]
    assert again.channels == ("=x", "-y")
    assert again.info == walk.info
    np.testing.assert_array_equal(again.sequences[0], walk.sequences[0])


def test_cells():
    for text in [*BAD, "ann", "'tis", "", "a=b"]:
        assert text_of(cell_of(text)) == text


def test_there_is_one_writer():
    """Nothing that people download is written past it."""
    for folder in ("qpwl_core", "ui", "pages"):
        for path in (ROOT / folder).rglob("*.py"):
            if path.name != "sheets.py":
                text = path.read_text(encoding="utf-8")
                assert not re.search(r"\.to_csv\(|csv\.(Dict)?[wW]riter", text), path


def test_tables_on_pages_are_safe_too():
    """Every table of Streamlit can be downloaded by a button of its own."""
    shown = [(path.name, found) for path in (ROOT / "ui").rglob("*.py")
             for found in re.findall(r"\.(?:dataframe|data_editor)\((\w*)", path.read_text(encoding="utf-8"))]
    assert len(shown) > 5
    assert {what for _, what in shown} == {"safe_of"}, shown
