"""What ``compare`` does: models from their folders, the three scenarios for each, and every difference to the first."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from qpwl_core.common.text import quoted
from qpwl_core.data.recordings import Recordings, forgery_mask
from qpwl_core.evaluation import protocol
from qpwl_core.evaluation.bootstrap import repeats_test, resample
from qpwl_core.evaluation.draws import draw, fair_groups
from qpwl_core.evaluation.evaluate import evaluate_distances
from qpwl_core.models.gallery import Gallery, load_gallery
from qpwl_core.models.methods import METHODS
from qpwl_core.models.model import Embeddings, Model, load_model

CAVEAT = ("p is of Wilcoxon's test over repeats: repeats share people and models, so it only says whether the draw "
          "of sequences could explain a difference; the interval, which resamples people, is the one to go by, and "
          "neither knows what another training would give")


def compare_models(folders: list[str], recordings: Recordings | None = None, seed: int = 0,
                   device="cpu") -> dict:
    """Summary of each model and differences to the first one, ready for JSON.

    On all people of ``recordings``, or where there are none on the people of the models' galleries, which must be the
    same.
    """
    names = _names(folders)
    if len(names) < 2:
        raise ValueError(f"compare needs at least two different models, got {len(names)}")
    seen: dict[str, tuple[np.ndarray, Embeddings | Gallery]] = {}            # distances, and who is behind them
    notes: list[str] = []
    for name, folder in names.items():
        model = load_model(folder, device)
        if recordings is None and METHODS[model.config.method].distance == "dtw":
            raise ValueError(f"{name} warps sequences themselves, which no gallery keeps: name recordings with --data")
        if recordings is None:
            gallery = load_gallery(folder).part("test", forgeries=True)
            seen[name] = gallery.distances(), gallery
        else:
            embeddings = model.embed(recordings)
            seen[name] = model.distances(embeddings), embeddings
            notes += _known_people(name, model, recordings)
    summaries, stacks, people = {}, {}, {}
    for name, (distances, who) in seen.items():
        summaries[name], said = evaluate_distances(distances, who.subjects, who.sources, seed, who.stimuli,
                                                   who.imitates)
        notes += said
        genuine = ~forgery_mask(who.imitates, len(who))
        distances, subjects = distances[np.ix_(genuine, genuine)], who.subjects[genuine]
        sources = None if who.sources is None else who.sources[genuine]
        drawn = draw(subjects, seed=seed, groups=fair_groups(subjects, sources))
        stacks[name], people[name] = protocol.person_distances(distances, drawn), drawn.people
    first, *others = names
    for other in others:
        if people[first].tolist() != people[other].tolist():
            odd = sorted(set(people[first].tolist()) ^ set(people[other].tolist()))[0]
            raise ValueError(f"{first} and {other} must be tested on the same people, and only one of them is on "
                             f"{quoted(odd)}: name recordings with --data")
        if not np.array_equal(seen[first][1].subjects, seen[other][1].subjects):
            notes.append(f"{first} and {other} cut the recordings differently, so that their draws differ")
    rows = [{"model": first, "against": other, "n": n, **_difference(stacks[first][:, n - 1], stacks[other][:, n - 1])}
            for other in others for n in range(1, stacks[first].shape[1] + 1)]
    return {"people": len(people[first]), "repeats": len(stacks[first]), "notes": [*dict.fromkeys(notes), CAVEAT],
            "models": summaries, "differences": rows}


def _difference(one: np.ndarray, other: np.ndarray) -> dict:
    found = resample({0: one}).minus(resample({0: other}))
    return {name: found[name] for name in ("difference", "low", "high")} | {"p": repeats_test(one, other)}


def _names(folders: list[str]) -> dict[str, str]:
    """A short name for each folder: its last part, or the whole path where two have the same."""
    folders = list(dict.fromkeys(str(Path(folder)) for folder in folders))
    names = [Path(folder).resolve().name for folder in folders]
    return {folder if names.count(name) > 1 else name: folder for name, folder in zip(names, folders, strict=True)}


def _known_people(name: str, model: Model, recordings: Recordings) -> list[str]:
    """A sentence where people to test on were trained with, as far as the card says."""
    split = model.card.get("split", {})
    trained = {*split.get("train", ()), *split.get("validation", ())} & set(recordings.people)
    same = model.card.get("data", {}).get("name") == recordings.info.get("name")
    note = f"{name} was trained with {len(trained)} of these people: its figures are too good"
    return [note] if same and trained else []


def table(results: dict) -> str:
    """The same as text."""
    lines = [*results["notes"], ""]
    for name, of_one in results["models"].items():
        aucs = "  ".join(f"{row['auc']:.4f} ± {row['se']:.4f}" for row in of_one["verification"].values())
        lines += [f"{name}", f"  verification AUC, n = 1 … 5     {aucs}",
                  f"  EER at n = 5                    {of_one['verification']['5']['eer']:.4f}",
                  f"  identification, all enrolled    {of_one['identification'][-1]['accuracy']:.4f}",
                  f"  imposters, half enrolled, AUC   {of_one['imposters'][-1]['auc']:.4f}"]
    for row in results["differences"]:
        sure = "" if row["low"] > 0 or row["high"] < 0 else "   other people could turn it round"
        lines.append(f"{row['model']} − {row['against']}  n = {row['n']}  {row['difference']:+.4f}  "
                     f"[{row['low']:+.4f}, {row['high']:+.4f}]  p = {row['p']:.3f}{sure}")
    return "\n".join(lines)
