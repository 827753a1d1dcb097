"""The exact front of some objectives: no configuration that is left out adds to it.

The axes are merged for all objectives together, then boxes are explored in which a point might
stand beside those found, or beat them (`beating`); of equal points the first in the order of the
axes stands for all (`settling`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sweeps.prove.beating as beating
from stochastic import sizes
from sweeps.bounds.boxes import Boxes, Indices, joined
from sweeps.bounds.check import check, enclosed
from sweeps.bounds.first import first_place
from sweeps.bounds.merging import reduced
from sweeps.bounds.problem import Space
from sweeps.bounds.search import Least, ready, search
from sweeps.grid.goals import Goal, objective_node
from sweeps.grid.grid import Grid
from sweeps.prove.beating import Archive, Exploration, along_which, bounded, ended, leaves_in_time
from sweeps.prove.parts import Part, parts_of
from sweeps.runtime.loop import Tally, explore
from sweeps.runtime.memory import in_threads
from sweeps.runtime.progress import points_so_far
from symbolic.errors import InfeasibleError, OutOfTimeError
from symbolic.ops import Node, both, constant, where

# --- The gaps between the points of a front of two objectives, each shown to be empty by a search
# What is on the front besides the points found lies, in both objectives, below the corner of a gap
# between neighbours of them. Where boxes tell little of both objectives together, the search for
# the least of the first, where the second is below the corner, may still show that nothing is
# there.


Numbers = NDArray[np.float64]


def close_gaps(explored: Sequence[Exploration], tally: Tally) -> Numbers:
    """Look into every gap, and those that points found there leave; the corners left when late."""
    gaps = _Gaps(explored, tally)
    explore(gaps, tally)
    return gaps.corners


class _Gaps:
    def __init__(self, explored: Sequence[Exploration], tally: Tally) -> None:
        self.explored, self.tally = explored, tally
        self.archive = explored[0].archive
        self.corners = self.closed = np.empty((2, 0))

    def open(self) -> bool:
        """Whether a gap is left between the points known by now."""
        corners = _corners(self.archive.values)
        known = np.all(corners[:, :, None] <= self.closed[:, None], axis=0).any(axis=1)
        self.corners = corners[:, ~known]
        return bool(self.corners.shape[1])

    def step(self) -> None:
        """Look into the first; it is closed where nothing is found."""
        before, corner = self.archive.values, self.corners[:, :1]
        seen = all(_look(one, corner[:, 0], self.tally) for one in self.explored)
        if seen and self.archive.values is before:
            self.closed = np.concatenate([self.closed, corner], axis=1)

    def tell(self) -> None:
        """How many points the front has so far."""
        self.explored[0].tell()


def _corners(values: Numbers) -> Numbers:
    """The corners of the gaps between neighbours, and beyond the first and last."""
    order = np.argsort(values[0])
    first = np.append(values[0, order], math.inf)
    second = np.concatenate([[math.inf], values[1, order]])
    return np.stack([first, second])


def _look(one: Exploration, corner: Numbers, tally: Tally) -> bool:
    """Offer the archive what a part holds below a corner; whether there was time to see it all."""
    problem = one.problem
    first, second = problem.roots
    limit, most = corner.tolist()
    holds = second < most
    if first.op == "where":
        holds, first = both(first.args[0], second.args[1] < most), first.args[1]
    root = constant(where(holds, first, math.inf))
    goal = Least()
    goal.heed(limit)
    late = search(problem.asked(root), goal, tally) < math.inf
    if goal.place is not None:
        one.offer(goal.place[:, None])
    return not late


# --- Of configurations equal in every objective the first, for all points of a front together
# One axis of the grid after the other, in their order: the lowest index along it with which a point
# is still met, among those that agree along the axes before. All points are sought together, in
# boxes that are halved until none of the points can be met earlier.


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


#: Boxes bounded before the gaps of a front of two objectives are closed one by one, or the first of
#: equal points are found one by one; least points of a grid of which that may be asked.
PATIENCE, ONE_BY_ONE, _VAST = sizes.FRONT_PATIENCE, sizes.FRONT_SINGLE, sizes.FRONT_VAST


def certified_front(
    grid: Grid, goals: Sequence[Goal], tally: Tally
) -> tuple[NDArray[np.int64], dict[str, Any], NDArray[np.bool_] | None]:
    """The points that no other beats in every objective, proven: indices (points, axes) in order.

    When the time is up, the best found so far are given: of what is told besides, ``complete`` is 0
    then, ``boxes_left`` how many boxes may hold more; and which points none of these can beat.
    """
    points_so_far(0)
    if len(goals) == 2 and grid.points > _VAST:
        ready(tally.deadline)
    for goal in goals:
        enclosed(grid, {key: objective_node(grid, key, goal) for key in grid.graphs})
    check(grid, counted=False, tally=tally)
    parts = parts_of(grid, goals, ())
    with np.errstate(all="ignore"):
        spaces = []
        for part in parts:
            root, *more = _roots(grid, part, goals)
            given = root, part.leaves, part.sizes
            spaces.append(reduced(*given, {}, more=more, late=lambda: tally.late))
        axes = max(len(space.rows) for space in spaces)
        archive = Archive(len(goals), 1 + axes)
        explored = [
            Exploration(space.problem, number, archive, tally)
            for number, space in enumerate(spaces)
        ]
        patience = tally.boxes + PATIENCE if len(goals) == 2 else math.inf
        with suppress(OutOfTimeError):
            for one in explored:
                explore(one, tally, patience)
        ideals = np.concatenate([one.ideals for one in explored], axis=1)
        ideals = ideals[:, archive.opens(ideals)]
        if ideals.shape[1] and not tally.late:
            corners = close_gaps(explored, tally)
            below = np.all(ideals[:, :, None] < corners[:, None], axis=0).any(axis=1)
            ideals = ideals[:, below & archive.opens(ideals)]
        complete = not ideals.shape[1]
        found, settled = _settled(grid, parts, spaces, archive, tally)
    if not found and not complete:
        raise OutOfTimeError("no point of the front was found in time: give more time")
    if not found:
        raise InfeasibleError("no feasible point has finite objectives: relax the constraints")
    order = sorted(range(len(found)), key=found.__getitem__)
    index = np.array([found[k] for k in order], dtype=np.int64).reshape(len(order), len(grid.axes))
    told: dict[str, Any] = {
        "method": "certified",
        "complete": int(complete),
        "settled": int(settled),
        "boxes": tally.boxes,
        "points_visited": tally.visited,
    }
    proven = None
    if not complete:
        proven = _proven(archive.values, ideals)[order]
        told |= {"boxes_left": ideals.shape[1], "points_proven": int(proven.sum())}
    return index, told, proven


def _roots(grid: Grid, part: Part, goals: Sequence[Goal]) -> list[Node]:
    """The objectives where all are finite, else infinite."""
    alone = [objective_node(grid, part.key, goal) for goal in goals]
    holds = both(*(node.args[0] for node in alone), *(node.args[1] < math.inf for node in alone))
    return [constant(where(holds, node.args[1], math.inf)) for node in alone]


def _proven(values: NDArray[np.float64], ideals: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which points the corner of no box beats."""
    found = np.ones(values.shape[1], dtype=bool)
    for ideal in ideals.T[:, :, None]:
        found &= ~(np.all(ideal <= values, axis=0) & np.any(ideal < values, axis=0))
    return found


