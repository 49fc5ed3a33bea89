"""METHODS: a method is a network, an aggregation, a loss and a distance, declared. `build_embedder` makes it.

The first five rows are the paper's systems. Adding a method is adding a row.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from qpwl_core.common.checks import check_float, check_order
from qpwl_core.models.aggregation import AGGREGATIONS
from qpwl_core.models.jaeger import JaegerNetwork
from qpwl_core.models.losses import multi_similarity_loss, n_pair_loss, wasserstein_loss
from qpwl_core.models.networks import ConvStack
from qpwl_core.transport.distances import MEASURES, pairwise_by
from qpwl_core.transport.quantiles import QuantileLayer

LOSSES = ("wasserstein", "n-pair", "softmax", "multi-similarity")
SCALED = ("wasserstein", "n-pair")                       # losses that depend on the scale of the distance
CHOICES = {"network": ("conv", "jaeger"), "aggregation": tuple(AGGREGATIONS), "flatten": (None, "inner", "all"),
           "loss": LOSSES, "distance": MEASURES}


@dataclass(frozen=True)
class Method:
    """One row: what is trained, with which loss, and what compares two embeddings at test.

    ``flatten``: of a quantile embedding (K, M+2) keep the "inner" K·M values as a vector, or "all"; None leaves what
    the aggregation gives. ``distance`` also is what the loss sees: smaller is closer, similarity is its negative.
    """

    name: str
    title: str
    network: str
    aggregation: str
    flatten: str | None
    loss: str
    distance: str
    in_paper: bool
    what: str

    def __post_init__(self):
        for field, choices in CHOICES.items():
            if getattr(self, field) not in choices:
                raise ValueError(f"{field} must be one of {choices}, got {getattr(self, field)!r} in {self.name}")
        functions = self.aggregation.startswith("quantile") and self.flatten is None
        if self.distance == "wasserstein" and not functions:
            raise ValueError(f"distance must not be 'wasserstein' in {self.name}, whose embeddings are no quantile "
                             "functions")
        if self.flatten and not self.aggregation.startswith("quantile"):
            raise ValueError(f"flatten must be None in {self.name}, whose embeddings are vectors already")
        if self.loss == "multi-similarity" and self.distance != "cosine":
            raise ValueError(f"distance must be 'cosine' in {self.name}: multi-similarity has thresholds for cosines")


METHODS: dict[str, Method] = {method.name: method for method in (
    Method("qp-wl", "QP-WL", "conv", "quantile", None, "wasserstein", "wasserstein", True,
           "the paper's method: quantile functions, trained and compared with the Wasserstein distance"),
    Method("qp-npl", "QP-NPL", "conv", "quantile", "inner", "n-pair", "cosine", True,
           "the same quantiles as a plain vector, trained with N-pair loss, compared by cosine"),
    Method("mp-npl", "MP-NPL", "conv", "max", None, "n-pair", "cosine", True,
           "only the largest value of each filter, trained with N-pair loss, compared by cosine"),
    Method("qp-cls", "QP-CLS", "conv", "quantile", "inner", "softmax", "cosine", True,
           "quantiles as a vector, trained to name the training people, compared by cosine"),
    # The network gives one frame, whose mean is itself.
    Method("jaeger-2019", "Jäger et al. 2019", "jaeger", "mean", None, "softmax", "cosine", True,
           "two-stream CNN on gaze velocity of fixed length, trained to name the training people, compared by cosine"),
    Method("mean-npl", "Mean + N-pair", "conv", "mean", None, "n-pair", "cosine", False,
           "only the mean of each filter, trained with N-pair loss, compared by cosine"),
    Method("meanstd-npl", "Mean and deviation + N-pair", "conv", "mean-std", None, "n-pair", "cosine", False,
           "mean and standard deviation of each filter, trained with N-pair loss, compared by cosine"),
    Method("attentive-npl", "Attentive statistics + N-pair", "conv", "attentive", None, "n-pair", "cosine", False,
           "mean and deviation over frames weighted by learned attention, N-pair loss, compared by cosine"),
    Method("qp-wl-fixed", "QP-WL, fixed levels", "conv", "quantile-fixed", None, "wasserstein", "wasserstein", False,
           "QP-WL with evenly spaced levels that are not learned"),
    Method("qp-euclid", "QP, Euclidean", "conv", "quantile", "all", "n-pair", "euclidean", False,
           "the quantile values as points in space: is it the Wasserstein distance, or only that it is no cosine?"),
    Method("pswe-npl", "Sliced Wasserstein pooling + N-pair", "conv", "sliced-wasserstein", None, "n-pair", "cosine",
           False, "transport to learned references along learned slices of the filters, N-pair loss, by cosine"),
    Method("qp-ms", "QP + multi-similarity", "conv", "quantile", "inner", "multi-similarity", "cosine", False,
           "QP-NPL with the multi-similarity loss, which weighs hard pairs"),
)}


# How many numbers an aggregation keeps of each filter, block after block: all means, then all deviations.
BLOCKS = {"mean-std": 2, "attentive": 2}


def by_filter(values: Tensor, method: Method, knots: int = 0) -> Tensor:
    """Embeddings of a method with their filters apart. (n, K, L), (n, K·M) or (n, E) -> (n, K, numbers of one filter)

    ``knots``: levels of the quantile layer, M + 2. Where an aggregation mixes filters, as slices do, each number stands
    for itself.
    """
    if values.ndim == 3:
        return values
    if method.flatten:
        return values.unflatten(1, (-1, knots - 2 if method.flatten == "inner" else knots))
    return values.unflatten(1, (BLOCKS.get(method.aggregation, 1), -1)).transpose(1, 2)


class Embedder(nn.Module):
    """A method, ready to train: sequences -> embeddings, embeddings -> loss, embeddings -> distances.

    ``forward`` (B, D, T), (B,) -> (B, K, M+2) quantile functions or (B, E) vectors. All that a model for use lacks
    against the one in training is ``head`` (`build_embedder` without ``classes``): drop ``head.*`` from its state.
    """

    def __init__(self, method: Method, network: ConvStack | JaegerNetwork, filters: int, points: int, p: float,
                 scale: float | str, multi_class: bool, both_ways: bool, classes: int):
        super().__init__()
        self.method, self.p, self.multi_class, self.both_ways = method, check_order(p), multi_class, both_ways
        self.network, self.aggregation = network, AGGREGATIONS[method.aggregation](filters, points)
        with torch.no_grad():                            # one frame through tells what shape comes out
            self.shape = tuple(self.aggregate(torch.zeros(1, filters, 1), torch.ones(1, dtype=torch.long)).shape[1:])
        if method.loss in SCALED:
            first = self._first_scale() if scale == "learned" else float(scale)
            self.log_scale = nn.Parameter(torch.tensor(math.log(first)), requires_grad=scale == "learned")
        self.head = nn.Linear(math.prod(self.shape), classes) if method.loss == "softmax" and classes else None

    def _first_scale(self) -> float:
        """Filters start at about unit variance, so distances grow with K. Tried on EEG and gait (FACTS: it matters):
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
        return self.aggregation.levels if isinstance(self.aggregation, QuantileLayer) else None

    def pairwise(self, a: Tensor, b: Tensor) -> Tensor:
        """The method's distance of every query with every reference, smaller is closer. (Q, …), (R, …) -> (Q, R)"""
        return pairwise_by(self.method.distance, a, b, self.levels, self.p)

    def loss(self, anchors: Tensor, positives: Tensor, labels: Tensor | None = None) -> Tensor:
        """The training loss of N pairs, pair i being two sequences of person ``labels[i]``. (N, …), (N, …), (N,) -> ()

        Every form is a mean over its terms (`losses.py` has the paper's plain sum), so that one learning rate does for
        any N. Distances are multiplied by the scale first: 1 / temperature, in the words of the N-pair loss. With
        ``both_ways``, the positives are then the anchors of the anchors, and it is the mean of the two.
        """
        check_float("anchors", anchors)
        if anchors.shape != positives.shape or tuple(anchors.shape[1:]) != self.shape or len(anchors) < 2:
            raise ValueError(f"anchors and positives must each be N >= 2 embeddings of shape {self.shape}, got "
                             f"{tuple(anchors.shape)} and {tuple(positives.shape)}")
        if self.method.loss == "softmax":
            return self._classification(anchors, positives, labels)
        distances = self.pairwise(anchors, positives)                        # (N, N)
        if self.both_ways:
            return (self._of_rows(distances) + self._of_rows(distances.T)) / 2
        return self._of_rows(distances)

    def _of_rows(self, distances: Tensor) -> Tensor:
        """The loss of N anchors, a row each, that are compared with N sequences. (N, N) -> ()"""
        if self.method.loss == "multi-similarity":
            return multi_similarity_loss(-distances)
        distances = self.log_scale.exp() * distances
        if self.method.loss == "n-pair":
            return n_pair_loss(-distances)
        n = len(distances)
        return wasserstein_loss(distances, self.multi_class) / (n if self.multi_class else n * (n - 1))

    def _classification(self, anchors: Tensor, positives: Tensor, labels: Tensor | None) -> Tensor:
        if self.head is None:
            raise ValueError("classes must be the number of training people for a softmax loss, got 0 when built")
        if labels is None or labels.shape != (len(anchors),):
            raise ValueError(f"labels must hold one person a pair, ({len(anchors)},), got "
                             f"{'None' if labels is None else tuple(labels.shape)}")
        logits = self.head(torch.cat([anchors, positives]).flatten(1))       # (2N, classes)
        return F.cross_entropy(logits, labels.to(logits.device).repeat(2))

    def penalty(self) -> Tensor:
        """The regulariser on PReLU slopes, to be weighed and added to the loss."""
        return self.network.slope_penalty()


