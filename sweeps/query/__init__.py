"""Queries over any source of configurations.

A source (`source`) answers queries for one objective: its best points, or all points within a
tolerance of a value. From these two answers `optimum` handles objectives in order of priority,
ties, tolerances, ranks and labels. `distribution` counts and aggregates, `uncertainty` compares
over draws, and `support_table` lists the options that each verb supports on each source.
"""
