"""The Quantile layer page: every source, view and step; numbers on screen against NumPy and the core; bad input."""

import math
import re

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import ui.library.models
from qpwl_core.data.datasets import load_dataset
from qpwl_core.models.gallery import load_gallery
from qpwl_core.models.model import load_model
from qpwl_core.transport.approximation import even_levels, quantiles_at
from qpwl_core.transport.distances import wasserstein
from qpwl_core.transport.quantiles import empirical_quantiles
from tests.support.pages import figures_on
from tests.support.places import ROOT
from ui.quantile_layer.levels import parse_levels
from ui.quantile_layer.samples import EXAMPLES, SOURCES, parse_numbers

pytestmark = pytest.mark.filterwarnings("ignore")

VIEWS = ("Samples to quantiles", "How many points", "Distance of two", "Why Wasserstein")
NUMBERS = [3.0, 1.0, 2.0, 7.0, 5.5]
OTHER = [4.0, 9.0, -1.0]


def opened(**state):
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
    page.switch_page("pages/quantile_layer.py")
    for key, value in state.items():
        page.session_state[key] = value
    page.run()
    assert not page.exception
    return page


def set_state(page, **state):
    for key, value in state.items():
        page.session_state[key] = value
    page.run()
    assert not page.exception
    return page


def formulas(page) -> str:
    return "\n".join(str(latex.value) for latex in page.latex)


def charts(page) -> int:
    return len(figures_on(page))


def numbers(**state):
    first, second = " ".join(map(str, NUMBERS)), ",".join(map(str, OTHER))
    return {"ql_source": "Numbers", "ql_text": first, "ql_text2": second} | state


def own_quantiles(x, levels):
    """Q̃ by NumPy: the n-th smallest of N at (n−1)/N, flat at the end."""
    return np.interp(levels, np.arange(len(x) + 1) / len(x), np.append(np.sort(x), np.max(x)))


def test_it_opens_on_a_walk_that_a_network_has_seen():
    page = opened()
    assert not page.error
    assert charts(page) == 1
    assert "Real samples" in page.caption[1].value
    model = load_model(ui.library.models.SHIPPED / "gait-hapt-qp-wl")
    person = page.selectbox(key="ql_person").value
    assert person in model.card["split"]["test"]
    seen, _ = model.recipe.cut(load_dataset("gait-hapt-30").select(subjects=person))
    x = torch.from_numpy(seen.sequences[0].T.copy())[None]
    with torch.inference_mode():
        filters, lengths = model.embedder.network(x, torch.tensor([x.shape[2]]))
    levels = torch.linspace(0, 1, 18, dtype=torch.float64)
    q = empirical_quantiles(filters.double(), lengths, levels)[0, 0]
    assert f"= {np.interp(0.3, levels, q):.4g}" in formulas(page)


def test_every_source_in_every_view_and_at_extremes():
    page = opened()
    for view, count in zip(VIEWS, (1, 3, 5, 2), strict=True):
        for source in SOURCES:
            set_state(page, ql_view=view, ql_source=source)
            assert charts(page) == count
            assert not page.error
        for points, p in ((1, 8.0), (64, 1.0)):
            set_state(page, M=points, p=p)
            assert charts(page) == count
    assert len(page.info) == 1


@pytest.mark.parametrize("label", ["Constant", "Three samples", "Heavy tail"])
def test_try_this(label):
    page = opened()
    page.button(key=f"try-{label}").click().run()
    assert page.session_state["ql_source"] == "Mixture"
    for view in VIEWS:
        for state in ({"M": 1, "p": 8.0}, {"M": 64, "p": 1.0}):
            set_state(page, ql_view=view, **state)
            assert not page.error
            assert "nan" not in formulas(page)
    page.button(key="try-A walk").click().run()
    assert page.session_state["ql_source"] == "Walk"


def test_each_step_says_its_number():
    page = opened(**numbers(ql_r=0.3, M=3))
    levels = np.linspace(0, 1, 5)
    wanted = {
        "Samples": "x_1 &= 3", "Sorted": r"1 &\le \dots \le 7",
        "Q̂": r"\hat Q(0.3) &= x_{\pi(2)} = 2",                               # the ⌈0.3 · 5⌉-th smallest
        "Q̃": f"= {own_quantiles(NUMBERS, 0.3):.4g}",
        "Q̄": f"= {np.interp(0.3, levels, own_quantiles(NUMBERS, levels)):.4g}"}
    for step, text in wanted.items():
        assert text in formulas(set_state(page, ql_step=step)), step
    for r in (0.01, 0.2, 0.99, 1.0):
        for step in wanted:
            set_state(page, ql_step=step, ql_r=r)
        assert f"= {np.interp(r, levels, own_quantiles(NUMBERS, levels)):.4g}" in formulas(page)


