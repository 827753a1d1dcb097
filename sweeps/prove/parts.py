"""A grid under each label of its switch axes, and the best of all these parts together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sweeps.bounds.first import first_place
from sweeps.bounds.merging import reduced
from sweeps.bounds.search import Least, search
from sweeps.grid.goals import Goal, dims_of, objective_node
from sweeps.grid.grid import Grid
from sweeps.grid.leaf import Leaf
from sweeps.prove.descent import descend
from sweeps.runtime.loop import Tally
from symbolic.ops import Node


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
        spaces = [
            reduced(part.root, part.leaves, part.sizes, cell, late=lambda: tally.late)
            for part in asked
        ]
        goals = [Least(gap=gap) for _ in asked]
        least = bound = math.inf
        for goal, space in zip(goals, spaces, strict=True):
            goal.heed(least)
            improve = partial(descend, space.problem, goal, tally)
            bound = min(bound, search(space.problem, goal, tally, improve), goal.aside)
            least = goal.value
        bound = min(bound, least)
        firsts: list[tuple[tuple[int, ...], dict[str, int]]] = []
        settled = settle and bound == least
        for part, goal, space in zip(asked, goals, spaces, strict=True):
            goal.heed(least)
            place = None if goal.place is None else space.original(goal.place)
            if settle and bound == least < math.inf:
                given = part.root, part.leaves, part.sizes
                place, proven = first_place(*given, place, least, tally, cell, space)
                settled &= proven
            if place is not None:
                index = {**place, **part.labels}
                whole = {axis: int(index.get(axis, 0)) for axis in grid.axes}
                firsts.append((tuple(whole.values()), whole))
    first = min(firsts, default=((), None))[1]
    return Winner(place=first, value=least, bound=bound, settled=settled)
