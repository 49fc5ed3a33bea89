"""Real browsers in a class under load (`class_load.py --browsers 10`): what people see, with all that a page draws.

Each is a profile of its own in Chromium, with its own cookies, cache and processes, and comes to its first page with
nothing in its cache, one after another, before the class begins ("first"). Then each opens page after page by the menu,
every fourth by its link, and touches something on each twice. An act is over when the script has run and what it
changed is drawn: the time is that of the last change of the page. They would have machines of their own; here they and
the server have the same right to the same cores. Without a graphics card an act takes Chromium half a second of a core,
an opening by link a whole one, so each does something every fifteen seconds, one after another: at a student's pace ten
of them would only measure each other.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time

from tests.support.browser import LAUNCH, STILL, WATCH
from tests.support.classroom import Class
from tests.support.client import COOKIE

SIZE, EVERY, FIRST = {"width": 1024, "height": 768}, 15.0, "verification"
# what a person may touch on any page without changing who is enrolled or what is trained
TOUCH = '[data-testid="stMain"] [role="slider"]:visible, [data-testid="stMain"] button[role="radio"]:visible'


async def still(page, timeout: float = 60) -> float:
    """When the page changed last, once its script has run and nothing changes any more."""
    await page.evaluate(WATCH)
    found = await page.wait_for_function(STILL, timeout=timeout * 1000, polling=100)
    return await found.json_value() / 1000


async def begin(page) -> float:
    return await page.evaluate("() => window.lastChange = performance.now()") / 1000


async def opened(page, address: str, at: str, by_link: bool) -> float:
    """Open a page: seconds until it stands."""
    if by_link:
        await page.goto(f"{address}/{at}")
        return await still(page)                       # the browser's clock starts with the navigation
    start = await begin(page)
    await page.evaluate("at => [...document.querySelectorAll('[data-testid=\"stSidebarNavLink\"]')]"
                        ".find(link => new URL(link.href).pathname === '/' + at).click()", at)
    return await still(page) - start


async def touched(page, chance: random.Random) -> float | None:
    """Turn or press something: seconds until the page is as it will be; None where there is nothing."""
    able = await page.locator(TOUCH).all()
    if not able:
        return None
    one = chance.choice(able)
    slides = await one.get_attribute("role") == "slider"
    start = await begin(page)
    if slides:
        await one.focus()
        await page.keyboard.press(chance.choice(["ArrowLeft", "ArrowRight"]))
    else:
        await one.evaluate("it => it.click()")
    return await still(page) - start


async def arrive(room: Class, browser, number: int, told: dict):
    """A browser with the app open."""
    cookie = await asyncio.to_thread(room.join, f"browser {number}")
    context = await browser.new_context(viewport=SIZE)
    await context.add_cookies([{"name": COOKIE, "value": cookie, "url": room.address}])
    page = await context.new_page()
    await page.goto(f"{room.address}/{FIRST}")
    told["first"].append((time.monotonic(), await still(page, 120), FIRST, ""))
    return page


async def person(room: Class, page, number: int, options, until: float, told: dict, pages: list[str]) -> None:
    chance = random.Random(7000 + 1000 * options.seed + number)
    pages, step, at = chance.sample(pages, len(pages)), chance.randrange(12), FIRST
    page.on("pageerror", lambda error: told["errors"].append(f"browser {number} at {at}: {str(error)[:200]}"))
    await asyncio.sleep(EVERY * number / options.browsers)
    while time.monotonic() < until:
        begun, took, kind = time.monotonic(), None, "seen act"
        try:
            if step % 3:
                took = await touched(page, chance)
            if took is None:
                at, kind = pages[(step // 3) % len(pages)], "seen open"
                took = await opened(page, room.address, at, step % 12 == 0)
            told[kind].append((time.monotonic(), took, at, ""))
            if await page.locator('[data-testid="stException"]').count():
                raise RuntimeError("an exception on the page")
        except Exception as error:
            told["errors"].append(f"browser {number} at {at or 'home'}: {type(error).__name__} {str(error)[:200]}")
            step = -1
        step += 1
        await asyncio.sleep(max(0.0, EVERY - (time.monotonic() - begun)))


@contextlib.asynccontextmanager
async def browsers(room: Class, count: int, told: dict):
    """So many real browsers in the class, one after another: yields their pages."""
    if not count:
        yield []
        return
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**LAUNCH)
        yield [await arrive(room, browser, i, told) for i in range(count)]
        await browser.close()
