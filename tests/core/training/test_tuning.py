"""The search: seeded, the same for every method, and it goes on where it was interrupted."""

import json

import pytest

from qpwl_core.common.files import FileError
from qpwl_core.training import tuning
from qpwl_core.training.loop import Diverged, train
from qpwl_core.training.tuning import PAIRS, PENALTIES, RATES, settings, tune
from tests.support.tiny import tiny_config, tiny_recordings

QUICK = {"iterations": 4, "validate_every": 2}


@pytest.fixture(scope="module")
def recordings():
    return tiny_recordings()


def test_settings_are_the_same_for_every_method():
    config = tiny_config()
    assert settings(0, config) == config
    drawn = [settings(number, config) for number in range(1, 200)]
    assert drawn == [settings(number, config) for number in range(1, 200)]
    other = [settings(number, tiny_config(method="mp-npl")) for number in range(1, 200)]
    chosen = [(c.penalty, c.learning_rate, c.pairs) for c in drawn]
    assert chosen == [(c.penalty, c.learning_rate, c.pairs) for c in other]
    assert chosen != [(c.penalty, c.learning_rate, c.pairs) for c in (settings(t, config, 1) for t in range(1, 200))]
    penalties, rates, pairs = zip(*chosen, strict=True)
    for values, (low, high) in ((penalties, PENALTIES), (rates, RATES)):
        assert low <= min(values) < low * 1.2
        assert high / 1.2 < max(values) <= high
        assert 0.3 < sum(v < (low * high) ** 0.5 for v in values) / len(values) < 0.7       # even in the logarithm
    assert set(pairs) == set(PAIRS)


def test_the_best_config_wins(recordings):
    table, best = tune(tiny_config(**QUICK), recordings, 3)
    assert table.columns.tolist() == ["attempt", "method", "penalty", "learning_rate", "pairs", "iterations", "auc",
                                      "seconds"]
    assert table["attempt"].tolist() == [0, 1, 2]
    assert set(table["iterations"]) == {4}
    winner = table.loc[table["auc"].idxmax()]
    assert (best.penalty, best.learning_rate, best.pairs) == (winner.penalty, winner.learning_rate, winner.pairs)
    *_, last = train(best, recordings)
    assert last.best_auc == winner.auc


def test_an_interrupted_search_goes_on(recordings, tmp_path, monkeypatch):
    config, lines = tiny_config(**QUICK), []

    def stop(line):
        lines.append(line)
        if len(lines) == 2:
            raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        tune(config, recordings, 3, out=tmp_path, progress=stop)
    assert lines[0].startswith("try 1/3: penalty 0.0001, learning_rate 0.002, pairs 4: validation AUC ")
    assert len((tmp_path / "tuning.jsonl").read_text().splitlines()) == 2
    trained = []
    monkeypatch.setattr(tuning, "train", lambda config, *more, **named: trained.append(config) or train(
        config, *more, **named))
    table, best = tune(config, recordings, 3, out=tmp_path)
    assert trained == [settings(2, config)]
    assert tune(config, recordings, 3, out=tmp_path)[0].equals(table)
    assert len(trained) == 1
    monkeypatch.undo()
    whole, again = tune(config, recordings, 3)
    assert (whole["auc"].tolist(), again) == (table["auc"].tolist(), best)


def test_other_configs_and_recordings_are_searched_anew(recordings, tmp_path):
    config = tiny_config(**QUICK)
    tune(config, recordings, 1, out=tmp_path)
    tune(tiny_config(method="mp-npl", **QUICK), recordings, 1, out=tmp_path)
    tune(config, tiny_recordings(people=7), 1, out=tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "tuning.jsonl").read_text().splitlines()]
    assert [(row["config"]["method"], row["data"]["subjects"]) for row in rows] == [("qp-wl", 8), ("mp-npl", 8),
                                                                                  ("qp-wl", 7)]


def test_a_try_that_diverges_loses(recordings, monkeypatch):
    def diverging(config, recordings, validation=None):
        if config.penalty != 1e-4:
            raise Diverged("training diverged")
        yield from train(config, recordings)
    monkeypatch.setattr(tuning, "train", diverging)
    table, best = tune(tiny_config(**QUICK), recordings, 2)
    assert table["auc"].tolist()[1] == 0
    assert best == tiny_config(**QUICK)


def test_many_at_a_time(recordings):
    config = tiny_config(**QUICK, method="mp-npl")
    assert tune(config, recordings, 2, n_jobs=2)[0]["auc"].tolist() == tune(config, recordings, 2)[0]["auc"].tolist()


@pytest.mark.parametrize("content", ["nope", "[]\n", '{"auc": 1}\n', '{"config": 1'])
def test_a_record_that_was_edited(content, recordings, tmp_path):
    (tmp_path / "tuning.jsonl").write_text(content)
    with pytest.raises(FileError, match="tuning.jsonl is not the record of a search"):
        tune(tiny_config(), recordings, 1, out=tmp_path)


@pytest.mark.parametrize("tries", [0, -1, 1.5])
def test_no_tries(tries, recordings):
    with pytest.raises(ValueError, match="tries must be"):
        tune(tiny_config(), recordings, tries)
