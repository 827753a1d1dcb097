"""The beginning of a store: all metadata and coordinates, so that any reader can open it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from sweeps.grid.dataset import axis_coordinates, describe
from sweeps.store.folder import HIDDEN
from sweeps.store.layout import COMPRESSIONS, Layout
from sweeps.store.medium import Medium
from sweeps.store.packing import block_of, codec
from sweeps.store.records import read_sealed, sealed
from sweeps.store.zarr_format import array_metadata, chunk_key, coordinate, group_metadata, to_json
from symbolic.json_text import check_length, read_json

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
    for name, (axis, values, given) in axis_coordinates(grid).items():
        arrays[name], files[f"{name}/{chunk_key([0])}"] = coordinate(values, (axis,), given)
        beside += [name] if name not in grid.axes else []
    for name in (*grid.outputs, *(n for n in of if n not in grid.outputs)):
        part, dtype = of[name], layout.dtype(name)
        codecs = []
        if layout.packed:
            block, shuffled = block_of(part.chunk, dtype.itemsize), layout.shuffled(name, part)
            codecs.append(codec(block, dtype.itemsize, shuffled=shuffled))
        arrays[name] = array_metadata(
            part.shape, part.chunk, part.dims, dtype, describe(grid, name), codecs
        )
    files |= {f"{name}/{ROOT}": to_json(tree) for name, tree in arrays.items()}
    # by this xarray knows which arrays besides the axes are coordinates
    said = {**attributes, **({"coordinates": " ".join(beside)} if beside else {})}
    files[ROOT] = to_json(group_metadata(said, arrays))
    check_length(files[ROOT], "the store")
    return files


def packed_in(told: Mapping[str, Any] | None) -> Collection[str]:
    """The outputs of a store whose chunks are compressed, as it tells of itself."""
    found: Collection[str] = (told or {}).get("chunks", ()) if "compression" in (told or {}) else ()
    return found


def compression_of(medium: Medium) -> str:
    """How the chunks of a store are compressed, by what of it is whole."""
    lz4, none = COMPRESSIONS
    with suppress(FileNotFoundError):
        tree = read_sealed(medium.get(IDENTITY))
        if tree is not None:
            return str(tree.get("compression", none))
    with suppress(FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        arrays = read_json(medium.get(ROOT))["consolidated_metadata"]["metadata"].values()
        names = {codec["name"] for array in arrays for codec in array["codecs"]}
        return lz4 if "blosc" in names else none
    return none
