"""The Config: what it refuses, and that it survives JSON."""

import json
from dataclasses import FrozenInstanceError, fields, replace

import pytest

from qpwl_core.data.domains import DOMAINS
from qpwl_core.models import config as config_module
from qpwl_core.models.config import Config, preset, tuned_presets
from qpwl_core.models.methods import METHODS


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("name", ["quick", "paper"])
def test_presets(name, domain):
    config = preset(name, domain, tuned=False, method="mp-npl", seed=7)
    assert (config.domain, config.method, config.seed) == (domain, "mp-npl", 7)
    assert config.points == 16
    assert config.p == (2 if name == "quick" and domain in ("eye", "gait", "signature") else 1)
    if name == "paper":
        assert (config.layers, config.learning_rate, config.iterations) == (16, 1e-4, 50_000)
        assert not config.multi_class
        assert not config.both_ways
    else:
        assert config.iterations < 5000


def test_a_config_survives_json_and_is_frozen():
    config = preset("quick", "gait", method="qp-cls", p=2.5)
    assert Config.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    with pytest.raises(FrozenInstanceError):
        config.points = 3


def test_the_quick_preset_of_a_method_is_what_was_tuned_for_it(tmp_path, monkeypatch):
    (tmp_path / "presets.json").write_text(json.dumps({"eeg": {"qp-npl": {"layers": 1, "recipe.whiten": False}}}))
    monkeypatch.setattr(config_module, "TUNED", tmp_path / "presets.json")
    tuned_presets.cache_clear()
    try:
        plain, tuned = preset("quick", "eeg", tuned=False, method="qp-npl"), preset("quick", "eeg", method="qp-npl")
        assert tuned == replace(plain, layers=1, recipe=plain.recipe | {"whiten": False})
        assert preset("quick", "eeg", method="qp-npl", layers=3).layers == 3, "what is said holds"
        assert preset("quick", "eeg") == preset("quick", "eeg", tuned=False), "of another method nothing changes"
        assert preset("paper", "eeg", method="qp-npl").layers == 16
    finally:
        tuned_presets.cache_clear()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("domain", DOMAINS)
def test_what_was_tuned_is_a_config_of_the_same_budget(domain, method):
    quick, plain = preset("quick", domain, method=method), preset("quick", domain, tuned=False, method=method)
    assert (quick.iterations, quick.pairs, quick.points) == (plain.iterations, plain.pairs, plain.points)


def test_presets_do_not_share_their_recipe():
    preset("quick", "gait").to_dict()["recipe"]["seconds"] = 99
    preset("quick", "gait").recipe["seconds"] = 99
    assert preset("quick", "gait").recipe.get("seconds") != 99


def test_every_method_has_a_config():
    assert [Config(method=name).method for name in METHODS] == list(METHODS)


WHOLE = [f.name for f in fields(Config) if f.type == "int"]
NUMBERS = [f.name for f in fields(Config) if f.type == "float"]


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("value", [-1, 1.5, "3", None, True, float("nan")])
def test_whole_numbers(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be a whole number of at least .*, not "):
        Config(**{name: value})


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), "3", None, True, 10**40])
def test_numbers(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be a "):
        Config(**{name: value})


@pytest.mark.parametrize("name", ["batch_norm", "multi_class", "both_ways", "one_threshold"])
@pytest.mark.parametrize("value", [1, "yes", None])
def test_switches(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be True or False, not "):
        Config(**{name: value})


@pytest.mark.parametrize(("options", "words"), [
    ({"method": "qp"}, "method must be one of qp-wl, "), ({"method": ["qp-wl"]}, "method must be one of"),
    ({"domain": "ecg"}, "domain must be one of eye, gait"), ({"p": 0.5}, "p must be a finite number of at least 1"),
    ({"pairs": 1}, "pairs must be a whole number of at least 2"), ({"validation": 1.0}, "fraction below 1"),
    ({"channel_dropout": 1.0}, "channel_dropout must be a fraction below 1"),
    ({"validation": 0}, "above 0"), ({"learning_rate": 0}, "above 0"), ({"recipe": [1]}, "recipe must be a dict"),
    ({"device": 3}, "device must be the name of a device"), ({"kernel": 4}, "kernel must be odd, not 4"),
    ({"points": 10_001}, "points must be at most 10,000")])
def test_the_rest(options, words):
    with pytest.raises(ValueError, match=words) as error:
        Config(**options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("stored", "words"), [
    ([], "a config must be a dict, not list"), ({"colour": 1}, "a config has no 'colour'; it has batch_norm,"),
    ({1: 2}, "a config has no 1"), ({"points": 0}, "points must be")])
def test_a_stored_config_that_is_none(stored, words):
    with pytest.raises(ValueError, match=words):
        Config.from_dict(stored)


@pytest.mark.parametrize(("name", "domain", "words"), [
    ("slow", "eye", "preset must be quick or paper, not 'slow'"), ("quick", "ecg", "domain must be one of")])
def test_unknown_presets(name, domain, words):
    with pytest.raises(ValueError, match=words):
        preset(name, domain)


def test_a_change_that_is_no_option_is_one_sentence():
    with pytest.raises(ValueError, match="a config has no 'colour'"):
        preset("quick", "eye", colour=3)
