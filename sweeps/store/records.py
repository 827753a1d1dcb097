"""Small files that hold their own checksum: the manifest, the records of tiles, the end mark.

The record of a tile is written after all its shards, so that a tile with a record is complete. It
holds the lengths and checksums of the shards, and says nothing of when, where or by how many
processes it was computed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

from sweeps.store.backend import HIDDEN, StoreBackend, get_or_none
from sweeps.store.layout import Part, Tile
from symbolic.json_text import read_json

#: What a store says of itself: its study, and the checksums of the files of its metadata.
MANIFEST = f"{HIDDEN}/manifest"
#: The folder of the records, and the mark that is set when all of them are there.
RECORDS, FINISHED = f"{HIDDEN}/tiles", f"{HIDDEN}/finished"
_SEAL = "crc32"
#: Most bytes of such a file that are read.
_LONGEST = 1 << 26


def checksum(data: Any) -> str:
    """Return the CRC-32 of bytes.

    It is not that of the chunks in a shard: the CRC-32C of bytes that end in their CRC-32C is one
    and the same, whatever they are.
    """
    return f"{zlib.crc32(data):08x}"


def sealed(tree: Mapping[str, Any]) -> bytes:
    """Return a tree as JSON that holds its own checksum.

    >>> read_sealed(sealed({"a": [1, 2.5]}))
    {'a': [1, 2.5]}
    >>> read_sealed(sealed({"a": 1}).replace(b"1,", b"2,")) is None
    True
    """
    text = json.dumps({**tree, _SEAL: ""}, indent=1, sort_keys=True, allow_nan=False)
    return text.replace(_seal(""), _seal(checksum(text.encode()))).encode()


def _seal(value: str) -> str:
    return f'"{_SEAL}": "{value}"'


def read_sealed(data: bytes | None) -> dict[str, Any] | None:
    """Return the tree of :func:`sealed`; None if it is missing or a bit of it has changed."""
    try:
        tree = dict(read_json(data or b"", _LONGEST))
        seal = str(tree.pop(_SEAL))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    blank = (data or b"").replace(_seal(seal).encode(), _seal("").encode())
    whole = data is not None and len(blank) < len(data) and checksum(blank) == seal
    return tree if whole else None


def record_of(
    backend: StoreBackend, part: Part, tile: Tile, identity: str
) -> dict[str, Any] | None:
    """Return the record of a tile; None if it is missing, damaged, or that of something else."""
    record = read_sealed(get_or_none(backend, f"{RECORDS}/{tile.name}"))
    return record if record and problem_of_record(record, part, tile, identity) is None else None


def problem_of_record(
    record: Mapping[str, Any], part: Part, tile: Tile, identity: str
) -> str | None:
    """Return why a whole record is not that of a tile; None if it is."""
    right = (record.get("tile"), record.get("points")) == (tile.name, tile.points)
    right = right and record.get("identity") == identity
    right = right and set(record.get("shards", ())) == set(part.outputs)
    return None if right else "it belongs to another tile or store"
