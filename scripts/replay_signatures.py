"""Real signatures replayed into the signing pad of a real browser: who gets in, and what the capture loses.

    python -m scripts.replay_signatures                     all held-out people of the shared files, mouse and touch
    python -m scripts.replay_signatures --people 4 --each 2

Each person's first five signatures of one session are signed on the page Sign, then their later ones, forgeries of them
and strangers' signatures try to get in, at the page's default line. Pointer events carry the recorded times. Figures
are printed, and kept in `scripts/REPLAY.md`.
"""

import argparse
import os
import tempfile
from pathlib import Path

from qpwl_core.common.files import read_json
from qpwl_core.models.model import load_model
from tests.support.browser import chromium, serving_app, until_still
from tests.support.places import ROOT, SHARED
from tests.support.replay import FILES, held_out, rates, replay_person

KEPT = Path(__file__).with_name("REPLAY.md")
FLOORS = {"genuine let in": ">= 90 %", "random sent away": ">= 95 %", "skilled sent away": ">= 75 %"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=1000, help="at most so many of each file")
    parser.add_argument("--each", type=int, default=5, help="tries of each kind per person")
    parser.add_argument("--model", default="signature-susig-qp-wl")
    options = parser.parse_args()
    folder = ROOT / "models" / options.model
    card, model = read_json(folder / "card.json"), load_model(folder)
    everyone = held_out(card, SHARED)
    found: dict[tuple[str, str], list[dict]] = {}
    with tempfile.TemporaryDirectory() as home, chromium() as browser, serving_app(
            QPWL_RUNS=f"{home}/runs", QPWL_DESK=f"{home}/desk") as (address, _):
        for touch in (False, True):
            context = browser.new_context(viewport={"width": 390, "height": 844} if touch else
                                          {"width": 1366, "height": 768}, has_touch=touch)
            page = context.new_page()
            page.set_default_timeout(60_000)
            page.goto(f"{address}/sign")
            until_still(page, 120)
            for prefix in FILES:
                people = [name for name in everyone if name.startswith(prefix)][:options.people]
                for i, name in enumerate(people):
                    recordings, subject = everyone[name]
                    others = [everyone[people[(i + k) % len(people)]] for k in range(1, options.each + 1)]
                    strangers = [of.sequences[(of.subjects == who).argmax()] for of, who in others if who != subject]
                    person = replay_person(page, touch, recordings, subject, strangers, options.each, model)
                    found.setdefault((prefix, "touch" if touch else "mouse"), []).append(person)
                    counts = {kind: sum(each) for kind, each in person.items() if kind != "captured"}
                    print(name, "touch" if touch else "mouse", counts, flush=True)
            context.close()
    print(table(found, card))
    KEPT.write_text(table(found, card))


def table(found: dict, card: dict) -> str:
    """The figures as Markdown."""
    columns = {f"{prefix}, {by}": people for (prefix, by), people in found.items()}
    columns["all"] = [person for people in found.values() for person in people]
    head = ["", *columns, "floor"]
    rows = [["people", *(str(len(people)) for people in columns.values()), ""]]
    of = {name: rates(people) for name, people in columns.items()}
    for measure in of["all"]:
        rows.append([measure, *(f"{100 * of[name][measure]:.1f} %" for name in columns),
                     FLOORS.get(measure, "<= 25 % (median)")])
    lines = [" | ".join(row) for row in (head, ["---"] * len(head), *rows)]
    return (f"# Signatures replayed into the signing pad\n\nModel {card['title']} ({card['sha256'][:8]}), by `python "
            "-m scripts.replay_signatures`: people whom the model neither learned from nor was calibrated on. Five of "
            "the first session are signed, then those of the second, forgeries and strangers' try, one signature each, "
            "at the page's default line; on a screen of 1366 px with a mouse, of 390 px by touch.\n\n"
            + "\n".join(f"| {line} |" for line in lines) + "\n")


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
