"""Compute the outputs of a grid tile by tile in threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.checks import check_grid, check_point_count
from sweeps.bounds.problem import InfeasibleTiles, TileNumbers, tile_boxes
from sweeps.grid.grid import FEASIBLE, Grid, Leaf, Tiling, compute_pending
from sweeps.nest.emit import Nest, compile_nest, emit, row_axis_count, safe_identifier
from sweeps.runtime.progress import Listener, RunCounter
from sweeps.runtime.resources import check_memory, run_in_threads
from symbolic.ops import Node, references

TILE = sizes.RUN_TILE
NUMPY_POINTS = sizes.RUN_SMALL
SINGLE_TILE_POINTS = sizes.RUN_SINGLE
RULE_CHECK_POINTS = sizes.RUN_MANY


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputGroup:
    """Outputs over the same axes, which are computed together."""

    dims: tuple[str, ...]
    outputs: tuple[str, ...]


def output_groups(grid: Grid, *, expand: bool = False) -> tuple[OutputGroup, ...]:
    """Group the outputs by their axes. With ``expand``, every output gets all axes."""
    names = [*grid.outputs, *([FEASIBLE] if grid.conditions else [])]
    result: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        result.setdefault(tuple(grid.axes) if expand else grid.dims(name), []).append(name)
    return tuple(OutputGroup(dims=dims, outputs=tuple(outputs)) for dims, outputs in result.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class NestProgram:
    """A loop nest with its data, which runs on the bounds of a tile."""

    nest: Nest
    row: tuple[int, ...]
    sizes: NDArray[np.int64]
    scalars: NDArray[np.float64]
    arrays: tuple[NDArray[np.float64], ...]

    def run(self, bounds: NDArray[np.int64], origin: int, *results: NDArray[Any]) -> None:
        """Fill the results, or update them if the nest is a reduction."""
        compile_nest(self.nest)(bounds, self.sizes, origin, self.scalars, *self.arrays, *results)

    def tiling(self, target: int) -> Tiling:
        """Return a tiling with tiles of up to ``target`` points."""
        return Tiling([int(n) for n in self.sizes[:-1]], int(self.sizes[-1]), target)


def prepare(
    grid: Grid,
    key: tuple[str, ...],
    dims: Sequence[str],
    outputs: Sequence[tuple[Node, str]],
    *,
    reduce: bool = False,
    row: int | None = None,
) -> NestProgram:
    """Return the cached program that computes outputs over ``dims``, which has no switch axes.

    The last ``row`` axes form the row. By default, :func:`row_axis_count` chooses their number.
    """
    cache_key = (key, tuple(dims), tuple(outputs), reduce, row)
    if (ready := grid.cache.get(cache_key)) is not None:
        return ready
    count = row_axis_count(grid.shape(dims)) if row is None else row
    outer, inner = tuple(dims[: len(dims) - count]), tuple(dims[len(dims) - count :])
    leaves, graph = grid.leaves[key], grid.graphs[key]
    names = {id(graph.flat(name)): f"q_{safe_identifier(name)}" for name in graph.definitions}
    used = set(references(*(node for node, _ in outputs)))
    axes = {name: tuple(a for a in dims if a in leaf.axes) for name, leaf in leaves.items()}
    known = {
        name: float(leaf.array)
        for name, leaf in leaves.items()
        if name in used
        and not leaf.axes
        and (graph.definitions[name].kind == "default" or leaf.array == 0)
    }
    about: dict[str, Any] = {"leaves": axes, "names": names, "constants": known}
    nest = emit(outer=outer, row=inner, outputs=outputs, reduce=reduce, **about)
    row_shape = grid.shape(inner)
    compute_pending(leaves[name] for name in (*nest.scalars, *nest.arrays))
    sizes_of = {axis: grid.axes[axis].size for axis in dims}
    arrays = [flatten_leaf(leaves[name], outer, inner, sizes_of) for name in nest.arrays]
    scalars = np.array([float(leaves[name].array) for name in nest.scalars], dtype=np.float64)
    grid.cache[cache_key] = ready = NestProgram(
        nest=nest,
        row=row_shape,
        sizes=np.array([*grid.shape(outer), math.prod(row_shape)], dtype=np.int64),
        scalars=scalars,
        arrays=tuple(arrays),
    )
    return ready


def flatten_leaf(
    leaf: Leaf, outer: Sequence[str], row: Sequence[str], sizes: Mapping[str, int]
) -> NDArray[np.float64]:
    """Return a leaf's values as a nest reads them: over the whole row if they vary along it."""
    axes = (*(axis for axis in outer if axis in leaf.axes), *row)
    array = leaf.transpose(axes).align_to(axes)
    if any(axis in row for axis in leaf.axes):
        array = np.broadcast_to(array, [sizes[axis] for axis in axes])
    return np.array(array, dtype=np.float64, order="C").reshape(-1)


