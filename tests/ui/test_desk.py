"""The enrolment desk, driven without a browser and in a real one."""


import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import ui.library.models
from qpwl_core.common.friendly import friendly_names
from qpwl_core.desk.calibration import calibrate
from qpwl_core.desk.database import Desk
from qpwl_core.desk.decisions import decide
from qpwl_core.desk.space import gallery_embeddings, space_of_gallery
from qpwl_core.models.gallery import load_gallery
from tests.support.places import ROOT
from ui.shell.text import plain

# Streamlit and what it brings warn about themselves; that is theirs to mend.
pytestmark = pytest.mark.filterwarnings("ignore")
MODEL = "gait-hapt-qp-wl"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("QPWL_DESK", str(tmp_path / "desk"))
    monkeypatch.setenv("QPWL_RUNS", str(tmp_path / "runs"))
    return tmp_path / "desk"


@pytest.fixture
def gallery():
    return load_gallery(ROOT / "models" / MODEL)


def opened(model=MODEL):
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    page.switch_page("pages/desk.py")
    page.session_state["model"] = model
    return calm(page.run())


def calm(page):
    assert not page.exception
    return page


def click(page, key):
    calm(page.button(key=key).click().run())
    return calm(page.run())                 # AppTest loses the first touch after st.rerun()


def of_person(gallery, person):
    return gallery_embeddings(gallery.part("test").select(gallery.part("test").subjects == person))


def test_enrol_present_and_the_numbers_are_the_cores(folder, gallery):
    page = click(opened(), "desk-three")
    desk = Desk(folder, space_of_gallery(gallery))
    names = [person.name for person in desk.people()]
    first = gallery.part("test").people[:3]
    assert sorted(names) == sorted(friendly_names(first).values())
    assert sorted(person.origin for person in desk.people()) == [f"gallery, {person}" for person in first]
    assert page.dataframe[0].value["name"].tolist() == names
    page = click(page, "desk-present")
    logged, = desk.log()
    part = gallery.part("calibration")
    sequences = int(np.median([person.sequences for person in desk.people()]))
    wanted = calibrate(part.distances(), part.subjects, 0.1, n=5, enrolled=3, sequences=sequences, sources=part.sources)
    assert logged["threshold"] == pytest.approx(wanted.threshold)
    assert plain(wanted.note) in page.caption[0].value
    said = [x.value for x in [*page.caption, *page.warning]]
    assert plain(wanted.promise) in said, "how sure the rate is stands there, too"
    assert (plain(wanted.promise) in [x.value for x in page.warning]) == wanted.doubtful
    assert f"= {logged['distance']:.4g}" in page.latex[0].value
    verdict = next(x.value for x in page.markdown if "ccepted" in x.value or "ejected" in x.value)
    assert ("Accepted" in verdict) == (logged["decided"] is not None)
    assert logged["n"] == 5
    page = calm(page.selectbox(key="desk-who").set_value("stranger").run())
    page = click(page, "desk-present")
    assert any("who is not enrolled" in x.value for x in [*page.success, *page.warning])
    assert len(desk.log()) == 2


def test_a_threshold_by_hand_and_a_claim(folder, gallery):
    page = click(opened(), "desk-three")
    page = calm(page.segmented_control(key="desk-how").set_value("hand").run())
    page = calm(page.number_input(key="desk-threshold").set_value(1000.0).run())
    page = click(page, "desk-try-stranger-claim")                   # a preset presents at once
    claimed = page.selectbox(key="desk-claimed").value
    assert any(plain(f"Accepted: it is {claimed}") in x.value for x in page.markdown)
    assert "false match" in page.warning[0].value
    row, = Desk(folder, space_of_gallery(gallery)).log()
    assert (row["kind"], row["claimed"], row["decided"], row["threshold"]) == ("verify", claimed, claimed, 1000.0)
    page = calm(page.segmented_control(key="desk-view").set_value("log").run())
    assert page.dataframe[0].value["decided"].tolist() == [claimed]


@pytest.mark.parametrize(("name", "why"), [
    ("  ", "the name is empty"), ("x" * 10_000, "10000 characters"), (friendly_names(["02"])["02"], "enrolled already"),
    ("a\u202eb", "cannot be shown")])
def test_names_that_are_refused(folder, gallery, name, why):
    page = click(opened(), "desk-three")
    page = calm(page.text_input[0].set_value(name).run())
    page = click(page, "desk-enrol")
    assert plain(why) in page.error[0].value
    assert len(Desk(folder, space_of_gallery(gallery)).people()) == 3
    page = calm(page.text_input[0].set_value("Ann").run())
    assert "Ann is enrolled" in click(page, "desk-enrol").success[0].value


