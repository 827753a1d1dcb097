"""Questions of a grid that is not stored: a fused nest keeps the best of each tile."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.answers import (
    OBJECTIVE,
    Chosen,
    Goal,
    answer,
    answer_points,
    check_top,
    choose,
    per_axes,
    spread,
    trimmed,
    with_idle_axes,
)
from sweeps.check import check
from sweeps.compile import compiled
from sweeps.dataset import axis_coordinates, describe
from sweeps.grid import FEASIBLE, Grid, Leaf
from sweeps.reduce import front, smallest
from sweeps.run import TILE, in_threads, prepare
from symbolic.errors import InfeasibleError
from symbolic.expression import parse
from symbolic.ops import Node, both, constant, interpret_all, references, substitute, where

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["grid_optimum", "grid_pareto"]

#: Points of a tile that is only reduced, and below which NumPy does it.
REDUCED_TILE, SMALL = 1 << 24, 1 << 16


def grid_optimum(
    grid: Grid, goal: Goal, *, per: str | Sequence[str] | None = None, top: int = 1
) -> xr.Dataset:
    """The best configurations of a grid, found by a fused nest that stores nothing.

    Parameters
    ----------
    grid : Grid
        Its outputs are reported for each winner; its conditions must hold there.
    goal : Goal
        What to make small or large.
    per : str or sequence of str, optional
        Axes for each value of which a winner is wanted.
    top : int
        How many, best first; ties go to the lowest index in axis order.

    Raises
    ------
    InfeasibleError
        No point satisfies the conditions, or the objective is finite nowhere.
    """
    check_top(top)
    check(grid)
    kept = per_axes(per, tuple(grid.axes))
    objectives = {key: _objective(grid, key, goal) for key in grid.graphs}
    dims = grid.ordered({*_dims_of(grid, [goal]), *kept})
    sizes = {axis: grid.axes[axis].size for axis in grid.axes}
    if math.prod(grid.shape(dims)) <= SMALL:
        flat, scores, rest = choose(_over(grid, objectives, dims), dims, kept, top)
    else:
        flat, scores, rest = _fused(grid, objectives, dims, kept, top)
    flat, rest = with_idle_axes(flat, scores, rest, kept, sizes)
    chosen = Chosen(per=kept, places=spread(trimmed(flat, kept), rest, kept, sizes))
    if np.all(flat < 0):
        raise InfeasibleError(
            f"{goal.text} is finite at no feasible point: nothing to choose; relax the constraints "
            "or change the axes"
        )
    return _answer_grid(grid, goal, chosen, top)


def _objective(grid: Grid, key: tuple[str, ...], goal: Goal) -> Node:
    """The signed objective over the leaves, infinite where a condition fails or it is no number."""
    graph = grid.graphs[key]
    value = _flat(grid, key, goal.node(grid.model.quantities))
    holds = value > -math.inf  # so neither NaN nor an infinity to be maximised
    if graph.conditions:
        holds = both(grid.feasible_node(key), holds)
    return constant(where(holds, value, math.inf))


def _flat(grid: Grid, key: tuple[str, ...], node: Node) -> Node:
    graph = grid.graphs[key]
    return substitute(node, {name: graph.flat(name) for name in references(node)})


def _dims_of(grid: Grid, goals: Sequence[Goal]) -> set[str]:
    names = {n for goal in goals for n in references(goal.node(grid.model.quantities))}
    dims = {dim for name in names for dim in grid.dims(name)}
    return dims | set(grid.dims(FEASIBLE))


def _over(
    grid: Grid, nodes: Mapping[tuple[str, ...], Node], dims: Sequence[str]
) -> NDArray[np.float64]:
    """A node of each graph over all given axes, switch axes included, in NumPy."""
    switched = [d for d in dims if d in grid.switch_axes]
    plain = [d for d in dims if d not in grid.switch_axes]
    inner = (*switched, *plain)
    full = np.empty(grid.shape(inner))
    for index, key in grid.keys(dims):
        piece: tuple[Any, ...] = (*index, ...)
        full[piece] = grid.evaluate([nodes[key]], key, plain)[0]
    return full.transpose([inner.index(dim) for dim in dims])


def _fused(
    grid: Grid,
    objectives: Mapping[tuple[str, ...], Node],
    dims: Sequence[str],
    per: Sequence[str],
    top: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64], tuple[str, ...]]:
    """As :func:`choose`, by the fused nest: each tile keeps its best, the tiles are merged."""
    rest = tuple(dim for dim in dims if dim not in per)
    shape = grid.shape(per)
    found = np.full((*shape, top), -1, dtype=np.int64)
    best = np.full((*shape, top), np.inf)
    plain_per = [d for d in per if d not in grid.switch_axes]
    plain_rest = [d for d in rest if d not in grid.switch_axes]
    switched = [d for d in dims if d in grid.switch_axes]
    for index, key in grid.keys(dims):
        at = dict(zip(switched, index, strict=True))
        for fixed in np.ndindex(*grid.shape(plain_per)):
            here = {**at, **dict(zip(plain_per, fixed, strict=True))}
            part = _restrict(grid, key, dict(zip(plain_per, fixed, strict=True)))
            values, flat = _fused_one(part, key, objectives[key], plain_rest, top)
            places = _to_rest(flat, plain_rest, at, rest, grid)
            slot = tuple(here[d] for d in per)
            values = np.concatenate([best[slot], values])
            places = np.concatenate([found[slot], places])
            order = np.lexsort((places, values))[:top]
            best[slot], found[slot] = values[order], places[order]
    found[~np.isfinite(best)] = -1
    return found, best, rest


def _restrict(grid: Grid, key: tuple[str, ...], fixed: Mapping[str, int]) -> Grid:
    """The grid with some axes held at one index (they vanish from the leaves)."""
    if not fixed:
        return grid
    leaves = {}
    for name, leaf in grid.leaves[key].items():
        index = tuple(fixed.get(axis, slice(None)) for axis in leaf.axes)
        axes = tuple(axis for axis in leaf.axes if axis not in fixed)
        leaves[name] = Leaf(axes=axes, array=np.asarray(leaf.array[index]))
    return replace(grid, leaves={**grid.leaves, key: leaves}, _dims={})


def _to_rest(
    flat: NDArray[np.int64],
    plain: Sequence[str],
    at: Mapping[str, int],
    rest: Sequence[str],
    grid: Grid,
) -> NDArray[np.int64]:
    """From flat indices over the switch-free axes to flat indices over ``rest``."""
    if not any(dim in at for dim in rest):
        return flat
    split = np.unravel_index(np.maximum(flat, 0), grid.shape(plain)) if plain else ()
    along = dict(zip(plain, split, strict=True))
    index = [along.get(d, np.full(flat.shape, at.get(d, 0))) for d in rest]
    places = np.ravel_multi_index(index, grid.shape(rest)).astype(np.int64)
    places[flat < 0] = -1
    return places


def _fused_one(
    grid: Grid, key: tuple[str, ...], objective: Node, dims: Sequence[str], top: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The ``top`` smallest values over some axes and their flat indices (-1: none)."""
    points = math.prod(grid.shape(dims))
    if points <= SMALL:
        values = grid.evaluate([objective], key, dims)[0].reshape(-1)
        flat = smallest(values, top)
        return values[flat].astype(np.float64), flat
    ready = prepare(grid, key, dims, [(objective, "float")], reduce=True)
    compiled(ready.nest)
    tiling = ready.tiling(REDUCED_TILE)

    def work(number: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        bounds, _, _ = tiling.bounds(number)
        values = np.full(top, np.inf)
        places = np.full(top, -1, dtype=np.int64)
        ready.run(bounds, 0, values, places)
        return values, places

    results = in_threads([lambda n=n: work(n) for n in range(tiling.count)])  # type: ignore[misc]
    values = np.concatenate([v for v, _ in results])
    places = np.concatenate([p for _, p in results])
    order = np.lexsort((places, values))[:top]
    return values[order], places[order]


def _answer_grid(grid: Grid, goal: Goal, chosen: Chosen, top: int) -> xr.Dataset:
    shape = next(iter(chosen.places.values())).shape if chosen.places else (1,)
    flat = {axis: np.maximum(index, 0).reshape(-1) for axis, index in chosen.places.items()}
    names = [*grid.outputs, *([FEASIBLE] if grid.conditions else [])]
    found: dict[str, tuple[NDArray[Any], dict[str, Any]]] = {
        name: (array.reshape(shape), describe(grid, name))
        for name, array in grid.at_points(flat, names).items()
    }
    if goal.text not in grid.model.quantities:
        needed = list(references(goal.node(grid.model.quantities)))
        values = {n: a.astype(np.float64) for n, a in grid.at_points(flat, needed).items()}
        formula = parse(goal.text, grid.model.quantities)
        with np.errstate(all="ignore"):  # there may be no winner in some places
            number = np.asarray(interpret_all((formula,), values)[0])
        number = np.broadcast_to(number, math.prod(shape)).reshape(shape)
        found[OBJECTIVE] = (number, {"long_name": goal.text})
    coordinates = {
        name: (dims[0], array, attrs)
        for name, (dims, array, attrs) in axis_coordinates(grid).items()
    }
    return answer(coordinates, found, chosen, top, goal)


def _fronts(
    grid: Grid, goals: Sequence[Goal], key: tuple[str, ...], dims: Sequence[str]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Objectives and flat indices of each tile's own front over the switch-free axes."""
    nodes = [_objective(grid, key, goal) for goal in goals]
    points = math.prod(grid.shape(dims))
    if points <= SMALL:
        values = np.stack([a.reshape(-1) for a in grid.evaluate(nodes, key, dims)])
        places = front(values)
        yield values[:, places], places
        return
    ready = prepare(grid, key, dims, [(node, "float") for node in nodes])
    compiled(ready.nest)
    tiling = ready.tiling(TILE)

    def work(number: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        bounds, origin, size = tiling.bounds(number)
        values = np.empty((len(goals), size))
        ready.run(bounds, origin, *values)
        places = front(values)
        return values[:, places], places + origin

    yield from in_threads([lambda n=n: work(n) for n in range(tiling.count)])  # type: ignore[misc]


def grid_pareto(grid: Grid, goals: Sequence[Goal]) -> xr.Dataset:
    """The configurations that no other beats in every objective, tile by tile.

    The result has the dimension ``point``, in axis order. Of configurations equal in every
    objective the first in axis order stands for all.
    """
    check(grid)
    dims = grid.ordered(_dims_of(grid, goals))
    plain = [d for d in dims if d not in grid.switch_axes]
    switched = [d for d in dims if d in grid.switch_axes]
    values, places = [np.empty((len(goals), 0))], [np.empty(0, dtype=np.int64)]
    for index, key in grid.keys(dims):
        at = dict(zip(switched, index, strict=True))
        for part, flat in _fronts(grid, goals, key, plain):
            values.append(part)
            places.append(_to_rest(flat, plain, at, dims, grid))
    joined, flat = np.concatenate(values, axis=1), np.concatenate(places)
    order = np.argsort(flat, kind="stable")
    best = flat[order][front(np.ascontiguousarray(joined[:, order]))]
    if not best.size:
        raise InfeasibleError("no feasible point has finite objectives: relax the constraints")
    sizes = {axis: grid.axes[axis].size for axis in grid.axes}
    places_of = spread(best, dims, (), sizes)
    names = [*grid.outputs, *([FEASIBLE] if grid.conditions else [])]
    found = {n: (a, describe(grid, n)) for n, a in grid.at_points(places_of, names).items()}
    coordinates = {
        name: (axis[0], array, attrs)
        for name, (axis, array, attrs) in axis_coordinates(grid).items()
    }
    return answer_points(coordinates, found, places_of, goals)
