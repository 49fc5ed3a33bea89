"""Train: a new run, runs compared, M and p on a grid, the models at hand."""

from ui.train.page import show

show()
