"""Bounds of formulas over boxes of the design space, and branch and bound by them.

A `problem` bounds objectives over boxes of indices, and formulas over whole tiles; `merge_axes`
replaces axes that act together by one; `search` keeps the open boxes and has `compiled` search
them depth first; `checks` finds the first of equal points, and tests domains and feasibility.
"""
