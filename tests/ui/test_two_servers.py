"""Two app processes on different folders and one PostgreSQL: who is enrolled in one is decided upon in the other."""

import asyncio
import signal

from qpwl_core.desk.storage import _postgres, people_in, storages_of
from tests.support.browser import serving_app
from tests.support.client import Client


def test_an_enrolment_in_one_is_decided_upon_in_the_other(postgres, tmp_path):
    address = postgres.new_database()
    place = {"QPWL_DESK": address}
    with serving_app(QPWL_RUNS=str(tmp_path / "one"), **place) as (here, _), \
            serving_app(QPWL_RUNS=str(tmp_path / "two"), **place) as (there, _):

        async def play():
            async with Client(here) as first, Client(there) as second:
                await first.open("desk")
                await second.open("desk")
                assert "Nobody is enrolled" in second.text
                await first.act(first.find("button", "Enrol three people"))
                await second.open("desk")
                await second.act(second.find("button", "Present"))
                assert not first.errors + second.errors
                return second.text

        said = asyncio.run(play())
    assert "Accepted as" in said or "Rejected" in said
    desk, = storages_of(address)
    assert len(people_in(desk)) == 3
    _postgres(address).dispose()


def test_what_was_confirmed_outlives_a_killed_server_and_a_killed_database(postgres, tmp_path):
    address = postgres.new_database()
    place = {"QPWL_DESK": address, "QPWL_RUNS": str(tmp_path / "one")}

    async def enrolled(at):
        async with Client(at) as client:
            await client.open("desk")
            await client.act(client.find("button", "Enrol three people"))
            assert "Three people are enrolled" in client.text

    async def looked(at):
        async with Client(at) as client:
            await client.open("desk")
            assert not client.errors
            return client.text

    with serving_app(QPWL_DESK=address, QPWL_RUNS=str(tmp_path / "two")) as (there, _):
        with serving_app(**place) as (here, process):
            asyncio.run(enrolled(here))
            process.kill()
        assert "Enrolled: 3" in asyncio.run(looked(there))
        postgres.stop(signal.SIGKILL)
        try:
            assert "cannot be reached" in asyncio.run(looked(there))
        finally:
            postgres.start()
        assert "Enrolled: 3" in asyncio.run(looked(there))
        with serving_app(**place) as (again, _):
            assert "Enrolled: 3" in asyncio.run(looked(again))
    _postgres(address).dispose()
