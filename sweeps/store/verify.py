"""Finding damage in a store, and repairing it by computing those tiles again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from sweeps.bounds.check import check
from sweeps.runtime.progress import Listener, Tally
from sweeps.store.crew import compute_tiles, threads
from sweeps.store.failures import FAILED
from sweeps.store.folder import PART
from sweeps.store.held import FINISHED, Held, Listing, held_of
from sweeps.store.layout import Layout
from sweeps.store.medium import Medium, got, medium_of
from sweeps.store.parts import Part, Tile
from sweeps.store.recorded import problem_of
from sweeps.store.records import RECORDS, read_sealed
from sweeps.store.zarr_format import TRAILER, checksum, trailer
from sweeps.store.zones import ZONES, Gathered, unpack
from symbolic.errors import DamagedError


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
    """What was found: how many tiles there are, how many not stored yet, and the damage.

    ``kept`` is where a repair has put the files that do not belong to the store.
    """

    tiles: int
    pending: int
    damages: tuple[Damage, ...]
    repaired: bool = False
    kept: str | None = None


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
    said = got(medium, FINISHED)
    held = _trusted(medium, files)
    damages, kept = _foreign(layout, medium, files, said is not None, repair=repair)
    damages += _beginning(medium, files, repair=repair)
    gathered = zones, listing = Gathered(layout), Listing(layout)

    def add(tile: Tile, record: Mapping[str, Any]) -> None:
        for each in gathered:
            each.add(tile, record)

    pending, broken = 0, []
    with ThreadPoolExecutor(threads()) as pool:
        for look in pool.map(lambda tile: _look(layout, medium, tile, held), layout.tiles()):
            if look.empty and said is None:
                pending += 1
            elif look.damages or look.record is None:
                damages += look.damages
                broken.append(look.tile)
            else:
                add(look.tile, look.record)
    left: set[str] = set()
    if repair and broken:
        check(layout.grid)
        tally = Tally(sum(tile.points for tile in broken), listener)
        left = compute_tiles(layout, medium, broken, tally, add).lost
    if said is not None or not (pending or medium.sizes(FAILED)):
        known = not broken or (repair and not left)
        ends = _ends(files, zones, listing) if known else {}
        damages += _end(medium, held, ends, repair=repair)
    return Checked(
        tiles=layout.count,
        pending=pending,
        damages=tuple(damages),
        repaired=repair and bool(damages) and not left,
        kept=kept,
    )


def _trusted(medium: Medium, files: Mapping[str, bytes]) -> Held | None:
    """The list of what a finished store holds, where it is that of a store that begins so."""
    with suppress(DamagedError):
        held = held_of(medium)
        if held is not None and not any(held.problem(key, data) for key, data in files.items()):
            return held if held.chunks else None
    return None


def _ends(files: Mapping[str, bytes], zones: Gathered, listing: Listing) -> dict[str, bytes]:
    """The files with which a store ends, once the records of all tiles are known."""
    packed = zones.packed()
    return {ZONES: packed, FINISHED: listing.sealed({**files, ZONES: packed})}


def _end(
    medium: Medium, held: Held | None, ends: Mapping[str, bytes], *, repair: bool
) -> list[Damage]:
    """What is wrong with the files with which a store ends; where not all tiles are known, the
    list of what it holds tells what it can.
    """
    if ends:
        return _beginning(medium, ends, repair=repair)
    problems: dict[str, str | None] = {}
    if held is None:
        there = got(medium, FINISHED) is not None
        problems[FINISHED] = "it is not that of this store" if there else "missing"
    zones = got(medium, ZONES)
    if zones is None or unpack(zones) is None:
        problems[ZONES] = "missing" if zones is None else "its checksum is another one"
    elif held is not None:
        problems[ZONES] = held.problem(ZONES, zones)
    return [Damage(file=key, problem=text) for key, text in problems.items() if text]


def _foreign(
    layout: Layout, medium: Medium, files: Mapping[str, bytes], ended: bool, *, repair: bool
) -> tuple[list[Damage], str | None]:
    """Files that do not belong to a store, and where they are kept once they are put aside."""
    known = {*files, ZONES, FINISHED}
    for tile in layout.tiles():
        known |= {layout.key(name, tile) for name in layout.parts[tile.part].outputs}
        known |= {f"{folder}/{tile.name}" for folder in (RECORDS, *([] if ended else [FAILED]))}
    damages, aside = [], medium.aside()
    foreign = [key for key in medium.files() if key not in known]
    for key in foreign:
        unfinished = key.endswith(PART)
        problem = "left unfinished by a process that was killed"
        problem = problem if unfinished else "it does not belong to the store"
        damages.append(Damage(file=key, problem=problem))
        if repair:
            if not unfinished:
                medium_of(aside).adopt(medium, key)
            medium.delete(key)
    return damages, aside if repair and not all(key.endswith(PART) for key in foreign) else None


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
        found = got(medium, key)
        if found != data:
            damages.append(Damage(file=key, problem=_difference(found, data)))
            if repair:
                medium.put(key, data)
    return damages


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What is wrong with a tile, whether nothing of it is there, and its record."""

    tile: Tile
    damages: list[Damage]
    empty: bool
    record: Mapping[str, Any] | None


def _look(layout: Layout, medium: Medium, tile: Tile, held: Held | None) -> _Look:
    part, damages = layout.parts[tile.part], []
    said = {"tile": tile.name, "configurations": layout.describe(tile)}
    keys = {output: layout.key(output, tile) for output in part.outputs}
    name = f"{RECORDS}/{tile.name}"
    data = got(medium, name)
    record, problem = None if data is None else read_sealed(data), None
    if record is None:
        problem = "missing" if data is None else "its checksum is another one"
    else:
        problem = problem_of(layout, tile, record, held)
        record = None if problem else record
    if problem:
        damages.append(Damage(file=name, problem=problem, **said))
    chunks = {output: got(medium, key) for output, key in keys.items()}
    for output, key in keys.items():
        size = layout.chunk_bytes(output, part, record)
        wanted = held.expected(key) if held is not None else None
        if wanted is None and record is not None:
            wanted = int(record["chunks"][output], 16)
        problem = _problem(chunks[output], size, wanted) or _unreadable(
            layout, output, part, chunks[output] or b""
        )
        if problem:
            damages.append(Damage(file=key, problem=problem, **said))
    empty = data is None and not any(chunk is not None for chunk in chunks.values())
    return _Look(tile=tile, damages=damages, empty=empty, record=record)


def _problem(chunk: bytes | None, size: int | None, wanted: int | None) -> str | None:
    if chunk is None:
        return "missing"
    if size is not None and len(chunk) != size:
        return f"{len(chunk):,} bytes, not {size:,}"
    crc = checksum(np.frombuffer(chunk, dtype=np.uint8)[:-TRAILER])
    if trailer(crc) != chunk[-TRAILER:]:
        return "its checksum is another one"
    return None if wanted in (None, crc) else "it holds other values than were recorded"


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
