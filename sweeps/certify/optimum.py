"""The certified optimum: the best configuration of a grid, with a proof that none is better."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sweeps.answers import Chosen, Goal, check_top, no_choice, per_axes
from sweeps.certify.certificate import Certificate, gap_of, none_in_time
from sweeps.certify.parts import NOTHING, Part, Winner, asked_of, best_within, parts_of
from sweeps.certify.ranking import ranked
from sweeps.certify.search import Tally, ready
from sweeps.check import check, enclosed
from sweeps.grid import Grid
from sweeps.scan import answer_grid, dims_of, grid_optimum, objective_node
from sweeps.stopping import stopped
from symbolic.errors import DseError, OutOfTimeError

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "METHODS",
    "SCANNABLE",
    "SCANNED",
    "SCANNED_A_SECOND",
    "best_of",
    "certified_optimum",
    "check_limits",
    "check_method",
]

METHODS = ("auto", "scan", "certified")
#: Up to so many points a scan takes no longer than a proof; up to so many it is what remains where
#: no proof is found in the time of a scan, at so many points a second.
SCANNED, SCANNABLE, SCANNED_A_SECOND = 1 << 27, 1 << 37, 1e9


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
    check_limits(time_limit, gap)
    if top != 1 and gap:
        raise DseError(f"top = {top} with gap = {gap:g}: the best is one; leave out gap, or top")
    deadline = math.inf if time_limit is None else time.monotonic() + time_limit
    ready(deadline)
    roots = {key: objective_node(grid, key, goal) for key in grid.graphs}
    enclosed(grid, roots)
    tally = Tally(deadline=deadline)
    check(grid, counted=False, tally=tally)
    kept = per_axes(per, tuple(grid.axes))
    shape = grid.shape(kept)
    places = {axis: np.full((*shape, top), -1) for axis in grid.axes}
    winners = []
    # several winners may be equal along axes on which nothing depends
    parts = parts_of(grid, [goal], kept if top == 1 else tuple(grid.axes))
    cells = math.prod(shape)
    for number, cell in enumerate(np.ndindex(*shape)):
        if math.isfinite(deadline):  # the time left is shared by the cells left
            now = time.monotonic()
            tally.deadline = now + max(deadline - now, 0.0) / (cells - number)
        here = dict(zip(kept, cell, strict=True))
        if top == 1:
            some = [best_within(grid, parts, here, gap, tally)]
        else:
            with np.errstate(all="ignore"):
                some = list(itertools.islice(_ranked(grid, parts, here, tally), top))
            some = some or [NOTHING]
        winners.append(some[0])
        for rank, found in enumerate(some):
            for axis in grid.axes:
                places[axis][(*cell, rank)] = -1 if found.place is None else found.place[axis]
    if all(found.place is None for found in winners):
        if tally.late:
            raise none_in_time(goal, time_limit)
        raise no_choice(goal)
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
    limited = check_method(method, time_limit, gap)
    if method == "certified" or (method == "auto" and limited):
        within = 0.0 if gap is None else gap
        return certified_optimum(grid, goal, per=per, top=top, time_limit=time_limit, gap=within)
    dims = {*dims_of(grid, [goal]), *per_axes(per, tuple(grid.axes))}
    points = math.prod(grid.shape(dims))
    if method == "auto" and points > SCANNABLE:
        return certified_optimum(grid, goal, per=per, top=top)
    if method == "auto" and top == 1 and points > SCANNED:
        try:
            found = certified_optimum(grid, goal, per=per, time_limit=points / SCANNED_A_SECOND)
        except OutOfTimeError:
            if stopped():
                raise
            return grid_optimum(grid, goal, per=per)
        if stopped() or (found.attrs["gap"] == 0 and found.attrs["settled"]):
            return found
    return grid_optimum(grid, goal, per=per, top=top)


def check_method(method: str, time_limit: Any, gap: Any) -> bool:
    """Refuse what is no method, or limits of a scan; whether there are limits."""
    if method not in METHODS:
        raise DseError(f"method = {method!r}: expected one of {', '.join(METHODS)}")
    limited = time_limit is not None or gap is not None
    if method == "scan" and limited:
        raise DseError("a scan looks at every point: time_limit and gap need method='certified'")
    check_limits(time_limit, gap)
    return limited


def check_limits(time_limit: Any, gap: Any = None) -> None:
    """Refuse limits that are no numbers, or below 0."""
    for name, value in (("time_limit", time_limit), ("gap", gap)):
        wrong = isinstance(value, bool) or not isinstance(value, (int, float))
        if value is not None and (wrong or not 0 <= value < math.inf):
            raise DseError(f"{name} = {value!r}: expected a number that is not below 0")


def _ranked(
    grid: Grid, parts: Sequence[Part], cell: Mapping[str, int], tally: Tally
) -> Iterator[Winner]:
    """The configurations at some indices of the ``per`` axes, the best first."""

    def of(part: Part) -> Iterator[tuple[float, tuple[int, ...]]]:
        for value, place in ranked(part.root, part.leaves, part.sizes, cell, tally):
            index = {**place, **part.labels}
            yield value, tuple(int(index.get(axis, 0)) for axis in grid.axes)

    for value, index in heapq.merge(*map(of, asked_of(parts, cell))):
        place = dict(zip(grid.axes, index, strict=True))
        yield Winner(place=place, value=value, bound=value, settled=True)


def _certificate(grid: Grid, goal: Goal, winners: Sequence[Winner], tally: Tally) -> Certificate:
    found = [winner for winner in winners if winner.place is not None]
    gaps = [gap_of(winner.value, winner.bound) for winner in winners]
    worst = found[int(np.argmax([gap_of(winner.value, winner.bound) for winner in found]))]
    return Certificate(
        bound=goal.sign * worst.bound,
        gap=max(gaps),
        settled=all(winner.settled for winner in winners),
        boxes=tally.boxes,
        visited=tally.visited,
        excluded=max(grid.points - max(tally.scanned, len(found)), 0),
    )
