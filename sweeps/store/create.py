"""Create the initial files of a store: the manifest, and (with zarr) metadata and coordinates."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sweeps.grid.dataset import axis_coordinates, variable_attributes
from sweeps.store.layout import COMPRESSIONS, StoreLayout, StorePart
from sweeps.store.records import MANIFEST, checksum, encode_checked_json
from symbolic.json_text import check_json_length

if TYPE_CHECKING:
    import zarr

#: Metadata file of zarr groups and arrays.
METADATA_FILE = "zarr.json"
#: Fill value of missing chunks, by the kind of their dtype.
FILL: dict[str, Any] = {"f": float("nan"), "i": -1, "b": False}
_CHUNK_KEY_ENCODING: Any = {"name": "default", "separator": "."}


def ignore_format_warnings() -> None:
    """Suppress warnings that zarr v3 does not yet specify texts and consolidated metadata.

    The filter is permanent, because ``warnings.catch_warnings`` is not thread-safe. Numba enters it
    while a worker compiles; two entries at once could discard later warnings of the process.
    """
    warnings.filterwarnings("ignore", message=".*(Zarr format 3|Zarr V3|zarr v3).*")


@dataclass(frozen=True, kw_only=True)
class StorePlan:
    """The planned content of a store: its layout, the manifest of its study, and its attributes."""

    layout: StoreLayout
    manifest: dict[str, Any]
    attributes: dict[str, Any]

    @property
    def identity(self) -> str:
        """Return the identity of the study, which every record contains."""
        return str(self.manifest["identity"])

    @cached_property
    def files(self) -> dict[str, bytes]:
        """Return the initial files by key: all files except shards, records and the end mark."""
        import zarr
        from zarr.storage import MemoryStore

        grid = self.layout.grid
        files: dict[str, Any] = {}
        parts = {name: part for part in self.layout.parts for name in part.outputs}
        coordinates = axis_coordinates(grid)
        extra = " ".join(name for name in coordinates if name not in grid.axes)
        # this attribute tells xarray which arrays are coordinates besides the axes
        about = {**self.attributes, **({"coordinates": extra} if extra else {})}
        ignore_format_warnings()
        root = zarr.create_group(MemoryStore(files), attributes=_to_json(about))
        for name, (axis, values, attributes) in coordinates.items():
            _coordinate(root, name, axis, values, attributes)
        for name in (*grid.outputs, *(n for n in parts if n not in grid.outputs)):
            _output(root, self.layout, parts[name], name)
        zarr.consolidate_metadata(root.store)
        result = {key: data.to_bytes() for key, data in sorted(files.items())}
        result[METADATA_FILE] = _order_arrays(result[METADATA_FILE], [*coordinates, *grid.outputs])
        check_json_length(result[METADATA_FILE], "the store")
        sums = {key: checksum(data) for key, data in result.items()}
        manifest = {**self.manifest, "tiles": self.layout.count, "files": sums}
        return {MANIFEST: encode_checked_json(manifest), **result}


def _order_arrays(root: bytes, names: Sequence[str]) -> bytes:
    """Sort the arrays in the metadata of a group, because readers show them in this order."""
    tree = json.loads(root)
    arrays = tree["consolidated_metadata"]["metadata"]
    ordered = {name: arrays[name] for name in dict.fromkeys([*names, *arrays])}
    tree["consolidated_metadata"]["metadata"] = ordered
    return json.dumps(tree, indent=1).encode()


def _to_json(tree: Any) -> Any:
    if isinstance(tree, Mapping):
        return {key: _to_json(value) for key, value in tree.items()}
    return tree.tolist() if isinstance(tree, (np.ndarray, np.generic)) else tree


def _coordinate(
    root: zarr.Group, name: str, axis: str, values: Any, attributes: Mapping[str, Any]
) -> None:
    from zarr.codecs import Crc32cCodec

    is_text = values.dtype.kind in "UOT"
    data = values.astype(object) if is_text else values.astype(values.dtype.newbyteorder("<"))
    array = root.create_array(
        name,
        shape=values.shape,
        dtype=str if is_text else data.dtype,
        chunks=(max(values.size, 1),),
        compressors=[Crc32cCodec()],
        filters=None,
        chunk_key_encoding=_CHUNK_KEY_ENCODING,
        fill_value=None if is_text else FILL[data.dtype.kind],
        attributes=_to_json(attributes),
        dimension_names=[axis],
        config={"write_empty_chunks": True},
    )
    array[:] = data


def _output(root: zarr.Group, layout: StoreLayout, part: StorePart, name: str) -> None:
    from zarr.codecs import BloscCodec, Crc32cCodec

    dtype = layout.dtype(name)
    compressors: list[Any] = [Crc32cCodec()]
    if layout.compression == COMPRESSIONS[0]:
        # shuffled bytes compress better if values vary along every axis
        varies = len(layout.grid.dims(name)) == len(part.dims) and dtype.itemsize > 1
        shuffle: Any = "shuffle" if varies else "noshuffle"
        blosc = BloscCodec(cname="lz4", clevel=1, shuffle=shuffle, typesize=dtype.itemsize)
        compressors.insert(0, blosc)
    root.create_array(
        name,
        shape=part.shape,
        dtype=dtype,
        chunks=part.chunk,
        shards=part.shard if part.shape else None,
        compressors=compressors,
        filters=None,
        chunk_key_encoding=_CHUNK_KEY_ENCODING,
        fill_value=FILL[dtype.kind],
        attributes=_to_json(variable_attributes(layout.grid, name)),
        dimension_names=part.dims,
    )


class ShardEncoder:
    """An encoder of the values of tiles as zarr shards. It is not thread-safe."""

    def __init__(self, metadata: Mapping[str, bytes]) -> None:
        import zarr
        from zarr.core.buffer import default_buffer_prototype
        from zarr.storage import MemoryStore

        ignore_format_warnings()
        make = default_buffer_prototype().buffer.from_bytes
        self._files: dict[str, Any] = {}
        self._arrays = {}
        for name, data in metadata.items():
            self._files[f"{name}/{METADATA_FILE}"] = make(data)
            opened: Any = zarr.open_array(MemoryStore(self._files), path=name, mode="r+")
            self._arrays[name] = opened.with_config({"write_empty_chunks": True})

    def encode(self, name: str, key: str, low: Any, values: Any) -> memoryview:
        """Return the shard ``key`` of an output; ``low`` is the index of the first value."""
        array = self._arrays[name]
        if values.ndim:
            array[tuple(slice(a, a + n) for a, n in zip(low, values.shape, strict=True))] = values
        else:
            array[...] = values
        return memoryview(self._files.pop(key).as_buffer_like())
