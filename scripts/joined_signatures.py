"""Signatures of all three files, plain as they are, and some people held out: the setting in which others will test.

    python -m scripts.joined_signatures --held validation --tries time=on,forgery_weight=2 dilation=2
    python -m scripts.joined_signatures --held test                          the quick preset as it stands

Held out are people of SUSIG visual and SVC2004 with two sessions: *validation*, those whom the study with seed 0 learns
from, to choose by; *test*, those whom it tests on, to report. Everybody else trains, and the last weights count.
A try is the quick preset with changes: ``time`` and ``position`` (on or off) and ``pen_up`` (keep, which also shows
``down``, or drop) of the recipe, all else numbers of Config. One JSON line per try: EER in per cent against random,
skilled and both mixed, 5 enrolled of session 1, plain, then by the claimed person's own spread.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from qpwl_core.data.joining import concatenate
from qpwl_core.data.loading import load_recordings
from qpwl_core.data.recordings import Recordings
from qpwl_core.evaluation.forgeries import KINDS, forgeries, summarise_forgeries
from qpwl_core.models.config import Config, preset
from qpwl_core.models.model import Model
from qpwl_core.study.sets import SETS
from qpwl_core.training.run import Run

SET = SETS["signature-susig"]
TABLETS = ("susig-visual", "svc2004")


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


def config_of(words: str) -> Config:
    """The quick preset with what a try changes."""
    changes: dict = {}
    recipe = dict(preset("quick", "signature").recipe)
    for word in filter(None, words.split(",")):
        name, value = word.split("=", 1)
        if name in ("time", "position"):
            recipe[name] = value == "on"
        elif name == "pen_up":
            recipe |= {"pen_up": value, "down": value == "keep"}
        else:
            changes[name] = value if name == "method" else json.loads(value)
    return preset("quick", "signature", **changes, recipe=recipe)


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"), help="folder of the recordings")
    parser.add_argument("--held", choices=("validation", "test"), default="validation")
    parser.add_argument("--tries", nargs="+", default=[""], help="changes of the quick preset, commas between them")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    recordings = everything(args.shared)
    held = held_out(recordings, args.held)
    for words in args.tries:
        config, begun = config_of(words), time.process_time()
        run = Run(config, recordings.of_people([name for name in recordings.people if name not in held]))
        for batch in run.batches(config.iterations):
            run.learn(batch)
        print(json.dumps({"try": words, "held": args.held, "seconds": round(time.process_time() - begun),
                          **rates(run.model(), recordings.of_people(held))}), flush=True)


if __name__ == "__main__":
    main()
