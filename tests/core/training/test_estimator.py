"""The scikit-learn estimator: the habits people know."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from qpwl_core.training.estimator import OPTIONS, DistributionalEmbedding
from tests.support.tiny import tiny_config, tiny_recordings

SMALL = {"filters": 4, "layers": 2, "kernel": 3, "points": 4, "pairs": 4, "iterations": 6, "rate": 20.0}


@pytest.fixture(scope="module")
def data():
    recordings = tiny_recordings()
    return recordings.sequences, recordings.subjects


@pytest.fixture(scope="module")
def fitted(data):
    return DistributionalEmbedding(**SMALL).fit(*data)


def test_fit_transform_score(data, fitted):
    rows = fitted.transform(data[0])
    assert (rows.shape, rows.dtype) == ((48, 4 * 6), np.float32)
    assert rows[3].tobytes() == fitted.model_.embed(tiny_recordings_like(data)).values[3].numpy().tobytes()
    assert 0 <= fitted.score(*data) <= 1
    np.testing.assert_array_equal(DistributionalEmbedding(**SMALL).fit_transform(*data), rows)


def tiny_recordings_like(data):
    return DistributionalEmbedding(rate=20.0)._recordings(*data)


def test_recordings_bring_their_subjects(fitted):
    recordings = tiny_recordings()
    same = DistributionalEmbedding(**SMALL).fit(recordings)
    assert same.transform(recordings).tobytes() == fitted.transform(recordings.sequences).tobytes()
    assert same.score(recordings) == fitted.score(recordings.sequences, recordings.subjects)
    assert same.score(recordings, np.arange(48) % 3) != same.score(recordings)


def test_people_of_any_kind(data):
    numbers = [int(name[1:]) for name in data[1]]
    assert DistributionalEmbedding(**SMALL).fit(data[0], numbers).score(data[0], numbers) >= 0


def test_parameters_and_clone(fitted):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "model_")
    assert set(OPTIONS) < set(copy.get_params())
    assert copy.set_params(points=7)._config().points == 7
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        copy.set_params(colour=1)


def test_a_config_of_its_own(data):
    config = tiny_config(method="mp-npl", iterations=3)
    assert DistributionalEmbedding(config, rate=20.0).fit(*data).model_.config == config
    assert clone(DistributionalEmbedding(config)).config == config
    with pytest.raises(ValueError, match="config must stand alone, and method, points came with it"):
        DistributionalEmbedding(config, points=3).fit(*data)


def test_in_a_pipeline_and_a_grid(data):
    pipeline = make_pipeline(DistributionalEmbedding(**SMALL), StandardScaler(), KNeighborsClassifier(1))
    assert pipeline.fit(*data).score(*data) == 1.0                          # every sequence finds itself
    grid = GridSearchCV(DistributionalEmbedding(**SMALL | {"iterations": 2}), {"points": [2, 4]}, cv=2)
    assert grid.fit(*data).best_params_["points"] in (2, 4)


def test_windows_become_one_row(data):
    gait = DistributionalEmbedding(tiny_config(domain="gait", recipe={"seconds": 0.5, "keep": 2}), rate=20.0).fit(*data)
    rows = gait.transform(data[0])
    embeddings = gait.model_.embed(tiny_recordings_like(data))
    assert (len(rows), len(embeddings) > 48) == (48, True)
    own = embeddings.values[embeddings.sources == 5].flatten(1)
    np.testing.assert_allclose(rows[5], own.mean(0).numpy(), rtol=1e-5)


@pytest.mark.parametrize(("X", "y", "words"), [
    ([np.zeros((3, 2))], None, "y must name who"), ([np.zeros(3)], ["a"], "X must be Recordings or a list of arrays"),
    ([], [], "X must be Recordings or a list"), ([np.zeros((3, 2))] * 2, ["a"], "subjects must name each of the 2"),
    ([np.full((3, 2), np.nan)], ["a"], "values must be finite")])
def test_bad_input(X, y, words):
    with pytest.raises(ValueError, match=words):
        DistributionalEmbedding(**SMALL).fit(X, y)


def test_not_fitted(data):
    for use in ("transform", "score"):
        with pytest.raises(NotFittedError):
            getattr(DistributionalEmbedding(), use)(data[0])
