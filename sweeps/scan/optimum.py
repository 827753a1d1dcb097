"""Find the best points or the front of a grid. The grid is evaluated tile by tile."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from stochastic import sizes
from sweeps.bounds.checks import check_grid
from sweeps.bounds.problem import Enclosures, Floats, Indices, Key, Mask, Roots
from sweeps.grid.goals import Goal, dims_of, objective_node
from sweeps.grid.grid import Grid, ravel, subgrid, unravel
from sweeps.nest import tiles
from sweeps.nest.emit import compile_nest
from sweeps.nest.reduce import (
    non_dominated_by,
    pareto_indices,
    round_to_cells,
    smallest_indices,
)
from sweeps.nest.run import prepare
from sweeps.nest.tiles import SkippedTiles, aggregate_points, iterate_tiles
from sweeps.runtime.progress import report_best, report_front_size
from sweeps.runtime.search_loop import iterate_batches
from symbolic.errors import InfeasibleError, OutOfTimeError
from symbolic.ops import Node


def top_k(
    values: Floats, dims: Sequence[str], per: Sequence[str], count: int
) -> tuple[Indices, Floats, tuple[str, ...]]:
    """Return the ``count`` smallest values for each cell of the axes ``per``.

    There are three results: flat indices over the other axes (-1 if there is no finite value), the
    values, and the names of the other axes. Indices and values have the shape (*per, count).
    """
    rest = tuple(dim for dim in dims if dim not in per)
    moved = values.transpose([dims.index(dim) for dim in (*per, *rest)])
    shape = moved.shape[: len(per)]
    rows = moved.reshape(math.prod(shape), -1)
    if count == 1 and rows.size:
        best = rows.argmin(axis=1)
        scores = np.take_along_axis(rows, best[:, None], axis=1)
        result = np.where(scores < np.inf, best[:, None], -1).astype(np.int64)
        return result.reshape(*shape, 1), scores.reshape(*shape, 1), rest
    result = np.full((len(rows), count), -1, dtype=np.int64)
    scores = np.full((len(rows), count), np.inf)
    for place, row in enumerate(rows):
        best = smallest_indices(row, count)
        result[place, : best.size] = best
        scores[place, : best.size] = row[best]
    return result.reshape(*shape, count), scores.reshape(*shape, count), rest


def broadcast_axes(
    values: Floats, dims: Sequence[str], extra_axes: Sequence[str], sizes: Mapping[str, int]
) -> tuple[Floats, tuple[str, ...]]:
    """Return values broadcast along the axes ``extra_axes``, and the names of all axes."""
    whole = tuple(axis for axis in sizes if axis in dims or axis in extra_axes)
    shape = [sizes[axis] if axis in dims else 1 for axis in whole]
    return np.broadcast_to(values.reshape(shape), [sizes[axis] for axis in whole]), whole


def add_idle_axes(
    flat: Indices, values: Floats, rest: Sequence[str], per: Sequence[str], sizes: Mapping[str, int]
) -> tuple[Indices, Floats, tuple[str, ...]]:
    """Return the winners over all axes, including idle axes, along which all points tie.

    ``flat`` and ``values`` are results of :func:`top_k` over the axes ``rest``. The winners over
    all axes are these results at the first indices of the idle axes.
    """
    idle = [axis for axis in sizes if axis not in rest and axis not in per]
    top = flat.shape[-1]
    if top == 1 or not idle:
        return flat, values, tuple(rest)
    whole = tuple(axis for axis in sizes if axis not in per)
    shape = [sizes[axis] for axis in idle]
    copies = unravel(np.arange(min(top, math.prod(shape))), shape)
    index = dict(zip(idle, copies, strict=True))
    if rest:
        split = unravel(np.maximum(flat, 0), [sizes[axis] for axis in rest])
        index.update({axis: i[..., None] for axis, i in zip(rest, split, strict=True)})
    result = ravel([index[axis] for axis in whole], [sizes[axis] for axis in whole])
    result = np.where(flat[..., None] < 0, -1, result)
    scores = np.broadcast_to(values[..., None], result.shape).reshape(*flat.shape[:-1], -1)
    result = result.reshape(*flat.shape[:-1], -1)
    order = np.lexsort((result, scores))[..., :top]
    best = np.take_along_axis(scores, order, axis=-1)
    return np.take_along_axis(result, order, axis=-1), best, whole


def unravel_places(
    flat: Indices, rest: Sequence[str], per: Sequence[str], sizes: Mapping[str, int]
) -> dict[str, Indices]:
    """Convert flat indices over ``rest``, of shape (*per, top), to an index along every axis."""
    split = unravel(np.maximum(flat, 0), tuple(sizes[axis] for axis in rest))
    places = {axis: np.zeros(flat.shape, dtype=np.int64) for axis in sizes}
    for axis, index in zip(rest, split, strict=True):
        places[axis] = np.asarray(index, dtype=np.int64)
    for position, axis in enumerate(per):
        steps = np.arange(sizes[axis])
        steps = steps.reshape([-1 if k == position else 1 for k in range(flat.ndim)])
        places[axis] = np.broadcast_to(steps, flat.shape).copy()
    for axis in places:
        places[axis][flat < 0] = -1
    return places


REDUCED_TILE = sizes.SCAN_TILE
BLOCK = sizes.SCAN_BLOCK


def scan_top_k(
    grid: Grid,
    objectives: Roots,
    dims: Sequence[str],
    per: Sequence[str],
    top: int,
    skipped_tiles: SkippedTiles,
) -> tuple[Indices, Floats, tuple[str, ...]]:
    """Return :func:`top_k` of an objective over ``dims``; the objective has a node per graph."""
    points = math.prod(grid.shape(dims))
    if points <= tiles.NUMPY_POINTS:
        return top_k(grid.evaluate_cases(objectives, dims), dims, per, top)
    short = points // math.prod(grid.shape(per)) <= tiles.NUMPY_POINTS
    if per and per[0] not in grid.switch_axes and short:
        return _top_k_in_blocks(grid, objectives, dims, per, top)
    # a loop nest stores only the best values of each tile
    rest = tuple(dim for dim in dims if dim not in per)
    shape = grid.shape(per)
    result = np.full((*shape, top), -1, dtype=np.int64)
    best = np.full((*shape, top), np.inf)
    plain_per, plain_rest = grid.non_switch_axes(per), grid.non_switch_axes(rest)
    for at, key in grid.keys(dims):
        for fixed in np.ndindex(*grid.shape(plain_per)):
            here = {**at, **dict(zip(plain_per, fixed, strict=True))}
            part = subgrid(grid, dict(zip(plain_per, fixed, strict=True)))
            values, flat = _top_k_of_case(
                part, key, objectives[key], grid.non_switch_axes(dims), top, skipped_tiles
            )
            places = ravel_with_switches(flat, plain_rest, at, rest, grid)
            slot = tuple(here[d] for d in per)
            best[slot], result[slot] = _merge_top_k(best[slot], result[slot], values, places)
    result[~np.isfinite(best)] = -1
    return result, best, rest


def _top_k_in_blocks(
    grid: Grid, objectives: Roots, dims: Sequence[str], per: Sequence[str], top: int
) -> tuple[Indices, Floats, tuple[str, ...]]:
    """Return :func:`top_k` for many short rankings, block by block along the first ``per`` axis."""
    size = grid.axes[per[0]].size
    step = max(1, BLOCK * size // math.prod(grid.shape(dims)))
    parts = []
    rows = [slice(low, min(low + step, size)) for low in range(0, size, step)]
    each = math.prod(grid.shape(dims)) // size
    batches = ((row, each * (row.stop - row.start)) for row in rows)
    for some in iterate_batches(batches, each * size):
        cut = subgrid(grid, {per[0]: some})
        parts.append(top_k(cut.evaluate_cases(objectives, dims), dims, per, top))
    flat, scores = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    return flat, scores, parts[0][2]


def _merge_top_k(
    best: Floats, best_places: Indices, values: Any, places: Any
) -> tuple[Floats, Indices]:
    joined, at = np.concatenate([best, values]), np.concatenate([best_places, places])
    order = np.lexsort((at, joined))[: best.size]
    return joined[order], at[order]


def ravel_with_switches(
    flat: Indices, plain: Sequence[str], labels: Mapping[str, int], rest: Sequence[str], grid: Grid
) -> Indices:
    """Convert flat indices over ``plain`` into flat indices over ``rest``, given switch labels."""
    if not any(dim in labels for dim in rest):
        return flat
    along = dict(zip(plain, unravel(np.maximum(flat, 0), grid.shape(plain)), strict=True))
    index = [along.get(d, np.full(flat.shape, labels.get(d, 0))) for d in rest]
    places = ravel(index, grid.shape(rest))
    places[flat < 0] = -1
    return places


def _top_k_of_case(
    grid: Grid, key: Key, node: Node, dims: Sequence[str], top: int, skipped_tiles: SkippedTiles
) -> tuple[Floats, Indices]:
    """Return the ``top`` smallest values over some axes, and their flat indices (-1: no value)."""
    points = math.prod(grid.shape(dims))
    if points <= tiles.NUMPY_POINTS:
        values = grid.evaluate([node], key, dims)[0].reshape(-1)
        flat = smallest_indices(values, top)
        return values[flat].astype(np.float64), flat
    ready = prepare(grid, key, dims, [(node, "float")], reduce=True)
    compile_nest(ready.nest)
    tiling = ready.tiling(REDUCED_TILE)
    best, result = np.full(top, np.inf), np.full(top, -1, dtype=np.int64)

    def may_improve(enclosures: list[Any], _: Any) -> Mask:
        return np.asarray(enclosures[0].lo < best[-1])  # ties go to earlier tiles

    def work(numbers: Indices) -> tuple[Floats, Indices]:
        values, places = np.full(top, np.inf), np.full(top, -1, dtype=np.int64)
        for number in numbers.tolist():
            ready.run(tiling.bounds(number)[0], 0, values, places)
        return values, places

    known = Enclosures.from_grid(grid, key, [node], dims)
    for values, places in iterate_tiles(
        tiling, ready.row, known, may_improve, work, skipped_tiles, partial=True
    ):
        best, result = _merge_top_k(best, result, values, places)
        report_best(float(best[0]))
    return best, result


class _RunningFront:
    def __init__(self, objectives: int) -> None:
        self.values = np.empty((objectives, 0))
        self.places = np.empty(0, dtype=np.int64)

    def add(self, values: Floats, places: Indices) -> None:
        places = np.concatenate([self.places, places])
        order = np.argsort(places, kind="stable")
        joined = np.ascontiguousarray(np.concatenate([self.values, values], axis=1)[:, order])
        best = pareto_indices(joined)
        self.values, self.places = joined[:, best], places[order][best]

    def may_contain_non_dominated(self, enclosures: Sequence[Any], _: Any) -> Mask:
        least = np.stack([interval.lo for interval in enclosures])
        some = self.values[:, :: -(-self.places.size // sizes.FRONT_JUDGES) or 1]
        last = np.full(some.shape[1], least.shape[1])  # equal points dominate nothing
        left = non_dominated_by(least, some, last)
        return np.isin(np.arange(least.shape[1]), left) & np.all(least < math.inf, axis=0)


def scan_front(
    grid: Grid, goals: Sequence[Goal], skipped_tiles: SkippedTiles, share: float = 0.0
) -> dict[str, Any]:
    """Return the front as an index along every axis, in axis order and without equal points.

    With ``share``, return the front of the objectives rounded down within this share.
    """
    check_grid(grid)
    dims, whole = grid.sort_axes(dims_of(grid, goals)), _RunningFront(len(goals))
    plain = grid.non_switch_axes(dims)

    def add_tile(tile_front: _RunningFront, values: Floats, _: Any, origin: int) -> None:
        left = round_to_cells(values, share)
        some = tile_front.values[:, :: -(-tile_front.places.size // sizes.FRONT_JUDGES) or 1]
        left = left[non_dominated_by(values[:, left], some, np.full(some.shape[1], -1))]
        left = left[pareto_indices(values[:, left])]
        tile_front.add(values[:, left], left + origin)

    for at, key in grid.keys(dims):
        nodes, part = [objective_node(grid, key, goal) for goal in goals], _RunningFront(len(goals))
        new, judge = partial(_RunningFront, len(goals)), part.may_contain_non_dominated
        for tiles_front in aggregate_points(
            grid, key, plain, nodes, None, new, add_tile, judge, skipped_tiles, partial=True
        ):
            part.add(tiles_front.values, tiles_front.places)
            report_front_size(part.places.size)
        whole.add(part.values, ravel_with_switches(part.places, plain, at, dims, grid))
    best = whole.places
    if not best.size and skipped_tiles.points_left:
        raise OutOfTimeError("no point of the front was found in time: give more time")
    if not best.size:
        raise InfeasibleError("no feasible point has finite objectives: relax the constraints")
    return unravel_places(best, dims, (), {axis: grid.axes[axis].size for axis in grid.axes})
