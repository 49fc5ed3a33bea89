"""The front door: navigation. Each page is a script in `pages/`, and lives in `ui/<page>/`."""

import streamlit as st

from ui.shell.frame import ICON
from ui.shell.navigation import run_framed

st.set_page_config(page_icon=ICON)      # first, or the icons of pages would be fetched from the web as the tab's
run_framed()
