"""The paper's table and figures as one command: methods × data sets × seeds, from recordings to a report."""
