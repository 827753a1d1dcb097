"""Tiles of a store. Outputs over the same axes have the same tiles, and a shard per tile.

A tile has one index of each leading axis, a range of one axis (which is cut into even parts), and
all indices of the trailing axes. So a tile is contiguous in memory. Switch axes are cut at each
label. The cuts depend only on the study.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import sweeps.nest.run
from stochastic import sizes
from sweeps.grid.grid import Grid, Tiling
from sweeps.nest.run import output_groups

#: Compressions of chunks. New stores use the first by default.
COMPRESSIONS = ("lz4", "none")

TILE, CHUNK = sizes.STORE_TILE, sizes.STORE_CHUNK


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile of the outputs of a part: its index along each axis of tiles, and its bounds."""

    part: int
    index: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]

    @property
    def name(self) -> str:
        """Return the name of the tile, which is unique in its store."""
        return ".".join(map(str, (self.part, *self.index)))

    @property
    def points(self) -> int:
        """Return the number of points."""
        return math.prod(high - low for low, high in zip(self.low, self.high, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePart:
    """Outputs over the same axes, cut into the same tiles.

    ``shard`` is the shape of a shard, and ``chunk`` is the shape of a chunk. A shard has only whole
    chunks, so that it may extend beyond the end of an axis.
    """

    number: int
    dims: tuple[str, ...]
    outputs: tuple[str, ...]
    shape: tuple[int, ...]
    tile_shape: tuple[int, ...]
    chunk: tuple[int, ...]
    shard: tuple[int, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """Return the number of tiles along each axis."""
        return tuple(-(-n // step) for n, step in zip(self.shape, self.tile_shape, strict=True))

    @property
    def points(self) -> int:
        """Return the number of points of each output."""
        return math.prod(self.shape)

    def tile(self, number: int) -> Tile:
        """Return a tile by its number."""
        place = []
        for count in reversed(self.counts):
            number, index = divmod(number, count)
            place.append(index)
        place.reverse()
        low = tuple(index * step for index, step in zip(place, self.tile_shape, strict=True))
        ends = zip(low, self.tile_shape, self.shape, strict=True)
        high = tuple(min(start + step, size) for start, step, size in ends)
        return Tile(self.number, tuple(place), low, high)

    @staticmethod
    def key(output: str, tile: Tile) -> str:
        """Return the key of an output's shard for a tile."""
        return f"{output}/{'.'.join(['c', *map(str, tile.index)])}"


class StoreLayout:
    """The tiles in which the outputs of a grid are stored."""

    def __init__(self, grid: Grid, *, expand: bool = False, compression: str = COMPRESSIONS[1]):
        self.grid, self.expand, self.compression = grid, expand, compression
        self.parts = tuple(
            _part(grid, number, group.dims, group.outputs)
            for number, group in enumerate(output_groups(grid, expand=expand))
        )

    @property
    def count(self) -> int:
        """Return the number of tiles."""
        return sum(math.prod(part.counts) for part in self.parts)

    @property
    def points(self) -> int:
        """Return the number of points of all parts."""
        return sum(part.points for part in self.parts)

    def tiles(self) -> Iterator[Tile]:
        """Yield the tiles in order."""
        for part in self.parts:
            for number in range(math.prod(part.counts)):
                yield part.tile(number)

    def dtype(self, output: str) -> np.dtype[Any]:
        """Return the type in which an output is stored."""
        return np.dtype(self.grid.dtype(output)).newbyteorder("<")

    def describe(self, tile: Tile) -> str:
        """Return the configurations of a tile as text."""
        part, texts = self.parts[tile.part], []
        for axis, size, low, high in zip(part.dims, part.shape, tile.low, tile.high, strict=True):
            if high - low < size:
                values = self.grid.axes[axis].coordinate
                ends = f" to {values[high - 1]}" if high - low > 1 else ""
                texts.append(f"{axis} = {values[low]}{ends}")
        return ", ".join(texts) or "all configurations"


def _part(grid: Grid, number: int, dims: tuple[str, ...], outputs: tuple[str, ...]) -> StorePart:
    plain = grid.non_switch_axes(dims)
    sizes_ = grid.shape(plain)
    target = min(TILE, max(sweeps.nest.run.SINGLE_TILE_POINTS, math.prod(sizes_) // 4))
    steps = dict(zip(plain, _even_steps(sizes_, target), strict=True))
    step = tuple(steps.get(axis, 1) for axis in dims)
    chunk = _even_steps(step, CHUNK)
    shard = tuple(-(-n // k) * k for n, k in zip(step, chunk, strict=True))
    # make tiles end where shards end
    shape = grid.shape(dims)
    step = tuple(min(n, k) for n, k in zip(shape, shard, strict=True))
    return StorePart(
        number=number,
        dims=dims,
        outputs=outputs,
        shape=shape,
        tile_shape=step,
        chunk=chunk,
        shard=shard,
    )


def _even_steps(shape: Sequence[int], target: int) -> tuple[int, ...]:
    """Return the shape of even pieces of at most ``target`` points. One axis is cut into parts.

    >>> _even_steps((3, 100000), 2048), _even_steps((1, 20, 100000), 131072)
    ((1, 2041), (1, 1, 100000))
    """
    if not shape:
        return ()
    tiling = Tiling(shape[:-1], shape[-1], target)
    if tiling.split < 0:
        return tuple(shape)
    step = -(-shape[tiling.split] // tiling.cuts)
    return (*(1 for _ in shape[: tiling.split]), step, *shape[tiling.split + 1 :])
