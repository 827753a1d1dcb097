"""The one loop of every question: its time limit, its interrupt, and who is told how far it is.

A search has pieces of a space that are open. It takes the most promising, drops those that are not
worth a look, splits or evaluates the others; :func:`run_search` goes on with that until none is left,
there are enough, or the time is up. A scan is a loop over all its pieces, :func:`iterate_batches`.
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
    """What a search did, and when it must end (of the clock :func:`time.monotonic`)."""

    deadline: float = math.inf
    boxes: int = 0
    visited_points: int = 0
    scanned_points: int = 0

    @classmethod
    def start(cls, time_limit: float | None) -> SearchStats:
        """That of a search which begins now, and may take so many seconds."""
        if time_limit is None:
            return cls(deadline=deadline())
        return cls(deadline=min(time.monotonic() + time_limit, deadline()))

    @property
    def is_late(self) -> bool:
        """Whether the time is up, or the search was interrupted."""
        return is_interrupted() or time.monotonic() > self.deadline

    def share_time(self, end: float, parts: int) -> None:
        """Leave to the first of so many searches its part of the time until an end."""
        if end < math.inf:
            now = time.monotonic()
            self.deadline = now + max(end - now, 0.0) / max(parts, 1)


class Search(Protocol):
    """Pieces of a space, of which some are open."""

    def has_open_pieces(self) -> bool:
        """Whether a piece is left that is worth a look; those that are not are dropped."""

    def step(self) -> None:
        """Split or evaluate the most promising pieces."""

    def report(self) -> None:
        """Tell who watches what is known by now."""


def run_search(
    search: Search, stats: SearchStats, max_boxes: float = math.inf, *, min_steps: int = 0
) -> bool:
    """Go on with a search; whether it came to its end before the time was up.

    It ends, too, once ``most`` boxes were bounded. ``least`` steps are taken however late it is.
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
    """Batches of so many points one after the other, until an interrupt.

    Parameters
    ----------
    batches : iterable of (batch, int)
        With how many points each has.
    points : int
        Of all batches.
    leave : callable, optional
        Told by an interrupt how many points are left: what is known by then is an answer.

    Raises
    ------
    Interrupted
        There is no answer before the end.
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
