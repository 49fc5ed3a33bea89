"""Report in a real browser."""

import pytest


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_in_a_browser(smoke, browser, scheme):
    out, _ = smoke
    problems = []
    page = browser.new_page(viewport={"width": 1400, "height": 1000}, color_scheme=scheme)
    page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda r: None if r.url.startswith(("file://", "data:", "blob:")) else problems.append(r.url))
    page.goto((out / "report.html").as_uri())
    page.locator(".plot").last.locator(".main-svg").first.wait_for(timeout=60_000)
    drawn, wanted = page.locator(".plot:has(.main-svg)").count(), page.locator("figure").count()
    assert drawn == wanted == 2 + 3 * 6 + 3 + 1 + 4         # four curves: over M, p, people learned from, enrolled
    assert page.locator("figcaption", has_text="trials per repeat").count() == 3 * 6 + 3
    assert page.get_by_role("heading", name="Gait · HAPT").is_visible()
    colour = page.evaluate("getComputedStyle(document.querySelector('.plot .xtick text')).fill")
    assert (sum(int(x) for x in colour[4:-1].split(",")) > 380) == (scheme == "dark"), "text can be read"
    assert (out / "report.html").read_text().count("plotly.js v") == 1
    page.close()
    assert not problems
