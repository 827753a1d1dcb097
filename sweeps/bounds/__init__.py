"""Bounds of formulas over boxes of the design space, and branch and bound with these bounds.

`problem` bounds objectives over boxes of indices, and formulas over whole tiles. `merge_axes`
replaces axes that act together by one axis. `search` keeps the list of open boxes; `compiled`
searches one box depth first. `checks` tests domains and feasibility.
"""
