"""The one loop of every question: its time limit, its interrupt, and who is told how far it is.

A search has pieces of a space that are open. It takes the most promising, drops those that are not
worth a look, splits or evaluates the others; :func:`explore` goes on with that until none is left,
there are enough, or the time is up. A scan is a loop over all its pieces, :func:`in_turn`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from sweeps.runtime.progress import going_over, seen
from sweeps.runtime.stopping import deadline, halt, stopped

Batch = TypeVar("Batch")


@dataclass(slots=True, kw_only=True)
class Tally:
    """What a search did, and when it must end (of the clock :func:`time.monotonic`)."""

    deadline: float = math.inf
    boxes: int = 0
    visited: int = 0
    scanned: int = 0

    @classmethod
    def of(cls, time_limit: float | None) -> Tally:
        """That of a search which begins now, and may take so many seconds."""
        if time_limit is None:
            return cls(deadline=deadline())
        return cls(deadline=min(time.monotonic() + time_limit, deadline()))

    @property
    def late(self) -> bool:
        """Whether the time is up, or the search was interrupted."""
        return stopped() or time.monotonic() > self.deadline

    def share(self, end: float, parts: int) -> None:
        """Leave to the first of so many searches its part of the time until an end."""
        if end < math.inf:
            now = time.monotonic()
            self.deadline = now + max(end - now, 0.0) / max(parts, 1)


class Search(Protocol):
    """Pieces of a space, of which some are open."""

    def open(self) -> bool:
        """Whether a piece is left that is worth a look; those that are not are dropped."""

    def step(self) -> None:
        """Split or evaluate the most promising pieces."""

    def tell(self) -> None:
        """Tell who watches what is known by now."""


def explore(search: Search, tally: Tally, most: float = math.inf, *, least: int = 0) -> bool:
    """Go on with a search; whether it came to its end before the time was up.

    It ends, too, once ``most`` boxes were bounded. ``least`` steps are taken however late it is.
    """
    done = 0
    while search.open():
        if done >= least and (tally.late or tally.boxes >= most):
            return False
        search.step()
        search.tell()
        done += 1
    return True


def in_turn(
    batches: Iterable[tuple[Batch, int]],
    points: int,
    leave: Callable[[int], object] | None = None,
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
    going_over(points)
    left = points
    for batch, size in batches:
        if leave is not None and stopped():
            leave(left)
            return
        halt()
        yield batch
        left -= size
        seen(size)
