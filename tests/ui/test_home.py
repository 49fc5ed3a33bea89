"""The home page, driven without a browser and in a real one: with a model, with none, with a broken one."""

import json
import subprocess
import sys
from collections import deque

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import ui.library.models
from qpwl_core.data.datasets import load_dataset
from qpwl_core.evaluation.first_look import typical_seed
from qpwl_core.evaluation.pairs import draw_triple, filter_aucs, pairs_of, strangers_nearer
from qpwl_core.models.gallery import build_gallery, load_gallery
from qpwl_core.training.loop import train
from qpwl_core.transport.distances import wasserstein
from qpwl_core.transport.quantiles import QuantileLayer
from tests.support.places import ROOT
from tests.support.tiny import tiny_config, tiny_recordings

# Streamlit and what it brings warn about themselves; that is theirs to mend.
pytestmark = pytest.mark.filterwarnings("ignore")


def home():
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert not page.exception
    return page


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A folder with one small model and its gallery, as those that ship."""
    home = tmp_path_factory.mktemp("models")
    model = deque(train(tiny_config(method="qp-wl"), tiny_recordings()), maxlen=1).pop().model
    model.card = {"title": "Tiny *model*", "terms": {"citation": "Nobody [et al.](x)", "licence": "CC0 1.0"}}
    build_gallery(model, tiny_recordings(5, seed=9), tiny_recordings(3, seed=7)).save(model.save(home / "tiny-qp-wl"))
    return home


@pytest.fixture
def shipped(model, monkeypatch, tmp_path):
    monkeypatch.setattr(ui.library.models, "SHIPPED", model)
    monkeypatch.setenv("QPWL_RUNS", str(tmp_path))
    return model / "tiny-qp-wl"


@pytest.fixture
def nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(ui.library.models, "SHIPPED", tmp_path / "models")
    monkeypatch.setenv("QPWL_RUNS", str(tmp_path / "runs"))
    return tmp_path / "models"


def shown_triple(folder, number=1):
    gallery = load_gallery(folder)
    others, people = gallery.part("calibration"), gallery.part("test")
    seen = others.embeddings()
    k = int(filter_aucs(seen.values, seen.levels, pairs_of(others.subjects, others.sources), gallery.p).argmax())
    first = typical_seed(gallery, k)
    return people, k, draw_triple(people.subjects, people.sources, first + number - 1)


@pytest.mark.parametrize("p", [1.0, 2.5])
def test_the_numbers_on_screen_are_those_of_the_core(shipped, p):
    page = home()
    page.slider(key="p").set_value(p).run()
    people, k, (a, b, c) = shown_triple(shipped)
    seen = people.embeddings()
    same, different = (wasserstein(seen.values[a], seen.values[i], seen.levels, p, per_filter=True) for i in (b, c))
    one, every = (latex.value for latex in page.latex)
    assert f"= {same[k]:.3f} \\;\\text{{ and }}\\; {different[k]:.3f}" in one
    assert f"= {same.sum():.2f} \\;\\text{{ and }}\\; {different.sum():.2f}" in every
    nearer, triples = strangers_nearer(people.distances(p=p), people.subjects, people.sources)
    assert f"{same.sum():.2f} to themselves, {different.sum():.2f} to the other" in (
        page.success or page.warning)[0].value
    said = " ".join(text.value for text in page.markdown)
    assert bool(page.success) == (same.sum() < different.sum())
    assert f"Over all {triples:,} such triples of these 5 people" in said
    assert f"the stranger is nearer in {nearer / triples:.1%}" in said
    assert f"Filter {k + 1} of 4" in page.caption[0].value


def test_names_and_terms_are_plain_text(shipped):
    page = home()
    assert "Tiny \\*model\\*" in page.caption[0].value
    assert "Nobody \\[et al" in " ".join(caption.value for caption in page.caption)


def test_another_pair_and_an_honest_sentence_when_the_stranger_is_nearer(shipped):
    page, seen = home(), set()
    people, _, _ = shown_triple(shipped)
    own = people.distances()
    for number in range(2, 30):
        next(button for button in page.button if button.label == "Another pair").click().run()
        assert page.number_input(key="home_draw").value == number
        _, _, (a, b, c) = shown_triple(shipped, number)
        seen.add(bool(own[a, b] < own[a, c]))
        assert len(page.success) == (own[a, b] < own[a, c])
        assert len(page.warning) == (own[a, b] >= own[a, c])
        if seen == {True, False}:
            break
    assert seen == {True, False}


def test_tour_and_state(shipped):
    page = home()
    assert [metric.label for metric in page.metric] == ["Models", "Data sets", "Device", "Cores"]
    assert page.metric[0].value == "1"
    assert len(page.get("page_link")) == 12


def test_with_no_model_the_raw_signals_are_shown(nothing):
    page = home()
    walks = load_dataset("gait-hapt-30").select(subjects=page.selectbox(key="one").value)
    walks = walks.select(stimuli=["walking@session1", "walking@session2"])
    layer = QuantileLayer(16)
    a, b = (layer(torch.from_numpy(s[None, None, :, 0].copy())) for s in walks.sequences[:2])
    assert page.metric[0].value == f"{wasserstein(a, b, layer.levels).item():.4f} g"
    assert "No model is at hand" in page.info[-1].value
    page.slider(key="M").set_value(1).run()
    page.selectbox(key="signal").set_value("gyro_z").run()
    assert page.metric[0].value.endswith("rad/s")
    page.selectbox(key="other").set_value(page.selectbox(key="one").value).run()
    assert not page.exception
    assert "two different people" in page.info[0].value


@pytest.mark.parametrize("damage", ["gallery", "weights"])
def test_a_broken_model_is_one_sentence(shipped, nothing, damage):
    folder = nothing / "broken"
    folder.mkdir(parents=True)
    for name in ("card.json", "gallery.safetensors"):
        (folder / name).write_bytes((shipped / name).read_bytes())
    if damage == "gallery":
        (folder / "gallery.safetensors").write_bytes(b"nonsense")
    else:
        card = json.loads((folder / "card.json").read_text())
        (folder / "card.json").write_text(json.dumps(card | {"sha256": "0" * 64}))
    page = home()
    assert "cannot be shown" in page.warning[0].value
    assert page.selectbox(key="one")


def test_triples_by_counting_one_by_one():
    random = np.random.default_rng(0)
    subjects, sources = np.array(list("aaabbc")), np.array([0, 0, 1, 2, 3, 4])
    distances = random.random((6, 6))
    found = [distances[i, k] < distances[i, j] for i in range(6) for j in range(6) for k in range(6)
             if subjects[i] == subjects[j] and sources[i] != sources[j] and subjects[i] != subjects[k]]
    assert strangers_nearer(distances, subjects, sources) == (sum(found), len(found))
    for seed in range(50):
        i, j, k = draw_triple(subjects, sources, seed)
        assert subjects[i] == subjects[j] != subjects[k]
        assert sources[i] != sources[j]
    with pytest.raises(ValueError, match="two people"):
        draw_triple(["a", "a"], [0, 1], 0)


def test_what_home_needs_is_loaded_before_it_is_asked_for():
    """By the server, while a browser still reads Streamlit's files: the page itself loads none of our modules, and
    neither of the two needs PyTorch or pandas."""
    code = """
import importlib, json, sys
import ui.serve
from streamlit.testing.v1 import AppTest
for name in ui.serve.HOME:
    importlib.import_module(name)
loaded = set(sys.modules)
page = AppTest.from_file(sys.argv[1], default_timeout=60).run()
assert not page.exception and page.title[0].value == "QP-WL Lab"
later = {name for name in set(sys.modules) - loaded if name.split(".")[0] in ("ui", "qpwl_core")}
print(json.dumps([sorted(later), [m for m in ("torch", "pandas") if m in sys.modules]]))
"""
    done = subprocess.run([sys.executable, "-c", code, str(ROOT / "app.py")], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [[], []]
