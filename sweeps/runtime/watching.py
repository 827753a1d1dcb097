"""Who watches a question: it is told how far the loops are, and of a search what is proven."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sweeps.runtime.progress import Listener, Progress, gap_of


class _Watch:
    """What is known so far of one question."""

    def __init__(self, listener: Listener, sign: float) -> None:
        self.listener, self.sign, self.began = listener, sign, time.monotonic()
        self.done = self.total = 0
        self.best: float | None = None
        self.gap: float | None = None
        self.points: int | None = None

    def tell(self) -> None:
        self.listener(
            Progress(
                done=self.done,
                total=self.total,
                elapsed=time.monotonic() - self.began,
                best=self.best,
                gap=self.gap,
                points=self.points,
            )
        )


_watch: ContextVar[_Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watched(listener: Listener | None, sign: float = 1.0) -> Iterator[None]:
    """Questions in this context tell a listener; ``sign`` turns what is made small into values."""
    before = _watch.set(None if listener is None else _Watch(listener, sign))
    try:
        yield
    finally:
        _watch.reset(before)


def going_over(points: int) -> None:
    """So many points will be looked at, or left out because bounds tell enough of them."""
    watch = _watch.get()
    if watch is not None:
        watch.total += points


def seen(points: int) -> None:
    """So many of them are done."""
    watch = _watch.get()
    if watch is not None:
        watch.done += points
        watch.tell()


def points_so_far(points: int) -> None:
    """How many points a front has so far; the searches in its gaps name no best of it."""
    watch = _watch.get()
    if watch is not None:
        watch.points = points


def best_so_far(value: float, bound: float = -math.inf) -> None:
    """What a search has found so far, and below which nothing is, if that is known."""
    watch = _watch.get()
    if watch is not None and watch.points is None:
        known = value < math.inf
        watch.best = watch.sign * value if known else None
        watch.gap = gap_of(value, bound) if known and bound > -math.inf else None
        watch.tell()
