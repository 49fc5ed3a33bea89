"""What a training will cost, measured on a few of its steps in a process of its own, one at a time."""

from __future__ import annotations

import time
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as Unfinished
from dataclasses import replace

import streamlit as st

from qpwl_core.common.bounds import MEASURING_MEMORY
from qpwl_core.common.child import ChildError, in_child
from qpwl_core.common.memory import machine_memory
from qpwl_core.models.config import Config
from qpwl_core.training.cost import Cost, looked_at, measure_some
from ui.library.data import recordings_for, split_of
from ui.library.jobs import threads
from ui.train.measuring import Measuring
from ui.visitors.who import visitor


@st.cache_resource
def _measuring() -> Measuring:
    return Measuring()


def cost_of(data: str, config: Config, wait: float) -> Cost | None:
    """What the steps of this Config cost, measured once in a process of its own; None until that is done.

    Raises ValueError where this data cannot be trained on so.
    """
    parts = split_of(data)
    learn = recordings_for(data).select(index=sorted([*parts.index["train"], *parts.index["validation"]]))
    alike = replace(config, iterations=100, seed=0, learning_rate=1e-3, validate_every=50, patience=0)
    key = f"{data} {len(learn)} {int(learn.lengths.sum())} {alike}"  # another upload may have the same name
    memory = min(MEASURING_MEMORY, machine_memory() // 4)
    future = _measuring().ask(visitor(), key, lambda: in_child(
        measure_some, alike, *looked_at(learn), len(parts.index["test"]), threads(), memory=memory))
    asked = st.session_state.setdefault("train_measured", {key: time.monotonic()})
    if key not in asked:
        asked.clear()
        asked[key] = time.monotonic()
    try:
        return future.result(wait)
    except (Unfinished, CancelledError):
        if wait == 0:
            st.progress(min((time.monotonic() - asked[key]) / 3, 0.95),
                        "Measuring a few steps, about 3 s …" if future.running() else "Others are measured first …")
        return None
    except ChildError as error:
        raise ValueError(f"This cannot be trained here with these settings: {error}. Shorter recordings, fewer filters "
                         "or layers, or a larger stride need less; the command line has no such limit.") from None
