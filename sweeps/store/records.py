"""Small files that hold their own checksum: the manifest, the records of tiles, the end mark.

The record of a tile is written after all its shards, so that a tile with a record is complete. It
holds the lengths and checksums of the shards, and says nothing of when, where or by how many
processes it was computed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Mapping
from typing import Any

from sweeps.store.backend import HIDDEN, StoreBackend, get_or_none
from symbolic.json_text import read_json

#: What a store says of itself: its study, and the checksums of the files of its metadata.
MANIFEST = f"{HIDDEN}/manifest"
#: The folder of the records, and the mark that is set when all of them are there.
RECORDS, FINISHED = f"{HIDDEN}/tiles", f"{HIDDEN}/finished"
#: What may be wrong with a file.
MISSING, UNFIT = "missing", "its checksum does not fit"
OTHER = "it belongs to another tile or store"
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


def read_manifest(data: bytes | None) -> dict[str, Any] | None:
    """Return a manifest; None if it is missing, damaged, or lacks what a store is read by."""
    tree = read_sealed(data) or {}
    kinds = {"identity": str, "study": str, "files": dict, "chunks": dict}
    if any(not isinstance(tree.get(key), kind) for key, kind in kinds.items()):
        return None
    chunks = tree["chunks"].values()
    return tree if all(isinstance(each, dict) and "part" in each for each in chunks) else None


def read_record(
    backend: StoreBackend,
    tile: str,
    identity: str,
    outputs: Collection[str] | None = None,
    points: int | None = None,
) -> tuple[dict[str, Any], str]:
    """Return the record of a tile and no problem; or an empty one, and what is wrong with it.

    ``outputs`` and ``points`` are those of the tile, where they are known.
    """
    data = get_or_none(backend, f"{RECORDS}/{tile}")
    record = read_sealed(data)
    if record is None:
        return {}, MISSING if data is None else UNFIT
    right = (record.get("tile"), record.get("identity")) == (tile, identity)
    shards = record.get("shards")
    right = right and isinstance(shards, dict) and all(map(_is_shard, shards.values()))
    right = right and (outputs is None or set(shards) == set(outputs))
    right = right and (points is None or record.get("points") == points)
    return (record, "") if right else ({}, OTHER)


def _is_shard(said: Any) -> bool:
    return isinstance(said, list) and [type(each) for each in said] == [int, str]


def problem_of_shard(data: bytes | None, record: Mapping[str, Any], output: str) -> str:
    """Return what is wrong with the shard of an output; empty if it is as its record says."""
    if data is None:
        return MISSING
    length, crc = record["shards"].get(output, (0, ""))
    if len(data) != length:
        return f"{len(data):,} bytes, not {length:,}"
    return "" if checksum(data) == crc else UNFIT
