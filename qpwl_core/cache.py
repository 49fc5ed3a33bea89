"""The user's folder for what can be made or fetched again: downloads, compiled kernels, values too large for memory."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """The folder that QPWL_CACHE names, else the platform's usual place."""
    if named := os.environ.get("QPWL_CACHE"):
        return Path(named).expanduser()
    import pooch

    return Path(pooch.os_cache("qpwl-lab"))
