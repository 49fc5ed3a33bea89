"""enrol, identify and verify on the command line."""

import json
import sqlite3

import numpy as np
import pytest

from qpwl_core.cli.main import main
from qpwl_core.models.gallery import build_gallery
from qpwl_core.models.model import load_model
from qpwl_core.training.loop import train
from tests.support.tiny import tiny_config, tiny_recordings

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
MARKUP = "<b>Bob</b> ![x](y) $z$"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Two models with calibration people, and recordings of others."""
    folder = tmp_path_factory.mktemp("desk")
    for seed in (0, 1):
        for record in train(tiny_config(seed=seed), tiny_recordings(), folder / f"model{seed}"):
            model = record.model
        model = load_model(folder / f"model{seed}")
        build_gallery(model, tiny_recordings(seed=1), tiny_recordings(seed=2)).save(folder / f"model{seed}")
    tiny_recordings(seed=3).save(folder / "people.npz")
    return folder


@pytest.fixture
def run(place, tmp_path, capsys):
    """``run("identify", …)`` -> exit code, output, error; with the first model, the recordings and a fresh desk."""
    def run(command, *more, model="model0", data=True):
        arguments = [command, str(place / model), "--desk", str(tmp_path / "desk")]
        code = main([*arguments, *(["--data", str(place / "people.npz")] if data else []), *map(str, more)])
        return code, *capsys.readouterr()

    run.desk = tmp_path / "desk"
    return run


def enrolled(run):
    for name, subject in (("Ann", "p0"), (MARKUP, "p4"), ("Cat", "p7")):
        code, out, _ = run("enrol", "--name", name, "--subject", subject, "--sequences", 0, 1, 2)
        assert code == 0
        assert f"{name} is enrolled with 3 sequences" in out


def test_enrol_list_identify_verify_remove(run):
    enrolled(run)
    code, out, _ = run("enrol", "--list", data=False)
    assert code == 0
    assert [line.split("  ")[0] for line in out.splitlines()] == [MARKUP, "Ann", "Cat"]
    code, out, _ = run("identify", "--subject", "p7", "--sequences", 3, 4, "--threshold", 1e6, "--json")
    said = json.loads(out)
    assert code == 0
    assert (said["kind"], said["accepted"], said["n"], said["threshold"]) == ("identify", True, 2, 1e6)
    assert said["person"] == said["ladder"][0]["name"]
    assert {row["name"] for row in said["ladder"]} == {"Ann", MARKUP, "Cat"}
    code, out, _ = run("identify", "--subject", "p2", "--threshold", 0)
    assert code == 0, "to reject is no failure"
    assert out.startswith("Rejected: nobody we know\n")
    assert "5 sequences were presented, 1 more" in out
    code, out, _ = run("verify", "--name", " ANN", "--subject", "p0", "--sequences", 0, "--threshold", 1)
    assert out.startswith("Accepted: it is Ann\n")
    assert "1 of them are enrolled themselves" in out
    code, out, _ = run("enrol", "--remove", "ann", data=False)
    assert (code, out) == (0, "Ann is removed\n")
    assert "Ann" not in run("enrol", "--list", data=False)[1]


def test_it_is_what_the_core_says(run, place):
    enrolled(run)
    _, out, _ = run("identify", "--subject", "p4", "--sequences", 4, "--threshold", 5, "--json")
    model, people = load_model(place / "model0"), tiny_recordings(seed=3)
    seen = model.embed(people.select(subjects="p4", index=None)).select([4])
    slow = {name: model.distances(seen, model.embed(people.select(subjects=subject)).select([0, 1, 2])).min()
            for name, subject in (("Ann", "p0"), (MARKUP, "p4"), ("Cat", "p7"))}
    for row in json.loads(out)["ladder"]:
        assert row["distance"] == pytest.approx(slow[row["name"]], rel=1e-5)


def test_the_threshold_for_a_rate(run):
    enrolled(run)
    at = {rate: json.loads(run("identify", "--subject", "p4", "--fmr", rate, "--json")[1]) for rate in (0.1, 0.5)}
    assert at[0.1]["threshold"] < at[0.5]["threshold"]
    assert "8 calibration people" in at[0.1]["threshold_note"]
    one = json.loads(run("verify", "--name", "Ann", "--subject", "p4", "--fmr", 0.1, "--json")[1])
    assert one["threshold"] > at[0.1]["threshold"], "one claim gives a stranger fewer chances than three people"


@pytest.mark.parametrize(("arguments", "why"), [
    (["enrol", "--name", "", "--subject", "p0"], "the name is empty"),
    (["enrol", "--name", "x" * 10_000, "--subject", "p0"], "10000 characters"),
    (["enrol", "--name", "a\tb", "--subject", "p0"], "cannot be shown"),
    (["enrol", "--name", "ann", "--subject", "p0"], "'Ann' is enrolled already"),
    (["enrol", "--name", "Eve"], "--subject must say whose"),
    (["enrol", "--subject", "p0"], "both --name and --data"),
    (["enrol", "--name", "Eve", "--list"], "enrol wants"),
    (["enrol", "--name", "Eve", "--subject", "nobody"], "'nobody' is not"),
    (["enrol", "--name", "Eve", "--subject", "p0", "--sequences", "99"], "numbers from 0 to 5"),
    (["identify", "--subject", "p0", "--fmr", "0.1", "--threshold", "1"], "not both"),
    (["identify", "--subject", "p0", "--fmr", "7"], "fmr must be"),
    (["identify", "--subject", "p0", "--threshold", "nan"], "threshold must be"),
    (["verify", "--name", "Eve", "--subject", "p0"], "nobody called 'Eve'")])
def test_what_is_wrong_is_one_line(run, arguments, why):
    enrolled(run)
    command, *more = arguments
    code, out, error = run(command, *more)
    assert code == 2
    assert out == ""
    assert why in error
    assert error.count("\n") == 1
    assert len(run("enrol", "--list", data=False)[1].splitlines()) == 3, "nothing lost, nothing added"


def test_another_model_a_damaged_and_a_later_file(run):
    enrolled(run)
    path = next(run.desk.glob("*.sqlite"))
    code, _, error = run("identify", "--subject", "p0", "--threshold", 1, model="model1")
    assert code == 2
    assert "another model, whose embeddings mean nothing to this one" in error
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 9")
    database.close()
    assert "another version of QP-WL Lab" in run("enrol", "--list", data=False)[2]
    path.write_bytes(np.random.default_rng(0).bytes(9000))
    for command in (["identify", "--subject", "p0"], ["enrol", "--name", "Eve", "--subject", "p0"]):
        code, _, error = run(*command)
        assert code == 2
        assert "damaged" in error
        assert error.count("\n") == 1
    assert path.read_bytes() == np.random.default_rng(0).bytes(9000)


def test_no_calibration_people(run, place):
    enrolled(run)
    gallery = place / "model0" / "gallery.safetensors"
    gallery.rename(gallery.with_suffix(".away"))
    try:
        assert "give --threshold" in run("identify", "--subject", "p0")[2]
    finally:
        gallery.with_suffix(".away").rename(gallery)


def test_identify_makes_no_desk(run):
    code, _, error = run("identify", "--subject", "p0", "--threshold", 1)
    assert code == 2
    assert "nobody is enrolled with this model" in error
    assert not run.desk.exists()
