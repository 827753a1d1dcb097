"""The lowest point of a grid where a condition holds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.merging import reduced
from sweeps.bounds.problem import Space
from sweeps.bounds.search import Least, search
from sweeps.grid.flat_index import unravel
from sweeps.grid.grid import Grid, Leaf, Tiling
from sweeps.runtime.loop import Tally
from symbolic.errors import OutOfTimeError
from symbolic.ops import Node, constant, interpret_arrays, references, where

#: Points looked at together, and those looked at before all others: most grids hold a feasible one.
_BLOCK, _GLANCE = sizes.FIRST_BLOCK, sizes.FIRST_GLANCE
#: Beyond so many points they are not looked at one by one, but in boxes.
_MANY = sizes.FIRST_MANY


def first(
    grid: Grid, condition: Any, dims: Sequence[str], tally: Tally | None = None
) -> dict[str, int] | None:
    """The lowest point of the axes ``dims`` where a condition holds; None where nowhere.

    ``condition`` maps the labels of the switch axes to a node over the leaves.

    Raises
    ------
    OutOfTimeError
        The time of the tally was up before that was known.
    """
    best: tuple[int, ...] | None = None
    for at, key in grid.keys(dims):
        found = _first_in(grid, condition(key), key, grid.plain(dims), tally or Tally())
        if found is not None:
            point = {**at, **found}
            place = tuple(point[d] for d in dims)
            best = place if best is None else min(best, place)
    return None if best is None else dict(zip(dims, best, strict=True))


def _first_in(
    grid: Grid, node: Node, key: tuple[str, ...], dims: Sequence[str], tally: Tally
) -> dict[str, int] | None:
    own = grid.ordered(grid.node_dims(node, key) & set(dims))
    shape = grid.shape(own) or (1,)
    glance, all_of_it = (Tiling(shape[:-1], shape[-1], size) for size in (_GLANCE, _BLOCK))
    many = math.prod(shape) > _MANY
    for tiling, count in ((glance, 1), (all_of_it, 0 if many else all_of_it.count)):
        for number in range(count):
            bounds = tiling.bounds(number)[0].reshape(-1, 2)
            place = _first_within(grid, node, key, own, bounds)
            if place is not None:
                return {**dict.fromkeys(dims, 0), **dict(zip(own, place, strict=False))}
            if tally.late and number + 1 < tiling.count:
                raise _in_doubt()
    found = _first_of_many(grid, node, key, own, tally) if many else None
    return None if found is None else {**dict.fromkeys(dims, 0), **found}


def _in_doubt() -> OutOfTimeError:
    return OutOfTimeError(
        "whether all formulas stay in their domains was not known in time: give more time"
    )


def _first_of_many(
    grid: Grid, node: Node, key: tuple[str, ...], own: Sequence[str], tally: Tally
) -> dict[str, int] | None:
    """The lowest point where a condition holds, by bounds over boxes."""
    root = constant(where(node, 0.0, math.inf))
    sizes = {axis: grid.axes[axis].size for axis in own}
    with np.errstate(all="ignore"):
        place, proven = first_place(root, grid.leaves[key], sizes, None, 0.0, tally)
    if place is None and not proven:
        raise _in_doubt()
    return place


def _first_within(
    grid: Grid, node: Node, key: tuple[str, ...], own: Sequence[str], bounds: NDArray[np.int64]
) -> list[int] | None:
    """The lowest point inside a box where a condition holds."""
    values = {}
    box = {axis: slice(*ends) for axis, ends in zip(own, bounds.tolist(), strict=False)}
    for name in references(node):
        values[name] = np.atleast_1d(grid.leaves[key][name].cut(box).over(own))
    holds = interpret_arrays((node,), values)[0]
    sizes = tuple(bounds[:, 1] - bounds[:, 0])
    holds = np.broadcast_to(holds, sizes)
    if not holds.any():
        return None
    place = unravel(int(np.argmax(holds.reshape(-1))), sizes)
    return [int(low + step) for low, step in zip(bounds[:, 0], place, strict=True)]


# --- The first of equal configurations, in the order of the axes: one axis after the other


def _found_within(
    space: Space, axis: str, low: int, high: int, target: float, tally: Tally
) -> tuple[dict[str, int] | None, bool]:
    """A configuration as low as a target with an index along one axis from ``low`` to ``high``."""
    number, along = space.along(axis)
    rows = np.flatnonzero((along >= low) & (along <= high))
    if not rows.size:
        return None, False
    return _as_low(space.only(number, rows), target, tally)


def _as_low(space: Space, target: float, tally: Tally) -> tuple[dict[str, int] | None, bool]:
    """Return a configuration as low as a target; without one, whether the time was up before."""
    goal = Least(value=float(np.nextafter(target, math.inf)), enough=target)
    late = search(space.problem, goal, tally) < math.inf
    return (None, late) if goal.place is None else (space.original(goal.place), False)


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
        place, late = _as_low(space, target, tally)
        if place is None:
            return None, not late
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
