"""study: the paper's table and figures."""

from __future__ import annotations

import sys
from pathlib import Path

from qpwl_core.commands import argument, command


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
         argument("--ship", metavar="DIR", help="copy the models that ship there (models)"))
def study(args):
    """Train and test methods × data sets × seeds; what is there already is not made again."""
    from qpwl_core.study.runner import run
    from qpwl_core.study.sets import cells_of
    from qpwl_core.study.shipping import ship

    cells = cells_of(args.preset, args.sets, args.methods, args.seeds)
    try:
        failures = run(cells, args.out, args.data, args.jobs, args.threads, args.dask)
    except KeyboardInterrupt:
        print("qpwl_core: stopped; to go on where it stopped, give the same command again", file=sys.stderr)
        raise
    if args.ship:
        shipped = ship(cells, args.out, args.ship)
        size = sum(file.stat().st_size for folder in shipped for file in folder.iterdir()) / 1e6
        print(f"{args.ship}: {len(shipped)} models, {size:.1f} MB")
    if failures:
        raise ValueError(f"{len(failures)} of {len(cells)} cells failed: {'; '.join(failures)}")
    print(f"{Path(args.out)}: {len(cells)} cells")
