"""Start the app as `streamlit run app.py` does, and load what pages need once one stands: `python -m ui.serve`.

Home needs neither PyTorch nor pandas; loaded earlier, they would keep its server from answering for a second. What
Home itself needs is loaded once the server answers, while the browser still reads Streamlit's own files.
"""

from __future__ import annotations

import importlib
import socket
import sys
import threading
import time
from pathlib import Path

HOME = ("ui.library.totals", "ui.home.page", "ui.home.first_look", "ui.library.data", "safetensors.numpy",
        "numpy.random", "PIL.Image", "streamlit.material_icon_names")
HEAVY = ("torch", "pandas", "plotly.graph_objects", "qpwl_core.transport.distances", "qpwl_core.models.model",
         "qpwl_core.desk.database", "ui.quantile_layer.page", "ui.distances.page", "ui.filters.page",
         "ui.matching.verification_page", "ui.sign.page", "ui.train.page", "ui.data.page", "ui.results.page",
         "ui.matching.identification_page", "ui.desk.page", "ui.lessons.page")
PATIENCE, PAUSE = 1.5, 0.02     # seconds: a browser draws the first page; between two imports others have their turn


def load(at_once: bool = False) -> None:
    """Import what Home needs and, once a page was shown, the others; who wants it meanwhile waits for the same import.

    ``at_once``: for a class, whose server is up before anybody comes, with all the processes that it will have.
    """
    from streamlit import runtime

    from ui.shell.navigation import app_has_run

    while not runtime.exists() or runtime.get_instance().state.name == "INITIAL":
        time.sleep(PAUSE)                        # components are made known to the server that is there
    for name in HOME:
        importlib.import_module(name)
    if not at_once:
        app_has_run.wait()
        time.sleep(PATIENCE)
    for name in HEAVY:
        importlib.import_module(name)
        time.sleep(PAUSE)
    if at_once:
        from qpwl_core.common.bounds import CHILDREN
        from qpwl_core.common.child import warm

        warm(CHILDREN)


def send_at_once() -> None:
    """Let what the server sends leave at once, by ``TCP_NODELAY`` on the socket that it listens on.

    Streamlit 1.67 makes that socket itself, in a way for which asyncio leaves Nagle's algorithm on: the second part of
    every answer then waits for a receipt of the first, 40 ms for each of the sixty files that a browser reads first.
    """
    import uvicorn

    startup = uvicorn.Server.startup

    async def at_once(self, sockets: list[socket.socket] | None = None) -> None:
        for each in sockets or ():
            if each.family in (socket.AF_INET, socket.AF_INET6):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)        # those that it accepts inherit it
        await startup(self, sockets)

    uvicorn.Server.startup = at_once


def main() -> None:
    from qpwl_core.common.memory import reserve_little

    reserve_little()
    from streamlit.web.cli import main as streamlit

    from ui.shell.navigation import always_framed

    always_framed()
    send_at_once()
    threading.Thread(target=load, name="load", daemon=True).start()
    sys.argv[1:] = ["run", str(Path(__file__).parents[1] / "app.py"), *sys.argv[1:]]
    streamlit(prog_name="streamlit")


if __name__ == "__main__":
    main()
