"""The glossary, on a projector: what a word means is said to whoever points at it."""

import re

import pytest

from tests.support.browser import until_still

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("link", "words"), [
    ("desk", {"threshold": "largest distance", "FMR": "false match rate"}),
    ("train", {"validation": "not learned from", "gallery": "held out"}),
    ("data", {"recipe": "before the network sees it"}),
    ("results", {"EER": "equal error rate", "n": "how many sequences"}),
    ("verification", {"FNMR": "false non-match rate", "genuine": "with themselves", "draw": "random choice"}),
    ("quantile_layer", {"Q̂": "staircase", "Q̃": "lines in place", "Q̄": "keeps of"})])
def test_a_word_is_explained_to_whoever_points_at_it(visit, link, words):
    page = visit(f"/{link}", width=1024, height=768)
    page.get_by_role("heading").first.wait_for()
    until_still(page)
    for word, meaning in words.items():
        page.get_by_test_id("stMain").get_by_test_id("stBadge").or_(page.get_by_test_id("stMarkdownBadge")).or_(
            page.locator(".stMarkdownBadge")).get_by_text(word, exact=True).first.hover()
        page.get_by_role("tooltip").or_(page.get_by_test_id("stTooltipContent")).get_by_text(
            re.compile(meaning)).first.wait_for()
        page.mouse.move(5, 5)
