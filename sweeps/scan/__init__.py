"""Scan values that are not stored, tile by tile, in bounded memory.

`optimum` keeps the best of each tile, or the front; `values` yields the values of formulas over a
grid or a Dataset; `winners_per_draw` compares configurations over draws; `variance` decomposes.
"""
