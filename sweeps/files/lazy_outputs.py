"""The outputs of a grid as lazy Dask arrays, which loop nests compute block by block."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sweeps.bounds.checks import check_grid
from sweeps.grid.dataset import add_variables, grid_dataset
from sweeps.grid.grid import Grid
from sweeps.store.compute import BoxProgram
from sweeps.store.layout import StoreLayout, StorePart
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

Chunks = int | str | Sequence[Any] | Mapping[str, Any] | None


def lazy_dataset(
    grid: Grid, attributes: Mapping[str, Any], *, chunks: Chunks = None, expand: bool = False
) -> xr.Dataset:
    """Return the Dataset of a grid with lazy outputs; :func:`dse.verbs.study.lazy` describes it."""
    check_grid(grid)
    arrays = _lazy_arrays(StoreLayout(grid, expand=expand), attributes.get("identity", ""), chunks)
    names = [name for name in grid.outputs if name in arrays]
    names += [name for name in arrays if name not in names]
    return grid_dataset(grid, {name: arrays[name] for name in names}, attributes)


def add_lazy_outputs(ds: xr.Dataset, grid: Grid, names: tuple[str, ...]) -> xr.Dataset:
    """Add the outputs ``names`` of a grid to a Dataset of this grid, as lazy arrays."""
    arrays = _lazy_arrays(StoreLayout(grid), f"{ds.attrs.get('identity', '')} {names}", None)
    return add_variables(ds, grid_dataset(grid, {name: arrays[name] for name in names}, {}))


def _lazy_arrays(
    layout: StoreLayout, token: str, chunks: Chunks
) -> dict[str, tuple[tuple[str, ...], Any]]:
    import dask.array as da
    from dask.base import tokenize
    from dask.highlevelgraph import HighLevelGraph

    result: dict[str, tuple[tuple[str, ...], Any]] = {}
    for part in layout.parts:
        cuts = _cuts(part, chunks)
        key = tokenize(token, part, layout.expand, cuts)
        block, program = f"block-{key}", f"program-{key}"
        ends = [np.cumsum((0, *sizes)).tolist() for sizes in cuts]
        places = list(itertools.product(*(range(len(sizes)) for sizes in cuts)))
        blocks: dict[Any, Any] = {program: BoxProgram(layout.grid, part.dims, part.outputs)}
        for place in places:
            low = tuple(each[k] for each, k in zip(ends, place, strict=True))
            high = tuple(each[k + 1] for each, k in zip(ends, place, strict=True))
            blocks[block, *place] = (BoxProgram.compute, program, low, high)
        for number, name in enumerate(part.outputs):
            layer = f"{name}-{key}"
            items = {(layer, *at): (operator.getitem, (block, *at), number) for at in places}
            graph = HighLevelGraph({block: blocks, layer: items}, {block: set(), layer: {block}})
            meta = np.empty((0,) * len(part.shape), dtype=layout.dtype(name))
            result[name] = part.dims, da.Array(graph, layer, cuts, dtype=meta.dtype, meta=meta)
    return result


def _cuts(part: StorePart, chunks: Chunks) -> tuple[tuple[int, ...], ...]:
    from dask.array.core import normalize_chunks

    wanted: Any = part.tile_shape
    if isinstance(chunks, Mapping):
        wanted = tuple(chunks.get(axis, -1) for axis in part.dims)
    elif chunks is not None:
        wanted = chunks
    if not part.shape:
        return ()
    try:
        cuts = normalize_chunks(wanted, shape=part.shape, dtype=np.dtype(np.float64))
    except (ValueError, TypeError) as error:
        raise DseError(
            f"chunks = {chunks!r} over {', '.join(part.dims)}: {error}; give a mapping from axes "
            "to sizes of chunks, or None for the chunks of a store"
        ) from error
    return tuple(tuple(map(int, sizes)) for sizes in cuts)
