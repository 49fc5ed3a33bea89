"""What the commit before the house wrote still loads and means the same: recordings, models, a run, a desk, a study.

`artefacts/before_the_house/` was written by that commit on other paths and under other module names.
"""

import shutil

import numpy as np
import pytest

from qpwl_core.common.files import read_json, read_tensors
from qpwl_core.data.loading import load_recordings
from qpwl_core.desk.database import Desk
from qpwl_core.desk.space import space_of, space_of_gallery
from qpwl_core.models.gallery import build_gallery, load_gallery
from qpwl_core.models.model import load_model
from qpwl_core.study.cells import is_whole, make_cell, read_distances
from qpwl_core.study.sets import Cell
from qpwl_core.study.tables import collect
from qpwl_core.training.loop import train
from qpwl_core.training.tuning import tune
from tests.support.places import ROOT
from tests.support.tiny import tiny_config, tiny_recordings
from ui.library import jobs

OLD = ROOT / "tests" / "artefacts" / "before_the_house"
METHODS = ("qp-wl", "qp-npl", "qp-cls", "mp-npl")
JOB = "0f3e0bcfbf9a"


@pytest.fixture
def old(tmp_path):
    """A copy to work on."""
    return shutil.copytree(OLD, tmp_path / "old")


def test_recordings(old):
    made, found = tiny_recordings(), load_recordings(old / "recordings.npz")
    assert found.subjects.tolist() == made.subjects.tolist()
    assert all(np.array_equal(a, b) for a, b in zip(found.sequences, made.sequences, strict=True))
    assert len(load_recordings(old / "recordings.csv")) == 12
    made.save(old / "again.npz")
    assert (old / "again.npz").read_bytes() == (old / "recordings.npz").read_bytes(), "byte for byte, as ever"


@pytest.mark.parametrize("method", METHODS)
def test_models_and_galleries(method):
    model, gallery, recordings = load_model(OLD / "models" / method), load_gallery(OLD / "models" / method), \
        load_recordings(OLD / "recordings.npz")
    assert gallery.model == model.checksum
    again = build_gallery(model, recordings).part("test")
    np.testing.assert_allclose(again.values, gallery.part("test").values, atol=2e-3)           # kept in float16
    assert space_of(model) == space_of_gallery(gallery)
    if method == "qp-wl":
        np.testing.assert_allclose(model.distances(model.embed(recordings)), np.load(OLD / "distances.npy"), rtol=1e-5)


def test_a_run_that_was_interrupted_goes_on_to_the_same_end(old):
    """Its checkpoint is of step 6; it ends where a run that nobody interrupted ends."""
    recordings = load_recordings(old / "recordings.npz")
    *_, last = train(tiny_config(), recordings, old / "run", resume=True)
    assert last.step == 12
    whole, _ = read_tensors(OLD / "models" / "qp-wl" / "model.safetensors")
    resumed, _ = read_tensors(old / "run" / "model.safetensors")
    for name, values in whole.items():
        np.testing.assert_allclose(resumed[name], values, rtol=1e-4, atol=1e-6, err_msg=name)


def test_a_desk_with_people_and_a_log(old):
    model = load_model(OLD / "models" / "qp-wl")
    desk = Desk(old / "desk", space_of(model), create=False)
    assert [(person.name, person.sequences) for person in desk.people()] == [("P0", 3), ("P1", 3)]
    assert [row["decided"] for row in desk.log()] == ["P0"]
    seen = model.embed(load_recordings(OLD / "recordings.npz").select(subjects="p0"))
    assert desk.decide(seen.values[3:5], model.checksum, 1e9).person == "P0"


def test_a_search_is_not_made_again(old):
    table, _ = tune(tiny_config(iterations=4), tiny_recordings(), 2, out=old / "tuning")
    assert len(table) == 2
    assert (old / "tuning" / "tuning.jsonl").read_bytes() == (OLD / "tuning" / "tuning.jsonl").read_bytes()


def test_a_stopped_job_of_the_app(old):
    job = jobs.find(old / "runs", JOB)
    assert (job.state, job.spec["title"], job.now["step"]) == ("stopped", "An old run", 72)
    assert job.config.iterations == 4000
    assert [record["step"] for record in job.curve()][-1] <= 72


def test_a_cell_of_a_study(old):
    cell = Cell("gait-hapt", "qp-wl", 0, "smoke")
    assert is_whole(cell, old / "study")
    before = (old / "study" / "cells" / cell.name / "scores.json").read_bytes()
    assert make_cell(cell, old / "study", ROOT, threads=1)["error"] is None
    assert (old / "study" / "cells" / cell.name / "scores.json").read_bytes() == before, "not made again"
    assert read_distances(old / "study" / "cells" / cell.name)["test"].values.ndim == 2
    tables = collect([cell], old / "study")
    kept = np.genfromtxt(OLD / "study" / "table.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    kept = kept[kept["method"] == "qp-wl"]
    for column in ("auc", "se", "low", "high", "eer"):
        np.testing.assert_allclose(tables["table"][column], kept[column], rtol=1e-9, err_msg=column)


def test_every_shipped_model_loads_with_its_gallery():
    for folder in sorted((ROOT / "models").glob("*/")):
        card = read_json(folder / "card.json")
        assert load_gallery(folder).model == card["sha256"] == load_model(folder).checksum
