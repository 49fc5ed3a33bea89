"""What a cell may change: a try of the tuning, another M or p, another recipe, fewer people, the paper's own budget.

Settings are tuned alike for all: per set and method `TRIES` tries, the first one the quick preset as it is, the next
drawn once by a seed (a Latin hypercube) from a space that is the same for every method of a domain, recipe included,
the last the preset with twice as many filters, which helped every method in the search before (scripts/SEARCH.md);
what a method does not have (p of a cosine, layers where there is no network) does not matter to it. Tries learn and are
judged on splits that the study never tests on (`plan.tuning_splits`): by the mean AUC at n = 1 of the people that those
splits do not train on, and where people are imitated by how well forgers and others are told apart (`score_of_try`).
What makes a *sequence* (seconds of a window, how many of a walk) is the task, not a setting, and tuned by nobody. What
won is written down by set, for the study (`tuned.json`), and by domain, for everybody's quick preset
(`models/presets.json`).
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from qpwl_core.common.files import write_whole
from qpwl_core.models import config

DRAWN = 5                # tries that are drawn
TRIES = DRAWN + 2
ENROLLED = 5             # signatures enrolled where tries are judged
CHOSEN = Path(__file__).with_name("tuned.json")
# What M, p and people to learn from do is asked of QP-WL with so many filters, fewer than what was tuned, on the sets
# whose trainings are long: a third to a fifth of the time, and the same for all that is compared with each other.
NARROW = {"eye-gazecom": 32, "gait-ipol": 32}

Choices = tuple[Any, ...]
LOGARITHMIC = {"learning_rate": (5e-4, 5e-3), "penalty": (1e-6, 1e-2)}
SPACE: dict[str, dict[str, Choices]] = {
    "eeg": {"layers": (1, 2, 3, 5), "filters": (32, 64), "p": (1.0, 2.0), "channel_dropout": (0.0, 0.1, 0.3),
            "recipe.whiten": (True, False), "recipe.equalise": (True, False), "recipe.compress": (None, 1.0, 3.0)},
    "gait": {"layers": (3, 5, 8), "filters": (32, 64), "p": (1.0, 2.0, 3.0), "channel_dropout": (0.0, 0.1),
             "crop": (0.0, 2.5), "recipe.rate": (None, 25.0)},
    "eye": {"layers": (3, 5, 8), "filters": (32, 64), "p": (1.0, 2.0), "channel_dropout": (0.0, 0.1),
            "crop": (1.0, 2.0, 4.0), "recipe.fine": (True, False), "recipe.gaze": (True, False),
            "recipe.rate": (None, 125.0)},
    "signature": {"p": (1.0, 2.0), "one_threshold": (True, False), "forgery_weight": (2.0, 8.0),
                  "day_copies": (0, 1, 2), "recipe.position": (True, False), "recipe.time": (True, False),
                  "recipe.phase": (True, False), "recipe.pen_up": ("keep", "drop")},
}
# What the EEG recipe does, one step more at a time: where does .80 -> .99 come from?
STEPS: dict[str, dict[str, Any]] = {"raw": {"change": False, "whiten": False, "equalise": False, "compress": None}}
for _name, _options in (("change", {"change": True}), ("whiten", {"whiten": True}), ("equalise", {"equalise": True}),
                        ("compress", {"compress": 1.0})):
    STEPS[_name] = [*STEPS.values()][-1] | _options
POINTS = (1, 2, 4, 8, 16, 32, 64)
ORDERS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)


def settings_of_try(number: int, domain: str) -> dict[str, Any]:
    """What try ``number`` changes of the preset: nothing for the first one. A name with a dot is of the recipe.

    >>> settings_of_try(0, "eeg"), sorted(settings_of_try(3, "gait"))[:3]
    ({}, ['channel_dropout', 'crop', 'filters'])
    """
    if not 0 <= number < TRIES:
        raise ValueError(f"a try must be from 0 to {TRIES - 1}, not {number}")
    from scipy.stats import qmc

    if number == 0:
        return {}
    if number == TRIES - 1:
        return {"filters": 2 * config.preset("quick", domain, tuned=False).filters}
    space, bounds = SPACE.get(domain, {}), np.log(list(LOGARITHMIC.values()))
    drawn = qmc.LatinHypercube(len(bounds) + len(space), rng=np.random.default_rng(0)).random(DRAWN)[number - 1]
    values = np.exp(bounds[:, 0] + drawn[:len(bounds)] * (bounds[:, 1] - bounds[:, 0]))
    found: dict[str, Any] = {name: float(f"{x:.3g}") for name, x in zip(LOGARITHMIC, values, strict=True)}
    return found | {name: choices[int(x * len(choices))]
                    for (name, choices), x in zip(space.items(), drawn[len(bounds):], strict=True)}


def variant_settings(variant: str, set_name: str, domain: str, method: str) -> dict[str, Any]:
    """What a cell with this variant changes of the quick preset, what was chosen for its method included."""
    kind, _, value = variant.partition("-")
    if variant and not (re.fullmatch(r"try-\d|points-\d+|p-[\d.]+|people-\d+|narrow|paper", variant)
                        or (kind == "recipe" and value in (*STEPS, "of-qp-wl"))):
        raise ValueError("a variant must be such as try-3, points-4, p-1.5, people-6, recipe-raw or paper, not "
                         f"{variant!r}")
    if kind == "try":
        return settings_of_try(int(value), domain)
    found = chosen(set_name, method)
    if kind in ("points", "p", "people", "narrow") and set_name in NARROW:
        found = found | {"filters": NARROW[set_name]}
    if kind in ("", "people", "narrow", "paper"):
        return found
    if variant == "recipe-of-qp-wl":
        without = {name: x for name, x in found.items() if not name.startswith("recipe.")}
        return without | {name: x for name, x in chosen(set_name, "qp-wl").items() if name.startswith("recipe.")}
    if kind == "recipe":
        return found | {f"recipe.{name}": x for name, x in STEPS[value].items()}
    return found | ({"points": int(value)} if kind == "points" else {"p": float(value)})


def people_to_learn(variant: str) -> int | None:
    """How many people a cell may learn from at most: all but those of a variant ``people-12``."""
    return int(variant.removeprefix("people-")) if variant.startswith("people-") else None


def chosen(set_name: str, method: str) -> dict[str, Any]:
    """The settings that the tuning chose: nothing beyond the preset where a set was not tuned to the end."""
    return _chosen().get(set_name, {}).get(method, {}).get("settings", {})


def is_tuned(set_name: str) -> bool:
    return set_name in _chosen()


def measure_of_tries(domain: str) -> str:
    """What tries of a domain are judged by, as it is called in `tuned.json`; the largest is best."""
    return "told_apart" if domain == "signature" else "auc"


def score_of_try(results: dict[str, Any], of_sets: dict[str, Any], domain: str) -> float:
    """How good a try is, the larger the better, by what its record says of all people and of each data set.

    AUC at n = 1. Of signatures, where a network may know everybody and let forgers in: 1 − the mean of the equal error
    rates against other people and against forgers, 5 enrolled, plain, every tablet alike. (All imposters mixed would
    count a forger the less, the more people are tested.)
    """
    if measure_of_tries(domain) == "auc":
        return results["verification"]["1"]["auc"]
    plain = [row for part in (of_sets or {"": results}).values() for row in part["forgeries"]
             if row["enrolled"] == ENROLLED and not row["normalised"]]
    return 1 - float(np.mean([(row["random_eer"] + row["skilled_eer"]) / 2 for row in plain]))


def choose(set_name: str, scores: dict[tuple[str, int], float], domain: str) -> None:
    """Write down what won; ``scores``: mean score by method and try, all of them. Of equals the first."""
    known = _chosen() | {set_name: {method: {"try": number, measure_of_tries(domain): round(score, 6),
                                             "settings": settings_of_try(number, domain)}
                                    for method, (number, score) in best_of(scores).items()}}
    if known != _chosen():                       # an installed package may lie where nobody can write
        write_whole(CHOSEN, (json.dumps(known, indent=1) + "\n").encode())
        _chosen.cache_clear()


def choose_preset(domain: str, scores: list[dict[tuple[str, int], float]]) -> None:
    """Write down what everybody's quick preset takes from the tries; ``scores``: one as in `choose` per set."""
    keys = dict.fromkeys(key for each in scores for key in each)
    means = {key: float(np.mean([each[key] for each in scores if key in each])) for key in keys}
    known = config.tuned_presets() | {domain: {method: settings_of_try(number, domain)
                                               for method, (number, _) in best_of(means).items() if number}}
    if known != config.tuned_presets():
        write_whole(config.TUNED, (json.dumps(known, indent=1) + "\n").encode())
        config.tuned_presets.cache_clear()


def best_of(scores: dict[tuple[str, int], float]) -> dict[str, tuple[int, float]]:
    """By method the best try and its score; of equals the first."""
    best: dict[str, tuple[int, float]] = {}
    for (method, number), auc in sorted(scores.items(), key=lambda item: item[0][1]):
        if method not in best or auc > best[method][1]:
            best[method] = number, auc
    return best


@cache
def _chosen() -> dict[str, Any]:
    return json.loads(CHOSEN.read_text(encoding="utf-8")) if CHOSEN.exists() else {}
