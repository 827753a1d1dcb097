"""Queries over any source, and how answers are composed.

A source (`source`) answers one objective at a time: its best points, and all points as good as some
value. `optimum` composes objectives in order, ties, tolerances, ranks and labels from that;
`distribution` counts and folds, `uncertainty` compares over draws, and `support_table` says which
options each verb supports on which source.
"""
