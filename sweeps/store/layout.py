"""The tiles of a store: each output cut into chunks, the same for outputs over the same axes.

A chunk holds one index of each leading axis, an even share of the axis that is cut, and the
trailing axes whole; so it is one piece of its array, and where the cuts lie depends on the study
alone. A switch axis is cut at each label, wherever it stands.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import sweeps.nest.run
from stochastic import sizes
from sweeps.grid.grid import Grid
from sweeps.nest.run import groups
from sweeps.store.cuts import pieces
from sweeps.store.parts import Part, Tile, chunk_of
from sweeps.store.zarr_format import TRAILER

#: How chunks can be compressed; the first is that of a new store.
COMPRESSIONS = ("lz4", "none")

#: Most points of a tile: 16 MiB of float64.
TILE = sizes.STORE_TILE


class Layout:
    """Which tiles a grid is stored in."""

    def __init__(
        self, grid: Grid, *, expand: bool = False, compression: str = COMPRESSIONS[1]
    ) -> None:
        self.grid, self.expand, self.compression = grid, expand, compression
        self.parts = tuple(
            Part(
                number=number,
                dims=group.dims,
                outputs=group.outputs,
                shape=grid.shape(group.dims),
                chunk=_chunk(grid, group.dims),
            )
            for number, group in enumerate(groups(grid, expand=expand))
        )

    @property
    def count(self) -> int:
        """How many tiles there are."""
        return sum(math.prod(part.counts) for part in self.parts)

    @property
    def points(self) -> int:
        """The points of all parts together."""
        return sum(part.points for part in self.parts)

    def tiles(self) -> Iterator[Tile]:
        """The tiles, in order; nothing is kept of them."""
        for part in self.parts:
            for number in range(math.prod(part.counts)):
                yield part.tile(number)

    def dtype(self, output: str) -> np.dtype[Any]:
        """The type in which an output is stored."""
        found: np.dtype[Any] = np.dtype(self.grid.dtype(output)).newbyteorder("<")
        return found

    @property
    def packed(self) -> bool:
        """Whether chunks are compressed."""
        return self.compression != "none"

    def shuffled(self, output: str, part: Part) -> bool:
        """Whether the bytes of compressed values are sorted; not where many are equal."""
        return len(self.grid.dims(output)) == len(part.dims)

    def chunk_bytes(self, output: str, part: Part, record: Mapping[str, Any] | None) -> int | None:
        """The bytes of a chunk; None where only the record of its tile tells, and there is none.

        Those at the far edge of an axis are as long as the others, before they are compressed.
        """
        if self.packed:
            found: int | None = ((record or {}).get("bytes") or {}).get(output)
            return found
        return math.prod(part.chunk) * self.dtype(output).itemsize + TRAILER

    def key(self, output: str, tile: Tile) -> str:
        """Where the chunk of an output lies."""
        return chunk_of(output, tile)

    def describe(self, tile: Tile) -> str:
        """The configurations of a tile, for people."""
        part, said = self.parts[tile.part], []
        for axis, size, low, high in zip(part.dims, part.shape, tile.low, tile.high, strict=True):
            if high - low < size:
                values = self.grid.axes[axis].coordinate
                ends = f" to {values[high - 1]}" if high - low > 1 else ""
                said.append(f"{axis} = {values[low]}{ends}")
        return ", ".join(said) or "all configurations"


def _chunk(grid: Grid, dims: Sequence[str]) -> tuple[int, ...]:
    plain = grid.plain(dims)
    shape = grid.shape(plain)
    target = min(TILE, max(sweeps.nest.run.SINGLE, math.prod(shape) // 4))
    steps = dict(zip(plain, pieces(shape, target, whole=False) if shape else (), strict=True))
    return tuple(steps.get(axis, 1) for axis in dims)
