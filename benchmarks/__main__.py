"""Run every benchmark of this folder, print one table, and exit 1 when a floor is missed.

    python -m benchmarks              all of them
    python -m benchmarks distances    those of one file

A benchmark is a module with ``run() -> list[dict]``; a row has ``what``, ``measured``, ``reference``, ``ratio``,
``floor`` (text such as ">= 0.9") and ``ok``. Each module runs in a separate process, so that none warms, fills or
slows another.
"""

import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import benchmarks

COLUMNS = ("what", "measured", "reference", "ratio", "floor", "ok")


def table(rows: list[dict]) -> str:
    shown = [[str(row.get(column, "")) if column != "ok" else ("yes" if row["ok"] else "NO") for column in COLUMNS]
             for row in rows]
    shown.insert(0, list(COLUMNS))
    widths = [max(len(line[i]) for line in shown) for i in range(len(COLUMNS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in shown]
    return "\n".join(line.rstrip() for line in lines)


def main(wanted: list[str]) -> int:
    names = [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.name.startswith("_")]
    if unknown := set(wanted) - set(names):
        print(f"no benchmark called {', '.join(sorted(unknown))}; there are: {', '.join(names)}", file=sys.stderr)
        return 2
    rows, failed = [], False
    for name in wanted or names:
        print(f"… {name}", file=sys.stderr, flush=True)
        code = f"import json; from benchmarks.{name} import run; print(json.dumps(run()))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                              cwd=Path(__file__).resolve().parent.parent)
        if done.returncode:
            print(done.stderr, file=sys.stderr)
            failed = True
            continue
        rows += json.loads(done.stdout.splitlines()[-1])
    print(table(rows))
    return int(failed or not all(row["ok"] for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
