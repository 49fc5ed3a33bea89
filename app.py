"""The front door: navigation. The home page is `ui/home.py`, the others are in `pages/`, in the order of the story."""

import streamlit as st

from ui.page import ICON

STORY = {
    "Understand": {"data": ("Data", "database"), "quantile_layer": ("Quantile layer", "stairs"),
                   "train": ("Train", "model_training"), "filters": ("Filters", "filter_alt"),
                   "distances": ("Distances", "straighten")},
    "Use": {"verification": ("Verification", "verified_user"),
            "identification": ("Identification and imposters", "person_search"),
            "desk": ("Enrolment desk", "how_to_reg"), "results": ("Results", "table_chart")},
}

st.set_page_config(page_icon=ICON)      # first, or the icons below would be fetched from the web as the tab's
home = st.Page("ui/home.py", title="Home", icon=":material/home:", default=True)
pages = {part: [st.Page(f"pages/{name}.py", title=title, icon=f":material/{icon}:")
                for name, (title, icon) in rows.items()]
         for part, rows in STORY.items()}
st.navigation({"": [home], **pages}).run()
