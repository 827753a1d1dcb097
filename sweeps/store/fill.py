"""Filling a store: what is there is kept, what is missing is computed; anything may stop it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from sweeps.bounds.check import check
from sweeps.grid.failing import Failure
from sweeps.grid.grid import FEASIBLE
from sweeps.runtime.progress import Listener, Tally
from sweeps.store.crew import Crew, compute_tiles
from sweeps.store.failures import FAILED
from sweeps.store.folder import HIDDEN
from sweeps.store.held import FINISHED, Listing
from sweeps.store.job import Job
from sweeps.store.layout import Layout
from sweeps.store.medium import Medium, got
from sweeps.store.parts import Tile
from sweeps.store.recorded import record_of
from sweeps.store.records import RECORDS, read_sealed
from sweeps.store.tiles import barred_in
from sweeps.store.zones import ZONES, Gathered
from symbolic.errors import DseError

_READERS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """The output whose best value is told along with the progress; ``sign`` -1 for the largest."""

    output: str
    sign: float

    def best(self, record: Mapping[str, Any]) -> float | None:
        """The best value of a tile, where it knows which of its points are feasible."""
        summary = record["outputs"].get(self.output, {})
        found = summary.get("smallest" if self.sign > 0 else "largest")
        return float(found[0][0]) if found and record["feasible"] is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """What a run has done: tiles computed now and before, seconds, how many points are feasible.

    ``failed`` are those that could not be computed; ``barred`` is how many values needed no
    computing, because no point of their tile keeps the rules.
    """

    computed: int
    skipped: int
    share: float
    seconds: float = 0.0
    compiling: float = 0.0
    feasible: int | None = None
    failed: tuple[Failure, ...] = ()
    barred: int = 0


def recorded(layout: Layout, medium: Medium) -> Iterator[tuple[Tile, dict[str, Any] | None]]:
    """Every tile with its record; None where it, or a chunk in its whole length, is missing."""
    there = medium.sizes(RECORDS)
    sizes = {name: medium.sizes(name) for part in layout.parts for name in part.outputs}

    def look(tile: Tile) -> tuple[Tile, dict[str, Any] | None]:
        part, record = layout.parts[tile.part], None
        held = {n: sizes[n].get(layout.key(n, tile).rpartition("/")[2]) for n in part.outputs}
        if tile.name in there and None not in held.values():
            record = record_of(layout, medium, tile)
        whole = record is not None
        for name in part.outputs:
            whole = whole and held[name] == layout.chunk_bytes(name, part, record)
        return tile, record if whole else None

    if not there:
        yield from ((tile, None) for tile in layout.tiles())
        return
    with ThreadPoolExecutor(_READERS) as pool:
        yield from pool.map(look, layout.tiles())


def fill(
    layout: Layout,
    medium: Medium,
    begin: Callable[[], Mapping[str, bytes]],
    *,
    listener: Listener | None = None,
    watch: Watch | None = None,
    crew: Crew | None = None,
) -> Filled:
    """Compute the tiles that are missing from a store, which is made where nothing is.

    Who calls has claimed the place.

    Parameters
    ----------
    layout : Layout
        What belongs into the store.
    medium : Medium
        Where it lies; nothing, or a store of the same study.
    begin : callable
        Gives the files with which a store begins.
    listener : callable, optional
        Told of the progress after each tile.
    watch : Watch, optional
        Whose best value the progress tells.
    crew : Crew, optional
        Who computes the tiles; threads of this process where None.

    Raises
    ------
    DseError
        Another process writes there, or the place cannot be written. What is stored stays, and the
        same call continues.
    """
    if (done := finished(layout, medium)) is not None:
        return done
    files = dict(begin())
    if not medium.exists():
        check(layout.grid)
        _create(medium, files)
    else:
        for key, data in files.items():  # it may have been begun, and not to the end
            if got(medium, key) != data:
                medium.put(key, data)
    zones, listing = Gathered(layout), Listing(layout)
    found = _state(layout, medium, watch, (zones, listing))
    for key in medium.remains():
        medium.delete(key)
    tally = Tally(layout.points, listener, sign=watch.sign if watch else 1.0)
    tally.skip(found.points, found.best)
    if found.missing:
        check(layout.grid)

    def stored(tile: Tile, record: Mapping[str, Any]) -> None:
        found.add(record)
        zones.add(tile, record)
        listing.add(tile, record)
        if barred_in(layout, layout.parts[tile.part])(tile):
            tally.bar(tile.points)
        tally.add(tile.points, watch.best(record) if watch else None)

    def meanwhile(job: Job) -> None:
        if not job.failures:
            files[ZONES] = zones.packed()
            with medium.writing(ZONES) as write:  # its name is settled with the next
                write(files[ZONES])

    job = compute_tiles(
        layout, medium, found.missing, tally, stored, crew=crew, meanwhile=meanwhile
    )
    if crew is not None:
        for key in medium.remains():  # of workers that were lost
            medium.delete(key)
    if not job.failures:
        medium.put(FINISHED, listing.sealed(files))
    now = tally.now()
    failing = sum(failure.points for failure in job.failures)
    return Filled(
        computed=job.stored,
        skipped=layout.count - len(found.missing),
        share=1.0 - (found.points + failing) / layout.points,
        seconds=now.elapsed - now.compiling,
        compiling=now.compiling,
        feasible=found.feasible(layout),
        failed=tuple(job.failures),
        barred=now.barred,
    )


def finished(layout: Layout, medium: Medium) -> Filled | None:
    """What there is to say of a finished store in which nothing is missing; else None."""
    if not medium.exists() or not _finished(medium):
        return None
    found = _state(layout, medium)
    if found.missing:
        return None
    return Filled(computed=0, skipped=layout.count, share=0.0, feasible=found.feasible(layout))


def _create(medium: Medium, files: Mapping[str, bytes]) -> None:
    try:
        medium.create(files)
    except OSError as error:
        raise DseError(f"{medium.name} cannot be made: {error.strerror or error}") from error


def _finished(medium: Medium) -> bool:
    there = ZONES.rpartition("/")[2] in medium.sizes(HIDDEN)
    data = got(medium, FINISHED) if there else None
    return data is not None and read_sealed(data) is not None


@dataclass(slots=True, kw_only=True)
class _State:
    missing: list[Tile]
    points: int = 0
    true: int = 0
    best: float | None = None

    def add(self, record: Mapping[str, Any]) -> None:
        """Count the feasible points of a tile."""
        self.true += record["outputs"].get(FEASIBLE, {"true": 0})["true"]

    def feasible(self, layout: Layout) -> int | None:
        """How many points of the grid are feasible; None where no output tells."""
        parts = [part for part in layout.parts if FEASIBLE in part.outputs]
        return self.true * (layout.grid.points // parts[0].points) if parts else None


def _state(
    layout: Layout,
    medium: Medium,
    watch: Watch | None = None,
    gathered: Sequence[Gathered | Listing] = (),
) -> _State:
    state = _State(missing=[])
    best = Tally(0, None, sign=watch.sign if watch else 1.0)
    failed = medium.sizes(FAILED)
    for tile, record in recorded(layout, medium):
        if record is None or tile.name in failed:
            state.missing.append(tile)
        else:
            best.skip(tile.points, watch.best(record) if watch else None)
            state.add(record)
            for each in gathered:
                each.add(tile, record)
    state.points, state.best = best.done, best.best
    return state
