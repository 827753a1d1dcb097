"""The first of equal configurations, in the order of the axes: one axis after the other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeps.certify.boxes import Bounds, Boxes, Extremes, Indices
from sweeps.certify.merging import Space, reduced
from sweeps.certify.search import Least, Tally, search, settled
from sweeps.grid import Leaf
from symbolic.ops import Node

__all__ = ["first_place"]


class _Earliest:
    """The search for the lowest index along one axis of the grid at which a value is reached."""

    picky = True

    def __init__(self, space: Space, axis: str, target: float, index: int) -> None:
        self.target, self.index = target, index
        self.place: Indices | None = None
        self.number, self.along = space.along(axis)
        self.lowest = Extremes(Leaf(axes=(axis,), array=self.along), (self.number,))
        self.alone = len(space.rows[self.number][0]) == 1

    @property
    def limit(self) -> float:
        """Above the target by what machine code may be off where the library is called."""
        return self.target + 8 * float(np.spacing(abs(self.target)))

    def _first(self, boxes: Boxes) -> Any:
        return self.lowest(list(boxes.lo), list(boxes.hi)).range.lo

    def sought(self, bounds: Any, boxes: Boxes) -> Any:
        """Which boxes may hold what is sought."""
        return (bounds <= self.target) & (self._first(boxes) < self.index)

    def offer(self, places: Indices, values: NDArray[np.float64]) -> None:
        """Keep the earliest of some points."""
        index = self.along[places[self.number]]
        hits = np.flatnonzero((values <= self.target) & (index < self.index))
        if hits.size:
            best = hits[np.argmin(index[hits])]
            self.index, self.place = int(index[best]), places[:, best].copy()

    def order(self, bounds: Any, boxes: Boxes) -> Any:
        """The earliest first."""
        return self._first(boxes)

    def settle(self, boxes: Boxes, bounds: Bounds) -> Boxes:
        """As for the least value, but along the axis itself towards lower indices only."""
        own = ~(np.uint64(1) << np.uint64(self.number))
        up = bounds.up if self.alone else bounds.up & own
        return settled(boxes, Bounds(bounds.least, up, bounds.down & own))


def first_place(
    root: Node,
    leaves: Mapping[str, Leaf],
    sizes: Mapping[str, int],
    place: Mapping[str, int] | None,
    target: float,
    tally: Tally,
    fixed: Mapping[str, int] | None = None,
) -> tuple[dict[str, int] | None, bool]:
    """The first configuration at which an objective is as low as a target; whether that is proven.

    Parameters
    ----------
    root, leaves, sizes :
        The objective, what it reads, and the sizes of the axes in their order.
    place : mapping of str to int, optional
        One such configuration, if one is known.
    fixed : mapping of str to int
        The axes that stay where they are.
    """
    fixed = dict(fixed or {})
    if place is None:
        space = reduced(root, leaves, sizes, fixed)
        goal = Least(value=float(np.nextafter(target, math.inf)))
        late = search(space.problem, goal, tally) < math.inf
        if goal.place is None:
            return None, not late
        place = space.original(goal.place)
    found = dict(place)
    for axis in sizes:
        if axis not in fixed and found[axis]:
            space = reduced(root, leaves, sizes, fixed)
            earlier = _Earliest(space, axis, target, found[axis])
            late = search(space.problem, earlier, tally) < math.inf
            if earlier.place is not None:
                found = space.original(earlier.place)
            if late:
                return found, False
        fixed[axis] = found[axis]
    return found, True
