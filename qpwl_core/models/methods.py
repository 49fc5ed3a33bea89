"""METHODS: a method is a network, an aggregation, a loss and a distance, declared. `build_embedder` makes it.

The first five rows are the paper's systems. Adding a method is adding a row, here or from a file of one's own
(`add_method`, see `common/plugins.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qpwl_core.common.plugins import load_plugins
from qpwl_core.common.text import quoted
from qpwl_core.transport.measures import DISTANCES

if TYPE_CHECKING:
    from torch import Tensor

LOSSES = ("wasserstein", "n-pair", "softmax", "multi-similarity", "none")
SCALED = ("wasserstein", "n-pair")                       # losses that depend on the scale of the distance
CHOICES = {"network": ("conv", "jaeger", "none"), "flatten": (None, "inner", "all"), "loss": LOSSES,
           "distance": DISTANCES}
# The keys of `aggregation.AGGREGATIONS` that are ours, by name: the table of methods is there before PyTorch is.
POOLINGS = ("quantile", "quantile-fixed", "quantile-pyramid", "max", "mean", "mean-std", "attentive",
            "sliced-wasserstein", "frames")


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
        for field, choices in (CHOICES | {"aggregation": poolings(self.aggregation)}).items():
            if getattr(self, field) not in choices:
                raise ValueError(f"{field} must be one of {tuple(choices)}, got {quoted(getattr(self, field))} in "
                                 f"{self.name}")
        functions = self.aggregation.startswith("quantile") and self.flatten is None
        if self.distance == "wasserstein" and not functions:
            raise ValueError(f"distance must not be 'wasserstein' in {self.name}, whose embeddings are no quantile "
                             "functions")
        if self.flatten and not self.aggregation.startswith("quantile"):
            raise ValueError(f"flatten must be None in {self.name}, whose embeddings are vectors already")
        if self.loss == "multi-similarity" and self.distance != "cosine":
            raise ValueError(f"distance must be 'cosine' in {self.name}: multi-similarity has thresholds for cosines")


def poolings(wanted: str) -> tuple[str, ...]:
    """Names of all aggregations; those that plugins added are looked up where another than ours is wanted."""
    if wanted in POOLINGS:
        return POOLINGS
    from qpwl_core.models.aggregation import AGGREGATIONS

    return tuple(AGGREGATIONS)


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
    Method("qp-wl-pyramid", "QP-WL pyramid", "conv", "quantile-pyramid", None, "wasserstein", "wasserstein", False,
           "QP-WL with quantile functions of the whole sequence, its halves and its quarters: some order is kept"),
    Method("untrained", "Untrained, Wasserstein", "none", "quantile-fixed", None, "none", "wasserstein", False,
           "no network: quantiles of what the recipe gives, compared with the Wasserstein distance, nothing learned"),
    Method("untrained-cosine", "Untrained, cosine", "none", "quantile-fixed", "inner", "none", "cosine", False,
           "no network: quantiles of what the recipe gives, as a vector, compared by cosine; nothing is learned"),
    Method("dtw", "Dynamic time warping", "none", "frames", None, "none", "dtw", False,
           "no network and no distribution: what the recipe gives, aligned in time and compared frame by frame"),
)}
"""All methods, by name, in the order of our tables."""


# How many numbers an aggregation keeps of each filter, block after block: all means, then all deviations.
BLOCKS = {"mean-std": 2, "attentive": 2}


def by_filter(values: Tensor, method: Method, knots: int = 0) -> Tensor:
    """Embeddings of a method filter by filter. (n, K, L), (n, K·M) or (n, E) -> (n, K, numbers of one filter)

    ``knots``: levels of the quantile layer, M + 2. Where an aggregation mixes filters, as slices do, each number stands
    for itself.
    """
    if values.ndim == 3:
        return values
    if method.flatten:
        return values.unflatten(1, (-1, knots - 2 if method.flatten == "inner" else knots))
    return values.unflatten(1, (BLOCKS.get(method.aggregation, 1), -1)).transpose(1, 2)


def add_method(method: Method) -> None:
    """Add a row to METHODS: what a plugin calls. A new aggregation goes into AGGREGATIONS before it."""
    if METHODS.get(method.name, method) != method:
        raise ValueError(f"there is a method {quoted(method.name)} already: give yours another name")
    METHODS[method.name] = method


load_plugins()
