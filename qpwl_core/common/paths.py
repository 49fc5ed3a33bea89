"""Where things are kept: in a checkout beside the code, of an installed package in the user's own folders.

An environment variable names another folder: QPWL_CACHE, QPWL_DESK, QPWL_RUNS, QPWL_RESULTS; QPWL_DESK
may be a database. Nothing is ever written into the installed package.
"""

import os
from pathlib import Path

NAME = "qpwl-lab"             # of our folders among the user's


def checkout() -> Path | None:
    """The root of the repository that this package runs from; None where it was installed."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "pyproject.toml").is_file() and (root / "app.py").is_file() else None


def cache_folder() -> Path:
    """What can be made or fetched again: downloads, compiled kernels, values too large for memory."""
    return _named("QPWL_CACHE") or _users("user_cache_dir")


def desk_place() -> Path | str:
    """The databases of the enrolment desk: their folder, or the address of a PostgreSQL database."""
    named = os.environ.get("QPWL_DESK", "")
    return named if named.startswith(("postgresql", "postgres:")) and "://" in named else desk_folder()


def desk_folder() -> Path:
    """The folder of the enrolment desk, where it is one."""
    return _named("QPWL_DESK") or _beside("desk")


def runs_folder() -> Path:
    """Trainings of the app, and models that were uploaded to it."""
    return _named("QPWL_RUNS") or _beside("runs")


def results_folder() -> Path:
    """What a study writes, and the page Results shows."""
    return _named("QPWL_RESULTS") or _beside("results")


def sample_data() -> Path:
    """The recordings that ship, beside the code or in the installed package."""
    return _shipped("sample_data")


def shipped_models() -> Path:
    """The trained models that ship: all of them in the repository, one to start with in the installed package."""
    return _shipped("models")


def model_folder(name_or_path) -> Path:
    """The folder of a model: a path, or else the name of a model that ships."""
    path = Path(name_or_path)
    if not path.exists() and path.name == str(name_or_path) and path.name in _names_in(shipped_models()):
        return shipped_models() / path.name
    return path


def _named(variable: str) -> Path | None:
    named = os.environ.get(variable)
    return Path(named).expanduser() if named else None


def _beside(name: str) -> Path:
    root = checkout()
    return root / name if root else _users("user_data_dir") / name


def _shipped(name: str) -> Path:
    return (checkout() or Path(__file__).resolve().parents[1]) / name


def _names_in(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/card.json"))


def _users(kind: str) -> Path:
    import platformdirs

    return Path(getattr(platformdirs, kind)(NAME))
