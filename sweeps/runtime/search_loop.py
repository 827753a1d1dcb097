"""Main loops of all queries, with time limit, interrupt and progress.

A search (:func:`run_search`) repeatedly splits or evaluates its most promising open pieces. It
drops pieces that cannot change the answer. A scan (:func:`iterate_batches`) visits all pieces.
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
    """The counts of a search, and its deadline (a time of :func:`time.monotonic`)."""

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
        """Set the deadline of this search: ``parts`` searches share the time until ``end``."""
        if end < math.inf:
            now = time.monotonic()
            self.deadline = now + max(end - now, 0.0) / max(parts, 1)


def is_late() -> bool:
    """True if the running query was interrupted or its time is up."""
    return SearchStats.start(None).is_late


class Search(Protocol):
    """A search over pieces of a space. Open pieces must still be split or evaluated."""

    def has_open_pieces(self) -> bool:
        """Drop the pieces that cannot change the answer; return True if a piece is left."""

    def step(self) -> None:
        """Split or evaluate the most promising pieces."""

    def report(self) -> None:
        """Report the progress."""


def run_search(
    search: Search, stats: SearchStats, max_boxes: float = math.inf, *, min_steps: int = 0
) -> bool:
    """Make steps until no piece is open; return False if a limit is reached before.

    The deadline and ``max_boxes`` are no limits for the first ``min_steps`` steps.
    """
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
    """Yield the batches of a scan. ``batches`` has pairs of a batch and its number of points.

    An interrupt or the deadline raises an error. With ``report_left``, it instead ends the loop
    after ``report_left`` is called with the number of remaining points.
    """
    add_total(points)
    left = points
    for batch, size in batches:
        if report_left is None:
            raise_if_interrupted()
        elif is_late():
            report_left(left)
            return
        yield batch
        left -= size
        add_done(size)
