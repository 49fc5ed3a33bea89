"""The command line: ``python -m qpwl_core <command>``. A command is one function below, with its arguments above it.

Exit code 0 only on success. An error is one line on stderr and exit code 2; Ctrl-C gives 130, a closed pipe 141.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path

COMMANDS = {}


def command(*arguments):
    """Register a function as the command of its name, its docstring as help; ``arguments`` are made by argument()."""
    def register(run):
        COMMANDS[run.__name__] = (run, arguments)
        return run
    return register


def argument(*names, **options):
    """What argparse's add_argument takes."""
    return names, options


def load_data(name_or_path):
    """The Recordings of a registered data set, or else of a file or folder."""
    from qpwl_core.datasets import DATASETS, load_dataset
    from qpwl_core.recordings import load_recordings, shown

    if name_or_path in DATASETS:
        return load_dataset(name_or_path)
    if not os.path.exists(name_or_path):
        raise ValueError(f"{shown(name_or_path)} is neither a file nor a data set; there are {', '.join(DATASETS)}")
    return load_recordings(name_or_path)


@command()
def datasets(args):
    """List the data sets: what they are, their terms, and whether they are at hand."""
    from qpwl_core.datasets import datasets_table

    print(datasets_table().to_string(index=False))


@command(argument("domain", choices=("eye", "eeg"), help="eye: gaze and pupil, 30 Hz; eeg: 64 channels, 256 Hz"),
         argument("--out", required=True, metavar="FILE", help="the .npz or .csv file to write"),
         argument("--subjects", type=int, help="how many people (40)"),
         argument("--sequences", type=int, help="of each person (eye: 16 videos, eeg: 8 trials)"),
         argument("--seed", type=int, help="the same seed gives the same bytes (0)"))
def simulate(args):
    """Make simulated recordings, labelled as such."""
    from qpwl_core.simulate import SIMULATORS

    out = Path(args.out)
    if out.suffix not in (".npz", ".csv"):
        raise ValueError(f"--out must name a .npz or .csv file, not {args.out!r}")
    if not out.absolute().parent.is_dir():
        raise ValueError(f"--out is in a folder that does not exist: {str(out.parent)!r}")
    given = {name: getattr(args, name) for name in ("subjects", "sequences", "seed") if getattr(args, name) is not None}
    recordings = SIMULATORS[args.domain](**given)
    recordings.save(out)
    print(f"{out}: {recordings}, {out.stat().st_size / 1e6:.2f} MB")


@command(argument("data", metavar="PATH|NAME", help="a file or folder of recordings, or the name of a data set"))
def info(args):
    """Say what is in a file of recordings or a data set, person by person."""
    recordings = load_data(args.data)
    lengths = recordings.lengths
    facts = {
        **recordings.info,
        "subjects": len(set(recordings.subjects.tolist())), "sequences": len(recordings),
        "samples": f"{lengths.sum()} ({lengths.min()} to {lengths.max()} a sequence)",
        "rate": f"{recordings.rate:g} Hz", "channels": f"{len(recordings.channels)}: {' '.join(recordings.channels)}",
        "stimuli": "none" if recordings.stimuli is None else len(set(recordings.stimuli.tolist())),
    }
    for name, fact in facts.items():
        print(f"{name:10}  {fact}")
    print()
    print(recordings.summary().to_string(index=False, float_format="%.1f"))


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message} (--help shows the arguments)\n")


def parser() -> Parser:
    """The parser of all commands."""
    top = Parser(prog="python -m qpwl_core", description="QP-WL Lab: tell people apart by how their signals distribute")
    chosen = top.add_subparsers(dest="command", required=True, metavar="command")
    for name, (run, arguments) in COMMANDS.items():
        sub = chosen.add_parser(name, help=run.__doc__.splitlines()[0], description=run.__doc__)
        for names, options in arguments:
            sub.add_argument(*names, **options)
    return top


def main(argv=None) -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")    # a terminal that cannot show µ shows \xb5
    try:
        args = parser().parse_args(argv)
        COMMANDS[args.command][0](args)
        if sys.stdout is not None:
            sys.stdout.flush()
    except SystemExit as stop:                               # argparse has said what there is to say
        return int(stop.code or 0)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _discard_output()
        return 141
    except Exception as error:  # one line whatever went wrong, as scripts and clusters expect
        return _failed(error)
    return 0


def _failed(error) -> int:
    """Say in one line what went wrong."""
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    elif isinstance(error, ValueError):
        text = str(error)
    else:
        text = f"unexpected {type(error).__name__}: {error}"
    try:
        sys.stdout.flush()
    except (OSError, AttributeError):        # a full disk, a closed output: that may be the very error
        _discard_output()
    print("qpwl_core:", " ".join(text.split()), file=sys.stderr)
    return 2


def _discard_output():
    """Send what is still to be written to nowhere, else Python complains once more when it ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
