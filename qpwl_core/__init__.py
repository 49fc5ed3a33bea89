"""QP-WL Lab: distributional sequence embeddings compared with Wasserstein distances.

Import what you need from the room it lives in (``from qpwl_core.distances import wasserstein``); this
file imports nothing, so that ``import qpwl_core`` costs nothing.
"""

__version__ = "0.1.0"
