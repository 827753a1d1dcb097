"""Iterate over the tiles of a loop nest. Tiles that enclosures exclude are skipped."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from stochastic.threads import cpu_count
from sweeps.bounds.problem import Enclosures, TileNumbers, tile_boxes
from sweeps.grid.grid import Grid, Tiling
from sweeps.nest.emit import compile_nest, row_axis_count
from sweeps.nest.run import prepare
from sweeps.runtime.interrupts import raise_if_interrupted
from sweeps.runtime.resources import run_in_threads
from sweeps.runtime.search_loop import is_late, iterate_batches
from symbolic.ops import Node

NUMPY_POINTS = sizes.PASS_SMALL
TILE_POINTS = sizes.PASS_PIECE
_MIN_TILES, _BATCH = sizes.PASS_WORTH, sizes.PASS_BATCH

Result = TypeVar("Result")
TileFilter = Callable[[list[Any], TileNumbers], NDArray[np.bool_]]


@dataclass(slots=True)
class SkippedTiles:
    """The numbers of skipped tiles and points, and of points that were not visited in time."""

    tiles: int = 0
    points: int = 0
    points_left: int = 0

    def add_points_left(self, points: int) -> None:
        """Count points that were not visited because of an interrupt or of the deadline."""
        self.points_left += points

    def attributes(self, weight: int = 1) -> dict[str, int]:
        """Return the counts as attributes. Each point stands for ``weight`` configurations."""
        result = {"tiles_skipped": self.tiles, "points_skipped": self.points * weight}
        return {**result, "points_left": self.points_left * weight} if self.points_left else result


def batches(count: int) -> Iterator[TileNumbers]:
    """Yield tile numbers in growing batches, as results of early batches exclude later tiles."""
    low, size = 0, 2 * _MIN_TILES
    while low < count:
        yield np.arange(low, min(low + size, count))
        low, size = low + size, min(4 * size, _BATCH)


def iterate_tiles(
    tiling: Tiling,
    row: Sequence[int],
    enclosures: Enclosures | None,
    tile_filter: TileFilter,
    work: Callable[[TileNumbers], Result],
    skipped: SkippedTiles,
    *,
    partial: bool = False,
) -> Iterator[Result]:
    """Run ``work`` on tiles in threads, several tiles at a time, and yield the results in order.

    ``tile_filter`` takes the enclosures over tiles and the tiles' numbers of points. It returns the
    mask of tiles to visit. It is called for a batch after the results of all earlier batches. An
    interrupt or the deadline raises an error or, if ``partial``, ends the loop; ``skipped`` counts
    the points left.
    """
    points_of = math.prod(tiling.sizes)

    def batches_with_points() -> Iterator[tuple[TileNumbers, int]]:
        for numbers in batches(tiling.count):
            last = int(numbers[-1]) + 1
            end = tiling.bounds(last)[1] if last < tiling.count else points_of
            yield numbers, end - tiling.bounds(int(numbers[0]))[1]

    report_left = skipped.add_points_left if partial else None
    for numbers in iterate_batches(batches_with_points(), points_of, report_left):
        if enclosures is not None and tiling.count >= _MIN_TILES:
            low, high, points = tile_boxes(tiling, row, numbers)
            mask = tile_filter(enclosures.enclose_boxes(low, high), points)
            skipped.tiles += int(np.count_nonzero(~mask))
            skipped.points += int(points[~mask].sum())
            numbers = numbers[mask]
        if numbers.size:
            shares = np.array_split(numbers, min(numbers.size, sizes.PASS_SHARES * cpu_count()))
            yield from _map_shares(work, shares)


def aggregate_points(
    grid: Grid,
    key: tuple[str, ...],
    dims: Sequence[str],
    formulas: Sequence[Node],
    condition: Node | None,
    make_partial: Callable[[], Result],
    add_values: Callable[[Result, NDArray[np.float64], NDArray[np.bool_], int], object],
    tile_filter: TileFilter | None,
    skipped: SkippedTiles,
    *,
    partial: bool = False,
) -> Iterator[Result]:
    """Yield an aggregate of formulas over ``dims`` for each group of tiles, in order.

    ``dims`` has no switch axes. ``make_partial`` creates an aggregate. ``add_values`` takes this
    aggregate, a row of values per formula, the mask of the ``condition``, and the flat index of the
    first point. ``tile_filter`` gets enclosures of the formulas, then of the condition.
    """
    nodes = [*formulas, *([] if condition is None else [condition])]
    count, points = len(formulas), math.prod(grid.shape(dims))
    if points <= NUMPY_POINTS:
        arrays = [array.reshape(-1) for array in grid.evaluate(nodes, key, dims)]
        values = np.array(arrays[:count], dtype=np.float64).reshape(count, points)
        true = np.ones(points, dtype=bool)
        if condition is not None:
            true = np.array(arrays[-1], dtype=bool)
        result = make_partial()
        add_values(result, values, true, 0)
        yield result
        return
    kinds = [*["float"] * count, "bool"][: len(nodes)]
    ready = prepare(grid, key, dims, list(zip(nodes, kinds, strict=True)))
    compile_nest(ready.nest)
    tiling = ready.tiling(
        TILE_POINTS if count else 2 * TILE_POINTS
    )  # masks need less memory than values

    points_cut: list[int] = []

    def work(numbers: TileNumbers) -> Result:
        result, most = make_partial(), tiling.bounds(0)[2]
        buffer, true = np.empty((count, most)), np.ones(most, dtype=bool)
        for number in numbers.tolist():
            bounds, origin, size = tiling.bounds(number)
            if partial and is_late():
                points_cut.append(size)
                continue
            values = buffer if size == most else np.empty((count, size))
            ready.run(bounds, origin, *[*values, true[:size]][: len(nodes)])
            add_values(result, values, true[:size], origin)
        return result

    known = None if tile_filter is None else Enclosures.from_grid(grid, key, nodes, dims)
    judge = tile_filter or (lambda known, points: np.ones(points.size, dtype=bool))
    yield from iterate_tiles(tiling, ready.row, known, judge, work, skipped, partial=partial)
    skipped.add_points_left(sum(points_cut))


def _map_shares(work: Callable[[TileNumbers], Result], shares: list[TileNumbers]) -> list[Result]:
    return run_in_threads(lambda place: work(shares[place]), len(shares))


Floats = NDArray[np.float64]

ROWS_SMALL = sizes.ROWS_SMALL
ROWS_BLOCK = sizes.ROWS_BLOCK


def visit_rows(
    grid: Grid,
    key: tuple[str, ...],
    roots: Sequence[Node],
    result_axes: Sequence[str],
    reduced_axes: Sequence[str],
    visit: Callable[[list[Floats], int], None],
    point_filter: Callable[[Floats], NDArray[np.bool_]] | None = None,
) -> None:
    """Call ``visit`` with rows. A row has a formula's values along ``reduced_axes`` at a point.

    ``visit`` gets the rows of each formula, of shape (points, values), and the flat index of the
    first of these points over ``result_axes``. Several threads call ``visit``. ``point_filter``
    takes lower bounds of tiles and returns the mask of tiles to visit. It is allowed for one
    formula only.
    """
    points, count = math.prod(grid.shape(result_axes)), math.prod(grid.shape(reduced_axes))
    if points * count <= ROWS_SMALL:
        values = grid.evaluate(roots, key, (*result_axes, *reduced_axes))
        visit([np.array(each, dtype=np.float64).reshape(points, count) for each in values], 0)
        return
    is_long = count >= sizes.ROWS_SHORT  # then the reduced axes are the innermost loops
    dims = (*result_axes, *reduced_axes) if is_long else (*reduced_axes, *result_axes)
    row = row_axis_count(grid.shape(reduced_axes if is_long else result_axes))
    ready = prepare(grid, key, dims, [(root, "float") for root in roots], row=row)
    compile_nest(ready.nest)
    if not is_long:
        outer = [int(n) for n in ready.sizes[len(reduced_axes) : -1]]
        tiling = Tiling(outer, int(ready.sizes[-1]), max(1, 4 * ROWS_BLOCK // count))
        heads = list(np.ndindex(*grid.shape(reduced_axes)))

        def work_on_heads(number: int) -> None:
            raise_if_interrupted()
            bounds, first, size = tiling.bounds(number)
            values = np.empty((len(roots), count, size))
            for place, head in enumerate(heads):
                ends = [n for index in head for n in (index, index + 1)]
                whole = np.array([*ends, *bounds.tolist()], dtype=np.int64)
                ready.run(whole, place * points + first, *values[:, place])
            visit([np.ascontiguousarray(each.T) for each in values], first)

        run_in_threads(work_on_heads, tiling.count)
        return
    shape = grid.shape(result_axes) or (1,)
    tiling = Tiling(shape[:-1], shape[-1], max(1, ROWS_BLOCK // count))
    tail = [n for size in ready.sizes[len(result_axes) :].tolist() for n in (0, size)]

    def work(number: int) -> None:
        raise_if_interrupted()
        bounds, first, size = tiling.bounds(number)
        whole = np.array([*bounds[: 2 * len(result_axes)].tolist(), *tail], dtype=np.int64)
        values = [np.empty(size * count) for _ in roots]
        ready.run(whole, first * count, *values)
        visit([each.reshape(size, count) for each in values], first)

    if point_filter is None:
        run_in_threads(work, tiling.count)
        return
    known = Enclosures.from_grid(grid, key, roots, dims, grid.shape(reduced_axes))

    def work_on_tiles(numbers: TileNumbers) -> None:
        for number in numbers.tolist():
            work(number)

    def filter_tiles(enclosures: list[Any], _: TileNumbers) -> NDArray[np.bool_]:
        return point_filter(enclosures[0].lo)

    for _ in iterate_tiles(tiling, shape[-1:], known, filter_tiles, work_on_tiles, SkippedTiles()):
        pass
