"""The range of a formula over the laws of its random inputs, by enclosures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.grid.at import POINT
from sweeps.grid.awaited import Folding
from sweeps.grid.flat_index import unravel
from sweeps.grid.grid import Grid
from sweeps.runtime.threads import workers
from symbolic.intervals import Interval, algebra, enclose
from symbolic.ops import Node, references, walk
from symbolic.statistic import DRAW

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

#: Points that are enclosed together.
_TOGETHER = sizes.REACH_TOGETHER


def reach_of(folding: Folding) -> Callable[[Indices, bool], tuple[Floats, Floats]]:
    """Return what encloses a formula at some points, given by flat indices.

    It returns the least and the largest value of shape (points, values within a draw). Points that
    follow each other are enclosed together, for several statistics ask of the same ones.
    """
    inner = tuple(axis for axis in folding.along if axis != DRAW)
    points, each = (math.prod(folding.grid.shape(axes)) for axes in (folding.rest, inner))
    together = max(_TOGETHER // each, 1)

    @lru_cache(maxsize=4 * workers())
    def enclosed(number: int, whole: bool) -> tuple[Floats, Floats]:
        flat = np.arange(number * together, min((number + 1) * together, points))
        places = dict(
            zip(folding.rest, unravel(flat, folding.grid.shape(folding.rest)), strict=True)
        )
        low, high = range_at(folding.at(places).grid, folding.root, inner, whole)
        shape = flat.size, *folding.grid.shape(inner)
        low, high = (np.broadcast_to(end, shape).reshape(flat.size, each) for end in (low, high))
        return low, high

    def reach(flat: Indices, whole: bool) -> tuple[Floats, Floats]:
        low, high = np.empty((2, flat.size, each))
        for number in np.unique(flat // together).tolist():
            here = flat // together == number
            places = flat[here] - number * together
            low[here], high[here] = (end[places] for end in enclosed(number, whole))
        return low, high

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
