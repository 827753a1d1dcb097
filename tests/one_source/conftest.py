"""A script that adds rows to the table of primitives runs in a process of its own alone."""

collect_ignore = ["one_row.py"]
