"""Models side by side: resampled people against the plain loop, planted differences, bad input; the command."""

import json

import numpy as np
import pytest

from qpwl_core.cli import main as cli
from qpwl_core.evaluation import metrics
from qpwl_core.evaluation.bootstrap import (
    repeats_test,
    resample,
    resample_people,
    resampled_auc,
    resampled_pairs_auc,
    subject_interval,
)
from qpwl_core.models.gallery import build_gallery
from qpwl_core.training.loop import train
from tests.support.tiny import tiny_config, tiny_recordings


def stack(seed=0, people=6, repeats=3, nearer=0.5):
    """Scores of a method that puts people nearer to themselves by so much."""
    scores = np.random.default_rng(seed).normal(size=(repeats, people, people)).round(1)       # with ties
    return scores - nearer * np.eye(people)


def test_resampled_people_of_all_pairs_agree_with_the_plain_loop():
    random, people = np.random.default_rng(0), 5
    owner = np.repeat(np.arange(people), 3)
    distances = random.normal(size=(15, 15)).round(1)
    first, second = np.triu_indices(15, 1)
    genuine, d = owner[first] == owner[second], distances[first, second]
    counts = np.vstack([np.ones(people, dtype=int), resample_people(people, 20, seed=1)])
    found = resampled_pairs_auc(d, genuine, owner[first], owner[second], counts)
    assert found[0] == pytest.approx(metrics.auc(d[genuine], d[~genuine]))
    for count, value in zip(counts, found, strict=True):
        weight = np.where(genuine, count[owner[first]], count[owner[first]] * count[owner[second]])
        assert value == pytest.approx(metrics.auc(np.repeat(d[genuine], weight[genuine]),
                                                  np.repeat(d[~genuine], weight[~genuine])))


def test_resampled_people_agree_with_the_plain_loop():
    scores = stack()
    values = resampled_auc(scores, resample_people(6, 50, seed=3))
    low, high = subject_interval(scores, resamples=50, seed=3)
    assert np.quantile(values, [0.025, 0.975]) == pytest.approx([low, high])
    everyone = np.ones((1, 6), dtype=int)
    plain = np.mean([metrics.auc(*metrics.genuine_and_imposter(m)) for m in scores])
    assert resampled_auc(scores, everyone)[0] == pytest.approx(plain)


def test_one_person_alone_is_drawn_again():
    counts = resample_people(2, 200)
    assert counts.shape == (200, 2)
    assert (counts == 1).all()


def test_a_planted_difference_is_found_and_none_is_not():
    good, bad = stack(1, people=20, nearer=3.0), stack(1, people=20, nearer=0.0)
    found = resample({0: good, 1: stack(2, 20, nearer=3.0)}).minus(resample({0: bad, 1: stack(2, 20, nearer=0.0)}))
    assert found["low"] > 0.2
    assert (found["splits"], found["p"]) == (2, None)
    same = resample({0: good}).minus(resample({0: good}))
    assert (same["difference"], same["low"], same["high"]) == (0, 0, 0)
    assert repeats_test(good, good) == 1
    assert repeats_test(stack(0, 20, 10, 3.0), stack(1, 20, 10, 0.0)) < 0.01


def test_splits_are_paired_by_name_and_three_can_be_tested():
    ours = resample({s: stack(s, 10, nearer=2.0) for s in (0, 1, 2)})
    others = resample({s: stack(s, 10, nearer=0.1) for s in (2, 1, 0)})
    found = ours.minus(others)
    assert found["splits"] == 3
    assert 0 <= found["p"] < 0.1
    assert ours.minus(resample({2: stack(2, 10, nearer=0.1)}))["splits"] == 1
    with pytest.raises(ValueError, match="a split in common"):
        ours.minus(resample({7: stack(7)}))
    low, high = ours.interval()
    assert low < ours.auc < high


# the command

@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Two tiny models with galleries of the same people, and one of others; a file of recordings."""
    home = tmp_path_factory.mktemp("models")
    recordings = tiny_recordings(people=8, each=8)
    learn, test = (recordings.select(subjects=[f"p{i}" for i in part]) for part in (range(4), range(4, 8)))
    for name, method in (("one", "qp-wl"), ("two", "mp-npl")):
        *_, last = train(tiny_config(method=method), learn)
        last.model.card |= {"split": {"train": ["p0", "p1"], "validation": ["p2", "p3"]}, "data": {"name": "tiny"}}
        last.model.save(home / name)
        build_gallery(last.model, test, learn).save(home / name)
        last.model.save(home / "others" / name)
        build_gallery(last.model, learn).save(home / "others" / name)
    recordings.save(home / "all.npz")
    test.save(home / "test.npz")
    test.select(subjects="p4").save(home / "alone.npz")
    test.select(index=np.flatnonzero(np.isin(np.arange(len(test)) % 8, range(5)))).save(home / "few.npz")
    return home


def failure(capsys, *argv):
    assert cli.main(["compare", *map(str, argv)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_compare_galleries_and_recordings(models, tmp_path, capsys):
    one, two = models / "one", models / "two"
    assert cli.main(["compare", str(one), str(two), "--json", str(tmp_path / "a.json")]) == 0
    printed = capsys.readouterr().out
    assert "one − two  n = 5" in printed
    assert "resamples people" in printed
    from_galleries = json.loads((tmp_path / "a.json").read_text())
    assert (from_galleries["people"], len(from_galleries["differences"])) == (4, 5)
    assert cli.main(["compare", str(one), str(two), "--data", str(models / "test.npz"),
                     "--json", str(tmp_path / "b.json")]) == 0
    full = json.loads((tmp_path / "b.json").read_text())
    assert cli.main(["evaluate", str(one), "--data", str(models / "test.npz"), "--json", str(tmp_path / "c.json")]) == 0
    assert full["models"]["one"] == json.loads((tmp_path / "c.json").read_text())
    for n, a, b in zip(range(1, 6), full["differences"], from_galleries["differences"], strict=True):
        assert a["n"] == n
        assert a["difference"] == pytest.approx(b["difference"], abs=0.02)       # the gallery is in float16
        apart = (full["models"][name]["verification"][str(n)]["auc"] for name in ("one", "two"))
        assert a["difference"] == pytest.approx(next(apart) - next(apart))
        assert a["low"] <= a["difference"] <= a["high"]


def test_people_who_were_trained_with_are_named(models, capsys):
    assert cli.main(["compare", str(models / "one"), str(models / "two"), "--data", str(models / "all.npz")]) == 0
    assert "one was trained with 4 of these people: its figures are too good" in capsys.readouterr().out


def test_bad_input_is_one_sentence(models, capsys):
    one, two = models / "one", models / "two"
    assert "at least two different models, got 1" in failure(capsys, one, one)
    assert "is not a model" in failure(capsys, one, models / "none")
    assert "only one of them is on 'p0': name recordings with --data" in failure(capsys, one, models / "others" / "two")
    assert "at least two people" in failure(capsys, one, two, "--data", models / "alone.npz")
    assert "fewer than 6 are too few" in failure(capsys, one, two, "--data", models / "few.npz")
    assert "is neither a file nor a data set" in failure(capsys, one, two, "--data", "nowhere.npz")