def compute(
    grid: Grid, *, expand: bool = False, listener: Listener | None = None
) -> dict[str, tuple[tuple[str, ...], NDArray[Any]]]:
    """Compute every output of a grid; return each with its axes.

    ``expand`` fills every output over all axes. ``listener`` is called after each tile.
    """
    check_point_count(grid)
    check_memory(
        sum(row["bytes"] for row in plan_rows(grid, expand=expand)),
        f"{', '.join(grid.outputs)} over {grid.points:.4g} points",
        "give run a store (store='OUT.zarr', dse run --store OUT.zarr), which keeps a few tiles in "
        "memory; or use optimum, pareto, count, histogram or quantiles, which stream",
    )
    check_grid(grid)
    parts = output_groups(grid, expand=expand)
    meter = RunCounter(sum(math.prod(grid.shape(part.dims)) for part in parts), listener)
    result: dict[str, tuple[tuple[str, ...], NDArray[Any]]] = {}
    for part in parts:
        result.update(_fill(grid, part, meter))
    order = [*grid.outputs, *([FEASIBLE] if grid.conditions else [])]
    return {name: result[name] for name in order}


def _fill(
    grid: Grid, part: OutputGroup, meter: RunCounter
) -> Iterator[tuple[str, tuple[tuple[str, ...], NDArray[Any]]]]:
    plain = grid.non_switch_axes(part.dims)
    kinds = [grid.kind(name) for name in part.outputs]
    points = math.prod(grid.shape(plain))
    # switch axes come first, so that each nest fills a contiguous piece of memory
    inner = (*(axis for axis in part.dims if axis not in plain), *plain)
    full = [np.empty(grid.shape(inner), dtype=grid.dtype(name)) for name in part.outputs]
    infeasible = InfeasibleTiles(grid, part.outputs, part.dims)
    for at, key in grid.keys(part.dims):
        nodes = [grid.output_node(name, key, part.dims) for name in part.outputs]
        piece_of: Any = (*at.values(), ...)
        pieces = [array[piece_of] for array in full]
        if points <= NUMPY_POINTS:
            for piece, values in zip(pieces, grid.evaluate(nodes, key, plain), strict=True):
                piece[...] = values
            meter.add_done(points)
        else:
            ready = prepare(grid, key, plain, list(zip(nodes, kinds, strict=True)))
            filled = [piece.reshape(-1) for piece in pieces]
            _fill_tiles(ready, filled, points, meter, partial(infeasible.is_infeasible, key))
    for name, array in zip(part.outputs, full, strict=True):
        yield name, (part.dims, array.transpose([inner.index(axis) for axis in part.dims]))


def _fill_tiles(
    ready: NestProgram,
    pieces: Sequence[NDArray[Any]],
    points: int,
    meter: RunCounter,
    infeasible_tiles: Callable[[TileNumbers, TileNumbers], NDArray[np.bool_]],
) -> None:
    compile_nest(ready.nest)
    tiling = ready.tiling(_target(points))
    known = np.zeros(tiling.count, dtype=bool)
    if points >= RULE_CHECK_POINTS:
        known = infeasible_tiles(*tile_boxes(tiling, ready.row, np.arange(tiling.count))[:2])

    def work(number: int) -> None:
        bounds, origin, size = tiling.bounds(number)
        if known[number]:
            for piece in pieces:
                InfeasibleTiles.fill_missing(piece[origin : origin + size])
            meter.add_infeasible(size)
        else:
            ready.run(bounds, 0, *pieces)
        meter.add_done(size)

    run_in_threads(work, tiling.count)


def tile_count(shape: Sequence[int]) -> int:
    """Return the number of tiles of a group, given the sizes of its axes without switch axes."""
    count = row_axis_count(shape)
    outer, row = shape[: len(shape) - count], math.prod(shape[len(shape) - count :])
    return Tiling(outer, row, _target(math.prod(shape))).count


def _target(points: int) -> int:
    return min(TILE, max(SINGLE_TILE_POINTS, points // 4))


def plan_rows(grid: Grid, *, expand: bool = False) -> Iterator[Mapping[str, Any]]:
    """Yield the name, axes, point count and byte count of each output that a run would store."""
    for part in output_groups(grid, expand=expand):
        points = math.prod(grid.shape(part.dims))
        for name in part.outputs:
            width = np.dtype(grid.dtype(name)).itemsize
            yield {"name": name, "axes": part.dims, "points": points, "bytes": points * width}
