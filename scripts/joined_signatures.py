"""Signatures of all three files, plain as they are, and some people held out: the setting in which others will test.

    python -m scripts.joined_signatures --held validation --folds 2 --tries time=true,forgery_weight=2 dilation=2
    python -m scripts.joined_signatures --held test --seeds 0 1              the quick preset as it stands
    python -m scripts.joined_signatures --tries @sketch @before              the sketch of FACTS, the preset before it

Held out are people of SUSIG visual and SVC2004 with two sessions: *validation*, those whom the study with seed 0 learns
from, to choose by, all at once or one of so many folds after the other; *test*, those whom it tests on, to report.
Everybody else trains. A try is the quick preset of QP-WL with changes: options of the recipe by their names (``pen_up``
keep also shows ``down``), all else fields of Config; ``method=qp-npl`` is another method's preset. One JSON line per
training: EER in per cent against random, skilled and both mixed, 5 enrolled of session 1, plain, then by the claimed
person's own spread; of the last weights, and of those that the training would keep (``best``).
"""

import argparse
import json
import time
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import torch

from qpwl_core.data.joining import concatenate
from qpwl_core.data.loading import load_recordings
from qpwl_core.data.preprocessing.signature import SignatureRecipe
from qpwl_core.data.recordings import Recordings
from qpwl_core.evaluation.forgeries import KINDS, forgeries, summarise_forgeries
from qpwl_core.models.config import Config, preset
from qpwl_core.models.methods import METHODS
from qpwl_core.models.model import Model
from qpwl_core.study.sets import SETS
from qpwl_core.training.run import Run

SET = SETS["signature-susig"]
TABLETS = ("susig-visual", "svc2004")
NAMED = {"@sketch": "one_threshold=false,forgery_weight=1,iterations=300,learning_rate=0.002,pen_up=drop,"
                    "position=false,time=false,phase=false,day_copies=0,smooth=0.015",
         "@before": "forgery_weight=8,iterations=400,learning_rate=0.001,pen_up=keep,position=true,time=false,"
                    "phase=false,day_copies=0,smooth=0.015"}


def everything(folder: Path) -> Recordings:
    """All people of the three files, each under the name of its file."""
    return concatenate([load_recordings(folder / file) for _, file in SET.files], [f"{name}-" for name, _ in SET.files])


def held_out(recordings: Recordings, which: str) -> list[str]:
    """People of two sessions on the tablets that are judged."""
    people = SET.parts(recordings, 0)[which == "test"].people
    genuine = recordings.genuine()
    assert genuine.stimuli is not None, "the files name their sessions"
    return [name for name in people if name.startswith(TABLETS)
            and len(np.unique(genuine.stimuli[genuine.subjects == name])) > 1]


def folds(held: list[str], count: int) -> list[list[str]]:
    """The people held out, of every tablet as many in each fold."""
    mixed = {tablet: np.random.default_rng(5).permutation([name for name in held if name.startswith(tablet)])
             for tablet in TABLETS}
    return [[name for names in mixed.values() for name in names[number::count].tolist()] for number in range(count)]


def config_of(words: str, seed: int) -> Config:
    """The quick preset with what a try changes."""
    changes: dict = {}
    recipe = {}
    options = {option.name for option in fields(SignatureRecipe)}
    for word in filter(None, NAMED.get(words, words).split(",")):
        name, value = word.split("=", 1)
        if name == "pen_up":
            recipe |= {"pen_up": value, "down": value == "keep"}
        elif name in options:
            recipe[name] = json.loads(value)
        else:
            changes[name] = value if name == "method" else json.loads(value)
    whole = preset("quick", "signature", **changes, seed=seed)
    return replace(whole, recipe=whole.recipe | recipe)


def rates(model: Model, recordings: Recordings) -> dict[str, list[list[float]]]:
    """[random, skilled, mixed], plain and normalised, of each tablet and of all."""
    seen = model.embed(recordings)
    distances, whose = model.distances(seen), np.where(seen.imitates == "", seen.subjects, seen.imitates)
    found = {}
    for tablet in (*TABLETS, ""):
        keep = np.char.startswith(whose, tablet)
        rows = summarise_forgeries(forgeries(distances[np.ix_(keep, keep)], seen.subjects[keep], seen.imitates[keep],
                                             seen.stimuli[keep], enrolled=(5,)))
        found[tablet or "all"] = [[round(100 * row[f"{kind}_eer"], 2) for kind in KINDS] for row in rows]
    return found


def tried(config: Config, recordings: Recordings, held: list[str]) -> dict:
    """Train on everybody but those held out, and judge on them."""
    begun, run = time.process_time(), Run(config, recordings.of_people([name for name in recordings.people
                                                                       if name not in held]))
    for batch in run.batches(config.iterations if METHODS[config.method].loss != "none" else 0):
        run.learn(batch)
        if run.step % config.validate_every == 0:
            run.check()
    run.check()
    spent = round(time.process_time() - begun)
    last, best = (rates(run.model(weights), recordings.of_people(held)) for weights in (None, run.best))
    return {"seconds": spent, **last, "best": best}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"), help="folder of the recordings")
    parser.add_argument("--held", choices=("validation", "test"), default="validation")
    parser.add_argument("--folds", type=int, default=1, help="of the people held out, one after the other")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of the training")
    parser.add_argument("--tries", nargs="+", default=[""], help="changes of the quick preset, commas between them")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    recordings = everything(args.shared)
    for words in args.tries:
        for number, held in enumerate(folds(held_out(recordings, args.held), args.folds)):
            for seed in args.seeds:
                row = {"try": words, "held": args.held, "fold": f"{number + 1} of {args.folds}", "seed": seed}
                print(json.dumps(row | tried(config_of(words, seed), recordings, held)), flush=True)


if __name__ == "__main__":
    main()
