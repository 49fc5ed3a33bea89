"""What pages have done in another process (`qpwl_core/common/child.py`), and what trainings have done by a cluster.

Nothing here knows of pages.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

from qpwl_core.common.files import FileError, write_whole
from qpwl_core.data.loading import load_recordings
from qpwl_core.data.preprocessing import FittedRecipe, Recipe
from qpwl_core.data.recordings import Recordings
from ui.library.job import COPY, SENT

STAYS = ("lock", "stop", "log.txt")              # of a folder, where a cluster trains it


def read(content: bytes, name: str, rate: float | None, max_bytes: int) -> Recordings:
    """An uploaded file."""
    return load_recordings(io.BytesIO(content), name=name, rate=rate, max_bytes=max_bytes, lazy=False)


def fitted(recipe: Recipe, recordings: Recordings) -> FittedRecipe:
    """A recipe with the statistics of these recordings."""
    return recipe.fit(recordings)


def applied(recipe: FittedRecipe, recordings: Recordings) -> Recordings:
    """What a recipe makes of recordings."""
    return recipe.apply(recordings)


def check_model(folder: Path) -> None:
    """Load what lies in a folder as a model with its gallery, and use both: a FileError says what is wrong."""
    import numpy as np

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

    Arrays, no tensors: PyTorch would hand those over by a socket that the other process may not open.
    """
    from qpwl_core.models.model import load_model

    seen = load_model(folder).embed(recordings)
    return seen.values.numpy(), seen.sources


def responses(folder: str, one: Recordings):
    """Where the filters of the model in a folder fire in one sequence."""
    from qpwl_core.models.model import load_model
    from qpwl_core.models.responses import respond

    return respond(load_model(folder), one)


def distances(folder: str, part: str, measure: str | None, points: int | None, p: float | None):
    """Distances between all sequences of one part of the gallery in a folder, (n, n)."""
    from qpwl_core.models.gallery import load_gallery

    return load_gallery(folder).part(part).distances(measure, points, p)


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
