"""A method, ready to train: sequences -> embeddings, embeddings -> loss, embeddings -> distances."""

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from qpwl_core.common.checks import check_float, check_order
from qpwl_core.common.text import quoted
from qpwl_core.common.watch import sent
from qpwl_core.models.aggregation import AGGREGATIONS
from qpwl_core.models.jaeger import JaegerNetwork
from qpwl_core.models.losses import multi_similarity_loss, n_pair_loss, wasserstein_loss
from qpwl_core.models.methods import METHODS, SCALED, Method
from qpwl_core.models.networks import ConvStack, Identity
from qpwl_core.models.pyramid import QuantilePyramid
from qpwl_core.transport.distances import paired_by, pairwise_by
from qpwl_core.transport.quantiles import QuantileLayer

Network = ConvStack | JaegerNetwork | Identity


class Embedder(nn.Module):
    """A method, ready to train: sequences -> embeddings, embeddings -> loss, embeddings -> distances.

    ``forward`` (B, D, T), (B,) -> (B, K, M+2) quantile functions or (B, E) vectors. All that a model for use lacks
    against the one in training is ``head`` (`build_embedder` without ``classes``): drop ``head.*`` from its state.
    """

    def __init__(self, method: Method, network: Network, filters: int, points: int, p: float, scale: float | str,
                 multi_class: bool, both_ways: bool, classes: int, storeys: tuple[int, ...],
                 one_threshold: bool = False, forgery_weight: float = 1.0, fixed_weights: bool = False):
        super().__init__()
        self.method, self.p, self.multi_class, self.both_ways = method, check_order(p), multi_class, both_ways
        self.one_threshold, self.forgery_weight = one_threshold, forgery_weight
        self.network, self.aggregation = network, AGGREGATIONS[method.aggregation](filters, points, storeys)
        if fixed_weights and isinstance(self.aggregation, QuantilePyramid):
            self.aggregation.log_weights.requires_grad_(False)
        with torch.no_grad():                            # one frame through tells what shape comes out
            self.shape = tuple(self.aggregate(torch.zeros(1, filters, 1), torch.ones(1, dtype=torch.long)).shape[1:])
        if method.loss in SCALED:
            first = self._first_scale() if scale == "learned" else float(scale)
            self.log_scale = nn.Parameter(torch.tensor(math.log(first)), requires_grad=scale == "learned")
        self.head = nn.Linear(math.prod(self.shape), classes) if method.loss == "softmax" and classes else None

    def _first_scale(self) -> float:
        """Filters start at about unit variance, so distances grow with K. Tried on EEG and gait:
        0.3 and 1 at K = 32 are good for QP-WL, 0.1 is not; cosines want a temperature of a tenth."""
        start = {"cosine": 10.0, "wasserstein": 32 / self.shape[0], "euclidean": 10 / math.prod(self.shape) ** 0.5}
        return start[self.method.distance]

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        return self.aggregate(*self.network(x, lengths))

    def aggregate(self, y: Tensor, lengths: Tensor) -> Tensor:
        """The second half of ``forward``. (B, K, T), (B,) -> (B, K, M+2) or (B, E)"""
        values = self.aggregation(y, lengths)            # (B, K, M+2) or (B, E)
        if self.method.flatten == "inner":
            values = values[..., 1:-1]
        return values.flatten(1) if self.method.flatten else values

    @property
    def levels(self) -> Tensor | None:
        """The M + 2 levels of the quantile layer, None where there is none. (M+2,)"""
        return self.aggregation.levels if isinstance(self.aggregation, (QuantileLayer, QuantilePyramid)) else None

    def pairwise(self, a: Tensor, b: Tensor) -> Tensor:
        """The method's distance of every query with every reference, smaller is closer. (Q, …), (R, …) -> (Q, R)"""
        return pairwise_by(self.method.distance, a, b, self.levels, self.p)

    def loss(self, anchors: Tensor, positives: Tensor, labels: Tensor | None = None, forged: Tensor | None = None,
             there: Tensor | None = None) -> Tensor:
        """The training loss of N pairs, pair i being two sequences of person ``labels[i]``. (N, …), (N, …), (N,) -> ()

        Every form is a mean over its terms (`losses.py` has the paper's plain sum), so that one learning rate does for
        any N. Distances are multiplied by the scale first: 1 / temperature, in the words of the N-pair loss. With
        ``both_ways``, the positives are then the anchors of the anchors, and it is the mean of the two. ``forged``
        (F, N, …): forgeries of each of the people, negatives of that person alone, where ``there`` (N, F) says so; for
        a softmax, each forged person is one class more. With ``one_threshold`` the negatives of all are those of each.
        """
        check_float("anchors", anchors)
        if anchors.shape != positives.shape or tuple(anchors.shape[1:]) != self.shape or len(anchors) < 2:
            raise ValueError(f"anchors and positives must each be N >= 2 embeddings of shape {self.shape}, got "
                             f"{tuple(anchors.shape)} and {tuple(positives.shape)}")
        if self.method.loss == "softmax":
            return self._classification(anchors, positives, labels, forged, there)
        distances = self.pairwise(anchors, positives)                        # (N, N)
        scale = self.log_scale.exp() if self.method.loss in SCALED else 1.0
        loss = self._of_rows(scale * distances, self._to_forged(anchors, forged, there, scale), there)
        if not self.both_ways:
            return loss
        other = self._of_rows(scale * distances.T, self._to_forged(positives, forged, there, scale), there)
        return (loss + other) / 2

    def _to_forged(self, anchors: Tensor, forged: Tensor | None, there: Tensor | None, scale) -> Tensor | None:
        """The scaled distance of each anchor to the forgeries of its person, infinite where there is none. -> (N, F)

        A forgery that weighs w stands in the loss, a logarithm of a sum, like w others: nearer by log w.
        """
        if forged is None or there is None:
            return None
        found = [paired_by(self.method.distance, anchors, each, self.levels, self.p) for each in forged]
        near = scale * torch.stack(found, 1) - math.log(self.forgery_weight)
        return near.masked_fill(~sent(there, anchors.device), math.inf)

    def _of_rows(self, distances: Tensor, forged: Tensor | None, there: Tensor | None) -> Tensor:
        """The loss of N anchors, a row each, that are compared with N sequences, and F forgeries. (N, N) -> ()"""
        negatives = None if forged is None else -forged
        if self.method.loss == "multi-similarity":
            return multi_similarity_loss(-distances, negatives=negatives)
        if self.method.loss == "n-pair":
            return n_pair_loss(-distances, negatives=negatives, shared=self.one_threshold)
        n, more = len(distances), 0 if forged is None or there is None else len(_true(there)[0])
        terms = n if self.multi_class else (n * (n - 1) + more) * (n if self.one_threshold else 1)
        return wasserstein_loss(distances, self.multi_class, forged, self.one_threshold) / terms

    def _classification(self, anchors: Tensor, positives: Tensor, labels: Tensor | None, forged: Tensor | None,
                        there: Tensor | None) -> Tensor:
        if self.head is None:
            raise ValueError("classes must be the number of training people for a softmax loss, got 0 when built")
        if labels is None or labels.shape != (len(anchors),):
            raise ValueError(f"labels must hold one person per pair, ({len(anchors)},), got "
                             f"{'None' if labels is None else tuple(labels.shape)}")
        embedded, target = torch.cat([anchors, positives]), labels.repeat(2)
        if forged is not None and there is not None:                         # classes: people, then people forged
            person, number = (sent(index, forged.device) for index in _true(there))
            embedded = torch.cat([embedded, forged[number, person]])
            target = torch.cat([target, labels[person] + self.head.out_features // 2])
        logits = self.head(embedded.flatten(1))                              # (2N + …, classes)
        return F.cross_entropy(logits, target.to(logits.device))

    def penalty(self) -> Tensor:
        """The regulariser on PReLU slopes, to be weighed and added to the loss."""
        return self.network.slope_penalty()


def _true(there: Tensor) -> tuple[Tensor, Tensor]:
    """Whose forgeries there are, and which of theirs: the first of all people first. (N, F) bool -> (n,), (n,)

    Keep ``there`` on the CPU: counting on an accelerator waits for it.
    """
    number, person = np.nonzero(there.cpu().numpy().T)
    return torch.from_numpy(person), torch.from_numpy(number)


def build_embedder(method: str | Method, channels: int, *, filters: int = 32, layers: int = 8, kernel: int = 5,
                   dilation: int | tuple[int, ...] = 1, stride: int | tuple[int, ...] = 1, batch_norm: bool = False,
                   points: int = 16, p: float = 1.0, scale: float | str = "learned", multi_class: bool = False,
                   both_ways: bool = False, classes: int = 0, length: int = 0, velocity: tuple[int, ...] = (),
                   width: float = 1.0, storeys: tuple[int, ...] = (1, 2, 4),
                   one_threshold: bool = False, forgery_weight: float = 1.0,
                   fixed_weights: bool = False) -> Embedder:
    """An untrained embedder of a method, for sequences of so many channels.

    Network (`ConvStack`): ``filters`` to ``batch_norm``; ``length``, ``velocity`` and ``width`` are for jaeger-2019
    alone (`JaegerNetwork`), which takes none of those. ``points`` M and order ``p``: of the quantile layer and d_p.
    ``scale``: of the distances inside the loss, "learned" or a number; ``multi_class``: form of the Wasserstein loss;
    ``both_ways``: each of a pair is the anchor once. ``classes``: training people, for the softmax head.
    ``storeys``: pieces of each storey of a pyramid; ``fixed_weights``: of its pieces, else they are learned.
    ``one_threshold``: genuine pairs against all negatives of a batch.

    >>> build_embedder("qp-wl", channels=3, filters=8, layers=2, points=4).shape
    (8, 6)
    """
    if isinstance(method, str):
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {quoted(method)}")
        method = METHODS[method]
    if scale != "learned" and (isinstance(scale, (bool, str)) or not 0 < scale < math.inf):
        raise ValueError(f"scale must be 'learned' or a positive number, got {quoted(scale)}")
    network: Network
    if method.network == "jaeger":
        network, filters = JaegerNetwork(channels, length, tuple(velocity), width=width), 128
    elif method.network == "none":
        network, filters = Identity(channels), channels
    else:
        network = ConvStack(channels, filters, layers, kernel, dilation, stride, batch_norm)
    return Embedder(method, network, filters, points, p, scale, multi_class, both_ways, classes, storeys,
                    one_threshold, forgery_weight, fixed_weights)
