"""The beginning of a store: all metadata and coordinates, so that any reader can open it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sweeps.dataset import axis_coordinates, describe
from sweeps.store.folder import HIDDEN
from sweeps.store.layout import Layout
from sweeps.store.records import sealed
from sweeps.store.zarr_format import (
    array_metadata,
    chunk_key,
    coordinate,
    group_metadata,
    to_json,
)

__all__ = ["IDENTITY", "ROOT", "skeleton"]

#: What tells whose store it is, and the file without which it is none.
IDENTITY, ROOT = f"{HIDDEN}/identity", "zarr.json"


def skeleton(
    layout: Layout, attributes: Mapping[str, Any], identity: Mapping[str, Any]
) -> dict[str, bytes]:
    """Every file of a store but chunks of outputs and records; the root's metadata last."""
    grid = layout.grid
    files = {IDENTITY: sealed(identity)}
    arrays = {}
    of = {name: part for part in layout.parts for name in part.outputs}
    beside = []
    for name, (dims, values, given) in axis_coordinates(grid).items():
        arrays[name], files[f"{name}/{chunk_key([0] * len(dims))}"] = coordinate(
            values, dims, given
        )
        beside += [name] if name not in grid.axes else []
    for name in (*grid.outputs, *(n for n in of if n not in grid.outputs)):
        part, dtype = of[name], layout.dtype(name)
        arrays[name] = array_metadata(
            part.shape, part.chunk, part.dims, dtype, describe(grid, name)
        )
    files |= {f"{name}/{ROOT}": to_json(tree) for name, tree in arrays.items()}
    # by this xarray knows which arrays besides the axes are coordinates
    said = {**attributes, **({"coordinates": " ".join(beside)} if beside else {})}
    files[ROOT] = to_json(group_metadata(said, arrays))
    return files