def _settled(
    grid: Grid, parts: Sequence[Part], spaces: Sequence[Space], archive: Archive, tally: Tally
) -> tuple[list[tuple[int, ...]], bool]:
    """The first configuration of each point, an index along each axis; whether that is proven."""
    found: list[tuple[int, ...]] = [()] * archive.values.shape[1]
    proven = True
    if not found:
        return [], True
    for number, (part, space) in enumerate(zip(parts, spaces, strict=True)):
        rows = archive.places[1 : 1 + len(space.rows)]
        known = np.where(archive.places[0] == number, rows, -1)
        if tally.late:
            met, sure = known[0] >= 0 if len(known) else archive.places[0] == number, False
            own = [space.original(place) for place in np.maximum(known, 0).T]
            places = np.array([[place[axis] for place in own] for axis in part.sizes])
            places = places.reshape(len(part.sizes), len(found))
        else:
            places, met, sure = firsts(
                space, tuple(part.sizes), archive.values, known, tally, ONE_BY_ONE
            )
        for k in range(len(found)):
            place = dict(zip(part.sizes, places[:, k].tolist(), strict=True)) if met[k] else None
            if not sure:
                place, one_sure = _first(part, space, archive.values[:, k], place, tally)
                proven &= one_sure
            if place is not None:
                index = {**place, **part.labels}
                whole = tuple(int(index.get(axis, 0)) for axis in grid.axes)
                found[k] = min(found[k] or whole, whole)
    return found, proven


def _first(
    part: Part,
    space: Space,
    target: NDArray[np.float64],
    place: dict[str, int] | None,
    tally: Tally,
) -> tuple[dict[str, int] | None, bool]:
    """The first configuration that meets one target, by searches for each axis."""
    if tally.late:
        return place, False
    problem = space.problem
    tests = []
    for root, value in zip(problem.roots, target.tolist(), strict=True):
        holds, root = root.args[:2] if root.op == "where" else (True, root)
        tests += [holds, root <= value]
    root = constant(where(both(*tests), 0.0, math.inf))
    alone = replace(space, problem=problem.asked(root))
    return first_place(root, part.leaves, part.sizes, place, 0.0, tally, {}, alone)
