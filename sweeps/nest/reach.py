"""The range of a formula over the laws of its random inputs, by enclosures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.at import POINT
from sweeps.grid.awaited import Folding
from sweeps.grid.grid import Grid
from symbolic.intervals import Interval, algebra, enclose
from symbolic.ops import Node, references, walk
from symbolic.statistic import DRAW

__all__ = ["range_at", "reach_of"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def reach_of(folding: Folding) -> Callable[[Indices, bool], tuple[Floats, Floats]]:
    """Return what encloses a formula at some points, given by flat indices.

    It returns the least and the largest value of shape (points, values within a draw).
    """
    inner = tuple(axis for axis in folding.along if axis != DRAW)

    def reach(flat: Indices, whole: bool) -> tuple[Floats, Floats]:
        places, rest = {}, flat
        for axis in reversed(folding.rest):
            rest, places[axis] = np.divmod(rest, folding.grid.axes[axis].size)
        low, high = range_at(folding.at(places).grid, folding.root, inner, whole)
        shape = flat.size, *folding.grid.shape(inner)
        size = flat.size, math.prod(shape[1:])
        return np.broadcast_to(low, shape).reshape(size), np.broadcast_to(high, shape).reshape(size)

    return reach


def range_at(
    points: Grid, root: Node, inner: Sequence[str], whole: bool = False
) -> tuple[Floats, Floats]:
    """Return the least and largest value of a formula at some points, whatever is drawn.

    Each random input lies in the range in which it is drawn, or in that of its whole law, which may
    be infinite. The range is infinite where nothing encloses the
    formula. ``points`` lie along one axis; ``inner`` are the axes that stay whole, but the draws.
    """
    spans, leaves = points.axes[DRAW].spans, points.leaves[()]
    known = {*algebra(), "constant", "reference"}
    boxes = {}
    for name in references(root):
        leaf = leaves[name]
        if DRAW not in leaf.axes:
            values = np.asarray(leaf.over((POINT, *inner)), dtype=np.float64)
            boxes[name] = Interval(values, values)
        elif leaf.axes == (DRAW,) and name in spans:
            boxes[name] = Interval(*(np.float64(end) for end in spans[name][whole]))
    if len(boxes) < len(references(root)) or any(node.op not in known for node in walk((root,))):
        return np.array(-math.inf), np.array(math.inf)
    (found,) = enclose([root], boxes)
    assert isinstance(found, Interval)
    return np.asarray(found.lo), np.asarray(found.hi)
