"""The nearest of many: the same as comparing all, while most are never compared."""

import numpy as np
import pytest
import torch

from qpwl_core.transport import kernels as module
from qpwl_core.transport.distances import pairwise_wasserstein
from qpwl_core.transport.nearest import Nearest, open_rows

LEVELS = torch.linspace(0, 1, 7) ** 1.2


def many(people=150, each=5, spread=3.0, seed=0):
    """Sequences of people who differ, and probes of number 17."""
    random = torch.Generator().manual_seed(seed)
    middle = spread * torch.randn(people, 1, 5, 1, generator=random)
    rows = (middle + torch.randn(people, each, 5, 7, generator=random)).sort(-1).values
    probes = (middle[17] + torch.randn(3, 5, 7, generator=random)).sort(-1).values
    return rows.flatten(0, 1).contiguous(), probes


@pytest.fixture(params=["compiled", "no compiler"])
def either(request, monkeypatch):
    if request.param == "no compiler":
        monkeypatch.setattr(module, "_loaded", [None])


@pytest.mark.parametrize("p", [1.0, 2.0, 2.5, 3.0])
def test_all_distances_are_the_pairwise_ones(p, either):
    rows, probes = many()
    nearest = Nearest(rows, LEVELS, p)
    wanted = pairwise_wasserstein(probes.double(), rows.double(), LEVELS.double(), p).numpy()
    np.testing.assert_allclose(nearest.distances(probes), wanted, rtol=1e-6)
    which = np.array([700, 3, 3, 41])
    np.testing.assert_allclose(nearest.distances(probes, which), wanted[:, which], rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1e3])
@pytest.mark.parametrize("p", [1.0, 2.5])
def test_no_distance_is_below_its_bound(p, shift, scale):
    """Also where sequences differ in their means alone, so that bound and distance are the same number."""
    rows, probes = many(20)
    rows[:20] = probes[0] + torch.randn(20, 5, 1, generator=torch.Generator().manual_seed(1)).abs()
    rows[20] = probes[0]
    rows, probes = (rows + shift) * scale, (probes + shift) * scale
    nearest = Nearest(rows, LEVELS, p)
    assert (nearest.bounds(probes) <= nearest.distances(probes)).all()
    assert nearest.bounds(probes).max() > 0


@pytest.mark.parametrize("spread", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("p", [1.0, 2.5])
def test_a_search_finds_what_comparing_all_finds(p, spread, monkeypatch):
    monkeypatch.setattr("qpwl_core.transport.nearest.FIRST", 4)
    rows, probes = many(spread=spread)
    nearest, starts = Nearest(rows, LEVELS, p), np.arange(0, len(rows), 5)
    wanted = np.minimum.reduceat(nearest.distances(probes), starts, axis=1).mean(0, dtype=np.float64)
    for most in (1, 10):
        found = nearest.search(probes, most, starts, also=(99,))
        order = np.argsort(wanted, kind="stable")[:most]
        assert found.groups[:most].tolist() == order.tolist()
        np.testing.assert_array_equal(found.distances[:most], wanted[order])
        assert 99 in found.groups
        assert 0 <= found.pruned < 1
        if spread == 3:
            assert found.pruned > 0.8
    alone = nearest.search(probes[:1], 3)
    assert alone.groups[:3].tolist() == np.argsort(nearest.distances(probes[:1])[0], kind="stable")[:3].tolist()


def test_rows_in_a_file_are_not_loaded(tmp_path):
    rows, probes = many()
    np.save(tmp_path / "rows.npy", rows.numpy())
    mapped = open_rows(tmp_path / "rows.npy")
    found, wanted = (Nearest(x, LEVELS).search(probes, 5) for x in (mapped, rows))
    assert isinstance(mapped, np.memmap)
    np.testing.assert_array_equal(found.groups, wanted.groups)
    np.testing.assert_array_equal(found.distances, wanted.distances)


@pytest.mark.parametrize("p", [1.0, 2.0, 2.5])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 100.0])
def test_float16_is_off_by_no_more_than_it_says(p, scale, tmp_path):
    """Every distance is within its bound of that to what was rounded, and the nearest are the nearest but for it."""
    rows, probes = (x * scale for x in many())
    np.save(tmp_path / "rows.npy", rows.numpy().astype(np.float16))
    half, full = Nearest(open_rows(tmp_path / "rows.npy"), LEVELS, p), Nearest(rows, LEVELS, p)
    which = np.arange(len(rows))
    off, exact = half.rounding(which), full.distances(probes)
    assert (np.abs(half.distances(probes) - exact) <= off + 1e-6 * exact).all()
    assert (np.abs(half.distances(probes) - exact) > off / 1000).any(), "a bound, and not a guess"
    assert (full.rounding(which) == 0).all()
    found, wanted = half.search(probes, 5), exact.mean(0)
    assert 0 < found.rounding <= off.max()
    assert (wanted[found.groups[:5]] <= np.sort(wanted)[:5] + 2 * found.rounding + 1e-6 * wanted.max()).all()
    assert full.search(probes, 5).rounding == 0


def test_bounds_hold_for_very_many_filters():
    """A sum of 20,000 terms in float32 is off by more than one of 64, and the bound gives way by as much."""
    torch.manual_seed(0)
    rows = torch.rand(40, 20_000, 1).expand(-1, -1, 7).contiguous() * 1e-3 + 1      # so that W_p is that of the means
    nearest = Nearest(rows, LEVELS)
    assert (nearest.bounds(rows[:3]) <= nearest.distances(rows[:3])).all()


def test_what_does_not_fit_is_named():
    rows, probes = many(20)
    with pytest.raises(ValueError, match="rows must be"):
        Nearest(rows.double(), LEVELS)
    with pytest.raises(ValueError, match="probes must be"):
        Nearest(rows, LEVELS).distances(probes[:, :2])
    with pytest.raises(ValueError, match="probes must be finite"):
        Nearest(rows, LEVELS).distances(probes * torch.nan)
