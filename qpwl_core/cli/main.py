"""The command line: ``python -m qpwl_core <command>``. A command is one function of a module beside this one.

Exit code 0 only on success. An error is one line on stderr and exit code 2; Ctrl-C gives 130, a closed pipe 141.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path

from qpwl_core.cli import data, desk, models, study  # noqa: F401  (a module registers its commands)
from qpwl_core.cli.registry import COMMANDS, check_options, said_range
from qpwl_core.common.plugins import add_plugins
from qpwl_core.common.text import sentence


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {sentence(message)} (--help shows the arguments)\n")


def parser() -> Parser:
    """The parser of all commands."""
    called = "qpwl" if Path(sys.argv[0]).stem == "qpwl" else "python -m qpwl_core"
    top = Parser(prog=called, description="QP-WL Lab: tell people apart by how their signals distribute")
    top.add_argument("--plugin", action="append", default=[], metavar="FILE",
                     help="a Python file of yours that adds methods or data sets; it is executed; may be given again")
    chosen = top.add_subparsers(dest="command", required=True, metavar="command")
    for name, (run, arguments) in COMMANDS.items():
        assert run.__doc__, "the docstring of a command is its help"
        sub = chosen.add_parser(name, help=run.__doc__.splitlines()[0], description=run.__doc__)
        for names, options in arguments:
            stated = said_range(names[0].lstrip("-").replace("-", "_")) if options.get("type") else ""
            sub.add_argument(*names, **options | {"help": options.get("help", "") + stated})
    return top


def main(argv=None) -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")    # a terminal that cannot show µ shows \xb5
    try:
        args = parser().parse_args(argv)
        add_plugins(args.plugin)
        check_options(args)
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
    print("qpwl_core:", sentence(text, 1000), file=sys.stderr)
    return 2


def _discard_output():
    """Send what is still to be written to nowhere, else Python complains once more when it ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)

