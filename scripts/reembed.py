"""Whether the shipped models still see what their galleries keep: all are embedded again from the shared recordings.

    python -m scripts.reembed [--models NAME …] [--data ../shared/data] [--most 1e-5]

Prints two differences per model, as shares of the largest value, and exits with 1 where one is above ``--most``: what a
gallery differs beyond the float16 that it is kept in (each of its sequences is held against those of the same person),
and by what the compiled network differs from the same layers in PyTorch.
"""

import argparse
import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np

from qpwl_core.common.files import read_json
from qpwl_core.models.gallery import build_gallery, load_gallery
from qpwl_core.models.model import load_model
from qpwl_core.models.networks import ConvStack
from qpwl_core.study.sets import SETS

MODELS = Path(__file__).resolve().parent.parent / "models"
HALF = 2.0**-11          # what float16 rounds by


def differences(folder: Path, data: Path) -> tuple[float, float]:
    """Of a gallery, and of the network without its kernel; both as shares of the largest value."""
    kept, model = load_gallery(folder), load_model(folder)
    people, recordings = np.unique(kept.subjects), SETS[read_json(folder / "card.json")["set"]].load(data)
    recordings = recordings.select(subjects=people.tolist())
    again = build_gallery(model, recordings)
    with patch.object(ConvStack, "_is_plain", lambda network: False):
        plain = build_gallery(model, recordings)
    size, worst = float(np.abs(kept.values).max()), 0.0
    for person in people:
        theirs = again.values[again.subjects == person]
        for one in kept.values[kept.subjects == person]:
            beyond = np.abs(theirs - one) - HALF * np.abs(theirs)
            worst = max(worst, float(beyond.max(axis=(1, 2)).min()))
    return worst / size, float(np.abs(again.values - plain.values).max()) / size


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = sorted(folder.name for folder in MODELS.iterdir() if (folder / "gallery.safetensors").exists())
    parser.add_argument("--models", nargs="+", choices=names, default=names)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--most", type=float, default=1e-5)
    options, failed = parser.parse_args(), 0
    for name in options.models:
        found = differences(MODELS / name, options.data)
        failed += max(found) > options.most
        print(f"{name:32} gallery {found[0]:.1e}   layers in PyTorch {found[1]:.1e}", flush=True)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
