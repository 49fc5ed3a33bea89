"""One training loop, a generator of progress records: the page, the command line and the tests consume the same one.

A run never loses work: after every validation its whole state goes into one file, replaced atomically. Batches depend
on seed and step alone, the learning rate on the step alone, so a run that was killed and resumed ends with the same
weights, bit for bit on a CPU, as one that was not.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import cast

import torch

from qpwl_core.common.files import FileError, read_json, remove_parts, write_json, write_whole
from qpwl_core.common.text import quoted
from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.recordings import Recordings
from qpwl_core.models.config import Config
from qpwl_core.models.methods import METHODS
from qpwl_core.models.model import Model
from qpwl_core.training import processes
from qpwl_core.training.devices import device_of
from qpwl_core.training.run import Run, learning_rate
from qpwl_core.transport.kernels import kernels

ASK_EVERY = 10        # steps, after which an accelerator is asked whether all was well


class Diverged(ValueError):
    """The network gave values that are not finite."""


class _Read:
    """A field that may hold a tensor of an accelerator: numbers are read from it when somebody looks."""

    def __init__(self, default):
        self.default = default

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, record, owner=None):
        if record is None:
            return self.default
        value = record.__dict__[self.name]
        if isinstance(value, torch.Tensor):
            value = record.__dict__[self.name] = tuple(value.tolist()) if value.ndim else value.item()
        return value

    def __set__(self, record, value):
        record.__dict__[self.name] = value


@dataclass(frozen=True)
class Progress:
    """Where a run stands. ``auc`` is set after a validation, ``model`` in the last record alone."""

    step: int
    steps: int
    loss: float = cast(float, _Read(math.nan))
    auc: float | None = None
    best_auc: float | None = None
    levels: tuple[float, ...] | None = cast(tuple, _Read(None))
    rate: float = 0.0               # learning rate
    per_second: float = 0.0         # sequences per second
    eta: float = 0.0                # seconds to go
    model: Model | None = None

    def record(self) -> dict:
        """All but the model, ready for JSON."""
        return {k: v for k, v in asdict(replace(self, model=None)).items() if k != "model"}


def train(config: Config, recordings: Recordings, out=None, resume: bool = False,
          validation: Recordings | None = None) -> Iterator[Progress]:
    """Train on the people of the recordings; ``validation``: others to validate on, else a fraction of these people.

    Yields one `Progress` per step; the last one carries the model with the best validation AUC. With ``out``, the run
    lives in that folder (config.json, metrics.jsonl, checkpoint.safetensors, and the model at the end); ``resume``
    goes on with a run that lies there. Stop consuming, and training stops; ``close()`` the generator to keep it to the
    last step. Under torchrun, all processes train as one; each yields the same records, and rank 0 alone writes.
    """
    with processes.meeting(device_of(config.device)):
        yield from _train(config, recordings, out, resume, validation)


def _train(config: Config, recordings: Recordings, out, resume: bool,
           validation: Recordings | None) -> Iterator[Progress]:
    out = None if out is None else Path(out)
    checkpoint = None if out is None else out / "checkpoint.safetensors"
    if out is not None and not resume and (out / "config.json").exists():
        raise FileError(f"{out} already holds a run; resume it or name another folder")
    if resume and (out is None or not (out / "config.json").exists()):
        raise FileError(f"{out} holds no run to resume")
    if resume:
        config = _resumed(config, out / "config.json")
        if processes.rank() == 0:
            remove_parts(out, "checkpoint.safetensors", "metrics.jsonl", "model.safetensors", "card.json")
    run = Run(config, recordings, validation)
    history: list[dict | Progress] = []
    processes.wait_for_all()               # until all have looked at the folder
    writes = out is not None and processes.rank() == 0
    if writes and not resume:
        write_json(out / "config.json", config.to_dict())
    if resume and checkpoint is not None and checkpoint.exists():
        run.restore(checkpoint)
        history = [r for r in _history(out / "metrics.jsonl") if r["step"] <= run.step]
    started, begun, before = time.monotonic(), run.step, run.seconds
    progress = Progress(run.step, config.iterations, float("nan"), best_auc=run.best_auc)
    stopped = bool(config.patience and run.worse >= config.patience)
    if METHODS[config.method].loss == "none":                    # there is nothing to learn
        stopped, reached = True, run.check()
        progress = Progress(0, 0, 0.0, reached, reached, cast(tuple, run.levels))
        yield progress
    for batch in run.batches(config.iterations if not stopped else run.step):
        with _diverging(run.step + 1):
            loss = run.learn(batch)
        checking = run.step % config.validate_every == 0 or run.step == config.iterations
        with _diverging(run.step):
            if checking or run.step % ASK_EVERY == 0:
                run.ask()
            auc = run.check() if checking else None
        spent = time.monotonic() - started
        run.seconds = before + spent
        progress = Progress(run.step, config.iterations, cast(float, loss), auc, run.best_auc, cast(tuple, run.levels),
                            learning_rate(run.step - 1, config), (run.step - begun) * len(batch.x) / spent,
                            spent / (run.step - begun) * (config.iterations - run.step))
        if writes:
            history.append(progress)
            if checking:
                _keep(run, history, out)
        try:
            yield progress
        except GeneratorExit:                # nobody wants more of it now
            if writes and not checking:
                with _diverging(run.step):
                    run.ask()
                _keep(run, history, out)
            raise
        if config.patience and run.worse >= config.patience:
            break
    model = run.model(run.best)
    model.card["training"] = {"steps": run.step, "best_auc": run.best_auc, "seconds": round(run.seconds, 1),
                              "device": str(run.device), "threads": torch.get_num_threads(),
                              "processes": processes.count(),
                              "compiled_kernels": run.device.type == "cpu" and kernels() is not None}
    parts = [recordings] if validation is None else [recordings, validation]
    model.card["data"] = {**recordings.info, "subjects": sum(len(part.people) for part in parts),
                          "sequences": sum(map(len, parts))}
    if writes:
        model.save(out)
    yield replace(progress, eta=0.0, model=model)


def _keep(run: Run, history: list[dict | Progress], out: Path) -> None:
    """Write the curve, then the checkpoint: a run killed in between has no gap in its curve."""
    history[:] = [r.record() if isinstance(r, Progress) else r for r in history]
    write_whole(out / "metrics.jsonl", "".join(json.dumps(r) + "\n" for r in history).encode())
    run.save(out / "checkpoint.safetensors")


@contextlib.contextmanager
def _diverging(step: int):
    """Say what it means where the network gives values that are not finite: what goes into it always is."""
    try:
        yield
    except RecordingsError:
        raise
    except ValueError as error:
        step = getattr(error, "step", step)        # an accelerator's checks are asked for later
        raise Diverged(f"training diverged at step {step}, try a smaller learning rate: {error}") from None


def _resumed(config: Config, path: Path) -> Config:
    """The Config of the run that lies there, which must be this one; only the device may be another."""
    stored = replace(Config.from_dict(read_json(path)), device=config.device)
    for name, value in stored.to_dict().items():
        if value != getattr(config, name):
            raise FileError(f"{path.parent} holds a run with {name} = {quoted(value)}, not "
                            f"{quoted(getattr(config, name))}; resume it with the options it was started "
                            "with, or name another folder")
    return stored


def _history(path: Path) -> list[dict]:
    """The records of a run so far."""
    try:
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return [r for r in records if isinstance(r, dict) and isinstance(r.get("step"), int)]
    except (OSError, ValueError, RecursionError):
        return []  # the checkpoint is what counts; a curve can be missing
