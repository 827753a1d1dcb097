"""Who computes the tiles of a store: threads of this process, or others that do as they do.

A tile that fails is tried again, then noted and left; the rest goes on. What fails at every tile,
and a place that cannot be written, ends the run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from stochastic.threads import workers
from sweeps.nest.compile import compiled
from sweeps.nest.reduce import ready as ready_to_reduce
from sweeps.runtime.progress import Tally
from sweeps.store.job import Job
from sweeps.store.layout import Layout
from sweeps.store.medium import Medium
from sweeps.store.parts import Part, Tile
from sweeps.store.records import RECORDS
from sweeps.store.tiles import Source, source_of, store_tile
from symbolic.errors import DseError, UnreachableError

__all__ = ["RETRIES", "Crew", "Threads", "compute_tiles", "threads"]

#: How often a tile that failed is tried again.
RETRIES = 2


def threads() -> int:
    """How many tiles are under way: while one waits for the disk another is computed."""
    return 2 * workers()


class Crew(Protocol):
    """Computes tiles."""

    def work(self, job: Job, tiles: Sequence[Tile]) -> None:
        """Compute and store each of some tiles, or tell that it failed.

        An interrupt waits for the tiles under way.
        """


def compute_tiles(
    layout: Layout,
    medium: Medium,
    tiles: Sequence[Tile],
    tally: Tally,
    done: Callable[[Tile, Mapping[str, Any]], None],
    *,
    crew: Crew | None = None,
    meanwhile: Callable[[Job], None] = lambda job: None,
) -> Job:
    """Compute and store tiles; gives what became of them.

    ``done`` is told of each tile and its record, in one thread at a time; ``crew`` is threads of
    this process where it is None; ``meanwhile`` is called once all tiles are written, while their
    names are made durable.
    """
    job = Job(layout, medium, tally, done)
    try:
        if tiles:
            (crew or Threads()).work(job, tiles)
        _settle(job, tiles, meanwhile)
    except BaseException as error:
        missing = layout.count - len(tiles) + job.stored
        said = (
            f"{missing:,} of {layout.count:,} tiles are stored in {medium.name}; the same command "
            "continues"
        )
        if isinstance(error, UnreachableError):
            raise UnreachableError(f"{error}; {said}") from error
        if isinstance(error, OSError):
            raise DseError(
                f"{medium.name} cannot be written: {error.strerror or error}; {said}"
            ) from error
        error.add_note(said)
        raise
    return job


def _settle(job: Job, tiles: Sequence[Tile], meanwhile: Callable[[Job], None]) -> None:
    """Make the records of tiles and the names of their chunks durable."""
    stored = [tile for tile in tiles if tile.name not in job.lost]
    folders: dict[str, list[str]] = {}
    for number in sorted({tile.part for tile in stored}):
        folders |= {name: [] for name in job.layout.parts[number].outputs}
    if stored:
        folders[RECORDS] = [tile.name for tile in stored]
    with ThreadPoolExecutor(8) as pool:  # a disk settles many at once as soon as one
        settled = pool.map(job.medium.settle, folders, folders.values())
        meanwhile(job)
        list(settled)


class Threads:
    """Threads of this process."""

    def work(self, job: Job, tiles: Sequence[Tile]) -> None:
        """See :class:`Crew`."""
        stop, lock = threading.Event(), threading.Lock()
        errors: list[BaseException] = []
        queue = iter(tiles)

        def work(ended: threading.Event) -> None:
            sources: dict[int, Source] = {}
            try:
                while not stop.is_set():
                    with lock:
                        tile = next(queue, None)
                    if tile is None:
                        return
                    if tile.part not in sources:
                        sources[tile.part] = self.source(job.layout, job.layout.parts[tile.part])
                    self._compute(job, sources[tile.part], tile)
            except BaseException as error:
                errors.append(error)
                stop.set()
            finally:
                ended.set()

        # an interrupted join may take a running thread for ended; daemons let a second signal end
        ends = [threading.Event() for _ in range(min(threads(), len(tiles)))]
        each = [threading.Thread(target=work, args=(ended,), daemon=True) for ended in ends]
        try:
            self.prepare(job, tiles)
            for thread in each:
                thread.start()
            for ended in ends:
                ended.wait()
        except BaseException:
            stop.set()
            for thread, ended in zip(each, ends, strict=True):
                if thread.ident is not None:
                    ended.wait()
            raise
        for error in errors[:1]:
            raise error

    def source(self, layout: Layout, part: Part) -> Source:
        """Computes the tiles of a part, in one thread."""
        return source_of(layout, part)

    def store(self, source: Source, tile: Tile, medium: Medium) -> dict[str, Any]:
        """Store a tile; gives its record."""
        return store_tile(source, tile, medium)

    def prepare(self, job: Job, tiles: Sequence[Tile]) -> None:
        """Compile what some tiles need."""
        _compile(job, tiles)

    def _compute(self, job: Job, source: Source, tile: Tile) -> None:
        for attempt in range(RETRIES + 1):
            try:
                record = self.store(source, tile, job.medium)
            except OSError:
                raise
            except Exception as error:
                if attempt == RETRIES:
                    job.fail(tile, error)
            else:
                job.finish(tile, record)
                return


def _compile(job: Job, tiles: Sequence[Tile]) -> None:
    """Compile the nests of all tiles, on the clock; each once."""
    layout, seen = job.layout, set()
    sources = {tile.part: source_of(layout, layout.parts[tile.part]) for tile in tiles}
    for tile in tiles:
        source = sources[tile.part]
        which = (tile.part, source.recipe.at(tile))
        if which not in seen:
            seen.add(which)
            ready = source.ready(tile)
            if ready is not None:
                compiled(ready.nest)
                ready_to_reduce()
