"""study and compare: the paper's table and figures; models side by side."""

from __future__ import annotations

import sys
from pathlib import Path

from qpwl_core.cli.registry import DEVICE, THREADS, argument, command, people_of, set_threads


@command(argument("--preset", choices=("quick", "smoke"), default="quick",
                  help="quick: the real sets (an hour or two on two cores); smoke: a minute on what ships"),
         argument("--sets", nargs="+", metavar="SET", help="instead of those of the preset"),
         argument("--methods", nargs="+", metavar="METHOD", help="instead of those of the preset"),
         argument("--seeds", nargs="+", type=int, metavar="S", help="of splits, trainings and draws (0 1)"),
         argument("--out", default="results", metavar="DIR", help="for cells, report, CSV and JSON (results)"),
         argument("--data", default="../shared/data", metavar="DIR", help="raw recordings (../shared/data)"),
         argument("--jobs", type=int, metavar="J", help="cells at a time (as many as cores)"),
         argument("--threads", type=int, metavar="T", help="of a cell (cores divided by jobs)"),
         argument("--dask", metavar="ADDRESS", help="run the cells on the Dask cluster of this scheduler"),
         argument("--report-only", action="store_true", help="train nothing; report the cells that are there"),
         argument("--results", metavar="FILE", help="write the results page, too (RESULTS.md)"),
         argument("--ship", metavar="DIR", help="copy the models that ship there (models)"))
def study(args):
    """Train and test methods × data sets × seeds, and report; what is there already is not made again."""
    from qpwl_core.study.cells import folder_of
    from qpwl_core.study.report import write_report
    from qpwl_core.study.runner import run
    from qpwl_core.study.sets import cells_of
    from qpwl_core.study.shipping import ship

    cells, failures = cells_of(args.preset, args.sets, args.methods, args.seeds), []
    if not args.report_only:
        try:
            failures = run(cells, args.out, args.data, args.jobs, args.threads, args.dask)
        except KeyboardInterrupt:
            print("qpwl_core: stopped; to go on where it stopped, give the same command again", file=sys.stderr)
            raise
    there = [cell for cell in cells if folder_of(cell, args.out).is_dir()]
    if there:
        for path in write_report(there, Path(args.out), _command(args), args.results):
            print(path)
    elif not failures:
        raise ValueError(f"{args.out} holds no cell of this study: leave --report-only out to make them")
    if args.ship and there:
        shipped = ship(there, args.out, args.ship)
        size = sum(file.stat().st_size for folder in shipped for file in folder.iterdir()) / 1e6
        print(f"{args.ship}: {len(shipped)} models, {size:.1f} MB")
    if failures:
        raise ValueError(f"{len(failures)} of {len(cells)} cells failed: {'; '.join(failures)}")


def _command(args) -> str:
    """What would make the same cells again."""
    given = {name: getattr(args, name) for name in ("sets", "methods", "seeds") if getattr(args, name)}
    return f"python -m qpwl_core study --preset {args.preset}" + "".join(
        f" --{name} {' '.join(map(str, values))}" for name, values in given.items())


@command(argument("models", nargs="+", metavar="MODEL", help="folders, or names of models that ship; two or more"),
         argument("--data", metavar="NAME|PATH", help="a data set (its test people) or a file; without, the galleries"),
         argument("--json", metavar="FILE", help="write the results here, too"),
         argument("--seed", type=int, default=0, help="of the draws of observed sequences (0)"), DEVICE, THREADS)
def compare(args):
    """Several models on the same people and the same draws, and how sure their differences are."""
    from qpwl_core.common.files import write_json
    from qpwl_core.evaluation.comparison import compare_models, table
    from qpwl_core.training.devices import device_of

    set_threads(args.threads)
    recordings = None if args.data is None else people_of(args.data, "test")
    results = compare_models(args.models, recordings, args.seed, device_of(args.device))
    if args.json:
        write_json(Path(args.json), results)
    print(table(results))
