"""Bounds of formulas over boxes of the design space, and branch and bound with these bounds.

`problem` bounds objectives over boxes of indices, and formulas over whole tiles. `merge_axes`
replaces axes that act together by one axis. `search` keeps the open boxes; `compiled` searches each
box depth first. `checks` finds the first of equal points, and tests domains and feasibility.
"""
