"""The front door: navigation. The home page is `ui/home.py`, the others are in `pages/`, in the order of the story."""

import streamlit as st

from ui.navigation import run_framed
from ui.page import ICON

st.set_page_config(page_icon=ICON)      # first, or the icons of pages would be fetched from the web as the tab's
run_framed()
