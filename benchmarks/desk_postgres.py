"""The same decision among 10,000 enrolled sequences on PostgreSQL and on SQLite, in turns: at most 1.5 times as long.

Both sync to disk. PostgreSQL is started here, in a folder of its own; where it is not installed there is no row.
"""

import tempfile

import torch

from benchmarks._timing import race_to, row
from qpwl_core.desk.database import Desk
from qpwl_core.desk.space import Space

PEOPLE, EACH, K, L, N, MOST = 500, 20, 64, 18, 5, 1.5


def run() -> list[dict]:
    from tests.support import postgres

    if postgres.programs() is None:
        return []
    random = torch.Generator().manual_seed(0)
    values = torch.randn(PEOPLE, EACH, K, L, generator=random).sort(-1).values
    presented = values[123, :N] + 0.01
    space = Space("0" * 64, "qp-wl", 1.0, tuple(torch.linspace(0, 1, L).tolist()), (K, L))
    with tempfile.TemporaryDirectory() as folder, postgres.cluster() as server:
        desks = Desk(folder, space), Desk(server.address, space)
        for i in range(PEOPLE):
            for desk in desks:
                desk.enrol(f"person {i}", values[i], space.model)
        decisions = [desk.decide(presented, space.model, 100.0) for desk in desks]
        assert decisions[0].names == decisions[1].names
        assert (decisions[0].distances == decisions[1].distances).all()
        on_sqlite, on_postgresql = ((lambda desk=desk: desk.decide(presented, space.model, 100.0)) for desk in desks)
        postgresql, sqlite, ratio, noise = race_to(MOST, on_postgresql, on_sqlite, at_least=False, rounds=9)
        desks[1].storage.engine.dispose()
    return [row(f"a decision on PostgreSQL, {PEOPLE * EACH} enrolled sequences, logged", f"{postgresql * 1e3:.0f} ms",
                f"SQLite {sqlite * 1e3:.0f} ms", ratio, MOST, at_least=False, noise=noise)]
