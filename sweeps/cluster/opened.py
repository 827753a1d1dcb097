"""The cluster a run is given: one that is there, or one of this machine made for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from numbers import Integral
from typing import Any

from sweeps.cluster.workers import Workers, ignore_interrupts, register
from sweeps.grid.failing import reason_of
from symbolic.errors import DseError

_PATIENCE = 10
_ENDED = ("closed", "failed")
#: Seconds between two looks at whether all processes are there.
_LOOK = 1.0
#: What the processes of this machine do besides computing, which takes a tenth of its time: samples
#: of what they are at, and looks at how they are, many times a second. Nobody asks for these here.
_QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}


@contextmanager
def opened(client: Any = None, workers: int | None = None) -> Iterator[Workers | None]:
    """Who computes the tiles: None for threads of this process.

    Parameters
    ----------
    client : distributed.Client or str, optional
        A cluster, or the address of its scheduler (``tcp://host:8786``).
    workers : int, optional
        How many processes of this machine to start, and to end afterwards.

    Raises
    ------
    DseError
        Both are given, or what is given is none of these; no scheduler answers; dask.distributed is
        not installed.
    """
    if client is None and workers is None:
        yield None
        return
    if client is not None and workers is not None:
        raise DseError(
            "client is a cluster that is there, and workers a number of processes to start: give "
            "one of them"
        )
    count: Any = workers
    if count is not None and (
        isinstance(count, bool) or not isinstance(count, Integral) or count < 1
    ):
        raise DseError(f"workers = {workers!r}: expected how many processes, at least 1")
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise DseError(
            "a cluster needs dask.distributed, which is not installed: pip install distributed"
        ) from error
    if workers is not None:
        with dask.config.set(_QUIET):
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",
                silence_logs=logging.CRITICAL,
                config=_QUIET,  # of processes that take the place of lost ones, too
            )
        with (
            cluster,
            Client(cluster, set_as_default=False) as made,
            _kept(cluster, workers),
        ):
            register(made, ignore_interrupts(), "ignore-interrupts")
            yield Workers(made)
    elif isinstance(client, str):
        log = logging.getLogger("distributed.client")
        level = log.level
        try:
            with _joined(client) as made:
                log.setLevel(logging.CRITICAL)  # what it would tell is told as an error
                yield Workers(made)
        finally:
            log.setLevel(level)
    elif isinstance(client, Client) and not client.asynchronous:
        yield Workers(client)
    else:
        raise DseError(
            f"client = {client!r}: expected a distributed.Client that waits (not an asynchronous "
            "one), or the address of a scheduler"
        )


def _joined(address: str) -> Any:
    """A client of the scheduler at an address."""
    from distributed import Client

    class Joined(Client):  # type: ignore[misc]
        def start(self, **given: Any) -> None:
            try:
                super().start(**given)
            except BaseException:
                with suppress(Exception):  # else its end is waited for in vain, long after
                    self.close(timeout=1)
                raise

    try:
        return Joined(address, timeout=_PATIENCE, set_as_default=False)
    except Exception as error:  # of an address, a connection, or what something else answers
        said = error if isinstance(error, (OSError, ValueError)) else reason_of(error)
        raise DseError(
            f"no scheduler answers at {address!r} ({said}): start one with dask scheduler, or give "
            "the address that it tells"
        ) from error


@contextmanager
def _kept(cluster: Any, count: int) -> Iterator[None]:
    """Starts anew what dask gives up: a process that ended while it began, or took long to."""
    over = threading.Event()

    def look() -> None:  # in the thread of the cluster
        ended = [n for n, each in cluster.workers.items() if each.status.name in _ENDED]
        for name in ended:
            del cluster.workers[name]
        if len(cluster.workers) < count and not over.is_set():
            cluster.scale(count)

    def watch() -> None:
        while not over.wait(_LOOK):
            cluster.loop.add_callback(look)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
