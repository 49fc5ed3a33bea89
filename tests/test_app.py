"""The front door, driven without a browser and in a real one."""

import re

import pytest
import torch
from conftest import ROOT
from streamlit.testing.v1 import AppTest

from qpwl_core.datasets import load_dataset
from qpwl_core.distances import wasserstein
from qpwl_core.quantiles import QuantileLayer

# Streamlit and what it brings warn about themselves; that is theirs to mend.
pytestmark = pytest.mark.filterwarnings("ignore")


def home():
    return AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()


def test_it_opens_on_what_ships():
    page = home()
    assert not page.exception
    assert len(page.metric) == 2


def test_the_number_on_screen_is_the_number_from_the_core():
    page = home()
    walks = load_dataset("gait-hapt-30").select(subjects=page.selectbox(key="one").value)
    walks = walks.select(stimuli=["walking@session1", "walking@session2"])
    layer = QuantileLayer(16)
    a, b = (layer(torch.from_numpy(s[None, None, :, 0].copy())) for s in walks.sequences[:2])
    assert page.metric[0].value == f"{wasserstein(a, b, layer.levels).item():.4f} g"


def test_every_control_redraws():
    page = home()
    before = page.metric[1].value
    page.slider(key="p").set_value(3.0).run()
    assert page.metric[1].value != before
    page.slider(key="M").set_value(1).run()
    page.selectbox(key="signal").set_value("gyro_z").run()
    assert not page.exception
    assert page.metric[0].value.endswith("rad/s")


def test_the_same_person_twice_is_asked_about():
    page = home()
    page.selectbox(key="other").set_value(page.selectbox(key="one").value).run()
    assert not page.exception
    assert "two different people" in page.info[0].value


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(visit, scheme):
    page = visit("/?p=2.0", scheme)
    page.locator(".js-plotly-plot .scatterlayer .trace").nth(2).wait_for(timeout=60_000)
    assert page.get_by_role("heading", name="QP-WL Lab").is_visible()
    assert "W_{2}" in page.locator("annotation").first.text_content(), "the link carries p"
    page.get_by_role("slider").first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("M=17"), timeout=20_000)
