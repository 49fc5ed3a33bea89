"""Rows that learn nothing: quantiles of the recipe's channels, and dynamic time warping."""

import numpy as np
import pytest
import torch

from qpwl_core.cli import main as cli
from qpwl_core.common.files import read_json
from qpwl_core.evaluation.evaluate import evaluate_model
from qpwl_core.models.aggregation import FRAMES, Frames
from qpwl_core.models.gallery import build_gallery
from qpwl_core.models.model import load_model
from qpwl_core.training.loop import train
from qpwl_core.transport.distances import pairwise_by, pairwise_wasserstein
from qpwl_core.transport.quantiles import QuantileLayer
from qpwl_core.transport.warping import pairwise_dtw
from tests.support.tiny import tiny_config, tiny_recordings

METHODS = ("untrained", "untrained-cosine", "dtw")


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_learned_and_a_model_comes_out(method, tmp_path):
    recordings = tiny_recordings()
    records = list(train(tiny_config(method=method), recordings, tmp_path))
    assert [record.step for record in records] == [0, 0]
    assert records[0].auc == records[-1].best_auc > 0.5
    model = load_model(tmp_path)
    assert model.card["training"]["steps"] == 0
    np.testing.assert_array_equal(model.distances(model.embed(recordings)),
                                  records[-1].model.distances(records[-1].model.embed(recordings)))
    summary, _ = evaluate_model(model, recordings)
    assert 0.5 < summary["verification"]["1"]["auc"] <= 1


def test_what_learns_nothing_is_compared_like_any_other_model(tmp_path, capsys):
    recordings = tiny_recordings()
    recordings.save(tmp_path / "people.npz")
    for method in ("qp-wl", *METHODS):
        list(train(tiny_config(method=method), recordings, tmp_path / method))
    folders = [str(tmp_path / method) for method in ("qp-wl", *METHODS)]
    assert cli.main(["compare", *folders, "--data", str(tmp_path / "people.npz"), "--json",
                     str(tmp_path / "found.json")]) == 0
    printed = capsys.readouterr().out
    found = read_json(tmp_path / "found.json")
    for method in METHODS:
        assert f"qp-wl − {method}  n = 1" in printed
        model = load_model(tmp_path / method)
        alone, _ = evaluate_model(model, recordings)
        assert found["models"][method]["verification"] == alone["verification"]
    assert cli.main(["compare", *folders]) == 2
    assert "gallery.safetensors is not there" in capsys.readouterr().err, "of qp-wl, which could have one"
    assert cli.main(["compare", folders[-1], folders[0]]) == 2
    assert capsys.readouterr().err == ("qpwl_core: dtw warps sequences themselves, which no gallery keeps: name "
                                       "recordings with --data\n")


def test_untrained_is_the_quantile_layer_on_what_the_recipe_gives():
    recordings = tiny_recordings()
    *_, last = train(tiny_config(method="untrained", points=5, p=2.0), recordings)
    seen, _ = last.model.recipe.cut(recordings)
    layer = QuantileLayer(5, learn_levels=False)
    values = torch.cat([layer(torch.from_numpy(x.T.copy())[None]) for x in seen.sequences])
    wanted = pairwise_wasserstein(values, values, layer.levels, 2.0)
    np.testing.assert_allclose(last.model.distances(last.model.embed(recordings)), wanted, rtol=1e-5, atol=1e-6)


def slow_dtw(a, b, window):
    """The textbook table: smallest sum of squared distances along a warp, and its root."""
    n, m = len(a), len(b)
    table = np.full((n + 1, m + 1), np.inf)
    table[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if abs(i - j) < window:
                table[i, j] = np.square(a[i - 1] - b[j - 1]).sum() + min(table[i - 1, j], table[i, j - 1],
                                                                         table[i - 1, j - 1])
    return np.sqrt(table[n, m])


def test_dtw_against_the_textbook():
    x = torch.randn(5, 3, 20, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    wanted = [[slow_dtw(a.T.numpy(), b.T.numpy(), 5) for b in x[2:]] for a in x[:2]]
    np.testing.assert_allclose(pairwise_dtw(x[:2], x[2:]), wanted, rtol=1e-9)
    whole = pairwise_dtw(x, x)
    np.testing.assert_allclose(whole[:2, 2:], wanted, rtol=1e-9)
    np.testing.assert_allclose(whole, whole.T)
    assert (whole.diagonal() == 0).all()
    assert torch.equal(pairwise_by("dtw", x, x), whole)


def test_dtw_forgives_a_shift_in_time_where_euclid_does_not():
    time = torch.linspace(0, 6, FRAMES, dtype=torch.double)
    one, late, other = (torch.sin(t)[None, None] for t in (time, time - 0.3, 1.7 * time))
    assert pairwise_dtw(one, late) < 0.3 * pairwise_by("euclidean", one, late)
    assert pairwise_dtw(one, late) < pairwise_dtw(one, other)


def test_frames_are_the_sequence_at_another_length():
    y = torch.linspace(0, 1, 11).expand(2, 1, 11).clone()
    y[1, :, 6:] = 99.0                                                       # padding
    found = Frames()(y, torch.tensor([11, 6]))
    torch.testing.assert_close(found[0, 0], torch.linspace(0, 1, FRAMES))
    torch.testing.assert_close(found[1, 0], torch.linspace(0, 0.5, FRAMES))
    assert Frames()(y, torch.tensor([1, 1])).eq(0).all()


@pytest.mark.parametrize(("a", "b", "match"), [
    (torch.zeros(1, 2, 3), torch.zeros(1, 2, 4), "a and b must be"),
    (torch.zeros(2, 3), torch.zeros(2, 3), "a must have 3"),
    (torch.full((1, 1, 2), float("nan")), torch.zeros(1, 1, 2), "a must be finite")])
def test_what_cannot_be_warped(a, b, match):
    with pytest.raises(ValueError, match=match):
        pairwise_dtw(a, b)


def test_there_is_no_gallery_of_whole_sequences():
    recordings = tiny_recordings()
    *_, last = train(tiny_config(method="dtw"), recordings)
    with pytest.raises(ValueError, match="does not keep"):
        build_gallery(last.model, recordings)
    *_, last = train(tiny_config(method="untrained"), recordings)
    gallery = build_gallery(last.model, recordings)
    np.testing.assert_allclose(gallery.distances(), last.model.distances(last.model.embed(recordings)), rtol=1e-4)
