"""A class of two app processes behind nginx: everybody at one of them, and all of them on the same folders."""

import asyncio
import shutil
import time

import psutil
import pytest

from tests.support.classroom import running_class
from tests.support.client import Client, asked
from ui.visitors.classroom import OUTSIDE

pytestmark = pytest.mark.skipif(not shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin"),
                                reason="nginx is not installed (make test installs it as root)")


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    with running_class(tmp_path_factory.mktemp("class") / "class", 2) as running:
        yield running


def workers(room) -> list[psutil.Process]:
    return [each for each in psutil.Process(room.process.pid).children() if "streamlit" in " ".join(each.cmdline())]


def sockets(room) -> dict[int, int]:
    """Open web sockets from nginx by worker."""
    return {each.pid: sum(c.status == "ESTABLISHED" for c in each.net_connections("tcp")) for each in workers(room)}


def test_the_door_is_closed_and_large_things_are_refused_before_they_come_in(room):
    ann = room.join("Ann")
    assert asked(room.address, "/desk")[0] == 403
    assert OUTSIDE in asked(room.address, "/")[1]
    for path in ("/_stcore/metrics", "/_stcore/agent/openapi.json", "/_stcore/script-health-check"):
        assert asked(room.address, path, cookie=ann)[0] == 403
    huge = {"Content-Length": str(202 * 2**20)}
    assert asked(room.address, "/_stcore/upload_file/a/b", None, ann, "PUT", huge, b"x")[0] == 413
    assert "nginx/" not in asked(room.address, "/nowhere/at/all", cookie=ann)[2].get("Server", "")


def test_a_visitor_stays_at_one_and_is_taken_over_by_the_other(room):
    async def walk():
        cookies = [await asyncio.to_thread(room.join, f"student {i}") for i in range(12)]
        clients = [Client(room.address, cookie) for cookie in cookies]
        for client in clients:
            await client.__aenter__()
            await client.open("lessons")
        assert all(count for count in sockets(room).values()), "both have work"
        one = Client(room.address, cookies[0])
        async with one:
            before = sockets(room)
            async with Client(room.address, cookies[0]) as again:
                await again.open("desk")
                await again.act(again.find("button", "Enrol three people"))
                after = sockets(room)
        at = [pid for pid in before if after[pid] > before[pid]]
        assert len(at) == 1, (before, after)
        for client in clients:
            await client.__aexit__()
        psutil.Process(at[0]).kill()
        async with Client(room.address, cookies[0]) as taken_over:       # by the other, or by the one that comes again
            await taken_over.open("desk", timeout=60)
            assert "Enrolled: 3" in taken_over.text

    asyncio.run(walk())


def test_guessing_is_slowed_down_by_all_processes_together(tmp_path):
    """Whoever is asked, and whoever is killed meanwhile; the address is that of whoever knocks: neither nginx's own nor
    one that a header claims.

    In a class of its own: whoever guessed has to wait, with the right code, too.
    """
    from qpwl_core.common.bounds import CODE_EVERY, CODE_TRIES

    begun, told = time.monotonic(), []

    def guess(count: int) -> None:
        for _ in range(count):                     # a cookie of one's own choice decides which process is asked
            i = len(told)
            told.append(asked(room.address, f"/lecturer/{i}", cookie=f"{i}", source="127.0.0.6", headers=dict.fromkeys(
                ("X-Real-IP", "X-Forwarded-For", "Forwarded"), f"10.0.0.{i}"))[0])

    with running_class(tmp_path / "class", 2) as room:
        guess(13)
        for worker in workers(room):
            worker.kill()
        while any(asked(room.address, "/", cookie=f"{i}")[0] != 403 for i in range(8)):      # nginx says 502
            time.sleep(0.2)
        guess(13)
        assert told.count(403) <= CODE_TRIES + 1 + (time.monotonic() - begun) / CODE_EVERY, told
        assert told[12] == told[-1] == 429
        assert asked(room.address, f"/join/{room.secrets['join']}", source="127.0.0.7")[0] == 200, "others come in"
