"""Compute boxes of a grid's outputs for stores and lazy arrays, in any process."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sweeps.nest.run
from stochastic import sizes
from sweeps.bounds.problem import InfeasibleTiles
from sweeps.grid.grid import FEASIBLE, Grid, ravel
from sweeps.nest.emit import compile_nest
from sweeps.nest.run import NestProgram, prepare
from sweeps.store.layout import StoreLayout, StorePart, Tile


class BoxProgram:
    """A picklable program that computes boxes of outputs, all of which have the same axes."""

    def __init__(self, grid: Grid, dims: Sequence[str], names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.dtypes = tuple(np.dtype(grid.dtype(name)) for name in names)
        self.shape = grid.shape(dims)
        self.switch_positions = [k for k, axis in enumerate(dims) if axis in grid.switch_axes]
        self._other_positions = [k for k, axis in enumerate(dims) if axis not in grid.switch_axes]
        self._programs: dict[tuple[int, ...], NestProgram | list[NDArray[Any]]] = {}
        self._make: Callable[[tuple[int, ...]], NestProgram | list[NDArray[Any]]] | None
        plain = [dims[k] for k in self._other_positions]
        switches = [dims[k] for k in self.switch_positions]
        small = not plain or math.prod(grid.shape(plain)) <= sweeps.nest.run.NUMPY_POINTS

        def make(switch_index: tuple[int, ...]) -> NestProgram | list[NDArray[Any]]:
            key = grid.switch_labels(dict(zip(switches, switch_index, strict=True)))
            nodes = [grid.output_node(name, key, dims) for name in names]
            if small:
                return grid.evaluate(nodes, key, plain)
            kinds = [grid.kind(name) for name in names]
            return prepare(grid, key, plain, list(zip(nodes, kinds, strict=True)))

        self._make = make

    def __getstate__(self) -> dict[str, Any]:
        for at in itertools.product(*(range(self.shape[k]) for k in self.switch_positions)):
            self._program(at)
        return {**self.__dict__, "_make": None}

    def _program(self, switch_index: tuple[int, ...]) -> NestProgram | list[NDArray[Any]]:
        if switch_index not in self._programs:
            assert self._make is not None
            self._programs[switch_index] = self._make(switch_index)
        return self._programs[switch_index]

    def compile(self, tile: Tile) -> None:
        """Compile the loop nests that compute a tile."""
        ranges = (range(tile.low[k], tile.high[k]) for k in self.switch_positions)
        for at in itertools.product(*ranges):
            program = self._program(at)
            if isinstance(program, NestProgram):
                compile_nest(program.nest)

    def compute(
        self, low: Sequence[int], high: Sequence[int], *, infeasible: bool = False
    ) -> list[NDArray[Any]]:
        """Return each output over a box, or fill values if the box is infeasible."""
        shape = tuple(b - a for a, b in zip(low, high, strict=True))
        arrays: list[NDArray[Any]] = [np.empty(shape, dtype) for dtype in self.dtypes]
        if infeasible:
            for array in arrays:
                InfeasibleTiles.fill_missing(array)
            return arrays
        box = [(low[k], high[k]) for k in self._other_positions]
        sizes = [b - a for a, b in box]
        for at in itertools.product(*(range(low[k], high[k]) for k in self.switch_positions)):
            index: list[Any] = [slice(None)] * len(shape)
            for k, place in zip(self.switch_positions, at, strict=True):
                index[k] = place - low[k]
            program = self._program(at)
            if not isinstance(program, NestProgram):
                part = tuple(slice(*ends) for ends in box)
                for array, values in zip(arrays, program, strict=True):
                    array[tuple(index)] = values[part]
                continue
            single = all(shape[k] == 1 for k in self.switch_positions)
            pieces = [
                array.reshape(-1) if single else np.empty(math.prod(sizes), array.dtype)
                for array in arrays
            ]
            _fill_box(program, [self.shape[k] for k in self._other_positions], box, pieces)
            for array, piece in zip(arrays if not single else (), pieces, strict=False):
                array[tuple(index)] = piece.reshape(sizes)
        return arrays


def _fill_box(
    program: NestProgram,
    shape: Sequence[int],
    box: Sequence[tuple[int, int]],
    pieces: Sequence[NDArray[Any]],
) -> None:
    whole = len(shape)  # the box contains all indices of this axis and later axes
    while whole and box[whole - 1] == (0, shape[whole - 1]):
        whole -= 1
    outer, begin = len(shape) - len(program.row), 0
    for leading in itertools.product(*(range(*ends) for ends in box[: max(whole - 1, 0)])):
        ends = [(k, k + 1) for k in leading]
        ends += list(box[len(ends) :])
        low = [a for a, _ in ends]
        sizes = [b - a for a, b in ends]
        start = int(ravel(low[outer:], shape[outer:])) if outer < len(shape) else 0
        stop = start + math.prod(sizes[outer:])
        bounds = np.array([*itertools.chain(*ends[:outer]), start, stop], dtype=np.int64)
        count = math.prod(sizes)
        results = [piece[begin : begin + count] for piece in pieces]
        program.run(bounds, int(ravel(low, shape)), *results)
        begin += count


def program_of(layout: StoreLayout, part: StorePart) -> BoxProgram:
    """Return the program that computes the tiles of a part.

    The program also computes ``feasible`` if the part has all axes of ``feasible``.
    """
    grid = layout.grid
    inside = bool(grid.conditions) and set(grid.dims(FEASIBLE)) <= set(part.dims)
    names = tuple(dict.fromkeys((*part.outputs, *([FEASIBLE] if inside else []))))
    return BoxProgram(grid, part.dims, names)


def mark_infeasible_tiles(
    layout: StoreLayout, tiles: Iterable[Tile]
) -> Iterator[tuple[Tile, bool]]:
    """Yield each tile, and True if bounds prove that the tile has no feasible point."""
    grid = layout.grid
    for number, part_tiles in itertools.groupby(tiles, key=lambda tile: tile.part):
        part = layout.parts[number]
        rules = InfeasibleTiles(grid, part.outputs, part.dims)
        plain = [k for k, axis in enumerate(part.dims) if axis not in grid.switch_axes]
        switched = [k for k, axis in enumerate(part.dims) if axis in grid.switch_axes]
        switches = [part.dims[k] for k in switched]
        # NumPy computes small parts faster than they can be checked
        small = math.prod(part.shape[k] for k in plain) <= sweeps.nest.run.NUMPY_POINTS
        while block := list(itertools.islice(part_tiles, sizes.STORE_BLOCK)):
            infeasible = np.zeros(len(block), dtype=bool)
            low = np.array([tile.low for tile in block], dtype=np.int64).T
            high = np.array([tile.high for tile in block], dtype=np.int64).T - 1
            for at in set() if small or not plain else set(map(tuple, low[switched].T.tolist())):
                chosen = np.all(np.array(at, dtype=np.int64) == low[switched].T, axis=1)
                key = grid.switch_labels(dict(zip(switches, at, strict=True)))
                box = low[plain][:, chosen], high[plain][:, chosen]
                infeasible[chosen] = rules.is_infeasible(key, *box)
            yield from zip(block, infeasible.tolist(), strict=True)
