"""Connect to or start a Dask cluster, and run tiles or parts of a query on its workers.

Workers write values directly into the store. They need neither the study nor a model file.
"""

from __future__ import annotations

import copy
import itertools
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from importlib import metadata
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

from stochastic import sizes
from sweeps.grid.failures import reason_of
from sweeps.grid.grid import Indexers
from sweeps.store.backend import is_url
from sweeps.store.fill import RETRIES, TileWriter
from symbolic.errors import DseError

#: Number of submitted tasks per worker thread (one runs), and number of additional tasks for
#: workers that join later.
_TASKS_PER_THREAD, _MIN_TASKS = 2, 2
_SHARES = sizes.CLUSTER_SHARES
_CONNECT_TIMEOUT = 10
_ENDED_STATES = ("closed", "failed")
#: Seconds between checks of the number of workers.
_POLL_SECONDS = 1.0
#: Settings of local workers: no profiling and monitoring, which would take 10 % of their time.
_QUIET_CONFIG = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}

Answer = TypeVar("Answer")


def versions() -> dict[str, str]:
    """Return the versions and size settings that affect the bytes of a tile."""
    known = {name: metadata.version(name) for name in ("simt-dse", "numpy", "numba", "zarr")}
    return {**known, "DSE_SIZES": sizes.SETTING}


def version_differences(local: Mapping[str, str], wanted: Mapping[str, str]) -> str:
    """Return a text that lists the local versions that differ from ``wanted`` versions."""
    return ", ".join(f"{k} {v}, not {wanted[k]}" for k, v in local.items() if v != wanted[k])


def _check_versions(wanted: Mapping[str, str]) -> None:
    """Raise DseError if the versions of this worker differ, because its values might differ too."""
    from distributed import get_worker

    if other := version_differences(versions(), wanted):
        raise DseError(
            f"the worker {get_worker().address} has {other}: its values would differ; "
            "install the same versions there"
        )


@contextmanager
def open_workers(client: Any = None, workers: int | None = None) -> Iterator[Workers | None]:
    """Yield the workers of a Dask cluster, or of ``workers`` new local processes.

    ``client`` is a Client or the address of a scheduler. New processes end with the block. If
    neither argument is given, None is yielded: this process then does the work.
    """
    if client is None and workers is None:
        yield None
        return
    if client is not None and workers is not None:
        raise DseError(
            "client is a running cluster, and workers a number of processes to start: give one of "
            "them"
        )
    count: Any = workers
    whole = isinstance(count, Integral) and not isinstance(count, bool)
    if count is not None and not (whole and count >= 1):
        raise DseError(f"workers = {workers!r}: expected a number of processes, at least 1")
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise DseError(
            "a cluster needs dask.distributed, which is not installed: pip install distributed"
        ) from error
    if workers is not None:
        with dask.config.set(_QUIET_CONFIG):
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",
                silence_logs=logging.CRITICAL,
                config=_QUIET_CONFIG,  # restarted processes read these settings too
            )
        with (
            cluster,
            Client(cluster, set_as_default=False) as made,
            _restart_lost_workers(cluster, workers),
        ):
            _ignore_interrupts(made)
            yield Workers(made)
    elif isinstance(client, str):
        log = logging.getLogger("distributed.client")
        level = log.level
        try:
            with _connect(client) as made:
                log.setLevel(logging.CRITICAL)  # errors of the connection are raised, not logged
                yield Workers(made)
        finally:
            log.setLevel(level)
    elif isinstance(client, Client) and not client.asynchronous:
        yield Workers(client)
    else:
        raise DseError(
            f"client = {client!r}: expected a synchronous distributed.Client, or the address of a "
            "scheduler"
        )


def _connect(address: str) -> Any:
    from distributed import Client

    class ClosingClient(Client):  # type: ignore[misc]
        def start(self, **options: Any) -> None:
            try:
                super().start(**options)
            except BaseException:
                with suppress(Exception):  # an open client would make Dask wait at exit
                    self.close(timeout=1)
                raise

    try:
        return ClosingClient(address, timeout=_CONNECT_TIMEOUT, set_as_default=False)
    except Exception as error:
        reason = error if isinstance(error, (OSError, ValueError)) else reason_of(error)
        raise DseError(
            f"no scheduler answers at {address!r} ({reason}): start one with dask scheduler, or "
            "give the address that it prints"
        ) from error


