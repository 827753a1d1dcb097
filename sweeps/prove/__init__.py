"""Proofs by bounds over boxes: optima, fronts, borders, targets and tolerances.

`parts` asks a grid under each label of its switches: `descent` finds a good configuration where a
proof takes long, `ranking` all in order; a `certificate` tells what is proven. `fronts` are
explored by `beating`: an `archive` holds the points that none beats, `leaves` look at all points of
small boxes, `gaps` closes those between two objectives, and `settling` finds the first of equal
points. Asked backwards, of what comes out where on the grid it does: `borders`, `targets`, `ranges`
and `tolerances`.
"""
