"""Every configuration in order, the best first: the next value, then the next of equal ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

from sweeps.bounds.first import first_place, lowest
from sweeps.bounds.merging import reduced
from sweeps.bounds.search import Least, search
from sweeps.grid.leaf import Leaf
from sweeps.prove.descent import descend
from sweeps.runtime.loop import Tally
from symbolic.errors import OutOfTimeError
from symbolic.ops import Node, both, constant, where


def ranked(
    root: Node,
    leaves: Mapping[str, Leaf],
    sizes: Mapping[str, int],
    fixed: Mapping[str, int],
    tally: Tally,
) -> Iterator[tuple[float, dict[str, int]]]:
    """The values below infinity in ascending order, each with its configurations in axis order.

    Nothing is kept but the last one: each is the answer of a search for what comes next.

    Raises
    ------
    OutOfTimeError
        When the time is up before the next is proven to be it.
    """
    value = -math.inf
    while True:
        rest = _above(root, value)
        space = reduced(rest, leaves, sizes, fixed, late=lambda: tally.late)
        goal = Least()
        _in_time(search(space.problem, goal, tally, partial(descend, space.problem, goal, tally)))
        if goal.place is None:
            return
        value, given = goal.value, (rest, leaves, sizes)
        place: dict[str, int] | None = space.original(goal.place)
        place, proven = first_place(*given, place, value, tally, fixed, space)
        while place is not None:
            _in_time(math.inf if proven else value)
            yield value, place
            place, proven = _next(*given, place, value, tally, fixed)
        _in_time(math.inf if proven else value)


def _in_time(left: float) -> None:
    if left < math.inf:
        raise OutOfTimeError(
            "not every rank was proven in time: give more time, or ask for fewer (top)"
        )


def _above(root: Node, value: float) -> Node:
    """The objective where it is above a value, else infinite."""
    if value == -math.inf:
        return root
    if root.op == "where" and repr(root.args[2]) == "inf":
        return constant(where(both(root.args[0], root.args[1] > value), root.args[1], math.inf))
    return constant(where(root > value, root, math.inf))


def _next(
    root: Node,
    leaves: Mapping[str, Leaf],
    sizes: Mapping[str, int],
    place: Mapping[str, int],
    target: float,
    tally: Tally,
    fixed: Mapping[str, int],
) -> tuple[dict[str, int] | None, bool]:
    """The next configuration in axis order that is as low as a target; whether that is proven."""
    free = [axis for axis in sizes if axis not in fixed]
    for number in reversed(range(len(free))):
        axis = free[number]
        before = {**fixed, **{name: place[name] for name in free[:number]}}
        space = reduced(root, leaves, sizes, before, axis, late=lambda: tally.late)
        low = place[axis] + 1
        found, proven = lowest(space, axis, low, sizes[axis], None, target, tally)
        if not proven:
            return None, False
        if found is not None:
            before[axis] = found[axis]
            return first_place(root, leaves, sizes, found, target, tally, before)
    return None, True
