"""Computing a tile and writing it: piece by piece, from the cache of the processor to the disk."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sweeps.nest.run
from stochastic import sizes
from sweeps.bounds.enclosures import Barred
from sweeps.grid.flat_index import unravel
from sweeps.grid.grid import FEASIBLE, Tiling
from sweeps.nest.emit import row_axes
from sweeps.nest.run import Prepared, prepare
from sweeps.store.chunks import Chunk, PackedChunk
from sweeps.store.cuts import cut_of
from sweeps.store.direct import room, within
from sweeps.store.layout import Layout
from sweeps.store.medium import Medium
from sweeps.store.parts import Part, Tile, chunk_of, flat_index
from sweeps.store.records import RECORDS, Summary, flat_places, sealed
from sweeps.store.zarr_format import FILL
from sweeps.store.zones import Ranges

__all__ = ["PIECE", "Recipe", "Source", "barred_in", "source_of", "store_tile"]

#: Points computed at once: what they take stays in the cache until it is written.
PIECE = sizes.STORE_PIECE
#: Tiles of which it is asked together whether any point keeps the rules.
_BLOCK = sizes.STORE_BLOCK


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What the tiles of a part hold, as nothing but data, so that any process can compute them.

    ``names`` are the outputs, and ``feasible`` where the axes of the part tell it; ``switched`` the
    places of the switch axes among those of the part; ``ruled`` whether points can be infeasible;
    ``small`` whether NumPy computes it, and no loop nest; ``packed`` whether chunks are compressed,
    and ``shuffled`` of which outputs their bytes are sorted then.
    """

    part: Part
    names: tuple[str, ...]
    dtypes: tuple[np.dtype[Any], ...]
    switched: tuple[int, ...]
    ruled: bool
    small: bool
    packed: bool
    shuffled: frozenset[str]

    @classmethod
    def of(cls, layout: Layout, part: Part, *, small: bool | None = None) -> Recipe:
        """The recipe of a part of a grid; ``small`` where it is not the size that decides."""
        grid = layout.grid
        inside = bool(grid.conditions) and set(grid.dims(FEASIBLE)) <= set(part.dims)
        names = tuple(dict.fromkeys((*part.outputs, *([FEASIBLE] if inside else []))))
        plain = grid.plain(part.dims)
        if small is None:
            small = not plain or math.prod(grid.shape(plain)) <= sweeps.nest.run.SMALL
        return cls(
            part=part,
            names=names,
            dtypes=tuple(layout.dtype(name) for name in names),
            switched=tuple(k for k, axis in enumerate(part.dims) if axis in grid.switch_axes),
            ruled=bool(grid.conditions),
            small=small,
            packed=layout.packed,
            shuffled=frozenset(n for n in part.outputs if layout.shuffled(n, part)),
        )

    @property
    def plain(self) -> tuple[int, ...]:
        """The places of the axes that are no switches."""
        return tuple(k for k in range(len(self.part.dims)) if k not in self.switched)

    def at(self, tile: Tile) -> tuple[int, ...]:
        """Which label of each switch axis a tile has."""
        return tuple(tile.low[k] for k in self.switched)


#: Gives for the labels of the switches the nest, or all the values of a small part.
Given = Callable[[tuple[int, ...]], Prepared | list[NDArray[Any]]]


class Source:
    """Computes the tiles of one part; buffers are its own, so a thread needs one for itself."""

    def __init__(
        self, recipe: Recipe, given: Given, barred: Callable[[Tile], bool] | None = None
    ) -> None:
        self.recipe, self.given, self.barred = recipe, given, barred
        self._buffers = [room(0, dtype) for dtype in recipe.dtypes]
        self._longest = 0

    def ready(self, tile: Tile) -> Prepared | None:
        """The loop nest that computes a tile, with its data; None where NumPy does."""
        if self.recipe.small:
            return None
        found = self.given(self.recipe.at(tile))
        return found if isinstance(found, Prepared) else None

    def pieces(self, tile: Tile) -> Iterator[tuple[int, list[NDArray[Any]]]]:
        """The values of each name, in the order of the chunk, some at a time, from which place."""
        plain = self.recipe.plain
        box = [(tile.low[k], tile.high[k]) for k in plain]
        ready = self.given(self.recipe.at(tile))
        if not isinstance(ready, Prepared):
            cut = tuple(slice(low, high) for low, high in box)
            pairs = zip(ready, self._buffers, strict=True)
            yield 0, [array[cut].astype(b.dtype, order="C").reshape(-1) for array, b in pairs]
            return
        shape = tuple(self.recipe.part.shape[k] for k in plain)
        outer = len(shape) - row_axes(shape)
        sizes = [high - low for low, high in box]
        tiling = Tiling(sizes[:-1], sizes[-1], PIECE)
        longest = tiling.bounds(0)[2]
        if self._longest < longest:
            self._buffers = [room(longest, b.dtype) for b in self._buffers]
            self._longest = longest
        known = self.barred is not None and self.barred(tile)
        if known:
            for buffer in self._buffers:
                Barred.blank(buffer)
        for number in range(tiling.count):
            inner, origin, points = tiling.bounds(number)
            low = [int(a) + b for a, (b, _) in zip(inner[0::2], box, strict=True)]
            extent = (inner[1::2] - inner[0::2]).tolist()
            start = flat_index(low[outer:], shape[outer:])
            ends = [bound for a, n in zip(low, extent, strict=True) for bound in (a, a + n)]
            ends = [*ends[: 2 * outer], start, start + math.prod(extent[outer:])]
            arrays = [within(buffer, origin, points) for buffer in self._buffers]
            if not known:
                ready.run(np.array(ends, dtype=np.int64), flat_index(low, shape), *arrays)
            yield origin, arrays


