"""A signature on the Data page: as ink, as channels, and every step of the recipe switched off and on."""

import base64

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from qpwl_core.data.recordings import Recordings
from tests.support.pages import figures_on
from tests.support.places import ROOT
from ui.library.data import OWN, Own

pytestmark = pytest.mark.filterwarnings("ignore")        # Streamlit and what it brings warn about themselves


def scribbles(people=6, each=4):
    """Loops of a pen that nobody signs with, the pen up in the middle, and a forgery of everybody."""
    time = np.arange(200) / 100
    down = (np.abs(time - 1) > 0.1).astype(float)
    def one(i, j):
        return np.column_stack([400 * time + 50 * np.cos((6 + i) * time + j), 80 * np.sin((9 + i) * time), 100 * down,
                                down])
    names = [f"p{i}" for i in range(people)]
    subjects = [name for name in names for _ in range(each)] + [f"forger-of-{name}" for name in names]
    return Recordings([one(i, j) for i in range(people) for j in range(each)] + [one(i, 9) for i in range(people)],
                      subjects, ("x", "y", "pressure", "down"), 100.0,
                      ["session1"] * (people * each) + ["forgery"] * people, {"domain": "signature"},
                      [""] * (people * each) + names)


def opened(view):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    app.switch_page("pages/data.py")
    app.session_state["own_data"] = {"signs": Own("signs", scribbles(), "signature")}
    app.session_state["data"], app.session_state["data_view"] = f"{OWN}signs", view
    app.run()
    assert not app.exception
    return app


def strokes(page):
    """The pictures of ink: what is drawn in true proportions."""
    return [each for each in figures_on(page) if (each["layout"].get("yaxis") or {}).get("scaleanchor") == "x"]


def numbers(stored):
    return np.frombuffer(base64.b64decode(stored["bdata"]), stored["dtype"])


def test_two_people_as_ink_and_a_forgery_can_be_chosen():
    page = opened("Sequences")
    first, second = strokes(page)
    assert [trace["name"] for trace in first["data"]] == ["stroke 1", "stroke 2"]
    label = next(each for each in page.selectbox(key="data_one_sequence").options if "forgery" in each)
    page.selectbox(key="data_one_sequence").set_value(label).run()
    assert not page.exception
    assert strokes(page)[0] != first
    assert strokes(page)[1] == second


def test_every_step_can_be_switched_off_and_seen():
    page = opened("Recipe")
    before, after = strokes(page)
    assert len(before["data"]) == 2
    pills = next(each for each in page.button_group if each.key == "data_ink_steps")
    assert set(pills.value) == {"Long pauses cut", "Long signatures cut", "Pen-up left out", "Smoothed", "Centred",
                                "One size"}
    pills.set_value([]).run()
    assert not page.exception
    raw, plain = strokes(page)
    assert raw == before
    assert plain != after
    np.testing.assert_allclose(numbers(plain["data"][0]["x"]), numbers(raw["data"][0]["x"]), atol=1e-3)   # as it was


def test_with_no_channel_chosen_the_speed_stays():
    page = opened("Recipe")
    next(each for each in page.button_group if each.key == "data_ink_channels").set_value([]).run()
    assert not page.exception
    assert any("the speed stays" in each.value for each in page.caption)
