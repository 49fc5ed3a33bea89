"""datasets, methods, models, simulate, info: what there is to learn from, and to learn with."""

from __future__ import annotations

from pathlib import Path

from qpwl_core.cli.registry import argument, command, load_data
from qpwl_core.common.text import quoted


@command()
def datasets(args):
    """List the data sets: what they are, their terms, and whether they are at hand."""
    from qpwl_core.data.datasets import datasets_table

    print(datasets_table().to_string(index=False))


@command()
def methods(args):
    """List the methods: how each aggregates, what it is trained with, what compares two embeddings."""
    import pandas as pd

    from qpwl_core.models.methods import METHODS

    print(pd.DataFrame([{
        "name": row.name, "network": row.network, "aggregation": row.aggregation, "loss": row.loss,
        "distance": row.distance, "in the paper": "yes" if row.in_paper else "", "title": row.title,
    } for row in METHODS.values()]).to_string(index=False))


@command()
def models(args):
    """List the trained models that ship, which commands take by their names."""
    import pandas as pd

    from qpwl_core.common.files import read_json
    from qpwl_core.common.paths import shipped_models

    folders = sorted(path.parent for path in shipped_models().glob("*/card.json"))
    if not folders:
        raise ValueError(f"no model ships here: {shipped_models()} is empty")
    cards = {folder: read_json(folder / "card.json") for folder in folders}
    print(pd.DataFrame([{
        "name": folder.name, "domain": card["config"]["domain"], "method": card["config"]["method"],
        "p": card["config"]["p"], "M": card["config"]["points"],
        "gallery": "yes" if (folder / "gallery.safetensors").exists() else "no",
        "licence": card.get("data", {}).get("licence", ""),
    } for folder, card in cards.items()]).to_string(index=False))


@command(argument("domain", choices=("eye", "eeg"), help="eye: gaze and pupil, 30 Hz; eeg: 64 channels, 256 Hz"),
         argument("--out", required=True, metavar="FILE", help="the .npz or .csv file to write"),
         argument("--subjects", type=int, help="how many people (40)"),
         argument("--sequences", type=int, help="of each person (eye: 16 videos, eeg: 8 trials)"),
         argument("--seed", type=int, help="the same seed gives the same bytes (0)"))
def simulate(args):
    """Make simulated recordings, labelled as such."""
    from qpwl_core.data.simulate import SIMULATORS

    out = Path(args.out)
    if out.suffix not in (".npz", ".csv"):
        raise ValueError(f"--out must name a .npz or .csv file, not {quoted(args.out)}")
    if not out.absolute().parent.is_dir():
        raise ValueError(f"--out is in a folder that does not exist: {quoted(str(out.parent))}")
    given = {name: getattr(args, name) for name in ("subjects", "sequences", "seed") if getattr(args, name) is not None}
    recordings = SIMULATORS[args.domain](**given)
    recordings.save(out)
    print(f"{out}: {recordings}, {out.stat().st_size / 1e6:.2f} MB")


@command(argument("data", metavar="PATH|NAME", help="a file or folder of recordings, or the name of a data set"))
def info(args):
    """Say what is in a file of recordings or a data set, person by person."""
    recordings = load_data(args.data)
    lengths = recordings.lengths
    facts = {
        **recordings.info,
        "subjects": len(recordings.people), "sequences": len(recordings),
        **({"forgeries": int(recordings.is_forgery.sum())} if recordings.imitates is not None else {}),
        "samples": f"{lengths.sum()} ({lengths.min()} to {lengths.max()} a sequence)",
        "rate": f"{recordings.rate:g} Hz", "channels": f"{len(recordings.channels)}: {' '.join(recordings.channels)}",
        "stimuli": "none" if recordings.stimuli is None else len(set(recordings.stimuli.tolist())),
    }
    for name, fact in facts.items():
        print(f"{name:10}  {fact}")
    print()
    print(recordings.summary().to_string(index=False, float_format="%.1f"))
