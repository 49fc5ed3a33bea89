"""Verification in a real browser."""

import pytest
from scipy.special import ndtri

from qpwl_core.evaluation.trials import at_threshold, attack
from tests.support.matching import counts, said, trials_of
from ui.library import models as library


@pytest.mark.browser
def test_two_models_a_threshold_and_an_attack(visit, tmp_path):
    page = visit("/verification")
    alert = page.locator('[data-testid="stAlert"]').filter(has_text="imposters get in")
    alert.wait_for(timeout=180_000)
    page.locator(".js-plotly-plot").nth(1).wait_for(timeout=120_000)
    before = alert.inner_text()
    page.locator('[data-testid="stSlider"]').filter(has_text="Threshold").get_by_role("slider").focus()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("old => [...document.querySelectorAll('[data-testid=\"stAlert\"]')].every("
                           "e => e.innerText != old)", arg=before, timeout=120_000)
    page.wait_for_timeout(2500)               # the curves are below what can be seen, and follow a second later
    threshold, numbers = said(" ".join(alert.inner_text().split()))
    entry = next(e for e in library.entries() if e.has_gallery and e.method == "qp-wl")
    assert numbers == counts(at_threshold(*trials_of(entry).of(1), threshold)), "the sentence and metrics"
    data = page.evaluate("[...document.querySelectorAll('.js-plotly-plot')].map(p => ({traces: p.data.map(t => "
                         "({name: t.name, x: Array.from(t.x), y: Array.from(t.y)})), shapes: p.layout.shapes || []}))")
    histogram, curves = data
    assert histogram["shapes"][0]["x0"] == pytest.approx(threshold, rel=1e-3), "the line in the histogram"
    marker, on_det = (trace for trace in curves["traces"] if trace["name"] == f"threshold, {entry.title}")
    assert marker["x"][0] == pytest.approx(numbers[0] / numbers[1]), "the marker on the curve: imposters"
    assert marker["y"][0] == pytest.approx(1 - numbers[2] / numbers[3]), "and owners"
    assert on_det["x"][0] == pytest.approx(ndtri(numbers[0] / numbers[1])), "and on the DET curve"
    page.screenshot(path=tmp_path / "verification.png")
    page.get_by_role("link", name="Identification and imposters").click()
    page.get_by_text("The attack", exact=True).click()
    alert = page.locator('[data-testid="stAlert"]').filter(has_text="imposters get in")
    alert.wait_for(timeout=120_000)
    trials = trials_of(entry)
    inside = int(attack(trials.scores[0, 0], threshold, trials.people)["gets_in"].sum())
    assert f"{inside} of {len(trials.people)} imposters get in" in " ".join(alert.inner_text().split())
    page.screenshot(path=tmp_path / "attack.png")
