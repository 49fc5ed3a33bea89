"""Start the app as `streamlit run app.py` does, and meanwhile load what every page needs: `python -m ui.serve`.

A browser takes a second to fetch Streamlit itself before it asks for a page; PyTorch is loaded by then.
"""

from __future__ import annotations

import importlib
import sys
import threading
from pathlib import Path

HEAVY = ("torch", "pandas", "plotly.graph_objects")


def load() -> None:
    """Import what is slow to import; a page that wants it meanwhile waits for the same import."""
    for name in HEAVY:
        importlib.import_module(name)


def main() -> None:
    from streamlit.web.cli import main as streamlit

    threading.Thread(target=load, name="load", daemon=True).start()
    sys.argv[1:] = ["run", str(Path(__file__).parents[1] / "app.py"), *sys.argv[1:]]
    streamlit(prog_name="streamlit")


if __name__ == "__main__":
    main()
