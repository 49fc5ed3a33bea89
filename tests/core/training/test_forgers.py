"""A forger is never a person to learn, to validate on, to enrol or to count, from sampling to the desk."""

from collections import deque

import numpy as np
import pytest
import torch

from qpwl_core.cli.main import main
from qpwl_core.models.gallery import build_gallery, load_gallery
from qpwl_core.training.loop import train
from qpwl_core.training.run import Run
from qpwl_core.training.sampling import PairSampler
from tests.support.tiny import forged_recordings, tiny_config


@pytest.fixture(scope="module")
def model():
    return deque(train(tiny_config(), forged_recordings(people=6)), maxlen=1).pop().model


def test_batches_hold_genuine_sequences_of_people_alone():
    recordings = forged_recordings(people=6)
    sampler = PairSampler(recordings, pairs=6)
    assert sampler.classes == 6
    honest = PairSampler(recordings.genuine(), pairs=6)
    for step in range(5):
        ours, theirs = sampler.batch(step), honest.batch(step)
        assert torch.equal(ours.x, theirs.x)
        assert torch.equal(ours.labels, theirs.labels)


def test_training_with_forgeries_that_are_ignored_is_training_without(model):
    honest = deque(train(tiny_config(), forged_recordings(people=6).genuine()), maxlen=1).pop().model
    assert honest.card["data"]["subjects"] == model.card["data"]["subjects"] == 6
    assert honest.checksum == model.checksum


def test_copies_of_devices_and_days_are_learned_from_and_never_paired_with_their_original():
    recordings = forged_recordings(people=6, domain="signature")
    config = tiny_config(domain="signature", forgeries=1, device_copies=1, day_copies=2)
    plain, many = Run(tiny_config(domain="signature", forgeries=1), recordings), Run(config, recordings)
    assert len(many.sampler.sequences) == 4 * len(plain.sampler.sequences)
    assert many.sampler.sources.tolist() == plain.sampler.sources.tolist() * 4
    assert [len(x) for x in many.sampler.imitating] == [4 * len(x) for x in plain.sampler.imitating]
    random = np.random.default_rng(0)
    pairs = np.array([many.sampler._pair(person, random) for person in many.sampler.people for _ in range(20)])
    assert (many.sampler.sources[pairs[:, 0]] != many.sampler.sources[pairs[:, 1]]).all()
    assert len(many.validate[0]) == len(plain.validate[0]), "nobody is judged by copies"
    assert "day_copies" not in plain.config.to_dict()
    assert many.config.to_dict()["day_copies"] == 2


def test_validation_is_on_people_alone():
    run = Run(tiny_config(), forged_recordings(people=6))
    assert run.validate[0].is_forgery.any()
    assert run.check() == Run(tiny_config(), forged_recordings(people=6).genuine()).check()


def test_embeddings_and_galleries_keep_it(model, tmp_path):
    test = forged_recordings(people=4, seed=5)
    seen = model.embed(test)
    assert seen.imitates.tolist() == test.imitates.tolist()
    assert len(seen.genuine()) == len(test.genuine())
    assert seen.select([0, -1]).imitates.tolist() == ["", "p3"]
    gallery = build_gallery(model, test, test.genuine())
    gallery.save(tmp_path)
    again = load_gallery(tmp_path)
    assert again.imitates.tolist() == test.imitates.tolist() + [""] * len(test.genuine())
    assert again.people == ["p0", "p1", "p2", "p3"]
    assert len(again.part("test")) == len(again.part("calibration")) == len(test.genuine())
    assert again.part("test").imitates is None
    assert again.part("test", forgeries=True).is_forgery.sum() == test.is_forgery.sum()
    assert build_gallery(model, test.genuine()).imitates is None
    np.testing.assert_allclose(again.part("test", forgeries=True).distances(), model.distances(seen), atol=0.05)


def test_forgeries_are_presented_and_never_enrolled(model, tmp_path, capsys):
    data = forged_recordings(people=3, seed=5)
    model.save(tmp_path / "model")
    path, desk = str(data.save(tmp_path / "signed.npz")), ["--desk", str(tmp_path / "desk")]
    where = [str(tmp_path / "model"), "--data", path, *desk]
    assert main(["enrol", *where, "--name", "Ann", "--subject", "forger-of-p0"]) == 2
    assert "a forgery is never enrolled" in capsys.readouterr().err
    assert main(["enrol", *where, "--name", "Ann", "--subject", "p0"]) == 0
    assert "Ann is enrolled with 12 sequences" in capsys.readouterr().out
    assert main(["verify", *where, "--name", "Ann", "--subject", "forger-of-p0", "--threshold", "1e9"]) == 0
    assert main(["identify", *where]) == 2
    assert "forger-of" not in capsys.readouterr().err
    assert main(["embed", where[0], "--data", path, "--out", str(tmp_path / "seen.npz")]) == 0
    with np.load(tmp_path / "seen.npz") as stored:
        assert stored["imitates"].tolist() == data.imitates.tolist()
    capsys.readouterr()
    assert main(["info", path]) == 0
    said = capsys.readouterr().out
    assert "subjects    3" in said
    assert "forgeries   12" in said
    assert "forger-of" not in said
