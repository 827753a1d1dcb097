"""Proofs by bounds over boxes: optima, fronts, borders, targets and tolerances.

`parts` asks a grid under each label of its switches for the best, or for all in order; `fronts` are
explored by `beating`. `borders`, `targets`, `tolerances` and `rivals` ask backwards: where on the
grid a given result comes out.
"""
