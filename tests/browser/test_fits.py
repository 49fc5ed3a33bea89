"""Every page and view at three sizes: no text or number is cut, no control is outside, nothing scrolls sideways."""

import pytest

from tests.support.browser import until_still
from tests.support.views import LINKS, SIZES

pytestmark = pytest.mark.browser

# What may be wider than its place: a select box shows as much of its value as there is room for, and all of it when it
# is opened; tables, grids and code scroll in themselves; on a phone long formulas do, too.
CUT = """
formulas => {
  const main = document.querySelector('[data-testid="stMain"]'), found = [], edge = main.getBoundingClientRect();
  const says = box => (box.innerText || box.getAttribute('aria-label') || '').replace(/\\s+/g, ' ').slice(0, 60);
  if (main.scrollWidth > main.clientWidth + 1) found.push(`the page scrolls sideways: ${main.scrollWidth}`);
  let inside = '[data-testid="stTable"], [data-testid="stDataFrame"], [data-testid="stCode"], ' +
    '[data-baseweb="select"], ' +
    '[data-testid="stPlotlyChart"], [data-testid="stMultiSelect"], [data-testid="stSelectbox"], .katex-mathml, ' +
    '[data-testid="stTooltipIcon"], [data-testid="stFileUploader"], [role="slider"], input, textarea, svg';
  if (formulas) inside += ', .katex-display, [data-testid="stMarkdownContainer"]:has(.katex-display)';
  for (const box of main.querySelectorAll('*')) {
    if (!box.checkVisibility() || box.closest(inside)) continue;
    const place = box.getBoundingClientRect(), style = getComputedStyle(box);
    if (place.width < 3 || place.height < 3 || style.position === 'absolute') continue;
    if (['BUTTON', 'LABEL', 'P', 'H1', 'H2', 'H3', 'H4', 'H5'].includes(box.tagName)
        && (place.right > edge.left + main.clientWidth + 1 || place.left < edge.left - 1))
      found.push(`outside: ${box.tagName} ${says(box)}`);
    if (style.overflowX !== 'visible' && box !== main && box.clientWidth
        && box.scrollWidth > box.clientWidth + (box.closest('.katex-display') ? 8 : 1))     // KaTeX rounds up
      found.push(`cut: ${box.tagName} ${says(box)} (${box.scrollWidth} of ${box.clientWidth})`);
  }
  return [...new Set(found)];
}
"""


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_cut(visit, size):
    width, height = SIZES[size]
    found, page = {}, visit("/", width=width, height=height)
    home = "/".join(page.url.split("/", 3)[:3])
    for link in LINKS:
        page.goto(home + link)
        until_still(page, 120)
        if problems := page.evaluate(CUT, size == "phone"):
            found[link] = problems
    assert not found, "\n".join(f"{link}: {'; '.join(problems)}" for link, problems in found.items())
