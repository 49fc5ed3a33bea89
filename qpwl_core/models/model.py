"""Trained models: embed recordings, compare embeddings, save and load.

A model is a folder: `model.safetensors` (weights and the statistics of its preprocessing) and `card.json` (config,
data, training record, results, versions, and the checksum of the weights).
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from qpwl_core.common.checks import check_whole
from qpwl_core.common.files import FileError, read_json, read_tensors, tensor_bytes, write_json, write_whole
from qpwl_core.common.paths import model_folder
from qpwl_core.common.text import quoted
from qpwl_core.common.version import __version__
from qpwl_core.common.watch import sent
from qpwl_core.data.preprocessing import FittedRecipe, fitted_from_dict
from qpwl_core.data.recordings import Recordings, forgery_mask
from qpwl_core.models.batching import by_length, collate
from qpwl_core.models.config import Config
from qpwl_core.models.embedder import Embedder, build_embedder
from qpwl_core.models.jaeger import velocity_channels
from qpwl_core.models.methods import METHODS
from qpwl_core.models.storeys import pyramid_of

FORMAT, VERSION = "qpwl-model", 1
BUDGET = 1 << 17      # padded samples in a batch to embed: enough to keep two cores busy, small enough for any laptop


@dataclass(frozen=True, eq=False)
class Embeddings:
    """What a model saw in n sequences: (n, K, M+2) quantile functions at ``levels``, or (n, E) vectors."""

    values: Tensor
    levels: Tensor | None
    subjects: np.ndarray
    stimuli: np.ndarray | None = None
    sources: np.ndarray | None = None     # (n,) which recording each was cut from: windows of one are no fair match
    imitates: np.ndarray | None = None    # (n,) whom a forgery imitates, "" where nobody; None where there is none

    def __len__(self):
        return len(self.values)

    def select(self, index) -> Embeddings:
        """Some of them, by index or mask."""
        index = np.arange(len(self))[index]
        return replace(self, values=self.values[torch.from_numpy(index)], subjects=self.subjects[index],
                       **{name: None if x is None else x[index] for name, x in (
                           ("stimuli", self.stimuli), ("sources", self.sources), ("imitates", self.imitates))})

    def genuine(self) -> Embeddings:
        """All but the forgeries."""
        return self if self.imitates is None else self.select(~forgery_mask(self.imitates, len(self)))


@dataclass(eq=False)
class Model:
    """A trained network with the preprocessing it was trained with."""

    config: Config
    recipe: FittedRecipe
    embedder: Embedder
    length: int                                  # frames that a network of fixed length takes
    card: dict = field(default_factory=dict)     # what else there is to know: data, training, results

    def embed(self, recordings: Recordings, progress=None) -> Embeddings:
        """Embed every sequence; ``progress(done, of)`` is called on the way.

        The recipe may cut one recording into several sequences (gait), so there may be more embeddings than recordings.
        """
        return self.embed_cut(*self.recipe.cut(recordings), progress)

    def embed_cut(self, seen: Recordings, sources: np.ndarray, progress=None) -> Embeddings:
        """The second half of ``embed``, of what the recipe's ``cut`` gave."""
        levels = self.embedder.levels
        return Embeddings(self.each(seen, self.embedder, progress), None if levels is None else
                          levels.detach().cpu().clone(), seen.subjects, seen.stimuli, sources, seen.imitates)

    def each(self, seen: Recordings, function, progress=None) -> Tensor:
        """``function(x (B, D, T), lengths (B,)) -> (B, …)`` of all sequences, in batches of like length, (n, …)."""
        device = next(self.embedder.parameters()).device
        values: dict[int, Tensor] = {}
        done = 0
        self.embedder.eval()
        with torch.inference_mode():
            for group in by_length(seen.lengths, BUDGET):
                batch = collate([seen.sequences[i] for i in group])
                computed = function(sent(batch.x, device), batch.lengths).cpu()    # lengths are looked at on the CPU
                for i, value in zip(group, computed, strict=True):
                    values[i] = value
                done += len(group)
                if progress:
                    progress(done, len(seen))
        return torch.stack([values[i] for i in range(len(seen))]).clone()

    def distances(self, a: Embeddings, b: Embeddings | None = None) -> np.ndarray:
        """The method's distance of every a to every b (to itself where b is None), (Q, R); smaller is closer."""
        device = next(self.embedder.parameters()).device
        with torch.inference_mode():
            first = a.values.to(device)
            return self.embedder.pairwise(first, first if b is None else b.values.to(device)).cpu().numpy()

    @property
    def described(self) -> dict:
        """What card and weights both say, so that one cannot be mistaken for another's."""
        return {"config": self.config.to_dict(), "recipe": self.recipe.to_dict(), "length": self.length}

    @property
    def checksum(self) -> str:
        """Of the weights and all else that embeddings depend on: sha256 of the file that ``save`` writes."""
        return hashlib.sha256(self._content()).hexdigest()

    def _content(self) -> bytes:
        weights = {f"network.{name}": x.detach().cpu().numpy() for name, x in self.embedder.state_dict().items()}
        statistics = {f"recipe.{name}": x for name, x in self.recipe.arrays.items()}
        return tensor_bytes(weights | statistics, self.described)

    def save(self, folder) -> Path:
        """Write the model into a folder; each file is replaced at once, the card last."""
        folder, content = Path(folder), self._content()
        write_whole(folder / "model.safetensors", content)
        write_json(folder / "card.json", {
            "format": FORMAT, "version": VERSION, **self.card, **self.described,
            "sha256": hashlib.sha256(content).hexdigest(),
            "versions": {"qpwl_core": __version__, "torch": str(torch.__version__), "numpy": np.__version__,
                         "python": sys.version.split()[0]}})
        return folder


