"""The app of a class that notes what each run of a script costs: `scripts.class_load` serves it to measure.

``QPWL_TIMES`` names a file that gets one line of JSON per run: page, kind (open, act, part, poll), seconds of processor
of the script's own thread, seconds on the wall. ``QPWL_PROFILE`` names a folder for a profile per page and kind, which
``python -m pstats`` reads; it makes everything slower.
"""

from __future__ import annotations

import cProfile
import json
import os
import pstats
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

from starlette.middleware import Middleware
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.starlette import App

from ui.serve import load, send_at_once
from ui.shell.navigation import always_framed
from ui.visitors.gate import Gate

PROFILES: dict[str, pstats.Stats] = {}
writing = threading.Lock()


def noted(run):
    """A run of a script, as it was, with what it cost written down."""
    def timed(self, data):
        page = urlsplit(data.context_info.url if data.context_info else "").path.strip("/") or "home"
        touched = data.widget_states is not None and data.widget_states.widgets
        kind = ("poll" if data.is_auto_rerun else "part") if data.fragment_id_queue else "act" if touched else "open"
        begun, spent = time.perf_counter(), time.thread_time()
        profile = cProfile.Profile(time.thread_time) if "QPWL_PROFILE" in os.environ else None
        try:
            profile.runcall(run, self, data) if profile else run(self, data)
        finally:
            row = {"page": page, "kind": kind, "cpu": time.thread_time() - spent, "wall": time.perf_counter() - begun}
            with writing:
                with open(os.environ["QPWL_TIMES"], "a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
                if profile:
                    name = f"{page}-{kind}"
                    PROFILES[name] = PROFILES[name].add(profile) if name in PROFILES else pstats.Stats(profile)
                    PROFILES[name].dump_stats(Path(os.environ["QPWL_PROFILE"]) / f"{name}.prof")
    return timed


ScriptRunner._run_script = noted(ScriptRunner._run_script)
always_framed()
send_at_once()
threading.Thread(target=load, args=(True,), name="load", daemon=True).start()     # as ui/serve_class.py
app = App(Path(__file__).resolve().parents[1] / "app.py", middleware=[Middleware(Gate)])    # Streamlit reads this line
