"""Screenshots of every page, light and dark, once each is still: `make screenshots`.

    python -m scripts.screenshots             all pages into screenshots/, which git does not keep
    python -m scripts.screenshots --readme    the five that the README shows, into docs/, each below 300 kB
    python -m scripts.screenshots --only filters distances
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from tests.support.browser import chromium, serving, until_still
from tests.support.drawings import loops
from tests.support.places import ROOT
from tests.support.replay import draw

PAGES = ("home", "data", "quantile_layer", "train", "filters", "distances", "sign", "verification",
         "identification", "desk", "results")
README = {"sign": "light", "quantile_layer": "light", "filters": "dark", "distances": "light", "verification": "light"}
WIDTH, HEIGHT = 1400, 1000
PATIENCE = 180            # seconds that a busy machine may take
LARGEST = 300_000         # bytes of a picture in the README


def shoot(browser, address: str, name: str, scheme: str, path: Path, whole: bool) -> None:
    """One page into one file: as much as there is of it, or as much as a screen shows."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme, reduced_motion="reduce")
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(f"{address}/{'' if name == 'home' else name}")
    until_still(page, PATIENCE)
    if name == "sign":
        sign(page)
    if whole:             # Streamlit scrolls inside the page, so the window grows to what there is
        height = page.evaluate("() => document.querySelector('[data-testid=\"stMain\"]').scrollHeight")
        page.set_viewport_size({"width": WIDTH, "height": height + 20})
        until_still(page, PATIENCE)
    page.screenshot(path=path, animations="disabled")
    page.close()


def sign(page) -> None:
    """Five drawings of ours, and a sixth on the pad: nobody's signature is ever in a picture."""
    session = page.context.new_cdp_session(page)
    for number in range(1, 7):
        draw(page, session, [np.column_stack([part[:, 0] / 1000, part[:, 1:]]) for part in loops(number, wobble=0.06)])
        if number < 6:
            page.locator("button.done").click()
            page.get_by_text(f"{number} of 5 signatures").wait_for()
            until_still(page, PATIENCE)


def smaller(path: Path) -> None:
    """Draw a picture with 256 colours, which is enough for a page, so that it takes little room in git."""
    from PIL import Image

    Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    if path.stat().st_size > LARGEST:
        raise SystemExit(f"{path} has {path.stat().st_size} bytes, and the README takes at most {LARGEST}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readme", action="store_true", help="only the five pictures of the README, into docs/")
    parser.add_argument("--only", nargs="+", choices=PAGES, default=PAGES, help="only these pages")
    options = parser.parse_args()
    folder = ROOT / ("docs" if options.readme else "screenshots")
    folder.mkdir(exist_ok=True)
    wanted = [(name, README[name], folder / f"{name}.png") for name in README if name in options.only]
    if not options.readme:
        wanted = [(name, scheme, folder / f"{name}-{scheme}.png") for name in options.only
                  for scheme in ("light", "dark")]
    with tempfile.TemporaryDirectory() as home, chromium() as browser, serving(
            ROOT / "app.py", QPWL_RUNS=f"{home}/runs", QPWL_DESK=f"{home}/desk") as (address, _):
        first = browser.new_page()
        first.goto(address)            # app.py must have run once, or a page opens without its frame
        until_still(first, PATIENCE)
        for name, scheme, path in wanted:
            shoot(browser, address, name, scheme, path, whole=not options.readme)
            if options.readme:
                smaller(path)
            print(path.relative_to(ROOT), f"{path.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
