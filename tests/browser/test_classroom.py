"""Forge the lecturer in real browsers: the lecturer signs, a phone tries, the projector shows it by itself."""

import os
from pathlib import Path

import numpy as np
import pytest

from tests.support.browser import until_still
from tests.support.classroom import running_class
from tests.support.client import COOKIE
from tests.support.drawings import loops
from tests.support.replay import draw

pytestmark = pytest.mark.browser
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
PICTURES = os.environ.get("QPWL_PICTURES")           # a folder to photograph into


@pytest.fixture
def room(tmp_path):
    with running_class(tmp_path / "class") as running:
        yield running


def opened(browser, room, cookie, path, **options):
    context = browser.new_context(**({"viewport": {"width": 1024, "height": 768}} | options))
    if cookie:
        context.add_cookies([{"name": COOKIE, "value": cookie, "url": room.address}])
    page = context.new_page()
    page.set_default_timeout(90_000)
    page.goto(room.address + path)
    return page, context.new_cdp_session(page)


def strokes(seed, slower=1.0):
    return [np.column_stack([part[:, 0] / 1000, part[:, 1:]]) for part in loops(seed, slower)]


def photographed(page, name):
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


def test_the_lecturer_signs_a_phone_tries_and_the_projector_shows_it(browser, room):
    outside, _ = opened(browser, room, None, f"/join/{room.secrets['join']}", **PHONE)
    photographed(outside, "join")
    outside.locator("input").fill("Ada <b>")
    outside.get_by_role("button").click()
    outside.locator("h1").wait_for()
    until_still(outside, 90)
    lecturer, pen = opened(browser, room, room.lecturer(), "/classroom")
    lecturer.get_by_text("Here: 1 visitor").wait_for()
    until_still(lecturer, 90)
    photographed(lecturer, "door")
    lecturer.get_by_text("Forge the lecturer").click()
    lecturer.locator("canvas.ink").wait_for()
    until_still(lecturer)
    for seed in range(3):
        draw(lecturer, pen, strokes(seed))
        lecturer.locator("button.done").click()
        lecturer.get_by_text(f"({seed + 1} so far").wait_for()
        until_still(lecturer)
    photographed(lecturer, "signed")
    lecturer.locator(".st-key-forge_me button").click()
    lecturer.get_by_text("Nobody has tried yet").wait_for()

    outside.goto(f"{room.address}/classroom")
    finger = outside.context.new_cdp_session(outside)
    outside.locator("canvas.ink").wait_for()
    until_still(outside, 90)
    assert outside.locator("button.watch").is_visible(), "the lecturer let it be watched"
    draw(outside, finger, strokes(9, slower=2.5), touch=True)
    outside.locator("button.done").click()
    outside.get_by_text("times the line").first.wait_for()
    until_still(outside)
    photographed(outside, "tried")
    lecturer.get_by_text("1 try by 1 person").wait_for()          # without a touch
    until_still(lecturer)
    assert "Ada <b>" in lecturer.locator('[data-testid="stMain"]').inner_text()
    photographed(lecturer, "projector")
    text = (room.folder / "runs" / ".game" / "tries.jsonl").read_text()
    assert '"times"' in text
    assert "strokes" not in text

    outside.reload()
    outside.get_by_role("button", name="Forget me").click()
    outside.locator(".st-key-class_forget button").click()
    outside.get_by_text("ask the lecturer for the link").wait_for()
    assert "Ada" not in (room.folder / "runs" / ".game" / "tries.jsonl").read_text()
    lecturer.locator(".st-key-forge_end button").click()
    lecturer.get_by_text("Sign a few times").wait_for()
    assert not (room.folder / "runs" / ".game").exists()
    for page in (outside, lecturer):
        page.context.close()
