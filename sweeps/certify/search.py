"""Branch and bound over boxes of indices: a batch of boxes at a time, the most promising first.

Both halves of every box along every axis are bounded. A half that cannot hold what is sought is cut
off, whichever the axis; the axis whose halves have the highest bounds is split. An axis along which
the objective never falls (or never rises) over the whole box is set to its best end, a box of few
points is scanned.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sweeps.certify.boxes import Bounds, Boxes, Indices, Problem
from sweeps.certify.leaves import Scanner

__all__ = ["Least", "Sought", "Tally", "search", "settled"]

#: Boxes bounded together; boxes kept before the smallest come first; points scanned by NumPy.
BATCH, POOL, SCANNED = 1 << 11, 1 << 18, 64
#: Boxes after which machine code is made; points scanned by it.
PATIENCE, COMPILED = 1 << 17, 1 << 16


@dataclass(slots=True, kw_only=True)
class Tally:
    """What a search did, and when it must end."""

    deadline: float = math.inf
    boxes: int = 0
    visited: int = 0
    scanned: int = 0

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self.deadline


class Sought(Protocol):
    """What is sought, and the best of it found so far.

    ``picky``: of the points of a box with values below the limit it is not the least that counts.
    """

    picky: bool

    @property
    def limit(self) -> float:
        """What the values sought are below."""

    def sought(self, bounds: Any, boxes: Boxes) -> Any:
        """Which boxes may hold it, given the least that the objective can be in each."""

    def offer(self, places: Indices, values: NDArray[np.float64]) -> None:
        """Keep the best of some points."""

    def order(self, bounds: Any, boxes: Boxes) -> Any:
        """Ranks of boxes: the lowest are looked at first."""

    def settle(self, boxes: Boxes, bounds: Bounds) -> Boxes:
        """Parts of the boxes that hold it if the boxes do."""


@dataclass(slots=True, kw_only=True)
class Least:
    """The search for the least value, to within a share of it."""

    gap: float = 0.0
    value: float = math.inf
    place: Indices | None = None
    #: The least bound of what was set aside though it might hold a smaller value.
    aside: float = math.inf
    picky: bool = False

    @property
    def limit(self) -> float:
        """What the values sought are below."""
        return self.value

    def sought(self, bounds: Any, boxes: Boxes) -> Any:
        """Which boxes may hold what is sought."""
        limit = self.value - self.gap * abs(self.value) if math.isfinite(self.value) else math.inf
        hopeful = bounds < limit
        if self.gap:
            left = bounds[~hopeful & (bounds < self.value)]
            self.aside = min(self.aside, float(left.min(initial=math.inf)))
        return hopeful

    def offer(self, places: Indices, values: NDArray[np.float64]) -> None:
        """Keep the best of some points."""
        if values.size:
            best = int(np.argmin(values))
            if values[best] < self.value:
                self.value, self.place = float(values[best]), places[:, best].copy()

    def heed(self, value: float) -> None:
        """Seek less than a value found elsewhere."""
        if value < self.value:
            self.value, self.place = value, None

    def order(self, bounds: Any, boxes: Boxes) -> Any:
        """The most promising first."""
        return bounds

    def settle(self, boxes: Boxes, bounds: Bounds) -> Boxes:
        """Set the axes along which the objective goes one way to their best end."""
        return settled(boxes, bounds)


def settled(boxes: Boxes, bounds: Bounds) -> Boxes:
    """The boxes with the axes along which the objective goes one way at their best end."""
    lo, hi = boxes.lo.copy(), boxes.hi.copy()
    for axis in range(len(lo)):
        bit = np.uint64(1) << np.uint64(axis)
        up, down = (bounds.up & bit) != 0, (bounds.down & bit) != 0
        hi[axis] = np.where(up, lo[axis], hi[axis])
        lo[axis] = np.where(down & ~up, hi[axis], lo[axis])
    return Boxes(lo, hi)


@dataclass(slots=True)
class _Pool:
    """The boxes still open."""

    boxes: Any = None
    least: Any = None
    parts: list[tuple[Boxes, NDArray[np.float64]]] = field(default_factory=list)

    def add(self, boxes: Boxes, least: NDArray[np.float64]) -> None:
        self.parts.append((boxes, least))

    def gather(self) -> None:
        if self.parts:
            held = [(self.boxes, self.least)] if self.boxes is not None else []
            held += self.parts
            lo, hi = (np.concatenate([boxes[k] for boxes, _ in held], axis=1) for k in (0, 1))
            self.boxes, self.least = Boxes(lo, hi), np.concatenate([least for _, least in held])
            self.parts = []

    def keep(self, chosen: Any) -> None:
        self.boxes, self.least = self.boxes.take(chosen), self.least[chosen]


class _Search:
    """A search under way: the problem, what is sought, and the boxes still open."""

    def __init__(
        self, problem: Problem, goal: Sought, tally: Tally, improve: Callable[[], None] | None
    ) -> None:
        self.problem, self.goal, self.tally, self.improve = problem, goal, tally, improve
        self.pool = _Pool()
        self.scanner: Scanner | None = None
        self.patience = tally.boxes + PATIENCE

    def run(self) -> float:
        """Until no box is left, or the time is up."""
        whole, pool, goal = self.problem.whole, self.pool, self.goal
        self.tally.boxes += 1
        self.enter(whole, self.problem.bounded(whole))
        while True:
            pool.gather()
            pool.keep(goal.sought(pool.least, pool.boxes))
            size = pool.least.size
            if not size:
                return math.inf
            if self.tally.late:
                return float(pool.least.min())
            if self.improve is not None and size > BATCH:
                self.improve()
                self.improve = None
            if self.scanner is None and self.tally.boxes > self.patience:
                self.scanner = Scanner(self.problem)
            if size > BATCH:
                rank = goal.order(pool.least, pool.boxes) if size < POOL else pool.boxes.points
                chosen = np.argpartition(rank, BATCH)[:BATCH]
            else:
                chosen = np.arange(size)
            rest = np.ones(size, dtype=bool)
            rest[chosen] = False
            batch, least = pool.boxes.take(chosen), pool.least[chosen]
            pool.keep(rest)
            batch, least = self.scan(batch, least)
            if least.size:
                self.branch(batch, least)

    def enter(self, boxes: Boxes, bounds: Bounds) -> None:
        """Scan the boxes that are small, keep the others open; a point of each is looked at."""
        boxes = self.goal.settle(boxes, bounds)
        chosen = self.goal.sought(bounds.least, boxes)
        boxes, least = boxes.take(chosen), bounds.least[chosen]
        small = boxes.points <= SCANNED
        self.look(self.problem.inside(boxes.take(small)), covering=True)
        boxes, least = boxes.take(~small), least[~small]
        self.look((boxes.lo + boxes.hi) // 2, covering=False)
        self.pool.add(*self.scan(boxes, least))

    def look(self, places: Indices, *, covering: bool) -> None:
        """Offer some points, which may be all there are of some boxes."""
        self.tally.visited += places.shape[1]
        self.tally.scanned += places.shape[1] if covering else 0
        if places.shape[1]:
            self.goal.offer(places, self.problem.values(places))

    def scan(self, boxes: Boxes, least: NDArray[np.float64]) -> tuple[Boxes, NDArray[np.float64]]:
        """The boxes that are too large for machine code, which scans the others.

        What it finds is looked at again, as NumPy computes it.
        """
        small = boxes.points <= COMPILED if self.scanner is not None else np.zeros(0, dtype=bool)
        if self.scanner is None or not small.any():
            return boxes, least
        some = boxes.take(small)
        count = int(some.points.sum())
        self.tally.visited += count
        self.tally.scanned += count
        places = self.scanner.least(some, self.goal.limit)
        found = np.flatnonzero(places[0] >= 0)
        if found.size:
            self.goal.offer(places[:, found], self.problem.values(places[:, found]))
        for box in found if self.goal.picky else ():
            inside = self.problem.inside(some.take([box]))
            self.goal.offer(inside, self.problem.values(inside))
        return boxes.take(~small), least[~small]

    def branch(self, boxes: Boxes, least: NDArray[np.float64]) -> None:
        """Bound both halves along every axis, cut off what can be, split along the best axis."""
        problem, goal = self.problem, self.goal
        lo, hi = boxes.lo.copy(), boxes.hi.copy()
        count = least.size
        axes = np.flatnonzero((lo < hi).any(axis=1)).tolist()
        score = np.full(count, -math.inf)
        second = np.full(count, -math.inf)
        axis_of = np.full(count, -1)
        alive = np.ones(count, dtype=bool)
        halves = Bounds(*(np.zeros((2, count), dtype=t) for t in (float, np.uint64, np.uint64)))
        dead = np.zeros((2, count), dtype=bool)
        for axis, found in zip(axes, problem.halved(boxes, axes), strict=True):
            open_ = boxes.lo[axis] < boxes.hi[axis]
            mid = (boxes.lo[axis] + boxes.hi[axis]) // 2
            self.tally.boxes += 2 * int(open_.sum())
            bound = np.maximum(found.least, least)
            first, last = boxes.lo.copy(), boxes.hi.copy()
            first[axis], last[axis] = np.minimum(mid + 1, last[axis]), mid
            parts = Boxes(boxes.lo, last), Boxes(first, boxes.hi)
            hopeful = np.stack([goal.sought(bound[h], parts[h]) for h in (0, 1)])
            alive &= ~open_ | hopeful.any(axis=0)
            lo[axis] = np.where(open_ & ~hopeful[0], mid + 1, lo[axis])
            hi[axis] = np.where(open_ & ~hopeful[1], mid, hi[axis])
            low = np.where(open_, bound.min(axis=0), -math.inf)
            size = (boxes.hi[axis] - boxes.lo[axis]).astype(float)
            other = np.where(np.isfinite(bound.max(axis=0)), bound.max(axis=0) - least, math.inf)
            other = np.where(other > 0, other, size * 1e-300)
            better = (low > score) | ((low == score) & (other > second))
            better &= open_
            score, second = np.where(better, low, score), np.where(better, other, second)
            axis_of = np.where(better, axis, axis_of)
            for mine, new in zip(halves, (bound, found.up, found.down), strict=True):
                mine[:, better] = new[:, better]
            dead[:, better] = ~hopeful[:, better]
        for half in (0, 1):
            low, high = lo.copy(), hi.copy()
            for axis in range(len(lo)):
                mine = axis_of == axis
                mid = (boxes.lo[axis] + boxes.hi[axis]) // 2
                low[axis] = np.where(mine & (half == 1), np.maximum(mid + 1, low[axis]), low[axis])
                high[axis] = np.where(mine & (half == 0), np.minimum(mid, high[axis]), high[axis])
            some = alive & (axis_of >= 0) & ~dead[half]
            child = Boxes(low[:, some], high[:, some])
            bounds = Bounds(*(part[half][some] for part in halves))
            self.enter(child, bounds)


def search(
    problem: Problem, goal: Sought, tally: Tally, improve: Callable[[], None] | None = None
) -> float:
    """Improve the goal until no box is left; the least bound of those left when time is up.

    ``improve`` is called once, where many boxes are open.
    """
    return _Search(problem, goal, tally, improve).run()
