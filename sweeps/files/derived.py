"""Quantities of a grid that nobody stored: lazy arrays that the graph computes, tile by tile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.dataset import describe, labelled, selected
from sweeps.grid.grid import Grid
from sweeps.store.layout import Layout
from sweeps.store.parts import Part, flat_index
from sweeps.store.tiles import source_of

if TYPE_CHECKING:
    import xarray as xr


def with_derived(ds: xr.Dataset, grid: Grid, names: tuple[str, ...]) -> xr.Dataset:
    """A Dataset of a grid, or of a part of it, with some outputs of the grid, computed when read.

    They lie over the axes on which they depend; where the Dataset holds a part of these, so do
    they.
    """
    layout = Layout(grid)
    found = {}
    for part in layout.parts:
        for name in part.outputs:
            if name in names:
                found[name] = (part.dims, _lazy(layout, part, name), describe(grid, name))
    return selected(ds, labelled(grid, {name: found[name] for name in names}))


def _lazy(layout: Layout, part: Part, name: str) -> Any:
    import dask.array as da

    at = part.outputs.index(name)

    def block(block_info: Any = None) -> NDArray[Any]:
        tile = part.tile(flat_index(block_info[None]["chunk-location"], part.counts))
        found = np.empty(tile.points, dtype=layout.dtype(name))
        for origin, arrays in source_of(layout, part).pieces(tile):
            found[origin : origin + arrays[at].size] = arrays[at]
        return found.reshape(tile.shape)

    chunks = tuple(
        tuple(min(step, size - low) for low in range(0, size, step))
        for size, step in zip(part.shape, part.chunk, strict=True)
    )
    meta = np.empty((0,) * len(part.shape), dtype=layout.dtype(name))
    return da.map_blocks(block, chunks=chunks, dtype=meta.dtype, meta=meta)
