"""The workers of a cluster as a pool of tasks: what computes tiles travels to them once."""

from __future__ import annotations

import copy
import signal
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from importlib import metadata
from pathlib import Path
from typing import Any

from stochastic import sizes
from sweeps.store.backend import is_url
from sweeps.store.fill import RETRIES, TileWriter
from symbolic.errors import DseError

#: Tasks that a thread of a worker has before it, its own included, and those for workers that come.
_AHEAD, _LEAST = 2, 2
#: Seconds between two looks at how many workers there are.
_LOOK = 1.0


def versions() -> dict[str, str]:
    """Return the versions and the setting of sizes on which the bytes of a tile depend."""
    known = {name: metadata.version(name) for name in ("simt-dse", "numpy", "numba", "zarr")}
    return {**known, "DSE_SIZES": sizes.SETTING}


def differing(here: Mapping[str, str], wanted: Mapping[str, str]) -> str:
    """Return which versions differ from those that are wanted."""
    return ", ".join(
        f"{name} {v}, not {wanted[name]}" for name, v in here.items() if v != wanted[name]
    )


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


def ignore_interrupts() -> Any:
    """Return a plugin that lets a worker finish its tile when the terminal interrupts all."""
    from distributed import WorkerPlugin

    class IgnoreInterrupts(WorkerPlugin):  # type: ignore[misc]
        def setup(self, worker: Any) -> None:
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, signal.SIG_IGN)

    return IgnoreInterrupts()


class Workers:
    """The workers of a dask.distributed cluster; a :class:`sweeps.store.fill.Pool`."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._executor = client.get_executor(pure=False)
        self._threads, self._looked = 0, -_LOOK

    def capacity(self) -> int:
        """See :class:`sweeps.store.fill.Pool`."""
        now = time.monotonic()
        if now - self._looked > _LOOK:
            self._looked = now
            self._threads = sum(self.client.nthreads().values())
        return _LEAST + _AHEAD * self._threads

    def share(self, writer: TileWriter) -> Any:
        """See :class:`sweeps.store.fill.Pool`; the scheduler can send it anew to any worker."""
        there = copy.copy(writer)
        there.place = _seen_by_all(writer.place)
        return self.client.submit(_taken, there, versions(), pure=False)

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """See :class:`sweeps.store.fill.Pool`."""
        future: Future[Any] = self._executor.submit(task, *arguments)
        return future

    def cancel(self, future: Future[Any]) -> bool:
        """See :class:`sweeps.store.fill.Pool`; whether a worker has begun is not known."""
        return not self.client.nthreads() and future.cancel()


def _taken(writer: TileWriter, wanted: Mapping[str, str]) -> TileWriter:
    """Return a writer as a worker can use it: a task, whose result the others share."""
    from distributed import get_worker

    if other := differing(versions(), wanted):
        raise DseError(
            f"the worker {get_worker().address} has {other}: its tiles would differ; "
            "install the same versions there"
        )
    return writer


def _seen_by_all(place: str) -> str:
    """Return the place of a store as workers find it."""
    if not is_url(place):
        return str(Path(place).absolute())
    if place.startswith("memory:"):
        raise DseError(
            f"{place} is in the memory of this process, which no worker sees: choose a folder that "
            "all share, or an object store (s3://)"
        )
    return place
