"""Detect damage in a store, and repair it by recomputing the damaged tiles."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from sweeps.bounds.checks import check_grid
from sweeps.runtime.progress import Listener
from sweeps.store.backend import PART_SUFFIX, StoreBackend, backend_of, free_name, get_or_none
from sweeps.store.create import StorePlan
from sweeps.store.fill import TileJob, end_mark, tile_feasible_points
from sweeps.store.layout import StoreLayout, Tile
from sweeps.store.records import (
    FINISHED,
    MANIFEST,
    MISSING,
    RECORDS,
    checksum,
    decode_checked_json,
    problem_of_shard,
    read_manifest,
    read_record,
)

_READERS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A damaged file. ``configurations`` describes the points of its tile."""

    file: str
    problem: str
    tile: str = ""
    configurations: str = ""

    def __str__(self) -> str:
        where = f" (tile {self.tile}: {self.configurations})" if self.tile else ""
        return f"{self.file}: {self.problem}{where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyResult:
    """The number of tiles, the number of tiles not stored (``pending``), and the damage.

    ``moved_to`` is the folder to which a repair moved files that do not belong to the store.
    """

    tiles: int
    pending: int
    damages: tuple[Damage, ...]
    is_repaired: bool = False
    moved_to: str | None = None


def verify(
    plan: StorePlan,
    backend: StoreBackend,
    *,
    repair: bool = False,
    listener: Listener | None = None,
) -> VerifyResult:
    """Compare every file of a store with its checksum or its known content.

    A repair needs the lock. It rewrites initial files that differ and recomputes damaged tiles.
    """
    layout, identity = plan.layout, plan.identity
    ended = get_or_none(backend, FINISHED) is not None
    files = _expected_files(backend, plan.files)
    damages, moved_to = _check_unknown_files(layout, backend, files, repair=repair)
    damages += _check_files(backend, files, repair=repair)
    pending, feasible, has_failed = 0, 0, False
    broken: list[Tile] = []
    with ThreadPoolExecutor(_READERS) as pool:
        looks = pool.map(lambda tile: _check_tile(layout, backend, tile, identity), layout.tiles())
        for tile, record, problems, is_empty in looks:
            if is_empty and not ended:
                pending += 1
            elif problems:
                damages += problems
                broken.append(tile)
            else:
                feasible += tile_feasible_points(layout, tile, record)
                has_failed = has_failed or bool(record.get("failed"))
    lost = 0
    if repair and broken:
        check_grid(layout.grid)
        job = TileJob(plan, backend, listener)
        job.counter.total = sum(tile.points for tile in broken)
        job.run(broken)
        feasible += job.feasible_points
        lost = len(broken) - job.stored_tiles
        has_failed = has_failed or bool(job.failures)
        if job.failures:  # the store is no longer finished
            lost += 1
            backend.delete(FINISHED)
    if not pending and not has_failed:
        # the number of feasible points in the end mark is known only if all tiles are complete
        is_known = not broken or (repair and not lost)
        there = decode_checked_json(get_or_none(backend, FINISHED)) or {}
        if is_known or there.get("identity") != identity:
            mark = end_mark(plan, feasible)
            damages += _check_files(backend, {FINISHED: mark}, repair=repair and is_known)
    return VerifyResult(
        tiles=layout.count,
        pending=pending,
        damages=tuple(damages),
        is_repaired=repair and bool(damages) and not lost,
        moved_to=moved_to,
    )


def _expected_files(backend: StoreBackend, files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Return the initial files that a store should have.

    Another version of zarr may have written other bytes. Stored files that fit their manifest are
    therefore returned as they are.
    """
    data = get_or_none(backend, MANIFEST)
    there, ours = read_manifest(data), decode_checked_json(files[MANIFEST])
    if there is None or ours is None or {**there, "files": ours["files"]} != ours:
        return files
    stored = {key: get_or_none(backend, key) or b"" for key in there["files"]}
    if set(stored) != set(ours["files"]):
        return files
    whole = all(checksum(stored[key]) == crc for key, crc in there["files"].items())
    return {MANIFEST: data or b"", **stored} if whole else files


def _check_unknown_files(
    layout: StoreLayout, backend: StoreBackend, files: Mapping[str, bytes], *, repair: bool
) -> tuple[list[Damage], str | None]:
    known = {*files, FINISHED}
    for tile in layout.tiles():
        part = layout.parts[tile.part]
        known |= {part.key(name, tile) for name in part.outputs} | {f"{RECORDS}/{tile.name}"}
    damages, aside, moved_to = [], free_name(backend), None
    for key in backend.files():
        if key in known:
            continue
        is_part = key.endswith(PART_SUFFIX)
        problem = "left unfinished by a process that was killed"
        problem = problem if is_part else "it does not belong to the store"
        damages.append(Damage(file=key, problem=problem))
        if repair:
            if not is_part:
                moved_to = aside
                backend_of(aside).put(key, backend.get(key))
            backend.delete(key)
    return damages, moved_to


def _check_files(backend: StoreBackend, files: Mapping[str, bytes], repair: bool) -> list[Damage]:
    damages = []
    for key, data in files.items():
        result = get_or_none(backend, key)
        if result != data:
            damages.append(Damage(file=key, problem=_describe_difference(result, data)))
            if repair:
                backend.put(key, data)
    return damages


def _describe_difference(stored: bytes | None, expected: bytes) -> str:
    if stored is None:
        return "missing"
    if len(stored) != len(expected):
        return f"{len(stored):,} bytes, not {len(expected):,}"
    place = next(k for k, (a, b) in enumerate(zip(stored, expected, strict=True)) if a != b)
    return f"byte {place:,} differs"


def _check_tile(
    layout: StoreLayout, backend: StoreBackend, tile: Tile, identity: str
) -> tuple[Tile, Mapping[str, Any], Sequence[Damage], bool]:
    """Return a tile, its record, its damage, and True if neither record nor shards exist."""
    part, damages = layout.parts[tile.part], []
    about = {"tile": tile.name, "configurations": layout.describe(tile)}
    record, problem = read_record(backend, tile.name, identity, part.outputs, tile.points)
    is_empty = problem == MISSING
    if problem:
        damages.append(Damage(file=f"{RECORDS}/{tile.name}", problem=problem, **about))
    for name in part.outputs:
        key = part.key(name, tile)
        shard = get_or_none(backend, key)
        is_empty = is_empty and shard is None
        problem = problem_of_shard(shard, record, name) if record or shard is None else ""
        if problem:
            damages.append(Damage(file=key, problem=problem, **about))
    return tile, record, damages, is_empty
