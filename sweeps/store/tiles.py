"""Computing a tile and writing it: piece by piece, from the cache of the processor to the disk."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sweeps.run
from sweeps.emit import Nest, row_axes
from sweeps.grid import FEASIBLE
from sweeps.run import Prepared, prepare
from sweeps.store.layout import Layout, Part, Tile
from sweeps.store.medium import Medium
from sweeps.store.records import RECORDS, Summary, flat_places, sealed
from sweeps.store.zarr_format import FILL, checksum, trailer
from sweeps.tiling import Tiling

__all__ = ["PIECE", "Source", "store_tile"]

#: Points computed at once: what they take stays in the cache until it is written.
PIECE = 1 << 17


class Source:
    """Computes the tiles of one part; buffers are its own, so a thread needs one for itself."""

    def __init__(self, layout: Layout, part: Part) -> None:
        self.grid, self.part = layout.grid, part
        grid = layout.grid
        self.plain = tuple(axis for axis in part.dims if axis not in grid.switch_axes)
        inside = bool(grid.conditions) and set(grid.dims(FEASIBLE)) <= set(part.dims)
        #: The outputs, and ``feasible`` where the axes of the part tell it.
        self.names = (*part.outputs, *([FEASIBLE] if inside else []))
        self.names = tuple(dict.fromkeys(self.names))
        self.inside = inside
        self.small = not self.plain or math.prod(grid.shape(self.plain)) <= sweeps.run.SMALL
        self._buffers = [np.empty(0, dtype=layout.dtype(name)) for name in self.names]

    def _key(self, tile: Tile) -> tuple[str, ...]:
        at = dict(zip(self.part.dims, tile.low, strict=True))
        axes = self.grid.axes
        return tuple(axes[axis].labels[at.get(axis, 0)] for axis in self.grid.switch_axes)

    def _ready(self, key: tuple[str, ...]) -> Prepared:
        nodes = [self.grid.output_node(name, key, self.part.dims) for name in self.names]
        kinds = [self.grid.kind(name) for name in self.names]
        return prepare(self.grid, key, self.plain, list(zip(nodes, kinds, strict=True)))

    def nest(self, tile: Tile) -> Nest | None:
        """The loop nest that computes a tile; None where NumPy does."""
        return None if self.small else self._ready(self._key(tile)).nest

    def pieces(self, tile: Tile) -> Iterator[tuple[int, list[NDArray[Any]]]]:
        """The values of each name, in the order of the chunk, some at a time, from which place."""
        key = self._key(tile)
        bounds = dict(zip(self.part.dims, zip(tile.low, tile.high, strict=True), strict=True))
        box = [bounds[axis] for axis in self.plain]
        if self.small:
            nodes = [self.grid.output_node(name, key, self.part.dims) for name in self.names]
            whole = self.grid.evaluate(nodes, key, self.plain)
            cut = tuple(slice(low, high) for low, high in box)
            pairs = zip(whole, self._buffers, strict=True)
            yield 0, [array[cut].astype(b.dtype, order="C").reshape(-1) for array, b in pairs]
            return
        ready, shape = self._ready(key), self.grid.shape(self.plain)
        outer = len(shape) - row_axes(shape)
        sizes = [high - low for low, high in box]
        tiling = Tiling(sizes[:-1], sizes[-1], PIECE)
        longest = tiling.bounds(0)[2]
        if self._buffers[0].size < longest:
            self._buffers = [np.empty(longest, dtype=b.dtype) for b in self._buffers]
        for number in range(tiling.count):
            inner, origin, points = tiling.bounds(number)
            low = [int(a) + b for a, (b, _) in zip(inner[0::2], box, strict=True)]
            extent = (inner[1::2] - inner[0::2]).tolist()
            start = _flat(low[outer:], shape[outer:])
            ends = [bound for a, n in zip(low, extent, strict=True) for bound in (a, a + n)]
            ends = [*ends[: 2 * outer], start, start + math.prod(extent[outer:])]
            arrays = [buffer[:points] for buffer in self._buffers]
            ready.run(np.array(ends, dtype=np.int64), _flat(low, shape), *arrays)
            yield origin, arrays


def _flat(index: Sequence[int], shape: Sequence[int]) -> int:
    found = 0
    for place, size in zip(index, shape, strict=True):
        found = found * size + place
    return found


def store_tile(layout: Layout, source: Source, tile: Tile, medium: Medium) -> dict[str, Any]:
    """Compute a tile, write its chunks, then its record; gives the record."""
    part, grid = source.part, layout.grid
    fast = not source.small
    summaries = {name: Summary(layout.dtype(name), compiled=fast) for name in part.outputs}
    crc = dict.fromkeys(part.outputs, 0)
    feasible = 0
    with ExitStack() as stack:
        files = {n: stack.enter_context(medium.writing(layout.key(n, tile))) for n in part.outputs}
        for origin, arrays in source.pieces(tile):
            values = dict(zip(source.names, arrays, strict=True))
            allowed = values[FEASIBLE] if source.inside else None
            feasible += int(np.count_nonzero(allowed)) if allowed is not None else 0
            for name in part.outputs:
                files[name](values[name])
                crc[name] = checksum(values[name], crc[name])
                summaries[name].add(values[name], origin, allowed)
        missing = math.prod(part.chunk) - tile.points
        for name in part.outputs:
            dtype = layout.dtype(name)
            if missing:
                rest = np.full(missing, FILL[dtype.kind], dtype=dtype)
                files[name](rest)
                crc[name] = checksum(rest, crc[name])
            files[name](trailer(crc[name]))
    places = partial(flat_places, box=tile.shape, low=tile.low, shape=part.shape)
    record = {
        "tile": tile.name,
        "chunks": {name: f"{value:08x}" for name, value in crc.items()},
        "outputs": {name: summary.tree(places) for name, summary in summaries.items()},
        "points": tile.points,
        "feasible": feasible if source.inside else tile.points if not grid.conditions else None,
    }
    # a record that a power failure tears, or without its chunks, counts for nothing: none waits
    medium.put(f"{RECORDS}/{tile.name}", sealed(record), wait=False)
    return record
