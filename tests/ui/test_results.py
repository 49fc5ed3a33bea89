"""Results: the study on screen is the study in the files, and the paper stands beside it."""

import json

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from qpwl_core.study import paper
from tests.support.pages import figures_on
from tests.support.places import ROOT
from ui.results.figures import apart, over
from ui.shell.text import plain

pytestmark = pytest.mark.filterwarnings("ignore")        # Streamlit and what it brings warn about themselves


def small_study() -> dict:
    """Two methods on two sets, as `study.report` writes them."""
    verified, differences, fractions = [], [], {"identification": [], "imposters": []}
    for place, name in enumerate(("gait-hapt", "eye-simulated")):
        for shift, method in enumerate(("qp-wl", "mp-npl")):
            for n in range(1, 6):
                auc = 0.9 + 0.01 * n - 0.02 * shift - 0.005 * place
                published = paper.VERIFICATION["gait"][method][n - 1] if name == "gait-hapt" else (None, None)
                verified.append({"set": name, "method": method, "n": n, "auc": auc, "se": 0.0012, "low": auc - 0.02,
                                 "high": auc + 0.02, "eer": 0.1, "fnmr_0.1": 0.1, "fnmr_0.01": None, "d_prime": 2.0,
                                 "paper_auc": published[0], "paper_se": published[1]})
                if shift:
                    differences.append({"set": name, "method": "qp-wl", "against": method, "n": n, "difference": 0.02,
                                        "low": -0.01, "high": 0.05, "splits": 1, "leads": True, "clear": False})
            for which, measure in (("identification", "accuracy"), ("imposters", "auc")):
                fractions[which] += [{"set": name, "method": method, "fraction": f, measure: 1 - f / 2, "se": 0.01,
                                      "count": 20} for f in (0.1, 0.5)]
    terms = {"licence": "CC BY 4.0", "citation": "Someone <b>bold</b>", "url": ""}
    sets = {name: {"title": title, "domain": "gait", "simulated": name == "eye-simulated", "fixed": False,
                   "stands_for": "LTMM", "terms": terms, "people": "10 people, 100 trials per repeat",
                   "differs": paper.differs(name), "verdicts": ["QP-WL leads MP-NPL at every n."]}
            for name, title in (("gait-hapt", "Gait · HAPT"), ("eye-simulated", "Eye (simulated)"))}
    return {"format": "qpwl-study", "version": 1, "preset": "smoke", "command": "python -m qpwl_core study",
            "budget": "4 trainings", "sets": sets, "methods": {"qp-wl": "QP-WL", "mp-npl": "MP-NPL"},
            "verification": verified, "differences": differences, **fractions}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("QPWL_RESULTS", str(tmp_path))
    return tmp_path


def write(folder, study):
    (folder / "study.json").write_text(json.dumps(study))
    (folder / "report.html").write_text("<h1>report</h1>")
    pd.DataFrame([{"set": "gait-hapt", "method": m, "n": n, "fpr": x, "tpr": x ** 0.1, "se": 0.01}
                  for m in ("qp-wl", "mp-npl") for n in range(1, 6) for x in (0.0, 0.1, 1.0)]
                 ).to_csv(folder / "roc.csv", index=False)


def opened():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    return app.switch_page("pages/results.py").run()


def test_before_a_study_it_says_how_to_run_one_and_shows_the_paper(folder):
    app = opened()
    assert not app.exception
    assert "No study has been run" in app.info[0].value
    assert "python -m qpwl_core study" in app.code[0].value
    assert app.table[0].value["n = 1"][0] == "0.9466 ± 0.0032", "the paper's eye data, QP-WL"


def test_ours_stands_beside_the_papers(folder):
    write(folder, small_study())
    app = opened()
    assert not app.exception
    app.segmented_control(key="results_view").set_value("table").run()
    table = app.table[0].value.set_index("AUC")
    assert table.loc["QP-WL, ours", "n = 3"] == "0.9300 ± 0.0012"
    assert table.loc["MP-NPL, the paper", "n = 5"] == "0.9757 ± 0.0012"
    assert app.table[1].value["FNMR at FMR 1 %"].tolist() == ["not measurable"] * 2
    assert any("HAPT instead of LTMM" in info.value for info in app.info), "what differs is said plainly"
    assert not any("<b>" in caption.value for caption in app.caption)


