"""The app behind the door of a class: ``streamlit run ui/serve_class.py``, started by `scripts/classroom.py`."""

import threading
from pathlib import Path

from starlette.middleware import Middleware
from streamlit.starlette import App

from ui.serve import load, send_at_once
from ui.shell.navigation import always_framed
from ui.visitors.gate import Gate

always_framed()
send_at_once()
threading.Thread(target=load, args=(True,), name="load", daemon=True).start()     # before the first visitor comes

app = App(Path(__file__).resolve().parents[1] / "app.py", middleware=[Middleware(Gate)])
