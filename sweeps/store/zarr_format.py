"""The zarr (v3) format, as much of it as a store needs: metadata, and chunks with a checksum.

A chunk is its values, little-endian, in the order of the dimensions, compressed or as they are,
then the CRC-32C of these bytes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: What is read where nothing has been written, by the kind of the type.
FILL: dict[str, Any] = {"f": "NaN", "i": -1, "b": False}
#: Bytes of the checksum at the end of a chunk.
TRAILER = 4
_ZEROS = bytes(1 << 16)


def checksum(data: Any, before: int = 0) -> int:
    """The CRC-32C of bytes, or of bytes that follow others."""
    import google_crc32c

    return int(google_crc32c.extend(before, data))


def joined(first: int, second: int, length: int) -> int:
    """The CRC-32C of bytes and others after them, of the checksums of both and how many follow.

    >>> joined(checksum(b"123"), checksum(b"456789"), 6) == checksum(b"123456789")
    True
    """
    alone = 0
    while length:  # zeros instead of the others tell how far the first are moved
        zeros = _ZEROS[:length]
        first, alone = checksum(zeros, first), checksum(zeros, alone)
        length -= len(zeros)
    return first ^ alone ^ second


def trailer(crc: int) -> bytes:
    """The end of a chunk."""
    return struct.pack("<I", crc)


def chunk_key(place: Sequence[int]) -> str:
    """The name of a chunk within the folder of its array.

    >>> chunk_key((0, 12)), chunk_key(())
    ('c.0.12', 'c')
    """
    return ".".join(["c", *map(str, place)])


def to_json(tree: Any) -> bytes:
    """Metadata as bytes."""
    return json.dumps(tree, indent=1, ensure_ascii=False, allow_nan=False).encode()


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def array_metadata(
    shape: Sequence[int],
    chunk: Sequence[int],
    dims: Sequence[str],
    dtype: Any,
    attributes: Mapping[str, Any],
    codecs: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """What is in the ``zarr.json`` of an array; a ``dtype`` of None is text.

    ``codecs`` are those that compress its chunks.
    """
    kind = None if dtype is None else np.dtype(dtype)
    if kind is None:
        serializer: dict[str, Any] = {"name": "vlen-utf8", "configuration": {}}
    else:
        serializer = {"name": "bytes"}
        if kind.itemsize > 1:
            serializer["configuration"] = {"endian": "little"}
    return {
        "shape": list(shape),
        "data_type": "string" if kind is None else kind.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
        "fill_value": "" if kind is None else FILL[kind.kind],
        "codecs": [serializer, *codecs, {"name": "crc32c"}],
        "attributes": {key: _plain(value) for key, value in attributes.items()},
        "dimension_names": list(dims),
        "zarr_format": 3,
        "node_type": "array",
        "storage_transformers": [],
    }


def group_metadata(
    attributes: Mapping[str, Any], arrays: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """What is in the ``zarr.json`` of the group, the metadata of its arrays included."""
    inline = {"kind": "inline", "must_understand": False, "metadata": dict(arrays)}
    return {
        "attributes": {key: _plain(value) for key, value in attributes.items()},
        "zarr_format": 3,
        "consolidated_metadata": inline,
        "node_type": "group",
    }


def coordinate(
    values: NDArray[Any], dims: Sequence[str], attributes: Mapping[str, Any]
) -> tuple[dict[str, Any], bytes]:
    """The metadata of a coordinate, and its one chunk."""
    text = values.dtype.kind in "UOT"
    if text:
        parts = [str(value).encode() for value in values.reshape(-1)]
        pieces = (struct.pack("<I", len(part)) + part for part in parts)
        data = struct.pack("<I", len(parts)) + b"".join(pieces)
    else:
        values = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
        data = values.tobytes()
    dtype = None if text else values.dtype
    found = array_metadata(values.shape, values.shape, dims, dtype, attributes)
    return found, data + trailer(checksum(data))


def coordinate_values(about: Mapping[str, Any], chunk: bytes) -> NDArray[Any]:
    """The values of a coordinate, of its metadata and its one chunk as :func:`coordinate` has them.

    Raises
    ------
    ValueError, KeyError, struct.error
        It is another's.

    >>> about, chunk = coordinate(np.array(["gtx280", "c2050"]), ["machine"], {})
    >>> coordinate_values(about, chunk).tolist()
    ['gtx280', 'c2050']
    """
    body, (count,) = chunk[:-TRAILER], about["shape"]
    if about["data_type"] != "string":
        values = np.frombuffer(body, np.dtype(about["data_type"]).newbyteorder("<"))
        return values.astype(about["data_type"]).reshape(count)
    found, at = [], struct.calcsize("<I")
    for _ in range(count):
        (length,) = struct.unpack_from("<I", body, at)
        at += struct.calcsize("<I")
        found.append(body[at : at + length].decode())
        at += length
    return np.array(found, dtype=np.dtypes.StringDType())
