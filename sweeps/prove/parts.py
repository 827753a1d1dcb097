"""A grid under each label of its switch axes, and the best of all these parts together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sweeps.bounds.check import first_place, lowest
from sweeps.bounds.merging import reduced
from sweeps.bounds.search import Least, search
from sweeps.grid.goals import Goal, dims_of, objective_node
from sweeps.grid.grid import Grid, Leaf
from sweeps.runtime.loop import Tally
from symbolic.errors import OutOfTimeError
from symbolic.ops import Node, both, constant, where


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The grid under one label of each switch axis: an objective over the other axes."""

    labels: Mapping[str, int]
    key: tuple[str, ...]
    root: Node
    leaves: Mapping[str, Leaf]
    sizes: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Winner:
    """The best of a part of the grid: an index along every axis, and what is proven of it."""

    place: Mapping[str, int] | None
    value: float
    bound: float
    settled: bool


NOTHING = Winner(place=None, value=math.inf, bound=math.inf, settled=True)


def parts_of(grid: Grid, goals: Sequence[Goal], kept: Sequence[str]) -> list[Part]:
    """The first objective, over the axes of all, under each label of the switch axes."""
    dims = grid.ordered({*dims_of(grid, goals), *kept})
    sizes = {axis: grid.axes[axis].size for axis in grid.plain(dims)}
    return [
        Part(
            labels=at,
            key=key,
            root=objective_node(grid, key, goals[0]),
            leaves=grid.leaves[key],
            sizes=sizes,
        )
        for at, key in grid.keys(dims)
    ]


def asked_of(parts: Sequence[Part], cell: Mapping[str, int]) -> list[Part]:
    """Those that hold some indices of the ``per`` axes."""
    return [p for p in parts if all(cell.get(a, index) == index for a, index in p.labels.items())]


def best_within(
    grid: Grid,
    parts: Sequence[Part],
    cell: Mapping[str, int],
    gap: float,
    tally: Tally,
    *,
    settle: bool = True,
) -> Winner:
    """The best of the grid at some indices of the ``per`` axes.

    Of equal ones the first in the order of the axes, unless it need not be settled which it is.
    """
    asked = asked_of(parts, cell)
    with np.errstate(all="ignore"):
        spaces = [reduced(part.root, part.leaves, part.sizes, cell, tally) for part in asked]
        goals = [Least(gap=gap) for _ in asked]
        least = bound = math.inf
        for goal, space in zip(goals, spaces, strict=True):
            goal.heed(least)
            bound = min(bound, search(space.problem, goal, tally), goal.aside)
            least = goal.value
        bound = min(bound, least)
        firsts: list[tuple[tuple[int, ...], dict[str, int]]] = []
        settled = settle and bound == least
        for part, goal, space in zip(asked, goals, spaces, strict=True):
            goal.heed(least)
            place = None if goal.place is None else space.original(goal.place)
            if settle and bound == least < math.inf:
                place, proven = first_place(space, tuple(part.sizes), place, least, tally)
                settled &= proven
            if place is not None:
                index = {**place, **part.labels}
                whole = {axis: int(index.get(axis, 0)) for axis in grid.axes}
                firsts.append((tuple(whole.values()), whole))
    first = min(firsts, default=((), None))[1]
    return Winner(place=first, value=least, bound=bound, settled=settled)


# --- Every configuration in order, the best first: the next value, then the next of equal ones


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
        space = reduced(rest, leaves, sizes, fixed, tally)
        goal = Least()
        _in_time(search(space.problem, goal, tally))
        if goal.place is None:
            return
        value, given = goal.value, (rest, leaves, sizes)
        place, proven = first_place(space, tuple(sizes), space.original(goal.place), value, tally)
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
        space = reduced(root, leaves, sizes, before, tally, apart=axis)
        found, proven = lowest(space, axis, place[axis] + 1, sizes[axis], target, tally)
        if not proven:
            return None, False
        if found is not None:
            before[axis] = found[axis]
            space = reduced(root, leaves, sizes, before, tally)
            return first_place(space, tuple(sizes), found, target, tally)
    return None, True
