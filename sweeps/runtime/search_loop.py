"""Main loops of all queries, with time limit, interrupt and progress.

A search (:func:`run_search`) repeatedly splits or evaluates its most promising open pieces, and
drops what cannot matter. A scan (:func:`iterate_batches`) visits all its pieces.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from sweeps.runtime.interrupts import deadline, is_interrupted, raise_if_interrupted
from sweeps.runtime.progress import add_done, add_total

Batch = TypeVar("Batch")


@dataclass(slots=True, kw_only=True)
class SearchStats:
    """Counts of a search, and its deadline by :func:`time.monotonic`."""

    deadline: float = math.inf
    boxes: int = 0
    visited_points: int = 0
    scanned_points: int = 0

    @classmethod
    def start(cls, time_limit: float | None) -> SearchStats:
        """Return the stats of a search that begins now, with a limit in seconds."""
        if time_limit is None:
            return cls(deadline=deadline())
        return cls(deadline=min(time.monotonic() + time_limit, deadline()))

    @property
    def is_late(self) -> bool:
        """True if the time is up or the search was interrupted."""
        return is_interrupted() or time.monotonic() > self.deadline

    def share_time(self, end: float, parts: int) -> None:
        """Set the deadline to an equal share of the time until ``end``, for one of ``parts``."""
        if end < math.inf:
            now = time.monotonic()
            self.deadline = now + max(end - now, 0.0) / max(parts, 1)


class Search(Protocol):
    """Pieces of a space, some of which are open."""

    def has_open_pieces(self) -> bool:
        """True if a piece is left that may matter; others are dropped."""

    def step(self) -> None:
        """Split or evaluate the most promising pieces."""

    def report(self) -> None:
        """Report the progress."""


def run_search(
    search: Search, stats: SearchStats, max_boxes: float = math.inf, *, min_steps: int = 0
) -> bool:
    """Run at least ``min_steps``; False if the time or ``max_boxes`` ended the search early."""
    done = 0
    while search.has_open_pieces():
        if done >= min_steps and (stats.is_late or stats.boxes >= max_boxes):
            return False
        search.step()
        search.report()
        done += 1
    return True


def iterate_batches(
    batches: Iterable[tuple[Batch, int]],
    points: int,
    report_left: Callable[[int], object] | None = None,
) -> Iterator[Batch]:
    """Yield batches of a scan, each with its number of points, until an interrupt.

    An interrupt raises, unless ``report_left`` is given: it gets the number of points left, and the
    results so far count as an answer.
    """
    add_total(points)
    left = points
    for batch, size in batches:
        if report_left is not None and is_interrupted():
            report_left(left)
            return
        raise_if_interrupted()
        yield batch
        left -= size
        add_done(size)
