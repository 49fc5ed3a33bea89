"""Data in a real browser."""

import pytest

from tests.support.tiny import tiny_npz


@pytest.mark.browser
def test_in_a_browser(visit, tmp_path):
    page = visit("/data?data=eye-simulated&data_view=Sequences&data_one=sim003")
    page.locator(".js-plotly-plot .gl-canvas, .js-plotly-plot canvas").first.wait_for(timeout=120_000)
    assert page.get_by_text("simulated: no person was recorded").is_visible()
    assert page.get_by_text("(sim003)").first.is_visible(), "the link carries the person"
    page.get_by_role("radio", name="Your own").click()
    path = tmp_path / "walk.npz"
    path.write_bytes(tiny_npz())
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_text("8 people, 48 sequences").wait_for(timeout=60_000)
    path.with_name("bad.csv").write_bytes(b"")
    page.locator("input[type=file]").set_input_files(path.with_name("bad.csv"))
    page.get_by_text("is empty").wait_for(timeout=60_000)
