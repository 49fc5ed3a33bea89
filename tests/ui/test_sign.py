"""The page Sign in every state, its numbers against the core; what a pad sends is kept or refused, never half."""

import io
import json
import random

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from qpwl_core.common.files import read_json, write_json
from qpwl_core.data.capture import captured
from qpwl_core.data.loading import load_recordings
from qpwl_core.desk.claims import calibration_rule
from qpwl_core.desk.database import FORGOTTEN
from qpwl_core.desk.space import gallery_embeddings
from qpwl_core.models.gallery import build_gallery, load_gallery
from qpwl_core.models.model import load_model
from tests.support.drawings import as_payload, loops, mutated
from tests.support.pages import figures_on
from tests.support.places import ROOT
from ui.library.models import open_desk
from ui.library.pad import answer, ink_of
from ui.library.signatures import Book, Drawing, as_file, as_recordings, seen_by, signature_models, too_little

# Streamlit and what it brings warn about themselves; that is theirs to mend.
pytestmark = pytest.mark.filterwarnings("ignore")


def drawn(count=5, tries=0) -> Book:
    """A session in which loops of ours were drawn, and others tried to draw them."""
    book = Book()
    book.yours += [Drawing(captured(as_payload(loops(seed)))) for seed in range(count)]
    book.tries += [Drawing(captured(as_payload(loops(50 + seed, slower=1.6, wobble=0.3))), "Bo", imitates=True)
                   for seed in range(tries)]
    return book


def opened(book=None, **state):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    for key, value in (({"drawings": book} if book else {}) | state).items():
        app.session_state[key] = value
    return app.run().switch_page("pages/sign.py").run()


def said(page) -> str:
    kinds = ("caption", "markdown", "subheader", "info", "error", "success", "latex")
    return " ".join(element.value if kind == "latex" else element.value.replace("\\", "") for kind in kinds
                    for element in getattr(page, kind))


def test_before_the_first_stroke_the_page_says_what_happens_to_it():
    page = opened()
    assert not page.exception
    assert "What you draw stays in this session" in said(page)
    assert not page.get("download_button")
    assert [json.loads(element.proto.json)["hint"] for element in page.get("bidi_component")] == ["Sign here, number 1"]


def test_the_verdict_on_the_last_signature_is_the_cores():
    book = drawn(4)
    page = opened(book, p=2.0)
    assert not page.exception
    entry = signature_models()[page.selectbox(key="sign_model").value]
    model, part = load_model(entry.folder), load_gallery(entry.folder).part("calibration", forgeries=True)
    rule = calibration_rule(part.distances(p=2.0), part.subjects, part.imitates, part.stimuli, enrolled=3)
    seen = build_gallery(model, as_recordings(book.yours))
    distances = seen.distances(p=2.0)
    spread = rule.spread(distances[:3, :3])
    near = distances[3, :3].min()
    text = said(page)
    assert f"d = {near:.3g}" in text
    assert rf"{rule.theta(0.1):.2f} \cdot {spread:.3g}" in text
    assert ("Number 4 is you" in text) == (near <= rule.theta(0.1) * spread)
    figures_on(page)


@pytest.mark.parametrize("state", [{}, {"sign_n": 3}, {"levels": "even", "M": 4}, {"sign_own": False},
                                   {"sign_rate": 0.01}])
def test_all_steps_with_all_knobs(state):
    for step in ("you", "neighbour", "strangers"):
        page = opened(drawn(5, 4), sign_step=step, **state)
        assert not page.exception, step
        assert not page.error, step
        assert figures_on(page), step
    entry = signature_models()[page.selectbox(key="sign_model").value]
    page.selectbox(key="sign_door").set_value(load_gallery(entry.folder).part("test").people[0]).run()
    assert not page.exception
    assert "forgers get in" in said(page)