def test_filters_change_what_is_shown(folder):
    write(folder, small_study())
    app = opened()
    app.segmented_control(key="results_view").set_value("table").run()
    app.segmented_control(key="n").set_value(5).run()
    assert app.table[1].value["AUC, people resampled"][0] == "0.9500 (0.930 to 0.970)"
    app.multiselect(key="results-methods-gait-hapt").set_value(["mp-npl"]).run()
    assert [name.split(",")[0] for name in app.table[0].value["AUC"]] == ["MP-NPL", "MP-NPL"]
    app.selectbox(key="results-set").set_value("eye-simulated").run()
    assert not app.exception
    assert any("nothing about people" in warning.value for warning in app.warning)
    assert len(app.table[0].value) == 2, "the paper has no simulated data"


@pytest.mark.parametrize(("view", "pictures"), [("leads", 1), ("table", 0), ("curves", 2), ("people", 2),
                                                ("network", 1), ("knobs", 2), ("enough", 2), ("tuning", 0)])
def test_every_view_of_the_study_that_ships(view, pictures):
    app = opened()
    app.segmented_control(key="results_view").set_value(view).run()
    assert not app.exception
    assert len(figures_on(app)) == pictures


@pytest.mark.parametrize("view", ["network", "knobs", "enough", "others", "budget", "tuning"])
def test_what_was_not_asked_yet_says_how_to_ask(folder, view):
    write(folder, small_study())
    app = opened()
    app.segmented_control(key="results_view").set_value(view).run()
    assert not app.exception
    assert any("not asked" in info.value for info in app.info)


def test_what_the_network_adds_and_where_qp_wl_is_not_ahead(folder):
    row = {"set": "gait-hapt", "method": "qp-wl", "against": "untrained", "n": 1, "difference": -0.001, "low": -0.01,
           "high": 0.01, "splits": 6}
    sets = {"gait-hapt": small_study()["sets"]["gait-hapt"] | {"adds": ["The network adds nothing."]}}
    write(folder, small_study() | {"sets": sets, "added": [row],
                                   "shortfalls": ["Gait · HAPT (6 splits): QP-WL is not ahead."]})
    app = opened()
    assert any("is not ahead" in info.value for info in app.info)
    app.segmented_control(key="results_view").set_value("network").run()
    assert not app.exception
    assert any("network adds nothing" in text.value for text in app.markdown)
    assert len(figures_on(app)) == 1


def test_all_data_at_a_glance(folder):
    """Every other method on every data set in one table, and who leads in short; a study of before has no short."""
    write(folder, small_study())
    assert opened().table[0].value.to_numpy().tolist() == [["MP-NPL", "+0.0200 ·", "+0.0200 ·"]]
    study = small_study() | {"short": "QP-WL is *first* nowhere."}
    study["differences"][0] |= {"low": 0.01, "clear": True}
    study["differences"][5] |= {"difference": -0.01, "low": -0.02, "high": -0.005, "leads": False, "splits": 10}
    write(folder, study)
    app = opened()
    assert list(app.table[0].value) == ["AUC of QP-WL at n = 1, minus that of", "Gait · HAPT (1)",
                                        "Eye · simulated (10)"]
    assert app.table[0].value.to_numpy().tolist() == [["MP-NPL", "+0.0200 ▲", "-0.0100 ▽"]]
    assert any(each.value == plain("QP-WL is *first* nowhere.") for each in app.markdown)
    for row in study["differences"]:
        del row["clear"]
    write(folder, study)
    assert not opened().exception, "a study of before splits were compared"
    study = small_study()
    study["sets"]["eye-simulated"]["fixed"] = True
    write(folder, study)
    assert list(opened().table[0].value)[1:] == ["Gait · HAPT (1)"]


