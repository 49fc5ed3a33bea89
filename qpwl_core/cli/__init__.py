"""The command line: one function per command, and how progress is shown on a terminal."""
