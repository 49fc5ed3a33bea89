"""What the distributions of the channels tell by themselves, without a network: a baseline behind the EEG recipe.

    python -m scripts.untrained eeg --folds 4 --splits 4

Each channel, as the recipe leaves it, acts as a filter: quantile functions at 18 even levels, compared with W₁ and by
cosine. People, folds and protocol are those of `scripts/search.py`; the recipe is fitted on the people who would learn.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from qpwl_core.data.preprocessing import FittedRecipe, recipe_for
from qpwl_core.data.recordings import Recordings
from qpwl_core.evaluation.protocol import verification
from qpwl_core.models.batching import collate
from qpwl_core.transport.distances import pairwise_cosine, pairwise_wasserstein
from qpwl_core.transport.quantiles import empirical_quantiles
from scripts.search import SETS, parts, people_of

LEVELS = torch.linspace(0, 1, 18)
STEPS = {"as it is": {}, "change": {"change": True}, "whiten": {"whiten": True},
         "both": {"change": True, "whiten": True}}
STEPS |= {f"both, {name}": STEPS["both"] | options for name, options in {
    "compress 1": {"compress": 1.0}, "compress 10": {"compress": 10.0}, "equalise": {"equalise": True},
    "equalise, compress 1": {"equalise": True, "compress": 1.0}}.items()}


def aucs(fitted: FittedRecipe, test: Recordings) -> dict[str, float]:
    """AUC of verification at n = 1 and 5, by W₁ and by cosine, of people whom nothing was trained on."""
    seen = fitted.apply(test)
    batch = collate(seen.sequences)
    quantiles = empirical_quantiles(batch.x, batch.lengths, LEVELS)                # (n, D, 18)
    row = {}
    for name, distances in (("W1", pairwise_wasserstein(quantiles, quantiles, LEVELS)),
                            ("cosine", pairwise_cosine(quantiles.flatten(1), quantiles.flatten(1)))):
        auc = verification(distances.numpy(), seen.subjects).groupby("n")["auc"].mean()
        row |= {f"{name}, n = 1": auc[1], f"{name}, n = 5": auc[5]}
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=[name for name, (domain, _) in SETS.items() if domain == "eeg"])
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"), help="folder of the recordings")
    parser.add_argument("--folds", type=int, default=4, help="parts of the people, each of which is tested once")
    parser.add_argument("--splits", type=int, default=1, help="orders of the people")
    args = parser.parse_args()
    recordings = people_of(args.shared, args.set)
    rows = []
    for split in range(args.folds * args.splits):
        learn, test = (recordings.select(subjects=who) for who in parts(recordings, 0, args.folds, split))
        rows += [{"recipe": step, **aucs(recipe_for("eeg", **options).fit(learn), test)}
                 for step, options in STEPS.items()]
    table = pd.DataFrame(rows).groupby("recipe", sort=False).mean()
    print(table.map(lambda x: f"{x:.4f}").to_string())
    print(f"{args.folds * args.splits} splits of {len(np.unique(recordings.subjects))} people")


if __name__ == "__main__":
    main()
