"""Several objectives in order of priority: of what is best in the first the best in the second ...

Each stage asks for the best of one objective where all before it are as good as was found; ties are
exact in the value, and the first of what is equal in all of them wins, in the order of the axes.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.answers import OBJECTIVE, Chosen, Goal, no_choice, spread, with_idle_axes
from sweeps.certify.certificate import Certificate, gap_of, none_in_time
from sweeps.certify.optimum import SCANNABLE, SCANNED, SCANNED_A_SECOND, check_method
from sweeps.certify.parts import best_within, parts_of
from sweeps.certify.search import Tally, ready
from sweeps.check import check, enclosed
from sweeps.goals import in_words
from sweeps.grid import Grid
from sweeps.scan import answer_grid, dims_of, objective_node, scanned
from sweeps.stopping import stopped
from sweeps.streaming.tiles import Skipped
from sweeps.ties import as_ties, check_ties, tied_places
from symbolic.errors import InfeasibleError, OutOfTimeError
from symbolic.ops import Node, both, constant, where

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["best_in_order"]

Places = Mapping[str, NDArray[np.int64]]


def best_in_order(
    grid: Grid,
    goals: Sequence[Goal],
    *,
    ties: bool = False,
    method: str = "auto",
    time_limit: float | None = None,
    gap: float | None = None,
) -> xr.Dataset:
    """The best configuration by several objectives, of which each decides what those before leave.

    Parameters
    ----------
    grid, method :
        As for :func:`sweeps.certify.optimum.best_of`.
    goals : sequence of Goal
        In order of priority.
    ties : bool
        All configurations that are as good in every objective.
    time_limit : float, optional
        Seconds of all stages together; of what is left each takes its share.
    gap : float, optional
        How far each objective may be from its optimum, as a share of its value. That of a later one
        is the optimum among what is at least as good, in those before, as what was found.

    Returns
    -------
    xarray.Dataset
        As of one objective; formulas stand as ``objective_1`` ... by their place. Certified, the
        attributes ``bound`` and ``gap`` hold a number for each objective.
    """
    limited = check_method(method, time_limit, gap)
    if ties:
        check_ties(1, None, method)
        return _scan(grid, goals, ties=True)
    points = math.prod(grid.shape(dims_of(grid, goals)))
    if method == "auto" and not limited and points > SCANNED:
        seconds = None if points > SCANNABLE else points / SCANNED_A_SECOND
        try:
            found = _certified(grid, goals, seconds, 0.0)
        except OutOfTimeError:
            if stopped():
                raise
            return _scan(grid, goals)
        proven = not any(found.attrs["gap"]) and found.attrs["settled"]
        if seconds is None or proven or stopped():
            return found
        return _scan(grid, goals)
    if method == "certified" or limited:
        return _certified(grid, goals, time_limit, gap or 0.0)
    return _scan(grid, goals)


def _name(goal: Goal, number: int, known: Any) -> str:
    """The name of an objective in the answer: its own, or that of a formula by its place."""
    return goal.text if goal.text in known else f"{OBJECTIVE}_{number + 1}"


def _among(root: Node, held: Sequence[Node]) -> Node:
    """An objective where what was decided before holds."""
    return constant(where(both(*held), root, math.inf)) if held else root


def _nothing(goals: Sequence[Goal], number: int) -> InfeasibleError:
    before = f" that is best by {in_words(goals[:number])}" if number else ""
    return no_choice(goals[number], before)


def _scan(grid: Grid, goals: Sequence[Goal], *, ties: bool = False) -> xr.Dataset:
    """By as many passes over the grid, of which all compute a value alike."""
    check(grid)
    dims = grid.ordered(dims_of(grid, goals))
    held: dict[tuple[str, ...], list[Node]] = {key: [] for key in grid.graphs}
    sizes = {axis: grid.axes[axis].size for axis in grid.axes}
    skipped = Skipped()
    for number, goal in enumerate(goals):
        roots = {key: objective_node(grid, key, goal) for key in grid.graphs}
        asked = {key: _among(root, held[key]) for key, root in roots.items()}
        flat, scores, rest = scanned(grid, asked, dims, (), 1, skipped)
        if flat[0] < 0:
            raise _nothing(goals, number)
        if stopped():  # what was decided so far
            break
        for key, root in roots.items():
            held[key].append(root <= float(scores[0]))
    if ties:
        tied = tied_places(grid, asked, dims)
        assert tied is not None
        return _told(grid, goals, tied, many=True)
    flat, rest = with_idle_axes(flat, scores, rest, (), sizes)
    told = skipped.attributes(grid.points // math.prod(grid.shape(dims)))
    return _told(grid, goals, spread(flat, rest, (), sizes)).assign_attrs(told)


def _certified(
    grid: Grid, goals: Sequence[Goal], time_limit: float | None, gap: float
) -> xr.Dataset:
    """By as many searches, each with a proof."""
    end = math.inf if time_limit is None else time.monotonic() + time_limit
    ready(end)
    parts = parts_of(grid, goals, ())
    roots = [[objective_node(grid, part.key, goal) for part in parts] for goal in goals]
    for of_goal in roots:
        enclosed(grid, {part.key: root for part, root in zip(parts, of_goal, strict=True)})
    tally, place = Tally(deadline=end), None
    check(grid, counted=False, tally=tally)
    held: list[list[Node]] = [[] for _ in parts]
    bounds, best_of, settled, known = [], [], False, grid.model.quantities
    for number, goal in enumerate(goals):
        if math.isfinite(end):  # the time left is shared by the objectives left
            now = time.monotonic()
            tally.deadline = now + max(end - now, 0.0) / (len(goals) - number)
        asked = [
            replace(part, root=_among(root, before))
            for part, root, before in zip(parts, roots[number], held, strict=True)
        ]
        best = best_within(grid, asked, {}, gap, tally, settle=number == len(goals) - 1)
        if best.place is None and best.bound == math.inf:
            raise _nothing(goals, number)
        bounds.append(goal.sign * best.bound)
        settled = best.settled
        if best.place is None:
            break
        place = best.place
        best_of.append(best.value)
        for before, root in zip(held, roots[number], strict=True):
            before.append(root <= best.value)
    if place is None:
        raise none_in_time(goals[0], time_limit)
    bounds += [-goal.sign * math.inf for goal in goals[len(bounds) :]]
    found = _told(grid, goals, {axis: np.array([place[axis]]) for axis in grid.axes})
    told = [goal.sign * float(found[_name(goal, n, known)]) for n, goal in enumerate(goals)]
    # what was found later may be better by an objective that was proven to a share only
    values = [min(pair) for pair in itertools.zip_longest(best_of, told, fillvalue=math.inf)]
    proven = Certificate(
        bound=bounds,
        gap=[
            gap_of(value, goal.sign * bound)
            for value, bound, goal in zip(values, bounds, goals, strict=True)
        ],
        settled=settled,
        boxes=tally.boxes,
        visited=tally.visited,
        excluded=max(grid.points - max(tally.scanned, 1), 0),
    )
    return found.assign_attrs(method="certified", **proven.attributes())


def _told(grid: Grid, goals: Sequence[Goal], places: Places, *, many: bool = False) -> xr.Dataset:
    """The Dataset of the configurations, with every objective."""
    chosen, top = Chosen(per=(), places=places), 2 if many else 1
    known = grid.model.quantities
    found: Any = None
    for number, goal in enumerate(goals):
        if found is None or goal.text not in known:
            found_here = answer_grid(grid, goal, chosen, top)
            found = found_here.drop_vars(OBJECTIVE, errors="ignore") if found is None else found
            if goal.text not in known:
                found[_name(goal, number, known)] = found_here[OBJECTIVE]
    found.attrs["question"] = in_words(goals)
    return as_ties(found) if many else found
