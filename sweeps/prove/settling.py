"""Of configurations equal in every objective the first, for all points of a front together.

One axis of the grid after the other, in their order: the lowest index along it with which a point
is still met, among those that agree along the axes before. All points are sought together, in boxes
that are halved until none of the points can be met earlier.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import sweeps.prove.beating as beating
from sweeps.bounds.boxes import Boxes, Indices, joined
from sweeps.bounds.problem import Space
from sweeps.prove.beating import along_which, bounded, ended
from sweeps.prove.leaves import leaves_in_time
from sweeps.runtime.loop import Tally, explore
from sweeps.runtime.threads import in_threads

__all__ = ["firsts"]

Numbers = NDArray[np.float64]
Truth = NDArray[np.bool_]

#: What a nest may be off from NumPy, as a share.
_OFF = 1e-12


def firsts(
    space: Space,
    axes: Sequence[str],
    targets: Numbers,
    places: Indices,
    tally: Tally,
    most: float,
) -> tuple[Indices, Truth, bool]:
    """The first configuration of each target in the order of some axes; whether all are proven.

    ``targets`` are objectives (rows) that no configuration beats; ``places`` (axes of the problem
    in rows) is where each is met, -1 where that is not known. The configurations are indices along
    the axes (rows); with them, which targets are met. Once ``most`` boxes were bounded it ends.
    """
    settling = _Settling(space, axes, targets, places, tally)
    settling.most = tally.boxes + most + 1
    proven = settling.run()
    return settling.originals(), settling.met, proven


class _Settling:
    def __init__(
        self, space: Space, axes: Sequence[str], targets: Numbers, places: Indices, tally: Tally
    ) -> None:
        self.space, moved = space.in_order(axes)
        self.problem, self.axes, self.tally = self.space.problem, tuple(axes), tally
        self.targets, self.most = targets, math.inf
        large = self.problem.points > beating.COMPILED
        self.leaves = leaves_in_time(self.problem, tally) if large else None
        reach = np.ptp(targets, axis=1, keepdims=True)
        self.reach = np.where(reach > 0, reach, 1.0)
        #: Which targets are met, and where; the first and last row of each axis that are left.
        self.met = np.all(places >= 0, axis=0)
        self.places = np.zeros_like(places)
        for row, at, own in zip(self.places, moved, places, strict=True):
            row[:] = at[own]
        if not self.axes:  # one point alone
            found = self.problem.every(np.zeros((0, 1), dtype=np.int64))
            self.met = np.all(found <= targets, axis=0)
        self.low = np.zeros_like(self.places)
        self.high = np.repeat(self.problem.sizes[:, None] - 1, self.met.size, axis=1)

    def run(self) -> bool:
        """Fix the axes one after the other, while there is time."""
        for axis in self.axes:
            number, along = self.space.along(axis)
            if not self._earlier(number, along, first=axis == self.axes[0]):
                return False
            for k in np.flatnonzero(self.met):  # in order along the axis from low to high
                begin = self.low[number, k]
                part = along[begin : self.high[number, k] + 1]
                index = along[self.places[number, k]]
                self.low[number, k] = begin + np.searchsorted(part, index)
                self.high[number, k] = begin + np.searchsorted(part, index, "right") - 1
        return True

    def originals(self) -> Indices:
        """The places along the axes of the grid."""
        found = np.zeros((len(self.axes), self.met.size), dtype=np.int64)
        for (names, table), rows in zip(self.space.rows, self.places, strict=True):
            for name, column in zip(names, table, strict=True):
                found[self.axes.index(name)] = column[rows]
        return found

    # --- one axis
    def _earlier(self, number: int, along: Indices, first: bool) -> bool:
        """Find for each target the lowest index along an axis of the grid; whether there was time.

        Targets for which the same is left are sought together; those of which it is not known
        whether they are met, along the first axis.
        """
        self.number, self.along = number, along
        self.limit = np.where(self.met, along[self.places[number]], along.max() + 1)
        last = self.high.copy()
        last[number] = [
            low + np.searchsorted(along[low : high + 1], limit) - 1
            for low, high, limit in zip(
                self.low[number], self.high[number], self.limit, strict=True
            )
        ]
        sought = np.flatnonzero(last[number] >= self.low[number])
        sought = sought if first else sought[self.met[sought]]
        if not sought.size:
            return True
        rest = np.delete(np.concatenate([self.low, self.high]), len(self.low) + number, axis=0)
        rest = rest[:, sought]
        groups, owner = np.unique(rest, axis=1, return_inverse=True)
        owner = owner.reshape(-1)
        order = np.argsort(owner, kind="stable")
        self.members = sought[order]
        self.begins = np.searchsorted(owner[order], np.arange(groups.shape[1] + 1))
        one = self.members[self.begins[:-1]]
        lo, hi = self.low[:, one], last[:, one]
        hi[number] = np.maximum.reduceat(last[number, self.members], self.begins[:-1])
        self.boxes, self.owner = Boxes(lo, hi), np.arange(lo.shape[1])
        return explore(self, self.tally, self.most)

    def open(self) -> bool:
        """Whether a box is left."""
        return bool(self.owner.size)

    def step(self) -> None:
        """Scan the small ones of some boxes, and halve the others."""
        count = max(self.owner.size - beating.BATCH, 0)
        some, own = self.boxes.take(slice(count, None)), self.owner[count:]
        self.boxes, self.owner = self.boxes.take(slice(count)), self.owner[:count]
        ideals, up, down = bounded(self.problem, some, self.tally)
        kept = ~self._gone(ideals, own, some)
        some = ended(some.take(kept), up[kept], down[kept], self.number)
        own, ideals = own[kept], ideals[:, kept]
        small = some.points <= beating.LEAF
        self._scan(some.take(small), own[small], ideals[:, small])
        if small.all():
            return
        some, own, ideals = some.take(~small), own[~small], ideals[:, ~small]

        def gone(found: Numbers, at: Indices) -> Truth:
            return self._gone(found, own[at], some.take(at))

        axis_of = along_which(self.problem, some, ideals, self.reach, gone, self.tally)
        parts = some.halves(axis_of)
        order = np.argsort(-self.along[parts.lo[self.number]], kind="stable")
        self.boxes = joined([self.boxes, parts.take(order)])
        self.owner = np.concatenate([self.owner, np.tile(own, 2)[order]])

    def tell(self) -> None:
        """The front is known; who stands for each of its points is not told."""

    def _pairs(self, own: Indices) -> tuple[Indices, Indices, Indices]:
        """Each box with each of its targets: numbers of boxes, targets, where each box begins."""
        counts = np.diff(self.begins)[own]
        begins = np.cumsum(counts) - counts
        box = np.repeat(np.arange(own.size), counts)
        member = np.arange(box.size) - np.repeat(begins - self.begins[own], counts)
        return box, self.members[member], begins

    def _open(
        self, ideals: Numbers, own: Indices, boxes: Boxes
    ) -> tuple[Truth, Indices, Indices, Indices]:
        """Of each box and target whether the box may hold it, earlier than where it is known."""
        box, target, begins = self._pairs(own)
        open_to = self.along[boxes.lo[self.number]][box] < self.limit[target]
        for ideal, values in zip(ideals, self.targets, strict=True):
            open_to &= ideal[box] <= values[target]
        return open_to, box, target, begins

    def _gone(self, ideals: Numbers, own: Indices, boxes: Boxes) -> Truth:
        if not own.size:
            return np.zeros(0, dtype=bool)
        open_to, _, _, begins = self._open(ideals, own, boxes)
        return np.asarray(~np.logical_or.reduceat(open_to, begins))

    # --- points
    def _scan(self, boxes: Boxes, own: Indices, ideals: Numbers) -> None:
        if not own.size:
            return
        points = boxes.points.astype(np.int64)
        self.tally.visited += int(points.sum())
        open_to, _, target, begins = self._open(ideals, own, boxes)
        ends = np.append(begins[1:], open_to.size)
        asked = [target[a:b][open_to[a:b]] for a, b in zip(begins, ends, strict=True)]
        tiny = points * points.size <= beating.TOGETHER
        if tiny.any():
            places = boxes.take(tiny).inside()
            values = self.problem.every(places)
            last = np.cumsum(points[tiny])
            for k, end in zip(np.flatnonzero(tiny), last.tolist(), strict=True):
                part = slice(end - points[k], end)
                self._meet(values[:, part], places[:, part], asked[k])
        large = np.flatnonzero(~tiny)

        def work(number: int) -> Indices:
            k = large[number]
            ranges = [
                np.arange(a, b + 1) for a, b in zip(boxes.lo[:, k], boxes.hi[:, k], strict=True)
            ]
            if self.leaves is None:
                return boxes.take([k]).inside()
            near = self._near(self.leaves.values(ranges), self.targets[:, asked[k]])
            return self.leaves.places(ranges, near)

        if large.size:
            with np.errstate(all="ignore"):
                for k, places in zip(large, in_threads(work, large.size), strict=True):
                    self._meet(self.problem.every(places), places, asked[k])

    def _near(self, values: Numbers, targets: Numbers) -> Indices:
        """Which points may be as low as some target; the first objective tells of most."""
        order = np.sort(targets[0])
        first = values[0]
        below = np.searchsorted(order, first - _OFF * np.abs(first))
        above = np.searchsorted(order, first + _OFF * np.abs(first), "right")
        near = np.flatnonzero(below < above)
        least, most = (f(targets, axis=1, keepdims=True) for f in (np.min, np.max))
        part, off = values[:, near], _OFF * np.abs(values[:, near])
        return near[np.all((part - off <= most) & (part + off >= least), axis=0)]

    def _meet(self, values: Numbers, places: Indices, asked: Indices) -> None:
        """Take over where points meet targets earlier than was known."""
        if not places.shape[1]:
            return
        index = self.along[places[self.number]]
        for k in asked.tolist():
            met = np.flatnonzero(np.all(values <= self.targets[:, k, None], axis=0))
            if met.size:
                first = met[np.argmin(index[met])]
                if index[first] < self.limit[k]:
                    self.limit[k], self.met[k] = index[first], True
                    self.places[:, k] = places[:, first]
