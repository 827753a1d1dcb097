"""Tiles handed out to the workers of a cluster, a few at a time, by their numbers.

A tile is tried again where a worker was lost or the tile failed; what a lost worker has stored
stays. How many tasks there are at a time depends on the workers alone. Nothing comes back through
the scheduler: the records of tiles are read from the store.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from sweeps.cluster import bench
from sweeps.cluster.errands import Errand, Errands, Pace
from sweeps.cluster.order import order_of
from sweeps.store.crew import RETRIES, Threads
from sweeps.store.job import Job
from sweeps.store.parts import Tile
from sweeps.store.records import RECORDS
from sweeps.store.tiles import Recipe
from symbolic.errors import DseError, UnreachableError

#: Errands a thread of a worker has before it, its own included, and those for workers that come.
_AHEAD, _LEAST = 2, 2
#: Threads that read the records of tiles.
_READERS = 8
#: Seconds between two looks at how many workers there are.
_LOOK = 1.0
#: Seconds until what a worker on another host has written must be seen here.
_SEEN = 10.0


_LOST = "the worker was lost each time, as where memory does not suffice"


class _LostWorkersError(RuntimeError):
    """A tile that no worker survives."""


def register(client: Any, plugin: Any, name: str) -> None:
    """Bring a plugin to the workers of a cluster, any of which may be lost at this moment."""
    for attempt in range(RETRIES + 1):
        try:
            client.register_plugin(plugin, name=name)
        except Exception:
            if attempt == RETRIES:
                raise
        else:
            return


class Workers:
    """The workers of a dask.distributed cluster."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def work(self, job: Job, tiles: Sequence[Tile]) -> None:
        """See :class:`sweeps.store.crew.Crew`; what NumPy does in no time is done here."""
        layout = job.layout
        small = {part.number for part in layout.parts if Recipe.of(layout, part).small}
        here = [tile for tile in tiles if tile.part in small]
        there = [tile for tile in tiles if tile.part not in small]
        if here:
            Threads().work(job, here)
        if there:
            known = job.medium.sizes(RECORDS)
            for tile in there:  # else a worker would take it for one that a lost worker has stored
                if tile.name in known:
                    job.medium.delete(f"{RECORDS}/{tile.name}")
            with self._delivered(job, there) as token:
                _Flow(self.client, job, token).run(there)

    @contextmanager
    def _delivered(self, job: Job, tiles: Sequence[Tile]) -> Iterator[str]:
        """What the workers must know is with them; gives the name under which they have it."""
        from sweeps.cluster.delivery import Delivery

        token = uuid.uuid4().hex[:6]
        plugin = Delivery(token, order_of(job, tiles))
        try:
            register(self.client, plugin, token)
        except Exception as error:
            raise DseError(
                f"the workers of {self._name()} cannot take the work ({error!r}): is simt-dse "
                "installed there, in the same version?"
            ) from error
        try:
            yield token
        finally:
            with suppress(Exception):
                self.client.unregister_worker_plugin(token)

    def _name(self) -> str:
        scheduler = self.client.scheduler
        return str(scheduler.address) if scheduler is not None else "the cluster"


class _Flow:
    """Errands under way."""

    def __init__(self, client: Any, job: Job, token: str) -> None:
        from distributed import as_completed

        self.client, self.job, self.token = client, job, token
        self.under_way: dict[str, tuple[Errand, Any]] = {}
        self.ended = as_completed([], loop=client.loop)
        self.threads, self.looked = 0, -_LOOK
        self.pace, self.handed = Pace(), 0

    def run(self, tiles: Sequence[Tile]) -> None:
        """Hand out tiles until all are stored, or have failed."""
        left = Errands(self.job.layout, tiles)
        with ThreadPoolExecutor(_READERS) as pool:
            try:
                while left or self.under_way:
                    while left and len(self.under_way) < self._room():
                        self._hand_out(left.take(self.pace.most(self.threads, left.left)))
                    left.again += self._take_back(pool)
            except BaseException:
                with suppress(Exception):
                    while self.under_way and self.client.nthreads():
                        self._take_back(pool, again=False)
                raise
            finally:
                if self.under_way:
                    with suppress(Exception):
                        self.client.cancel([future for _, future in self.under_way.values()])

    def _room(self) -> int:
        now = time.monotonic()
        if now - self.looked > _LOOK:
            self.looked = now
            self.threads = sum(self.client.nthreads().values())
        return _LEAST + _AHEAD * self.threads

    def _hand_out(self, errand: Errand) -> None:
        key = f"{self.token}-{self.handed}"
        self.handed += 1
        more = (len(errand.tiles), True) if errand.barred else (len(errand.tiles),)
        future = self.client.submit(
            bench.tiles, self.token, errand.part, errand.first, *more, key=key, pure=False
        )
        self.under_way[key] = errand, future
        self.ended.add(future)

    def _take_back(self, pool: ThreadPoolExecutor, *, again: bool = True) -> list[Errand]:
        """Wait for errands; gives what is to be handed out again."""
        stored: list[tuple[Tile, Any]] = []
        failed: list[tuple[Errand, BaseException]] = []
        for future in self.ended.next_batch():
            errand, _ = self.under_way.pop(future.key)
            count = len(errand.tiles)
            if future.status == "error":
                error = future.exception()
                count = error.args[0] if isinstance(error, bench.HaltedError) else 0
                failed.append((errand, error))
            elif future.status != "finished":
                raise UnreachableError("the scheduler of the cluster was lost, or its tasks were")
            stored += [(tile, future) for tile in errand.tiles[:count]]
        self.pace.come(len(stored))
        for (tile, _), record in zip(stored, pool.map(self._record, stored), strict=True):
            self.job.finish(tile, record)
        return [more for errand, error in failed for more in self._failed(errand, error, again)]

    def _failed(self, errand: Errand, error: BaseException, again: bool) -> list[Errand]:
        """What becomes of an errand that failed: the tile to blame is tried again, some times."""
        if isinstance(error, DseError):
            raise error
        if isinstance(error, bench.HaltedError):
            done = error.args[0]
            rest = [errand.cut(done + 1)] if done + 1 < len(errand.tiles) else []
            return [*rest, errand.cut(done, done + 1, attempt=1)] if again else []
        if again and errand.attempt < RETRIES:
            return errand.alone()
        if isinstance(error, OSError):
            raise error
        if again:
            lost = type(error).__name__ == "KilledWorker"  # it tells hosts, which no store does
            for tile in errand.tiles:
                self.job.fail(tile, _LostWorkersError(_LOST) if lost else error)
        return []

    def _record(self, stored: tuple[Tile, Any]) -> dict[str, Any]:
        """The record of a tile, which must have come to the place that is seen here."""
        tile, future = stored
        limit = time.monotonic() + _SEEN
        while True:
            with suppress(FileNotFoundError, ValueError):
                record = json.loads(self.job.medium.get(f"{RECORDS}/{tile.name}"))
                return dict(record)
            if time.monotonic() > limit:
                (names,) = self.client.who_has([future]).values()
                raise DseError(
                    f"the worker {', '.join(names)} has stored a tile where this process does not "
                    f"see it: {self.job.medium.name} must be a folder that all share, or a place "
                    "in an object store (s3://)"
                )
            time.sleep(0.1)