def test_another_day_forgers_and_the_papers_budget(folder):
    forged = [{"set": "gait-hapt", "of": of, "method": "qp-wl", "enrolled": 5, "normalised": normalised,
               "random_eer": 0.0125 if of == "each" else 0.5, "skilled_eer": 0.0635, "mixed_eer": 0.03, "splits": 6}
              for of in ("all", "each", "svc2004") for normalised in (False, True)]
    tested = [{"cell": "gait-hapt-qp-wl-0-paper", "set": "gait-hapt", "method": "qp-wl", "trained": trained, "n": n,
               "auc": auc} for trained, auc in (("paper", 0.9512), ("quick", 0.9871)) for n in (1, 2)]
    days = [{"set": "gait-hapt", "method": "qp-wl", "sessions": which, "n": n, "auc": auc, "splits": 6}
            for which, auc in (("within", 0.97), ("across", 0.78123)) for n in (1, 2)]
    curves = [{"cell": "gait-hapt-qp-wl-0-paper", "set": "gait-hapt", "method": "qp-wl", "step": 1000 * i, "loss": 1.0,
               "auc": 0.9 + i / 100, "whole": False} for i in (1, 2)]
    write(folder, small_study() | {"added": [{}], "forgeries": forged, "sessions": days, "curves": curves,
                                   "papers": tested})
    app = opened()
    app.segmented_control(key="results_view").set_value("others").run()
    assert not app.exception
    assert app.table[0].value.iloc[0].tolist() == ["QP-WL", "0.9700", "0.7812"]
    assert app.table[1].value.iloc[0].tolist() == ["QP-WL", "no", "1.2%", "6.3%", "3.0%"]
    assert len(app.table[1].value) == 2
    app.selectbox(key="results-whose").set_value("svc2004").run()
    assert not app.exception
    assert app.table[1].value.iloc[0].tolist() == ["QP-WL", "no", "50.0%", "6.3%", "3.0%"]
    app.segmented_control(key="results_view").set_value("budget").run()
    assert not app.exception
    assert app.table[0].value.iloc[0].tolist() == ["QP-WL", "2,000 so far", "0.9200", "0.9512", "0.9871"]
    assert len(figures_on(app)) == 1


def test_tries_that_went_on_to_several_splits_are_averaged(folder):
    tries = [{"set": "gait-hapt", "method": "qp-wl", "attempt": attempt, "split": split, "auc": auc, "score": auc,
              "chosen": attempt == 1} for split, aucs in ((1000, (0.9, 0.92, 0.5)), (1001, (0.8, 0.86)))
             for attempt, auc in enumerate(aucs)]
    write(folder, small_study() | {"added": [{}], "tries": tries, "tuning": "Six tries."})
    app = opened()
    app.segmented_control(key="results_view").set_value("tuning").run()
    assert app.table[0].value.iloc[0].tolist() == ["QP-WL", "0.8500 (2)", "0.8900 (2) ✓", "0.5000"]
    assert any("splits that are never tested on" in caption.value and "(2): went on, the mean of 2 splits" in
               caption.value for caption in app.caption)


@pytest.mark.parametrize("text", ["{", "[]", '{"format": "other"}', '{"format": "qpwl-study", "version": 9}'])
def test_a_damaged_file_is_one_sentence(folder, text):
    (folder / "study.json").write_text(text)
    app = opened()
    assert not app.exception
    assert "cannot be read" in app.error[0].value
    assert app.code, "and how to make it again"


def test_a_view_asks_for_nothing_that_would_change_nothing():
    """"n = 5" stood below a control that said n = 1, and a set could be chosen that was not shown."""
    page = opened()
    for view, wanted in (("leads", {"results-set", "n"}), ("people", {"results-set"}),
                         ("network", {"results-set", "results-n"}), ("knobs", set()), ("enough", set()),
                         ("tuning", set())):
        page.segmented_control(key="results_view").set_value(view).run()
        assert not page.exception
        keys = {each.key for each in [*page.main.selectbox, *page.main.segmented_control]}
        assert keys & {"results-set", "n", "results-n"} == wanted, view
        if view in ("network", "knobs", "enough", "tuning"):
            words = "never tested on" if view == "tuning" else "Splits of the people: "
            assert any(words in each.value for each in page.caption), "on whom these figures rest"


def test_curves_over_m_have_a_name_per_set_and_one_for_no_network():
    rows = [{"title": title, "method": method, "trained": trained, "value": value, "auc": 0.9, "low": 0.8, "high": 1.0}
            for title in ("Eye", "EEG") for method, trained in (("qp-wl", "no"), ("qp-wl", "anew"), ("untrained", "no"))
            for value in (1, 2)]
    traces = over(pd.DataFrame(rows), "M", True).to_dict()["data"]
    assert len(traces) == 6
    assert [each["name"] for each in traces if each["showlegend"]] == ["Eye", "no network", "EEG"]
    assert {each["name"] for each in traces if each["visible"] != "legendonly"} == {"Eye", "EEG"}
    assert all(each["legendgroup"] == each["name"] for each in traces), "a press takes or shows all that it stands for"
    assert len({each["line"]["color"] for each in traces if each["hovertemplate"].count("Eye")}) == 1


def test_numbers_of_a_logarithmic_axis_have_room():
    assert apart([4, 6, 8, 9, 10, 12, 14, 15, 16, 19, 32, 48, 67]) == [4, 6, 8, 12, 16, 32, 48, 67]
    assert apart([1, 2, 4, 8, 16, 32, 64]) == [1, 2, 4, 8, 16, 32, 64]
    assert apart([]) == []
