"""The state of a training run: network, optimiser, best weights so far; one step, one validation, save and restore."""

from __future__ import annotations

import math
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from qpwl_core.common.checks import check_whole
from qpwl_core.common.files import FileError, read_tensors, write_tensors
from qpwl_core.common.text import quoted
from qpwl_core.common.watch import Watch, sent
from qpwl_core.data.joining import concatenate
from qpwl_core.data.preprocessing import FittedRecipe, fitted_from_dict, recipe_for
from qpwl_core.data.preprocessing.days import imitate_day
from qpwl_core.data.preprocessing.devices import imitate_device
from qpwl_core.data.recordings import Recordings
from qpwl_core.data.splits import split_validation
from qpwl_core.evaluation.validation import validation_auc
from qpwl_core.models.config import Config
from qpwl_core.models.model import Model, embedder_of, load_weights
from qpwl_core.training import processes
from qpwl_core.training.adam import Adam
from qpwl_core.training.devices import device_of, precision_of, reads_at_once
from qpwl_core.training.sampling import PairSampler

WARM_UP = 0.15      # fraction of the steps in which the learning rate rises


def learning_rate(step: int, config: Config) -> float:
    """One cycle: up along a cosine from a 25th, down to nearly nothing; or constant. A function of the step alone."""
    if config.constant_rate:
        return config.learning_rate
    rise = max(1, round(WARM_UP * config.iterations))
    if step < rise:
        low, high, part = config.learning_rate / 25, config.learning_rate, step / rise
    else:
        low, high = config.learning_rate, config.learning_rate / 1e4
        part = (step - rise) / max(1, config.iterations - rise)
    return high + (low - high) * (1 + math.cos(math.pi * part)) / 2


def cut_with_copies(recipe: FittedRecipe, recordings: Recordings, seed: int, devices: int = 0,
                    days: int = 0) -> tuple[Recordings, np.ndarray]:
    """What the recipe gives, and of each recording copies: of so many other devices, and so many other days.

    A copy has the source of its original, so that the two are never a pair.
    """
    parts = [recipe.cut(recordings)]
    for imitate, copies in ((imitate_device, devices), (imitate_day, days)):
        parts += [recipe.cut(imitate(recordings, seed * 1000 + copy)) for copy in range(copies)]
    if len(parts) == 1:
        return parts[0]
    return concatenate([part for part, _ in parts], same_people=True), np.concatenate([source for _, source in parts])


