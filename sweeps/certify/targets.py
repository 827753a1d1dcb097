"""Find boxes of a grid where all configurations meet conditions, and boxes where some may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stochastic import sizes
from sweeps.bounds.problem import (
    Boxes,
    BoxProblem,
    Floats,
    Indices,
    Mask,
    Roots,
    best_axis,
    concatenate_boxes,
)
from sweeps.grid.grid import Grid
from sweeps.runtime.progress import add_done, add_total
from sweeps.runtime.search_loop import SearchStats, run_search
from symbolic.ops import constant, where

BATCH, MAX_SCAN_POINTS = sizes.TARGETS_BATCH, sizes.TARGETS_SCANNED


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedBoxes:
    """Boxes, given by their first and last indices (one row per axis).

    ``certain`` is the mask of proven boxes: all their configurations meet the conditions. In the
    other boxes, some configurations may. ``complete`` is False if the search ended too early to
    decide all boxes.
    """

    dims: tuple[str, ...]
    lo: Indices
    hi: Indices
    certain: Mask
    boxes_bounded: int
    complete: bool


class _CaseBoxes:
    def __init__(self, problem: BoxProblem, stats: SearchStats) -> None:
        self.problem, self.stats = problem, stats
        self.certain: list[Boxes] = []
        self.open_boxes: list[Boxes] = []
        self.comparisons = [node for node in problem.steps if node.op in ("less", "less_equal")]

    @property
    def size(self) -> int:
        return sum(boxes.lo.shape[1] for boxes in (*self.certain, *self.open_boxes))

    def classify(self, boxes: Boxes) -> tuple[Any, Any, Any]:
        """Return masks of boxes that surely meet and that may meet the conditions, and widths.

        The width of a box is the sum of the relative ranges of both sides of undecided comparisons.
        """
        self.stats.boxes += boxes.lo.shape[1]
        steps = self.problem.step_trends(boxes)
        trend = steps[id(self.problem.root)]
        shape = (boxes.lo.shape[1],)
        width = np.zeros(shape)
        for node in self.comparisons:
            result = steps[id(node)].enclosure
            open_ = np.broadcast_to(result.possible & ~np.asarray(result.certain), shape)
            for arg in node.args:
                side = steps[id(arg)].enclosure
                apart = (side.hi - side.lo) / np.maximum(np.abs(side.lo), np.abs(side.hi))
                width = width + np.where(open_, np.nan_to_num(np.minimum(apart, 2.0)), 0.0)
        certain = np.broadcast_to(trend.enclosure.hi == 0, shape)
        possible = np.broadcast_to(trend.enclosure.lo == 0, shape)
        up, down = (np.broadcast_to(part, shape) for part in (trend.up, trend.down))
        one_way = possible & ~certain
        for axis, (low, high) in enumerate(zip(boxes.lo, boxes.hi, strict=True)):
            bit = np.uint64(1) << np.uint64(axis)
            one_way &= (low == high) | (((up | down) & bit) != 0)
        if one_way.any():  # two corners decide a box that is monotone along all axes
            best, worst = (corner[:, one_way] for corner in _best_and_worst_corners(boxes, up))
            certain, possible = certain.copy(), possible.copy()
            certain[one_way] = self.problem.values(worst) == 0
            possible[one_way] = self.problem.values(best) == 0
        return certain, possible, width

    def add_boxes(self, boxes: Boxes) -> None:
        certain, possible, _ = self.classify(boxes)
        if certain.any():
            self.certain.append(boxes.take(certain))
        left = boxes.take(possible & ~certain)
        small = left.points <= MAX_SCAN_POINTS
        if small.any():
            self.scan(left.take(small))
        if not small.all():
            self.open_boxes.append(left.take(~small))

    def scan(self, boxes: Boxes) -> None:
        places = boxes.all_points()
        met = places[:, self.problem.values(places) == 0]
        if met.shape[1]:
            self.certain.append(_merge_adjacent(Boxes(met, met)))

    def split_largest(self) -> None:
        boxes, self.open_boxes = concatenate_boxes(self.open_boxes), []
        order = np.argsort(-boxes.points, kind="stable")
        chosen, rest = order[:BATCH], order[BATCH:]
        if rest.size:
            self.open_boxes.append(boxes.take(rest))
        boxes = boxes.take(chosen)

        def score(halves: Boxes, numbers: Indices, axis: int) -> Floats:
            certain, possible, width = self.classify(halves)
            share = halves.points / np.tile(boxes.points[numbers], 2) * width
            left = np.where(certain | ~possible, 0.0, share).reshape(2, -1).sum(axis=0)
            return np.asarray(1.0 / (left + 1e-9 / ((boxes.hi - boxes.lo)[axis, numbers] + 1.0)))

        parts = boxes.halves(best_axis(boxes, score))
        for half in (slice(chosen.size), slice(chosen.size, None)):
            self.add_boxes(parts.take(half))


class _AllCaseBoxes:
    def __init__(self, max_boxes: int) -> None:
        self.cases: list[_CaseBoxes] = []
        self.max_boxes, self.unreported_points = max_boxes, 0.0

    def add(self, case: _CaseBoxes) -> None:
        self.cases.append(case)
        points = case.problem.points
        add_total(int(points))
        self.unreported_points += points
        case.add_boxes(case.problem.whole_box)

    def has_open_pieces(self) -> bool:
        some = any(case.open_boxes for case in self.cases)
        return some and sum(case.size for case in self.cases) <= self.max_boxes

    def step(self) -> None:
        for case in self.cases:
            if case.open_boxes:
                case.split_largest()

    def report(self) -> None:
        left = sum(float(boxes.points.sum()) for case in self.cases for boxes in case.open_boxes)
        add_done(int(self.unreported_points - left))
        self.unreported_points = left


def _best_and_worst_corners(boxes: Boxes, up: Any) -> tuple[Indices, Indices]:
    best, worst = boxes.lo.copy(), boxes.hi.copy()
    for axis in range(len(best)):
        falls = (up & (np.uint64(1) << np.uint64(axis))) == 0
        best[axis] = np.where(falls, boxes.hi[axis], boxes.lo[axis])
        worst[axis] = np.where(falls, boxes.lo[axis], boxes.hi[axis])
    return best, worst


def _merge_adjacent(boxes: Boxes) -> Boxes:
    lo, hi = boxes
    before = -1
    while lo.shape[1] != before and lo.shape[0]:
        before = lo.shape[1]
        for axis in reversed(range(len(lo))):
            others = [k for k in range(len(lo)) if k != axis]
            keys = [lo[axis], *(part[k] for k in others for part in (lo, hi))]
            order = np.lexsort(keys)
            lo, hi = lo[:, order], hi[:, order]
            same = np.all(lo[others][:, 1:] == lo[others][:, :-1], axis=0)
            same &= np.all(hi[others][:, 1:] == hi[others][:, :-1], axis=0)
            same &= lo[axis, 1:] == hi[axis, :-1] + 1
            first = np.concatenate([[True], ~same])
            merged = hi[:, np.concatenate([~same, [True]])]
            lo, hi = lo[:, first], merged
    return Boxes(lo, hi)


def certified_boxes(
    grid: Grid, roots: Roots, dims: Sequence[str], stats: SearchStats, *, max_boxes: int
) -> CertifiedBoxes:
    """Halve boxes of the grid until a condition holds at all points of a box, or at none.

    ``roots`` maps switch labels to the condition over the leaves. ``dims`` are the axes on which
    the condition depends. When the time is up, or there are more than ``max_boxes`` boxes, the
    remaining boxes stay undecided.
    """
    plain = grid.non_switch_axes(dims)
    sizes = {dim: grid.axes[dim].size for dim in plain}
    sets, labels, before = _AllCaseBoxes(max_boxes), [], stats.boxes
    with np.errstate(all="ignore"):
        for at, key in grid.keys(dims):
            root = constant(where(roots[key], 0.0, 1.0))
            sets.add(_CaseBoxes(BoxProblem(root, grid.leaves[key], sizes), stats))
            labels.append(at)
        run_search(sets, stats)
    lows, highs, certain = [], [], []
    for fixed, case in zip(labels, sets.cases, strict=True):
        for some, sure in ((case.certain, True), (case.open_boxes, False)):
            if some:
                boxes = _merge_adjacent(concatenate_boxes(some))
                lows.append(_with_fixed_axes(boxes.lo, dims, plain, fixed))
                highs.append(_with_fixed_axes(boxes.hi, dims, plain, fixed))
                certain.append(np.full(boxes.lo.shape[1], sure))
    none = np.zeros((len(dims), 0), dtype=np.int64)
    return CertifiedBoxes(
        dims=tuple(dims),
        lo=np.concatenate([none, *lows], axis=1),
        hi=np.concatenate([none, *highs], axis=1),
        certain=np.concatenate([np.zeros(0, dtype=bool), *certain]),
        boxes_bounded=stats.boxes - before,
        complete=not any(case.open_boxes for case in sets.cases),
    )


def _with_fixed_axes(
    places: Indices, dims: Sequence[str], plain: Sequence[str], fixed: Mapping[str, Any]
) -> Indices:
    rows = np.empty((len(dims), places.shape[1]), dtype=np.int64)
    for row, dim in zip(rows, dims, strict=True):
        row[:] = fixed[dim] if dim in fixed else places[plain.index(dim)]
    return rows
