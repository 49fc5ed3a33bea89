from ui.page import setup_page

setup_page("Identification and imposters", "")
