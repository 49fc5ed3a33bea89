"""What pages have done in another process (`qpwl_core/common/child.py`), and what trainings have done by a cluster.

Nothing here knows of pages.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from qpwl_core.common.bounds import UPLOAD_PEOPLE, UPLOAD_SEQUENCES
from qpwl_core.common.child import ChildError, in_child
from qpwl_core.common.files import FileError, write_whole
from qpwl_core.common.text import shown
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.inspection import remarks
from qpwl_core.data.loading import load_recordings
from qpwl_core.data.preprocessing import FittedRecipe, Recipe
from qpwl_core.data.recordings import Recordings
from qpwl_core.evaluation.pairs import pairs_of
from qpwl_core.models.gallery import Gallery
from qpwl_core.transport.measures import MEASURES
from ui.library.job import COPY, SENT
from ui.visitors.brought import FILES, parts_of

if TYPE_CHECKING:
    from qpwl_core.models.model import Model

STAYS = ("lock", "stop", "log.txt")              # of a folder, where a cluster trains it


def read(content: bytes | np.ndarray, name: str, rate: float | None, max_bytes: int) -> Recordings:
    """An uploaded file."""
    found = load_recordings(io.BytesIO(bytes(content)), name=name, rate=rate, max_bytes=max_bytes, lazy=False)
    for what, number, most in (("sequences", len(found), UPLOAD_SEQUENCES),
                               ("people", len(found.people), UPLOAD_PEOPLE)):
        if number > most:
            raise RecordingsError(f"{shown(name)} has {number:,} {what}, and an upload may have {most:,}: the command "
                                  "line takes more")
    return found


def looked_over(recordings: Recordings, away: bool) -> tuple:
    """One row per person, and remarks; of an upload those are made ``away`` from the server."""
    try:
        said = in_child(remarks, recordings) if away else remarks(recordings)
    except ChildError as error:
        said = [f"they could not be looked over: {error}"]
    return recordings.summary().sort_values("subject", ignore_index=True), said


def fitted(recipe: Recipe, recordings: Recordings) -> FittedRecipe:
    """A recipe with the statistics of these recordings."""
    return recipe.fit(recordings)


def applied(recipe: FittedRecipe, recordings: Recordings) -> Recordings:
    """What a recipe makes of recordings."""
    return recipe.apply(recordings)


def take_in(files: list[tuple[str, np.ndarray]], folder: Path, most: int) -> None:
    """Write the files of an uploaded model, or those in a .zip, into a folder, and try what they are."""
    parts = parts_of([(name, bytes(content)) for name, content in files], most)
    for name in FILES[:2]:
        if name not in parts:
            raise FileError(f"{name} is missing: a model is card.json and model.safetensors, and gallery.safetensors "
                            "where there is one")
    for part, content in parts.items():
        (folder / part).write_bytes(content)
    check_model(folder)


def check_model(folder: Path) -> None:
    """Load what lies in a folder as a model with its gallery, and use both: a FileError says what is wrong."""
    from qpwl_core.models.gallery import load_gallery
    from qpwl_core.models.model import load_model

    model = load_model(folder)
    if (folder / "gallery.safetensors").exists():
        gallery = load_gallery(folder)
        if gallery.model != model.checksum:
            raise FileError("gallery.safetensors belongs to other weights than those beside it")
        if not np.isfinite(gallery.distances()).all():
            raise FileError("gallery.safetensors holds values so large that their distances are not finite")


def embedded(folder: str, recordings: Recordings):
    """What the model in a folder sees in recordings: embeddings (n, *shape), and the recording that each was cut from.
    """
    from qpwl_core.models.model import load_model

    seen = load_model(folder).embed(recordings)
    return seen.values, seen.sources


def filters_over_time(model: Model, recordings: Recordings) -> tuple[list[np.ndarray], list[str]]:
    """What a network makes of each sequence: filters (K, T'), and what each sequence was."""
    import torch

    seen, _ = model.recipe.cut(recordings)
    found = []
    with torch.inference_mode():
        for sequence in seen.sequences:
            x = torch.from_numpy(sequence.T.copy())[None]                    # (1, D, T)
            found.append(model.embedder.network(x, torch.tensor([x.shape[2]]))[0][0].double().numpy())
    names = [""] * len(seen) if seen.stimuli is None else seen.stimuli.tolist()
    return found, [f"{i + 1} · {name}" for i, name in enumerate(names)]


def filters_of_model(folder: str, recordings: Recordings) -> tuple[list[np.ndarray], list[str]]:
    """The same of the model in a folder."""
    from qpwl_core.models.model import load_model

    return filters_over_time(load_model(folder), recordings)


def responses(folder: str, one: Recordings):
    """Where the filters of the model in a folder fire in one sequence."""
    from qpwl_core.models.model import load_model
    from qpwl_core.models.responses import respond

    return respond(load_model(folder), one)


def distances(held: Gallery, measure: str | None, points: int | None, p: float | None) -> np.ndarray:
    """Distances between all sequences of a part of a gallery, (n, n)."""
    return held.distances(measure, points, p)


def distances_between(some: Gallery, others: Gallery, points: int | None, p: float | None) -> np.ndarray:
    """The model's distance of some sequences to others of the same gallery, (n, m)."""
    return some.distances(None, points, p, others)


def distances_by(held: Gallery, measure: str, points: int | None, p: float, inner: bool) -> np.ndarray:
    """Distances of all sequences by any measure, on the same M + 2 values of each filter, or on the M inner ones.

    d_p needs the whole function; ``inner`` is for the others, as QP-NPL of the paper has them. -> (n, n)
    """
    from qpwl_core.transport.distances import pairwise_by

    seen = held.embeddings(points)
    if measure == "wasserstein":
        return pairwise_by(measure, seen.values, seen.values, seen.levels, p).numpy()
    values = seen.values[..., 1:-1] if inner else seen.values
    return pairwise_by(measure, values, values, None, p).numpy()


def distances_by_each(held: Gallery, points: int | None, p: float, inner: bool) -> dict[str, np.ndarray]:
    """The same by every measure, measure -> (n, n)."""
    return {measure: distances_by(held, measure, points, p, inner) for measure in MEASURES}


def filter_interval(held: Gallery, points: int | None, p: float, k: int, resamples: int) -> tuple[float, float]:
    """The 95 % interval of the AUC of filter k (from 0) over all pairs of sequences, with the people resampled."""
    from qpwl_core.evaluation.bootstrap import percentiles, resample_people, resampled_pairs_auc
    from qpwl_core.transport.distances import pairwise_wasserstein

    pairs, seen = pairs_of(held.subjects, held.sources), held.embeddings(points)
    found = pairs.of(pairwise_wasserstein(*[seen.values[:, k:k + 1]] * 2, seen.levels, p).numpy())
    names, person = np.unique(held.subjects, return_inverse=True)
    aucs = resampled_pairs_auc(found, pairs.genuine, person[pairs.first], person[pairs.second],
                               resample_people(len(names), resamples))
    return percentiles(aucs[np.isfinite(aucs)])


def filter_aucs_of(held: Gallery, points: int | None, p: float) -> np.ndarray:
    """AUC of each filter alone over all pairs of sequences, (K,)."""
    from qpwl_core.evaluation.pairs import filter_aucs

    seen = held.embeddings(points)
    return filter_aucs(seen.values, seen.levels, pairs_of(held.subjects, held.sources), p)


def over_fractions(distances: np.ndarray, subjects: np.ndarray, n: int, groups: np.ndarray | None) -> tuple:
    """Identification and imposters over the fraction enrolled, each summed up in a table."""
    from qpwl_core.evaluation import protocol

    identified, unknown = (protocol.summarise(scenario(distances, subjects, n=n, groups=groups))
                           for scenario in (protocol.identification, protocol.imposters))
    return identified, unknown


def forgery_trials(distances: np.ndarray, subjects, imitates, stimuli, enrolled: int) -> list:
    """The trials of every repeat with so many enrolled of the first session."""
    from qpwl_core.evaluation import forgeries

    return forgeries.forgery_trials(distances, subjects, imitates, stimuli, enrolled=enrolled)


def forgery_errors(repeated: list) -> dict:
    """EER of each kind, mean over repeats, with its interval over people, None of both together: eer, low, high."""
    from qpwl_core.evaluation import metrics
    from qpwl_core.evaluation.forgeries import KINDS, eer_interval

    found = {}
    for kind in KINDS:
        eer = float(np.mean([metrics.eer(each.genuine, each.against(kind)) for each in repeated]))
        found[kind] = eer, *((None, None) if kind == "mixed" else eer_interval(repeated, kind))
    return found


def calibrated(distances: np.ndarray, subjects, sources, fmr: float, n: int, enrolled: int, sequences: int):
    """The threshold for a false match rate, set on calibration people."""
    from qpwl_core.desk.calibration import calibrate

    return calibrate(distances, subjects, fmr, n=n, enrolled=enrolled, sequences=sequences, sources=sources)


def rule(part: Gallery, enrolled: int, n: int, own: bool, points: int | None, p: float):
    """The rule of calibration people, with as many enrolled as they have, at most."""
    from qpwl_core.desk.claims import calibration_rule, from_nought
    from qpwl_core.models.methods import METHODS

    found = from_nought(part.distances(None, points, p), METHODS[part.method].distance)
    for count in range(enrolled, 0, -1):
        try:
            return calibration_rule(found, part.subjects, part.imitates, part.stimuli, enrolled=count, n=n, own=own)
        except ValueError:
            if count == 1:
                raise
    raise ValueError("nobody is enrolled")


def built(folder: str, recordings: Recordings) -> Gallery:
    """What the model in a folder sees in recordings, as quantile functions."""
    from qpwl_core.models.gallery import build_gallery
    from qpwl_core.models.model import load_model

    return build_gallery(load_model(folder), recordings)


def on_cluster(address: str, work: Callable, worker) -> str:
    """Have a job trained by a Dask cluster, its note; what that writes comes into the folder, with where it stands."""
    from qpwl_core.data.datasets import load_dataset
    from qpwl_core.training.cluster import work_there

    if not worker.job.has_copy:
        load_dataset(worker.job.spec["data"]).save(worker.folder / SENT)
    files = {path.name: path.read_bytes() for path in worker.folder.glob("[!.]*") if path.name not in STAYS}
    (worker.folder / SENT).unlink(missing_ok=True)
    worker.tell(note="on its way to the cluster")

    def stands(now: dict) -> dict:
        return {key: value for key, value in now.items() if key not in ("state", "pid")}

    def put(name: str, content: bytes) -> None:
        if name == "state.json":
            worker.tell(**stands(json.loads(content)))
        elif name not in (*STAYS, COPY, SENT, "job.json"):
            write_whole(worker.folder / name, content)

    note, now = work_there(address, work, worker.job.id, files, lambda: not worker.stopping.is_set(), put)
    worker.now |= stands(now)
    return note