def test_what_another_session_enrols_and_removes_is_seen(folder, gallery):
    first, second = opened(), opened()
    first = click(first, "desk-three")
    second = calm(second.run())
    assert len(second.dataframe[0].value) == 3
    second = click(second, "desk-remove")
    assert "removed" in second.success[0].value
    assert len(calm(first.run()).dataframe[0].value) == 2


def test_the_audience_guesses_first(folder, gallery):
    page = click(opened(), "desk-three")
    page = calm(page.segmented_control(key="desk-view").set_value("audience").run())
    desk = Desk(folder, space_of_gallery(gallery))
    shown = " ".join(x.value for x in [*page.markdown, *page.caption])
    assert "Who is it?" in shown
    assert "ccepted" not in shown
    assert "ejected" not in shown
    assert desk.log() == [], "nothing is decided yet"
    page = calm(next(x for x in page.button if x.label == "a stranger").click().run())
    page = click(page, "desk-reveal")
    row, = desk.log()
    truth, = [x.value for x in [*page.success, *page.warning] if "really was" in x.value]
    truth_is_known = "not enrolled" not in truth
    text = " ".join(x.value for x in page.markdown)
    assert f"Audience {int(not truth_is_known)} of 1" in text
    assert re.search(r"Desk \d of 1", text)
    assert (row["decided"] is None) == ("Rejected" in text)
    assert row["guess"] == "a stranger"
    assert ("not enrolled" in row["truth"]) == (not truth_is_known)
    page = click(page, "desk-next")
    assert page.number_input(key="desk-visitor").value == 2
    assert any("Who is it?" in x.value for x in page.markdown)
    page = calm(page.toggle(key="desk-guess").set_value(False).run())
    assert len(desk.log()) == 2, "without a guess the verdict stands there at once"
    assert len(Desk(folder, desk.space).log()) == len(calm(page.run()) and desk.log()), "and is logged once"


def test_visitors_are_balanced_differ_with_the_seed_and_repeat_with_it(folder, gallery):
    from ui.desk.audience import drawn_visitor
    from ui.desk.scene import Sequences

    part = gallery.part("test")
    people = {name: Sequences(of_person(gallery, name), part.sources[part.subjects == name]) for name in part.people}
    desk = Desk(folder, space_of_gallery(gallery))
    for name in part.people[:4]:
        desk.enrol(name, people[name].to_enrol(3), desk.space.model)
    orders = []
    for seed in (1, 2, 3):
        came = [drawn_visitor(people, desk.enrolled(), 2, visitor, seed) for visitor in range(1, 13)]
        assert [sum(known is not None for _, known, _ in came[i:i + 4]) for i in (0, 4, 8)] == [2, 2, 2]
        orders.append([person for person, _, _ in came])
        assert orders[-1] == [drawn_visitor(people, desk.enrolled(), 2, v, seed)[0] for v in range(1, 13)]
        assert len({person for person, known, _ in came if known}) == 4, "everyone has their turn"
    assert orders[0] != orders[1] != orders[2]


def test_a_damaged_database_and_one_of_another_model(folder, gallery):
    click(opened(), "desk-three")
    path = next(folder.glob("*.sqlite"))
    for content in (b"no database" * 1000, None):
        if content is None:
            other = load_gallery(ROOT / "models" / "gait-hapt-qp-npl")
            path.unlink()
            Desk(folder, space_of_gallery(other)).path.rename(path)
        else:
            path.write_bytes(content)
        before = path.read_bytes()
        page = opened()
        assert plain("damaged" if content else "another model") in page.error[0].value
        assert len(page.error) == 1
        assert path.read_bytes() == before


def test_recordings_that_the_model_cannot_take(folder):
    page = click(opened(), "desk-three")
    page = calm(page.segmented_control(key="desk-from").set_value("data").run())
    assert not page.error, "what does not fit is not offered, so nothing red meets who opens it"
    assert page.selectbox(key="desk-new-data").value == "gait-hapt-30"
    assert not [option for option in page.selectbox(key="desk-new-data").options if "vowels" in option]
    page = calm(page.selectbox(key="desk-new-subject").set_value("14").run())
    page = click(page, "desk-enrol")
    assert f"{friendly_names(['14'])['14']} is enrolled" in page.success[0].value


@pytest.mark.parametrize("model", ["gait-hapt-mp-npl", "gait-hapt-qp-npl"])
def test_other_methods(folder, model):
    page = click(opened(model), "desk-three")
    page = click(page, "desk-present")
    gallery = load_gallery(ROOT / "models" / model)
    desk = Desk(folder, space_of_gallery(gallery))
    assert f"= {desk.log()[0]['distance']:.4g}" in page.latex[0].value
    own = of_person(gallery, gallery.part("test").people[0])[:1]
    assert decide(desk.enrolled(), own, gallery.model, 0).copies == 1


def test_no_model_at_all(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(ui.library.models, "SHIPPED", tmp_path / "none")
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    page = calm(page.switch_page("pages/desk.py").run())
    assert "Train one" in page.info[0].value
