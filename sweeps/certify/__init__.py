"""Proofs by bounds over boxes: optima, fronts, borders, targets and tolerances.

`parts` asks a grid under each label of its switches for the best, or for all in order; `fronts` are
explored box by box. `borders`, `targets` and `tolerances` ask backwards: where on the grid a given
result comes out, and what can be the best where inputs are known within a tolerance.
"""