def test_who_is_next_and_best_tries():
    page = opened(drawn(5, 3), sign_step="neighbour")
    assert "Best tries" in said(page)
    page.button(key="sign-following").click().run()
    assert page.text_input(key="sign_forger").value == "Neighbour 2"


def test_nothing_to_forge_yet():
    page = opened(sign_step="neighbour")
    assert "something to forge" in said(page)


def test_forget_me_says_what_it_removed_and_leaves_nothing():
    book = drawn(5, 2)
    page = opened(book)
    page.button(key="sign-forget").click().run()
    assert "5 signatures of yours, 2 tries of others" in said(page)
    assert (book.yours, book.tries, book.seen, book.enrolled) == ([], [], {}, [])
    assert "sign-pad-you_answer" not in page.session_state


def test_enrolled_at_the_desk_and_forgotten_with_every_line_of_the_log(tmp_path, monkeypatch):
    monkeypatch.setenv("QPWL_DESK", str(tmp_path))
    book = drawn(5)
    page = opened(book)
    page.button(key="sign-enrol").click().run()
    assert "the name is empty" in said(page)
    page.text_input(key="sign_name").input("Ada").run()
    page.button(key="sign-enrol").click().run()
    assert "Ada is enrolled with 5 signatures" in said(page)
    (entry, name), = book.enrolled
    desk = open_desk(entry)
    assert [person.name for person in desk.people()] == [name] == ["Ada"]
    presented = gallery_embeddings(seen_by_book(entry, book, drawn(1).yours))
    assert desk.decide(presented, desk.space.model, 1e9, "Ada", truth="Ada").accepted
    page.button(key="sign-forget").click().run()
    assert "the enrolment of Ada and the name in 1 line of the log" in said(page)
    assert desk.people() == []
    assert {row["claimed"] for row in desk.log()} == {row["truth"] for row in desk.log()} == {FORGOTTEN}
    assert not any(b"Ada" in path.read_bytes() for path in tmp_path.rglob("*.sqlite*"))


def test_the_desk_takes_signatures_to_enrol_and_to_knock(tmp_path, monkeypatch):
    monkeypatch.setenv("QPWL_DESK", str(tmp_path))
    book, entry = drawn(0), next(iter(signature_models().values()))
    book.at_desk["desk-pad-new"] = drawn(5).yours
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.session_state["drawings"], app.session_state["model"] = book, entry.id
    app.session_state["desk-from"] = "sign"
    page = app.run().switch_page("pages/desk.py").run()
    page.text_input(key="desk-sign-name").input("Bo").run()
    page.button(key="desk-enrol-signed").click().run()
    assert not page.exception
    assert "Bo is enrolled with 5 signatures" in said(page)
    assert book.at_desk["desk-pad-new"] == []
    page.selectbox(key="desk-who").set_value("sign").run()
    book.at_desk["desk-pad-guest"] = drawn(6).yours[5:]
    page.session_state["desk_try"] = True
    page.run()
    assert not page.exception
    assert "Accepted as Bo" in said(page)
    page.session_state["desk-live"] = True
    book.at_desk["desk-pad-live"] = drawn(7).yours[6:]
    page.segmented_control(key="desk-view").set_value("audience").run()
    assert not page.exception
    assert "Who is it?" in said(page)
    page.button(key="desk-live-reveal").click().run()
    assert "Accepted as Bo" in said(page)


def seen_by_book(entry, book, drawings):
    """What a model sees in drawings, outside a page."""
    import ui.library.signatures as library

    before, library.book = library.book, lambda: book
    try:
        return seen_by(entry, drawings)
    finally:
        library.book = before


def test_what_is_downloaded_is_taken_by_everything_else():
    made = as_recordings(drawn(3, 2).yours + drawn(3, 2).tries)
    for ending in ("npz", "csv"):
        found = load_recordings(io.BytesIO(as_file(made, ending)), name=f"signatures.{ending}")
        assert found.people == ["you"]
        assert found.imitates.tolist() == ["", "", "", "you", "you"]
        assert found.info["domain"] == "signature"


