"""Find the exact Pareto front of a grid, with a proof that the front is complete.

The search merges the axes for all objectives together. The *corner* of a box is the vector of the
lower bounds of the objectives in it. If a point of the archive dominates or equals this corner, the
box adds nothing to the front and is dropped. In other boxes, axes along which every objective is
monotone are fixed at their better end. Then the box is halved along the axis that raises the corner
most. Of points with equal objectives, the first in axis order is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.checks import check_enclosable, check_grid, first_configuration
from sweeps.bounds.merge_axes import merge_axes
from sweeps.bounds.problem import (
    Boxes,
    BoxProblem,
    Floats,
    Indices,
    Mask,
    MergedProblem,
    best_axis,
    concatenate_boxes,
    evenly_spaced,
)
from sweeps.certify.optimum import SwitchCase, switch_cases
from sweeps.grid.goals import Goal, objective_node
from sweeps.grid.grid import Grid, unravel
from sweeps.nest.emit import compile_nest, emit
from sweeps.nest.reduce import (
    RELATIVE_ERROR,
    covering_indices,
    lower_by_share,
    non_dominated_by,
    non_dominated_in_order,
)
from sweeps.nest.run import flatten_leaf
from sweeps.runtime.interrupts import raise_if_interrupted, run_with_deadline
from sweeps.runtime.progress import add_done, add_total, report_front_size
from sweeps.runtime.resources import run_in_threads
from sweeps.runtime.search_loop import SearchStats, run_search
from symbolic.errors import DseError, InfeasibleError, OutOfTimeError
from symbolic.ops import both, constant, reference, substitute, where


class CompiledObjectives:
    """A compiled loop nest that evaluates the objectives of a problem at all points of a box."""

    def __init__(self, problem: BoxProblem) -> None:
        self.problem = problem
        order = np.argsort(problem.sizes, kind="stable").tolist()
        count, length = 0, 1  # number of axes in the row, and of points in a full row
        while count < len(order) and length < sizes.LEAF_ROW:
            count += 1
            length *= int(problem.sizes[order[-count]])
        self.outer, self.row = order[: len(order) - count], order[len(order) - count :]
        names = {name: f"x{k}" for k, name in enumerate(problem.used_leaves)}
        place = {axis: f"axis{k}" for k, axis in enumerate(problem.dims)}
        swap = {name: reference(short) for name, short in names.items()}
        self.nest = emit(
            outer=[f"axis{axis}" for axis in self.outer],
            row=[f"axis{axis}" for axis in self.row],
            leaves={
                short: [place[axis] for axis in problem.used_leaves[name].axes]
                for name, short in names.items()
            },
            outputs=[(substitute(root, swap), "float") for root in problem.roots],
            names={},
        )
        self.leaf_of = {short: problem.used_leaves[name] for name, short in names.items()}
        numbers = [float(self.leaf_of[name].array) for name in self.nest.scalars]
        self.scalars = np.array(numbers, dtype=np.float64)
        compile_nest(self.nest)

    def values(self, indices: Sequence[Indices]) -> Floats:
        """Return the objectives (rows) at all combinations of ``indices``, an array per axis."""
        dims = self.problem.dims
        at = dict(zip(dims, indices, strict=True))
        length = {axis: index.size for axis, index in at.items()}
        outer, row = ([dims[axis] for axis in axes] for axes in (self.outer, self.row))
        sizes = np.array([*(length[a] for a in outer), math.prod(length[a] for a in row)])
        bounds = np.stack([np.zeros_like(sizes), sizes], axis=1).reshape(-1)
        arrays = [
            flatten_leaf(self.leaf_of[name].take(at).transpose(outer + row), outer, row, length)
            for name in self.nest.arrays
        ]
        result = np.empty((len(self.problem.roots), int(np.prod(sizes))))
        compile_nest(self.nest)(bounds, sizes, 0, self.scalars, *arrays, *result)
        return result

    def places(self, indices: Sequence[Indices], flat: Indices) -> Indices:
        """Return the combinations at the flat indices ``flat``: one row of indices per axis."""
        order = (*self.outer, *self.row)
        split = unravel(flat, [indices[axis].size for axis in order])
        places = np.empty((len(indices), flat.size), dtype=np.int64)
        for axis, index in zip(order, split, strict=True):
            places[axis] = indices[axis][index]
        return places


def compile_objectives_in_time(
    problem: BoxProblem, stats: SearchStats
) -> CompiledObjectives | None:
    """Compile the objectives of a problem; return None if the deadline passes first."""
    result: list[CompiledObjectives] = []

    def load() -> None:
        made = CompiledObjectives(problem)
        made.values([np.zeros(1, dtype=np.int64)] * len(problem.dims))
        result.append(made)

    if not stats.is_late:
        with suppress(OutOfTimeError):
            run_with_deadline(load, stats.deadline, "a nest was compiled")
    return result[0] if result and not stats.is_late else None


MAX_FRONT_POINTS = sizes.FRONT_MOST


class Archive:
    """A set of points, none of which dominates another.

    The arrays have one column per point. ``values`` has one row per objective (all finite), and
    ``places`` one row per axis. ``judges`` are the values lowered by the share ``epsilon``. A box
    is covered if a judge dominates or equals it. A point is covered by ``point_judges``, which are
    lowered by half of this share: if another new point covers it, and the archive covers that new
    point, the point is covered within ``epsilon``. So are small boxes near the front.
    """

    def __init__(self, objectives: int, axes: int, epsilon: float = 0.0) -> None:
        self.epsilon, self.half_epsilon = epsilon, math.sqrt(1.0 + epsilon) - 1.0
        self.values = self.judges = self.point_judges = np.empty((objectives, 0))
        self.places = np.empty((axes, 0), dtype=np.int64)

    def non_dominated_indices(self, values: Floats, judges: Floats | None = None) -> Indices:
        """Return the indices of finite points that no judge dominates or equals."""
        rest = np.arange(values.shape[1])
        judges = self.judges if judges is None else judges
        most = values.max(axis=1, initial=-math.inf, keepdims=True)
        able = judges[:, np.all(judges <= most, axis=0)]
        first = able[:, :: max(-(-able.shape[1] // sizes.ARCHIVE_JUDGES), 1)]
        if rest.size > sizes.ARCHIVE_MANY and first.shape[1]:
            some = values[:, :: rest.size // sizes.ARCHIVE_SAMPLE, None]
            beats = np.all(first[:, None] <= some, axis=0).sum(axis=0)
            first = first[:, np.argsort(-beats, kind="stable")]
        for judges in (first, able):
            if rest.size:
                part = values if rest.size == values.shape[1] else values[:, rest]
                rest = rest[non_dominated_by(part, judges, np.full(judges.shape[1], -1))]
        return rest[np.all(values[:, rest] < np.inf, axis=0)]

    def uncovered_points(self, values: Floats) -> Indices:
        """Return the indices of finite points that no point of the archive covers."""
        return self.non_dominated_indices(values, self.point_judges)

    def add(self, values: Floats, places: Indices) -> None:
        """Add points that no judge covers, then drop all points that another point dominates."""
        if not values.shape[1]:
            return
        joined = np.concatenate([self.values, values], axis=1)
        reach = np.ptp(joined, axis=1, keepdims=True)
        rank = (values / np.where(reach > 0, reach, 1.0)).sum(axis=0)
        # a point is sorted before all points that it dominates; rounding keeps this order
        order = np.lexsort((*values[::-1], rank))
        if self.epsilon:
            best = covering_indices(values[:, order], self.half_epsilon)
        else:
            best = non_dominated_in_order(values[:, order], raise_if_interrupted)
        values, places = values[:, order[best]], places[:, order[best]]
        stay = non_dominated_by(self.values, values, np.full(best.size, self.values.shape[1]))
        self.values = np.concatenate([self.values[:, stay], values], axis=1)
        self.places = np.concatenate([self.places[:, stay], places], axis=1)
        self.judges = lower_by_share(self.values, self.epsilon)
        self.point_judges = lower_by_share(self.values, self.half_epsilon)
        if self.places.shape[1] > MAX_FRONT_POINTS:
            raise DseError(
                f"the front has more than {MAX_FRONT_POINTS:,} points, the most that can be "
                "certified: give a larger epsilon (--epsilon 1%), or coarser axes"
            )


BATCH = sizes.BEAT_BATCH
MAX_SCAN_POINTS = sizes.BEAT_LEAF
_COVER_BATCH, _COVER_SCAN_POINTS = sizes.COVER_BATCH, sizes.COVER_LEAF
JOINT_SCAN_POINTS = sizes.BEAT_TOGETHER
COMPILE_MIN_POINTS = sizes.BEAT_COMPILED
_SAMPLED_STARTS, _IMPROVED_POINTS = sizes.BEAT_DRAWN, sizes.BEAT_IMPROVED
_AXIS_VALUES, _ROUNDS = sizes.BEAT_TRIED, sizes.BEAT_ROUNDS


class FrontSearch:
    """The search of one problem: its open boxes, which may contain points of the front."""

    def __init__(self, problem: BoxProblem, number: int, archive: Archive, stats: SearchStats):
        self.problem, self.number = problem, number
        self.archive, self.stats = archive, stats
        sizes, points = problem.sizes, problem.points
        #: With a tolerance, one point often covers a small box, so bounding is faster than a scan.
        self.scan_points = _COVER_SCAN_POINTS if archive.epsilon else MAX_SCAN_POINTS
        self.batch = _COVER_BATCH if archive.epsilon else BATCH
        self.compiled_objectives: CompiledObjectives | None = None
        self.boxes = Boxes(np.zeros((sizes.size, 0), np.int64), np.zeros((sizes.size, 0), np.int64))
        self.ideals = np.zeros((len(problem.roots), 0))
        self.unreported_points = float(points)
        add_total(int(points))
        if points > self.scan_points:
            with suppress(OutOfTimeError):  # without start points the search is only slower
                self._add_start_points()
        self._add_boxes(problem.whole_box)

    def has_open_pieces(self) -> bool:
        """True if an open box is left."""
        return bool(self.ideals.shape[1])

    def step(self) -> None:
        """Scan small boxes and halve the others; an OutOfTimeError leaves all boxes unchanged."""
        before = self.boxes, self.ideals
        try:
            self._step()
        except OutOfTimeError:
            self.boxes, self.ideals = before
            raise

    def _step(self) -> None:
        alive = self.archive.non_dominated_indices(self.ideals)
        self.boxes, self.ideals = self.boxes.take(alive), self.ideals[:, alive]
        count = max(alive.size - self.batch, 0)
        some, ideals = self.boxes.take(slice(count, None)), self.ideals[:, count:]
        self.boxes, self.ideals = self.boxes.take(slice(count)), self.ideals[:, :count]
        small = some.points <= self.scan_points
        rest = np.flatnonzero(small)[~self._scan_boxes(some.take(small))]
        if rest.size:  # the time was up before these boxes were scanned
            self.boxes = concatenate_boxes([self.boxes, some.take(rest)])
            self.ideals = np.concatenate([self.ideals, ideals[:, rest]], axis=1)
        if not small.all():
            some, ideals = some.take(~small), ideals[:, ~small]
            axis_of = best_split_axis(
                self.problem, some, ideals, self._objective_ranges(), self._is_excluded, self.stats
            )
            self._add_boxes(some.halves(axis_of))

    def report(self) -> None:
        """Report the size of the front, and the number of points decided since the last report."""
        left = float(self.boxes.points.sum())
        report_front_size(self.archive.values.shape[1])
        add_done(int(self.unreported_points - left))
        self.unreported_points = left

    def _add_boxes(self, boxes: Boxes) -> None:
        """Fix the monotone axes of boxes; store the boxes that may contain points of the front."""
        ideals, up, down = self.problem.bound_boxes(boxes, self.stats)
        alive = self.archive.non_dominated_indices(ideals)
        before, ideals = boxes.take(alive), ideals[:, alive]
        boxes = clip_monotone_axes(before, up[alive], down[alive])
        cut = np.flatnonzero(np.any((boxes.lo != before.lo) | (boxes.hi != before.hi), axis=0))
        if cut.size:
            ideals[:, cut] = self.problem.bound_boxes(boxes.take(cut), self.stats)[0]
        # steps take boxes from the end of the list, so the lowest corners come last
        order = np.argsort(-(ideals / self._objective_ranges()).sum(axis=0), kind="stable")
        self.boxes = concatenate_boxes([self.boxes, boxes.take(order)])
        self.ideals = np.concatenate([self.ideals, ideals[:, order]], axis=1)

    def _objective_ranges(self) -> Floats:
        values = self.archive.values
        if not values.shape[1]:
            return np.ones((len(values), 1))
        reach = np.ptp(values, axis=1, keepdims=True)
        return np.where(reach > 0, reach, 1.0)

    def _is_excluded(self, ideals: Floats, _: Indices) -> Mask:
        return ~np.isin(np.arange(ideals.shape[1]), self.archive.non_dominated_indices(ideals))

    def offer(self, places: Indices) -> None:
        """Evaluate points (a row of indices per axis); archive the non-dominated points."""
        values = self.problem.all_values(places)
        best = self.archive.uncovered_points(values)
        rows = np.zeros((len(self.archive.places), best.size), dtype=np.int64)
        rows[0], rows[1 : 1 + len(places)] = self.number, places[:, best]
        self.archive.add(values[:, best], rows)

    def _visit(self, places: Indices) -> None:
        self.stats.visited_points += places.shape[1]
        self.offer(places)

    def _scan_combinations(self, indices: Sequence[Indices]) -> Indices:
        """Return, in columns, those combinations of the indices that may be on the front."""
        if self.compiled_objectives is None:
            mesh = [part.reshape(-1) for part in np.meshgrid(*indices, indexing="ij")]
            places = np.stack(mesh) if mesh else np.zeros((0, 1), int)
            return places[:, self.archive.uncovered_points(self.problem.all_values(places))]
        values = self.compiled_objectives.values(indices)
        best = self.archive.uncovered_points(values)
        # many points are left, and most of them are probably dominated by another of them
        if best.size > 2 * JOINT_SCAN_POINTS // 100:
            local = Archive(len(values), 1, self.archive.epsilon)
            local.add(values[:, best], best[None])
            best = local.places[0]
        return self.compiled_objectives.places(indices, best)

    def _scan_boxes(self, boxes: Boxes) -> Mask:
        points = boxes.points
        tiny = points * points.size <= JOINT_SCAN_POINTS
        seen = np.ones(points.size, dtype=bool)
        others = np.flatnonzero(~tiny)
        if tiny.any():
            self.offer(boxes.take(tiny).all_points())
        ends = list(zip(boxes.lo[:, ~tiny].T, boxes.hi[:, ~tiny].T, strict=True))

        def work(number: int) -> Indices:
            low, high = ends[number]
            if self.stats.is_late:
                seen[others[number]] = False
                return np.zeros((len(low), 0), dtype=np.int64)
            indices = [np.arange(a, b + 1) for a, b in zip(low, high, strict=True)]
            return self._scan_combinations(indices)

        if ends:
            with np.errstate(all="ignore"):
                places = np.concatenate(run_in_threads(work, len(ends)), axis=1)
            self.offer(places)
        self.stats.visited_points += int(points[seen].sum())
        self.stats.scanned_points += int(points[seen].sum())
        return seen

    def _add_start_points(self) -> None:
        sizes = self.problem.sizes
        drawn = np.random.default_rng(0).integers(0, sizes[:, None], (sizes.size, _SAMPLED_STARTS))
        drawn[:, 0], drawn[:, -1] = 0, sizes - 1
        self._visit(drawn)
        if self.problem.points > COMPILE_MIN_POINTS:
            self.compiled_objectives = compile_objectives_in_time(self.problem, self.stats)
        for _ in range(_ROUNDS):
            if self.stats.is_late:
                return
            before = self.archive.values
            mine = self.archive.places[1:, self.archive.places[0] == self.number][: sizes.size]
            mine = mine[:, :: max(mine.shape[1] // _IMPROVED_POINTS, 1)]
            for axis, size in enumerate(sizes.tolist()):
                along = evenly_spaced(size, _AXIS_VALUES)
                tried = np.repeat(mine, along.size, axis=1)
                tried[axis] = np.tile(along, mine.shape[1])
                self._visit(tried)
            if self.archive.values is before:
                return


def clip_monotone_axes(
    boxes: Boxes, up: NDArray[np.uint64], down: NDArray[np.uint64], sought_axis: int | None = None
) -> Boxes:
    """Fix the monotone axes of each box at their better end.

    Each box has two bit masks. No objective falls along the axes in ``up``; no objective rises
    along the axes in ``down``. ``sought_axis`` is fixed at its first index or not at all.
    """
    lo, hi = boxes.lo.copy(), boxes.hi.copy()
    for axis in range(len(lo)):
        bit = np.uint64(1) << np.uint64(axis)
        rises = (up & bit) != 0
        hi[axis] = np.where(rises, lo[axis], hi[axis])
        if axis != sought_axis:
            lo[axis] = np.where(~rises & ((down & bit) != 0), hi[axis], lo[axis])
    return Boxes(lo, hi)


def best_split_axis(
    problem: BoxProblem,
    boxes: Boxes,
    ideals: Floats,
    ranges: Floats,
    is_excluded: Callable[[Floats, Indices], Mask],
    stats: SearchStats,
) -> Indices:
    """Return, for each box, the axis along which halving raises its corner of lower bounds most.

    ``ideals`` are the corners (columns), and ``ranges`` are the units of the objectives.
    ``is_excluded(corners, box_indices)`` returns the mask of halves that need no search.
    """

    def score(halves: Boxes, numbers: Indices, axis: int) -> Floats:
        result = problem.bound_boxes(halves, stats)[0]
        lifted = np.minimum((result - np.tile(ideals[:, numbers], 2)) / ranges, 1.0)
        lift = np.nan_to_num(lifted, nan=0.0).mean(axis=0)
        lift = np.where(is_excluded(result, np.tile(numbers, 2)), 1.0, lift)
        both = lift.reshape(2, -1).sum(axis=0)
        length = (boxes.hi - boxes.lo)[axis, numbers]
        return np.asarray(both + 1e-9 * length / problem.sizes[axis])

    return best_axis(boxes, score)


# --- Breaking ties: the first of equal configurations, for all points of a front together
# A target is the vector of objectives of a point of the front. A configuration *meets* it if none
# of its objectives is higher. The axes are fixed one after the other, each at the lowest index with
# which a configuration can still meet the target, given the indices of the axes fixed before. All
# targets are sought together, in boxes that are halved until no lower index is possible.


class _TieBreakSearch:
    """The search for the first configuration, in the order of ``axes``, that meets each target.

    ``targets`` are vectors of objectives (columns) that no configuration dominates. ``places`` has
    one column per target: the indices of a known configuration that meets it, or -1. The search
    ends after ``MAX_JOINT_TIE_BOXES`` boxes.
    """

    def __init__(
        self,
        space: MergedProblem,
        axes: Sequence[str],
        targets: Floats,
        places: Indices,
        stats: SearchStats,
    ) -> None:
        self.space, moved = space.sort_rows(axes)
        self.problem, self.axes, self.stats = self.space.problem, tuple(axes), stats
        self.targets, self.max_boxes = targets, stats.boxes + MAX_JOINT_TIE_BOXES + 1
        self.compiled_objectives: CompiledObjectives | None = None
        if self.problem.points > COMPILE_MIN_POINTS:
            self.compiled_objectives = compile_objectives_in_time(self.problem, stats)
        reach = np.ptp(targets, axis=1, keepdims=True)
        self.objective_ranges = np.where(reach > 0, reach, 1.0)
        #: ``is_met`` marks targets with a known configuration, whose indices are in ``places``.
        #: ``low`` and ``high`` are the first and last row of each axis that are still possible.
        self.is_met = np.all(places >= 0, axis=0)
        self.places = np.zeros_like(places)
        for row, at, before in zip(self.places, moved, places, strict=True):
            row[:] = at[before]
        if not self.axes:  # the problem is a single point
            result = self.problem.all_values(np.zeros((0, 1), dtype=np.int64))
            self.is_met = np.all(result <= targets, axis=0)
        self.low = np.zeros_like(self.places)
        self.high = np.repeat(self.problem.sizes[:, None] - 1, self.is_met.size, axis=1)

    def run(self) -> bool:
        for axis in self.axes:
            number, along = self.space.rows_of_axis(axis)
            if not self._find_lowest_indices(number, along, first=axis == self.axes[0]):
                return False
            for k in np.flatnonzero(self.is_met):  # rows are in order along the axis
                begin = self.low[number, k]
                part = along[begin : self.high[number, k] + 1]
                index = along[self.places[number, k]]
                self.low[number, k] = begin + np.searchsorted(part, index)
                self.high[number, k] = begin + np.searchsorted(part, index, "right") - 1
        return True

    def grid_places(self) -> Indices:
        result = np.zeros((len(self.axes), self.is_met.size), dtype=np.int64)
        for (names, table), rows in zip(self.space.rows, self.places, strict=True):
            for name, column in zip(names, table, strict=True):
                result[self.axes.index(name)] = column[rows]
        return result

    def _find_lowest_indices(self, number: int, along: Indices, first: bool) -> bool:
        """Find each target's lowest index along an axis of the grid; return False if out of time.

        Targets with the same possible ranges of rows are sought together. A target without a known
        configuration is sought along the first axis only.
        """
        self.number, self.along = number, along
        self.limit = np.where(self.is_met, along[self.places[number]], along.max() + 1)
        last = self.high.copy()
        last[number] = [
            low + np.searchsorted(along[low : high + 1], limit) - 1
            for low, high, limit in zip(
                self.low[number], self.high[number], self.limit, strict=True
            )
        ]
        sought = np.flatnonzero(last[number] >= self.low[number])
        sought = sought if first else sought[self.is_met[sought]]
        if not sought.size:
            return True
        rest = np.delete(np.concatenate([self.low, self.high]), len(self.low) + number, axis=0)
        groups, owner = np.unique(rest[:, sought], axis=1, return_inverse=True)
        owner = owner.reshape(-1)
        order = np.argsort(owner, kind="stable")
        self.members = sought[order]
        self.begins = np.searchsorted(owner[order], np.arange(groups.shape[1] + 1))
        leaders = self.members[self.begins[:-1]]
        lo, hi = self.low[:, leaders], last[:, leaders]
        hi[number] = np.maximum.reduceat(last[number, self.members], self.begins[:-1])
        self.boxes, self.owner = Boxes(lo, hi), np.arange(lo.shape[1])
        return run_search(self, self.stats, self.max_boxes)

    def has_open_pieces(self) -> bool:
        return bool(self.owner.size)

    def step(self) -> None:
        count = max(self.owner.size - BATCH, 0)
        some, owner = self.boxes.take(slice(count, None)), self.owner[count:]
        self.boxes, self.owner = self.boxes.take(slice(count)), self.owner[:count]
        ideals, up, down = self.problem.bound_boxes(some, self.stats)
        alive = ~self._is_excluded(ideals, owner, some)
        some = clip_monotone_axes(some.take(alive), up[alive], down[alive], self.number)
        owner, ideals = owner[alive], ideals[:, alive]
        small = some.points <= MAX_SCAN_POINTS
        self._scan_boxes(some.take(small), owner[small], ideals[:, small])
        if small.all():
            return
        some, owner, ideals = some.take(~small), owner[~small], ideals[:, ~small]

        def is_excluded(half_ideals: Floats, box_numbers: Indices) -> Mask:
            return self._is_excluded(half_ideals, owner[box_numbers], some.take(box_numbers))

        axis_of = best_split_axis(
            self.problem, some, ideals, self.objective_ranges, is_excluded, self.stats
        )
        parts = some.halves(axis_of)
        order = np.argsort(-self.along[parts.lo[self.number]], kind="stable")
        self.boxes = concatenate_boxes([self.boxes, parts.take(order)])
        self.owner = np.concatenate([self.owner, np.tile(owner, 2)[order]])

    def report(self) -> None:
        """Do nothing, because the front is known already."""

    def _box_target_pairs(self, owners: Indices) -> tuple[Indices, Indices, Indices]:
        counts = np.diff(self.begins)[owners]
        begins = np.cumsum(counts) - counts
        box = np.repeat(np.arange(owners.size), counts)
        member = np.arange(box.size) - np.repeat(begins - self.begins[owners], counts)
        return box, self.members[member], begins

    def _open_pairs(
        self, ideals: Floats, owners: Indices, boxes: Boxes
    ) -> tuple[Mask, Indices, Indices, Indices]:
        box, target, begins = self._box_target_pairs(owners)
        open_to = self.along[boxes.lo[self.number]][box] < self.limit[target]
        for ideal, values in zip(ideals, self.targets, strict=True):
            open_to &= ideal[box] <= values[target]
        return open_to, box, target, begins

    def _is_excluded(self, ideals: Floats, owners: Indices, boxes: Boxes) -> Mask:
        if not owners.size:
            return np.zeros(0, dtype=bool)
        open_to, _, _, begins = self._open_pairs(ideals, owners, boxes)
        return np.asarray(~np.logical_or.reduceat(open_to, begins))

    def _scan_boxes(self, boxes: Boxes, owners: Indices, ideals: Floats) -> None:
        if not owners.size:
            return
        points = boxes.points.astype(np.int64)
        self.stats.visited_points += int(points.sum())
        open_to, _, target, begins = self._open_pairs(ideals, owners, boxes)
        ends = np.append(begins[1:], open_to.size)
        sought = [target[a:b][open_to[a:b]] for a, b in zip(begins, ends, strict=True)]
        tiny = points * points.size <= JOINT_SCAN_POINTS
        if tiny.any():
            places = boxes.take(tiny).all_points()
            values = self.problem.all_values(places)
            last = np.cumsum(points[tiny])
            for k, end in zip(np.flatnonzero(tiny), last.tolist(), strict=True):
                part = slice(end - points[k], end)
                self._record_met(values[:, part], places[:, part], sought[k])
        large = np.flatnonzero(~tiny)

        def work(number: int) -> Indices:
            k = large[number]
            ends = zip(boxes.lo[:, k], boxes.hi[:, k], strict=True)
            ranges = [np.arange(first, last + 1) for first, last in ends]
            if self.compiled_objectives is None:
                return boxes.take([k]).all_points()
            values = self.compiled_objectives.values(ranges)
            near = self._near_target_points(values, self.targets[:, sought[k]])
            return self.compiled_objectives.places(ranges, near)

        if large.size:
            with np.errstate(all="ignore"):
                for k, places in zip(large, run_in_threads(work, large.size), strict=True):
                    self._record_met(self.problem.all_values(places), places, sought[k])

    def _near_target_points(self, values: Floats, targets: Floats) -> Indices:
        order = np.sort(targets[0])
        first = values[0]
        below = np.searchsorted(order, first - RELATIVE_ERROR * np.abs(first))
        above = np.searchsorted(order, first + RELATIVE_ERROR * np.abs(first), "right")
        near = np.flatnonzero(below < above)
        least, most = (f(targets, axis=1, keepdims=True) for f in (np.min, np.max))
        part, off = values[:, near], RELATIVE_ERROR * np.abs(values[:, near])
        return near[np.all((part - off <= most) & (part + off >= least), axis=0)]

    def _record_met(self, values: Floats, places: Indices, target_numbers: Indices) -> None:
        if not places.shape[1]:
            return
        index = self.along[places[self.number]]
        for k in target_numbers.tolist():
            met = np.flatnonzero(np.all(values <= self.targets[:, k, None], axis=0))
            if met.size:
                first = met[np.argmin(index[met])]
                if index[first] < self.limit[k]:
                    self.limit[k], self.is_met[k] = index[first], True
                    self.places[:, k] = places[:, first]


MAX_JOINT_TIE_BOXES = sizes.FRONT_SINGLE


def certified_front(
    grid: Grid, goals: Sequence[Goal], stats: SearchStats, epsilon: float = 0.0
) -> tuple[Indices, dict[str, Any], Mask | None]:
    """Return the certified front: indices (points, axes), attributes, and mask of proven points.

    With ``epsilon``, the points cover the front: each point of the front is better than a returned
    point by at most this share in each objective. Ties are then not broken, and the mask is None.

    The points are in axis order. If the front is complete, the mask is None. If the time was up,
    the attribute ``complete`` is 0, and ``boxes_left`` is the number of boxes that may contain
    further points. The mask then marks the points that no point in these boxes can dominate.
    """
    report_front_size(0)
    for goal in goals:
        check_enclosable(grid, {key: objective_node(grid, key, goal) for key in grid.graphs})
    check_grid(grid, count_points=False, stats=stats)
    parts = switch_cases(grid, goals, ())
    with np.errstate(all="ignore"):
        spaces = []
        for part in parts:
            alone = [objective_node(grid, part.key, goal).args[:2] for goal in goals]
            holds = both(*(rule for rule, _ in alone), *(value < math.inf for _, value in alone))
            root, *more = (constant(where(holds, value, math.inf)) for _, value in alone)
            spaces.append(merge_axes(root, part.leaves, part.sizes, {}, stats, more=more))
        archive = Archive(len(goals), 1 + max(len(space.rows) for space in spaces), epsilon)
        searches = [FrontSearch(s.problem, k, archive, stats) for k, s in enumerate(spaces)]
        with suppress(OutOfTimeError):
            for part_search in searches:
                run_search(part_search, stats)
        ideals = np.concatenate([each.ideals for each in searches], axis=1)
        ideals = ideals[:, archive.non_dominated_indices(ideals)]
        complete = not ideals.shape[1]
        tie_stats = SearchStats(deadline=-math.inf) if epsilon else stats
        result, settled = _break_ties(grid, parts, spaces, archive, tie_stats)
    if not result and not complete:
        raise OutOfTimeError("no point of the front was found in time: give more time")
    if not result:
        raise InfeasibleError("no feasible point has finite objectives: relax the constraints")
    order = sorted(range(len(result)), key=result.__getitem__)
    index = np.array([result[k] for k in order], dtype=np.int64).reshape(len(order), len(grid.axes))
    attributes: dict[str, Any] = {
        "method": "certified",
        "complete": int(complete),
        "boxes": stats.boxes,
        "points_visited": stats.visited_points,
    } | ({} if epsilon else {"settled": int(settled)})
    proven = None
    if not complete and epsilon:
        attributes["boxes_left"] = ideals.shape[1]
    elif not complete:
        proven = _proven_mask(archive.values, ideals)[order]
        attributes |= {"boxes_left": ideals.shape[1], "points_proven": int(proven.sum())}
    return index, attributes, proven


def _proven_mask(values: Floats, ideals: Floats) -> Mask:
    result = np.ones(values.shape[1], dtype=bool)
    for ideal in ideals.T[:, :, None]:
        result &= ~(np.all(ideal <= values, axis=0) & np.any(ideal < values, axis=0))
    return result


def _break_ties(
    grid: Grid,
    cases: Sequence[SwitchCase],
    spaces: Sequence[MergedProblem],
    archive: Archive,
    stats: SearchStats,
) -> tuple[list[tuple[int, ...]], bool]:
    result: list[tuple[int, ...]] = [()] * archive.values.shape[1]
    proven = True
    if not result:
        return [], True
    for number, (part, space) in enumerate(zip(cases, spaces, strict=True)):
        rows = archive.places[1 : 1 + len(space.rows)]
        known = np.where(archive.places[0] == number, rows, -1)
        axes = tuple(part.sizes)
        met, sure = known[0] >= 0 if len(known) else archive.places[0] == number, False
        on_grid = [space.grid_place(place) for place in np.maximum(known, 0).T]
        places = np.array([[place[axis] for place in on_grid] for axis in axes])
        places = places.reshape(len(axes), len(result))
        if not stats.is_late:
            with suppress(OutOfTimeError):  # keep the known configurations
                ties = _TieBreakSearch(space, axes, archive.values, known, stats)
                sure = ties.run()
                places, met = ties.grid_places(), ties.is_met
        for k in range(len(result)):
            place = dict(zip(axes, places[:, k].tolist(), strict=True)) if met[k] else None
            if not sure:
                place, one_sure = _first_tie(part, space, archive.values[:, k], place, stats)
                proven &= one_sure
            if place is not None:
                whole = part.grid_index(grid, place)
                result[k] = min(result[k] or whole, whole)
    return result, proven


def _first_tie(
    case: SwitchCase,
    space: MergedProblem,
    target: Floats,
    place: dict[str, int] | None,
    stats: SearchStats,
) -> tuple[dict[str, int] | None, bool]:
    if stats.is_late:
        return place, False
    problem = space.problem
    tests = []
    for root, value in zip(problem.roots, target.tolist(), strict=True):
        holds, root = root.args[:2] if root.op == "where" else (True, root)
        tests += [holds, root <= value]
    root = constant(where(both(*tests), 0.0, math.inf))
    alone = replace(space, problem=problem.with_objective(root))
    return first_configuration(alone, tuple(case.sizes), place, 0.0, stats)
