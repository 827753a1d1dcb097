"""Sources of queries: grids scanned (`grids`) or searched with proof (`proof`), tables (`table`).

A source answers one objective at a time: its best, and all that is as good as some value; `proof`
chooses between a scan and a proof.
"""
