"""Branch and bound for a front: boxes in which every point is beaten go, small ones are scanned.

The corner of a box that is as low in every objective as its bounds allow is held against the points
found so far. Where one of them beats the corner, or equals it, no point of the box adds to the
front. Axes along which every objective goes one way are taken at their better end; what is left is
halved along the axis that lifts the corner most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.boxes import Boxes, Indices, best_axis, joined, thinned
from sweeps.bounds.problem import Problem
from sweeps.grid.flat_index import unravel
from sweeps.nest.compile import compiled
from sweeps.nest.emit import emit
from sweeps.nest.reduce import beaten_by, undominated
from sweeps.runtime.loop import Tally
from sweeps.runtime.memory import in_threads
from sweeps.runtime.progress import going_over, points_so_far, seen
from sweeps.runtime.stopping import halt, in_time
from symbolic.errors import DseError, OutOfTimeError
from symbolic.ops import reference, substitute

# --- Every point of a small part of a problem, by a loop nest written for its objectives


#: Least points of a row, if the whole problem were looked at.
_ROW = sizes.LEAF_ROW


class Leaves:
    """The objectives of a problem at all combinations of some indices along each axis."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        order = np.argsort(problem.sizes, kind="stable").tolist()
        count, length = 0, 1  # boxes are smaller than the whole
        while count < len(order) and length < _ROW:
            count += 1
            length *= int(problem.sizes[order[-count]])
        self.outer, self.row = order[: len(order) - count], order[len(order) - count :]
        names = {name: f"x{k}" for k, name in enumerate(problem.used)}
        place = {axis: f"axis{k}" for k, axis in enumerate(problem.dims)}
        swap = {name: reference(short) for name, short in names.items()}
        self.nest = emit(
            outer=[f"axis{axis}" for axis in self.outer],
            row=[f"axis{axis}" for axis in self.row],
            leaves={
                short: [place[axis] for axis in problem.used[name].axes]
                for name, short in names.items()
            },
            outputs=[(substitute(root, swap), "float") for root in problem.roots],
            names={},
        )
        self.leaf_of = {short: problem.used[name] for name, short in names.items()}
        numbers = [float(self.leaf_of[name].array) for name in self.nest.scalars]
        self.scalars = np.array(numbers, dtype=np.float64)
        compiled(self.nest)

    def values(self, chosen: Sequence[Indices]) -> NDArray[np.float64]:
        """The objectives (rows), the combinations in the order that :meth:`places` tells."""
        outer, row = ([chosen[axis].size for axis in own] for own in (self.outer, self.row))
        sizes = np.array([*outer, math.prod(row)], dtype=np.int64)
        bounds = np.stack([np.zeros_like(sizes), sizes], axis=1).reshape(-1)
        arrays = []
        for name in self.nest.arrays:
            leaf = self.leaf_of[name]
            own = [self.problem.dims.index(axis) for axis in leaf.axes]
            part = np.asarray(leaf.array)[np.ix_(*(chosen[axis] for axis in own))]
            order = [axis for axis in (*self.outer, *self.row) if axis in own]
            part = part.transpose([own.index(axis) for axis in order])
            if any(axis in own for axis in self.row):
                kept = [axis for axis in self.outer if axis in own]
                shape = [chosen[axis].size for axis in (*kept, *self.row)]
                ends = [
                    n if axis in own else 1
                    for n, axis in zip(shape, (*kept, *self.row), strict=True)
                ]
                part = np.broadcast_to(part.reshape(ends), shape)
            arrays.append(np.array(part, dtype=np.float64, order="C").reshape(-1))
        found = np.empty((len(self.problem.roots), int(np.prod(sizes))))
        compiled(self.nest)(bounds, sizes, 0, self.scalars, *arrays, *found)
        return found

    def places(self, chosen: Sequence[Indices], flat: Indices) -> Indices:
        """The index along each axis (rows) of some of the values."""
        order = (*self.outer, *self.row)
        split = unravel(flat, [chosen[axis].size for axis in order])
        places = np.empty((len(chosen), flat.size), dtype=np.int64)
        for axis, index in zip(order, split, strict=True):
            places[axis] = chosen[axis][index]
        return places


def leaves_in_time(problem: Problem, tally: Tally) -> Leaves | None:
    """Those of a problem, unless the time is up before they are compiled."""
    found: list[Leaves] = []

    def load() -> None:
        made = Leaves(problem)
        made.values([np.zeros(1, dtype=np.int64)] * len(problem.dims))  # compiles it
        found.append(made)

    if not tally.late:
        with suppress(OutOfTimeError):
            in_time(load, tally.deadline, "a nest was compiled")
    return found[0] if found and not tally.late else None


