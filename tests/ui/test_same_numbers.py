"""A number that appears on two pages is the same number: all are held against the core, and so against each other."""

import re

import pytest

from qpwl_core.common.friendly import friendly_names
from qpwl_core.data.datasets import DATASETS
from qpwl_core.data.splits import split_dataset
from qpwl_core.desk.database import Desk
from qpwl_core.desk.space import space_of_gallery
from qpwl_core.evaluation.trials import auc_by_n
from qpwl_core.models.gallery import load_gallery
from tests.support.matching import trials_of
from tests.support.pages import opened, said
from ui.library.data import recordings_of
from ui.library.models import SHIPPED, Entry

pytestmark = pytest.mark.filterwarnings("ignore")        # Streamlit and what it brings warn about themselves


@pytest.mark.parametrize("model", ["eeg-uci-qp-wl", "gait-hapt-qp-wl"])
def test_the_auc_of_a_model_on_distances_and_in_three_views_of_verification(model):
    auc = auc_by_n(trials_of(Entry(model, "ships", SHIPPED / model, {})))["auc"][0]
    page = opened("distances", model=model)
    assert re.search(r"AUC (\S+) against", said(page, "markdown"))[1] == f"{auc:.3f}"
    page = opened("verification", models=[model], verification_view="paper")
    assert page.table[0].value["n = 1"][0].split()[0] == f"{auc:.4f}"
    page.segmented_control(key="verification_view").set_value("sure").run()
    assert page.table[0].value["AUC"][0].split()[0] == f"{auc:.3f}"
    page = opened("distances", model=model, distances_view="tune")
    assert f"{auc:.3f}" in " ".join(element.proto.json for element in page.get("bidi_component")), "the present setting"


@pytest.mark.parametrize("data", ["gait-hapt-30", "eeg-simulated"])
def test_the_people_of_a_split_on_data_and_on_train(data):
    parts = split_dataset(DATASETS[data], recordings_of(data), 0)
    people = [len(set(parts.recordings.subjects[parts.index[part]])) for part in ("train", "validation", "test")]
    page = opened("data", data=data, data_view="Split")
    assert page.dataframe[0].value["subjects"].tolist()[:3] == people
    page = opened("train", data=data)
    words = f"{people[0]} people to learn from, {people[1]} to validate on, {people[2]} to test on"
    assert words in said(page, "markdown")


def test_a_person_has_one_name_on_filters_verification_and_at_the_desk(tmp_path, monkeypatch):
    monkeypatch.setenv("QPWL_DESK", str(tmp_path))
    gallery = load_gallery(SHIPPED / "gait-hapt-qp-wl")
    person = gallery.part("test").people[0]
    name = friendly_names([person])[person]
    assert f"{name} ({person})" in opened("filters", model="gait-hapt-qp-wl").multiselect(key="filters_people").options
    page = opened("identification", models=["gait-hapt-qp-wl"], identification_view="mistaken")
    assert f"{name} ({person})" in page.selectbox(key="who").options
    page = opened("desk", model="gait-hapt-qp-wl")
    assert f"{name} ({person})" in page.selectbox(key="desk-person").options
    page.button(key="desk-three").click().run()
    assert name in [each.name for each in Desk(tmp_path, space_of_gallery(gallery)).people()]
