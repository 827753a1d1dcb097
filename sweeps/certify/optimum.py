"""The certified optimum: the best configuration of a grid, with a proof that none is better."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sweeps.answers import Chosen, Goal, check_top, per_axes
from sweeps.certify.certificate import Certificate
from sweeps.certify.descent import descend
from sweeps.certify.earliest import first_place
from sweeps.certify.merging import reduced
from sweeps.certify.ranking import ranked
from sweeps.certify.search import Least, Tally, ready, search
from sweeps.check import check, enclosed
from sweeps.grid import Grid, Leaf
from sweeps.scan import answer_grid, dims_of, grid_optimum, objective_node
from symbolic.errors import DseError, InfeasibleError, OutOfTimeError
from symbolic.ops import Node

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["METHODS", "best_of", "certified_optimum"]

METHODS = ("auto", "scan", "certified")
#: Up to so many points a scan takes no longer than a proof; up to so many it is what remains where
#: no proof is found in the time of a scan, at so many points a second.
_SCANNED, _SCANNABLE, _RATE = 1 << 27, 1 << 37, 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """The grid under one label of each switch axis: an objective over the other axes."""

    labels: Mapping[str, int]
    root: Node
    leaves: Mapping[str, Leaf]
    sizes: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Winner:
    """The best of a part of the grid: an index along every axis, and what is proven of it."""

    place: Mapping[str, int] | None
    value: float
    bound: float
    settled: bool


def certified_optimum(
    grid: Grid,
    goal: Goal,
    *,
    per: str | Sequence[str] | None = None,
    top: int = 1,
    time_limit: float | None = None,
    gap: float = 0.0,
) -> xr.Dataset:
    """The best configuration of a grid with a proof that none is better.

    Parameters
    ----------
    grid, goal, per :
        As for :func:`sweeps.scan.grid_optimum`; of equal configurations the first in the order of
        the axes wins, as there.
    top : int
        How many, best first; each is proven to be the next.
    time_limit : float, optional
        Seconds after which the best found is returned, with the bound proven so far.
    gap : float
        How far from the optimum the answer may be, as a share of its value.

    Returns
    -------
    xarray.Dataset
        As of a scan; its attributes hold the certificate.

    Raises
    ------
    InfeasibleError
        No point satisfies the conditions, or none was found in time.
    """
    check_top(top)
    _check_limits(time_limit, gap)
    if top != 1 and gap:
        raise DseError(f"top = {top} with gap = {gap:g}: the best is one; leave out gap, or top")
    ready()  # once a process, and no part of the time that is limited
    began = time.monotonic()
    deadline = math.inf if time_limit is None else began + time_limit
    roots = {key: objective_node(grid, key, goal) for key in grid.graphs}
    enclosed(grid, roots)
    check(grid, counted=False)
    kept = per_axes(per, tuple(grid.axes))
    shape = grid.shape(kept)
    tally = Tally()
    places = {axis: np.full((*shape, top), -1) for axis in grid.axes}
    winners = []
    # several winners may be equal along axes on which nothing depends
    parts = _parts(grid, goal, kept if top == 1 else tuple(grid.axes))
    cells = math.prod(shape)
    for number, cell in enumerate(np.ndindex(*shape)):
        if math.isfinite(deadline):  # the time left is shared by the cells left
            now = time.monotonic()
            tally.deadline = now + max(deadline - now, 0.0) / (cells - number)
        here = dict(zip(kept, cell, strict=True))
        if top == 1:
            some = [_best(grid, parts, here, gap, tally)]
        else:
            with np.errstate(all="ignore"):
                some = list(itertools.islice(_ranked(grid, parts, here, tally), top))
            some = some or [_NOTHING]
        winners.append(some[0])
        for rank, found in enumerate(some):
            for axis in grid.axes:
                places[axis][(*cell, rank)] = -1 if found.place is None else found.place[axis]
    if all(found.place is None for found in winners):
        if tally.late:
            raise OutOfTimeError(
                f"no feasible point with a finite {goal.text} was found in {time_limit:g} s, nor "
                "is it proven that there is none: give more time, or relax the constraints"
            )
        raise InfeasibleError(
            f"{goal.text} is finite at no feasible point: nothing to choose; relax the constraints "
            "or change the axes"
        )
    if not kept:  # without the ranks that no point takes
        ranks = max(int(np.count_nonzero(next(iter(places.values()), np.zeros(1)) >= 0)), 1)
        places = {axis: index[:ranks] for axis, index in places.items()}
    chosen = Chosen(per=kept, places=places)
    proven = _certificate(grid, goal, winners, tally)
    told = {"method": "certified", **proven.attributes()}
    return answer_grid(grid, goal, chosen, top).assign_attrs(told)


def best_of(
    grid: Grid,
    goal: Goal,
    *,
    per: str | Sequence[str] | None = None,
    top: int = 1,
    method: str = "auto",
    time_limit: float | None = None,
    gap: float | None = None,
) -> xr.Dataset:
    """The best configurations, by a scan or certified; the attribute ``method`` says which.

    ``"auto"`` scans small grids, for several winners larger ones, too. Otherwise it looks for a
    proof, and scans where none is found in the time that a scan takes, if that is reasonable.
    """
    if method not in METHODS:
        raise DseError(f"method = {method!r}: expected one of {', '.join(METHODS)}")
    limited = time_limit is not None or gap is not None
    if method == "scan" and limited:
        raise DseError("a scan looks at every point: time_limit and gap need method='certified'")
    if method == "certified" or (method == "auto" and limited):
        within = 0.0 if gap is None else gap
        return certified_optimum(grid, goal, per=per, top=top, time_limit=time_limit, gap=within)
    dims = {*dims_of(grid, [goal]), *per_axes(per, tuple(grid.axes))}
    points = math.prod(grid.shape(dims))
    if method == "auto" and points > _SCANNABLE:
        return certified_optimum(grid, goal, per=per, top=top)
    if method == "auto" and top == 1 and points > _SCANNED:
        try:
            found = certified_optimum(grid, goal, per=per, time_limit=points / _RATE)
        except OutOfTimeError:
            return grid_optimum(grid, goal, per=per)
        if found.attrs["gap"] == 0 and found.attrs["settled"]:
            return found
    return grid_optimum(grid, goal, per=per, top=top)


def _check_limits(time_limit: Any, gap: Any) -> None:
    for name, value in (("time_limit", time_limit), ("gap", gap)):
        wrong = isinstance(value, bool) or not isinstance(value, (int, float))
        if value is not None and (wrong or not 0 <= value < math.inf):
            raise DseError(f"{name} = {value!r}: expected a number that is not below 0")


def _parts(grid: Grid, goal: Goal, kept: Sequence[str]) -> list[_Part]:
    """The objective under each label of the switch axes."""
    dims = grid.ordered({*dims_of(grid, [goal]), *kept})
    sizes = {axis: grid.axes[axis].size for axis in dims if axis not in grid.switch_axes}
    switched = [axis for axis in dims if axis in grid.switch_axes]
    return [
        _Part(
            labels=dict(zip(switched, index, strict=True)),
            root=objective_node(grid, key, goal),
            leaves=grid.leaves[key],
            sizes=sizes,
        )
        for index, key in grid.keys(dims)
    ]


def _best(
    grid: Grid, parts: Sequence[_Part], cell: Mapping[str, int], gap: float, tally: Tally
) -> _Winner:
    """The best of the grid at some indices of the ``per`` axes."""
    asked = [p for p in parts if all(cell.get(a, index) == index for a, index in p.labels.items())]
    with np.errstate(all="ignore"):
        spaces = [reduced(part.root, part.leaves, part.sizes, cell) for part in asked]
        goals = [Least(gap=gap) for _ in asked]
        least = bound = math.inf
        for goal, space in zip(goals, spaces, strict=True):
            goal.heed(least)
            improve = partial(descend, space.problem, goal, tally)
            bound = min(bound, search(space.problem, goal, tally, improve), goal.aside)
            least = goal.value
        bound = min(bound, least)
        firsts: list[tuple[tuple[int, ...], dict[str, int]]] = []
        settled = bound == least
        for part, goal, space in zip(asked, goals, spaces, strict=True):
            goal.heed(least)
            place = None if goal.place is None else space.original(goal.place)
            if bound == least < math.inf:
                place, proven = first_place(
                    part.root, part.leaves, part.sizes, place, least, tally, cell
                )
                settled &= proven
            if place is not None:
                index = {**place, **part.labels}
                whole = {axis: int(index.get(axis, 0)) for axis in grid.axes}
                firsts.append((tuple(whole.values()), whole))
    first = min(firsts, default=((), None))[1]
    return _Winner(place=first, value=least, bound=bound, settled=settled)


_NOTHING = _Winner(place=None, value=math.inf, bound=math.inf, settled=True)


def _ranked(
    grid: Grid, parts: Sequence[_Part], cell: Mapping[str, int], tally: Tally
) -> Iterator[_Winner]:
    """The configurations at some indices of the ``per`` axes, the best first."""

    def of(part: _Part) -> Iterator[tuple[float, tuple[int, ...]]]:
        for value, place in ranked(part.root, part.leaves, part.sizes, cell, tally):
            index = {**place, **part.labels}
            yield value, tuple(int(index.get(axis, 0)) for axis in grid.axes)

    asked = [p for p in parts if all(cell.get(a, index) == index for a, index in p.labels.items())]
    for value, index in heapq.merge(*map(of, asked)):
        place = dict(zip(grid.axes, index, strict=True))
        yield _Winner(place=place, value=value, bound=value, settled=True)


def _certificate(grid: Grid, goal: Goal, winners: Sequence[_Winner], tally: Tally) -> Certificate:
    found = [winner for winner in winners if winner.place is not None]
    gaps = [_gap(winner) for winner in winners]
    worst = found[int(np.argmax([_gap(winner) for winner in found]))]
    return Certificate(
        bound=goal.sign * worst.bound,
        gap=max(gaps),
        settled=all(winner.settled for winner in winners),
        boxes=tally.boxes,
        visited=tally.visited,
        excluded=max(grid.points - tally.scanned, 0),
    )


def _gap(winner: _Winner) -> float:
    if winner.bound == winner.value:
        return 0.0
    below = winner.value - winner.bound
    return below / abs(winner.value) if winner.value else math.inf
