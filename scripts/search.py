"""Compare settings or methods on people never seen in training: the search behind the quick presets.

    python -m scripts.search eeg --shared ../shared/data --methods qp-wl qp-npl --splits 2
    python -m scripts.search gait-ipol --set p=1.0 --set filters=32 --people 0.75 --splits 2
    python -m scripts.search eeg --folds 4 --splits 2 --seed 50 --set layers=5 --set "recipe={'whiten': True}"

Each row is one training with the quick preset (and changes) on some of the people, evaluated on the others with the
paper's protocol; for windows cut from one recording, none of the same recording is enrolled (``sources``). Rows are
appended to a CSV file, the losing ones too. `scripts/SEARCH.md` says what was found.
"""

import argparse
import ast
import csv
import time
from collections import deque
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

import numpy as np
import torch

from qpwl_core.data.loading import load_recordings
from qpwl_core.data.recordings import Recordings
from qpwl_core.evaluation.draws import fair_groups
from qpwl_core.evaluation.protocol import verification
from qpwl_core.models.config import preset
from qpwl_core.models.embedder import Embedder
from qpwl_core.training.loop import train

SETS = {"eye": ("eye", ["eye-gazecom-40.npz"]), "gait-ipol": ("gait", ["gait-ipol-140.npz"]),
        "gait-hapt": ("gait", ["gait-hapt-30.npz"]), "eeg": ("eeg", ["eeg-uci-28.npz"]),
        "eeg-33": ("eeg", ["eeg-uci-28.npz", "eeg-uci-16.npz"])}      # five people more, whose trials were not cleaned
COLUMNS = ("set", "method", "changes", "people", "split", "seed", "train_people", "test_people", "seconds",
           "validation", *(f"auc_{n}" for n in range(1, 6)))


def people_of(folder: Path, name: str) -> Recordings:
    """The recordings of a set; of two files, the people of the second that the first lacks, on the first's channels."""
    first, *more = (load_recordings(folder / file) for file in SETS[name][1])
    for other in more:
        other = other.select(index=~np.isin(other.subjects, first.subjects))
        columns = [other.channels.index(channel) for channel in first.channels]
        first = Recordings(first.sequences + [s[:, columns] for s in other.sequences],
                           [*first.subjects, *other.subjects], first.channels, first.rate)
    return first


def parts(recordings: Recordings, share: float, folds: int, split: int) -> tuple[list[str], list[str]]:
    """People to learn from and to test: a share of them drawn by ``split``, or all but the fold of that number.

    Where all folds were had, the next number begins with them anew, in another order of the people.
    """
    everyone = np.unique(recordings.subjects)
    if folds:
        people = np.random.default_rng(100 + split // folds).permutation(everyone)
        fold = np.s_[split % folds::folds]
        return np.delete(people, fold).tolist(), people[fold].tolist()
    people = np.random.default_rng(100 + split).permutation(everyone)
    return people[:round(share * len(people))].tolist(), people[round(share * len(people)):].tolist()


def train_and_test(recordings: Recordings, name: str, method: str, changes: dict, learn: list[str],
                   test: list[str], seed: int) -> dict:
    """Train on some people, test on others. ``first_scale`` among the changes: of the distance inside QP-WL's loss."""
    changes = dict(changes)
    first = changes.pop("first_scale", None)
    config = preset("quick", SETS[name][0], method=method, seed=seed, **changes)
    begun = time.monotonic()
    with mock.patch.object(Embedder, "_first_scale", return_value=first) if first else nullcontext():
        progress = deque(train(config, recordings.select(subjects=learn)), maxlen=1).pop()
    seconds = time.monotonic() - begun
    embeddings = progress.model.embed(recordings.select(subjects=test))
    groups = fair_groups(embeddings.subjects, embeddings.sources)
    result = verification(progress.model.distances(embeddings), embeddings.subjects, groups=groups)
    auc = result.groupby("n")["auc"].mean()
    return {"set": name, "method": method, "seed": seed, "train_people": len(learn), "test_people": len(test),
            "seconds": round(seconds), "validation": round(progress.best_auc, 4),
            **{f"auc_{n}": round(float(auc[n]), 4) for n in range(1, 6)}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"), help="folder of the recordings")
    parser.add_argument("--methods", nargs="+", default=["qp-wl"])
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="NAME=VALUE",
                        help="a change of the preset; several are tried together")
    parser.add_argument("--people", type=float, default=0.75, help="share of them to learn from")
    parser.add_argument("--folds", type=int, default=0, help="instead: so many parts, each of which is tested once")
    parser.add_argument("--splits", type=int, default=1, help="how many, with --folds of all of them together")
    parser.add_argument("--seed", type=int, default=0, help="of the first split's training; the next one's is one more")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=Path, default=Path("scripts/search.csv"))
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    changes = {name: ast.literal_eval(value) for name, value in (c.split("=", 1) for c in args.changes)}
    recordings = people_of(args.shared, args.set)
    for split in range(max(1, args.folds) * args.splits):
        learn, test = parts(recordings, args.people, args.folds, split)
        for method in args.methods:
            how = f"{args.folds} folds" if args.folds else f"{args.people:.0%}".replace("%", " %")
            row = {"changes": repr(changes), "people": how, "split": split,
                   **train_and_test(recordings, args.set, method, changes, learn, test, seed=args.seed + split)}
            new = not args.out.exists()
            with args.out.open("a", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS)
                if new:
                    writer.writeheader()
                writer.writerow(row)
            print(row, flush=True)


if __name__ == "__main__":
    main()
