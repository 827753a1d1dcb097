"""All configurations within a share of the best one, listed and counted."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.answers import OBJECTIVE, Chosen, Goal, no_choice
from sweeps.certify.optimum import METHODS, SCANNED, check_limits
from sweeps.certify.parts import best_within, parts_of
from sweeps.certify.search import Tally, ready
from sweeps.check import check, enclosed
from sweeps.grid import Grid
from sweeps.inverse.targets import meeting
from sweeps.scan import answer_grid, dims_of, objective_node, to_rest
from sweeps.ties import values_of
from symbolic.errors import DseError, OutOfTimeError
from symbolic.ops import constant

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["MOST_LISTED", "check_alone", "near_best"]

Indices = NDArray[np.int64]

#: Most configurations that are listed; most boxes that are held.
MOST_LISTED, _BOXES = 1 << 20, 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """How many there are over the axes that matter, their indices unless too many, and the best."""

    count: int
    places: Indices | None
    best: float
    boxes: int = 0


def _check_share(within: Any) -> None:
    """Refuse a share that is no number, or below 0."""
    wrong = isinstance(within, bool) or not isinstance(within, (int, float))
    if wrong or not 0 <= within < math.inf:
        raise DseError(f"within = {within!r}: expected a share of the best value, such as 0.01")


def check_alone(**given: bool) -> None:
    """Refuse what asks for other configurations than all that are near the one best."""
    if others := [name for name, asked in given.items() if asked]:
        raise DseError(f"within= lists all that are near the best: leave {', '.join(others)} out")


def near_best(
    grid: Grid,
    goal: Goal,
    within: float,
    *,
    method: str = "auto",
    time_limit: float | None = None,
) -> xr.Dataset:
    """All configurations whose value is off the best by at most a share of its magnitude.

    Parameters
    ----------
    grid, goal :
        As for :func:`sweeps.scan.grid_optimum`.
    within : float
        The share: 0.01 lists what is up to 1 % worse; 0 lists the ties.
    method : {"auto", "scan", "certified"}
        Two passes over the grid, or boxes that are split until each is within, or not, throughout.
    time_limit : float, optional
        Seconds, of a certified answer, after which it gives up.

    Returns
    -------
    xarray.Dataset
        Along ``rank``, best first, equal ones in the order of the axes; the attribute
        ``configurations`` counts them.

    Raises
    ------
    DseError
        There are more than can be listed: how many, unless the time is up before.
    """
    _check_share(within)
    check_limits(time_limit)
    if method not in METHODS:
        raise DseError(f"method = {method!r}: expected one of {', '.join(METHODS)}")
    if method == "scan" and time_limit is not None:
        raise DseError("a scan looks at every point: time_limit needs method='certified'")
    dims = grid.ordered(dims_of(grid, [goal]))
    points = math.prod(grid.shape(dims))
    if method == "auto":
        method = "scan" if points <= SCANNED and time_limit is None else "certified"
    find = _scanned if method == "scan" else _certified
    found = find(grid, goal, dims, within, time_limit)
    idle = [axis for axis in grid.axes if axis not in dims]
    count = found.count * math.prod(grid.axes[axis].size for axis in idle)
    if found.places is None or count > MOST_LISTED:
        along = f"; along {', '.join(idle)} nothing varies" if idle else ""
        raise DseError(
            f"{count:,} configurations are within {within:.6g} of the best {goal.text}, "
            f"{goal.sign * found.best:.6g}, of which {MOST_LISTED:,} can be listed: ask for a "
            f"smaller share, for the best of them by top, or fix some axes by constraints{along}"
        )
    told: dict[str, Any] = {"method": method, "within": within, "configurations": count}
    if method == "certified":
        told["boxes"] = found.boxes
    return _listed(grid, goal, _whole(found.places, dims, grid)).assign_attrs(told)


def _threshold(best: float, within: float) -> float:
    return best + within * abs(best) if within else best


def _scanned(grid: Grid, goal: Goal, dims: Sequence[str], within: float, _: float | None) -> _Found:
    """By two passes over every point: the best, then what is near it."""
    check(grid)
    plain = [dim for dim in dims if dim not in grid.switch_axes]
    switched = [dim for dim in dims if dim in grid.switch_axes]
    keys = list(grid.keys(dims))
    least = min(
        float(values.min()) for _, key in keys for values, _ in values_of(grid, key, goal, plain)
    )
    if not least < math.inf:
        raise no_choice(goal)
    limit = _threshold(least, within)
    count, held = 0, [np.empty(0, dtype=np.int64)]
    for index, key in keys:
        at = dict(zip(switched, index, strict=True))
        for values, origin in values_of(grid, key, goal, plain):
            flat = np.flatnonzero(values <= limit) + origin
            count += flat.size
            held = held if count > MOST_LISTED else [*held, to_rest(flat, plain, at, dims, grid)]
    if count > MOST_LISTED:
        return _Found(count=count, places=None, best=least)
    flat, shape = np.concatenate(held), grid.shape(dims)
    places = np.stack(np.unravel_index(flat, shape)) if dims else np.zeros((0, flat.size))
    return _Found(count=count, places=places.astype(np.int64), best=least)


def _certified(
    grid: Grid, goal: Goal, dims: Sequence[str], within: float, time_limit: float | None
) -> _Found:
    """By boxes: the best with a proof, then all boxes throughout which values are near it."""
    tally = Tally()
    if time_limit is not None:
        tally.deadline = time.monotonic() + time_limit
    ready(tally.deadline)
    roots = {key: objective_node(grid, key, goal) for key in grid.graphs}
    enclosed(grid, roots)
    check(grid, counted=False, tally=tally)
    best = best_within(grid, parts_of(grid, [goal], ()), {}, 0.0, tally, settle=False)
    if best.bound < best.value:
        best_known = f", {goal.sign * best.value:.6g} so far," if best.place is not None else ""
        raise OutOfTimeError(f"the best{best_known} was not proven in time: give more time")
    if best.place is None:
        raise no_choice(goal)
    limit = _threshold(best.value, within)
    near = {key: constant(root <= limit) for key, root in roots.items()}
    met = meeting(grid, near, dims, most=_BOXES, deadline=tally.deadline)
    sizes = [
        math.prod(int(n) for n in row)
        for row in (met.hi[:, met.certain] - met.lo[:, met.certain] + 1).T
    ]
    count, boxes = sum(sizes), tally.boxes + met.bounded
    if not met.complete:
        raise OutOfTimeError(
            f"at least {count:,} configurations are within {within:.6g} of the best {goal.text}, "
            f"{goal.sign * best.value:.6g}; not all could be told "
            + ("in time: give more time" if tally.late else f"with {_BOXES:,} boxes: scan them")
            + ", a smaller share, or fix some axes by constraints"
        )
    places = _inside(met.lo, met.hi) if count <= MOST_LISTED else None
    return _Found(count=count, places=places, best=best.value, boxes=boxes)


def _inside(lo: Indices, hi: Indices) -> Indices:
    """Every point of some boxes, given as first and last index along each axis (rows)."""
    found = [np.zeros((len(lo), 0), dtype=np.int64)]
    for first, last in zip(lo.T, hi.T, strict=True):
        shape = tuple(last - first + 1)
        found.append(np.indices(shape).reshape(len(lo), math.prod(shape)) + first[:, None])
    return np.concatenate(found, axis=1)


def _whole(places: Indices, dims: Sequence[str], grid: Grid) -> dict[str, Indices]:
    """Indices along every axis, those included along which nothing varies, in axis order."""
    idle = [axis for axis in grid.axes if axis not in dims]
    shape = tuple(grid.axes[axis].size for axis in idle)
    copies = math.prod(shape)
    index = {axis: np.repeat(row, copies) for axis, row in zip(dims, places, strict=True)}
    for axis, row in zip(idle, np.indices(shape).reshape(len(idle), copies), strict=True):
        index[axis] = np.tile(row, places.shape[1])
    if not index:
        return {}
    order = np.lexsort([index[axis] for axis in reversed(tuple(grid.axes))])
    return {axis: index[axis][order] for axis in grid.axes}


def _listed(grid: Grid, goal: Goal, places: dict[str, Indices]) -> xr.Dataset:
    """The Dataset of them, the best first."""
    found = answer_grid(grid, goal, Chosen(per=(), places=places), 2)
    name = goal.text if goal.text in found.variables else OBJECTIVE
    order = np.argsort(goal.sign * found[name].values, kind="stable")
    return found.isel(rank=order).assign_coords(rank=np.arange(order.size) + 1)
