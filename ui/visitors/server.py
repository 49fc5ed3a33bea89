"""The app behind the door of a class: ``streamlit run ui/visitors/server.py``, started by `scripts/classroom.py`."""

import importlib
import threading
from pathlib import Path

from starlette.middleware import Middleware
from streamlit.starlette import App

from ui.visitors.gate import Gate

# before the first visitor asks for it
threading.Thread(target=importlib.import_module, args=("torch",), name="load", daemon=True).start()

app = App(Path(__file__).resolve().parents[2] / "app.py", middleware=[Middleware(Gate)])
