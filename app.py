"""The front door: navigation. Each page is a script in `pages/`, and lives in `ui/<page>/`."""

import streamlit as st

from qpwl_core.common.memory import reserve_little
from qpwl_core.common.paths import runs_folder
from ui.library.totals import guard
from ui.shell.frame import ICON
from ui.shell.navigation import run_framed

st.set_page_config(page_icon=ICON)      # first, or the icons of pages would be fetched from the web as the tab's
reserve_little()
guard(runs_folder())
run_framed()
