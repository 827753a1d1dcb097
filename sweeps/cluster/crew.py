"""Tiles handed out to the workers of a cluster, a few at a time, by their numbers.

A tile is tried again where a worker was lost or the tile failed; what a lost worker has stored
stays. How many tasks there are at a time depends on the workers alone.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from sweeps.cluster import bench
from sweeps.cluster.order import order_of
from sweeps.store.crew import RETRIES, Job, Threads
from sweeps.store.layout import Tile
from sweeps.store.records import RECORDS
from sweeps.store.tiles import Recipe, barred_in
from symbolic.errors import DseError

__all__ = ["Workers"]

#: Tiles a thread of a worker has before it, its own included, and those for workers that come.
_AHEAD, _LEAST = 2, 2
#: Seconds between two looks at how many workers there are.
_LOOK = 1.0
#: Seconds until what a worker on another host has written must be seen here.
_SEEN = 10.0


_LOST = "the worker was lost each time, as where memory does not suffice"


class _LostWorkersError(RuntimeError):
    """A tile that no worker survives."""


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
            with self._delivered(job, there) as token:
                _Flow(self.client, job, token).run(there)

    @contextmanager
    def _delivered(self, job: Job, tiles: Sequence[Tile]) -> Iterator[str]:
        """What the workers must know is with them; gives the name under which they have it."""
        from sweeps.cluster.delivery import Delivery

        token = uuid.uuid4().hex[:6]
        plugin = Delivery(token, order_of(job, tiles))
        for attempt in range(RETRIES + 1):
            try:
                self.client.register_plugin(plugin, name=token)
            except Exception as error:  # one of the workers may have been lost at this moment
                if attempt == RETRIES:
                    raise DseError(
                        f"the workers of {self._name()} cannot take the work ({error!r}): is "
                        "simt-dse installed there, in the same version?"
                    ) from error
            else:
                break
        try:
            yield token
        finally:
            with suppress(Exception):
                self.client.unregister_worker_plugin(token)

    def _name(self) -> str:
        scheduler = self.client.scheduler
        return str(scheduler.address) if scheduler is not None else "the cluster"


class _Flow:
    """Tiles under way."""

    def __init__(self, client: Any, job: Job, token: str) -> None:
        from distributed import as_completed

        self.client, self.job, self.token = client, job, token
        self.under_way: dict[str, tuple[Tile, int, Any]] = {}
        self.ended = as_completed([], loop=client.loop, with_results=True, raise_errors=False)
        self.seen: set[str] = set()
        self.room, self.looked = _LEAST, -_LOOK
        self.handed = 0

    def run(self, tiles: Sequence[Tile]) -> None:
        """Hand out tiles until all are stored, or have failed."""
        queue = iter(tiles)
        try:
            tile = next(queue, None)
            while tile is not None or self.under_way:
                while tile is not None and len(self.under_way) < self._room():
                    self._hand_out(tile, 0)
                    tile = next(queue, None)
                self._take_back()
        except BaseException:
            with suppress(Exception):
                while self.under_way and self.client.nthreads():
                    self._take_back(again=False)
            raise
        finally:
            if self.under_way:
                with suppress(Exception):
                    self.client.cancel([future for *_, future in self.under_way.values()])

    def _room(self) -> int:
        now = time.monotonic()
        if now - self.looked > _LOOK:
            self.looked = now
            self.room = _LEAST + _AHEAD * sum(self.client.nthreads().values())
        return self.room

    def _hand_out(self, tile: Tile, attempt: int) -> None:
        number, part = 0, self.job.layout.parts[tile.part]
        for place, count in zip(tile.place, part.counts, strict=True):
            number = number * count + place
        barred = (True,) if barred_in(self.job.layout, part)(tile) else ()
        key = f"{self.token}-{self.handed}"
        self.handed += 1
        future = self.client.submit(
            bench.tile, self.token, tile.part, number, *barred, key=key, pure=False
        )
        self.under_way[key] = (tile, attempt, future)
        self.ended.add(future)

    def _take_back(self, *, again: bool = True) -> None:
        """Wait for a tile; one that failed is handed out again, some times."""
        future, result = next(self.ended)
        tile, attempt, _ = self.under_way.pop(future.key)
        if future.status == "finished":
            name, record = result
            self._see(tile, name)
            self.job.finish(tile, record)
            return
        if future.status != "error":
            raise DseError("the scheduler of the cluster was lost, or gave up its tasks")
        error = future.exception()
        if isinstance(error, DseError):
            raise error
        if again and attempt < RETRIES:
            self._hand_out(tile, attempt + 1)
        elif isinstance(error, OSError):
            raise error
        elif again:
            lost = type(error).__name__ == "KilledWorker"  # it tells hosts, which no store does
            self.job.fail(tile, _LostWorkersError(_LOST) if lost else error)

    def _see(self, tile: Tile, name: str) -> None:
        """The first tile of each worker must have come to the place that is seen here."""
        if name in self.seen:
            return
        limit = time.monotonic() + _SEEN
        while True:
            try:
                self.job.medium.get(f"{RECORDS}/{tile.name}")
            except FileNotFoundError:
                if time.monotonic() > limit:
                    raise DseError(
                        f"the worker {name} has stored a tile where this process does not see it: "
                        f"{self.job.medium.name} must be a folder that all share, or a place in an "
                        "object store (s3://)"
                    ) from None
                time.sleep(0.1)
            else:
                self.seen.add(name)
                return