def load_model(path, device: str | torch.device = "cpu") -> Model:
    """The model in a folder, or the one that ships under this name; one sentence says what is wrong with a folder
    that holds none."""
    folder = model_folder(path)
    if not folder.is_dir():
        raise FileError(f"{folder} is not a model: a model is a folder with card.json and model.safetensors")
    card = read_json(folder / "card.json")
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise FileError(f"{folder / 'card.json'} is not the card of a QP-WL model")
    if card.get("version") != VERSION:
        raise FileError(f"{folder} was written by another version of QP-WL Lab (model format "
                        f"{quoted(card.get('version'))}, and this one reads {VERSION}): update QP-WL Lab "
                        "or train again")
    arrays, described = read_tensors(folder / "model.safetensors")
    if hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest() != card.get("sha256"):
        raise FileError(f"{folder / 'model.safetensors'} does not fit its card: one of them was edited or damaged")
    if any(card.get(name) != described.get(name) for name in ("config", "recipe", "length")):
        raise FileError(f"{folder / 'card.json'} describes another model than the weights beside it: it was edited")
    values = sum(x.size for x in arrays.values())
    try:
        config = Config.from_dict(card["config"])
        statistics = {name.removeprefix("recipe."): x for name, x in arrays.items() if name.startswith("recipe.")}
        recipe = fitted_from_dict(card["recipe"], statistics)
        check_whole("length", card["length"])
        if _least_weights(config, card["length"]) > values:     # nothing large is built for a card that lies
            raise ValueError(f"its network has more weights than the {values} in the file")
        embedder = embedder_of(config, recipe.output_channels, card["length"])
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"{folder / 'card.json'} is not a card this version understands: {error}") from None
    load_weights(embedder, {name.removeprefix("network."): x for name, x in arrays.items()
                            if name.startswith("network.")}, folder / "model.safetensors")
    known = {"format", "version", "config", "recipe", "length", "sha256", "versions"}
    return Model(config, recipe, embedder.to(device).eval(), card["length"],
                 {k: v for k, v in card.items() if k not in known})


def embedder_of(config: Config, channels: tuple[str, ...], length: int, classes: int = 0) -> Embedder:
    """The untrained network that a Config describes, for recordings with these channels.

    ``length``: frames that a network of fixed length takes; ``classes``: people to learn to name, which only training
    with a softmax needs.
    """
    return build_embedder(
        config.method, len(channels), filters=config.filters, layers=config.layers, kernel=config.kernel,
        dilation=config.dilation, stride=config.stride, points=config.points, p=config.p,
        batch_norm=config.batch_norm, multi_class=config.multi_class, both_ways=config.both_ways, classes=classes,
        length=length, velocity=velocity_channels(channels), width=config.width, storeys=pyramid_of(config.pyramid),
        one_threshold=config.one_threshold, forgery_weight=config.forgery_weight,
        fixed_weights=config.fixed_weights)


def _least_weights(config: Config, length: int) -> float:
    """A number of weights that the network of a Config has at least."""
    if METHODS[config.method].network == "jaeger":
        return (256 * config.width) ** 2 + (length >> 9) * 512 * config.width * 256 * config.width
    if METHODS[config.method].network == "none":
        return 0
    return config.filters**2 * config.kernel * (config.layers - 1) + config.filters + config.layers + (
        config.points if METHODS[config.method].aggregation == "quantile" else 0)


def load_weights(module: torch.nn.Module, arrays: dict[str, np.ndarray], source) -> None:
    """Put arrays into a module's parameters and buffers; what does not fit is named, with both shapes."""
    state = module.state_dict()
    wanted = {name: tuple(x.shape) for name, x in state.items()}
    for name in sorted(set(wanted) | set(arrays)):
        if name not in arrays:
            raise FileError(f"{source} lacks {name} {wanted[name]}: it holds another architecture")
        if name not in wanted:
            raise FileError(f"{source} has {name} {arrays[name].shape}, which this architecture has not")
        if arrays[name].shape != wanted[name]:
            raise FileError(f"{source} has {name} {arrays[name].shape}, where this architecture has {wanted[name]}")
        kind = str(state[name].dtype).removeprefix("torch.")
        if arrays[name].dtype != kind:
            raise FileError(f"{source} has {name} in {arrays[name].dtype}, where this architecture has {kind}")
        if arrays[name].dtype.kind == "f" and not np.isfinite(arrays[name]).all():
            raise FileError(f"{source} has NaN or infinite values in {name}")
    module.load_state_dict({name: torch.from_numpy(x.copy()) for name, x in arrays.items()})
