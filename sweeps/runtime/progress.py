"""Progress of long runs and searches, reported to listeners."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from stochastic.compile_cache import compile_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """State of a long run.

    ``done`` and ``failed`` are numbers of values out of ``total``. ``elapsed`` is the time since
    the run began, and ``compiling`` is the time spent on compiling. [s] ``skipped`` counts values
    that an earlier run stored. ``infeasible`` counts values that were not computed because their
    tile has no feasible point. ``best`` is the best value of the objective so far. ``bound`` and
    ``gap`` are the bound of a certified search and the relative gap to it. ``points`` is the size
    of a front so far.
    """

    done: int
    total: int
    elapsed: float
    compiling: float = 0.0
    skipped: int = 0
    best: float | None = None
    failed: int = 0
    infeasible: int = 0
    gap: float | None = None
    bound: float | None = None
    points: int | None = None

    @property
    def rate(self) -> float:
        """Return the number of values computed per second. Time of compilation is not counted."""
        seconds = self.elapsed - self.compiling
        return (self.done - self.skipped) / seconds if seconds > 0 else 0.0

    @property
    def remaining(self) -> float:
        """Return the estimated time to the end. [s]"""
        left = self.total - self.done - self.failed
        return left / self.rate if self.rate else math.inf


Listener = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Summary of a run.

    ``open_dataset`` returns its Dataset. ``seconds`` is the time without ``compiling``. [s]
    ``share`` is the share of the values that this run computed. ``tiles`` has the number of tiles
    computed by this run, and by earlier runs. ``feasible`` is the number of feasible points, or
    None if all are feasible. ``infeasible`` counts values that were not computed because their tile
    has no feasible point. ``old_store`` is the name to which a fresh run moved the earlier store.
    ``failures`` are the configurations that could not be computed.
    """

    open_dataset: Any = None
    seconds: float = 0.0
    compiling: float = 0.0
    share: float = 1.0
    tiles: tuple[int, int] | None = None
    feasible: int | None = None
    old_store: str | None = None
    failures: tuple[Any, ...] = ()
    infeasible: int = 0


def gap_of(value: float, bound: float) -> float:
    """Return the distance of a value from its lower bound, relative to the value."""
    if value <= bound:
        return 0.0
    return (value - bound) / abs(value) if value else math.inf


class RunCounter:
    """A thread-safe counter of the values of a run, which reports to a listener."""

    def __init__(self, total: int, listener: Listener | None, *, sign: float = 1.0) -> None:
        self.total, self.listener, self.sign = total, listener, sign
        self.done = self.skipped = self.failed = self.infeasible = 0
        self.best: float | None = None
        self.lock = threading.Lock()
        self.start_time = time.monotonic()
        self._compiled_before = compile_seconds()

    @property
    def compiling(self) -> float:
        """Return the time this process has spent compiling since the run began. [s]"""
        return compile_seconds() - self._compiled_before

    def add_skipped(self, points: int, best: float | None = None) -> None:
        """Count values that an earlier run stored."""
        self.done += points
        self.skipped += points
        self._update_best(best)

    def add_done(self, points: int, best: float | None = None) -> None:
        """Count computed values. ``best`` is the best of them."""
        with self.lock:
            self.done += points
            self._update_best(best)
            if self.listener is not None:
                self.listener(self.snapshot())

    def add_failed(self, points: int) -> None:
        """Count values that cannot be computed."""
        with self.lock:
            self.failed += points
            if self.listener is not None:
                self.listener(self.snapshot())

    def move_to_failed(self, points: int) -> None:
        """Count values as failed; a later call of :meth:`add_done` counts the same values."""
        self.done -= points
        self.failed += points

    def add_infeasible(self, points: int) -> None:
        """Count values of infeasible tiles; :meth:`add_done` counts the same values."""
        with self.lock:
            self.infeasible += points

    def snapshot(self) -> Progress:
        """Return the current progress."""
        return Progress(
            done=self.done,
            total=self.total,
            elapsed=time.monotonic() - self.start_time,
            compiling=self.compiling,
            skipped=self.skipped,
            best=self.best,
            failed=self.failed,
            infeasible=self.infeasible,
        )

    def _update_best(self, best: float | None) -> None:
        if best is not None and (self.best is None or self.sign * best < self.sign * self.best):
            self.best = best


class _QueryProgress:
    def __init__(self, listener: Listener, sign: float) -> None:
        self.listener, self.sign, self.start_time = listener, sign, time.monotonic()
        self.latest = Progress(done=0, total=0, elapsed=0.0)

    def report(self, **news: Any) -> None:
        elapsed = time.monotonic() - self.start_time
        self.latest = replace(self.latest, elapsed=elapsed, **news)
        self.listener(self.latest)


_query_progress: ContextVar[_QueryProgress | None] = ContextVar("watch", default=None)


@contextmanager
def report_progress(listener: Listener | None, sign: float = 1.0) -> Iterator[None]:
    """Report the progress of queries in this context. ``sign`` is -1 for queries that maximize."""
    before = _query_progress.set(None if listener is None else _QueryProgress(listener, sign))
    try:
        yield
    finally:
        _query_progress.reset(before)


def add_total(points: int) -> None:
    """Add points that the running query will visit or skip."""
    watch = _query_progress.get()
    if watch is not None:
        watch.latest = replace(watch.latest, total=watch.latest.total + points)


def add_done(points: int) -> None:
    """Count points as done."""
    watch = _query_progress.get()
    if watch is not None:
        watch.report(done=watch.latest.done + points)


def report_front_size(points: int) -> None:
    """Report the number of points of a front so far, instead of a best value."""
    watch = _query_progress.get()
    if watch is not None:
        watch.latest = replace(watch.latest, points=points)


def report_best(value: float, bound: float = -math.inf) -> None:
    """Report the best value of a search so far and, if known, its lower bound."""
    watch = _query_progress.get()
    if watch is not None and watch.latest.points is None:
        known, bounded = value < math.inf, bound > -math.inf
        watch.report(
            best=watch.sign * value if known else None,
            bound=watch.sign * bound if bounded else None,
            gap=gap_of(value, bound) if known and bounded else None,
        )
