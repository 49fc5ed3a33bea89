"""Verification and Identification: what is on screen is what the core computes from the same gallery."""

import json
import re
import shutil

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from qpwl_core.common.friendly import friendly_names
from qpwl_core.evaluation import metrics, protocol
from qpwl_core.evaluation.bootstrap import fmr_interval
from qpwl_core.evaluation.trials import at_threshold, attack, make_trials
from qpwl_core.models.gallery import load_gallery
from qpwl_core.study.paper import VERIFICATION
from tests.support.matching import counts, said, trials_of
from tests.support.pages import figures_on, opened, stored
from tests.support.places import ROOT
from ui.library import models as library
from ui.shell.presenter import balanced

pytestmark = pytest.mark.filterwarnings("ignore")        # Streamlit and what it brings warn about themselves

def shown_models(app):
    at_hand = {entry.id: entry for entry in library.entries()}
    return [at_hand[i] for i in app.multiselect(key="models").value]


def sentence(app):
    return said(next(info.value for info in app.info if "imposters get in" in info.value))


@pytest.fixture(scope="module")
def page():
    return opened()


@pytest.fixture(scope="module")
def as_the_paper():
    return opened(verification_view="paper")


def test_it_opens_on_two_methods_for_the_same_data(page):
    assert not page.exception
    first, second = shown_models(page)
    assert (first.method, second.method) == ("qp-wl", "qp-npl")
    assert first.card["set"] == second.card["set"]


def test_the_auc_table_is_the_card_and_the_paper(as_the_paper):
    table = as_the_paper.table[0].value.set_index("AUC")
    table.index = [name.replace("\\", "") for name in table.index]
    for entry in shown_models(as_the_paper):
        held = entry.card.get("gallery", entry.card)["results"]          # of what the gallery holds
        rows = {"gallery": (f"{entry.title}: {held['subjects']} people, {held['sequences']:,} sequences", held),
                "all": (f"{entry.title}: {entry.card['results']['subjects']} people, "
                        f"{entry.card['results']['sequences']:,} sequences", entry.card["results"])}
        for name, results in rows.values():
            for n in range(1, 6):
                auc = float(table.loc[name, f"n = {n}"].split(" ± ")[0])
                assert auc == pytest.approx(results["verification"][str(n)]["auc"], abs=1e-3)
        wanted = VERIFICATION[entry.card["config"]["domain"]][entry.method]
        assert table.loc[f"{entry.method_title}, the paper", "n = 2"] == "{:.4f} ± {:.4f}".format(*wanted[1])


def test_the_sentence_is_metrics_on_the_same_scores(page):
    entry = shown_models(page)[0]
    threshold, numbers = sentence(page)
    genuine, imposter = trials_of(entry).of(1)
    assert threshold == pytest.approx(page.slider(key="threshold").value, rel=1e-3)
    assert numbers == counts(at_threshold(genuine, imposter, page.slider(key="threshold").value))
    calibration = trials_of(entry, "calibration").of(1)[1]
    aimed = metrics.threshold_at_fmr(calibration, 0.1)
    assert threshold == pytest.approx(aimed, abs=0.02 * abs(aimed)), "it starts at one imposter in ten"


def test_errors_have_their_trials_and_intervals():
    page = opened(verification_view="sure")
    table = page.table[0].value
    trials = trials_of(shown_models(page)[0])
    row, people = table.iloc[0], len(trials.people)
    assert (row["owners"], row["imposters"]) == (str(people), str(people * (people - 1)))
    value, low, high = map(float, re.findall(r"[\d.]+", row["EER"]))
    assert value == pytest.approx(np.mean([metrics.eer(*each) for each in trials.repeats(1)]), abs=6e-4)
    assert low <= value <= high
    if people * (people - 1) < 3000:
        assert row["FNMR at FMR 0.1 %"] == "not measurable"
        assert any("3,000 imposter trials" in caption.value for caption in page.caption)


def test_moving_n_p_m_and_the_threshold():
    app = opened(live=True, M=4, p=3.0, n=2, draw=3)
    entry, value = shown_models(app)[0], None
    trials = trials_of(entry, points=4, p=3.0)
    assert sentence(app)[1] == counts(at_threshold(*trials.of(2, 2), app.slider(key="threshold").value))
    value = float(np.median(trials.of(2, 2)[1]).round(1))
    app.slider(key="threshold").set_value(value).run()
    assert sentence(app)[1] == counts(at_threshold(*trials.of(2, 2), app.slider(key="threshold").value))
    assert app.slider(key="threshold").value == pytest.approx(value)
    app.slider(key="p").set_value(1.0).run()
    assert not app.exception
    assert sentence(app)[1] == counts(at_threshold(*trials_of(entry, points=4, p=1.0).of(2, 2),
                                                   app.slider(key="threshold").value))