# --- Points of which none beats another, the best of all that were looked at


#: Most points of a front that is certified.
MOST_POINTS = sizes.FRONT_MOST

#: Most points that many others are held against first.
_JUDGES = sizes.ARCHIVE_JUDGES
#: Points of which some tell which judges beat most, and how many of them.
_MANY, _SAMPLE = sizes.ARCHIVE_MANY, sizes.ARCHIVE_SAMPLE


class Archive:
    """Objectives (rows) of some points, all finite, and what tells where they are (rows)."""

    def __init__(self, objectives: int, axes: int) -> None:
        self.values = np.empty((objectives, 0))
        self.places = np.empty((axes, 0), dtype=np.int64)

    def open_to(self, values: NDArray[np.float64]) -> Indices:
        """Which points are finite, and neither beaten by one held nor equal to it in all."""
        rest = np.arange(values.shape[1])
        held = self.values[:, :: max(-(-self.values.shape[1] // _JUDGES), 1)]
        if rest.size > _MANY and held.shape[1]:  # those first that beat most of some points
            some = values[:, :: rest.size // _SAMPLE, None]
            beats = np.all(held[:, None] <= some, axis=0).sum(axis=0)
            held = held[:, np.argsort(-beats, kind="stable")]
        for judges in (held, self.values):
            if rest.size:
                part = values if rest.size == values.shape[1] else values[:, rest]
                rest = rest[beaten_by(part, judges, np.full(judges.shape[1], -1))]
        return rest[np.all(values[:, rest] < np.inf, axis=0)]

    def opens(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Of each point, whether it is one of those."""
        found = np.zeros(values.shape[1], dtype=bool)
        found[self.open_to(values)] = True
        return found

    def add(self, values: NDArray[np.float64], places: Indices) -> None:
        """Points that are ``open_to``; those of them, and those held, that another beats go."""
        if not values.shape[1]:
            return
        joined = np.concatenate([self.values, values], axis=1)
        reach = np.ptp(joined, axis=1, keepdims=True)
        rank = (values / np.where(reach > 0, reach, 1.0)).sum(axis=0)
        # those that beat many first; who beats another comes before it, for rounding is monotone
        order = np.lexsort((*values[::-1], rank))
        best = undominated(values[:, order], halt)
        values, places = values[:, order[best]], places[:, order[best]]
        stay = beaten_by(self.values, values, np.full(best.size, self.values.shape[1]))
        self.values = np.concatenate([self.values[:, stay], values], axis=1)
        self.places = np.concatenate([self.places[:, stay], places], axis=1)
        if self.places.shape[1] > MOST_POINTS:
            raise DseError(
                f"the front has more than {MOST_POINTS:,} points, which is the most that are "
                "certified: round objectives by floor, or give coarser axes"
            )


Numbers = NDArray[np.float64]

#: Boxes taken together; points of a box that is scanned, and of boxes looked at together.
BATCH, LEAF, TOGETHER = sizes.BEAT_BATCH, sizes.BEAT_LEAF, sizes.BEAT_TOGETHER
#: Points of a problem from which on a loop nest is compiled for it.
COMPILED = sizes.BEAT_COMPILED
#: Points drawn at first; points of a coarse grid; most points that are improved along each axis,
#: values tried there, and how often.
_DRAWN, _COARSE, _KEPT, _TRIED, _ROUNDS = (
    sizes.BEAT_DRAWN,
    sizes.BEAT_COARSE,
    sizes.BEAT_KEPT,
    sizes.BEAT_TRIED,
    sizes.BEAT_ROUNDS,
)


class Exploration:
    """The boxes of one problem that may hold points of the front."""

    def __init__(self, problem: Problem, number: int, archive: Archive, tally: Tally) -> None:
        self.problem, self.number = problem, number
        self.archive, self.tally = archive, tally
        sizes, points = problem.sizes, problem.points
        self.leaves: Leaves | None = None
        self.boxes = Boxes(np.zeros((sizes.size, 0), np.int64), np.zeros((sizes.size, 0), np.int64))
        self.ideals = np.zeros((len(problem.roots), 0))
        #: Points of open boxes, as the watcher was told.
        self.untold = float(points)
        going_over(int(points))
        if points > LEAF:
            with suppress(OutOfTimeError):  # these points only make the search shorter
                self._begin()
        self._enter(problem.whole)

    def open(self) -> bool:
        """Whether a box is left."""
        return bool(self.ideals.shape[1])

    def step(self) -> None:
        """Scan the small ones of some boxes, and halve the others.

        Raises
        ------
        OutOfTimeError
            The time was up before; the boxes are those of before.
        """
        before = self.boxes, self.ideals
        try:
            self._step()
        except OutOfTimeError:
            self.boxes, self.ideals = before
            raise

    def _step(self) -> None:
        kept = self.archive.open_to(self.ideals)
        self.boxes, self.ideals = self.boxes.take(kept), self.ideals[:, kept]
        count = max(kept.size - BATCH, 0)
        some, ideals = self.boxes.take(slice(count, None)), self.ideals[:, count:]
        self.boxes, self.ideals = self.boxes.take(slice(count)), self.ideals[:, :count]
        small = some.points <= LEAF
        rest = np.flatnonzero(small)[~self._scan(some.take(small))]
        if rest.size:  # the time was up before
            self.boxes = joined([self.boxes, some.take(rest)])
            self.ideals = np.concatenate([self.ideals, ideals[:, rest]], axis=1)
        if not small.all():
            some, ideals = some.take(~small), ideals[:, ~small]
            axis_of = along_which(self.problem, some, ideals, self._reach(), self._gone, self.tally)
            self._enter(some.halves(axis_of))

    def tell(self) -> None:
        """How many points the front has so far, and how much of the space is settled."""
        left = float(self.boxes.points.sum())
        points_so_far(self.archive.values.shape[1])
        seen(int(self.untold - left))
        self.untold = left

    # --- bounds
    def _enter(self, boxes: Boxes) -> None:
        """Keep what may hold points of the front, at the better ends of its axes."""
        ideals, up, down = bounded(self.problem, boxes, self.tally)
        kept = self.archive.open_to(ideals)
        before, ideals = boxes.take(kept), ideals[:, kept]
        boxes = ended(before, up[kept], down[kept])
        changed = (boxes.lo != before.lo) | (boxes.hi != before.hi)
        cut = np.flatnonzero(np.any(changed, axis=0))
        if cut.size:
            ideals[:, cut] = bounded(self.problem, boxes.take(cut), self.tally)[0]
        reach = self._reach()
        order = np.argsort(-(ideals / reach).sum(axis=0), kind="stable")  # the lowest come first
        self.boxes = joined([self.boxes, boxes.take(order)])
        self.ideals = np.concatenate([self.ideals, ideals[:, order]], axis=1)

    def _reach(self) -> Numbers:
        """How far apart the points found so far are in each objective."""
        values = self.archive.values
        reach = (
            np.ptp(values, axis=1, keepdims=True) if values.shape[1] else np.ones((len(values), 1))
        )
        return np.where(reach > 0, reach, 1.0)

    def _gone(self, ideals: Numbers, _: Indices) -> NDArray[np.bool_]:
        return ~self.archive.opens(ideals)

    # --- points
    def offer(self, places: Indices) -> None:
        """Keep those of some points that nothing known beats."""
        values = self.problem.every(places)
        kept = self.archive.open_to(values)
        rows = np.zeros((len(self.archive.places), kept.size), dtype=np.int64)
        rows[0], rows[1 : 1 + len(places)] = self.number, places[:, kept]
        self.archive.add(values[:, kept], rows)

    def _visit(self, places: Indices) -> None:
        self.tally.visited += places.shape[1]
        self.offer(places)

    def _look(self, chosen: Sequence[Indices]) -> Indices:
        """Those of all combinations of some indices that may be on the front."""
        if self.leaves is None:
            mesh = np.meshgrid(*chosen, indexing="ij")
            places = (
                np.stack([part.reshape(-1) for part in mesh]) if mesh else np.zeros((0, 1), int)
            )
            return places[:, self.archive.open_to(self.problem.every(places))]
        values = self.leaves.values(chosen)
        kept = self.archive.open_to(values)
        if kept.size > 2 * TOGETHER // 100:  # most beat each other
            own = Archive(len(values), 1)
            own.add(values[:, kept], kept[None])
            kept = own.places[0]
        return self.leaves.places(chosen, kept)

    def _scan(self, boxes: Boxes) -> NDArray[np.bool_]:
        """Look at every point of some boxes; which of them were looked at in time."""
        points = boxes.points
        tiny = points * points.size <= TOGETHER
        seen = np.ones(points.size, dtype=bool)
        others = np.flatnonzero(~tiny)
        if tiny.any():
            self.offer(boxes.take(tiny).inside())
        ends = list(zip(boxes.lo[:, ~tiny].T, boxes.hi[:, ~tiny].T, strict=True))

        def work(number: int) -> Indices:
            low, high = ends[number]
            if self.tally.late:
                seen[others[number]] = False
                return np.zeros((len(low), 0), dtype=np.int64)
            return self._look([np.arange(a, b + 1) for a, b in zip(low, high, strict=True)])

        if ends:
            with np.errstate(all="ignore"):
                places = np.concatenate(in_threads(work, len(ends)), axis=1)
            self.offer(places)
        self.tally.visited += int(points[seen].sum())
        self.tally.scanned += int(points[seen].sum())
        return seen

    def _begin(self) -> None:
        """Good points before any box: some drawn, a coarse grid, what is better along each axis."""
        sizes = self.problem.sizes
        drawn = np.random.default_rng(0).integers(0, sizes[:, None], (sizes.size, _DRAWN))
        drawn[:, 0], drawn[:, -1] = 0, sizes - 1
        self._visit(drawn)
        if self.problem.points > COMPILED:
            self.leaves = leaves_in_time(self.problem, self.tally)
            if self.leaves is None:
                return
        steps = np.ones(sizes.size, dtype=np.int64)
        while np.prod(np.minimum(2 * steps, sizes).astype(np.float64)) <= _COARSE:
            steps = np.minimum(2 * steps, sizes)
            if np.all(steps == sizes):
                break
        coarse = [thinned(int(n), int(k)) for n, k in zip(sizes, steps, strict=True)]
        places = self._look(coarse)
        self._visit(places)
        for _ in range(_ROUNDS):
            if self.tally.late:
                return
            before = self.archive.values
            mine = self.archive.places[1:, self.archive.places[0] == self.number][: sizes.size]
            mine = mine[:, :: max(mine.shape[1] // _KEPT, 1)]
            for axis, size in enumerate(sizes.tolist()):
                along = thinned(size, _TRIED)
                tried = np.repeat(mine, along.size, axis=1)
                tried[axis] = np.tile(along, mine.shape[1])
                self._visit(tried)
            if self.archive.values is before:
                return


def bounded(
    problem: Problem, boxes: Boxes, tally: Tally
) -> tuple[Numbers, NDArray[np.uint64], NDArray[np.uint64]]:
    """The least of each objective over boxes, and the axes along which all go one way."""
    shape = (boxes.lo.shape[1],)
    tally.boxes += shape[0]
    steps = problem.trends(boxes)
    found = [problem.spread(steps[id(root)], shape) for root in problem.roots]
    up, down = (np.bitwise_and.reduce([b[k] for b in found]) for k in (1, 2))
    return np.stack([bounds.least for bounds in found]), up, down


def ended(
    boxes: Boxes, up: NDArray[np.uint64], down: NDArray[np.uint64], sought: int | None = None
) -> Boxes:
    """Boxes at the better ends of their axes; at the first where the least index is sought."""
    lo, hi = boxes.lo.copy(), boxes.hi.copy()
    for axis in range(len(lo)):
        bit = np.uint64(1) << np.uint64(axis)
        rises = (up & bit) != 0
        hi[axis] = np.where(rises, lo[axis], hi[axis])
        if axis != sought:
            lo[axis] = np.where(~rises & ((down & bit) != 0), hi[axis], lo[axis])
    return Boxes(lo, hi)


def along_which(
    problem: Problem,
    boxes: Boxes,
    ideals: Numbers,
    reach: Numbers,
    gone: Callable[[Numbers, Indices], NDArray[np.bool_]],
    tally: Tally,
) -> Indices:
    """The axis along which halving lifts the corner of each box most.

    ``gone`` tells by the corners of halves, and the numbers of their boxes, which are done with;
    ``reach`` is what counts as far in each objective.
    """

    def score(halves: Boxes, own: Indices, axis: int) -> Numbers:
        found = bounded(problem, halves, tally)[0]
        lifted = np.minimum((found - np.tile(ideals[:, own], 2)) / reach, 1.0)
        lift = np.nan_to_num(lifted, nan=0.0).mean(axis=0)
        both = np.where(gone(found, np.tile(own, 2)), 1.0, lift).reshape(2, -1).sum(axis=0)
        length = (boxes.hi - boxes.lo)[axis, own]
        return np.asarray(both + 1e-9 * length / problem.sizes[axis])

    return best_axis(boxes, score)
