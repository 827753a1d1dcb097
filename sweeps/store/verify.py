"""Finding damage in a store, and repairing it by computing those tiles again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from sweeps.check import check
from sweeps.progress import Listener, Tally
from sweeps.store.crew import compute_tiles, threads
from sweeps.store.failures import FAILED
from sweeps.store.fill import FINISHED
from sweeps.store.layout import Layout, Part, Tile
from sweeps.store.medium import Medium
from sweeps.store.records import RECORDS, read_sealed, sealed
from sweeps.store.zarr_format import TRAILER, checksum, trailer
from sweeps.store.zones import ZONES, pack, unpack

__all__ = ["Checked", "Damage", "verify"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A file that is not as it was written; ``configurations`` are those of its tile."""

    file: str
    problem: str
    tile: str = ""
    configurations: str = ""

    def __str__(self) -> str:
        where = f" (tile {self.tile}: {self.configurations})" if self.tile else ""
        return f"{self.file}: {self.problem}{where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What was found: how many tiles there are, how many not stored yet, and the damage."""

    tiles: int
    pending: int
    damages: tuple[Damage, ...]
    repaired: bool = False


def verify(
    layout: Layout,
    medium: Medium,
    files: Mapping[str, bytes],
    *,
    repair: bool = False,
    listener: Listener | None = None,
) -> Checked:
    """Compare every file of a store with its checksum, or with what it must hold.

    Who calls has claimed the place, for writing if it is repaired.

    Parameters
    ----------
    layout : Layout
        What belongs into the store.
    medium : Medium
        Where it lies.
    files : mapping of str to bytes
        The files with which it began.
    repair : bool
        Write these anew where they differ, and compute the damaged tiles again.
    listener : callable, optional
        Told of the progress of the repair.
    """
    damages, broken = _beginning(medium, files, repair=repair), []
    seal = _get(medium, FINISHED)
    ended = seal is not None
    pending = 0
    with ThreadPoolExecutor(threads()) as pool:
        looked = pool.map(lambda tile: (tile, *_look(layout, medium, tile)), layout.tiles())
        for tile, found, empty in looked:
            if empty and not ended:
                pending += 1
            elif found:
                damages += found
                broken.append(tile)
    said = sealed({"tiles": layout.count})
    whole = ended or not (pending or medium.sizes(FAILED))
    if seal != said and whole:
        damages.append(Damage(file=FINISHED, problem=_difference(seal, said)))
    zones = _get(medium, ZONES)
    if whole and (zones is None or unpack(zones) is None):
        lost = "missing" if zones is None else "its checksum is another one"
        damages.append(Damage(file=ZONES, problem=lost))
    left: set[str] = set()
    if repair and broken:
        check(layout.grid)
        tally = Tally(sum(tile.points for tile in broken), listener)
        left = compute_tiles(layout, medium, broken, tally, lambda tile, record: None).lost
    if repair and not pending and not medium.sizes(FAILED):
        if (wanted := pack(layout, medium)) != zones:
            medium.put(ZONES, wanted)
        if seal != said:
            medium.put(FINISHED, said)
    for key in medium.remains():
        damages.append(Damage(file=key, problem="left unfinished by a process that was killed"))
        if repair:
            medium.delete(key)
    return Checked(
        tiles=layout.count,
        pending=pending,
        damages=tuple(damages),
        repaired=repair and bool(damages) and not left,
    )


def _get(medium: Medium, key: str) -> bytes | None:
    with suppress(FileNotFoundError):
        return medium.get(key)
    return None


def _difference(found: bytes | None, expected: bytes) -> str:
    if found is None:
        return "missing"
    if len(found) != len(expected):
        return f"{len(found):,} bytes, not {len(expected):,}"
    place = next(k for k, (a, b) in enumerate(zip(found, expected, strict=True)) if a != b)
    return f"byte {place:,} is another one"


def _beginning(medium: Medium, files: Mapping[str, bytes], *, repair: bool) -> list[Damage]:
    damages = []
    for key, data in files.items():
        found = _get(medium, key)
        if found != data:
            damages.append(Damage(file=key, problem=_difference(found, data)))
            if repair:
                medium.put(key, data)
    return damages


def _look(layout: Layout, medium: Medium, tile: Tile) -> tuple[list[Damage], bool]:
    """What is wrong with a tile, and whether nothing of it is there."""
    part = layout.parts[tile.part]
    said = {"tile": tile.name, "configurations": layout.describe(tile)}
    name = f"{RECORDS}/{tile.name}"
    data = _get(medium, name)
    record = None if data is None else read_sealed(data)
    damages, there = [], data is not None
    if record is None:
        lost = "missing" if data is None else "its checksum is another one"
        damages.append(Damage(file=name, problem=lost, **said))
    for output in part.outputs:
        key = layout.key(output, tile)
        chunk = _get(medium, key)
        there = there or chunk is not None
        problem = _problem(chunk, layout.chunk_bytes(output, part, record), record, output)
        problem = problem or _unreadable(layout, output, part, chunk or b"")
        if problem:
            damages.append(Damage(file=key, problem=problem, **said))
    return damages, not there


def _unreadable(layout: Layout, output: str, part: Part, chunk: bytes) -> str | None:
    """Why a chunk whose checksum is right cannot be read by everybody."""
    if not layout.packed:
        return None
    from numcodecs import blosc  # type: ignore[import-untyped]

    size = math.prod(part.chunk) * layout.dtype(output).itemsize
    try:
        found = len(blosc.decompress(chunk[:-TRAILER]))
    except RuntimeError:
        return "it cannot be unpacked"
    return None if found == size else f"it unpacks to {found:,} bytes, not {size:,}"


def _problem(
    chunk: bytes | None, size: int | None, record: Mapping[str, Any] | None, output: str
) -> str | None:
    if chunk is None:
        return "missing"
    if size is not None and len(chunk) != size:
        return f"{len(chunk):,} bytes, not {size:,}"
    crc = checksum(np.frombuffer(chunk, dtype=np.uint8)[:-TRAILER])
    if trailer(crc) != chunk[-TRAILER:]:
        return "its checksum is another one"
    if record is not None and record["chunks"].get(output) != f"{crc:08x}":
        return "it holds other values than were recorded"
    return None