def test_a_link_is_the_state():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    value = round(float(np.median(trials_of(next(e for e in library.entries() if e.method == "qp-wl")).of(3)[1])), 1)
    app.query_params["threshold"], app.query_params["n"] = str(value), "3"
    app = app.switch_page("pages/verification.py").run()
    assert app.slider(key="threshold").value == pytest.approx(value)
    assert app.segmented_control(key="n").value == 3


def test_a_target_is_set_on_calibration_people_and_comes_out_on_others():
    app = opened(set="for a target", target=0.1)
    table = app.table[0].value
    for row, entry in zip(table.itertuples(), shown_models(app), strict=True):
        threshold = metrics.threshold_at_fmr(trials_of(entry, "calibration").of(1)[1], 0.1)
        rates = metrics.apply_threshold(*trials_of(entry).of(1), threshold)
        assert (row[3], row[6], row[8]) == ("10 %", f"{rates['fmr']:.2%}", f"{rates['fnmr']:.2%}")
        low, high = fmr_interval(trials_of(entry, "calibration").scores[:, 0], threshold)
        assert row[4] == f"{100 * low:.0f} to {100 * high:.0f} %"
    warned = next(each.value for each in app.warning if "Too few calibration people to promise this" in each.value)
    assert f"{entry.title.split(' ·')[0]}" in warned.replace("\\", "")
    app.select_slider(key="target").set_value(0.001).run()
    assert not app.exception
    assert any("cannot measure a rate below" in warning.value for warning in app.warning)


def test_models_for_other_data_say_that_people_differ():
    sets = {entry.card.get("set"): entry.id for entry in library.entries() if entry.has_gallery}
    app = opened(models=list(sets.values())[:2])
    assert not app.exception
    assert any("different people" in info.value for info in app.info)


def test_nothing_chosen_asks_to_choose():
    app = opened()
    app.multiselect(key="models").set_value([]).run()
    assert not app.exception
    assert any("Choose one or more models" in info.value for info in app.info)


@pytest.mark.parametrize("name", ["verification", "identification"])
def test_no_model_at_all_says_what_to_do(name, monkeypatch, tmp_path):
    monkeypatch.setattr(library, "SHIPPED", tmp_path)
    monkeypatch.setenv("QPWL_RUNS", str(tmp_path / "runs"))
    app = opened(name)
    assert not app.exception
    assert "Train one" in app.info[0].value


@pytest.mark.parametrize("name", ["verification", "identification"])
def test_a_broken_gallery_is_left_out_and_a_hostile_title_is_text(name, monkeypatch, tmp_path):
    source = next(entry for entry in library.entries() if entry.method == "qp-wl" and entry.has_gallery)
    for folder, title in (("good", "<b>x</b> *y* $z$"), ("bad", "broken")):
        shutil.copytree(source.folder, tmp_path / folder)
        card = json.loads((tmp_path / folder / "card.json").read_text())
        (tmp_path / folder / "card.json").write_text(json.dumps(card | {"title": title}))
    (tmp_path / "bad" / "gallery.safetensors").write_bytes(b"nothing")
    monkeypatch.setattr(library, "SHIPPED", tmp_path)
    monkeypatch.setenv("QPWL_RUNS", str(tmp_path / "runs"))
    app = opened(name, models=["good", "bad"])
    assert not app.exception
    assert "broken is left out" in app.error[0].value
    assert figures_on(app), "the rest of the page is intact"
    assert not any("<b>" in text.value for text in [*app.caption, *app.info, *app.markdown])


# ---- identification

@pytest.fixture(scope="module")
def identified():
    return opened("identification", n=1, draw=1, identification_view="mistaken")


@pytest.mark.parametrize(("name", "view", "pictures"), [
    ("verification", "line", 2), ("verification", "paper", 1), ("verification", "sure", 0),
    ("identification", "enrolled", 2), ("identification", "mistaken", 3), ("identification", "attack", 2)])
def test_every_view_with_all_methods_at_once(name, view, pictures):
    every = [entry.id for entry in library.entries() if entry.card.get("set") == "gait-hapt"]
    app = opened(name, models=every, **{f"{name}_view": view})
    assert not app.exception
    assert len(figures_on(app)) == pictures


