"""The whole method as a scikit-learn transformer: ``fit``, ``transform``, ``score``, in a Pipeline or a grid search.

Importing this module means wanting scikit-learn; nothing else here needs it.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from qpwl_core.data.recordings import Recordings
from qpwl_core.evaluation.validation import validation_auc
from qpwl_core.models.config import Config, preset
from qpwl_core.training.loop import train

OPTIONS = ("method", "filters", "layers", "kernel", "points", "p", "pairs", "iterations", "learning_rate", "penalty",
           "crop", "validation", "seed", "device")


class DistributionalEmbedding(TransformerMixin, BaseEstimator):
    """Learn from recordings of some people to embed the recordings of any.

    X: Recordings, or a list of arrays (T, D) of any lengths, sampled at ``rate`` Hz; y: who each is of (of Recordings,
    their subjects by default). Either a ``config``, or the ``preset`` of a ``domain`` and what shall differ from it: an
    option that is None is the preset's. After ``fit``, ``model_`` is the Model, which has the distances, too.

    >>> DistributionalEmbedding(points=4).set_params(pairs=8).get_params()["pairs"]
    8
    """

    def __init__(self, config: Config | None = None, *, domain="generic", preset="quick", rate=100.0, method="qp-wl",
                 filters=None, layers=None, kernel=None, points=None, p=None, pairs=None, iterations=None,
                 learning_rate=None, penalty=None, crop=None, validation=None, seed=None, device=None):
        self.config, self.domain, self.preset, self.rate, self.method = config, domain, preset, rate, method
        self.filters, self.layers, self.kernel, self.points, self.p = filters, layers, kernel, points, p
        self.pairs, self.iterations, self.learning_rate, self.penalty = pairs, iterations, learning_rate, penalty
        self.crop, self.validation, self.seed, self.device = crop, validation, seed, device

    def fit(self, X, y=None):
        """Train; some of the people are set aside to choose the best weights."""
        if y is None and not isinstance(X, Recordings):
            raise ValueError("y must name who each sequence of X is of")
        last = deque(train(self._config(), self._recordings(X, y)), maxlen=1).pop()
        assert last.model is not None, "the last record carries it"
        self.model_, self.best_auc_ = last.model, last.best_auc
        return self

    def transform(self, X) -> np.ndarray:
        """Embeddings, one row per recording: K · (M+2) quantiles, filter by filter, or E values. (n, features) float32

        Where the recipe cuts a recording into windows (gait), the row is the mean of theirs: of quantile functions,
        that is the W₂ barycentre. `model_.embed` gives the windows themselves.
        """
        check_is_fitted(self, "model_")
        recordings = self._recordings(X)
        embeddings = self.model_.embed(recordings)
        values, sources = embeddings.values.flatten(1).numpy(), embeddings.sources
        assert sources is not None, "embed says what each was cut from"
        counts = np.bincount(sources, minlength=len(recordings))
        if not counts.all():
            raise ValueError(f"X must have something left of every recording after preprocessing, and recording "
                             f"{int(np.argmin(counts))} has not")
        rows = np.zeros((len(recordings), values.shape[1]), dtype=np.float64)
        np.add.at(rows, sources, values)
        return (rows / counts[:, None]).astype(np.float32)

    def score(self, X, y=None) -> float:
        """Verification AUC with one observed recording, all others enrolled, by the method's distance.

        The people need not be those of ``fit``: that is the point of the method.
        """
        check_is_fitted(self, "model_")
        embeddings = self.model_.embed(self._recordings(X, y)).genuine()
        return validation_auc(self.model_.distances(embeddings), embeddings.subjects, embeddings.sources)

    def _config(self) -> Config:
        given = {name: getattr(self, name) for name in OPTIONS if getattr(self, name) is not None}
        if self.config is None:
            return preset(self.preset, self.domain, **given)
        if given != {"method": "qp-wl"}:
            raise ValueError(f"config must stand alone, and {', '.join(given)} came with it")
        return self.config

    def _recordings(self, X, y=None) -> Recordings:
        if isinstance(X, Recordings):
            return X if y is None else Recordings(X.sequences, _names(y), X.channels, X.rate, X.stimuli, X.info,
                                                   X.imitates)
        sequences = [np.asarray(x) for x in X]
        if not sequences or any(x.ndim != 2 for x in sequences):
            raise ValueError("X must be Recordings or a list of arrays (T, D), one per sequence")
        channels = tuple(f"channel-{i}" for i in range(sequences[0].shape[1]))
        return Recordings(sequences, ["unknown"] * len(sequences) if y is None else _names(y), channels, self.rate)


def _names(y) -> list[str]:
    return [str(name) for name in np.asarray(y).tolist()]
