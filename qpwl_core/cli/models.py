"""train, embed, evaluate: one model."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from qpwl_core.cli.registry import DEVICE, MODEL, THREADS, argument, command, load_data, people_of, set_threads
from qpwl_core.common.text import quoted
from qpwl_core.data.domains import DOMAINS


@command(argument("--data", required=True, metavar="NAME|PATH", help="a data set (its training people) or a file"),
         argument("--domain", choices=DOMAINS, help="preprocessing (what the data say)"),
         argument("--method", help="qp-wl, qp-npl, mp-npl, qp-cls, jaeger-2019, … (qp-wl)"),
         argument("--preset", choices=("quick", "paper"), help="where all other options start from (quick)"),
         argument("--out", required=True, metavar="DIR", help="folder of the run, and of the model in the end"),
         argument("--resume", action="store_true", help="go on with the run in DIR, with the options it has"),
         argument("--tune", type=int, metavar="TRIES", help="first search penalty, learning rate and N"),
         argument("--points", type=int, metavar="M", help="levels of the quantile layer"),
         argument("--p", type=float, metavar="P", help="order of the Wasserstein distance"),
         argument("--pairs", type=int, metavar="N", help="people in a batch, two sequences each"),
         argument("--iterations", type=int, metavar="I", help="steps of the optimiser"),
         argument("--seed", type=int, metavar="S", help="the same seed gives the same weights (0)"),
         argument("--device", help="auto, cpu, cuda, cuda:1, mps (auto)"),
         argument("--filters", type=int, metavar="K", help="filters of a layer"),
         argument("--layers", type=int, help="convolutions"),
         argument("--kernel", type=int, help="samples that a convolution sees, odd"),
         argument("--dilation", type=int, help="of the convolutions"),
         argument("--stride", type=int, help="of the first convolution"),
         argument("--batch-norm", action=argparse.BooleanOptionalAction, help="after each convolution"),
         argument("--multi-class", action=argparse.BooleanOptionalAction, help="form of the Wasserstein loss"),
         argument("--both-ways", action=argparse.BooleanOptionalAction, help="each of a pair is the anchor once"),
         argument("--learning-rate", type=float, help="the largest of the schedule"),
         argument("--penalty", type=float, help="weight of the regulariser on PReLU slopes"),
         argument("--crop", type=float, metavar="SECONDS", help="of a sequence that a batch sees; 0 is all"),
         argument("--pieces", type=int, metavar="N", help="from all over the sequence, that a crop is made of (1)"),
         argument("--channel-dropout", type=float, metavar="FRACTION", help="of the channels that a batch hides"),
         argument("--pyramid", metavar="S+S", help="of qp-wl-pyramid: pieces of each storey (1+2+4)"),
         argument("--fixed-weights", action=argparse.BooleanOptionalAction,
                  help="of the pieces of a pyramid, else learned"),
         argument("--forgeries", type=int, metavar="F", help="of each person in a batch, as negatives of that person"),
         argument("--one-threshold", action=argparse.BooleanOptionalAction,
                  help="in a loss on pairs, the negatives of all are those of each"),
         argument("--forgery-weight", type=float, metavar="W", help="a forgery counts like so many others (1)"),
         argument("--device-copies", type=int, metavar="C", help="of each sequence, as another device records it"),
         argument("--day-copies", type=int, metavar="C", help="of each sequence, as on another day"),
         argument("--recipe", dest="options", action="append", default=[], metavar="NAME=VALUE",
                  help="an option of the preprocessing, as whiten=false or compress=3; may be given again"),
         argument("--validate-every", type=int, metavar="STEPS", help="and write a checkpoint"),
         argument("--patience", type=int, metavar="TIMES", help="validations without a better one before it stops"),
         argument("--validation", type=float, metavar="FRACTION", help="of the people to validate on"),
         argument("--threads", type=int, help="of the CPU (all cores)"))
def train(args):
    """Train a model; only what is given overrides the preset."""
    from qpwl_core.cli.progress import say, show_progress
    from qpwl_core.training.loop import train as training

    set_threads(args.threads)
    recordings, validation = learning_people(args.data, args.validation)
    config = config_of(args, recordings)
    out = Path(args.out)
    try:
        if args.tune is not None and not (out / "config.json").exists():
            config = tuned(config, recordings, validation, args.tune, out)
            args.resume = False
        last = show_progress(training(config, recordings, out, args.resume, validation))
    except KeyboardInterrupt:
        again = "add --resume to the command" if (out / "config.json").exists() else "give the same command again"
        say(f"qpwl_core: stopped; what was reached is kept in {out}: to go on, {again}", sys.stderr)
        raise
    record = last.model.card["training"]
    say(f"{out}: {config.method} after {last.step} steps, best validation AUC {last.best_auc:.4f}, "
        f"{record['seconds']:g} s on {record['device']}")


def learning_people(data, fraction):
    """Of a registered set its training and validation people; of a file, or with a fraction given, all, and None."""
    from qpwl_core.data.datasets import DATASETS

    if data not in DATASETS or fraction is not None:
        return people_of(data, "train", "validation"), None
    return people_of(data, "train"), people_of(data, "validation")


def config_of(args, recordings):
    """The Config of a run: of the one in the folder if that is resumed, else of the preset; and what was given."""
    from dataclasses import fields, replace

    from qpwl_core.common.files import read_json
    from qpwl_core.data.datasets import DATASETS
    from qpwl_core.models.config import Config, preset
    from qpwl_core.training.tuning import TUNED

    given = {f.name: getattr(args, f.name) for f in fields(Config) if getattr(args, f.name, None) is not None}
    stored = Path(args.out) / "config.json"
    if args.resume and not args.preset and stored.exists():
        if args.tune is not None:                                        # the search has found these
            given = {name: value for name, value in given.items() if name not in TUNED}
        config = Config.from_dict(read_json(stored))
        return replace(config, **given, recipe=config.recipe | recipe_options(args.options))
    domain = given.pop("domain", None) or recordings.info.get("domain")
    if not domain:
        raise ValueError("--domain must say which preprocessing the recordings need, as they do not: "
                         f"{', '.join(DOMAINS)}")
    config = preset(args.preset or "quick", domain, **given)
    options = dict(DATASETS[args.data].recipe_options) if args.data in DATASETS else {}
    return replace(config, recipe=config.recipe | options | recipe_options(args.options))


def recipe_options(given: list[str]) -> dict:
    """Options of the preprocessing from the command line, values as in JSON; a word needs no quotes.

    >>> recipe_options(["whiten=false", "baseline=mean", "band=[5, 40]"])
    {'whiten': False, 'baseline': 'mean', 'band': [5, 40]}
    """
    import json

    options = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not sign:
            raise ValueError(f"--recipe must be NAME=VALUE, not {quoted(each)}")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value
    return options


def tuned(config, recordings, validation, tries, out):
    """The best Config of a search, which is shown."""
    from qpwl_core.cli.progress import say
    from qpwl_core.training.tuning import tune

    table, best = tune(config, recordings, tries, out=out, progress=say, validation=validation)
    say(table.to_string(index=False))
    return best


@command(MODEL, argument("--data", required=True, metavar="NAME|PATH", help="a data set or a file, all its people"),
         argument("--out", required=True, metavar="FILE", help="the .npz or .safetensors file to write"),
         DEVICE, THREADS)
def embed(args):
    """Embed all sequences of a data set or file.

    The file has values, (n, K, M+2) quantile functions or (n, E) vectors, levels (M+2,) where there are any, subjects,
    stimuli and imitates where they are named, and sources, the number of the recording each was cut from: arrays in a
    .npz file; in a .safetensors file names are in "facts" of its metadata, as JSON.
    """
    from qpwl_core.common.files import write_arrays, write_tensors
    from qpwl_core.models.model import load_model
    from qpwl_core.training.devices import device_of

    out = Path(args.out)
    if out.suffix not in (".npz", ".safetensors"):
        raise ValueError(f"--out must name a .npz or .safetensors file, not {quoted(args.out)}")
    set_threads(args.threads)
    embeddings = load_model(args.model, device_of(args.device)).embed(load_data(args.data))
    assert embeddings.sources is not None, "embed says what each was cut from"
    arrays = {"values": embeddings.values.numpy(), "sources": embeddings.sources}
    if embeddings.levels is not None:
        arrays["levels"] = embeddings.levels.numpy()
    named = {"subjects": embeddings.subjects, "stimuli": embeddings.stimuli, "imitates": embeddings.imitates}
    names = {what: each for what, each in named.items() if each is not None}
    if out.suffix == ".npz":
        write_arrays(out, arrays | names)
    else:
        write_tensors(out, arrays, {what: each.tolist() for what, each in names.items()})
    print(f"{out}: {len(embeddings)} embeddings {tuple(embeddings.values.shape[1:])} of "
          f"{len(set(embeddings.subjects.tolist()))} subjects")


@command(MODEL, argument("--data", required=True, metavar="NAME|PATH", help="a data set (its test people) or a file"),
         argument("--json", metavar="FILE", help="write the results here, too"),
         argument("--seed", type=int, default=0, help="of the draws of observed sequences (0)"), DEVICE, THREADS)
def evaluate(args):
    """Verification, identification and imposters as in the paper, on people that the model has never seen."""
    from qpwl_core.common.files import write_json
    from qpwl_core.evaluation.evaluate import evaluate_model
    from qpwl_core.models.model import load_model
    from qpwl_core.training.devices import device_of

    set_threads(args.threads)
    results, notes = evaluate_model(load_model(args.model, device_of(args.device)), people_of(args.data, "test"),
                                    args.seed)
    if args.json:
        write_json(Path(args.json), results)
    for note in notes:
        print(note)
    for n, row in results["verification"].items():
        print(f"verification    n = {n}     AUC {row['auc']:.4f} ± {row['se']:.4f}  EER {row['eer']:.4f}")
    for row in results["identification"]:
        print(f"identification  {row['fraction']:4.0%}      accuracy {row['accuracy']:.4f} ± {row['se']:.4f}")
    for row in results["imposters"]:
        print(f"imposters       {row['fraction']:4.0%}      AUC {row['auc']:.4f} ± {row['se']:.4f}")
    for where in ("within", "across"):
        for n, row in results.get(f"{where}_sessions", {}).items():
            print(f"{where} sessions n = {n}     AUC {row['auc']:.4f} ± {row['se']:.4f}  EER {row['eer']:.4f}")
    for row in results.get("forgeries", ()):
        print(f"forgeries       E = {row['enrolled']:<2}    EER random {row['random_eer']:.4f}  skilled "
              f"{row['skilled_eer']:.4f}  mixed {row['mixed_eer']:.4f}{'  normalised' if row['normalised'] else ''}")
