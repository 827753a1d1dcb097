"""The first of equal configurations, in the order of the axes: one axis after the other."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from sweeps.bounds.merging import reduced
from sweeps.bounds.search import Least, search
from sweeps.bounds.spaces import Space
from sweeps.grid.leaf import Leaf
from sweeps.runtime.loop import Tally
from symbolic.ops import Node

__all__ = ["first_place", "lowest"]


def _found_within(
    space: Space, axis: str, low: int, high: int, target: float, tally: Tally
) -> tuple[dict[str, int] | None, bool]:
    """A configuration as low as a target with an index along one axis from ``low`` to ``high``."""
    number, along = space.along(axis)
    rows = np.flatnonzero((along >= low) & (along <= high))
    if not rows.size:
        return None, False
    part = space.only(number, rows)
    goal = Least(value=float(np.nextafter(target, math.inf)), enough=target)
    late = search(part.problem, goal, tally) < math.inf
    return (None, late) if goal.place is None else (part.original(goal.place), False)


def lowest(
    space: Space,
    axis: str,
    low: int,
    high: int,
    found: dict[str, int] | None,
    target: float,
    tally: Tally,
) -> tuple[dict[str, int] | None, bool]:
    """The configuration as low as a target with the lowest index along an axis; if that is proven.

    The index is at least ``low`` and below ``high``, where ``found`` lies if one is known.
    """
    if found is not None:
        high = found[axis]
    if low < high:  # most often nothing else is as low
        earlier, late = _found_within(space, axis, low, high - 1, target, tally)
        if earlier is None or late:
            return found if earlier is None else earlier, not late
        found = earlier
    while found is not None and low < found[axis]:  # the lower half of what is left, each time
        middle = (low + found[axis] - 1) // 2
        earlier, late = _found_within(space, axis, low, middle, target, tally)
        if late:
            return found, False
        if earlier is None:
            low = middle + 1
        else:
            found = earlier
    return found, True


def first_place(
    root: Node,
    leaves: Mapping[str, Leaf],
    sizes: Mapping[str, int],
    place: Mapping[str, int] | None,
    target: float,
    tally: Tally,
    fixed: Mapping[str, int] | None = None,
    space: Space | None = None,
) -> tuple[dict[str, int] | None, bool]:
    """The first configuration at which an objective is as low as a target; whether that is proven.

    Each row of a merged axis stands for the first of its combinations, so that the first of all is
    found among them: those with the lowest index along one axis, then along the next.

    Parameters
    ----------
    root, leaves, sizes :
        The objective, what it reads, and the sizes of the axes in their order.
    place : mapping of str to int, optional
        One such configuration, if one is known.
    fixed : mapping of str to int
        The axes that stay where they are.
    space : Space
        All this, where its axes are merged already.
    """
    fixed = fixed or {}
    if space is None:
        space = reduced(root, leaves, sizes, fixed, late=lambda: tally.late)
    if place is None:
        goal = Least(value=float(np.nextafter(target, math.inf)), enough=target)
        late = search(space.problem, goal, tally) < math.inf
        if goal.place is None:
            return None, not late
        place = space.original(goal.place)
    found = dict(place)
    for axis in sizes:
        if axis in fixed:
            continue
        earlier, proven = lowest(space, axis, 0, found[axis], dict(found), target, tally)
        found = earlier or found
        if not proven:
            return found, False
        number, along = space.along(axis)
        rows = np.flatnonzero(along == found[axis])
        if rows.size < along.size:
            space = space.only(number, rows)
    return found, True
