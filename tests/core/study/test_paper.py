"""The paper's figures as we wrote them down, held against its source."""

import re

import pytest

from qpwl_core.models.methods import METHODS
from qpwl_core.study import paper
from qpwl_core.study.sets import SETS
from tests.support.places import ROOT

MACROS = {"ourmethod": "qp-wl", "quantilenpl": "qp-npl", "maxnpl": "mp-npl", "quantileclass": "qp-cls"}


@pytest.mark.shared
def test_table_1_is_the_table_of_the_source():
    source = (ROOT.parent / "shared" / "paper.tex").read_text()
    table = source[source.index("Eye data&"):source.index("\\end{tabular}")]
    for domain, part in zip(("eye", "gait", "eeg"), re.split(r"(?:Eye|Gait|EEG) data", table)[1:], strict=True):
        rows = re.findall(r"\\(ourmethod|quantilenpl|maxnpl|quantileclass)\s*&(.*?)\\\\", part)
        assert len(rows) == 4
        for macro, cells in rows:
            printed = [(float(auc), float(se)) for auc, se in re.findall(r"(\d\.\d+)\}?\$\\pm\$(\d\.\d+)", cells)]
            assert tuple(printed) == paper.VERIFICATION[domain][MACROS[macro]]


@pytest.mark.shared
def test_what_is_said_of_data_and_budget_is_in_the_source():
    source = (ROOT.parent / "shared" / "paper.tex").read_text()
    for data in paper.DATA.values():
        assert f"{data.train} of the {data.people}" in source or f"{data.train} of {data.people}" in source
        assert f"{data.rate} Hz" in source or f"{data.rate}Hz" in source
    assert "56\\% ($n=1$) and 80\\%" in source
    assert "0.0001 for 50000 iterations" in source
    assert "(27 seconds)" in source


def test_the_statement_on_eeg_is_what_the_table_gives():
    best = paper.VERIFICATION["eeg"]
    for n, reduction in ((0, 56), (4, 80)):
        others = max(best[name][n][0] for name in best if name != "qp-wl")
        assert round(100 * (1 - (1 - best["qp-wl"][n][0]) / (1 - others))) == reduction


def test_every_set_says_what_differs_and_every_method_is_known():
    for name, own in SETS.items():
        assert paper.differs(name).endswith(".")
        assert (paper.differs(name) == paper.SIMULATED) == own.simulated
        assert own.stands_for in paper.VERIFICATION or own.domain == "signature"
    assert all(set(methods) <= set(METHODS) for methods in paper.VERIFICATION.values())
