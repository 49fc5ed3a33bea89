"""Two app processes on different folders and one PostgreSQL: who is enrolled in one is decided upon in the other."""

import asyncio

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
