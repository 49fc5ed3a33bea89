"""One frozen Config drives the command line, the widgets, the model card and a shared link."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from qpwl_core.common import bounds
from qpwl_core.common.bounds import SETTING as LARGEST
from qpwl_core.common.text import quoted
from qpwl_core.data.domains import DOMAINS
from qpwl_core.models.storeys import pyramid_of

# Fields that came after models were shipped: at their defaults they are not written, so that a file stays what it was.
LATER = ("pyramid", "fixed_weights", "forgeries", "device_copies", "day_copies", "one_threshold",
         "constant_rate", "forgery_weight", "pieces")
# Fields that are whole numbers, from and to.
WHOLE = {"filters": (1, bounds.FILTERS), "layers": (1, bounds.LAYERS), "kernel": (1, bounds.KERNEL),
         "dilation": (1, bounds.REACH), "stride": (1, bounds.STRIDE), "points": (1, bounds.POINTS),
         "pairs": (2, bounds.PAIRS), "iterations": (1, bounds.ITERATIONS), "validate_every": (1, bounds.ITERATIONS),
         "patience": (0, bounds.ITERATIONS), "seed": (0, bounds.SEED), "forgeries": (0, bounds.FORGERIES),
         "device_copies": (0, bounds.COPIES), "day_copies": (0, bounds.COPIES),
         "pieces": (1, bounds.CROP_PIECES)}


@dataclass(frozen=True)
class Config:
    """Everything a training run depends on beside its recordings; the same Config gives the same weights."""

    method: str = "qp-wl"
    domain: str = "generic"
    # the network Γ
    filters: int = 32                # K
    layers: int = 8
    kernel: int = 5
    dilation: int = 1
    stride: int = 1
    batch_norm: bool = False
    width: float = 1.0               # of the layers of jaeger-2019, which has another network
    points: int = 16                 # M
    p: float = 1.0
    multi_class: bool = True         # form of the Wasserstein loss: one logarithm per anchor, or the paper's sum
    both_ways: bool = False          # each of a pair is the anchor once, or the first one alone, as in the paper
    # the training
    pairs: int = 32                  # N: people in a batch, two sequences each
    iterations: int = 300
    learning_rate: float = 2e-3      # the largest of the one-cycle schedule
    penalty: float = 1e-4            # weight of the PReLU-slope regulariser
    clip: float = 1.0                # largest norm of the gradient
    crop: float = 0.0                # seconds of a sequence that a batch sees, cut at random; 0 is all of it
    channel_dropout: float = 0.0     # fraction of the channels of a sequence that a batch hides, drawn at random
    validate_every: int = 50
    patience: int = 0                # validations without a better one before it stops; 0 is never
    validation: float = 0.2          # fraction of the people set aside to validate on
    seed: int = 0
    device: str = "auto"
    recipe: dict = field(default_factory=dict)   # options of the domain's preprocessing recipe
    pyramid: str = "1+2+4"           # of qp-wl-pyramid: the whole sequence, its halves, its quarters
    fixed_weights: bool = False      # of its pieces: every storey counts alike; else they are learned
    forgeries: int = 0               # of each person in a batch that join it as negatives of that person
    device_copies: int = 0           # of each training sequence, as another device would have recorded it
    day_copies: int = 0              # of each training sequence, as the same hand would have moved on another day
    one_threshold: bool = False      # in a loss on pairs, the negatives of all anchors are those of each
    forgery_weight: float = 1.0      # there a forgery counts like so many other negatives
    pieces: int = 1                  # from all over the sequence, that a crop is made of; 1 is one stretch
    constant_rate: bool = False      # the learning rate stays what it is, as in the paper; else one cycle

    def __post_init__(self):
        from qpwl_core.models.methods import METHODS

        if not isinstance(self.method, str) or self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, not {quoted(self.method)}")
        if self.domain not in DOMAINS:
            raise ValueError(f"domain must be one of {', '.join(DOMAINS)}, not {quoted(self.domain)}")
        for name, (least, most) in WHOLE.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, not {quoted(value)}")
            if value > most:
                raise ValueError(f"{name} must be at most {most:,}, not {quoted(value)}")
        if self.dilation * (self.kernel // 2) > bounds.REACH:
            raise ValueError(f"dilation times half the kernel must be at most {bounds.REACH:,} samples, not "
                             f"{self.dilation * (self.kernel // 2)}")
        for name, bound, open_end in (("p", 1, False), ("width", 0, True), ("learning_rate", 0, True),
                                      ("penalty", 0, False), ("clip", 0, True), ("crop", 0, False),
                                      ("validation", 0, True), ("channel_dropout", 0, False),
                                      ("forgery_weight", 0, True)):
            value = getattr(self, name)
            fine = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < math.inf
            if not fine or value > LARGEST or value < bound or (open_end and value == bound):
                raise ValueError(f"{name} must be a finite number {'above' if open_end else 'of at least'} {bound}, "
                                 f"not {quoted(value)}")
        for name in ("validation", "channel_dropout"):
            if getattr(self, name) >= 1:
                raise ValueError(f"{name} must be a fraction below 1, not {quoted(getattr(self, name))}")
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel must be odd, not {self.kernel}")
        for name in ("batch_norm", "multi_class", "both_ways", "one_threshold", "constant_rate", "fixed_weights"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, not {quoted(getattr(self, name))}")
        pyramid_of(self.pyramid)
        if not isinstance(self.device, str):
            raise ValueError(f"device must be the name of a device, not {quoted(self.device)}")
        if not isinstance(self.recipe, dict):
            raise ValueError(f"recipe must be a dict of options, not {type(self.recipe).__name__}")
        object.__setattr__(self, "recipe", dict(self.recipe))        # a copy, so that none changes another's

    def to_dict(self) -> dict:
        """All fields, ready for JSON; those of `LATER` only where they are in use."""
        standard = {f.name: f.default for f in fields(self)}
        return {name: value for name, value in asdict(self).items() if name not in LATER or value != standard[name]}

    @classmethod
    def from_dict(cls, stored: dict) -> Config:
        """The Config that ``to_dict`` gave; a field that this version does not know is an error that names it."""
        if not isinstance(stored, dict):
            raise ValueError(f"a config must be a dict, not {type(stored).__name__}")
        known = {f.name for f in fields(cls)}
        if unknown := sorted(set(stored) - known, key=str):
            raise ValueError(f"a config has no {quoted(unknown[0])}; it has {', '.join(sorted(known))}")
        return cls(**stored)


# What a domain needs, by the search in scripts/SEARCH.md: batch norm, many pairs where there are many people, a stride
# that shortens long sequences early, windows and crops of a few seconds, p = 2 for eye and gait, 64 filters; of an eye
# also what it does while it rests (fine), and a larger learning rate, since pairs were not learned to the end; of an
# EEG what is neither slow, common to all electrodes nor a matter of loudness, in two layers, a tenth of the electrodes
# hidden; each of a pair is the anchor once. Of signatures forgeries are negatives, and one threshold must fit
# everybody: some sign alike every time, some do not, and a loss that looks at one person at a time cares not; when in a
# signature a moment comes is seen (time, phase), and copies of another day say what a person's own means.
QUICK: dict[str, dict[str, Any]] = {
    "eye": {"batch_norm": True, "filters": 64, "layers": 5, "stride": 2, "crop": 2.0, "p": 2.0, "pairs": 24,
            "learning_rate": 5e-3, "iterations": 1200, "validate_every": 100, "recipe": {"fine": True}},
    "gait": {"batch_norm": True, "filters": 64, "layers": 5, "stride": 2, "p": 2.0, "pairs": 48, "iterations": 300,
             "recipe": {"seconds": 5.0, "keep": 4}},
    "eeg": {"batch_norm": True, "filters": 128, "layers": 2, "pairs": 16, "iterations": 400, "channel_dropout": 0.1,
            "recipe": {"change": True, "whiten": True, "equalise": True, "compress": 1.0}},
    "signature": {"batch_norm": True, "filters": 64, "layers": 5, "stride": 2, "crop": 4.0, "p": 2.0, "pairs": 24,
                  "iterations": 400, "validate_every": 100, "learning_rate": 1e-3, "validation": 0.1, "forgeries": 1,
                  "forgery_weight": 8.0, "one_threshold": True, "day_copies": 1,
                  "recipe": {"longest": 8.0, "time": True, "phase": True}},
    "generic": {"iterations": 300, "pairs": 16},
}
# The paper's: 16 layers, Adam at a constant 1e-4 for 50,000 steps or 10,000 without a better validation, its sum of
# softplus, whole sequences, gait in windows of a minute (what the recipe does where nothing is given). Kernel, filters
# and N are not public, so they are ours: 32 filters and N = 16, which make 50,000 steps an hour or two of one core.
PAPER: dict[str, Any] = {"layers": 16, "filters": 32, "pairs": 16, "learning_rate": 1e-4, "constant_rate": True,
                         "iterations": 50_000, "validate_every": 1000, "multi_class": False, "patience": 10}


# What the same tries for every method chose (`study --tune` writes it): by domain and method, what it changes of QUICK.
TUNED = Path(__file__).with_name("presets.json")


def preset(name: str, domain: str, tuned: bool = True, **changes) -> Config:
    """The ``quick`` or ``paper`` Config of a domain, with changes; quick with what was tuned for the method."""
    if domain not in DOMAINS:
        raise ValueError(f"domain must be one of {', '.join(DOMAINS)}, not {quoted(domain)}")
    if name not in ("quick", "paper"):
        raise ValueError(f"preset must be quick or paper, not {quoted(name)}")
    method = changes.get("method", "qp-wl")
    # jaeger-2019 at full width takes minutes; an eighth of it takes no longer than the others
    width = 0.125 if method == "jaeger-2019" else 0.25
    settings = PAPER if name == "paper" else {"width": width, "both_ways": True, **QUICK[domain]}
    if name == "quick" and tuned:
        settings = with_settings(settings, tuned_presets().get(domain, {}).get(str(method), {}))
    return Config.from_dict({**settings, "domain": domain, **changes})


@cache
def tuned_presets() -> dict[str, dict[str, dict[str, Any]]]:
    """What the tuning chose, {domain: {method: settings}}."""
    return json.loads(TUNED.read_text(encoding="utf-8")) if TUNED.exists() else {}


def with_settings(config: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """A config's fields with these settings; the recipe's options, such as ``recipe.rate``, are changed one by one."""
    recipe = dict(config.get("recipe", {}))
    recipe |= {name.removeprefix("recipe."): x for name, x in settings.items() if name.startswith("recipe.")}
    return config | {name: x for name, x in settings.items() if not name.startswith("recipe.")} | {"recipe": recipe}
