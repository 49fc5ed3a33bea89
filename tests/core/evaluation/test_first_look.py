"""What a first page says of a gallery, against the core; and that it takes no PyTorch."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from qpwl_core.evaluation.first_look import FILE, first_look, look_at, typical_seed
from qpwl_core.models.aggregation import AGGREGATIONS
from qpwl_core.models.gallery import load_gallery
from qpwl_core.models.methods import POOLINGS
from qpwl_core.transport.distances import wasserstein
from qpwl_core.transport.measures import wasserstein_of_few
from tests.support.places import ROOT

SHIPPED = ROOT / "models" / "eeg-uci-qp-wl"


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 7.3])
def test_w_p_of_few_is_that_of_the_core(p):
    random = np.random.default_rng(0)
    a, b = np.sort(random.normal(size=(2, 5, 6, 9)), axis=-1)
    b[0] = a[0] + 1                                                  # the ends of a segment differ alike
    b[1] = a[1]                                                      # nothing differs
    levels = np.concatenate([[0], np.sort(random.random(7)), [1]])
    core = wasserstein(*map(torch.from_numpy, (a, b, levels)), p, per_filter=True).numpy()
    np.testing.assert_allclose(wasserstein_of_few(a, b, levels, p), core, rtol=1e-9, atol=1e-12)


def test_what_ships_is_what_the_core_computes():
    kept, computed = first_look(SHIPPED), look_at(load_gallery(SHIPPED))
    assert (SHIPPED / FILE).exists()
    assert kept.order[0] == computed.order[0]
    assert (kept.seed, kept.ranked_on, kept.nearer[0][1]) == (computed.seed, computed.ranked_on, computed.nearer[0][1])
    np.testing.assert_allclose(kept.aucs, computed.aucs, atol=1e-4)
    np.testing.assert_allclose(kept.nearer, computed.nearer, rtol=1e-4)      # another processor rounds otherwise


def test_what_is_kept_holds_for_its_gallery_alone(tmp_path):
    for name in (FILE, "gallery.safetensors", "card.json"):
        (tmp_path / name).write_bytes((SHIPPED / name).read_bytes())
    text = (tmp_path / FILE).read_text(encoding="utf-8")
    (tmp_path / FILE).write_text(text.replace('"gallery": "', '"gallery": "0'), encoding="utf-8")
    assert first_look(tmp_path).seed == first_look(SHIPPED).seed             # computed
    (tmp_path / FILE).write_text("[]", encoding="utf-8")
    assert first_look(tmp_path).seed == first_look(SHIPPED).seed


def test_a_typical_triple_does_not_hang_on_how_a_processor_rounds():
    """Two of fifty are in the middle; as near to their mean is either, and rounding chose."""
    gallery = load_gallery(SHIPPED)
    found = {typical_seed(replace(gallery, values=gallery.values * (1 + noise)), k)
             for k in range(4) for noise in np.linspace(-1e-5, 1e-5, 9)}
    assert len(found) <= 4, "one per filter"


def test_names_of_aggregations_are_those_there_are():
    assert set(POOLINGS) <= set(AGGREGATIONS)


def test_home_is_drawn_before_anything_heavy_is_loaded():
    code = """
import sys
from streamlit.testing.v1 import AppTest
page = AppTest.from_file("app.py", default_timeout=60).run()
assert not page.exception and len(page.metric) == 4, page
print([name for name in ("torch", "scipy", "sklearn", "mne", "sqlalchemy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
