"""A store that grows: what an earlier one holds is taken over, and only the rest is computed.

The new store is what a run of the larger study would write, to the byte. A value is taken over
where the larger study computes it by the same steps from the same values; chunks that stay as they
are become links. What is new along several axes falls apart into grids of new values along one of
them, with the known ones along those before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeps.bounds.enclosures import Barred
from sweeps.grid.awaited import Awaited
from sweeps.grid.grid import FEASIBLE, Grid, Tiling
from sweeps.grid.space import Axis
from sweeps.store.crew import Threads
from sweeps.store.held import damaged
from sweeps.store.job import Job
from sweeps.store.layout import Layout
from sweeps.store.medium import Medium
from sweeps.store.parts import Part, Tile, chunk_of
from sweeps.store.reader import Stored
from sweeps.store.recorded import record_of
from sweeps.store.records import RECORDS, sealed
from sweeps.store.tiles import PIECE, Recipe, Source, barred_in, source_of, store_tile

__all__ = ["Growing", "Growth", "places_of"]

Index = NDArray[np.int64]


def places_of(new: Axis, old: Axis) -> Index:
    """Of each value of an axis its place on an earlier one; -1 where it is not there."""
    if set(new.columns) != set(old.columns):
        return np.full(new.size, -1, dtype=np.int64)
    known = {value: place for place, value in enumerate(_values(old))}
    return np.array([known.get(value, -1) for value in _values(new)], dtype=np.int64)


def _values(axis: Axis) -> list[Any]:
    if axis.columns:
        columns = (axis.columns[name].tolist() for name in sorted(axis.columns))
        return list(zip(*columns, strict=True))
    return list(axis.labels) or axis.values.tolist()


def _restricted(grid: Grid, index: Mapping[str, Index]) -> Grid:
    """The grid over some values of some axes."""

    def cut(axis: Axis) -> Axis:
        at = index[axis.name]
        return replace(
            axis,
            coordinate=axis.coordinate[at],
            values=axis.values[at],
            labels=tuple(axis.labels[k] for k in at) if axis.labels else (),
            columns={name: array[at] for name, array in axis.columns.items()},
        )

    leaves = {
        key: {name: leaf.taken(index) for name, leaf in known.items()}
        for key, known in grid.leaves.items()
    }
    axes = {name: cut(axis) if name in index else axis for name, axis in grid.axes.items()}
    return replace(grid, axes=axes, leaves=leaves, _dims={}, kept={})


@dataclass(frozen=True, slots=True)
class _Region:
    """Some values of each axis, at which some outputs are computed."""

    index: Mapping[str, Index]
    source: Source


class Growth:
    """A larger study over the finished store of a smaller one, of whose axes it has more values."""

    def __init__(self, layout: Layout, smaller: Layout, stored: Stored) -> None:
        self.layout, self.smaller, self.stored = layout, smaller, stored
        pairs = zip(layout.grid.axes.values(), smaller.grid.axes.values(), strict=True)
        self.places = {new.name: places_of(new, old) for new, old in pairs}

    @cached_property
    def known(self) -> frozenset[str]:
        """The outputs whose stored values hold."""
        old = {name: part for part in self.smaller.parts for name in part.outputs}
        new = {name: part for part in self.layout.parts for name in part.outputs}
        return frozenset(n for n in new if n in old and self._holds(n, new[n], old[n]))

    def _holds(self, name: str, new: Part, old: Part) -> bool:
        """Whether an output is computed by the same steps from the same values as before."""
        if new.dims != old.dims:
            return False
        grid, before = self.layout.grid, self.smaller.grid
        if Recipe.of(self.layout, new).small != Recipe.of(self.smaller, old).small:
            return False  # by the nest, or by NumPy: functions such as exp may differ in a bit
        index = {axis: np.flatnonzero(places >= 0) for axis, places in self.places.items()}
        for key in before.graphs:
            node = grid.output_node(name, key, new.dims) if key in grid.graphs else None
            if node is not before.output_node(name, key, old.dims):
                return False
            for leaf, was in before.leaves[key].items():
                now = grid.leaves[key].get(leaf)
                if now is None or now.axes != was.axes or isinstance(was, Awaited):
                    return False  # a statistic may change wherever its axes have more values
                shared = [axis for axis in was.axes if axis in index]  # draws stay as they are
                order = {axis: np.argsort(self.places[axis][index[axis]]) for axis in shared}
                taken = {axis: index[axis][order[axis]] for axis in shared}
                numbers = was.array.dtype.kind == "f"  # text knows no NaN
                if not np.array_equal(now.taken(taken).array, was.array, equal_nan=numbers):
                    return False
        return True

    def unmoved(self, part: Part, name: str) -> tuple[Part, bool] | None:
        """The earlier part whose chunks of an output stand as they are; None where they do not."""
        if name not in self.known:
            return None
        (old,) = (old for old in self.smaller.parts if name in old.outputs)
        same = all(
            np.array_equal(self.places[axis], np.arange(len(self.places[axis])))
            for axis in part.dims
        )
        same = same and (old.shape, old.chunk) == (part.shape, part.chunk)
        rules = Recipe.of(self.layout, part), Recipe.of(self.smaller, old)
        same = same and len({(FEASIBLE in rule.names, rule.ruled) for rule in rules}) == 1
        inside = FEASIBLE in rules[0].names and FEASIBLE not in self.known
        return (old, True) if same and not inside else None

    def source(self, part: Part) -> _Grown:
        """Computes and takes over the tiles of a part."""
        return _Grown(self, part)


class _Grown:
    """The tiles of a part: known values from the earlier store, the others from nests."""

    def __init__(self, growth: Growth, part: Part) -> None:
        self.growth, layout = growth, growth.layout
        unmoved = {name: growth.unmoved(part, name) for name in part.outputs}
        #: Outputs whose chunks are linked, each with the part that they had.
        self.linked = {name: found[0] for name, found in unmoved.items() if found is not None}
        self.part, self.barred = part, barred_in(layout, part)
        rest = replace(part, outputs=tuple(n for n in part.outputs if n not in self.linked))
        self.recipe = Recipe.of(layout, rest)
        known = [name for name in self.recipe.names if name in growth.known]
        fresh = [name for name in self.recipe.names if name not in growth.known]
        self.known = tuple(known)
        self.regions = [*self._regions(known), *self._whole(fresh)]

    def _source(self, grid: Grid, names: Sequence[str]) -> Source:
        layout = Layout(grid, expand=self.growth.layout.expand)
        shape = grid.shape(self.part.dims)
        part = replace(self.part, outputs=tuple(names), shape=shape, chunk=shape)
        found = source_of(layout, part, small=self.recipe.small)
        found.barred = None  # it is asked of tiles, and a box of new values is none
        return found

    def _whole(self, names: Sequence[str]) -> Iterator[_Region]:
        if names:
            grid = self.growth.layout.grid
            index = {axis: np.arange(grid.axes[axis].size) for axis in self.part.dims}
            yield _Region(index, self._source(grid, names))

    def _regions(self, names: Sequence[str]) -> Iterator[_Region]:
        """The new values along each axis, with the known ones along those before."""
        grid, places = self.growth.layout.grid, self.growth.places
        before: dict[str, Index] = {}
        for axis in self.part.dims if names else ():
            new = np.flatnonzero(places[axis] < 0)
            if new.size:
                index = {**before, axis: new}
                if all(held.size for held in index.values()):
                    every = {a: np.arange(grid.axes[a].size) for a in self.part.dims}
                    source = self._source(_restricted(grid, index), names)
                    yield _Region({**every, **index}, source)
                before[axis] = np.flatnonzero(places[axis] >= 0)

    def pieces(self, tile: Tile) -> Iterator[tuple[int, list[NDArray[Any]]]]:
        """As :meth:`sweeps.store.tiles.Source.pieces`."""
        sizes = tile.shape or (1,)
        tiling = Tiling(sizes[:-1], sizes[-1], PIECE)
        barred = self.barred(tile)
        for number in range(tiling.count):
            bounds, origin, _ = tiling.bounds(number)
            ends = zip(tile.low, bounds[0::2].tolist(), bounds[1::2].tolist(), strict=False)
            box = [(start + low, start + high) for start, low, high in ends]
            shape = [high - low for low, high in box]
            arrays = {
                name: np.empty(shape, dtype=dtype)
                for name, dtype in zip(self.recipe.names, self.recipe.dtypes, strict=True)
            }
            if barred:
                for array in arrays.values():
                    Barred.blank(array)
                yield origin, [arrays[name].reshape(-1) for name in self.recipe.names]
                continue
            for region in self.regions:
                self._compute(region, box, arrays)
            for name in self.known:
                self._take(name, box, arrays[name])
            yield origin, [arrays[name].reshape(-1) for name in self.recipe.names]

    def _compute(
        self, region: _Region, box: Sequence[tuple[int, int]], arrays: Mapping[str, NDArray[Any]]
    ) -> None:
        inside, low, high = [], [], []
        for axis, ends in zip(self.part.dims, box, strict=True):
            start, stop = np.searchsorted(region.index[axis], ends).tolist()
            inside.append(region.index[axis][start:stop] - ends[0])
            low.append(start)
            high.append(stop)
        if any(at.size == 0 for at in inside):
            return
        names = region.source.recipe.names
        shape = [at.size for at in inside]
        found = {
            name: np.empty(math.prod(shape), dtype=arrays[name].dtype)
            for name in names
            if name in arrays
        }
        tile = Tile(self.part.number, (), tuple(low), tuple(high))
        for origin, values in region.source.pieces(tile):
            for name, piece in zip(names, values, strict=True):
                if name in found:
                    found[name][origin : origin + piece.size] = piece
        for name, computed in found.items():
            if name in region.source.recipe.part.outputs:
                arrays[name][np.ix_(*inside)] = computed.reshape(shape)

    def _take(self, name: str, box: Sequence[tuple[int, int]], into: NDArray[Any]) -> None:
        """What the earlier store holds of a box."""
        held = self.growth.stored.zones[name].dims
        inside, within, low, high = [], [], [], []
        for axis, (start, stop) in zip(self.part.dims, box, strict=True):
            old = self.growth.places[axis][start:stop]
            inside.append(np.flatnonzero(old >= 0))
            if not inside[-1].size:
                return
            if axis in held:
                old = old[inside[-1]]
                low.append(int(old.min()))
                high.append(int(old.max()) + 1)
                within.append(old - low[-1])
        values = self.growth.stored.box(name, low, high)[np.ix_(*within)]
        spread = [
            at.size if axis in held else 1 for axis, at in zip(self.part.dims, inside, strict=True)
        ]
        into[np.ix_(*inside)] = values.reshape(spread)


class Growing(Threads):
    """Threads that take over what is known."""

    def __init__(self, growth: Growth) -> None:
        self.growth = growth

    def source(self, layout: Layout, part: Part) -> Any:
        """Computes the tiles of a part, or takes them over."""
        return self.growth.source(part)

    def store(self, source: Any, tile: Tile, medium: Medium) -> dict[str, Any]:
        """Store a tile; gives its record."""
        before = self.growth.stored.medium
        kinds = ("chunks", "outputs", "zones", "bytes")[: 4 if self.growth.layout.packed else 3]
        known: dict[str, dict[str, Any]] = {kind: {} for kind in kinds}
        record: dict[str, Any] = {}
        for name, old in source.linked.items():
            was, key = replace(tile, part=old.number), chunk_of(name, tile)
            wanted = self.growth.stored.held.expected(key)
            record = record_of(self.growth.smaller, before, was) or {}
            if not record or wanted not in (None, int(record["chunks"][name], 16)):
                raise damaged(before.name, f"{RECORDS}/{was.name}", "it is not that of this store")
            try:
                medium.adopt(before, key)
            except FileNotFoundError as error:
                raise damaged(before.name, key, "it is missing") from error
            for kind, held in known.items():
                held[name] = record[kind][name]
        if source.recipe.part.outputs:
            return store_tile(source, tile, medium, known)
        record |= {"tile": tile.name, **known}
        medium.put(f"{RECORDS}/{tile.name}", sealed(record, lines=False), wait=False)
        return record

    def prepare(self, job: Job, tiles: Sequence[Tile]) -> None:
        """Nests are compiled when a tile needs them."""
