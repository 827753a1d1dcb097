"""Filling a store: complete tiles stay, missing ones are computed; anything may stop it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np

from stochastic import sizes
from stochastic.threads import workers
from sweeps.bounds.check import check
from sweeps.grid.failing import Failure, failures_in, reason_of
from sweeps.grid.grid import FEASIBLE
from sweeps.runtime.progress import Listener, Tally
from sweeps.store.backend import HIDDEN, PART, StoreBackend, backend_of, get_or_none
from sweeps.store.compute import BoxProgram, infeasible_tile_test, program_of
from sweeps.store.create import ShardEncoder, array_metadata
from sweeps.store.layout import Layout, Part, Tile
from sweeps.store.records import (
    FINISHED,
    MANIFEST,
    RECORDS,
    checksum,
    read_sealed,
    record_of,
    sealed,
)
from symbolic.errors import DseError, UnreachableError

#: How often a tile that failed is tried again; so many failures one after the other end a run.
RETRIES, _IN_A_ROW = 2, 16
#: Bytes of memory that the values of all tiles under way may take, and their copies as shards.
_MEMORY = sizes.STORE_MEMORY
_READERS = 8
_LOST = "the worker was lost each time, as where memory does not suffice"
#: Seconds until a worker on another host must see what this process has written.
_SEEN = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """The output whose best value is reported with the progress; ``sign`` -1 for the largest."""

    output: str
    sign: float

    def best(self, record: Mapping[str, Any]) -> float | None:
        """Return the best value of a tile, from its record."""
        found = (record.get("extremes") or {}).get(self.output)
        return None if found is None else float(found[0 if self.sign > 0 else 1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """What a run did: tiles computed now and before, seconds, the number of feasible points.

    ``failed`` could not be computed; ``barred`` is the number of values that needed no computing,
    because no point of their tile is feasible.
    """

    computed: int
    skipped: int
    share: float
    seconds: float = 0.0
    compiling: float = 0.0
    feasible: int | None = None
    failed: tuple[Failure, ...] = ()
    barred: int = 0


class Pool(Protocol):
    """Runs tasks, in threads of this process or on the workers of a cluster."""

    def capacity(self) -> int:
        """Return how many tasks are worth having under way."""

    def share(self, writer: TileWriter) -> Any:
        """Return what stands for a writer in the arguments of tasks."""

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Begin a task."""

    def cancel(self, future: Future[Any]) -> bool:
        """Return True if a task has not begun and now will not."""


class TileWriter:
    """Computes tiles of a part and stores them: the shards, then the record.

    It can be pickled, and its threads share it.
    """

    def __init__(
        self,
        layout: Layout,
        part: Part,
        place: str,
        files: Mapping[str, bytes],
        identity: str,
        watch: str | None = None,
    ) -> None:
        self.part, self.place, self.identity = part, place, identity
        self.program: BoxProgram = program_of(layout, part)
        self.watch = watch if watch in part.outputs else None
        self._metadata = array_metadata(files, part)
        self._local = threading.local()
        #: True if a point may be infeasible, which other axes decide.
        self._ruled = bool(layout.grid.conditions)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_local"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._local = threading.local()

    def store(self, number: int, infeasible: bool, failures: Sequence[Any] = ()) -> dict[str, Any]:
        """Compute and store a tile; return its record."""
        known = self._local.__dict__
        if not known:
            known["encoder"] = ShardEncoder(self._metadata)
            known["backend"] = self._opened()
        backend, encoder = known["backend"], known["encoder"]
        tile, program = self.part.tile(number), self.program
        arrays = (program.blank if infeasible else program.compute)(tile.low, tile.high)
        values = dict(zip(program.names, arrays, strict=True))
        allowed = values.get(FEASIBLE)
        record: dict[str, Any] = {
            "tile": tile.name,
            "identity": self.identity,
            "points": tile.points,
            "feasible": None if self._ruled else tile.points,
            "shards": {},
        }
        if allowed is not None:
            record["feasible"] = int(np.count_nonzero(allowed))
        if self.watch is not None and (allowed is not None or not self._ruled):
            record["extremes"] = {self.watch: _extremes(values[self.watch], allowed)}
        if failures:
            record["failed"] = list(failures)
        for name in self.part.outputs:
            key = self.part.key(name, tile)
            shard = encoder.encode(name, key, tile.low, values[name])
            backend.put(key, shard)
            record["shards"][name] = [len(shard), checksum(shard)]
        # one that a power failure tears counts for nothing: none waits
        backend.put(f"{RECORDS}/{tile.name}", sealed(record), wait=False)
        return record

    def _opened(self) -> StoreBackend:
        """Return the store, which a worker on another host must see as the run does."""
        backend: StoreBackend = backend_of(self.place)
        limit = time.monotonic() + _SEEN
        while True:
            manifest = read_sealed(get_or_none(backend, MANIFEST))
            if manifest is not None and manifest.get("identity") == self.identity:
                return backend
            if time.monotonic() > limit:
                raise DseError(
                    f"a worker on {socket.gethostname()} does not see the store at {self.place}: "
                    "it must be a folder that all share, or a place in an object store (s3://)"
                )
            time.sleep(0.1)


