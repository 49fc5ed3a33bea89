"""Screenshots of every page and view, light and dark, on a phone, a projector and a laptop: `make screenshots`.

    python -m scripts.screenshots             all views into screenshots/, which git does not keep
    python -m scripts.screenshots --readme    the five that the README shows, into docs/, each below 300 kB
    python -m scripts.screenshots --only filters distances
"""

import argparse
import re
import tempfile
from pathlib import Path

import numpy as np

from tests.support.browser import chromium, serving, until_still
from tests.support.drawings import loops
from tests.support.places import ROOT
from tests.support.replay import draw
from tests.support.views import AUDIENCE, LINKS, SIZES

README = {"sign": "light", "quantile_layer": "light", "filters": "dark", "distances": "light", "verification": "light"}
WIDTH, HEIGHT = 1400, 1000
PATIENCE = 180            # seconds that a busy machine may take
LARGEST = 300_000         # bytes of a picture in the README


def shoot(browser, address: str, name: str, scheme: str, path: Path) -> None:
    """What a screen shows of one page, into one file."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme, reduced_motion="reduce")
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(f"{address}/{name}")
    until_still(page, PATIENCE)
    if name == "sign":
        sign(page)
    page.screenshot(path=path, animations="disabled")
    page.close()


def shoot_all(browser, address: str, link: str, folder: Path) -> None:
    """All that there is of one view, in every size, light and dark: loaded once per size."""
    name = re.sub(r"[^a-z0-9]+", "-", link.lower().replace("present=true", "presenter")).strip("-") or "home"
    page = browser.new_page(reduced_motion="reduce")
    page.set_default_timeout(1000 * PATIENCE)
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.goto(address + link)
        until_still(page, PATIENCE)
        # Streamlit scrolls inside the page, so the window grows to what there is; an audience sees one screen.
        whole = page.evaluate("() => document.querySelector('[data-testid=\"stMain\"]').scrollHeight") + 20
        page.set_viewport_size({"width": width, "height": height if link in AUDIENCE else max(whole, height)})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(700)             # colours change over some time
            until_still(page, PATIENCE)
            page.screenshot(path=folder / f"{name}.{size}.{scheme}.png", animations="disabled")
    page.close()
    print(name, flush=True)


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
    parser.add_argument("--only", nargs="+", default=[], help="only links with one of these in them")
    options = parser.parse_args()
    folder = ROOT / ("docs" if options.readme else "screenshots")
    folder.mkdir(exist_ok=True)
    wanted = [link for link in (README if options.readme else LINKS + AUDIENCE)
              if not options.only or any(part in link for part in options.only)]
    with tempfile.TemporaryDirectory() as home, chromium() as browser, serving(
            ROOT / "app.py", QPWL_RUNS=f"{home}/runs", QPWL_DESK=f"{home}/desk") as (address, _):
        first = browser.new_page()
        first.goto(address)            # app.py must have run once, or a page opens without its frame
        until_still(first, PATIENCE)
        for link in wanted:
            if options.readme:
                shoot(browser, address, link, README[link], folder / f"{link}.png")
                smaller(folder / f"{link}.png")
            else:
                shoot_all(browser, address, link, folder)


if __name__ == "__main__":
    main()
