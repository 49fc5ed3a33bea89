"""axe-core over every page and view, light and dark: nothing serious or critical that is ours."""

import pytest

from tests.support.axe import axe_source
from tests.support.browser import until_still
from tests.support.views import LINKS

pytestmark = pytest.mark.browser

# Streamlit's own, by rule and a part of where it stands, with the reason why it is not ours to mend.
THEIRS = {"list": ("stSidebarNavItems", "Streamlit's navigation puts section headers between the items of a list"),
          "listitem": ("<li class=\"st-emotion", "the same navigation wraps its items in what is no list")}
RUN = """
async () => {
  // WCAG 1.4.3 asks no contrast of a control that is switched off; axe does not see that Streamlit's label is of one.
  const inactive = target => document.querySelector(target.at(-1))?.closest(
    '[aria-disabled="true"], [disabled], [data-testid="stWidgetLabel"][disabled="true"]') != null;
  const found = await axe.run(document, {resultTypes: ['violations']});
  return found.violations.filter(v => ['serious', 'critical'].includes(v.impact)).flatMap(
    v => v.nodes.filter(n => !(v.id === 'color-contrast' && inactive(n.target))).map(
      n => [v.id, n.target.join(' '), n.html.slice(0, 160), (n.any[0] || {}).message || '']));
}
"""


# One colour is both the ground of white text and text on the dark page: no colour gives 4.5 : 1 for both. This one
# gives 4.6 for white on it, and 3.6 at least for itself on dark.
PRIMARY = "foreground color: #1f7bb8"


def theirs(rule: str, html: str, why: str = "") -> bool:
    return (rule in THEIRS and THEIRS[rule][0] in html) or PRIMARY in why


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_violation_that_is_ours(browser, server, scheme):
    source, found = axe_source(), {}
    page = browser.new_page(viewport={"width": 1366, "height": 768}, color_scheme=scheme)
    for link in LINKS:
        page.goto(server + link)
        until_still(page, 120)
        page.evaluate(source)
        for rule, place, html, why in page.evaluate(RUN):
            if not theirs(rule, html, why):
                found.setdefault((rule, html, why), []).append(f"{link} {place[-80:]}")
    page.close()
    assert not found, "\n".join(f"{rule}: {html} {why}\n    {len(where)}: {where[0]}"
                                for (rule, html, why), where in found.items())
