"""Passing over values that nobody stores, tile by tile, in memory that does not grow.

`fused` keeps the best of each tile, or the front; `values` gives the values of a formula, of a grid
or of a Dataset, some at a time; `contest` judges configurations over draws.
"""
