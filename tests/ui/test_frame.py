"""The frame around a page that a link leads to before anything else was asked of the server."""

import asyncio

import pytest

from tests.support.browser import serving_app
from tests.support.classroom import running_class
from tests.support.client import Client


@pytest.mark.parametrize("kind", ["alone", "class"])
def test_the_first_link_leads_through_the_frame(tmp_path, kind):
    """Seen: two visitors at a server that had just come up; a name typed by one was lost with the bare page."""
    async def first(address, cookie=None):
        async with Client(address, cookie) as client:
            await client.open("desk")
            assert client.started == 1, "the page had to start again"
            assert "desk" in client.pages
            await client.act(client.find("text_input", "Name"), "Zebulon")
            await client.act(client.find("button", "Enrol"))
            assert "Zebulon is enrolled with" in client.text

    if kind == "alone":
        with serving_app(QPWL_DESK=str(tmp_path / "desk"), QPWL_RUNS=str(tmp_path / "runs")) as (address, _):
            asyncio.run(first(address))
    else:
        with running_class(tmp_path / "class") as room:
            asyncio.run(first(room.address, room.join("Ann")))
