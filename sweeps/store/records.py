"""Manifest, tile records and end mark of a store: small JSON files with their own checksums.

The record of a tile is written after all its shards, so that a tile with a record is complete. It
contains lengths and checksums, but nothing that depends on time, host or method of computation.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeps.grid.dataset import source_store, unfinished_places
from sweeps.store.backend import PRIVATE_FOLDER, StoreBackend, backend_of, get_or_none
from symbolic.errors import DamagedError, OtherProcessError, UnfinishedError
from symbolic.json_text import read_json

if TYPE_CHECKING:
    import xarray as xr

#: Key of the manifest, which has the study of a store and the checksums of its metadata files.
MANIFEST = f"{PRIVATE_FOLDER}/manifest"
#: Folder of the records, and key of the end mark, which says that all records are stored.
RECORDS, FINISHED = f"{PRIVATE_FOLDER}/tiles", f"{PRIVATE_FOLDER}/finished"
#: Descriptions of a file's problems.
MISSING, UNFIT = "missing", "its checksum does not fit"
WRONG_TILE = "it belongs to another tile or store"
_SEAL = "crc32"
#: Maximum size of a manifest, record or end mark. [B]
_MAX_BYTES = 1 << 26


def checksum(data: Any) -> str:
    """Return the CRC-32 of bytes, in hexadecimal digits.

    We do not use CRC-32C: it is the same for all chunks, which end in their own CRC-32C.
    """
    return f"{zlib.crc32(data):08x}"


def encode_checked_json(tree: Mapping[str, Any]) -> bytes:
    """Return a tree as JSON that contains its own checksum."""
    text = json.dumps({**tree, _SEAL: ""}, indent=1, sort_keys=True, allow_nan=False)
    return text.replace(_seal(""), _seal(checksum(text.encode()))).encode()


def _seal(value: str) -> str:
    return f'"{_SEAL}": "{value}"'


def decode_checked_json(data: bytes | None) -> dict[str, Any] | None:
    """Decode a result of :func:`encode_checked_json`; return None if it is missing or damaged.

    >>> decode_checked_json(encode_checked_json({"a": 1}).replace(b"1,", b"2,")) is None
    True
    """
    try:
        tree = dict(read_json(data or b"", _MAX_BYTES))
        seal = str(tree.pop(_SEAL))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    blank = (data or b"").replace(_seal(seal).encode(), _seal("").encode())
    whole = data is not None and len(blank) < len(data) and checksum(blank) == seal
    return tree if whole else None


def read_manifest(data: bytes | None) -> dict[str, Any] | None:
    """Return a manifest; None if it is missing, damaged or incomplete."""
    tree = decode_checked_json(data) or {}
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
    """Return the record of a tile and ''; or an empty record and a text about the problem.

    ``outputs`` and ``points`` are compared with the record if they are given.
    """
    data = get_or_none(backend, f"{RECORDS}/{tile}")
    record = decode_checked_json(data)
    if record is None:
        return {}, MISSING if data is None else UNFIT
    right = (record.get("tile"), record.get("identity")) == (tile, identity)
    shards: Any = record.get("shards")
    right = right and isinstance(shards, dict)
    right = right and all(
        isinstance(each, list) and [*map(type, each)] == [int, str] for each in shards.values()
    )
    right = right and (outputs is None or set(shards) == set(outputs))
    right = right and (points is None or record.get("points") == points)
    return (record, "") if right else ({}, WRONG_TILE)


def problem_of_shard(data: bytes | None, record: Mapping[str, Any], output: str) -> str:
    """Return a text about an output's shard if it does not match its record, otherwise ''."""
    if data is None:
        return MISSING
    length, crc = record["shards"].get(output, (0, ""))
    if len(data) != length:
        return f"{len(data):,} bytes, not {length:,}"
    return "" if checksum(data) == crc else UNFIT


