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


def theirs(rule: str, html: str) -> bool:
    return rule in THEIRS and THEIRS[rule][0] in html


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_violation_that_is_ours(visit, scheme):
    source, found, page = axe_source(), {}, visit("/", scheme, width=1366, height=768)
    home = "/".join(page.url.split("/", 3)[:3])
    for link in LINKS:
        page.goto(home + link)
        until_still(page, 120)
        page.evaluate(source)
        for rule, place, html, why in page.evaluate(RUN):
            if not theirs(rule, html):
                found.setdefault((rule, html, why), []).append(f"{link} {place[-80:]}")
    assert not found, "\n".join(f"{rule}: {html} {why}\n    {len(where)}: {where[0]}"
                                for (rule, html, why), where in found.items())
