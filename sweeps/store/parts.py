"""A tile of a store, and its part of an output."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sweeps.store.zarr_format import chunk_key


@dataclass(frozen=True, slots=True)
class Tile:
    """One tile of the outputs of a part: its place among the chunks, and its bounds."""

    part: int
    place: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]

    @property
    def name(self) -> str:
        """A name that no other tile of the store has."""
        return ".".join(map(str, (self.part, *self.place)))

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values it has along each axis."""
        return tuple(high - low for low, high in zip(self.low, self.high, strict=True))

    @property
    def points(self) -> int:
        """How many points it has."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Outputs over the same axes, cut alike."""

    number: int
    dims: tuple[str, ...]
    outputs: tuple[str, ...]
    shape: tuple[int, ...]
    chunk: tuple[int, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """How many chunks lie along each axis."""
        return tuple(-(-n // step) for n, step in zip(self.shape, self.chunk, strict=True))

    @property
    def points(self) -> int:
        """How many points each output has."""
        return math.prod(self.shape)

    def tile(self, number: int) -> Tile:
        """A tile by its number."""
        place = []
        for count in reversed(self.counts):
            number, index = divmod(number, count)
            place.append(index)
        place.reverse()
        low = tuple(index * step for index, step in zip(place, self.chunk, strict=True))
        ends = zip(low, self.chunk, self.shape, strict=True)
        return Tile(
            part=self.number,
            place=tuple(place),
            low=low,
            high=tuple(min(start + step, size) for start, step, size in ends),
        )


def flat_index(index: Sequence[int], shape: Sequence[int]) -> int:
    """Which one it is, of all places of a shape in order."""
    found = 0
    for place, size in zip(index, shape, strict=True):
        found = found * size + place
    return found


def chunk_of(output: str, tile: Tile) -> str:
    """Where the chunk of an output lies."""
    return f"{output}/{chunk_key(tile.place)}"
