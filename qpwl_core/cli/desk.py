"""enrol, identify, verify: the enrolment desk."""

from __future__ import annotations

import json
from pathlib import Path

from qpwl_core.cli.registry import MODEL, argument, command, load_data, set_threads

DESK = argument("--desk", metavar="DIR", help="folder of the databases, or postgresql://user@host/database (QPWL_DESK, "
                                              "else desk/ of the project)")
THREADS = argument("--threads", type=int, help="of the CPU (all cores)")
WHOSE = argument("--subject", metavar="S", help="whose sequences to take, where the data have several people")
WHICH = argument("--sequences", type=int, nargs="+", metavar="I", help="which of their sequences, counted from 0 (all)")
PRESENTED = (argument("--data", required=True, metavar="NAME|PATH", help="what is presented: a file or a data set"),
             WHOSE, WHICH,
             argument("--fmr", type=float, metavar="F", help="threshold for this share of strangers let in (0.1)"),
             argument("--threshold", type=float, metavar="T", help="or this very distance"),
             argument("--json", action="store_true", help="print the decision as JSON"), DESK, THREADS)


@command(MODEL, argument("--name", help="of the person to enrol"),
         argument("--data", metavar="NAME|PATH", help="their recordings: a file or a data set"), WHOSE, WHICH,
         argument("--list", action="store_true", help="who is enrolled; enrols nobody"),
         argument("--remove", metavar="NAME", help="remove a person; the log keeps what was decided"), DESK, THREADS)
def enrol(args):
    """Enrol a person in the database of a model, list who is there, or remove someone."""
    if args.list + (args.remove is not None) + (args.name is not None or args.data is not None) != 1:
        raise ValueError("enrol wants --name with --data, or --list, or --remove")
    if args.list or args.remove is not None:
        _, desk = _desk(args)
        if args.remove is not None:
            name = desk.find(args.remove)
            desk.remove(name)
            print(f"{name} is removed")
            return
        for person in desk.people():
            print(f"{person.name}  {person.sequences} sequences  {person.added}  {person.origin}")
        return
    if args.name is None or args.data is None:
        raise ValueError("enrol wants both --name and --data")
    from qpwl_core.desk.names import checked_name

    checked_name(args.name)                                  # before the work
    model, desk = _desk(args, create=True)
    origin = " ".join(filter(None, (Path(args.data).name, args.subject)))
    person = desk.enrol(args.name, _embedded(args, model, enrol=True), desk.space.model, origin)
    print(f"{person.name} is enrolled with {person.sequences} sequences in {desk.where}")


@command(MODEL, *PRESENTED)
def identify(args):
    """Who is it? Accepted as the nearest enrolled person, or rejected; the first 5 sequences are presented."""
    _decide(args, None)


@command(MODEL, argument("--name", required=True, help="who they claim to be"), *PRESENTED)
def verify(args):
    """Is it the person they claim to be? The first 5 sequences are presented."""
    _decide(args, args.name)


def _decide(args, claimed):
    from qpwl_core.desk.decisions import MOST

    if args.fmr is not None and args.threshold is not None:
        raise ValueError("give --fmr or --threshold, not both")
    model, desk = _desk(args)
    if claimed is not None:
        claimed = desk.find(claimed)
    people = desk.people()
    if not people:
        raise ValueError(f"nobody is enrolled with this model in {desk.where}")
    presented = _embedded(args, model)
    left = len(presented) - MOST
    presented = presented[:MOST]
    note = "set by hand"
    threshold = args.threshold
    if threshold is None:
        calibration = _calibration(args, len(presented), people, claimed)
        threshold, note = calibration.threshold, calibration.note
    decision = desk.decide(presented, desk.space.model, threshold, claimed)
    if args.json:
        print(json.dumps({
            "kind": decision.kind, "claimed": claimed, "accepted": decision.accepted, "person": decision.person,
            "distance": decision.distance, "threshold": decision.threshold, "n": decision.n, "copies": decision.copies,
            "enrolled": decision.enrolled, "pruned": decision.pruned,
            "ladder": [{"name": name, "distance": float(d)}
                       for name, d in zip(decision.names, decision.distances, strict=True)],
            "threshold_note": note}, ensure_ascii=False))
        return
    print(decision.verdict)
    sign = "<=" if decision.accepted else ">"
    print(f"distance {decision.distance:.6g} {sign} threshold {threshold:.6g}, n = {decision.n}, "
          f"{len(people)} enrolled; {note}")
    for name, distance in list(zip(decision.names, decision.distances, strict=True))[:5]:
        print(f"  {distance:12.6g}  {name}")
    if decision.pruned:
        print(f"{decision.pruned:.1%} of the enrolled sequences are farther away by a bound, and were not compared")
    if left > 0:
        print(f"{MOST} sequences were presented, {left} more are in the data: choose with --sequences")
    if decision.copies:
        print(f"{decision.copies} of them are enrolled themselves: that is no fair match")


def _desk(args, create=False):
    """The model, and its desk in the folder."""
    from qpwl_core.common.paths import desk_place
    from qpwl_core.desk.database import Desk
    from qpwl_core.desk.space import space_of
    from qpwl_core.models.model import load_model

    set_threads(args.threads)
    model = load_model(args.model)
    return model, Desk(args.desk or desk_place(), space_of(model), create)


def _embedded(args, model, enrol=False):
    """The embeddings of what was chosen of the data: one person's sequences, or a forger's, which nobody enrols."""
    from qpwl_core.common.text import shown

    recordings = load_data(args.data)
    people = recordings.people
    if args.subject is None and len(people) > 1:
        raise ValueError(f"--subject must say whose sequences of {shown(args.data)} to take; there are "
                         f"{', '.join(people[:20])}{', …' if len(people) > 20 else ''}")
    if args.subject is None or args.subject in people:
        recordings = recordings.genuine()
    if args.subject is not None:
        recordings = recordings.select(subjects=args.subject)
    if enrol and recordings.is_forgery.any():
        raise ValueError(f"--subject must be a person with genuine sequences, and {shown(args.subject)} only imitates "
                         "others: a forgery is never enrolled")
    if args.sequences is not None:
        if not all(0 <= i < len(recordings) for i in args.sequences) or len(set(args.sequences)) < len(args.sequences):
            raise ValueError(f"--sequences must be different numbers from 0 to {len(recordings) - 1}")
        recordings = recordings.select(index=args.sequences)
    return model.embed(recordings).values


def _calibration(args, n, people, claimed):
    """The threshold for a false match rate, set on the calibration people beside the model."""
    import numpy as np

    from qpwl_core.common.paths import model_folder
    from qpwl_core.desk.calibration import DEFAULT_FMR, calibrate
    from qpwl_core.models.gallery import load_gallery

    if not (model_folder(args.model) / "gallery.safetensors").exists():
        raise ValueError("there are no calibration people beside this model to set a threshold on: give --threshold")
    part = load_gallery(args.model).part("calibration")
    if not len(part):
        raise ValueError("the gallery of this model has no calibration people to set a threshold on: give --threshold")
    return calibrate(part.distances(), part.subjects, DEFAULT_FMR if args.fmr is None else args.fmr, n=n,
                     enrolled=1 if claimed is not None else len(people),
                     sequences=int(np.median([person.sequences for person in people])), sources=part.sources)
