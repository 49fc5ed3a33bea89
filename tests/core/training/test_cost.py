"""What a training costs, told beforehand, against one that is really made."""

import time

import pytest

from qpwl_core.data.datasets import load_dataset
from qpwl_core.models.config import preset
from qpwl_core.training.cost import DOUBT, ONCE, Cost, measure
from qpwl_core.training.loop import train
from tests.support.tiny import tiny_config, tiny_recordings


def test_it_is_within_a_factor_of_two():
    """A busy machine may disturb one comparison, but not all of five."""
    recordings = load_dataset("speech-vowels-9")
    config = preset("quick", "generic", iterations=12, validate_every=6)
    ratios = []
    for _ in range(5):
        told = measure(config, recordings, held_out=10).training(config)
        began = time.perf_counter()
        for _ in train(config, recordings):
            pass
        ratios.append(told / (time.perf_counter() - began))
        if 0.5 < ratios[-1] < 2:
            return
    raise AssertionError(ratios)


def test_the_parts_add_up():
    cost = Cost(step=0.1, validation=1.0, ending=3.0, doubt=DOUBT)
    config = tiny_config(iterations=10, validate_every=4)
    assert cost.training(config) == pytest.approx(1 + 3)
    assert cost.whole(config) == pytest.approx((ONCE + 7, DOUBT * (ONCE + 7)))
    assert cost.grid(config, 2)[0] == pytest.approx(ONCE + 2 * (4 + 1.5))


@pytest.mark.parametrize("pairs", [2, 4, 100])
def test_any_batch(pairs):
    cost = measure(tiny_config(pairs=pairs), tiny_recordings(people=20), held_out=12, threads=1)
    assert 0 < cost.step < 5
    assert cost.ending > 0


def test_too_few_people_are_an_error():
    with pytest.raises(ValueError, match="at least three people"):
        measure(tiny_config(), tiny_recordings(people=2), held_out=12)
