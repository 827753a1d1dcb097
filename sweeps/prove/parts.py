"""A grid under each label of its switch axes, and the best of all these parts together."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from stochastic import sizes
from sweeps.bounds.check import first_place, lowest
from sweeps.bounds.merging import reduced
from sweeps.bounds.problem import Indices, Problem, Space
from sweeps.bounds.search import Least, search
from sweeps.grid.goals import Goal, dims_of, objective_node
from sweeps.grid.grid import Grid, Leaf
from sweeps.runtime.loop import Tally
from symbolic.errors import OutOfTimeError
from symbolic.ops import Node, both, constant, where

# --- Good configurations before any proof: along each axis in turn, then along pairs of axes


#: Points drawn, and how many of the best are improved.
_DRAWN, _KEPT = sizes.DESCENT_DRAWN, sizes.DESCENT_KEPT
#: Values tried along an axis; points tried along a pair of axes; rounds.
_ALONG, _PAIR, _ROUNDS = sizes.DESCENT_ALONG, sizes.DESCENT_PAIR, sizes.DESCENT_ROUNDS


def descend(problem: Problem, goal: Least, tally: Tally) -> None:
    """Offer the goal what coordinate descent finds from a few starts, the same each time."""
    rng = np.random.default_rng(0)
    sizes = problem.sizes
    drawn = rng.integers(0, sizes[:, None], (len(sizes), _DRAWN if len(sizes) else 1))
    drawn[:, 0], drawn[:, -1] = 0, sizes - 1
    values = problem.values(drawn)
    tally.visited += values.size
    order = np.argsort(values, kind="stable")[:_KEPT]
    for number in order[values[order] < np.inf]:
        begun = drawn[:, number]
        place, value = _improved(problem, begun, float(values[number]), 1, tally)
        goal.offer(place[:, None], np.array([value]))
    if goal.place is not None:
        place, value = _improved(problem, goal.place, goal.value, 2, tally)
        goal.offer(place[:, None], np.array([value]))


def _improved(
    problem: Problem, place: Indices, value: float, together: int, tally: Tally
) -> tuple[Indices, float]:
    """As good as changing up to so many axes together makes it."""
    movable = np.flatnonzero(problem.sizes > 1).tolist()
    moves = [m for k in range(1, together + 1) for m in itertools.combinations(movable, k)]
    for _ in range(_ROUNDS):
        before = value
        for axes in moves:
            if tally.late:
                return place, value
            tried = _tried(problem, place, axes)
            values = problem.values(tried)
            tally.visited += values.size
            best = int(np.argmin(values))
            if values[best] < value:
                place, value = tried[:, best], float(values[best])
        if value == before:
            break
    return place, value


def _tried(problem: Problem, place: Indices, axes: tuple[int, ...]) -> Indices:
    """The place with every value along some axes, or those near and a few of those further off."""
    most = _ALONG if len(axes) == 1 else int(_PAIR ** (1 / len(axes)))
    steps = []
    for axis in axes:
        size = int(problem.sizes[axis])
        if size <= most:
            steps.append(np.arange(size))
            continue
        near = np.clip(np.arange(most // 2) - most // 4 + place[axis], 0, size - 1)
        far = np.linspace(0, size - 1, most - most // 2).astype(np.int64)
        steps.append(np.unique(np.concatenate([near, far])))
    mesh = np.meshgrid(*steps, indexing="ij")
    tried = np.repeat(place[:, None], mesh[0].size, axis=1)
    for axis, along in zip(axes, mesh, strict=True):
        tried[axis] = along.reshape(-1)
    return tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The grid under one label of each switch axis: an objective over the other axes."""

    labels: Mapping[str, int]
    key: tuple[str, ...]
    root: Node
    leaves: Mapping[str, Leaf]
    sizes: Mapping[str, int]

    def space(self, fixed: Mapping[str, int], tally: Tally, apart: str | None = None) -> Space:
        """The objective with some axes fixed, others but ``apart`` merged."""
        return reduced(self.root, self.leaves, self.sizes, fixed, tally, apart=apart)

    def index(self, grid: Grid, place: Mapping[str, int]) -> tuple[int, ...]:
        """The index along every axis of the grid."""
        whole = {**place, **self.labels}
        return tuple(int(whole.get(axis, 0)) for axis in grid.axes)


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
        spaces = [part.space(cell, tally) for part in asked]
        goals = [Least(gap=gap) for _ in asked]
        least = bound = math.inf
        for goal, space in zip(goals, spaces, strict=True):
            goal.heed(least)
            improve = partial(descend, space.problem, goal, tally)
            bound = min(bound, search(space.problem, goal, tally, improve), goal.aside)
            least = goal.value
        bound = min(bound, least)
        firsts: list[tuple[int, ...]] = []
        settled = settle and bound == least
        for part, goal, space in zip(asked, goals, spaces, strict=True):
            goal.heed(least)
            place = None if goal.place is None else space.original(goal.place)
            if settle and bound == least < math.inf:
                place, proven = first_place(space, tuple(part.sizes), place, least, tally)
                settled &= proven
            if place is not None:
                firsts.append(part.index(grid, place))
    first = dict(zip(grid.axes, min(firsts), strict=True)) if firsts else None
    return Winner(place=first, value=least, bound=bound, settled=settled)


# --- Every configuration in order, the best first: the next value, then the next of equal ones


def in_rank(
    grid: Grid, parts: Sequence[Part], cell: Mapping[str, int], tally: Tally
) -> Iterator[Winner]:
    """The configurations at some indices of some axes, the best first, ties in axis order.

    Raises
    ------
    OutOfTimeError
        When the time is up before the next is proven to be it.
    """

    def of(part: Part) -> Iterator[tuple[float, tuple[int, ...]]]:
        for value, place in _ranked(part, cell, tally):
            yield value, part.index(grid, place)

    for value, index in heapq.merge(*map(of, asked_of(parts, cell))):
        place = dict(zip(grid.axes, index, strict=True))
        yield Winner(place=place, value=value, bound=value, settled=True)


def _ranked(
    whole: Part, fixed: Mapping[str, int], tally: Tally
) -> Iterator[tuple[float, dict[str, int]]]:
    """The values below infinity in ascending order; each is found by a search for the next."""
    value = -math.inf
    while True:
        part = replace(whole, root=_above(whole.root, value))
        space, goal = part.space(fixed, tally), Least()
        _in_time(search(space.problem, goal, tally, partial(descend, space.problem, goal, tally)))
        if goal.place is None:
            return
        value, first = goal.value, space.original(goal.place)
        place, proven = first_place(space, tuple(part.sizes), first, value, tally)
        while place is not None:
            _in_time(math.inf if proven else value)
            yield value, place
            place, proven = _next(part, place, value, tally, fixed)
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
    part: Part,
    place: Mapping[str, int],
    target: float,
    tally: Tally,
    fixed: Mapping[str, int],
) -> tuple[dict[str, int] | None, bool]:
    """The next configuration in axis order that is as low as a target; whether that is proven."""
    free = [axis for axis in part.sizes if axis not in fixed]
    for number in reversed(range(len(free))):
        axis = free[number]
        before = {**fixed, **{name: place[name] for name in free[:number]}}
        space = part.space(before, tally, apart=axis)
        found, proven = lowest(space, axis, place[axis] + 1, part.sizes[axis], target, tally)
        if not proven:
            return None, False
        if found is not None:
            before[axis] = found[axis]
            space = part.space(before, tally)
            return first_place(space, tuple(part.sizes), found, target, tally)
    return None, True
