"""Evaluate a grid or Dataset tile by tile, in bounded memory, without storing the values.

`optimum` finds the best points or the front; `values` aggregates the values of formulas;
`winners_per_draw` compares configurations over draws; `variance` decomposes a variance by axis.
"""