def test_error_bound_and_gradient():
    page = opened(**numbers(ql_view="How many points", M=2))
    levels, fine = np.linspace(0, 1, 4), np.linspace(0, 1, 60_001)
    difference = np.abs(own_quantiles(NUMBERS, fine) - np.interp(fine, levels, own_quantiles(NUMBERS, levels)))
    area = re.search(r"\] (\S+) &\\le (\S+) ", formulas(page))
    largest = re.search(r"max.*&= (\S+)\\end", formulas(page))
    assert float(area[1]) == pytest.approx(np.trapezoid(difference, fine), rel=5e-3)
    assert float(area[2]) == pytest.approx(6 / (2 * 3), rel=5e-3)
    assert float(largest[1]) == pytest.approx(difference.max(), rel=5e-3)
    assert any("5 of 5 samples get gradient" in text.value for text in page.markdown)
    set_state(page, M=1)                                                      # levels 0, ½, 1: ranks 0, 2 and 3, 4
    assert any("4 of 5 samples get gradient" in text.value for text in page.markdown)


def test_levels_by_hand_and_learned():
    page = opened(**numbers(ql_view="Distance of two", p=2.0, ql_levels="by hand", ql_hand="0.1 0.2 0.9"))
    levels = torch.tensor([0, 0.1, 0.2, 0.9, 1], dtype=torch.float64)
    a, b = (torch.from_numpy(own_quantiles(x, levels.numpy()))[None] for x in (NUMBERS, OTHER))
    assert f"= {wasserstein(a, b, levels, 2.0).item():.4f}" in formulas(page)
    page.button_group(key="ql_view").set_value("How many points").run()
    assert page.text_input(key="ql_hand").value == "0.1 0.2 0.9", "kept from view to view"
    for bad, word in (("0.5, 0.2", "rise"), ("0, 0.5", "between 0 and 1"), ("x", "not a number"), ("", "no number")):
        page.text_input(key="ql_hand").set_value(bad).run()
        assert word in page.error[0].value
        assert charts(page) == 3
    own = load_gallery(ui.library.models.SHIPPED / "eeg-uci-qp-wl").model_levels
    set_state(page, ql_levels="learned", model="eeg-uci-qp-wl", ql_view="Samples to quantiles")
    assert any(f"M + 2 = {len(own)}" in text.value for text in page.markdown)
    a = own_quantiles(NUMBERS, own)
    assert f"= {np.interp(0.3, own, a):.4g}" in formulas(page)
    set_state(page, model="eeg-uci-mp-npl")
    assert "no levels" in page.info[0].value


@pytest.mark.parametrize("p", [1.0, 2.0, 8.0])
def test_the_distance_on_screen(p):
    page = opened(**numbers(ql_view="Distance of two", p=p, M=6))
    levels, fine = np.linspace(0, 1, 8), np.linspace(0, 1, 200_001)
    a, b = (np.interp(fine, levels, own_quantiles(x, levels)) for x in (NUMBERS, OTHER))
    shown = float(re.search(r"&= (\d+\.\d{4})\\end", formulas(page))[1])
    assert shown == pytest.approx(np.trapezoid(np.abs(a - b) ** p, fine) ** (1 / p), abs=2e-4)
    text = next(c.value for c in page.caption if "triangle inequality" in c.value)
    exact, slack, plan = (float(x) for x in re.findall(r"\d+\.?\d*", text))
    a, b = (own_quantiles(x, fine) for x in (NUMBERS, OTHER))
    assert exact == pytest.approx(np.trapezoid(np.abs(a - b) ** p, fine) ** (1 / p), abs=2e-4)
    assert abs(exact - shown) <= slack * 1.01
    a, b = np.repeat(np.sort(NUMBERS), 3), np.repeat(np.sort(OTHER), 5)
    assert plan == pytest.approx(np.mean(np.abs(a - b) ** p) ** (1 / p), abs=1e-4)


def test_the_papers_point():
    page = opened(**numbers(ql_view="Why Wasserstein", p=3.0))
    width = max(NUMBERS) - min(NUMBERS)
    for shift in (1.0, 1.05, 1.5, 3.0):
        text = formulas(set_state(page, ql_shift=shift))
        assert f"J &= {math.log(2):.4f} & " r"\tfrac{dJ}{ds} &= 0.0000" in text
        assert f"&= {shift * width:.4f} & " r"\tfrac{dW}{ds} &= 1.0000" in text
    assert page.info[0].value.startswith("Apart")
    text = formulas(set_state(page, ql_shift=0.5))
    assert float(re.search(r"\{dJ\}\{ds\} &= (\S+) ", text)[1]) > 0.01
    assert page.info[0].value.startswith("They overlap")
    assert r"J &= 0.0000" in formulas(set_state(page, ql_shift=0.0))