class Run:
    """The state of a training: network, optimiser, best weights so far, and how to save and restore all of it."""

    def __init__(self, config: Config, recordings: Recordings, validation: Recordings | None = None):
        """``validation``: people to validate on; where there are none, some of ``recordings`` are set aside."""
        self.config, self.device = config, device_of(config.device)
        learn, validate = ((recordings, validation) if validation is not None else
                           split_validation(recordings, config.validation, config.seed))
        self.recipe = recipe_for(config.domain, **config.recipe).fit(learn)
        learn, sources = cut_with_copies(self.recipe, learn, config.seed, config.device_copies,
                                         config.day_copies)
        self.validate = self.recipe.cut(validate)                # what it gives is the same at every validation
        crop = round(config.crop * self.recipe.rate)
        self.sampler = PairSampler(learn, config.pairs, crop, sources, config.seed, config.channel_dropout,
                                   config.forgeries, config.pieces)
        self.rows = processes.rows_of_process(self.sampler.pairs, self.sampler.forgeries)      # that are embedded here
        self.length = crop or int(learn.lengths.min())
        torch.manual_seed(config.seed)
        classes = self.sampler.classes * (2 if self.sampler.forgeries else 1)     # people, and people forged
        self.embedder = embedder_of(config, learn.channels, self.length, classes).to(self.device)
        processes.share_batch_norms(self.embedder)
        self.precision = precision_of(self.device)
        self.watch = None if reads_at_once(self.device) else Watch(everywhere=self.device.type == "cpu")
        self.optimiser = Adam(self.embedder.parameters(), config.learning_rate)
        self.step, self.worse, self.seconds = 0, 0, 0.0
        self.best_auc: float | None = None
        self.best: dict[str, torch.Tensor] = {}

    @property
    def levels(self) -> Tensor | None:
        """Where they stand now, on the device."""
        levels = self.embedder.levels
        return None if levels is None else levels.detach()

    def model(self, weights: dict[str, torch.Tensor] | None = None) -> Model:
        """A separate model, with these weights or the present ones; a softmax's head is for training alone."""
        embedder = embedder_of(self.config, self.recipe.output_channels, self.length)
        weights = weights or self.embedder.state_dict()
        embedder.load_state_dict({k: v.cpu() for k, v in weights.items() if not k.startswith("head.")})
        return Model(self.config, self.recipe, embedder.to(self.device).eval(), self.length)

    def batches(self, last: int):
        """The batches from the present step to before ``last``, prepared ahead."""
        return self.sampler.batches(self.step, last, pinned=self.device.type == "cuda")

    def learn(self, batch) -> float | Tensor:
        """One step of Adam on one batch; returns the loss.

        An accelerator is not waited for: of one, the loss stays there, and `ask` tells whether all was well.
        """
        self.embedder.train()
        self.optimiser.rate = learning_rate(self.step, self.config)
        with self.watch or nullcontext():
            loss = self._loss(batch)
        self.optimiser.zero_grad()
        (loss + self.config.penalty * self.embedder.penalty()).backward()
        processes.average_gradients(self.embedder)
        torch.nn.utils.clip_grad_norm_(self.embedder.parameters(), self.config.clip)
        self.optimiser.step()
        self.step += 1
        if self.watch is not None:
            loss = loss.detach()
            self.watch.keep(~loss.isfinite(), lambda _, loss: f"the loss is {loss.item()}", loss)
            return loss
        value = loss.item()
        if not math.isfinite(value):
            raise ValueError(f"the loss is {value}")
        return value

    def _loss(self, batch) -> Tensor:
        if self.watch is not None:
            self.watch.step = self.step + 1
        with torch.autocast(self.device.type, self.precision, enabled=self.precision != torch.float32):
            filters, lengths = self.embedder.network(sent(batch.x[self.rows], self.device), batch.lengths[self.rows])
        embedded = self.embedder.aggregate(filters.float(), lengths)
        embedded = processes.gather(embedded, self.rows, len(batch.x))
        anchors, positives, *forged = embedded.chunk(2 + self.sampler.forgeries)
        return self.embedder.loss(anchors, positives, sent(batch.labels[:len(anchors)], self.device),
                                  torch.stack(forged) if forged else None, batch.forged)

    def ask(self) -> None:
        """Wait for an accelerator, and raise what its checks have found since they were last asked for."""
        if self.watch is not None:
            self.watch.ask()

    def check(self) -> float:
        """Validation AUC of the present weights; the best ones are kept, and of equal ones the later."""
        auc = 0.0
        if processes.rank() == 0:
            model = self.model()
            embeddings = model.embed_cut(*self.validate)
            embeddings = embeddings if self.sampler.forgeries else embeddings.genuine()
            auc = validation_auc(model.distances(embeddings), embeddings.subjects, embeddings.sources,
                                 embeddings.imitates)
        auc, = processes.from_first([auc], self.device)
        better, equal = self.best_auc is None or auc > self.best_auc, auc == self.best_auc
        self.worse = 0 if better else self.worse + 1
        if better or equal:
            self.best_auc = auc
            self.best = {k: v.detach().cpu().clone() for k, v in self.embedder.state_dict().items()}
        return auc

    def save(self, path: Path) -> None:
        """The whole state in one file."""
        tensors = {f"now.{k}": v for k, v in self.embedder.state_dict().items()}
        tensors |= {f"best.{k}": v for k, v in self.best.items()}
        names = [name for name, _ in self.embedder.named_parameters()]
        tensors |= {f"adam.{names[i]}.{k}": v for i, held in self.optimiser.state.items() for k, v in held.items()}
        tensors["random"] = torch.get_rng_state()
        facts = {"step": self.step, "best_auc": self.best_auc, "worse": self.worse, "seconds": self.seconds,
                 "recipe": self.recipe.to_dict()}
        arrays = {k: v.detach().cpu().numpy() for k, v in tensors.items()}
        arrays |= {f"recipe.{k}": v for k, v in self.recipe.arrays.items()}
        write_tensors(path, arrays, facts)

    def restore(self, path: Path) -> None:
        """Go on from a saved state."""
        arrays, facts = read_tensors(path)
        try:
            self._restore(arrays, facts, path)
        except FileError:
            raise
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise FileError(f"{path} is not the checkpoint of a run: {' '.join(str(error).split())}") from None

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict, path: Path) -> None:
        def part(prefix):
            return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

        load_weights(self.embedder, part("now."), path)
        recipe = fitted_from_dict(facts["recipe"], part("recipe."))
        if recipe.to_dict() != self.recipe.to_dict() or not all(
                np.allclose(x, self.recipe.arrays[name]) for name, x in recipe.arrays.items()):
            raise FileError(f"{path} belongs to a run on other recordings; resume with those it was started with")
        self.recipe = recipe
        self.best = {k: torch.from_numpy(v.copy()) for k, v in part("best.").items()}
        wanted = {k: (v.shape, v.dtype) for k, v in self.embedder.state_dict().items()}
        if self.best and {k: (v.shape, v.dtype) for k, v in self.best.items()} != wanted:
            raise ValueError("its best weights are those of another architecture")
        if any(v.is_floating_point() and not torch.isfinite(v).all() for v in self.best.values()):
            raise ValueError("its best weights have NaN or infinite values")
        adam = part("adam.")
        names = [name for name, _ in self.embedder.named_parameters()]
        state = {i: {k: torch.from_numpy(adam[f"{name}.{k}"].copy()) for k in ("step", "exp_avg", "exp_avg_sq")}
                 for i, name in enumerate(names) if f"{name}.step" in adam}
        self.optimiser.restore(state)
        torch.set_rng_state(torch.from_numpy(arrays["random"].copy()))
        for name, most in (("step", self.config.iterations), ("worse", self.config.iterations)):
            check_whole(name, facts[name], least=0)
            if facts[name] > most:
                raise ValueError(f"{name} must be at most {most}, not {facts[name]}")
        best, seconds = facts["best_auc"], facts["seconds"]
        if not (best is None or (isinstance(best, float) and 0 <= best <= 1)):
            raise ValueError(f"best_auc must be from 0 to 1, not {quoted(best)}")
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds < 1e12:
            raise ValueError(f"seconds must be a number of at least 0, not {quoted(seconds)}")
        self.step, self.best_auc, self.worse, self.seconds = facts["step"], best, facts["worse"], float(seconds)
