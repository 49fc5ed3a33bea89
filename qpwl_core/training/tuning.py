"""Tuning as in the paper: PReLU regulariser, learning rate and N, chosen by the AUC on validation people.

Try k has the same settings for every method, and trains as many steps: the same budget for all that is compared.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from qpwl_core.common.checks import check_whole
from qpwl_core.common.files import FileError, write_whole
from qpwl_core.data.recordings import Recordings
from qpwl_core.models.config import Config
from qpwl_core.training.loop import Diverged, train
from qpwl_core.training.processes import rank

PENALTIES, RATES, PAIRS = (1e-6, 1e-2), (3e-4, 1e-2), (8, 16, 24, 32, 48, 64)
TUNED = ("penalty", "learning_rate", "pairs")


def settings(number: int, config: Config, seed: int = 0) -> Config:
    """What try ``number`` trains: the first one the config as it is, the others with settings drawn at random.

    Penalty and learning rate are drawn evenly on a logarithmic scale. They depend on number and seed alone.
    """
    if number == 0:
        return config
    random = np.random.default_rng([seed, number])
    penalty, learning_rate = (float(f"{np.exp(random.uniform(*np.log(bounds))):.3g}") for bounds in (PENALTIES, RATES))
    return replace(config, penalty=penalty, learning_rate=learning_rate, pairs=int(random.choice(PAIRS)))


def tune(config: Config, recordings: Recordings, tries: int = 20, *, seed: int = 0, n_jobs: int = 1, out=None,
         progress: Callable[[str], None] | None = None, validation: Recordings | None = None):
    """Random search on the validation people, given or set aside by training; a try costs ``config.iterations`` steps.

    -> (DataFrame, best Config), one row per try: attempt, method, penalty, learning_rate, pairs, iterations, auc,
    seconds. A try that diverges has AUC 0. With ``out``, results are kept in ``tuning.jsonl`` there, and an interrupted
    search goes on. ``n_jobs``: tries at a time, in processes of joblib; on a CPU leave it at 1, since a training
    uses all cores already. ``progress`` gets a line per try.
    """
    import pandas as pd

    check_whole("tries", tries)
    configs = [settings(number, config, seed) for number in range(tries)]
    path = None if out is None else Path(out) / "tuning.jsonl"
    data = {"subjects": len(recordings.people), "sequences": len(recordings),
            "samples": int(recordings.lengths.sum())}
    kept = _kept(path)
    done = {number: row for number, each in enumerate(configs)
            for row in kept if (row["config"], row["data"]) == (each.to_dict(), data)}
    missing = [number for number in range(tries) if number not in done]
    for number, auc, seconds in _results(configs, recordings, validation, missing, n_jobs):
        done[number] = {"config": configs[number].to_dict(), "data": data, "auc": auc, "seconds": seconds}
        kept.append(done[number])
        if path is not None and rank() == 0:
            write_whole(path, "".join(json.dumps(row) + "\n" for row in kept).encode())
        if progress:
            chosen = ", ".join(f"{name} {getattr(configs[number], name):g}" for name in TUNED)
            progress(f"try {number + 1}/{tries}: {chosen}: validation AUC {auc:.4f} ({seconds:.0f} s)")
    table = pd.DataFrame([{"attempt": number, **{name: asdict(each)[name] for name in ("method", *TUNED, "iterations")},
                           "auc": done[number]["auc"], "seconds": done[number]["seconds"]}
                          for number, each in enumerate(configs)])
    return table, configs[int(table["auc"].idxmax())]           # of equals the first


def _results(configs, recordings, validation, numbers, n_jobs):
    """(number, auc, seconds) of each try as it ends."""
    if n_jobs == 1:
        yield from (_try(number, configs[number], recordings, validation) for number in numbers)
        return
    from joblib import Parallel, cpu_count, delayed

    processes = n_jobs if n_jobs > 0 else max(1, cpu_count() + 1 + n_jobs)
    threads = max(1, cpu_count() // processes)                  # never more threads than cores
    yield from Parallel(n_jobs, return_as="generator_unordered")(
        delayed(_try)(number, configs[number], recordings, validation, threads) for number in numbers)


def _try(number: int, config: Config, recordings: Recordings, validation: Recordings | None,
         threads: int | None = None) -> tuple[int, float, float]:
    if threads is not None:
        import torch
        torch.set_num_threads(threads)
    try:
        last = deque(train(config, recordings, validation=validation), maxlen=1).pop()
    except Diverged:
        return number, 0.0, 0.0
    assert last.best_auc is not None, "the last step is validated"
    assert last.model is not None, "the last record carries it"
    return number, last.best_auc, last.model.card["training"]["seconds"]


def _kept(path: Path | None) -> list[dict]:
    """The results of tries that are done."""
    if path is None or not path.exists():
        return []
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if all(isinstance(row, dict) and {"config", "data", "auc", "seconds"} <= row.keys() for row in rows):
            return rows
    except (OSError, ValueError):
        pass
    raise FileError(f"{path} is not the record of a search: it was edited; delete it to search again")
