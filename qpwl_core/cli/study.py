"""study and compare: the paper's table and figures; models side by side."""

from __future__ import annotations

import sys
from pathlib import Path

from qpwl_core.cli.registry import DEVICE, THREADS, argument, command, people_of, set_threads


@command(argument("--preset", choices=("quick", "smoke"), default="quick",
                  help="quick: the real sets (some 13 hours of one core; --list says how much is left); "
                       "smoke: a minute on what ships"),
         argument("--parts", nargs="+", metavar="PART",
                  help="of the study: tries main added recipes points orders enough paper (all; of smoke, main)"),
         argument("--sets", nargs="+", metavar="SET", help="instead of those of the preset"),
         argument("--methods", nargs="+", metavar="METHOD", help="instead of those of the preset"),
         argument("--seeds", nargs="+", type=int, metavar="S", help="of splits, trainings and draws"),
         argument("--variants", nargs="+", metavar="V", help="exactly these of cells, such as points-4 or try-3"),
         argument("--tune", action="store_true", help="only the tries of the tuning: the same as --parts tries"),
         argument("--list", action="store_true", help="train nothing; say how many cells there are, how many are done, "
                                                      "and how long the rest takes"),
         argument("--out", default="results", metavar="DIR", help="for cells, report, CSV and JSON (results)"),
         argument("--data", default="../shared/data", metavar="DIR", help="raw recordings (../shared/data)"),
         argument("--jobs", type=int, metavar="J", help="cells at a time (as many as cores)"),
         argument("--threads", type=int, metavar="T", help="of a cell (cores divided by jobs)"),
         argument("--dask", metavar="ADDRESS", help="run the cells on the Dask cluster of this scheduler"),
         argument("--replace", action="store_true", help="make cells anew that were trained with other settings than "
                                                         "they have now, such as before another tuning"),
         argument("--report-only", action="store_true", help="train nothing; report the cells that are there"),
         argument("--no-report", action="store_true", help="only make the cells"),
         argument("--results", metavar="FILE", help="write the results page, too (RESULTS.md)"),
         argument("--ship", metavar="DIR", help="copy the models that ship there (models)"))
def study(args):
    """Train and test methods × data sets × splits, and report; what is there already is not made again."""
    from qpwl_core.study.cells import folder_of
    from qpwl_core.study.plan import planned
    from qpwl_core.study.record import record_path
    from qpwl_core.study.report import write_report
    from qpwl_core.study.shipping import ship

    parts = ("tries",) if args.tune else tuple(args.parts or ()) or None
    plan = lambda: planned(args.preset, parts, args.sets, args.methods, args.seeds, args.variants)
    cells, failures = plan(), []
    if args.variants:
        for cell in cells:
            _ = cell.config                                  # says what is wrong with a variant
    if args.list:
        _print_list(cells, args.out)
        return
    if not args.report_only:
        try:
            failures = _run(plan, args)
        except KeyboardInterrupt:
            print("qpwl_core: stopped; to go on where it stopped, give the same command again", file=sys.stderr)
            raise
    cells = plan()                                           # as they are tuned now
    there = [cell for cell in cells if record_path(cell.name, args.out).exists() or folder_of(cell, args.out).is_dir()]
    if any(not cell.variant for cell in there) and not args.no_report:
        for path in write_report(there, Path(args.out), _command(args), args.results):
            print(path)
    elif not there and not failures:
        raise ValueError(f"{args.out} holds no cell of this study: leave --report-only out to make them")
    if args.ship and there:
        shipped = ship(there, args.out, args.ship)
        size = sum(file.stat().st_size for folder in shipped for file in folder.iterdir()) / 1e6
        print(f"{args.ship}: {len(shipped)} models, {size:.1f} MB")
    if failures:
        raise ValueError(f"{len(failures)} of {len(cells)} cells failed: {'; '.join(failures)}")


def _run(plan, args) -> list[str]:
    """Make the cells of a plan: the tries first, since they say which go on, and these what the others train with."""
    from qpwl_core.study.cells import drop_outdated
    from qpwl_core.study.plan import settle, stage_of
    from qpwl_core.study.runner import run
    from qpwl_core.study.shipping import first_that_ship

    failures = []
    for number in range(3):
        stage = [cell for cell in plan() if stage_of(cell) == number]        # finals are known once tries are judged
        if args.replace:
            for name in drop_outdated(stage, args.out):
                print(f"{name}: its settings are others now, it is made anew")
        if stage:
            folders = first_that_ship(stage) if args.ship else []
            failures += run(stage, args.out, args.data, args.jobs, args.threads, args.dask,
                            frozenset(cell.name for cell in folders))
        if args.preset == "quick":
            settle(args.out)
    return failures


def _print_list(cells, out) -> None:
    from qpwl_core.study.plan import TITLES, listing

    rows = listing(cells, out)
    print(f"{'part':28} {'set':20} {'cells':>6} {'done':>6} {'core minutes left':>18}")
    for row in rows:
        print(f"{TITLES[row['part']]:28} {row['set']:20} {row['cells']:6} {row['done']:6} {row['minutes']:18.0f}")
    total = [sum(row[name] for row in rows) for name in ("cells", "done", "minutes")]
    print(f"{'in all':28} {'':20} {total[0]:6} {total[1]:6} {total[2]:18.0f}")


def _command(args) -> str:
    """What would make the same cells again."""
    given = {name: getattr(args, name) for name in ("parts", "sets", "methods", "seeds", "variants")
             if getattr(args, name)}
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
