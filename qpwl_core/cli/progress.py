"""How a training shows itself on a terminal or in a log; of many processes only the first one speaks."""

from __future__ import annotations

import shutil
import sys
import time

from qpwl_core.training.processes import rank


def say(text: str, file=None) -> None:
    """Print, unless this is another than the first of the processes that torchrun started."""
    if rank() == 0:
        print(text, file=file, flush=True)


def show_progress(records):
    """Consume the records of a training: a live bar on a terminal, else one line per validation. -> the last record

    A loss is read when it is shown, some five times a second: an accelerator that is asked at every step stands still.
    """
    bar = None
    if rank() == 0 and sys.stderr is not None and sys.stderr.isatty():
        from tqdm import tqdm
        size = shutil.get_terminal_size()        # tqdm hides the bar where a terminal does not know its size
        bar = tqdm(unit="step", ncols=size.columns - 1, nrows=size.lines,
                   bar_format="{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]")
    auc, shown = "–", 0.0
    try:
        for record in records:
            if record.model is not None:
                break
            auc = auc if record.auc is None else f"{record.auc:.4f}"
            left = f"{int(record.eta) // 60}:{int(record.eta) % 60:02}"
            if bar is not None:
                bar.total = record.steps
                if record.auc is not None or time.monotonic() - shown > 2 * bar.mininterval:    # looking at it waits
                    shown = time.monotonic()
                    bar.set_postfix_str(f"loss {record.loss:.4f}, validation AUC {auc}, ETA {left}", refresh=False)
                bar.update(record.step - bar.n)
            elif record.auc is not None:
                say(f"step {record.step}/{record.steps}  loss {record.loss:.4f}  validation AUC {auc}  "
                    f"{record.per_second:.0f} sequences/s  ETA {left}")
    finally:
        records.close()                  # else a thread that prepares batches outlives an interrupt
        if bar is not None:
            bar.close()
    return record