def test_movements_become_a_data_set_and_a_training(tmp_path, monkeypatch):
    monkeypatch.setenv("QPWL_RUNS", str(tmp_path))
    book = drawn(0)
    moved = lambda i, k: captured(as_payload(loops(10 * i + k, slower=3 + 0.4 * i)))
    book.movements += [Drawing(moved(i, k), f"Person {i}", task="circles") for i in range(3) for k in range(2)]
    page = opened(book, sign_step="movement")
    assert not page.exception
    page.button(key="sign-move-train").click().run()
    assert "Train cannot use these recordings" in " ".join(warning.value.replace("\\", "") for warning in page.warning)
    book.movements += [Drawing(moved(i, k), f"Person {i}", task="circles") for i in range(3, 6) for k in range(2)]
    page.button(key="sign-move-train").click().run()
    assert not page.exception
    job, = [read_json(path) for path in tmp_path.glob("*/job.json")]
    assert job["config"]["domain"] == "generic"
    assert page.session_state["data"] == "own:our-movements"


def test_once_it_is_trained_verification_has_the_model_chosen(tmp_path, monkeypatch):
    monkeypatch.setenv("QPWL_RUNS", str(tmp_path))
    name, book = "0123456789ab", drawn(0)
    (tmp_path / name).mkdir()
    write_json(tmp_path / name / "job.json", {"ticket": 1, "config": {"method": "qp-wl"}, "kind": "train"})
    book.movements.append(Drawing(captured(as_payload(loops(0, slower=5))), "Person 1", task="circles"))
    for state, said in (("stopped", "is stopped"), ("finished", "It is trained")):
        write_json(tmp_path / name / "state.json", {"state": state})
        page = opened(book, sign_step="movement", sign_job=name)
        assert not page.exception
        assert any(said in each.value for each in [*page.warning, *page.success])
    assert page.session_state["models"] == [name]


def test_a_message_is_taken_once_and_a_bad_one_not_at_all():
    kept = []
    good = as_payload(loops(1)) | {"id": "one"}
    first = answer(good, None, kept.append)
    assert first == {"seen": "one", "wrong": ""}
    assert answer(good, first, kept.append) is first
    assert len(kept) == 1
    bad = answer({"id": "two", "device": "mouse", "strokes": []}, first, kept.append)
    assert bad["seen"] == "two"
    assert bad["wrong"].startswith("There is no stroke")
    random.seed(3)
    sound = 0
    for _ in range(1000):
        before = len(kept)
        came = answer(mutated(good, random), None, kept.append)
        assert set(came) == {"seen", "wrong"}
        assert len(kept) - before == (not came["wrong"])
        sound += not came["wrong"]
    assert sound < 900


def test_a_dot_is_no_signature():
    dot = {"device": "mouse", "strokes": [[x for i in range(12) for x in (8.0 * i, 5, 5 + 0.1 * i, 0.5)]]}
    assert "dot or a dash" in too_little(captured(dot))
    assert too_little(captured(as_payload(loops(1)))) is None


def test_ink_to_watch_has_the_true_times():
    capture = captured(as_payload(loops(1)))
    ink = ink_of(capture.values)
    assert ink["strokes"][0][0] == 0
    assert ink["strokes"][-1][-4] == pytest.approx(1000 * capture.seconds, abs=11)
    assert sum(len(stroke) for stroke in ink["strokes"]) == 4 * int((capture.values[:, 3] > 0.5).sum())


def test_a_drawing_is_embedded_once_per_model(monkeypatch):
    import ui.library.signatures as library

    book, entry = drawn(2), next(iter(signature_models().values()))
    monkeypatch.setattr(library, "book", lambda: book)
    first = seen_by(entry, book.yours)
    assert len(book.seen) == 2
    monkeypatch.setattr(library, "build_gallery", None)
    again = seen_by(entry, book.yours)
    assert np.array_equal(first.values, again.values)
