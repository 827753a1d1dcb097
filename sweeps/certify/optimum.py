"""Find, certify and rank the best points of a grid under all labels of its switch axes."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from stochastic import sizes
from sweeps.bounds.checks import first_configuration, lowest_along_axis
from sweeps.bounds.merge_axes import merge_axes
from sweeps.bounds.problem import BoxProblem, Indices, Key, Leaves, MergedProblem
from sweeps.bounds.search import Incumbent, search
from sweeps.grid.goals import Goal, dims_of, objective_node
from sweeps.grid.grid import Grid
from sweeps.runtime.search_loop import SearchStats
from symbolic.errors import OutOfTimeError
from symbolic.node import INFINITE
from symbolic.ops import Node, both, constant, where

_SAMPLED_STARTS, _IMPROVED_STARTS = sizes.DESCENT_DRAWN, sizes.DESCENT_IMPROVED
_ROUNDS = sizes.DESCENT_ROUNDS


def coordinate_descent(problem: BoxProblem, incumbent: Incumbent, stats: SearchStats) -> None:
    """Improve the incumbent by coordinate descent from a few start points (random, fixed seed)."""
    rng = np.random.default_rng(0)
    sizes = problem.sizes
    drawn = rng.integers(0, sizes[:, None], (len(sizes), _SAMPLED_STARTS if len(sizes) else 1))
    drawn[:, 0], drawn[:, -1] = 0, sizes - 1
    values = problem.values(drawn)
    stats.visited_points += values.size
    order = np.argsort(values, kind="stable")[:_IMPROVED_STARTS]
    for number in order[values[order] < np.inf]:
        place, value = _improve(problem, drawn[:, number], float(values[number]), 1, stats)
        incumbent.offer(place[:, None], np.array([value]))
    if incumbent.place is not None:
        place, value = _improve(problem, incumbent.place, incumbent.value, 2, stats)
        incumbent.offer(place[:, None], np.array([value]))


def _improve(
    problem: BoxProblem, place: Indices, value: float, max_axes: int, stats: SearchStats
) -> tuple[Indices, float]:
    movable = np.flatnonzero(problem.sizes > 1).tolist()
    moves = [m for k in range(1, max_axes + 1) for m in itertools.combinations(movable, k)]
    for _ in range(_ROUNDS):
        before = value
        for axes in moves:
            if stats.is_late:
                return place, value
            tried = _candidate_moves(problem, place, axes)
            values = problem.values(tried)
            stats.visited_points += values.size
            best = int(np.argmin(values))
            if values[best] < value:
                place, value = tried[:, best], float(values[best])
        if value == before:
            break
    return place, value


def _candidate_moves(problem: BoxProblem, place: Indices, axes: tuple[int, ...]) -> Indices:
    most = sizes.DESCENT_ALONG if len(axes) == 1 else int(sizes.DESCENT_PAIR ** (1 / len(axes)))
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
class SwitchCase:
    """The grid under one label of each switch axis: an objective over the other axes.

    ``inner_sizes`` are the sizes of the axes that replace best values (`best_as_axis`).
    """

    labels: Mapping[str, int]
    key: Key
    root: Node
    leaves: Leaves
    sizes: Mapping[str, int]
    inner_sizes: Mapping[str, int] = field(default_factory=dict)

    def merged_problem(
        self, fixed: Mapping[str, int], stats: SearchStats, unmerged_axis: str | None = None
    ) -> MergedProblem:
        """Return the problem with some axes fixed and all others but ``unmerged_axis`` merged."""
        sizes = {**self.sizes, **self.inner_sizes}
        return merge_axes(self.root, self.leaves, sizes, fixed, stats, unmerged_axis=unmerged_axis)

    def improve_inner(self, place: Mapping[str, int], value: float) -> float:
        """Return the least value at a point over the inner axes; ``value`` is one of them."""
        if math.prod(self.inner_sizes.values()) > sizes.DESCENT_INNER:
            return value
        problem = self.merged_problem(place, SearchStats()).problem
        return float(np.min(problem.values(problem.whole_box.all_points()), initial=value))

    def grid_index(self, grid: Grid, place: Mapping[str, int]) -> tuple[int, ...]:
        """Return the index along every axis of the grid, including the switch axes."""
        whole = {**place, **self.labels}
        return tuple(int(whole.get(axis, 0)) for axis in grid.axes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Winner:
    """The best point of a cell (None if no point is feasible), and a certified lower bound.

    ``is_settled`` is True if the point is proven to be the first of all points with its value.
    """

    place: Mapping[str, int] | None
    value: float
    bound: float
    is_settled: bool


NO_WINNER = Winner(place=None, value=math.inf, bound=math.inf, is_settled=True)


def switch_cases(grid: Grid, goals: Sequence[Goal], extra_axes: Sequence[str]) -> list[SwitchCase]:
    """Return a case for each set of switch labels: the first goal over the axes of all goals."""
    dims = grid.sort_axes({*dims_of(grid, goals), *extra_axes})
    sizes = {axis: grid.axes[axis].size for axis in grid.non_switch_axes(dims)}
    return [
        SwitchCase(
            labels=at,
            key=key,
            root=objective_node(grid, key, goals[0]),
            leaves=grid.leaves[key],
            sizes=sizes,
        )
        for at, key in grid.keys(dims)
    ]


def matching_cases(cases: Sequence[SwitchCase], cell: Mapping[str, int]) -> list[SwitchCase]:
    """Return the cases whose switch labels agree with a cell (indices of the ``per`` axes)."""
    return [p for p in cases if all(cell.get(a, index) == index for a, index in p.labels.items())]


def best_in_cell(
    grid: Grid,
    cases: Sequence[SwitchCase],
    cell: Mapping[str, int],
    gap: float,
    stats: SearchStats,
    *,
    break_ties: bool = True,
) -> Winner:
    """Return the best point of a cell; with ``break_ties``, the first of equally good points."""
    cases = matching_cases(cases, cell)
    with np.errstate(all="ignore"):
        spaces = [part.merged_problem(cell, stats) for part in cases]
        goals = [Incumbent(gap=gap) for _ in cases]
        least = bound = math.inf
        for goal, space in zip(goals, spaces, strict=True):
            goal.tighten(least)
            improve = partial(coordinate_descent, space.problem, goal, stats)
            bound = min(bound, search(space.problem, goal, stats, improve), goal.discarded_bound)
            least = goal.value
        bound = min(bound, least)
        firsts: list[tuple[int, ...]] = []
        settled = break_ties and bound == least
        for part, goal, space in zip(cases, goals, spaces, strict=True):
            goal.tighten(least)
            place = None if goal.place is None else space.grid_place(goal.place)
            if place is not None and part.inner_sizes and bound < least:
                least = part.improve_inner({axis: place[axis] for axis in part.sizes}, least)
            if break_ties and bound == least < math.inf:
                place, proven = first_configuration(space, tuple(part.sizes), place, least, stats)
                settled &= proven
            if place is not None:
                firsts.append(part.grid_index(grid, place))
    first = dict(zip(grid.axes, min(firsts), strict=True)) if firsts else None
    return Winner(place=first, value=least, bound=bound, is_settled=settled)


# --- Ranking: repeatedly find the next value, then all points with this value


def ranked_winners(
    grid: Grid, cases: Sequence[SwitchCase], cell: Mapping[str, int], stats: SearchStats
) -> Iterator[Winner]:
    """Yield the points of a cell from best to worst, points of equal value in axis order."""

    def indexed_values(part: SwitchCase) -> Iterator[tuple[float, tuple[int, ...]]]:
        for value, place in _ranked_places(part, cell, stats):
            yield value, part.grid_index(grid, place)

    for value, index in heapq.merge(*map(indexed_values, matching_cases(cases, cell))):
        place = dict(zip(grid.axes, index, strict=True))
        yield Winner(place=place, value=value, bound=value, is_settled=True)


def _ranked_places(
    case: SwitchCase, fixed: Mapping[str, int], stats: SearchStats
) -> Iterator[tuple[float, dict[str, int]]]:
    value = -math.inf
    while True:
        part = replace(case, root=_restrict_above(case.root, value))
        space, goal = part.merged_problem(fixed, stats), Incumbent()
        improve = partial(coordinate_descent, space.problem, goal, stats)
        _check_in_time(search(space.problem, goal, stats, improve))
        if goal.place is None:
            return
        value, first = goal.value, space.grid_place(goal.place)
        place, proven = first_configuration(space, tuple(part.sizes), first, value, stats)
        while place is not None:
            _check_in_time(math.inf if proven else value)
            yield value, place
            place, proven = _next_tie(part, place, value, stats, fixed)
        _check_in_time(math.inf if proven else value)


def _check_in_time(open_bound: float) -> None:
    if open_bound < math.inf:
        raise OutOfTimeError(
            "not every rank was proven in time: give more time, or ask for fewer (top)"
        )


def _restrict_above(root: Node, value: float) -> Node:
    if value == -math.inf:
        return root
    if root.op == "where" and root.args[2] is INFINITE:
        return constant(where(both(root.args[0], root.args[1] > value), root.args[1], math.inf))
    return constant(where(root > value, root, math.inf))


def _next_tie(
    case: SwitchCase,
    place: Mapping[str, int],
    target: float,
    stats: SearchStats,
    fixed: Mapping[str, int],
) -> tuple[dict[str, int] | None, bool]:
    """Return the next point after ``place`` with a value <= ``target``, and True if proven."""
    free = [axis for axis in case.sizes if axis not in fixed]
    for number in reversed(range(len(free))):
        axis = free[number]
        before = {**fixed, **{name: place[name] for name in free[:number]}}
        space = case.merged_problem(before, stats, unmerged_axis=axis)
        result, proven = lowest_along_axis(
            space, axis, place[axis] + 1, case.sizes[axis], target, stats
        )
        if not proven:
            return None, False
        if result is not None:
            before[axis] = result[axis]
            space = case.merged_problem(before, stats)
            return first_configuration(space, tuple(case.sizes), result, target, stats)
    return None, True
