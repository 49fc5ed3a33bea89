"""What a cell may change: a try of the tuning, another M or p, another recipe, fewer people, the paper's own budget.

Settings are tuned alike for all: per set and method `TRIES` tries, the first one the quick preset as it is, the next
drawn once by a seed (a Latin hypercube) from a space that is the same for every method of a domain, recipe included,
the last the preset with one thing changed that mattered in the search before (scripts/SEARCH.md): twice as many
filters, or what the preset was before it was last changed (`LAST`). What a method does not have (p of a cosine, layers
where there is no network) does not matter to it. Tries learn and are judged on splits
that the study never tests on (`plan.tuning_splits`): by the AUC at n = 1 of the people that those splits do not train
on, and where people are imitated by how well forgers and others are told apart (`score_of_try`). One split of a dozen
people says little: where sets are small, the best tries that were not far behind the preset on the first are judged on
five more (`FINALISTS`), and a try replaces the preset where it is better by more than one standard error.
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
LAST = {"eye": ("learning_rate", 0.4), "eeg": ("filters", 0.5)}    # what the last try changes, and by what factor
FINALISTS = 3            # tries of each method, the preset among them, that go on to more splits at most …
CLOSE = 0.01             # … unless they are so far behind it on the first: what splits of a dozen people differ by
ENROLLED = 5             # signatures enrolled where tries are judged
CHOSEN = Path(__file__).with_name("tuned.json")
# What M, p and people to learn from do is asked of QP-WL with so many filters, fewer than what was tuned, on the sets
# whose trainings are long: a third to a fifth of the time, and the same for all that is compared with each other.
NARROW = {"eye-gazecom": 32, "gait-ipol": 32}

Choices = tuple[Any, ...]
Scores = dict[tuple[str, int], dict[Any, float]]     # by method and try, on each split
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
        name, factor = LAST.get(domain, ("filters", 2))
        value = getattr(config.preset("quick", domain, tuned=False), name)
        return {name: type(value)(factor * value)}
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
    """Whether all methods of a set have their settings."""
    known = _chosen().get(set_name, {})
    return bool(known) and all("settings" in each for each in known.values())


def finalists(set_name: str, method: str) -> list[int]:
    """The tries that go on to more splits; none where the preset was far ahead, or not all were judged yet."""
    return _chosen().get(set_name, {}).get(method, {}).get("finalists", [])


def send_on(set_name: str, scores: Scores, split: int) -> None:
    """Write down which tries go on to more splits: the preset, and the best others unless they are far behind it here.

    ``scores`` of methods all of whose tries are there. Where others go on than before, what was chosen of them falls.
    """
    known = dict(_chosen().get(set_name, {}))
    for method in dict.fromkeys(method for method, _ in scores):
        found = {number: of_splits[split] for (who, number), of_splits in scores.items() if who == method}
        others = sorted((-score, number) for number, score in found.items()
                        if found[0] - CLOSE < score != found[0])           # equal: what it changes, the method has not
        best = sorted([0, *(number for _, number in others[:FINALISTS - 1])]) if others else []
        if known.get(method, {}).get("finalists") != best:
            known[method] = {"finalists": best}
    _write(_chosen() | {set_name: known})


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


def choose(set_name: str, scores: Scores, domain: str) -> None:
    """Write down what won, of all methods of a set all of whose tries are there."""
    sent_on = {method: {"finalists": each["finalists"]} for method, each in _chosen().get(set_name, {}).items()
               if "finalists" in each}
    _write(_chosen() | {set_name: {
        method: sent_on.get(method, {}) | {"try": number, measure_of_tries(domain): round(score, 6),
                                           "settings": settings_of_try(number, domain)}
        for method, (number, score) in best_of(scores).items()}})


def _write(known: dict[str, Any]) -> None:
    if known != _chosen():                       # an installed package may lie where nobody can write
        write_whole(CHOSEN, (json.dumps(known, indent=1) + "\n").encode())
        _chosen.cache_clear()


def choose_preset(domain: str, scores: list[Scores]) -> None:
    """Write down what everybody's quick preset takes from the tries of all sets of a domain."""
    known = config.tuned_presets() | {domain: {method: settings_of_try(number, domain)
                                               for method, (number, _) in best_of(*scores).items() if number}}
    if known != config.tuned_presets():
        write_whole(config.TUNED, (json.dumps(known, indent=1) + "\n").encode())
        config.tuned_presets.cache_clear()


def best_of(*sets: Scores) -> dict[str, tuple[int, float]]:
    """By method the try that won over some sets, and its mean score: the best of those surely better than the preset.

    Of those that were judged on all splits that the preset was judged on; of equals the first. Sets count alike.

    >>> best_of({("a", 0): {7: 0.8, 8: 0.8}, ("a", 1): {7: 0.9, 8: 0.7}, ("a", 2): {7: 0.9}, ("b", 0): {7: 0.5}})
    {'a': (0, 0.8), 'b': (0, 0.5)}
    """
    best: dict[str, tuple[int, float]] = {}
    tries = dict.fromkeys(key for scores in sets for key in scores)
    for method, number in sorted(tries, key=lambda key: key[1]):
        pairs = [(scores[method, 0], scores.get((method, number), {})) for scores in sets if (method, 0) in scores]
        if any(preset.keys() != of_splits.keys() for preset, of_splits in pairs):
            continue
        mean = float(np.mean([np.mean(list(of_splits.values())) for _, of_splits in pairs]))
        gains = [[of_splits[split] - preset[split] for split in preset] for preset, of_splits in pairs]
        if number == 0 or (mean > best[method][1] and surely_better(gains)):
            best[method] = number, mean
    return best


def surely_better(gains: list[list[float]]) -> bool:
    """Whether the mean gain of some sets is above one standard error of itself, over the splits of each.

    A set of a single split has no error to go by: there any gain counts.

    >>> [surely_better([each]) for each in ([0.1], [0.1, 0.2], [0.1, -0.1, 0.1], [0.0])]
    [True, True, False, False]
    >>> surely_better([[0.1, 0.1], [-0.05]]), surely_better([[0.1, 0.1], [-0.2]])
    (True, False)
    """
    errors = [np.std(each, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else 0.0 for each in gains]
    return bool(np.mean([np.mean(each) for each in gains]) > np.linalg.norm(errors) / len(gains))


@cache
def _chosen() -> dict[str, Any]:
    return json.loads(CHOSEN.read_text(encoding="utf-8")) if CHOSEN.exists() else {}
