"""Compare settings or methods on people never seen in training: the search behind the quick presets.

    python scripts/search.py eeg --shared ../shared/data --methods qp-wl qp-npl --splits 2
    python scripts/search.py gait-ipol --set batch_norm=False --set pairs=32 --splits 1

Each row is one training with the quick preset (and changes) on 60 % of the people, evaluated on the others with the
paper's protocol; for windows cut from one recording, none of the same recording is enrolled (``sources``). Rows are
appended to a CSV file, the losing ones too. `scripts/SEARCH.md` says what was found.
"""

import argparse
import ast
import csv
import time
from collections import deque
from pathlib import Path

import numpy as np
import torch

from qpwl_core.config import preset
from qpwl_core.protocol import verification
from qpwl_core.recordings import Recordings, load_recordings
from qpwl_core.training import train

SETS = {"eye": ("eye", ["eye-gazecom-40.npz"]), "gait-ipol": ("gait", ["gait-ipol-140.npz"]),
        "gait-hapt": ("gait", ["gait-hapt-30.npz"]), "eeg": ("eeg", ["eeg-uci-28.npz", "eeg-uci-16.npz"])}
COLUMNS = ("set", "method", "changes", "split", "seed", "train_people", "test_people", "seconds", "validation", "auc_1",
           "auc_5")


def people_of(folder: Path, name: str) -> Recordings:
    """The recordings of a set; of two files, the people of the second that the first lacks, on the first's channels."""
    first, *more = (load_recordings(folder / file) for file in SETS[name][1])
    for other in more:
        other = other.select(index=~np.isin(other.subjects, first.subjects))
        columns = [other.channels.index(channel) for channel in first.channels]
        first = Recordings(first.sequences + [s[:, columns] for s in other.sequences],
                           [*first.subjects, *other.subjects], first.channels, first.rate)
    return first


def trial(recordings: Recordings, name: str, method: str, changes: dict, split: int, seed: int) -> dict:
    """Train on 60 % of the people, test on the rest."""
    people = np.random.default_rng(split).permutation(np.unique(recordings.subjects))
    cut = round(0.6 * len(people))
    learn, test = (recordings.select(subjects=part.tolist()) for part in (people[:cut], people[cut:]))
    begun = time.monotonic()
    config = preset("quick", SETS[name][0], method=method, seed=seed, **changes)
    progress = deque(train(config, learn), maxlen=1).pop()
    seconds = time.monotonic() - begun
    embeddings = progress.model.embed(test)
    groups = embeddings.sources.astype(str) if len(np.unique(embeddings.sources)) < len(embeddings) else None
    result = verification(progress.model.distances(embeddings), embeddings.subjects, groups=groups)
    auc = result.groupby("n")["auc"].mean()
    return {"set": name, "method": method, "changes": repr(changes), "split": split, "seed": seed, "train_people": cut,
            "test_people": len(people) - cut, "seconds": round(seconds), "validation": round(progress.best_auc, 4),
            "auc_1": round(float(auc[1]), 4), "auc_5": round(float(auc[5]), 4)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"), help="folder of the recordings")
    parser.add_argument("--methods", nargs="+", default=["qp-wl"])
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="NAME=VALUE",
                        help="a change of the preset; several are tried together")
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=Path, default=Path("scripts/search.csv"))
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    changes = {name: ast.literal_eval(value) for name, value in (c.split("=", 1) for c in args.changes)}
    recordings = people_of(args.shared, args.set)
    for split in range(args.splits):
        for method in args.methods:
            row = trial(recordings, args.set, method, changes, split, seed=split)
            new = not args.out.exists()
            with args.out.open("a", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS)
                if new:
                    writer.writeheader()
                writer.writerow(row)
            print(row, flush=True)


if __name__ == "__main__":
    main()
