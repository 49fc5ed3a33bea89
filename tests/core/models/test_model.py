"""Model files: the same bits come back, and whatever else lies there is refused in one sentence."""

import hashlib
import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save

from qpwl_core.common.files import FileError
from qpwl_core.data.domains import DOMAINS
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.recordings import Recordings
from qpwl_core.models.methods import METHODS
from qpwl_core.models.model import Embeddings, load_model
from qpwl_core.training.run import Run
from tests.support.tiny import tiny_config, tiny_recordings


def model_of(recordings=None, **options):
    """A model after one step; nothing here depends on how good it is."""
    run = Run(tiny_config(**options), recordings or tiny_recordings(domain=options.get("domain", "generic")))
    if METHODS[run.config.method].loss != "none":
        run.learn(run.sampler.batch(0))
    return run.model()


def same(a: Embeddings, b: Embeddings):
    assert a.values.numpy().tobytes() == b.values.numpy().tobytes()
    assert a.values.shape == b.values.shape
    assert (a.levels is None) == (b.levels is None)
    assert a.levels is None or torch.equal(a.levels, b.levels)
    assert a.subjects.tolist() == b.subjects.tolist()
    assert a.stimuli.tolist() == b.stimuli.tolist()


@pytest.mark.parametrize("method", METHODS)
def test_save_load_embed_is_bit_identical(method, tmp_path):
    recordings = tiny_recordings()
    model = model_of(method=method, batch_norm=True)
    model.card["licence"] = "CC0"
    loaded = load_model(model.save(tmp_path / "model"))
    before, after = model.embed(recordings), loaded.embed(recordings)
    same(before, after)
    assert model.distances(before).tobytes() == loaded.distances(after).tobytes()
    assert loaded.config == model.config
    assert loaded.card == {"licence": "CC0"}
    if METHODS[method].distance == "wasserstein":
        filters = {"none": 2, "conv": 4}[METHODS[method].network] * (7 if "pyramid" in method else 1)
        assert before.values.shape == (48, filters, 6)
        assert before.levels.shape == (6,)
    assert (loaded.save(tmp_path / "again") / "model.safetensors").read_bytes() == (
        tmp_path / "model" / "model.safetensors").read_bytes()


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_recipe_survives(domain, tmp_path):
    options = {"gait": {"seconds": 0.5, "keep": 2}}.get(domain, {})
    model = model_of(domain=domain, recipe=options)
    loaded = load_model(model.save(tmp_path))
    same(model.embed(tiny_recordings(domain=domain)), loaded.embed(tiny_recordings(domain=domain)))


def test_embeddings_of_windows_say_where_they_come_from():
    model, recordings = model_of(domain="gait", recipe={"seconds": 0.5, "keep": 2}), tiny_recordings(domain="gait")
    embeddings = model.embed(recordings)
    assert len(embeddings) > len(recordings)
    assert recordings.subjects[embeddings.sources].tolist() == embeddings.subjects.tolist()
    some = embeddings.select([3, 0])
    assert some.sources.tolist() == embeddings.sources[[3, 0]].tolist()
    assert torch.equal(some.values[1], embeddings.values[0])
    assert len(embeddings.select(embeddings.subjects == "p0")) == (embeddings.subjects == "p0").sum()


def test_alone_and_among_others_alike():
    model, recordings, told = model_of(), tiny_recordings(), []
    together = model.embed(recordings, lambda done, of: told.append((done, of)))
    assert told[-1] == (48, 48)
    for i in (0, 17, 47):
        alone = model.embed(recordings.select(index=[i]))
        torch.testing.assert_close(alone.values[0], together.values[i], rtol=1e-5, atol=1e-6)
    square = model.distances(together)
    assert square.shape == (48, 48)
    np.testing.assert_allclose(model.distances(together.select([1, 2]), together.select([5])), square[1:3, 5:6],
                               rtol=1e-5)


def test_other_channels_are_refused():
    other = Recordings([np.zeros((30, 1))], ["a"], ("c",), 20.0)
    with pytest.raises(RecordingsError, match="lack the channel 'a'"):
        model_of().embed(other)


# what is no model

@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return model_of().save(tmp_path_factory.mktemp("saved"))


@pytest.fixture
def folder(saved, tmp_path):
    """A copy to damage."""
    return shutil.copytree(saved, tmp_path / "model")


def refused(folder) -> str:
    with pytest.raises(FileError) as error:
        load_model(folder)
    assert "\n" not in str(error.value)
    return str(error.value)


def edit(folder, **changes):
    """Change the card, None takes an entry out."""
    card = json.loads((folder / "card.json").read_text()) | changes
    (folder / "card.json").write_text(json.dumps({k: v for k, v in card.items() if v is not None}))


def forge(folder, weights=None, described=None, **changes):
    """A model whose weights, description and checksum fit each other: someone meant it."""
    card = json.loads((folder / "card.json").read_text())
    described = {k: card[k] for k in ("config", "recipe", "length")} | (described or {})
    content = save(load_file(folder / "model.safetensors") | (weights or {}), {"facts": json.dumps(described)})
    (folder / "model.safetensors").write_bytes(content)
    edit(folder, **described, sha256=hashlib.sha256(content).hexdigest(), **changes)


def test_a_forged_model_that_fits_loads(folder):
    forge(folder)
    load_model(folder)


@pytest.mark.parametrize("name", ["card.json", "model.safetensors"])
def test_missing_files(name, folder):
    (folder / name).unlink()
    assert f"{name} is not there" in refused(folder)


