"""The design space: axes of values (`space`, `forms`, `laws`), and a graph of equations over them.

`build` makes a `grid` of what a study gives, `tables` the equations that are computed before it;
`goals` are formulas to be made small or large; `dataset` labels what comes out, `plain` leaves it
bare; `tiling` cuts a grid into boxes, `at` is a part of it.
"""
