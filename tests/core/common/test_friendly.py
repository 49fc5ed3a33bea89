"""Friendly names: stable, the same in a gallery and in the data set it was made from."""

import pytest

from qpwl_core.common.friendly import friendly_names
from qpwl_core.data.datasets import load_dataset
from qpwl_core.models.gallery import load_gallery
from tests.support.places import ROOT


def test_names_follow_the_id_alone_and_seldom_meet():
    many = friendly_names(f"person {i}" for i in range(1000))
    assert len(set(many.values())) > 850
    assert all(friendly_names([person]) == {person: name} for person, name in many.items())
    assert all(len(name) <= 12 for name in many.values())


def test_an_id_that_is_a_name_stays():
    assert friendly_names(["Ann", "mary-jane", "Ó Briain"]) == {name: name for name in ("Ann", "mary-jane", "Ó Briain")}
    assert all(name != person for person, name in friendly_names(["AAF", "04", "s", "p_1"]).items())


@pytest.mark.parametrize("model", ["eeg-uci-qp-wl", "eye-gazecom-qp-wl", "gait-hapt-qp-wl", "gait-ipol-qp-wl"])
def test_a_person_has_one_name_in_every_part_of_a_gallery(model):
    gallery = load_gallery(ROOT / "models" / model)
    everyone = friendly_names(gallery.people)
    for part in ("test", "calibration"):
        assert friendly_names(gallery.part(part).people).items() <= everyone.items()


def test_a_person_has_one_name_in_the_data_set_and_in_its_gallery():
    everyone = friendly_names(load_dataset("gait-hapt-30").subjects.tolist())
    assert friendly_names(load_gallery(ROOT / "models/gait-hapt-qp-wl").people).items() <= everyone.items()
