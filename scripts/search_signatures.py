"""The search behind the quick preset for signatures: as many tries for every method, of one space, drawn by a seed.

    python -m scripts.search_signatures --threads 1            every method, six tries each, into search_signatures.csv
    python -m scripts.search_signatures --methods qp-wl --tries 2

It looks at people to learn from in the study's first split alone (seed 0): a third of them, of every tablet, is what a
try is judged on, the others train. Nobody whom the study tests on with that seed has a part in it. What is there
already is not made again, so that a search goes on where it stopped. The score of a try is the mean EER, in per cent,
against other people and against forgers on each of the three tablets: 5 enrolled, plain distances.
"""

import argparse
import csv
import time
from collections import deque
from pathlib import Path

import numpy as np
import torch

from qpwl_core.data.recordings import Recordings
from qpwl_core.evaluation.forgeries import forgeries, summarise_forgeries
from qpwl_core.models.config import Config, preset
from qpwl_core.study.sets import SETS
from qpwl_core.training.loop import train

METHODS = ("qp-wl", "qp-wl-pyramid", "qp-npl", "mp-npl", "qp-cls")
SPACE = {"one_threshold": (False, True), "p": (1.0, 2.0), "forgeries": (1, 2), "learning_rate": (1e-3, 2e-3, 4e-3),
         "channel_dropout": (0.0, 0.1), "pen_up": ("drop", "keep")}
# what the preset was when it was searched: it is changed since, so that the rows that are kept can be made again
BEFORE = {"iterations": 300, "forgery_weight": 1.0, "validation": 0.2, "day_copies": 0}
TABLETS = ("susig-visual", "susig-blind", "svc2004")
COLUMNS = ("method", "try", *SPACE, "fold", "seconds", "validation", "score",
           *(f"{tablet} {kind}" for tablet in TABLETS for kind in ("random", "skilled", "mixed")))


def drawn(count: int, seed: int) -> list[dict]:
    """The settings of all tries, the same for every method; the first is the preset as it was before the search."""
    random = np.random.default_rng(seed)
    first = {"one_threshold": False, "p": 2.0, "forgeries": 1, "learning_rate": 2e-3, "channel_dropout": 0.0,
             "pen_up": "drop"}
    found = [first]
    while len(found) < count:
        each = {name: values[random.integers(len(values))] for name, values in SPACE.items()}
        if each not in found:
            found.append(each)
    return found[:count]


def config_of(method: str, setting: dict, seed: int) -> Config:
    """The quick preset with a setting; where pen-up samples are kept, whether the pen touches is seen, too."""
    changes = {name: value for name, value in setting.items() if name != "pen_up"}
    return preset("quick", "signature", method=method, seed=seed, **BEFORE, **changes, recipe={
        "longest": 8.0, "pen_up": setting["pen_up"], "down": setting["pen_up"] == "keep"})


def fold(people: list[str], parts: int, number: int) -> tuple[list[str], list[str]]:
    """People to learn from and, of every tablet, one part in so many to judge by."""
    held = [name for tablet in TABLETS for name in np.random.default_rng(11).permutation(
        [each for each in people if each.startswith(tablet)])[number::parts].tolist()]
    return [name for name in people if name not in held], held


def tried(recordings: Recordings, method: str, setting: dict, parts: int, number: int) -> dict:
    """Train on some people, judge on others: one row."""
    learn, held = fold(recordings.people, parts, number)
    begun = time.process_time()
    last = deque(train(config_of(method, setting, number), recordings.of_people(learn)), maxlen=1).pop()
    row = {"method": method, **setting, "fold": f"{number + 1} of {parts}",
           "seconds": round(time.process_time() - begun), "validation": round(last.best_auc, 4)}
    rates = []
    for tablet in TABLETS:
        seen = last.model.embed(recordings.of_people([name for name in held if name.startswith(tablet)]))
        plain = summarise_forgeries(forgeries(last.model.distances(seen), seen.subjects, seen.imitates, seen.stimuli,
                                              enrolled=(5,)))[0]
        row |= {f"{tablet} {kind}": round(100 * plain[f"{kind}_eer"], 2) for kind in ("random", "skilled", "mixed")}
        rates += [plain["random_eer"], plain["skilled_eer"]]
    return row | {"score": round(100 * float(np.mean(rates)), 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"), help="folder of the recordings")
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--tries", type=int, default=6)
    parser.add_argument("--seed", type=int, default=17, help="of the settings that are drawn")
    parser.add_argument("--parts", type=int, default=3, help="of the people, one of which judges")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("scripts/search_signatures.csv"))
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    studied = SETS["signature-susig"]
    recordings = studied.parts(studied.load(args.shared), 0)[0]
    for number, setting in enumerate(drawn(args.tries, args.seed)):
        for method in args.methods:
            there = list(csv.DictReader(args.out.open())) if args.out.exists() else []
            if any((row["method"], row["try"]) == (method, str(number)) for row in there):
                continue
            row = {"try": number, **tried(recordings, method, setting, args.parts, 0)}
            with args.out.open("a", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS)
                if not there:
                    writer.writeheader()
                writer.writerow(row)
            print(row, flush=True)


if __name__ == "__main__":
    main()