def _extremes(values: Any, allowed: Any) -> list[float] | None:
    """Return the least and largest finite value where it is allowed."""
    counts = np.isfinite(values) if allowed is None else np.isfinite(values) & allowed
    kept = values[counts]
    return [float(kept.min()), float(kept.max())] if kept.size else None


def thread_count(layout: Layout) -> int:
    """Return how many threads compute tiles: while one waits for the disk another computes."""
    widest = max(
        (sum(layout.dtype(n).itemsize for n in part.outputs) + 24) * part.tile(0).points
        for part in layout.parts
    )
    return max(1, min(2 * workers(), _MEMORY // widest))


class _Threads:
    """Threads of this process."""

    def __init__(self, layout: Layout) -> None:
        self._count = thread_count(layout)
        self._pool = ThreadPoolExecutor(self._count)

    def __enter__(self) -> _Threads:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def capacity(self) -> int:
        """See :class:`Pool`."""
        return 2 * self._count

    def share(self, writer: TileWriter) -> TileWriter:
        """See :class:`Pool`."""
        return writer

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """See :class:`Pool`."""
        return self._pool.submit(task, *arguments)

    def cancel(self, future: Future[Any]) -> bool:
        """See :class:`Pool`."""
        return future.cancel()


def fill(
    layout: Layout,
    backend: StoreBackend,
    files: Callable[[], Mapping[str, bytes]],
    identity: str,
    *,
    listener: Listener | None = None,
    watch: Watch | None = None,
    pool: Pool | None = None,
) -> Filled:
    """Compute the tiles that are missing from a store, which is made where nothing is.

    The caller holds the lock of the place.

    Parameters
    ----------
    layout : Layout
        The tiles of the store.
    backend : StoreBackend
        Where it lies; nothing, or a store of the same study.
    files : callable
        Returns the files with which a store begins.
    identity : str
        That of the study, which every record repeats.
    listener : callable, optional
        Called with the progress after each tile.
    watch : Watch, optional
        Whose best value the progress reports.
    pool : Pool, optional
        Computes the tiles; threads of this process by default.

    Raises
    ------
    DseError
        The place cannot be written. What is stored stays, and the same call continues.
    """
    if (done := finished(layout, backend, identity)) is not None:
        return done
    begin = dict(files())
    if not backend.exists():
        check(layout.grid)
        try:
            backend.create(begin)
        except OSError as error:
            raise DseError(f"{backend.name} cannot be made: {error.strerror or error}") from error
    else:
        _remove_parts(backend)
        for key, data in begin.items():  # an object store may have been begun, and not to the end
            if get_or_none(backend, key) != data:
                backend.put(key, data)
    state = _State(layout, watch)
    missing = []
    for tile, record in scan(layout, backend, identity):
        if record is None or record.get("failed"):
            missing.append(tile)
        else:
            state.add(tile, record)
    tally = Tally(layout.points, listener, sign=watch.sign if watch else 1.0)
    tally.skip(state.points, state.best)
    skipped, points = layout.count - len(missing), state.points
    if missing:
        check(layout.grid)
    job = compute_tiles(
        layout,
        backend,
        begin,
        identity,
        missing,
        tally,
        state.add,
        watch=watch,
        pool=pool,
    )
    if pool is not None:
        _remove_parts(backend)  # of workers that were lost
    if job.failures:
        backend.delete(FINISHED)
    else:
        finish(layout, backend, identity, state.feasible())
    now, failing = tally.now(), sum(failure.points for failure in job.failures)
    return Filled(
        computed=job.stored,
        skipped=skipped,
        share=1.0 - (points + failing) / layout.points,
        seconds=now.elapsed - now.compiling,
        compiling=now.compiling,
        feasible=state.feasible(),
        failed=tuple(job.failures),
        barred=now.barred,
    )


def _remove_parts(backend: StoreBackend) -> None:
    """Remove the files that killed processes left unfinished."""
    for key in backend.files():
        if key.endswith(PART):
            backend.delete(key)


def finish(layout: Layout, backend: StoreBackend, identity: str, feasible: int | None) -> None:
    """Set the mark that all tiles are complete."""
    folders = [*sorted(name for part in layout.parts for name in part.outputs), RECORDS]
    backend.settle(folders, (f"{RECORDS}/{tile.name}" for tile in layout.tiles()))
    backend.put(FINISHED, end_mark(layout, identity, feasible))
    backend.settle([HIDDEN])


def end_mark(layout: Layout, identity: str, feasible: int | None) -> bytes:
    """Return the mark that all tiles are complete."""
    return sealed({"identity": identity, "tiles": layout.count, "feasible": feasible})


def finished(layout: Layout, backend: StoreBackend, identity: str) -> Filled | None:
    """Return what there is to report of a finished store that lacks nothing; else None."""
    mark = read_sealed(get_or_none(backend, FINISHED))
    if mark is None or mark.get("identity") != identity:
        return None
    if any(record is None or record.get("failed") for _, record in scan(layout, backend, identity)):
        return None
    return Filled(computed=0, skipped=layout.count, share=0.0, feasible=mark.get("feasible"))


def scan(
    layout: Layout, backend: StoreBackend, identity: str
) -> Iterator[tuple[Tile, dict[str, Any] | None]]:
    """Yield every tile with its record; None where it or a shard in its whole length is missing."""
    there = backend.sizes(RECORDS)
    lengths = {name: backend.sizes(name) for part in layout.parts for name in part.outputs}

    def look(tile: Tile) -> tuple[Tile, dict[str, Any] | None]:
        if tile.name not in there:
            return tile, None
        part = layout.parts[tile.part]
        record = record_of(backend, part, tile, identity)
        for name in part.outputs if record is not None else ():
            assert record is not None
            length = lengths[name].get(part.key(name, tile).rpartition("/")[2])
            if length != record["shards"][name][0]:
                return tile, None
        return tile, record

    if not there:
        yield from ((tile, None) for tile in layout.tiles())
        return
    with ThreadPoolExecutor(_READERS) as pool:
        yield from pool.map(look, layout.tiles())


@dataclass(slots=True)
class _State:
    """What the complete tiles of a store hold together."""

    layout: Layout
    watch: Watch | None = None
    points: int = 0
    true: int = 0
    best: float | None = None

    def add(self, tile: Tile, record: Mapping[str, Any]) -> None:
        """Count a tile."""
        self.points += tile.points
        if FEASIBLE in self.layout.parts[tile.part].outputs:
            self.true += record["feasible"]
        best = self.watch.best(record) if self.watch else None
        if best is not None and self.watch is not None:
            sign = self.watch.sign
            known = self.best
            self.best = best if known is None else sign * min(sign * best, sign * known)

    def feasible(self) -> int | None:
        """Return how many points of the grid are feasible; None if no output tells."""
        parts = [part for part in self.layout.parts if FEASIBLE in part.outputs]
        return self.true * (self.layout.grid.points // parts[0].points) if parts else None


def compute_tiles(
    layout: Layout,
    backend: StoreBackend,
    files: Mapping[str, bytes],
    identity: str,
    tiles: Sequence[Tile],
    tally: Tally,
    done: Callable[[Tile, Mapping[str, Any]], None],
    *,
    watch: Watch | None = None,
    pool: Pool | None = None,
) -> TileJob:
    """Compute and store tiles; return what became of them.

    A tile that fails is tried again, then recorded as failed; the rest goes on. A place that cannot
    be written, and failures at every tile, end the run. ``done`` is called with each tile that is
    complete and its record.
    """
    job = TileJob(layout, backend, tally, done)
    try:
        if tiles:
            with _opened(layout, pool) as there:
                writers = {
                    number: TileWriter(
                        layout,
                        layout.parts[number],
                        backend.name,
                        files,
                        identity,
                        watch.output if watch else None,
                    )
                    for number in sorted({tile.part for tile in tiles})
                }
                job.run(there, writers, tiles)
    except BaseException as error:
        stored = layout.count - len(tiles) + job.stored
        text = (
            f"{stored:,} of {layout.count:,} tiles are stored in {backend.name}; the same command "
            "continues"
        )
        if isinstance(error, UnreachableError):
            raise UnreachableError(f"{error}; {text}") from error
        if isinstance(error, OSError):
            raise DseError(
                f"{backend.name} cannot be written: {error.strerror or error}; {text}"
            ) from error
        error.add_note(text)
        raise
    return job


@contextmanager
def _opened(layout: Layout, pool: Pool | None) -> Iterator[Pool]:
    if pool is not None:
        yield pool
        return
    with _Threads(layout) as threads:
        yield threads


@dataclass(slots=True)
class TileJob:
    """Tiles under way, and what became of them."""

    layout: Layout
    backend: StoreBackend
    tally: Tally
    done: Callable[[Tile, Mapping[str, Any]], None]
    stored: int = 0
    failures: list[Failure] = field(default_factory=list)
    _in_a_row: int = 0
    _under_way: dict[Future[Any], tuple[Callable[[], Future[Any]], Tile, bool, int]] = field(
        default_factory=dict
    )

    def run(self, pool: Pool, writers: Mapping[int, TileWriter], tiles: Iterable[Tile]) -> None:
        """Compute and store tiles, some at a time."""
        parts = self.layout.parts
        infeasible = {n: infeasible_tile_test(self.layout, parts[n]) for n in writers}
        shared = {}
        for number, writer in writers.items():
            shared[number] = pool.share(writer)
        compiled = set()
        try:
            for tile in tiles:
                part = parts[tile.part]
                at = (tile.part, *(tile.place[k] for k in writers[tile.part].program.switched))
                if at not in compiled:  # on the clock, and each nest once
                    writers[tile.part].program.compile(tile)
                    compiled.add(at)
                known = infeasible[tile.part](tile)
                failed = failures_in(
                    self.layout.grid, part.outputs, part.dims, tile.low, tile.high, tile.name
                )
                number = _number(part, tile)
                begin = partial(
                    pool.submit,
                    _store,
                    shared[tile.part],
                    number,
                    known,
                    [asdict(each) for each in failed],
                )
                while len(self._under_way) >= pool.capacity():
                    self._take_back()
                self._under_way[begin()] = begin, tile, known, 0
            while self._under_way:
                self._take_back()
        except BaseException:
            self._drain(pool)
            raise

    def _drain(self, pool: Pool) -> None:
        """Wait for the tiles that are being computed, and begin no others."""
        left = set(self._under_way)
        while left := {future for future in left if not pool.cancel(future)}:
            ended, left = wait(left, timeout=1.0)
            self.stored += sum(not each.cancelled() and not each.exception() for each in ended)

    def _take_back(self) -> None:
        """Wait for tiles and note what became of them."""
        ended, _ = wait(self._under_way, timeout=1.0, return_when=FIRST_COMPLETED)
        for future in ended:
            begin, tile, known, attempt = self._under_way.pop(future)
            if future.cancelled():
                raise UnreachableError("the scheduler of the cluster was lost, or its tasks were")
            error = future.exception()
            if error is None:
                self._finish(tile, future.result(), infeasible=known)
            elif isinstance(error, (OSError, DseError)) or not isinstance(error, Exception):
                raise error
            elif attempt < RETRIES:
                self._under_way[begin()] = begin, tile, known, attempt + 1
            else:
                self._fail(tile, error)

    def _finish(self, tile: Tile, record: Mapping[str, Any], *, infeasible: bool) -> None:
        self.stored += 1
        self._in_a_row = 0
        failed = [Failure(**each) for each in record.get("failed", ())]
        if failed:
            self.failures += failed
            self.tally.lose(sum(failure.points for failure in failed))
        self.done(tile, record)
        if infeasible:
            self.tally.bar(tile.points)
        best = next(iter((record.get("extremes") or {}).values()), None)
        sign = self.tally.sign
        self.tally.add(tile.points, None if best is None else best[0 if sign > 0 else 1])

    def _fail(self, tile: Tile, error: Exception) -> None:
        """Record that a tile failed however often it was tried; raise where all do."""
        # which names hosts, and no store does
        lost = type(error).__name__ == "KilledWorker"
        failure = Failure(
            tile=tile.name,
            configurations=self.layout.describe(tile),
            points=tile.points,
            reason=_LOST if lost else reason_of(error),
        )
        self.failures.append(failure)
        self._in_a_row += 1
        if self._in_a_row >= _IN_A_ROW:
            raise error
        self.tally.fail(tile.points)


def _store(
    writer: TileWriter, number: int, infeasible: bool, failures: Sequence[Any]
) -> dict[str, Any]:
    """Compute and store a tile: a task."""
    return writer.store(number, infeasible, failures)


def _number(part: Part, tile: Tile) -> int:
    number = 0
    for place, count in zip(tile.place, part.counts, strict=True):
        number = number * count + place
    return number
