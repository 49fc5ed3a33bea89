"""Methods and data sets of your own, without touching this package: files that add rows to its registries.

A plugin is a Python file that calls ``add_method`` or ``add_dataset``. It is named by the environment variable
QPWL_PLUGINS (several as in PATH), by ``--plugin FILE`` of the command line, or by an installed package as an entry
point of the group ``qpwl_core.plugins``. It is loaded when a registry is first asked for, in the app and its trainings,
too. Only name files that you trust: they are executed.
"""

from __future__ import annotations

import os
from importlib import metadata, util
from pathlib import Path

VARIABLE, GROUP = "QPWL_PLUGINS", "qpwl_core.plugins"
_loaded: set[str] = set()


def load_plugins() -> None:
    """Load every plugin that is named and not loaded yet; registries call this once they hold what is ours."""
    for path in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        if path not in _loaded:
            _loaded.add(path)                    # first: a plugin imports the registry that asks for it
            _load_file(Path(path))
    for entry in metadata.entry_points(group=GROUP):
        if entry.value not in _loaded:
            _loaded.add(entry.value)
            with _Named(f"the plugin {entry.name} ({entry.value})"):
                entry.load()


def add_plugins(paths: list[str]) -> None:
    """Name plugins for this process and those it starts."""
    given = [str(Path(path).absolute()) for path in paths]
    for path in given:
        if not Path(path).is_file() or Path(path).suffix != ".py":
            raise ValueError(f"--plugin must name a Python file (.py), and {path} is none")
    os.environ[VARIABLE] = os.pathsep.join([*filter(None, [os.environ.get(VARIABLE)]), *given])


def _load_file(path: Path) -> None:
    with _Named(f"the plugin {path}"):
        spec = util.spec_from_file_location(f"qpwl_plugin_{path.stem}", path)
        if spec is None or spec.loader is None:
            raise ValueError("it is no Python file")
        spec.loader.exec_module(util.module_from_spec(spec))


class _Named:
    """Whatever goes wrong in a plugin is a ValueError that names it."""

    def __init__(self, name: str):
        self.name = name

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if isinstance(error, Exception):
            raise ValueError(f"{self.name} cannot be used: {type(error).__name__}: {error}") from error
