"""Who watches a question: it is told how far the loops are, and of a search what is proven."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sweeps.runtime.progress import Listener, Progress, gap_of

__all__ = ["found", "going_over", "seen", "watched"]


class _Watch:
    """What is known so far of one question."""

    def __init__(self, listener: Listener, sign: float) -> None:
        self.listener, self.sign, self.began = listener, sign, time.monotonic()
        self.done = self.total = 0
        self.best: float | None = None
        self.gap: float | None = None

    def tell(self) -> None:
        self.listener(
            Progress(
                done=self.done,
                total=self.total,
                elapsed=time.monotonic() - self.began,
                best=self.best,
                gap=self.gap,
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


def found(value: float, bound: float) -> None:
    """What a search has found so far, and below which nothing is."""
    watch = _watch.get()
    if watch is not None:
        known = value < float("inf")
        watch.best = watch.sign * value if known else None
        watch.gap = gap_of(value, bound) if known else None
        watch.tell()