def build_embedder(method: str | Method, channels: int, *, filters: int = 32, layers: int = 8, kernel: int = 5,
                   dilation: int | tuple[int, ...] = 1, stride: int | tuple[int, ...] = 1, batch_norm: bool = False,
                   points: int = 16, p: float = 1.0, scale: float | str = "learned", multi_class: bool = False,
                   both_ways: bool = False, classes: int = 0, length: int = 0, velocity: tuple[int, ...] = (),
                   width: float = 1.0) -> Embedder:
    """An untrained embedder of a method, for sequences of so many channels.

    Network (`ConvStack`): ``filters`` to ``batch_norm``; ``length``, ``velocity`` and ``width`` are for jaeger-2019
    alone (`JaegerNetwork`), which takes none of those. ``points`` M and order ``p``: of the quantile layer and d_p.
    ``scale``: of the distances inside the loss, "learned" or a number; ``multi_class``: form of the Wasserstein loss;
    ``both_ways``: each of a pair is the anchor once. ``classes``: training people, for the softmax head.

    >>> build_embedder("qp-wl", channels=3, filters=8, layers=2, points=4).shape
    (8, 6)
    """
    if isinstance(method, str):
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
        method = METHODS[method]
    if scale != "learned" and (isinstance(scale, (bool, str)) or not 0 < scale < math.inf):
        raise ValueError(f"scale must be 'learned' or a positive number, got {scale!r}")
    if method.network == "jaeger":
        network: ConvStack | JaegerNetwork = JaegerNetwork(channels, length, tuple(velocity), width=width)
        filters = 128
    else:
        network = ConvStack(channels, filters, layers, kernel, dilation, stride, batch_norm)
    return Embedder(method, network, filters, points, p, scale, multi_class, both_ways, classes)
