"""The commands of the command line, each a function with its arguments above it; and what several of them need."""

from __future__ import annotations

import os
from collections.abc import Callable

from qpwl_core.common import bounds
from qpwl_core.common.text import quoted, shown
from qpwl_core.models.config import WHOLE

COMMANDS: dict[str, tuple[Callable, tuple]] = {}     # name -> function, arguments
FOLDERS = {"train": ("out",), "study": ("out", "data", "ship"), "enrol": ("desk",), "identify": ("desk",),
           "verify": ("desk",)}                            # options that name one


SPEAKS = ("p",)                                      # what its Config says better


def command(*arguments):
    """Register a function as the command of its name, its docstring as help; ``arguments`` are made by argument()."""
    def register(run):
        COMMANDS[run.__name__] = (run, arguments)
        return run
    return register


def argument(*names, **options):
    """What argparse's add_argument takes."""
    return names, options


def load_data(name_or_path):
    """The Recordings of a registered data set, or else of a file or folder."""
    from qpwl_core.data.datasets import DATASETS, load_dataset
    from qpwl_core.data.loading import load_recordings

    if name_or_path in DATASETS:
        return load_dataset(name_or_path)
    if not os.path.exists(name_or_path):
        raise ValueError(f"{shown(name_or_path)} is neither a file nor a data set; there are {', '.join(DATASETS)}")
    return load_recordings(name_or_path)


def people_of(name_or_path, *parts):
    """Of a registered data set the people of some ``parts`` of the paper's split, of a file all."""
    from qpwl_core.data.datasets import DATASETS
    from qpwl_core.data.splits import split_dataset

    recordings = load_data(name_or_path)
    if name_or_path not in DATASETS:
        return recordings
    index = split_dataset(DATASETS[name_or_path], recordings).index      # whatever the seed of a training, one split
    return recordings.select(index=sorted(i for part in parts for i in index[part]))


def ranges() -> dict[str, tuple]:
    """What each option that is a number may be, from and to; the help of the command line says it, too."""
    cores = max(64, 4 * (os.cpu_count() or 1))
    return {**WHOLE, **bounds.OPTIONS, "threads": (1, cores), "jobs": (1, cores), "tune": (1, bounds.TRIES),
            "seeds": WHOLE["seed"], "subjects": (1, bounds.SIMULATED), "sequences": (0, bounds.SEQUENCES)}


def said_range(name: str) -> str:
    """The range of an option, for its help; nothing where it is no number."""
    known = ranges().get(name)
    return "" if known is None else f"; {bounds.said(known[0])} to {bounds.said(known[1])}"


def check_options(args) -> None:
    """One sentence, at once, where an option is out of its range, an empty word, or names what cannot be used."""
    known = ranges()
    for name, value in vars(args).items():
        option = "--" + name.replace("_", "-")
        if value == [] and name not in ("plugin", "options"):        # "--out=--": to argparse, the end of options
            raise ValueError(f"{option} must have a value")
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, list):
                raise ValueError(f"{option} must have a value")
            if isinstance(each, str) and not each.strip() and name not in ("options", "name"):
                raise ValueError(f"{option} must not be empty")
            if isinstance(each, str) and "\0" in each:
                raise ValueError(f"{option} must not hold the character of code 0")
            if name in known and isinstance(each, (int, float)) and not isinstance(each, bool):
                least, most = known[name]
                if not each >= least and name not in SPEAKS:         # NaN is not
                    raise ValueError(f"{option} must be at least {bounds.said(least)}, not {quoted(each)}")
                if each > most:
                    raise ValueError(f"{option} must be at most {bounds.said(most)}, not {quoted(each)}")
    for name in FOLDERS.get(args.command, ()):
        place = getattr(args, name)
        if place is not None and "://" not in place and os.path.lexists(place) and not os.path.isdir(place):
            raise ValueError(f"--{name} must name a folder: {shown(place)} is something else, and cannot be written")


def set_threads(threads):
    """So many threads of the CPU, where it was said."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)


MODEL = argument("model", metavar="MODEL", help="folder of a model, or the name of one that ships")
DEVICE = argument("--device", default="cpu", help="auto, cpu, cuda, cuda:1, mps (cpu)")
THREADS = argument("--threads", type=int, help="of the CPU (all cores)")
