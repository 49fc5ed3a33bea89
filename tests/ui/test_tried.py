"""Those who tried, on Verification and at the desk: what is on screen is what the core computes."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from qpwl_core.desk.database import Desk
from qpwl_core.desk.space import space_of_gallery
from qpwl_core.evaluation.forgeries import forged_scores, forgeries, summarise_forgeries
from qpwl_core.models.gallery import load_gallery
from tests.support.matching import trials_of
from tests.support.pages import figures_on, opened
from ui.library import models as library
from ui.matching import tried
from ui.shell.people import name_of

pytestmark = pytest.mark.filterwarnings("ignore")        # Streamlit and what it brings warn about themselves
MODEL = "signature-susig-qp-wl"


@pytest.fixture(scope="module")
def entry():
    return next(each for each in library.entries() if each.id == MODEL)


def test_a_third_curve_and_how_many_of_those_who_tried_get_in(entry):
    page = opened(models=[MODEL], n=1)
    assert not page.exception
    text = next(each.value for each in page.warning if "those who tried" in each.value).replace(",", "")
    let_in, of = map(int, re.search(r"\*\*(\d+) of (\d+) get in", text).groups())
    gallery = load_gallery(entry.folder)
    held = gallery.part("test", forgeries=True)
    forged = held.select(held.is_forgery)
    scores = forged_scores(forged.distances(other=gallery.part("test")), forged.imitates, trials_of(entry).drawn)
    assert of == len(scores)
    assert let_in == (scores <= page.slider(key="threshold").value).sum()
    drawn = figures_on(page)
    assert any("those who tried" in str(trace.get("name")) for each in drawn for trace in each["data"])


def test_errors_of_those_who_tried_are_the_cards(entry):
    page = opened(models=[MODEL], verification_view="tried")
    assert not page.exception
    held = load_gallery(entry.folder).part("test", forgeries=True)
    wanted = {(row["enrolled"], row["normalised"]): row for row in summarise_forgeries(
        forgeries(held.distances(), held.subjects, held.imitates, held.stimuli))}
    table = page.table[0].value
    for own, row in zip((False, True), table.itertuples(index=False), strict=True):
        assert row[3].startswith(f"{wanted[5, own]['skilled_eer']:.1%}")
    days = page.table[-1].value
    assert days["enrolled and observed"].tolist() == ["the same day", "another day"]


def test_what_learns_nothing_stands_beside_the_models_on_all_people_to_test(entry, monkeypatch):
    shown, told = [], entry.card["results"]["forgeries"]
    monkeypatch.setattr(tried, "table", lambda frame, what: shown.append(frame))
    better = [row | {"random_eer": 0.001} for row in told]
    beside = replace(entry, card=entry.card | {"nothing_learned": {"dtw": better, "a method of tomorrow": better}})
    alone = replace(entry, card={name: x for name, x in entry.card.items() if name != "nothing_learned"})
    for card, kind in ((alone, "ships"), (beside, "uploaded")):
        tried.without_training([SimpleNamespace(entry=replace(card, kind=kind), label="mine")], 5)
    assert shown == [], "nothing to set beside it, and a card that was uploaded may lie"
    tried.without_training([SimpleNamespace(entry=beside, label="mine")], 5)
    frame, = shown
    assert frame["method"].tolist() == ["mine"] * 2 + ["Dynamic time warping"] * 2
    assert frame["distance"].tolist() == ["plain", "by their own spread"] * 2
    row, = (row for row in told if row["enrolled"] == 5 and not row["normalised"])
    assert frame.iloc[0, 2:5].tolist() == [f"{row[f'{kind}_eer']:.1%}" for kind in ("random", "skilled", "mixed")]
    assert frame["people"][0] == row["subjects"] > len(load_gallery(entry.folder).part("test").people)
    assert frame.iloc[2, 2] == "0.1%"


def test_models_without_forgeries_say_that_nobody_tried():
    page = opened(models=["gait-hapt-qp-wl"], verification_view="tried")
    assert not page.exception
    assert any("nobody tried" in each.value for each in page.info)
    assert page.table[0].value["enrolled and observed"].tolist() == ["the same day", "another day"]
    page.button(key="tried-signatures").click().run()
    assert not page.exception
    assert page.multiselect(key="models").value == ["signature-susig-qp-npl", "signature-susig-qp-wl"]
    assert not any("nobody tried" in each.value for each in page.info), "an empty view offers the way out of it"


def test_forged_scores_are_the_nearest_enrolled_of_whom_they_imitate(entry):
    drawn = trials_of(entry).drawn
    whom = np.array([drawn.people[0], drawn.people[0], drawn.people[1]])
    distances = np.random.default_rng(0).random((3, len(drawn.owner)))
    found = forged_scores(distances, whom, drawn, 1, 2)
    enrolled = drawn.enrolled(2)
    wanted = [distances[i, [s for s in enrolled if drawn.owner[s] == j]].min() for i, j in ((0, 0), (1, 0), (2, 1))]
    np.testing.assert_allclose(found, wanted)
    np.testing.assert_allclose(forged_scores(distances, whom, drawn, 2, 2), [np.mean(wanted[:2])] * 2 + [wanted[2]])


def test_somebody_who_tries_knocks_at_the_desk_and_claims_whom_they_imitate(entry, tmp_path, monkeypatch):
    monkeypatch.setenv("QPWL_DESK", str(tmp_path))
    page = opened("desk", model=MODEL)
    page.button(key="desk-three").click().run()
    page.run()                                           # AppTest loses the first touch after st.rerun()
    page.button(key="desk-try-trying-claim").click().run()
    assert not page.exception
    person = page.selectbox(key="desk-trying").value
    assert (load_gallery(entry.folder).imitates == person).any()
    text = " ".join(each.value for each in [*page.success, *page.warning]).replace("\\", "")
    assert f"It really was somebody who imitates {name_of(person)}" in text
    decision, visitor, _ = page.session_state["desk_decision"]
    assert decision.claimed == visitor.claims


def test_every_other_stranger_before_an_audience_is_trying(entry, tmp_path):
    from ui.desk.audience import drawn_visitor
    from ui.desk.scene import forgers_of, of_gallery

    people, desk = of_gallery(entry), Desk(tmp_path, space_of_gallery(load_gallery(entry.folder)))
    first = sorted(people)[:2]
    for name in first:
        desk.enrol(name, people[name].to_enrol(5), desk.space.model)
    enrolled = desk.enrolled()
    came = [drawn_visitor(people, enrolled, 2, visitor, 3, forgers_of(entry))[0] for visitor in range(1, 13)]
    trying = [name for name in came if name.startswith("somebody who imitates")]
    assert len(trying) == 3
    assert set(trying) <= {f"somebody who imitates {name_of(name)}" for name in first}
