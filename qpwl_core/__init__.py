"""QP-WL Lab: distributional sequence embeddings compared with Wasserstein distances.

What people call is here: ``from qpwl_core import wasserstein, train, load_model``. Each name is loaded when it is first
asked for, so that ``import qpwl_core`` costs nothing. Everything else is in its room (see ARCHITECTURE.md).
"""

from importlib import import_module

from qpwl_core.common.version import __version__

# The public names, by the module they live in.
PUBLIC = {
    "transport.quantiles": ("QuantileLayer", "empirical_quantiles"),
    "transport.distances": ("wasserstein", "pairwise_wasserstein", "pairwise_cosine"),
    "models.losses": ("wasserstein_loss", "n_pair_loss"),
    "data.recordings": ("Recordings",),
    "data.loading": ("load_recordings",),
    "data.datasets": ("load_dataset",),
    "data.splits": ("split",),
    "data.preprocessing": ("recipe_for",),
    "models.config": ("Config", "preset"),
    "models.methods": ("METHODS",),
    "models.model": ("Model", "load_model"),
    "models.gallery": ("load_gallery",),
    "training.loop": ("train",),
    "training.estimator": ("DistributionalEmbedding",),
    "evaluation.evaluate": ("evaluate_model",),
}
_MODULE_OF = {name: module for module, names in PUBLIC.items() for name in names}
__all__ = ["__version__", *_MODULE_OF]


def __getattr__(name: str):
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'qpwl_core' has no attribute {name!r}")
    value = getattr(import_module(f"qpwl_core.{_MODULE_OF[name]}"), name)
    globals()[name] = value                     # found at once the next time
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULE_OF])
