"""The front door, driven without a browser and in a real one."""

import re
import socket
import subprocess
import sys
import time
import urllib.request

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


@pytest.fixture(scope="module")
def server():
    """The app as a person starts it, on a free port."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    options = ["--server.port", str(port), "--server.headless", "true"]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.25)
        yield f"http://localhost:{port}"
        process.terminate()
        process.communicate(timeout=20)


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(server, browser, scheme, tmp_path):
    page = browser.new_page(viewport={"width": 1400, "height": 1000}, color_scheme=scheme)
    problems = []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    ours = (server, "data:", "blob:")  # nothing is fetched from elsewhere
    page.on("request", lambda request: None if request.url.startswith(ours) else problems.append(request.url))
    page.goto(f"{server}/?p=2.0")
    page.locator(".js-plotly-plot .scatterlayer .trace").nth(2).wait_for(timeout=60_000)
    assert page.get_by_role("heading", name="QP-WL Lab").is_visible()
    assert "W_{2}" in page.locator("annotation").first.text_content(), "the link carries p"
    page.get_by_role("slider").first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("M=17"), timeout=20_000)
    page.screenshot(path=str(tmp_path / f"home-{scheme}.png"), full_page=True)
    page.close()
    assert not problems
