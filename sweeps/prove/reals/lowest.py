"""Branch and bound over boxes of reals and indices, the most promising first, many at a time."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.prove.reals.mixed import Floats, Mixed
from sweeps.runtime.loop import Tally, explore
from sweeps.runtime.watching import best_so_far

__all__ = ["TINY", "Lowest", "lowest"]

#: A difference that is none, where the best is zero.
TINY = sys.float_info.min

#: Boxes looked at together; most that are kept open; points drawn first; times a box is narrowed.
_TOGETHER, _MOST, _DRAWN, _TURNS = (
    sizes.REAL_TOGETHER,
    sizes.REAL_MOST,
    sizes.REAL_DRAWN,
    sizes.REAL_TURNS,
)
#: Real axes of which every corner is looked at.
_CORNERS = sizes.REAL_CORNERS
#: What the half with the higher bound counts for, beside the other; what width counts.
_BETTER, _WIDTH = 0.17, 1e-9


class Lowest:
    """The least value known, where it is if it was found here, and below which none can be."""

    def __init__(self, gap: float, value: float = math.inf) -> None:
        self.gap = gap
        self.value = value
        self.point: Floats | None = None
        #: The least bound of what was set aside, and of what is left when the search ends.
        self.bound = math.inf

    @property
    def allowed(self) -> float:
        """What bounds from here on exclude."""
        if self.value == math.inf:
            return math.inf
        return self.value - max(self.gap * abs(self.value), TINY)

    def offer(self, problem: Mixed, points: Floats) -> None:
        """Keep the best of some points, if it is as good by itself as among many.

        The library's functions may differ by an ulp between the two.
        """
        values = problem.at(points)
        best = np.array([np.argmin(values)])
        if values[best[0]] < self.value:
            value = float(problem.at(points[:, best])[0])
            if value < self.value:
                self.value, self.point = value, points[:, best[0]].copy()

    def aside(self, bounds: Floats) -> None:
        """Note the bounds of what is not looked at any more."""
        self.bound = min(self.bound, float(bounds.min(initial=math.inf)))


def lowest(problem: Mixed, goal: Lowest, tally: Tally) -> None:
    """Improve a goal until nothing is lower by more than its tolerance, or the time is up."""
    with np.errstate(all="ignore"):
        one = _Search(problem, goal, tally)
        explore(one, tally, least=1)
    goal.aside(one.bound)
    goal.bound = min(goal.bound, goal.value)


class _Search:
    def __init__(self, problem: Mixed, goal: Lowest, tally: Tally) -> None:
        self.problem, self.goal, self.tally = problem, goal, tally
        self.real = problem.real[:, None]
        self.width = np.maximum(problem.high - problem.low, 1e-300)[:, None]

        self.lo, self.hi = problem.low[:, None], problem.high[:, None]
        self.bound = np.array([-math.inf])
        self._drawn()

    def open(self) -> bool:
        """Whether a box is left that may hold something better, and there is room for more."""
        left = self.bound < self.goal.allowed
        self.goal.aside(self.bound[~left])
        self.lo, self.hi, self.bound = self.lo[:, left], self.hi[:, left], self.bound[left]
        return 0 < self.bound.size <= _MOST

    def step(self) -> None:
        """Bound the most promising boxes closely, and halve what is left of them."""
        lo, hi, bound = self.lo, self.hi, self.bound
        order = np.argsort(bound, kind="stable")
        some, rest = order[:_TOGETHER], order[_TOGETHER:]
        split = self._split(lo[:, some], hi[:, some], bound[some])
        parts = zip((lo, hi, bound), split, strict=True)
        self.lo, self.hi, self.bound = (np.concatenate([a[..., rest], b], -1) for a, b in parts)

    def tell(self) -> None:
        """The best so far, and below which nothing is."""
        best_so_far(
            self.goal.value, min(self.goal.bound, float(self.bound.min(initial=self.goal.value)))
        )

    def _drawn(self) -> None:
        """A few points, the same each time."""
        problem = self.problem
        low, high = problem.low[:, None], problem.high[:, None]
        share = np.random.default_rng(0).random((low.size, _DRAWN))
        points = np.where(
            self.real, low + share * (high - low), np.rint(low + share * (high - low))
        )
        self._look(np.clip(np.concatenate([low, high, points], axis=1), low, high))

    def _look(self, points: Floats) -> None:
        self.goal.offer(self.problem, points)
        self.tally.visited += points.shape[1]

    def _points(self, lo: Floats, hi: Floats) -> Floats:
        """The middle of some boxes, and corners of them."""
        middle = self.problem.middle(lo, hi)
        real = np.flatnonzero(self.real)[:_CORNERS]
        found = [middle, lo, hi]
        for sides in itertools.product((False, True), repeat=real.size):
            corner = middle.copy()
            corner[real] = np.where(np.array(sides)[:, None], hi[real], lo[real])
            found.append(corner)
        return np.concatenate(found, axis=1)

    def _split(self, lo: Floats, hi: Floats, bound: Floats) -> tuple[Floats, Floats, Floats]:
        """Bound some boxes closely, narrow them, and halve what is left of them."""
        lo, hi, bound, wide = self._narrowed(lo, hi, bound)
        self._look(self._points(lo, hi))
        kept = bound < self.goal.allowed
        self.goal.aside(bound[~kept])
        lo, hi, bound, wide = lo[:, kept], hi[:, kept], bound[kept], wide[:, kept]
        if not lo.size:  # nothing is left, or nothing varies
            self.goal.aside(bound)
            return lo[:, :0], hi[:, :0], bound[:0]
        middle = self.problem.middle(lo, hi)
        after = np.where(self.real, middle, middle + 1)
        can = np.where(self.real, (lo < middle) & (middle < hi), lo < hi)
        if wide.size:
            can[-len(wide) :] &= wide
        halves = np.maximum(self._halves(lo, hi, middle, after, can), bound)
        self.tally.boxes += 2 * int(can.sum())
        return self._children(lo, hi, bound, halves, middle, after, can)

    def _narrowed(
        self, lo: Floats, hi: Floats, bound: Floats
    ) -> tuple[Floats, Floats, Floats, NDArray[np.bool_]]:
        """Boxes drawn to the end where they are least along axes that go one way."""
        bound = bound.copy()
        chosen = np.arange(bound.size)
        wide = np.ones((len(self.problem.atoms), bound.size), dtype=bool)
        for _ in range(_TURNS):
            if not chosen.size:
                break
            low, high = lo[:, chosen], hi[:, chosen]
            found = self.problem.closely(low, high)
            self.tally.boxes += chosen.size
            wide[:, chosen] = found.open
            bound[chosen] = np.fmax(bound[chosen], found.least)
            lo[:, chosen] = np.where(found.falls & ~found.rises, high, low)
            hi[:, chosen] = np.where(found.rises, low, high)
            changed = (lo[:, chosen] != low) | (hi[:, chosen] != high)
            chosen = chosen[np.any(changed, axis=0) & (bound[chosen] < self.goal.allowed)]
        if chosen.size:
            rough = self.problem.roughly(lo[:, chosen], hi[:, chosen])
            bound[chosen] = np.fmax(bound[chosen], rough)
        return lo, hi, bound, wide

    def _halves(
        self, lo: Floats, hi: Floats, middle: Floats, after: Floats, can: NDArray[np.bool_]
    ) -> Floats:
        """The bounds of both halves along every axis where there are, of shape (2, axes, boxes)."""
        axis, box = np.nonzero(can)
        low, high = np.tile(lo[:, box], 2), np.tile(hi[:, box], 2)
        place = np.arange(axis.size)
        high[axis, place] = middle[axis, box]
        low[axis, place + axis.size] = after[axis, box]
        found = np.full((2, *lo.shape), -math.inf)
        if axis.size:
            found[:, axis, box] = self.problem.roughly(low, high).reshape(2, -1)
        return found

    def _children(
        self,
        lo: Floats,
        hi: Floats,
        bound: Floats,
        halves: Floats,
        middle: Floats,
        after: Floats,
        can: NDArray[np.bool_],
    ) -> tuple[Floats, Floats, Floats]:
        """Boxes without the halves that hold nothing better; the others as two halves."""
        gone = can & (halves >= self.goal.allowed)
        self.goal.aside(halves[gone])
        alive = ~np.any(gone[0] & gone[1], axis=0)
        less = np.where(gone.any(axis=0), halves.max(axis=0, where=~gone, initial=-math.inf), bound)
        bound = np.maximum(bound, less.max(axis=0))
        lo, hi = np.where(gone[0], after, lo), np.where(gone[1], middle, hi)
        cut = alive & np.any(gone, axis=(0, 1))
        stuck = alive & ~cut & ~np.any(can, axis=0)
        self.goal.aside(bound[stuck])
        split = alive & ~cut & ~stuck
        gain = np.nan_to_num(halves - bound, posinf=1e300, neginf=0.0)
        gain = np.minimum(gain[0], gain[1]) + _BETTER * np.maximum(gain[0], gain[1])
        gain = gain / np.maximum(gain.max(axis=0), 1e-300) + _WIDTH * (hi - lo) / self.width
        axis = np.argmax(np.where(can, gain, -1.0), axis=0)
        mine = np.arange(len(lo))[:, None] == axis
        which = np.arange(bound.size)
        lows = [lo[:, cut], lo[:, split], np.where(mine, after, lo)[:, split]]
        highs = [hi[:, cut], np.where(mine, middle, hi)[:, split], hi[:, split]]
        bounds = [bound[cut], halves[0, axis, which][split], halves[1, axis, which][split]]
        return np.concatenate(lows, 1), np.concatenate(highs, 1), np.concatenate(bounds)