def damaged_error(place: str, key: str, problem: str) -> DamagedError:
    """Return the error for a damaged file, with the command that repairs it."""
    return DamagedError(f"{place} is damaged: {key}: {problem}; repair it with dse verify --repair")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreInfo:
    """The location and the manifest of a run's store.

    ``is_complete`` is True if all tiles are stored. ``manifest`` has the keys ``identity``,
    ``study`` (text of the study), ``files`` and ``chunks``.
    """

    place: str
    manifest: Mapping[str, Any]
    is_complete: bool

    @property
    def identity(self) -> str:
        """Return the identity of the study."""
        return str(self.manifest["identity"])

    def check_same(self) -> None:
        """Raise OtherProcessError if the store was replaced or removed since it was opened."""
        backend = backend_of(self.place)
        now = get_or_none(backend, MANIFEST)
        begun = self.is_complete and get_or_none(backend, FINISHED) is None
        # a damaged manifest is no sign that the store was replaced
        if now is None or begun or decode_checked_json(now) not in (None, self.manifest):
            raise OtherProcessError(
                f"another process has extended, replaced or removed {self.place} since it was "
                "opened: open it again"
            )


def read_info(place: str | Path) -> StoreInfo | None:
    """Return the info of a store; None if no run wrote it. Raise DamagedError if it is damaged."""
    backend = backend_of(place)
    data = get_or_none(backend, MANIFEST)
    if data is None:
        check_not_replaced(backend)
        if get_or_none(backend, f"{PRIVATE_FOLDER}/identity") is not None:
            raise DamagedError(
                f"{backend.name} was written by an earlier version, whose format is no longer "
                "supported: run its study into another place, or with --fresh"
            )
        if get_or_none(backend, FINISHED) is None and not backend.sizes(RECORDS):
            return None
        raise damaged_error(backend.name, MANIFEST, "it is missing")
    manifest = read_manifest(data)
    if manifest is None:
        lacks = "it lacks the study, or the files of the store"
        problem = UNFIT if decode_checked_json(data) is None else lacks
        raise damaged_error(backend.name, MANIFEST, problem)
    mark = get_or_none(backend, FINISHED)
    end = decode_checked_json(mark)
    if mark is not None and (end is None or end.get("identity") != manifest["identity"]):
        if get_or_none(backend, MANIFEST) != data:  # another process has replaced the store
            return read_info(place)
        problem = UNFIT if end is None else "it is that of another store"
        raise damaged_error(backend.name, FINISHED, problem)
    return StoreInfo(place=str(place), manifest=manifest, is_complete=mark is not None)


def check_not_replaced(backend: StoreBackend) -> None:
    """Raise OtherProcessError if a store is being replaced, so that it is not complete."""
    if backend.is_being_replaced():
        raise OtherProcessError(
            f"another process is replacing {backend.name}, or was stopped while it did: wait for "
            f"it, or finish the replacement with dse verify {backend.name}"
        )


def info_of(source: xr.Dataset | str | Path) -> StoreInfo | None:
    """Return the StoreInfo of a path or of an unchanged Dataset opened from a store, else None."""
    if isinstance(source, (str, Path)):
        return read_info(source) if str(source).rstrip("/").endswith(".zarr") else None
    info: StoreInfo | None = source_store(source)
    if info is not None:
        info.check_same()
    return info


def check_complete(place: str | Path) -> None:
    """Raise UnfinishedError if the store of a run is not finished."""
    info = read_info(place)
    if info is None or info.is_complete:
        return
    backend = backend_of(place)
    count = len(backend.sizes(RECORDS))
    raise UnfinishedError(
        f"{backend.name} is not finished ({count:,} tiles are stored): continue it with the same "
        f"command (dse run STUDY --store {backend.name}), or query the stored part in memory: "
        "dse.open(...).load()"
    )


def check_finished(source: xr.Dataset | str | Path) -> None:
    """Raise UnfinishedError if a Dataset, or the store at a path, lacks values."""
    info = info_of(source)
    if isinstance(source, (str, Path)):
        places = [info.place] if info is not None and not info.is_complete else []
    else:
        places = unfinished_places(source)
    for place in places:
        check_complete(place)
