"""The design space: axes of values (`space`, `laws`), and a graph of equations over them.

`build` makes a `grid` of what a study gives; `goals` are formulas to be made small or large;
`awaited` computes statistics over axes when they are first read; `dataset` labels results.
"""
