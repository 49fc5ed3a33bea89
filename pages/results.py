from ui.page import setup_page

setup_page("Results", "")