@pytest.mark.parametrize(("text", "word"), [
    ("", "no number"), ("  ,; \n", "no number"), ("1 2 three", "not a number"), ("1 nan", "finite"), ("inf", "finite"),
    ("1e300", "not beyond"), ("1 " * 10_001, "at most 10,000"), ("9" * 500_000, "paste fewer"),
    ("[click](http://x) $x$", "not a number")])
def test_bad_numbers_are_one_sentence(text, word):
    with pytest.raises(ValueError, match=word):
        parse_numbers(text)


def test_bad_numbers_leave_the_page_intact():
    page = opened(**numbers(ql_text="1 2 *three*"))
    assert r"“\*three\*”\, is not a number" in page.error[0].value, "shown as it is, not as Markdown"
    assert charts(page) == 1
    page.text_area(key="ql_text").set_value("1 " * 3000).run()               # too long for a link
    assert not page.error
    assert "too many for the link" in page.caption[1].value
    page.text_area(key="ql_text").set_value("-4.5").run()                    # N = 1
    for view in VIEWS:
        assert not set_state(page, ql_view=view).error
    assert parse_numbers(EXAMPLES[0]).size == 8


def test_levels_are_bounded():
    assert parse_levels("0.5").tolist() == [0, 0.5, 1]
    with pytest.raises(ValueError, match="at most 64"):
        parse_levels(" ".join(str(i / 70) for i in range(1, 70)))


def test_no_weight_at_all_is_said():
    page = opened(ql_source="Mixture", ql_weight_1=0.0, ql_weight_2=0.0, ql_weight_3=0.0)
    assert "All weights are 0" in page.error[0].value
    assert charts(page) == 1


def test_a_filter_is_drawn_again_from_its_gallery():
    page = opened(ql_source="Filter", model="eeg-uci-qp-wl", ql_person="nobody", ql_filter="999", ql_N=1)
    assert "drawn again" in page.caption[1].value
    gallery = load_gallery(ui.library.models.SHIPPED / "eeg-uci-qp-wl")
    values = gallery.values[gallery.subjects == page.selectbox(key="ql_person").value][0, 0]
    x = np.interp(np.random.default_rng(0).random(1), gallery.levels, values.astype(float))[0]
    assert f"= {x:.4g}" in formulas(page)


def test_no_model_and_a_broken_one(monkeypatch, tmp_path):
    monkeypatch.setenv("QPWL_RUNS", str(tmp_path / "runs"))
    shipped = ui.library.models.SHIPPED
    broken = tmp_path / "models" / "gait-hapt-qp-wl"
    monkeypatch.setattr(ui.library.models, "SHIPPED", tmp_path / "models")
    page = opened()
    assert "No model is at hand" in page.info[0].value
    assert charts(page) == 1
    set_state(page, ql_levels="learned", ql_view="Distance of two")
    assert charts(page) == 5
    broken.mkdir(parents=True)
    (broken / "card.json").write_bytes((shipped / "gait-hapt-qp-wl" / "card.json").read_bytes())
    (broken / "model.safetensors").write_bytes(b"no weights")
    page = opened(ql_view="How many points")
    assert "cannot be read" in page.info[0].value
    assert charts(page) == 3


def test_what_p_and_m_do_to_one_pair_is_the_cores():
    page = set_state(opened(), ql_view="Distance of two", ql_source="Numbers", p=2.0, M=4)
    x, y = (torch.tensor(parse_numbers(text)) for text in EXAMPLES)
    over_p, over_m = (next(figure for figure in figures_on(page) if figure["layout"]["xaxis"]["title"]["text"] == name)
                      for name in ("order p", "sampling points M"))

    def w(m, p):
        levels = even_levels(m)
        return wasserstein(quantiles_at(x, levels)[None], quantiles_at(y, levels)[None], levels, p).item()

    assert over_p["data"][-1]["x"] == [2.0]
    assert over_p["data"][-1]["y"] == pytest.approx([w(4, 2.0)])
    assert over_m["data"][-1]["x"] == [4]
    assert over_m["data"][0]["y"] == pytest.approx([w(m, 2.0) for m in over_m["data"][0]["x"]])
