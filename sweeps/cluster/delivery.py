"""Brings an order to every worker of a cluster, those that join later included."""

from __future__ import annotations

import signal
import threading
from typing import Any

from distributed import WorkerPlugin

from sweeps.cluster import bench
from sweeps.cluster.order import Order


class Delivery(WorkerPlugin):  # type: ignore[misc]
    """An order on its way; the scheduler keeps it and gives it to each worker once."""

    def __init__(self, token: str, order: Order) -> None:
        self.token, self.order = token, order

    def setup(self, worker: Any) -> None:
        """A worker has joined."""
        bench.take(self.token, self.order, str(worker.address))

    def teardown(self, worker: Any) -> None:
        """The order is done, or the worker ends."""
        bench.clear(self.token)


class Unmoved(WorkerPlugin):  # type: ignore[misc]
    """Lets a process finish its tile when the terminal interrupts all; the run ends it then."""

    def setup(self, worker: Any) -> None:
        """A process has begun."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
