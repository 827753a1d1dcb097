"""Boxes of a grid: ranges of indices along each axis, thousands at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes

Indices = NDArray[np.int64]


class Boxes(NamedTuple):
    """First and last index along each axis (rows) of some boxes (columns)."""

    lo: Indices
    hi: Indices

    @property
    def points(self) -> NDArray[np.float64]:
        """How many points each holds."""
        return np.asarray(np.prod((self.hi - self.lo + 1).astype(np.float64), axis=0))

    def take(self, chosen: Any) -> Boxes:
        """Some of them."""
        return Boxes(self.lo[:, chosen], self.hi[:, chosen])

    def halves(self, axis_of: Indices) -> Boxes:
        """The first halves of all, each along an axis of its own, then the second."""
        at = np.arange(axis_of.size)
        middle = (self.lo[axis_of, at] + self.hi[axis_of, at]) // 2
        lo, hi = (np.tile(ends, 2) for ends in self)
        hi[axis_of, at] = middle
        lo[axis_of, at + axis_of.size] = middle + 1
        return Boxes(lo, hi)

    def inside(self) -> Indices:
        """Every point, box by box, in the order of the axes."""
        sizes = self.hi - self.lo + 1
        counts = np.prod(sizes, axis=0)
        owner = np.repeat(np.arange(counts.size), counts)
        rest = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        places = np.empty((len(sizes), rest.size), dtype=np.int64)
        for axis in reversed(range(len(sizes))):
            rest, step = np.divmod(rest, sizes[axis][owner])
            places[axis] = self.lo[axis][owner] + step
        return places


def thinned(size: int, count: int) -> Indices:
    """So many indices of an axis, or all if there are fewer, from its first to its last."""
    return np.unique(np.linspace(0, size - 1, min(size, count)).astype(np.int64))


def joined(some: Sequence[Boxes]) -> Boxes:
    """All of several boxes."""
    lo, hi = (np.concatenate([boxes[k] for boxes in some], axis=1) for k in (0, 1))
    return Boxes(lo, hi)


def best_axis(boxes: Boxes, score: Callable[[Boxes, Indices, int], NDArray[np.float64]]) -> Indices:
    """The axis along which halving scores most, for each box; of equal ones the first.

    ``score`` is told the first and then the second halves of some boxes, the numbers of these, and
    the axis; what it gives is above -1.
    """
    count = boxes.lo.shape[1]
    best, axis_of = np.full(count, -1.0), np.zeros(count, dtype=np.int64)
    for axis, (low, high) in enumerate(zip(boxes.lo, boxes.hi, strict=True)):
        own = np.flatnonzero(low < high)
        if own.size:
            found = score(boxes.take(own).halves(np.full(own.size, axis)), own, axis)
            better = found > best[own]
            best[own[better]], axis_of[own[better]] = found[better], axis
    return axis_of


# --- An order of rows in which neighbours are alike, so that boxes of neighbours are bounded well


#: Rows up to which halves of halves are ordered, to which size of pieces.
_ORDERED, _PIECE = sizes.ALIKE_ORDERED, sizes.ALIKE_PIECE


def alike(rows: NDArray[np.float64], late: Callable[[], bool] = bool) -> Indices:
    """An order in which each half of each half ... holds rows that are alike.

    Once it is ``late``, the pieces left stay as they are.
    """
    count = rows.shape[1]
    # what is above zero by its share, anything else by its share of the range
    positive = (rows > 0).all(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        scaled = np.where(positive, np.log(rows), rows)
    scaled = np.nan_to_num(scaled, nan=0.0, posinf=1e300, neginf=-1e300)
    reach = np.ptp(scaled, axis=1, keepdims=True)
    scaled = scaled / np.where(positive | (reach == 0), 1.0, reach)
    order = np.lexsort(scaled[::-1])
    if count > _ORDERED:
        return order
    stack = [(0, count)]
    while stack and not late():
        low, high = stack.pop()
        if high - low <= _PIECE:
            continue
        part = order[low:high]
        values = scaled[:, part]
        column = values[int(np.argmax(np.ptp(values, axis=1)))]
        order[low:high] = part[np.argsort(column, kind="stable")]
        mid = (low + high - 1) // 2 + 1
        stack += [(low, mid), (mid, high)]
    return order
