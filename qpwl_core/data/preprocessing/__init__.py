"""Preprocessing recipes, one per domain: ``recipe_for("gait").fit(training).apply(anything)``."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from qpwl_core.common.text import quoted
from qpwl_core.data.preprocessing.eeg import EegRecipe
from qpwl_core.data.preprocessing.eye import EyeRecipe
from qpwl_core.data.preprocessing.gait import GaitRecipe
from qpwl_core.data.preprocessing.recipe import FittedRecipe, Recipe
from qpwl_core.data.preprocessing.signature import SignatureRecipe

__all__ = ["RECIPES", "FittedRecipe", "Recipe", "fitted_from_dict", "recipe_for"]

RECIPES: dict[str, type[Recipe]] = {
    recipe.domain: recipe for recipe in (EyeRecipe, GaitRecipe, EegRecipe, SignatureRecipe, Recipe)}


def recipe_for(domain: str, **options) -> Recipe:
    """The recipe of a domain (eye, gait, eeg, signature, generic) with these options.

    >>> recipe_for("gait", seconds=5)
    GaitRecipe(rate=None, seconds=5, keep=30)
    """
    if not isinstance(domain, str) or domain not in RECIPES:
        raise ValueError(f"domain must be one of {', '.join(RECIPES)}, not {quoted(domain)}")
    known = {field.name: field.type for field in fields(RECIPES[domain])}
    for name in options:
        if name not in known:
            raise ValueError(f"the {domain} recipe has no option {quoted(name)}; it has {', '.join(known)}")
    try:
        return RECIPES[domain](**options)
    except TypeError:  # a word compared with a number
        raise ValueError(f"the options {quoted(options)} of the {domain} recipe must be of the types {known}") from None


def fitted_from_dict(stored: dict, arrays: dict[str, np.ndarray]) -> FittedRecipe:
    """The fitted recipe that ``to_dict()`` and ``arrays`` describe."""
    try:
        recipe = recipe_for(stored["domain"], **stored["options"])
        channels = tuple(str(name) for name in stored["channels"])
    except (KeyError, TypeError):
        raise ValueError("a stored recipe must have domain, options and channels") from None
    if recipe.rate is None:                            # fitting fills it in, and nothing can be prepared without
        raise ValueError(f"a stored {recipe.domain} recipe must have a rate in Hz, and this one has none")
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in arrays.items()}
    wanted = recipe.shapes(channels)
    found = {name: values.shape for name, values in arrays.items()}
    if found != wanted or not all(np.isfinite(values).all() for values in arrays.values()):
        raise ValueError(f"a stored {recipe.domain} recipe must have finite arrays of shape {wanted}, not "
                         f"{quoted(found)}")
    return FittedRecipe(recipe, channels, arrays)
