"""A library that is loaded when something of it is first used, so that importing ours stays quick."""

from importlib import import_module


class Lazy:
    """Stands for a module.

    >>> Lazy("json").dumps([1])
    '[1]'
    """

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str):
        return getattr(import_module(self._name), name)
