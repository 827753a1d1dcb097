"""Which configurations of a grid meet every condition, as boxes: certain ones, and open ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.problem import Boxes, BoxProblem, best_axis, concatenate_boxes
from sweeps.grid.grid import Grid
from sweeps.runtime.progress import add_done, add_total
from sweeps.runtime.search_loop import SearchStats, run_search
from symbolic.ops import Node, constant, where

Indices = NDArray[np.int64]

#: Boxes looked at together; points that are looked at one by one.
BATCH, MAX_SCAN_POINTS = sizes.TARGETS_BATCH, sizes.TARGETS_SCANNED


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedBoxes:
    """Boxes of indices over axes, first and last (axes in rows), and which of them are certain."""

    dims: tuple[str, ...]
    lo: Indices
    hi: Indices
    certain: NDArray[np.bool_]
    boxes_bounded: int
    complete: bool


class _CaseBoxes:
    """The boxes of one part of a grid: certain, open, and points met."""

    def __init__(self, problem: BoxProblem, stats: SearchStats) -> None:
        self.problem, self.stats = problem, stats
        self.certain: list[Boxes] = []
        self.open_boxes: list[Boxes] = []
        self.comparisons = [node for node in problem.steps if node.op in ("less", "less_equal")]

    @property
    def size(self) -> int:
        return sum(boxes.lo.shape[1] for boxes in (*self.certain, *self.open_boxes))

    def classify(self, boxes: Boxes) -> tuple[Any, Any, Any]:
        """Which boxes meet the conditions for certain, which may somewhere, and how wide they are.

        As wide as the numbers are far apart between which a comparison is open.
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
        if one_way.any():  # the corners tell
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
        """Look at every point; those that meet the conditions become boxes along the last axis."""
        places = boxes.all_points()
        met = places[:, self.problem.values(places) == 0]
        if met.shape[1]:
            self.certain.append(_merge_adjacent(Boxes(met, met)))

    def split_largest(self) -> None:
        """Split the largest open boxes where that decides most."""
        boxes, self.open_boxes = concatenate_boxes(self.open_boxes), []
        order = np.argsort(-boxes.points, kind="stable")
        chosen, rest = order[:BATCH], order[BATCH:]
        if rest.size:
            self.open_boxes.append(boxes.take(rest))
        boxes = boxes.take(chosen)

        def score(halves: Boxes, numbers: Indices, axis: int) -> NDArray[np.float64]:
            certain, possible, width = self.classify(halves)
            share = halves.points / np.tile(boxes.points[numbers], 2) * width
            left = np.where(certain | ~possible, 0.0, share).reshape(2, -1).sum(axis=0)
            return np.asarray(1.0 / (left + 1e-9 / ((boxes.hi - boxes.lo)[axis, numbers] + 1.0)))

        parts = boxes.halves(best_axis(boxes, score))
        for half in (slice(chosen.size), slice(chosen.size, None)):
            self.add_boxes(parts.take(half))


class _AllCaseBoxes:
    """Those of all parts, until there are enough boxes."""

    def __init__(self, max_boxes: int) -> None:
        self.cases: list[_CaseBoxes] = []
        self.max_boxes, self.unreported_points = max_boxes, 0.0

    def add(self, case: _CaseBoxes) -> None:
        """Of one more part."""
        self.cases.append(case)
        points = case.problem.points
        add_total(int(points))
        self.unreported_points += points
        case.add_boxes(case.problem.whole_box)

    def has_open_pieces(self) -> bool:
        """Whether a box is left, and there is room for more."""
        some = any(one.open_boxes for one in self.cases)
        return some and sum(one.size for one in self.cases) <= self.max_boxes

    def step(self) -> None:
        """Split some of each part."""
        for one in self.cases:
            if one.open_boxes:
                one.split_largest()

    def report(self) -> None:
        """How much of the space is settled."""
        left = sum(float(boxes.points.sum()) for one in self.cases for boxes in one.open_boxes)
        add_done(int(self.unreported_points - left))
        self.unreported_points = left


def _best_and_worst_corners(boxes: Boxes, up: Any) -> tuple[Indices, Indices]:
    """Where a condition holds first and last, if it goes one way along every axis."""
    best, worst = boxes.lo.copy(), boxes.hi.copy()
    for axis in range(len(best)):
        falls = (up & (np.uint64(1) << np.uint64(axis))) == 0
        best[axis] = np.where(falls, boxes.hi[axis], boxes.lo[axis])
        worst[axis] = np.where(falls, boxes.lo[axis], boxes.hi[axis])
    return best, worst


def _merge_adjacent(boxes: Boxes) -> Boxes:
    """Boxes that lie side by side as one, axis by axis, until none do."""
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
            last = np.concatenate([~same, [True]])
            merged = hi[:, last]
            lo, hi = lo[:, first], merged
    return Boxes(lo, hi)


def certified_boxes(
    grid: Grid,
    roots: Mapping[tuple[str, ...], Node],
    dims: Sequence[str],
    stats: SearchStats,
    *,
    max_boxes: int,
) -> CertifiedBoxes:
    """Subdivide the grid until every box is certain or empty, or there are enough.

    Parameters
    ----------
    grid : Grid
    roots : mapping of str to Node
        The condition over the leaves, by the labels of the switch axes.
    dims : sequence of str
        The axes on which it depends.
    tally : Tally
        What is bounded is added to it; once it is late, what is open stays open.
    most : int
        Boxes after which it does, too.
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
    for fixed, one in zip(labels, sets.cases, strict=True):
        for held, sure in ((one.certain, True), (one.open_boxes, False)):
            if held:
                boxes = _merge_adjacent(concatenate_boxes(held))
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
        complete=not any(one.open_boxes for one in sets.cases),
    )


def _with_fixed_axes(
    places: Indices, dims: Sequence[str], plain: Sequence[str], fixed: Mapping[str, Any]
) -> Indices:
    count = places.shape[1]
    rows = [
        np.full(count, fixed[dim]) if dim in fixed else places[plain.index(dim)] for dim in dims
    ]
    return np.stack(rows) if rows else np.zeros((0, count), dtype=np.int64)