@contextmanager
def _restart_lost_workers(cluster: Any, count: int) -> Iterator[None]:
    """Replace local workers that ended or did not start, because Dask does not replace them."""
    over = threading.Event()

    def restart_ended() -> None:  # called in the thread of the cluster
        if over.is_set():
            return
        for name, each in list(cluster.workers.items()):
            if each.status.name in _ENDED_STATES:
                del cluster.workers[name]
        if len(cluster.workers) < count:
            cluster.scale(count)
        cluster.loop.call_later(_POLL_SECONDS, restart_ended)

    cluster.loop.add_callback(restart_ended)
    try:
        yield
    finally:
        over.set()


def _ignore_interrupts(client: Any) -> None:
    """Make workers finish their tiles on Ctrl-C, which the terminal sends to all processes."""
    from distributed import WorkerPlugin

    class IgnoreInterrupts(WorkerPlugin):  # type: ignore[misc]
        def setup(self, worker: Any) -> None:
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, signal.SIG_IGN)

    for attempt in range(RETRIES + 1):
        try:
            client.register_plugin(IgnoreInterrupts(), name="ignore-interrupts")
        except Exception:  # a worker may be lost during this call
            if attempt == RETRIES:
                raise
        else:
            return


class Workers:
    """The workers of a Dask cluster, which run tasks."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._executor = client.get_executor(pure=False)
        self._thread_count, self._counted_at = 0, -_POLL_SECONDS

    def capacity(self) -> int:
        """Return the number of tasks to keep submitted."""
        now = time.monotonic()
        if now - self._counted_at > _POLL_SECONDS:
            self._counted_at = now
            self._thread_count = sum(self.client.nthreads().values())
        return _MIN_TASKS + _TASKS_PER_THREAD * self._thread_count

    def share_writer(self, writer: TileWriter) -> Any:
        """Return a future of the writer for tasks, so that a worker gets the writer only once."""
        there = copy.copy(writer)
        there.place = _shared_location(writer.place)
        return self.client.submit(_check_writer, there, versions(), pure=False)

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Submit a task to any worker."""
        return self._executor.submit(task, *arguments)

    def cancel(self, future: Future[Any]) -> bool:
        """Cancel a task unless a worker may have begun it; return True if it is cancelled."""
        return not self.client.nthreads() and future.cancel()


def _check_writer(writer: TileWriter, wanted: Mapping[str, str]) -> TileWriter:
    _check_versions(wanted)
    return writer


def _shared_location(place: str) -> str:
    if not is_url(place):
        return str(Path(place).absolute())
    if place.startswith("memory:"):
        raise DseError(
            f"{place} is in the memory of this process, which workers cannot access: choose a "
            "shared folder, or an object store (s3://)"
        )
    return place


def split_longest_axis(
    sizes: Mapping[str, int], dims: Sequence[str], workers: Workers
) -> list[Indexers]:
    """Split the longest axis of ``dims`` into slices; each worker thread gets several."""
    axis = max(dims, key=lambda name: sizes[name], default=None)
    if axis is None:
        return [{}]
    threads = sum(workers.client.nthreads().values())
    count = min(sizes[axis], _SHARES * max(threads, 1))
    ends = [number * sizes[axis] // count for number in range(count + 1)]
    return [{axis: slice(a, b)} for a, b in itertools.pairwise(ends)]


def map_parts(
    workers: Workers,
    query: Callable[[Any, Indexers], Answer],
    source: Any,
    parts: Sequence[Indexers],
) -> Iterator[Answer]:
    """Yield the answer for each part of a source, in order. The source is sent only once."""
    client = workers.client
    task = _answer_part, query, client.scatter(source, hash=False)
    futures = [client.submit(*task, part, versions(), pure=False) for part in parts]
    try:
        for future in futures:
            yield future.result()
    finally:
        client.cancel(futures)


def _answer_part(
    query: Callable[[Any, Indexers], Answer], source: Any, part: Indexers, wanted: Mapping[str, str]
) -> Answer:
    _check_versions(wanted)
    return query(source, part)
