"""The exact front of some objectives: no configuration that is left out adds to it.

The axes are merged for all objectives together, then boxes are explored in which a point might
stand beside those found, or beat them (`beating`); of equal points the first in the order of the
axes stands for all (`settling`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.check import check, enclosed
from sweeps.bounds.first import first_place
from sweeps.bounds.merging import reduced
from sweeps.bounds.problem import Space
from sweeps.bounds.search import ready
from sweeps.grid.goals import Goal, objective_node
from sweeps.grid.grid import Grid
from sweeps.prove.archive import Archive
from sweeps.prove.beating import Exploration
from sweeps.prove.gaps import close_gaps
from sweeps.prove.parts import Part, parts_of
from sweeps.prove.settling import firsts
from sweeps.runtime.loop import Tally, explore
from sweeps.runtime.watching import points_so_far
from symbolic.errors import InfeasibleError, OutOfTimeError
from symbolic.ops import Node, both, constant, where

__all__ = ["certified_front"]

#: Boxes bounded before the gaps of a front of two objectives are closed one by one, or the first of
#: equal points are found one by one; least points of a grid of which that may be asked.
PATIENCE, ONE_BY_ONE, _VAST = sizes.FRONT_PATIENCE, sizes.FRONT_SINGLE, sizes.FRONT_VAST


def certified_front(
    grid: Grid, goals: Sequence[Goal], tally: Tally
) -> tuple[NDArray[np.int64], dict[str, Any], NDArray[np.bool_] | None]:
    """The points that no other beats in every objective, proven: indices (points, axes) in order.

    When the time is up, the best found so far are given: of what is told besides, ``complete`` is 0
    then, ``boxes_left`` how many boxes may hold more; and which points none of these can beat.
    """
    points_so_far(0)
    if len(goals) == 2 and grid.points > _VAST:
        ready(tally.deadline)
    for goal in goals:
        enclosed(grid, {key: objective_node(grid, key, goal) for key in grid.graphs})
    check(grid, counted=False, tally=tally)
    parts = parts_of(grid, goals, ())
    with np.errstate(all="ignore"):
        spaces = []
        for part in parts:
            root, *more = _roots(grid, part, goals)
            given = root, part.leaves, part.sizes
            spaces.append(reduced(*given, {}, more=more, late=lambda: tally.late))
        axes = max(len(space.rows) for space in spaces)
        archive = Archive(len(goals), 1 + axes)
        explored = [
            Exploration(space.problem, number, archive, tally)
            for number, space in enumerate(spaces)
        ]
        patience = tally.boxes + PATIENCE if len(goals) == 2 else math.inf
        with suppress(OutOfTimeError):
            for one in explored:
                explore(one, tally, patience)
        ideals = np.concatenate([one.ideals for one in explored], axis=1)
        ideals = ideals[:, archive.opens(ideals)]
        if ideals.shape[1] and not tally.late:
            corners = close_gaps(explored, tally)
            below = np.all(ideals[:, :, None] < corners[:, None], axis=0).any(axis=1)
            ideals = ideals[:, below & archive.opens(ideals)]
        complete = not ideals.shape[1]
        found, settled = _settled(grid, parts, spaces, archive, tally)
    if not found and not complete:
        raise OutOfTimeError("no point of the front was found in time: give more time")
    if not found:
        raise InfeasibleError("no feasible point has finite objectives: relax the constraints")
    order = sorted(range(len(found)), key=found.__getitem__)
    index = np.array([found[k] for k in order], dtype=np.int64).reshape(len(order), len(grid.axes))
    told: dict[str, Any] = {
        "method": "certified",
        "complete": int(complete),
        "settled": int(settled),
        "boxes": tally.boxes,
        "points_visited": tally.visited,
    }
    proven = None
    if not complete:
        proven = _proven(archive.values, ideals)[order]
        told |= {"boxes_left": ideals.shape[1], "points_proven": int(proven.sum())}
    return index, told, proven


def _roots(grid: Grid, part: Part, goals: Sequence[Goal]) -> list[Node]:
    """The objectives where all are finite, else infinite."""
    alone = [objective_node(grid, part.key, goal) for goal in goals]
    holds = both(*(node.args[0] for node in alone), *(node.args[1] < math.inf for node in alone))
    return [constant(where(holds, node.args[1], math.inf)) for node in alone]


def _proven(values: NDArray[np.float64], ideals: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which points the corner of no box beats."""
    found = np.ones(values.shape[1], dtype=bool)
    for ideal in ideals.T[:, :, None]:
        found &= ~(np.all(ideal <= values, axis=0) & np.any(ideal < values, axis=0))
    return found


def _settled(
    grid: Grid, parts: Sequence[Part], spaces: Sequence[Space], archive: Archive, tally: Tally
) -> tuple[list[tuple[int, ...]], bool]:
    """The first configuration of each point, an index along each axis; whether that is proven."""
    found: list[tuple[int, ...]] = [()] * archive.values.shape[1]
    proven = True
    if not found:
        return [], True
    for number, (part, space) in enumerate(zip(parts, spaces, strict=True)):
        rows = archive.places[1 : 1 + len(space.rows)]
        known = np.where(archive.places[0] == number, rows, -1)
        if tally.late:
            met, sure = known[0] >= 0 if len(known) else archive.places[0] == number, False
            own = [space.original(place) for place in np.maximum(known, 0).T]
            places = np.array([[place[axis] for place in own] for axis in part.sizes])
            places = places.reshape(len(part.sizes), len(found))
        else:
            places, met, sure = firsts(
                space, tuple(part.sizes), archive.values, known, tally, ONE_BY_ONE
            )
        for k in range(len(found)):
            place = dict(zip(part.sizes, places[:, k].tolist(), strict=True)) if met[k] else None
            if not sure:
                place, one_sure = _first(part, space, archive.values[:, k], place, tally)
                proven &= one_sure
            if place is not None:
                index = {**place, **part.labels}
                whole = tuple(int(index.get(axis, 0)) for axis in grid.axes)
                found[k] = min(found[k] or whole, whole)
    return found, proven


def _first(
    part: Part,
    space: Space,
    target: NDArray[np.float64],
    place: dict[str, int] | None,
    tally: Tally,
) -> tuple[dict[str, int] | None, bool]:
    """The first configuration that meets one target, by searches for each axis."""
    if tally.late:
        return place, False
    problem = space.problem
    tests = []
    for root, value in zip(problem.roots, target.tolist(), strict=True):
        holds, root = root.args[:2] if root.op == "where" else (True, root)
        tests += [holds, root <= value]
    root = constant(where(both(*tests), 0.0, math.inf))
    alone = replace(space, problem=problem.asked(root))
    return first_place(root, part.leaves, part.sizes, place, 0.0, tally, {}, alone)
