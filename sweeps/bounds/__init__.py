"""Between which numbers formulas lie over boxes of the design space, and the search by that.

A `problem` bounds objectives over boxes of indices, and formulas over whole tiles;
`merging` makes few axes of many that act together, in an order in which neighbours are alike;
`search` keeps the boxes that are open and has `machine` search them depth first; `check` finds the
first of equal places, and tests whether formulas stay in their domains and some point is feasible.
"""