def test_no_folder(folder):
    for path in (folder / "none", folder / "card.json"):
        assert "a model is a folder with card.json and model.safetensors" in refused(path)


@pytest.mark.parametrize("name", ["card.json", "model.safetensors"])
@pytest.mark.parametrize("keep", [0, 0.1, 0.5, 0.99])
def test_truncated(name, keep, folder):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:int(len(content) * keep)])
    assert "it is truncated or was edited" in refused(folder)


def test_one_bit_of_the_weights(folder):
    content = bytearray((folder / "model.safetensors").read_bytes())
    for place in (len(content) - 1, len(content) // 2):
        content[place] ^= 1
        (folder / "model.safetensors").write_bytes(content)
        text = refused(folder)
        assert "one of them was edited or damaged" in text or "truncated or was edited" in text
        content[place] ^= 1


def test_a_card_that_was_edited(folder):
    config = json.loads((folder / "card.json").read_text())["config"]
    edit(folder, config=config | {"p": 2.0})
    assert "describes another model than the weights beside it" in refused(folder)


def test_what_people_write_on_a_card_is_theirs(folder):
    edit(folder, licence="CC BY 4.0", results={"auc": 1})
    assert load_model(folder).card == {"licence": "CC BY 4.0", "results": {"auc": 1}}


@pytest.mark.parametrize("card", ["[]", "3", "null", "{}", '{"format": "other"}', '{"format": ["qpwl-model"]}'])
def test_cards_of_others(card, folder):
    (folder / "card.json").write_text(card)
    assert "is not the card of a QP-WL model" in refused(folder)


@pytest.mark.parametrize("version", [2, 0, "1", None, 1.5, [1]])
def test_other_versions(version, folder):
    edit(folder, version=version)
    assert "another version of QP-WL Lab" in refused(folder)


def test_a_huge_card(folder):
    edit(folder, notes="x" * (17 * 2**20))
    assert "card.json is larger than 16 MB" in refused(folder)


def test_weights_of_others(folder):
    for content in (save({"x": np.zeros(3)}), b"\x80\x04N."):
        (folder / "model.safetensors").write_bytes(content)
        assert "edited" in refused(folder)
    torch.save({"x": torch.zeros(3)}, folder / "model.safetensors")
    assert "not a safetensors file" in refused(folder)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite(value, folder):
    forge(folder, {"network.network.convolutions.1.bias": np.full(4, value, dtype=np.float32)})
    assert "NaN or infinite values in network.convolutions.1.bias" in refused(folder)
    forge(folder, {"network.network.convolutions.1.bias": np.zeros(4, np.float32), "recipe.centre": np.full(2, value)})
    assert "finite arrays" in refused(folder)


@pytest.mark.parametrize(("weights", "words"), [
    ({"network.network.convolutions.1.weight": np.zeros((4, 4, 5), np.float32)},
     "has network.convolutions.1.weight (4, 4, 5), where this architecture has (4, 4, 3)"),
    ({"network.network.convolutions.1.bias": np.zeros(4)},
     "has network.convolutions.1.bias in float64, where this architecture has float32"),
    ({"network.head.bias": np.zeros(3, np.float32)}, "has head.bias (3,), which this architecture has not"),
    ({"network.../../x": np.zeros(3, np.float32)}, "has ../../x (3,), which this architecture has not"),
    ({"recipe.more": np.zeros(3)}, "finite arrays of shape")])
def test_weights_of_another_architecture(weights, words, folder):
    forge(folder, weights)
    assert words in refused(folder)


def test_weights_that_are_missing(folder):
    config = json.loads((folder / "card.json").read_text())["config"]
    forge(folder, described={"config": config | {"layers": 3, "filters": 2}})
    assert "network.activations.0.weight (4,), where this architecture has (2,)" in refused(folder)
    forge(folder, described={"config": config | {"batch_norm": True}})
    assert "lacks network" in refused(folder) or "has not" in refused(folder)


@pytest.mark.parametrize("changes", [
    {"filters": 10**6}, {"kernel": 10**9 + 1}, {"layers": 10**9}, {"points": 10**12}, {"filters": 10**30},
    {"method": "jaeger-2019", "width": 1e6}, {"method": "nope"}, {"p": 0}, {"colour": 1}, {"recipe": 3}])
def test_a_card_that_lies_about_its_network(changes, folder):
    """Refused before anything large is built."""
    config = json.loads((folder / "card.json").read_text())["config"]
    forge(folder, described={"config": config | changes})
    assert "card.json is not a card this version understands" in refused(folder)


@pytest.mark.parametrize("described", [
    {"length": 10**15, "config": tiny_config(method="jaeger-2019").to_dict()}, {"length": "20"}, {"length": -1},
    {"config": None}, {"recipe": {"domain": "../../etc"}}, {"recipe": {"domain": "gait", "options": 3, "channels": []}},
    {"recipe": {"domain": "generic", "options": {"__class__": 1}, "channels": ["a", "b"]}}])
def test_a_card_that_lies_about_the_rest(described, folder):
    forge(folder, described=described)
    assert "card" in refused(folder)


def test_nothing_outside_the_folder_is_touched(folder, tmp_path):
    """No text of a card is ever taken for a path."""
    for name in ("weights", "file", "model", "gallery", "recipe_path"):
        edit(folder, **{name: "../../outside"})
    load_model(folder)
    assert {p.name for p in tmp_path.iterdir()} == {"model"}
    assert {p.name for p in folder.iterdir()} == {"card.json", "model.safetensors"}
