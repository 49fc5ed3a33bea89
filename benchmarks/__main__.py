"""Run every benchmark of this folder, print one table, and exit 1 when a floor is missed.

    python -m benchmarks                          all of them
    python -m benchmarks distances                those of one file
    python -m benchmarks --json FILE              and keep the figures; those of other benchmarks stay in the file
    python -m benchmarks --compare FILE           and print what got slower than those figures by more than the noise

`benchmarks/figures.json` has the figures that were last kept. A benchmark is a module with ``run() -> list[dict]``; a
row has ``what``, ``measured``, ``reference``, ``ratio``, its ``noise``, ``floor`` (text such as ">= 0.9"), ``ok``, and
what is timed repeats until its noise is smaller than its margin. Each module runs in a separate process, so that none
warms, fills or slows another.
"""

import argparse
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import benchmarks

COLUMNS = ("what", "measured", "reference", "ratio", "noise", "floor", "ok")
UNKNOWN = 0.15           # relative noise of a row that does not know its own


def table(rows: list[dict]) -> str:
    shown = [[str(row.get(column, "")) if column != "ok" else ("yes" if row["ok"] else "NO") for column in COLUMNS]
             for row in rows]
    shown.insert(0, list(COLUMNS))
    widths = [max(len(line[i]) for line in shown) for i in range(len(COLUMNS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in shown]
    return "\n".join(line.rstrip() for line in lines)


def slower(rows: list[dict], before: list[dict]) -> list[str]:
    """What got worse than before by more than the noise of both; rows are known by what they measure."""
    kept, found = {row["what"]: row for row in before}, []
    for row in rows:
        if row["what"] not in kept:
            continue
        now, then = float(row["ratio"]), float(kept[row["what"]]["ratio"])
        noise = sum(float(each.get("noise") or UNKNOWN * float(each["ratio"])) for each in (row, kept[row["what"]]))
        worse = then - now if str(row["floor"]).startswith(">=") else now - then
        if worse > noise:
            found.append(f"slower: {row['what']}: {now:.3g}, and it was {then:.3g} (noise {noise:.2g})")
    return found


def merged(kept: list[dict], rows: list[dict]) -> list[dict]:
    """The rows that were measured, and of other benchmarks those that were kept, benchmark by benchmark."""
    measured = {row["benchmark"] for row in rows}
    return sorted([row for row in kept if row["benchmark"] not in measured] + rows,
                  key=lambda row: row["benchmark"])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--compare", type=Path, metavar="FILE")
    args = parser.parse_args(arguments)
    wanted, before = args.names, json.loads(args.compare.read_text()) if args.compare else []
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
        rows += [{"benchmark": name, **row} for row in json.loads(done.stdout.splitlines()[-1])]
    print(table(rows))
    if args.json:
        kept = json.loads(args.json.read_text()) if args.json.exists() and wanted else []
        args.json.write_text(json.dumps(merged(kept, rows), indent=1, ensure_ascii=False) + "\n")
    found = slower(rows, before)
    print("\n".join(found) or "nothing got slower" if args.compare else "", end="\n" if args.compare else "")
    return int(failed or bool(found) or not all(row["ok"] for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
