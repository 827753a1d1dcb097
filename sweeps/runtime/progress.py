"""How far a long run is, told to a listener after each tile."""

from __future__ import annotations

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
    """Where a long run stands: values done or failed of how many, seconds since it began.

    ``compiling`` is how many of the seconds this process has compiled; ``skipped`` how many of
    the values done were stored by an earlier run; ``best`` the best value so far of the quantity
    that is looked for, where one is; ``barred`` how many of the values done were not computed,
    because no point of their tile keeps the rules. Of a search with a proof ``gap`` is how far off,
    as a share, the best so far can be; of a front ``points`` is how many it has so far.
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
    points: int | None = None

    @property
    def rate(self) -> float:
        """Values a second so far, compiling and what was skipped apart."""
        seconds = self.elapsed - self.compiling
        return (self.done - self.skipped) / seconds if seconds > 0 else 0.0

    @property
    def remaining(self) -> float:
        """Estimated seconds to the end."""
        left = self.total - self.done - self.failed
        return left / self.rate if self.rate else math.inf


Listener = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run did.

    ``open`` returns its Dataset, which a run into a store opens then. ``seconds`` is without
    ``compiling``; ``share`` is how much of the values was computed now, ``tiles`` how many of the
    store's tiles, and how many an earlier run had stored; ``feasible`` the feasible points, None
    where all are; ``kept`` where a fresh run keeps the earlier store; ``failed`` the configurations
    that could not be computed (:class:`sweeps.grid.failures.Failure`); ``barred`` how many values
    needed no computing, because no point of their tile keeps the rules.
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
    """How far a value is from what none is below, as a share of it."""
    if value <= bound:
        return 0.0
    return (value - bound) / abs(value) if value else math.inf


class RunCounter:
    """Counts values and tells a listener; tiles end in several threads."""

    def __init__(self, total: int, listener: Listener | None, *, sign: float = 1.0) -> None:
        self.total, self.listener, self.sign = total, listener, sign
        self.done = self.skipped = self.failed = self.infeasible = 0
        self.best: float | None = None
        self.lock = threading.Lock()
        self.start_time = time.monotonic()
        self._compiled_before = compile_seconds()

    @property
    def compiling(self) -> float:
        """Seconds in which this process has compiled since the run began."""
        return compile_seconds() - self._compiled_before

    def add_skipped(self, points: int, best: float | None = None) -> None:
        """Values that an earlier run has stored."""
        self.done += points
        self.skipped += points
        self._update_best(best)

    def add_done(self, points: int, best: float | None = None) -> None:
        """Values done, and the best of them."""
        with self.lock:
            self.done += points
            self._update_best(best)
            if self.listener is not None:
                self.listener(self.snapshot())

    def add_failed(self, points: int) -> None:
        """Values that cannot be computed."""
        with self.lock:
            self.failed += points
            if self.listener is not None:
                self.listener(self.snapshot())

    def move_to_failed(self, points: int) -> None:
        """Of values about to be done, those that have failed."""
        self.done -= points
        self.failed += points

    def add_infeasible(self, points: int) -> None:
        """Of values about to be done, those that need not be computed."""
        with self.lock:
            self.infeasible += points

    def snapshot(self) -> Progress:
        """Where the run stands."""
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


# --- Who watches a question: it is told how far the loops are, and of a search what is proven


class _QueryProgress:
    """What is known so far of one question."""

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
    """Questions in this context tell a listener; ``sign`` turns what is made small into values."""
    before = _query_progress.set(None if listener is None else _QueryProgress(listener, sign))
    try:
        yield
    finally:
        _query_progress.reset(before)


def add_total(points: int) -> None:
    """So many points will be looked at, or left out because bounds tell enough of them."""
    watch = _query_progress.get()
    if watch is not None:
        watch.latest = replace(watch.latest, total=watch.latest.total + points)


def add_done(points: int) -> None:
    """So many of them are done."""
    watch = _query_progress.get()
    if watch is not None:
        watch.report(done=watch.latest.done + points)


def report_front_size(points: int) -> None:
    """How many points a front has so far; the searches in its gaps name no best of it."""
    watch = _query_progress.get()
    if watch is not None:
        watch.latest = replace(watch.latest, points=points)


def report_best(value: float, bound: float = -math.inf) -> None:
    """What a search has found so far, and below which nothing is, if that is known."""
    watch = _query_progress.get()
    if watch is not None and watch.latest.points is None:
        known = value < math.inf
        watch.report(
            best=watch.sign * value if known else None,
            gap=gap_of(value, bound) if known and bound > -math.inf else None,
        )
