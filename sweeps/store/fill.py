"""Fill a store with the missing tiles. An interrupted run can be continued."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from stochastic import sizes
from stochastic.threads import cpu_count
from sweeps.bounds.checks import check_grid
from sweeps.grid.failures import Failure, failures_in, reason_of
from sweeps.grid.grid import FEASIBLE
from sweeps.runtime.progress import Listener, Outcome, RunCounter
from sweeps.store.backend import PART_SUFFIX, PRIVATE_FOLDER, StoreBackend, backend_of, get_or_none
from sweeps.store.compute import BoxProgram, mark_infeasible_tiles, program_of
from sweeps.store.create import METADATA_FILE, ShardEncoder, StorePlan
from sweeps.store.layout import StoreLayout, StorePart, Tile
from sweeps.store.records import (
    FINISHED,
    MANIFEST,
    RECORDS,
    checksum,
    decode_checked_json,
    encode_checked_json,
    read_record,
)
from symbolic.errors import DseError, UnreachableError

#: Number of retries of a failed tile. A run ends after 16 failed tiles in a row.
RETRIES, _MAX_CONSECUTIVE_FAILURES = 2, 16
_READERS = 8
_LOST_REASON = "the worker was lost each time, as if memory ran out"
#: Time within which a worker on another host must see the files of this process. [s]
_VISIBILITY_TIMEOUT = 10.0

#: Output whose best value is part of the progress, and its sign: 1 (minimized) or -1.
WatchedOutput: TypeAlias = tuple[str, float]


class TileWriter:
    """A picklable, thread-safe task that computes a tile and stores its shards, then its record."""

    def __init__(self, plan: StorePlan, part: StorePart, place: str, watch: str | None = None):
        self.part, self.place, self.identity = part, place, plan.identity
        self.program: BoxProgram = program_of(plan.layout, part)
        self.watch = watch if watch in part.outputs else None
        self._metadata = {name: plan.files[f"{name}/{METADATA_FILE}"] for name in part.outputs}
        self._local = threading.local()

        self._has_conditions = bool(plan.layout.grid.conditions)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_local"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._local = threading.local()

    def store(self, tile: Tile, infeasible: bool, failures: Sequence[Any] = ()) -> dict[str, Any]:
        """Compute and store a tile; return its record."""
        known = self._local.__dict__
        if not known:
            known["encoder"] = ShardEncoder(self._metadata)
            known["backend"] = self._open_store()
        backend, encoder = known["backend"], known["encoder"]
        arrays = self.program.compute(tile.low, tile.high, infeasible=infeasible)
        values = dict(zip(self.program.names, arrays, strict=True))
        allowed = values.get(FEASIBLE)
        record: dict[str, Any] = {
            "tile": tile.name,
            "identity": self.identity,
            "points": tile.points,
            "feasible": None if self._has_conditions else tile.points,
            "shards": {},
        }
        if allowed is not None:
            record["feasible"] = int(np.count_nonzero(allowed))
        if self.watch is not None and (allowed is not None or not self._has_conditions):
            known = np.isfinite(values[self.watch])
            chosen = values[self.watch][known if allowed is None else known & allowed]
            ends = [float(chosen.min()), float(chosen.max())] if chosen.size else None
            record["extremes"] = {self.watch: ends}
        if failures:
            record["failed"] = list(failures)
        for name in self.part.outputs:
            key = self.part.key(name, tile)
            shard = encoder.encode(name, key, tile.low, values[name])
            backend.put(key, shard)
            record["shards"][name] = [len(shard), checksum(shard)]
        # do not sync, because a record torn by a power failure is detected
        backend.put(f"{RECORDS}/{tile.name}", encode_checked_json(record), durable=False)
        return record

    def _open_store(self) -> StoreBackend:
        backend: StoreBackend = backend_of(self.place)
        limit = time.monotonic() + _VISIBILITY_TIMEOUT
        while True:
            manifest = decode_checked_json(get_or_none(backend, MANIFEST))
            if manifest is not None and manifest.get("identity") == self.identity:
                return backend
            if time.monotonic() > limit:
                raise DseError(
                    f"a worker on {socket.gethostname()} does not see the store at {self.place}: "
                    "it must be a shared folder, or in an object store (s3://)"
                )
            time.sleep(0.1)


def thread_count(layout: StoreLayout) -> int:
    """Return the number of threads: more than CPUs if memory allows, because some threads wait."""
    widest = max(
        (sum(layout.dtype(n).itemsize for n in part.outputs) + 24) * part.tile(0).points
        for part in layout.parts
    )
    return max(1, min(2 * cpu_count(), sizes.STORE_MEMORY // widest))


class _ThreadPool(ThreadPoolExecutor):
    def __init__(self, layout: StoreLayout) -> None:
        self.count = thread_count(layout)
        super().__init__(self.count)

    def __exit__(self, *_: object) -> None:
        self.shutdown(cancel_futures=True)

    def capacity(self) -> int:
        return 2 * self.count

    def share_writer(self, writer: TileWriter) -> TileWriter:
        return writer

    def cancel(self, future: Future[Any]) -> bool:
        return future.cancel()


def fill(
    plan: StorePlan,
    backend: StoreBackend,
    *,
    listener: Listener | None = None,
    watch: WatchedOutput | None = None,
    pool: Any = None,
) -> Outcome:
    """Compute the missing tiles of a store. The store is created if it does not exist.

    The caller holds the lock. ``pool`` computes the tiles; by default, threads of this process do.
    If an error ends the run, another call continues it.
    """
    if (done := finished_outcome(plan, backend)) is not None:
        return done
    layout, files = plan.layout, plan.files
    if not backend.exists():
        check_grid(layout.grid)
        try:
            backend.create(files)
        except OSError as error:
            raise DseError(
                f"{backend.name} cannot be created: {error.strerror or error}"
            ) from error
    else:
        _remove_part_files(backend)
        for key, data in files.items():  # a killed run may have created only some files
            if get_or_none(backend, key) != data:
                backend.put(key, data)
    job = TileJob(plan, backend, listener, watch=watch, pool=pool)
    missing: list[Tile] = []
    for tile, record in _iterate_records(plan, backend):
        if not record or record.get("failed"):
            missing.append(tile)
        else:
            job.skip(tile, record)
    if missing:
        check_grid(layout.grid)
    job.run(missing)
    if pool is not None:
        _remove_part_files(backend)  # lost workers may have left part files
    if job.failures:
        backend.delete(FINISHED)
    else:
        folders = [*sorted(name for part in layout.parts for name in part.outputs), RECORDS]
        backend.make_durable(folders, (f"{RECORDS}/{tile.name}" for tile in layout.tiles()))
        backend.put(FINISHED, end_mark(plan, job.feasible_points))
        backend.make_durable([PRIVATE_FOLDER])
    now = job.counter.snapshot()
    return Outcome(
        tiles=(job.stored_tiles, layout.count - len(missing)),
        share=1.0 - (now.skipped + sum(failure.points for failure in job.failures)) / layout.points,
        seconds=now.elapsed - now.compiling,
        compiling=now.compiling,
        feasible=feasible_points(layout, job.feasible_points),
        failures=tuple(job.failures),
        infeasible=now.infeasible,
    )


def _remove_part_files(backend: StoreBackend) -> None:
    for key in backend.files():
        if key.endswith(PART_SUFFIX):
            backend.delete(key)


def end_mark(plan: StorePlan, feasible: int) -> bytes:
    """Return the content of the end mark, which says that all tiles are complete."""
    count = feasible_points(plan.layout, feasible)
    mark = {"identity": plan.identity, "tiles": plan.layout.count, "feasible": count}
    return encode_checked_json(mark)


def tile_feasible_points(layout: StoreLayout, tile: Tile, record: Mapping[str, Any]) -> int:
    """Return the number of feasible points in a tile; 0 if ``feasible`` is not an output."""
    return int(record["feasible"]) if FEASIBLE in layout.parts[tile.part].outputs else 0


def feasible_points(layout: StoreLayout, feasible: int) -> int | None:
    """Return the grid's number of feasible points, given the sum over tiles; None if unknown."""
    parts = [part for part in layout.parts if FEASIBLE in part.outputs]
    return feasible * (layout.grid.points // parts[0].points) if parts else None


def finished_outcome(plan: StorePlan, backend: StoreBackend) -> Outcome | None:
    """Return the outcome of a run if its store is already complete, otherwise None."""
    mark = decode_checked_json(get_or_none(backend, FINISHED))
    if mark is None or mark.get("identity") != plan.identity:
        return None
    if any(not record or record.get("failed") for _, record in _iterate_records(plan, backend)):
        return None
    return Outcome(tiles=(0, plan.layout.count), share=0.0, feasible=mark.get("feasible"))


def _iterate_records(
    plan: StorePlan, backend: StoreBackend
) -> Iterator[tuple[Tile, dict[str, Any]]]:
    """Yield every tile and its record, which is empty if a file is missing or has a wrong size."""
    layout = plan.layout
    there = backend.sizes(RECORDS)
    lengths = {name: backend.sizes(name) for part in layout.parts for name in part.outputs}

    def read_tile_record(tile: Tile) -> tuple[Tile, dict[str, Any]]:
        if tile.name not in there:
            return tile, {}
        part = layout.parts[tile.part]
        record, _ = read_record(backend, tile.name, plan.identity, part.outputs, tile.points)
        for name, (length, _) in record.get("shards", {}).items():
            if length != lengths[name].get(part.key(name, tile).rpartition("/")[2]):
                return tile, {}
        return tile, record

    if not there:
        yield from ((tile, {}) for tile in layout.tiles())
        return
    with ThreadPoolExecutor(_READERS) as pool:
        yield from pool.map(read_tile_record, layout.tiles())


class TileJob:
    """A job that computes tiles of a store, and its results.

    A failed tile is retried. If it fails again, it is recorded as failed, and the other tiles
    continue. The job ends if the store cannot be written, or if many tiles in a row fail.
    """

    def __init__(
        self,
        plan: StorePlan,
        backend: StoreBackend,
        listener: Listener | None,
        *,
        watch: WatchedOutput | None = None,
        pool: Any = None,
    ) -> None:
        self.plan, self.layout, self.backend = plan, plan.layout, backend
        self.pool, self.watch = pool, watch[0] if watch else None
        self.counter = RunCounter(plan.layout.points, listener, sign=watch[1] if watch else 1.0)
        self.stored_tiles = self.feasible_points = self._consecutive_failures = 0
        self.failures: list[Failure] = []
        self._running: dict[Future[Any], tuple[Callable[[], Future[Any]], Tile, bool, int]] = {}

    def skip(self, tile: Tile, record: Mapping[str, Any]) -> None:
        """Count a tile that an earlier run stored."""
        self.feasible_points += tile_feasible_points(self.layout, tile, record)
        self.counter.add_skipped(tile.points, self._best(record))

    def _best(self, record: Mapping[str, Any]) -> float | None:
        ends = (record.get("extremes") or {}).get(self.watch)
        return None if ends is None else float(ends[0 if self.counter.sign > 0 else 1])

    def run(self, tiles: Sequence[Tile]) -> None:
        """Compute and store tiles."""
        self.counter.start_time = time.monotonic()
        if not tiles:
            return
        try:
            has_pool = self.pool is not None
            with nullcontext(self.pool) if has_pool else _ThreadPool(self.layout) as pool:
                self._run(pool, tiles)
        except BaseException as error:
            stored = self.layout.count - len(tiles) + self.stored_tiles
            name = self.backend.name
            text = (
                f"{stored:,} of {self.layout.count:,} tiles are stored in {name}; the same command "
                "continues"
            )
            if isinstance(error, UnreachableError):
                raise UnreachableError(f"{error}; {text}") from error
            if isinstance(error, OSError):
                reason = error.strerror or error
                raise DseError(f"{name} cannot be written: {reason}; {text}") from error
            error.add_note(text)
            raise

    def _run(self, pool: Any, tiles: Sequence[Tile]) -> None:
        layout, writers, shared = self.layout, {}, {}
        for number in sorted({tile.part for tile in tiles}):
            part, place = layout.parts[number], self.backend.name
            writers[number] = TileWriter(self.plan, part, place, self.watch)
            shared[number] = pool.share_writer(writers[number])
        compiled = set()
        try:
            for tile, infeasible in mark_infeasible_tiles(layout, tiles):
                part, program = layout.parts[tile.part], writers[tile.part].program
                at = (tile.part, *(tile.index[k] for k in program.switch_positions))
                if at not in compiled:  # compile here, so that the time counts as compiling time
                    program.compile(tile)
                    compiled.add(at)
                box = part.dims, tile.low, tile.high
                failed = failures_in(layout.grid, part.outputs, *box, tile.name)
                about = tile, infeasible, [asdict(each) for each in failed]
                begin = partial(pool.submit, _store, shared[tile.part], *about)
                while len(self._running) >= pool.capacity():
                    self._collect_ended()
                self._running[begin()] = begin, tile, infeasible, 0
            while self._running:
                self._collect_ended()
        except BaseException:
            # cancel tiles that have not begun, and wait for the others
            left = set(self._running)
            while left := {future for future in left if not pool.cancel(future)}:
                ended, left = wait(left, timeout=1.0)
                done = (future for future in ended if not future.cancelled())
                self.stored_tiles += sum(not future.exception() for future in done)
            raise

    def _collect_ended(self) -> None:
        ended, _ = wait(self._running, timeout=1.0, return_when=FIRST_COMPLETED)
        for future in ended:
            begin, tile, infeasible, attempt = self._running.pop(future)
            if future.cancelled():
                raise UnreachableError("the cluster lost its scheduler or the tasks")
            error = future.exception()
            if error is None:
                self._finish(tile, future.result(), infeasible=infeasible)
            elif isinstance(error, (OSError, DseError)) or not isinstance(error, Exception):
                raise error
            elif attempt < RETRIES:
                self._running[begin()] = begin, tile, infeasible, attempt + 1
            else:
                self._fail(tile, error)

    def _finish(self, tile: Tile, record: Mapping[str, Any], *, infeasible: bool) -> None:
        self.stored_tiles += 1
        self._consecutive_failures = 0
        failed = [Failure(**each) for each in record.get("failed", ())]
        self.failures += failed
        self.counter.move_to_failed(sum(failure.points for failure in failed))
        self.feasible_points += tile_feasible_points(self.layout, tile, record)
        if infeasible:
            self.counter.add_infeasible(tile.points)
        self.counter.add_done(tile.points, self._best(record))

    def _fail(self, tile: Tile, error: Exception) -> None:
        """Record a tile whose attempts all failed; raise an error after many such tiles."""
        # KilledWorker names hosts in its message, which must not get into a store
        lost = type(error).__name__ == "KilledWorker"
        failure = Failure(
            tile=tile.name,
            configurations=self.layout.describe(tile),
            points=tile.points,
            reason=_LOST_REASON if lost else reason_of(error),
        )
        self.failures.append(failure)
        self._consecutive_failures += 1
        if self._consecutive_failures >= _MAX_CONSECUTIVE_FAILURES:
            raise error
        self.counter.add_failed(tile.points)


def _store(writer: TileWriter, tile: Tile, *more: Any) -> dict[str, Any]:
    return writer.store(tile, *more)
