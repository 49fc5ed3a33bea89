"""Kill the app's server with ``kill -9`` during 100 enrolments in a browser, and count what the database holds.

A browser enrols person after person at the desk and notes each that the page confirms. Every few enrolments the server
is killed at a random moment around a click on "Enrol", and started again. After each kill the database must open, hold
everyone who was confirmed on screen with all their sequences, and nobody by half.

    python -m scripts.kill_enrolments [--enrolments 100] [--kills 12] [--seed 0]
"""

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote_plus

from tests.support.browser import chromium, serving
from tests.support.places import ROOT

MODEL, DATA, SUBJECT = "gait-hapt-qp-wl", "gait-hapt-30", "02"


def link(address: str) -> str:
    """The desk with a person of a data set chosen, who is enrolled again and again under new names."""
    from qpwl_core.common.files import read_json
    from ui.library.data import title_of

    chosen = {"model": read_json(ROOT / "models" / MODEL / "card.json")["title"], "desk-from": "Data or file",
              "desk-new-data": title_of(DATA), "desk-new-subject": SUBJECT}
    return f"{address}/desk?" + "&".join(f"{key}={quote_plus(value)}" for key, value in chosen.items())


def click_enrol(page, name: str) -> None:
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    box = page.get_by_role("textbox", name="Name", exact=True)
    box.fill(name)
    box.press("Enter")
    page.locator(".st-key-desk-enrol button").click()


def confirmed_on_screen(page, name: str, seconds: float) -> bool:
    from playwright.sync_api import Error

    try:
        page.get_by_text(f"{name} is enrolled with", exact=False).wait_for(timeout=1000 * seconds)
    except Error:
        return False
    return True


def check(folder: Path, confirmed: list[str], kills: int) -> tuple[int, list[str]]:
    """How many people the database holds, and what is wrong with that."""
    from qpwl_core.desk.database import Desk
    from qpwl_core.desk.space import space_of_gallery
    from qpwl_core.models.gallery import load_gallery

    desk = Desk(folder, space_of_gallery(load_gallery(ROOT / "models" / MODEL)))
    people, enrolled = desk.people(), desk.enrolled()
    counts = {person.sequences for person in people}
    missing = set(confirmed) - {person.name for person in people}
    wrong = [f"{len(missing)} confirmed people are missing: {sorted(missing)}"] if missing else []
    if len(counts) > 1 or len(enrolled.values) != sum(person.sequences for person in people):
        wrong.append(f"someone is enrolled by half: {sorted(counts)} sequences")
    if len(people) > len(confirmed) + kills:
        wrong.append(f"{len(people)} people are enrolled, and {len(confirmed)} were confirmed")
    return len(people), wrong


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--enrolments", type=int, default=100)
    options.add_argument("--kills", type=int, default=12)
    options.add_argument("--seed", type=int, default=0)
    args = options.parse_args()
    chance, confirmed, wrong, begun, number, pace = random.Random(args.seed), [], [], time.monotonic(), 0, 1.0
    share = [args.enrolments * (i + 1) // args.kills for i in range(args.kills)]       # confirmed before each kill
    print(f"{'kill':>4}  {'confirmed':>9}  {'in the database':>15}  {'at the kill':13}  result")
    with tempfile.TemporaryDirectory() as home, chromium() as browser:
        for kill, goal in enumerate(share, start=1):
            with serving(ROOT / "app.py", QPWL_DESK=f"{home}/desk", QPWL_RUNS=f"{home}/runs",
                         OMP_NUM_THREADS="1") as (address, process):
                page = browser.new_page()
                page.set_default_timeout(120_000)
                page.goto(link(address), wait_until="commit", timeout=180_000)
                page.locator(".st-key-desk-enrol button").wait_for(timeout=180_000)
                while len(confirmed) < goal - 1:
                    number += 1
                    click_enrol(page, f"person {number:04}")
                    clicked = time.monotonic()
                    if not confirmed_on_screen(page, f"person {number:04}", 120):
                        raise SystemExit(f"person {number} was not confirmed within two minutes")
                    confirmed.append(f"person {number:04}")
                    pace = time.monotonic() - clicked                # from the click to the confirmation
                number += 1
                click_enrol(page, f"person {number:04}")
                time.sleep(chance.uniform(0, 1.2 * pace))
                os.kill(process.pid, 9)
                process.wait()
                seen = confirmed_on_screen(page, f"person {number:04}", 0.5)
                confirmed += [f"person {number:04}"] * seen
                page.close()
            count, found = check(Path(home) / "desk", confirmed, kill)
            wrong += found
            print(f"{kill:4}  {len(confirmed):9}  {count:15}  {'confirmed' if seen else 'not confirmed':13}  "
                  f"{'; '.join(found) or 'all there, no half'}", flush=True)
    print(f"{number} enrolments, {len(confirmed)} confirmed on screen, {args.kills} kills, "
          f"{time.monotonic() - begun:.0f} s: {'FAILED' if wrong else 'nothing lost'}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