def source_of(layout: Layout, part: Part, *, small: bool | None = None) -> Source:
    """Computes the tiles of a part of a grid."""
    grid, recipe = layout.grid, Recipe.of(layout, part, small=small)
    within = [part.dims[k] for k in recipe.switched]
    plain = [part.dims[k] for k in recipe.plain]

    def given(at: tuple[int, ...]) -> Prepared | list[NDArray[Any]]:
        chosen = dict(zip(within, at, strict=True))
        key = tuple(grid.axes[axis].labels[chosen.get(axis, 0)] for axis in grid.switch_axes)
        nodes = [grid.output_node(name, key, part.dims) for name in recipe.names]
        if recipe.small:
            return grid.evaluate(nodes, key, plain)
        kinds = [grid.kind(name) for name in recipe.names]
        return prepare(grid, key, plain, list(zip(nodes, kinds, strict=True)))

    return Source(recipe, given, barred_in(layout, part))


class _Known:
    """Which tiles of a part hold no point that keeps the rules; asked of many tiles at once."""

    def __init__(self, layout: Layout, part: Part) -> None:
        self.grid, self.part = layout.grid, part
        self.barred = Barred(layout.grid, part.outputs, part.dims)
        self.computed = Recipe.of(layout, part).small  # at once, by NumPy
        self.last = -1, np.zeros(0, dtype=bool)

    def __call__(self, tile: Tile) -> bool:
        """Whether a tile is one of them."""
        if self.computed:
            return False
        block, at = divmod(flat_index(tile.place, self.part.counts), _BLOCK)
        known, found = self.last
        if known != block:
            found = self._look(block)
            self.last = block, found
        return bool(found[at])

    def _look(self, block: int) -> NDArray[np.bool_]:
        part, axes = self.part, self.grid.axes
        last = min((block + 1) * _BLOCK, math.prod(part.counts))
        numbers = np.arange(block * _BLOCK, last)
        place = np.stack(unravel(numbers, part.counts))
        chunk, shape = np.array(part.chunk), np.array(part.shape)
        low = place * chunk[:, None]
        high = np.minimum(low + chunk[:, None], shape[:, None]) - 1
        plain = [k for k, axis in enumerate(part.dims) if axis not in self.grid.switch_axes]
        found = np.zeros(numbers.size, dtype=bool)
        switched = [k for k, axis in enumerate(part.dims) if axis in self.grid.switch_axes]
        for at in {tuple(column) for column in low[switched].T.tolist()}:
            chosen = np.all(low[switched] == np.array(at, dtype=np.int64).reshape(-1, 1), axis=0)
            index = dict(zip([part.dims[k] for k in switched], at, strict=True))
            key = tuple(axes[a].labels[index.get(a, 0)] for a in self.grid.switch_axes)
            corners = low[plain][:, chosen], high[plain][:, chosen]
            found[chosen] = self.barred.over(key, *corners)
        return found


def barred_in(layout: Layout, part: Part) -> Callable[[Tile], bool]:
    """Tells of the tiles of a part whether no point there keeps the rules; one a part."""
    known: Callable[[Tile], bool] = layout.grid.kept.setdefault(
        ("barred", layout.expand, part.number), _Known(layout, part)
    )
    return known


def store_tile(
    source: Source, tile: Tile, medium: Medium, known: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Compute a tile, write its chunks, then its record; gives the record.

    ``known`` is the record of outputs of the tile whose chunks are there already.
    """
    recipe, part = source.recipe, source.recipe.part
    types, fast = dict(zip(recipe.names, recipe.dtypes, strict=True)), not recipe.small
    inside = FEASIBLE in recipe.names
    summaries = {name: Summary(types[name], compiled=fast) for name in part.outputs}
    cut = cut_of(part.shape, part.chunk)
    zones = {name: Ranges(cut, types[name], compiled=fast) for name in part.outputs}
    count, feasible = math.prod(part.chunk), 0
    with ExitStack() as stack:
        files = {n: stack.enter_context(medium.writing(chunk_of(n, tile))) for n in part.outputs}
        chunks: dict[str, Chunk] = {
            name: PackedChunk(write, part.chunk, types[name], shuffled=name in recipe.shuffled)
            if recipe.packed
            else Chunk(write, part.chunk, types[name])
            for name, write in files.items()
        }
        for origin, arrays in source.pieces(tile):
            values = dict(zip(recipe.names, arrays, strict=True))
            allowed = values[FEASIBLE] if inside else None
            feasible += int(np.count_nonzero(allowed)) if allowed is not None else 0
            for name in part.outputs:
                chunks[name].add(values[name])
                zones[name].add(values[name], origin, allowed)
                summaries[name].add(values[name], origin, allowed, zones[name].held)
        for name, chunk in chunks.items():
            if missing := count - tile.points:
                chunk.add(np.full(missing, FILL[types[name].kind], dtype=types[name]))
            chunk.finish()
    places = partial(flat_places, box=tile.shape, low=tile.low, shape=part.shape)
    record: dict[str, Any] = {
        "tile": tile.name,
        "chunks": {name: f"{chunk.crc:08x}" for name, chunk in chunks.items()},
        "outputs": {name: summary.tree(places) for name, summary in summaries.items()},
        "zones": {name: found.text() for name, found in zones.items()},
        "points": tile.points,
        "feasible": feasible if inside else None if recipe.ruled else tile.points,
    }
    if recipe.packed:
        record["bytes"] = {name: chunk.length for name, chunk in chunks.items()}
    for key, held in (known or {}).items():
        record[key] |= held
    # a record that a power failure tears, or without its chunks, counts for nothing: none waits
    medium.put(f"{RECORDS}/{tile.name}", sealed(record, lines=False), wait=False)
    return record