def test_the_attack_is_the_core_on_the_same_scores():
    identified = opened("identification", n=1, draw=1, identification_view="attack")
    assert not identified.exception
    trials = trials_of(shown_models(identified)[0])
    threshold = identified.slider(key="threshold").value
    inside = [int(attack(scores[0], threshold, trials.people)["gets_in"].sum()) for scores in trials.scores]
    text = next(info.value for info in identified.info if "imposters get in" in info.value)
    people = len(trials.people)
    assert f"**{inside[0]} of {people} imposters get in** in draw 1, and {sum(inside)} of {10 * people}" in text


def test_the_share_named_rightly_is_identification(identified):
    held = load_gallery(shown_models(identified)[0].folder).part("test")
    groups = make_trials(held.distances(), held.subjects, held.sources).drawn.groups
    table = protocol.identification(held.distances(), held.subjects, fractions=[1.0], n=1, groups=groups)
    wanted = table[table["repeat"] == 0]["accuracy"].iloc[0]
    assert any(f"{wanted:.1%} of {len(held.people)} who came in draw 1" in text.value for text in identified.caption)


def test_a_pair_is_explained_by_what_sums_to_its_distance(identified):
    trials = trials_of(shown_models(identified)[0])
    who, taken_for = identified.selectbox(key="who").value, identified.selectbox(key="as").value
    distance = trials.scores[0, 0, trials.people.index(who), trials.people.index(taken_for)]
    met = identified.table[0].value
    assert met.columns[1] == f"nearest of {friendly_names([taken_for])[taken_for]}"
    assert met["distance"].astype(float).mean() == pytest.approx(distance, rel=1e-3)
    assert any(f"**{distance:.4g}**" in text.value for text in identified.markdown)


def test_all_draws_a_target_and_other_methods():
    every = [entry.id for entry in library.entries() if entry.has_gallery][:3]
    app = opened("identification", models=every, set="for a target", n=3, live=True, M=3, identification_view="attack")
    assert not app.exception
    for label in app.selectbox(key="focus").options:
        app.selectbox(key="focus").set_value(label).run()
        assert not app.exception




def test_over_p_and_m_all_models_with_intervals():
    app = opened(verification_view="tune", n=2)
    assert not app.exception
    over_p, over_m = figures_on(app)
    names = [trace["name"] for trace in over_m["data"] if trace.get("mode") == "lines+markers"]
    assert len(names) == 2
    assert "A cosine has no p" in " ".join(each.value for each in app.caption)
    of_models = [stored(trace["y"]) for trace in over_p["data"] if trace.get("mode") == "lines+markers"]
    assert [len({round(auc, 9) for auc in each}) > 1 for each in of_models] == [True, False], "a cosine has no p"


def test_a_number_on_two_pages_is_the_same_number():
    """AUC of one model, n = 1, of the gallery beside it: Verification, Distances and the core."""
    app = opened(verification_view="paper", models=["gait-ipol-qp-wl"], model="gait-ipol-qp-wl")
    first = app.table[0].value.iloc[0]["n = 1"].replace("\\", "").split(" ")[0]
    trials = trials_of(next(entry for entry in library.entries() if entry.id == "gait-ipol-qp-wl"))
    wanted = np.mean([metrics.auc(*each) for each in trials.repeats(1)])
    assert first == f"{wanted:.4f}"
    page = opened("distances", model="gait-ipol-qp-wl")
    assert f"AUC {wanted:.3f} against" in " ".join(each.value for each in page.markdown)


@pytest.mark.parametrize(("page", "key"), [("verification", "present-claim"), ("identification", "present-who")])
def test_before_an_audience_one_decision_a_guess_and_the_answer(page, key):
    app = opened(page, present=True, **{"present-seed": 5})
    assert not app.exception
    assert not app.sidebar.children, "no sidebar"
    text = lambda: " ".join(each.value for each in app.markdown)
    assert "Visitor 1" in text()
    assert "really was" not in text()
    app.button(key=f"{key}-answer-1").click().run()
    assert "Your guess" in text()
    app.button(key=f"{key}-reveal").click().run()
    assert "really was" in text()
    assert "The audience was" in text()
    app.button(key="present-next").click().run()
    assert app.number_input(key="present-visitor").value == 2
    assert "really was" not in text()
    assert not app.exception


def test_claims_before_an_audience_are_balanced_and_repeat_with_the_seed():
    kinds = {seed: [balanced(visitor, seed)[0] for visitor in range(1, 41)] for seed in range(8)}
    assert all(sum(order[i:i + 4]) == 2 for order in kinds.values() for i in range(0, 40, 4))
    assert len({tuple(order) for order in kinds.values()}) == 8
    assert [balanced(visitor, 3)[0] for visitor in range(1, 41)] == kinds[3]
