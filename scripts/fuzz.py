"""Files that lie: ``python -m scripts.fuzz --cases 20000 --seed 0`` edits valid files and tries what comes of it.

Each case edits the header, a claim or the bytes of a valid file (npz, csv, edf, fif, safetensors, card, gallery, zip,
checkpoint, desk database; `fuzz_files.py`) and takes it through load, embed, evaluate and what pages do with it, in a
process that may take 1 GB and 10 seconds. A sentence that refuses it is right, and so is a result that holds; reported
are accepted lies, tracebacks, what takes longer and what takes more. A case is its seed: ``--only 4711`` runs it again.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

from qpwl_core.common.child import ChildError, in_child
from scripts import fuzz_files as files

SECONDS, MEMORY = 10.0, 2**30
BATCH = 25                      # cases that one call takes along: a process is asked, and answers, less often


class Lie(Exception):
    """It was taken, and what it gives does not hold."""


class TooLong(BaseException):
    """It takes longer than it may, counted in seconds of the CPU: other work on the machine is not its fault."""


def run_batch(home: str, seeds: list[int]) -> list[dict]:
    """What came of some cases, in the process that may be ended."""
    warnings.simplefilter("ignore")
    return [run_case(Path(home), seed) for seed in seeds]


def run_case(home: Path, seed: int) -> dict:
    """One case: its verdict is refused, accepted, lie, traceback, slow or memory."""
    kind, drawn = files.KINDS[seed % len(files.KINDS)], random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="qpwl-fuzz-", dir=home))
    verdict, note, started = "accepted", "", time.process_time()
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, _too_long)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            EXERCISES[kind](home, folder, drawn, kind)
    except TooLong:
        verdict, note = "slow", f"longer than {SECONDS:g} s"
    except Lie as error:
        verdict, note = "lie", str(error)
    except MemoryError:
        verdict, note = "memory", f"more than {MEMORY >> 20} MB"
    except ValueError as error:
        verdict, note = "refused", str(error)
        if "\n" in note or not note or len(note) > 1000 or type(error).__name__ in ("UnicodeDecodeError",):
            verdict, note = "traceback", f"no sentence: {type(error).__name__} {note[:200]!r}"
    except Exception as error:
        import traceback

        where = traceback.extract_tb(error.__traceback__)[-1]
        verdict, note = "traceback", f"{type(error).__name__}: {str(error)[:200]} ({where.filename}:{where.lineno})"
        verdict = "memory" if "allocate memory" in note else verdict
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, 0)
        shutil.rmtree(folder, ignore_errors=True)
    return {"seed": seed, "kind": kind, "verdict": verdict, "note": note, "seconds": time.process_time() - started}


def _too_long(*_) -> None:
    raise TooLong


@contextlib.contextmanager
def of_the_page():
    """What the pages' own handlers call, with what they would send to another process done in this one, which is
    limited; a session of its own."""
    import streamlit as st

    from ui.library import data, shelf

    def at_once(function, *arguments, **_):
        return function(*arguments)

    before = data.in_child, shelf.in_child
    data.in_child = shelf.in_child = at_once
    st.session_state.clear()
    try:
        yield data
    finally:
        data.in_child, shelf.in_child = before
        st.session_state.clear()


def hold(true: bool, what: str) -> None:
    if not true:
        raise Lie(what)


def try_recordings(home: Path, folder: Path, drawn, kind: str) -> None:
    """What Data, Train and the desk do with an upload; the loader gives the same from a path."""
    import numpy as np

    from qpwl_core.data.inspection import remarks
    from qpwl_core.data.loading import load_recordings
    from qpwl_core.data.preprocessing import recipe_for
    from qpwl_core.data.splits import split
    from ui.library import elsewhere

    name = f"valid{files.ENDINGS[kind]}"
    content = (home / name).read_bytes()
    edits = {"npz": files.npz_edited, "csv": files.csv_edited, "edf": files.edf_edited, "fif": files.fif_edited}
    edit = edits[kind] if drawn.random() < 0.75 else files.bytes_edited
    rate = drawn.choice((None, None, 20.0)) if kind in ("npz", "csv") else None
    content = edit(content, drawn)
    with of_the_page() as page:
        data = page.take_upload(io.BytesIO(content), name, rate)
        found = page.recordings_for(data)
        hold(page.split_of(data) is not None if len(found.people) > 1 else True, "no split")
        page.training_problem(data)
    hold(all(x.ndim == 2 and len(x) and np.isfinite(x).all() for x in found.sequences), "values are not finite")
    hold(len(found.subjects) == len(found) and 0 < found.rate < 1e7, "names or rate do not hold")
    (folder / name).write_bytes(content)
    again = load_recordings(folder / name, rate=rate, max_bytes=256 * 2**20)
    hold(again.subjects.tolist() == found.subjects.tolist() or kind in ("edf", "fif"), "a path gives other recordings")
    found.summary(), remarks(found)
    alone = len(found.people) == 1               # a file of one person: the desk takes it, nobody splits it
    learn = found if alone else split(found).train
    for domain in ("generic", "eeg" if alone else "gait"):
        recipe = elsewhere.fitted(recipe_for(domain), learn)
        seen = elsewhere.applied(recipe, found.select(index=[0]))
        hold(all(np.isfinite(x).all() for x in seen.sequences), f"the {domain} recipe gives values that are not finite")
    if found.channels == ("a", "b") and not alone:
        use_model(home / "model", found)


def use_model(folder: Path, people) -> None:
    """Embed and evaluate, as the command line does."""
    import numpy as np
    import torch

    from qpwl_core.evaluation.evaluate import evaluate_distances
    from qpwl_core.models.model import load_model

    model = load_model(folder)
    seen = model.embed(people)
    hold(bool(torch.isfinite(seen.values).all()), "an embedding is not finite")
    distances = model.distances(seen)
    hold(bool(np.isfinite(distances).all()), "a distance is not finite")
    results, _ = evaluate_distances(distances, seen.subjects, seen.sources)
    hold(0 <= results["verification"]["1"]["auc"] <= 1, "an AUC is no AUC")


def try_model(home: Path, folder: Path, drawn, kind: str) -> None:
    """What Train does with an uploaded model, and the pages with one that is there."""
    import numpy as np

    from qpwl_core.models.gallery import load_gallery
    from ui.library import elsewhere, shelf
    from ui.library.models import _entry
    from ui.train.models import facts_of

    place = folder / "model"
    shutil.copytree(home / "model", place)
    if kind == "zip":
        brought = [("model.zip", io.BytesIO(files.zip_of(place, drawn)))]
    else:
        files.model_edited(kind, place, drawn)
        for entry in _entry(place, "uploaded"):              # it may lie there, too
            _ = entry.title, entry.method_title, entry.has_gallery, facts_of(entry)
        brought = [(name, io.BytesIO((place / name).read_bytes())) for name in files.MODEL
                   if (place / name).exists()]
    with of_the_page():
        kept = shelf.add_model(brought, folder / "runs", ["Shipped"])
    place = kept.folder
    for entry in _entry(place, "uploaded"):
        hold("uploaded" in entry.title and entry.kind == "uploaded", "an upload does not say that it is one")
        _ = entry.method_title, entry.has_gallery, facts_of(entry)
    if (place / "gallery.safetensors").exists():
        gallery = load_gallery(place)
        hold(gallery.p >= 1 and (np.diff(gallery.levels) > 0).all(), "p or levels do not hold")
        for part in ("test", "calibration"):
            if (gallery.parts == part).any():
                held = gallery.part(part)
                hold(bool(np.isfinite(held.distances()).all()), "a distance is not finite")
                for measure, found in elsewhere.distances_by_each(held, drawn.choice((None, 1, 7)), 2.0, True).items():
                    hold(bool(np.isfinite(found).all()), f"{measure} is not finite")
    use_model(place, files.recordings())


def try_checkpoint(home: Path, folder: Path, drawn, kind: str) -> None:
    """Resume a run whose checkpoint was edited."""
    from qpwl_core.training.loop import train

    run = folder / "run"
    shutil.copytree(home / "run", run)
    for name in ("model.safetensors", "card.json"):
        (run / name).unlink(missing_ok=True)
    path = run / drawn.choice(("checkpoint.safetensors",) * 4 + ("config.json", "metrics.jsonl"))
    content = path.read_bytes()
    if path.suffix == ".json":
        content = json.dumps(files.json_edited(json.loads(content), drawn)).encode("utf-8", "surrogatepass")
    elif path.suffix == ".safetensors" and drawn.random() < 0.75:
        content = files.tensors_edited(content, drawn)
    else:
        content = files.bytes_edited(content, drawn)
    path.write_bytes(content)
    *_, last = train(files.config(), files.recordings(), run, resume=True)
    hold(last.model is not None and last.step == 4, "a run that was resumed did not end where it should")


def try_desk(home: Path, folder: Path, drawn, kind: str) -> None:
    """Open a database, look, decide, enrol, export."""
    import numpy as np

    from qpwl_core.desk.database import Desk
    from qpwl_core.desk.space import space_of
    from qpwl_core.models.model import load_model

    model = load_model(home / "model")
    space = space_of(model)
    path = folder / f"{space.model[:16]}.sqlite"
    shutil.copy(home / "valid.sqlite", path)
    files.desk_edited(path, drawn)
    desk, seen = Desk(folder, space), model.embed(files.recordings().select(index=[0, 30]))
    enrolled = desk.enrolled()
    hold(bool(np.isfinite(enrolled.values.numpy()).all()), "an embedding is not finite")
    if enrolled.names:
        hold(bool(np.isfinite(desk.decide(seen.values, space.model, 1.0).distances).all()), "a distance is not finite")
    desk.people(), desk.log_csv()
    desk.enrol("somebody new", seen.values, space.model)
    hold("somebody new" in [person.name for person in desk.people()], "who was enrolled is not there")


EXERCISES = dict.fromkeys(files.ENDINGS, try_recordings) | dict.fromkeys(
    ("safetensors", "card", "gallery", "zip"), try_model) | {"checkpoint": try_checkpoint, "desk": try_desk}


def fuzz(cases: int, seed: int, home: Path, say=lambda text: print(text, flush=True)) -> list[dict]:
    """Run cases seed, seed + 1, …; returns what came of each."""
    files.make(home)
    done: list[dict] = []
    for first in range(seed, seed + cases, BATCH):
        seeds = list(range(first, min(first + BATCH, seed + cases)))
        try:
            done += in_child(run_batch, str(home), seeds, seconds=4 * BATCH * SECONDS, memory=MEMORY)
        except ChildError:                       # one of them ended the process: which?
            for each in seeds:
                try:
                    done += in_child(run_batch, str(home), [each], seconds=12 * SECONDS, memory=MEMORY)
                except ChildError as error:
                    kind = files.KINDS[each % len(files.KINDS)]
                    done.append({"seed": each, "kind": kind, "verdict": "ended", "note": str(error), "seconds": 0.0})
        for case in done[-len(seeds):]:
            if case["verdict"] not in ("refused", "accepted"):
                say(f"{case['seed']} {case['kind']} {case['verdict']}: {case['note']}")
        if len(done) % 1000 < BATCH:
            print(f"{len(done)} cases", file=sys.stderr, flush=True)
    return done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first case; the next has the next")
    parser.add_argument("--only", type=int, help="this case alone")
    args = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="qpwl-fuzz-") as home:
        if args.only is not None:
            args.cases, args.seed = 1, args.only
        done = fuzz(args.cases, args.seed, Path(home))
    if args.only is not None:
        print(json.dumps(done[0], indent=1))
    count = Counter((case["kind"], case["verdict"]) for case in done)
    for kind in files.KINDS:
        print(f"{kind:12}", ", ".join(f"{number} {verdict}" for (of, verdict), number in sorted(count.items())
                                     if of == kind))
    bad = [case for case in done if case["verdict"] not in ("refused", "accepted")]
    print(f"{len(done)} cases from seed {args.seed} in {time.monotonic() - started:.0f} s, the longest "
          f"{max(case['seconds'] for case in done):.1f} s; {len(bad)} that should not be")
    return 1 if bad else 0


if __name__ == "__main__":
    from scripts import fuzz as by_its_name  # another process must find its functions

    sys.exit(by_its_name.main())
