"""Which of very many configurations can be the best where some inputs are known within ±.

Boxes of configurations are halved; one is dropped where, in every cell of the inputs, its least is
above the most of some configuration. What is the best at the middle and at the corners of the
inputs is found by proof, so that it certainly can be.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.boxes import Boxes, joined
from sweeps.bounds.enclosures import Extremes
from sweeps.bounds.problem import Problem
from sweeps.grid.goals import Goal, dims_of, objective_node
from sweeps.grid.grid import Grid, Leaf
from sweeps.prove.parts import best_within, parts_of
from sweeps.prove.targets import Meeting
from sweeps.prove.tolerances import Uncertain
from sweeps.runtime.loop import Tally
from symbolic.intervals import Interval, Trend, interval_of
from symbolic.ops import Node
from symbolic.primitives.words import EVERY, any_of, choose, is_empty

#: Parts of each input, by how many inputs there are; boxes bounded together.
_PARTS, _TOGETHER = {1: 32, 2: 8, 3: 4}, sizes.RIVALS_TOGETHER
#: Parts of each input for chances, where no more boxes than these are left.
_FINE, _FEW = {1: 512, 2: 24, 3: 8}, sizes.RIVALS_FEW


class _Band:
    """The extremes of an input between two ends over ranges of indices."""

    def __init__(self, low: Leaf, high: Leaf, places: Sequence[int]) -> None:
        self.low, self.high = Extremes(low, places), Extremes(high, places)

    def __call__(self, lo: Any, hi: Any) -> Trend:
        a, b = self.low(lo, hi), self.high(lo, hi)
        undefined = any_of(a.range.undefined, b.range.undefined)
        empty = is_empty(undefined, a.range.lo, b.range.hi)  # a NaN among the ends of each
        least, most = choose(empty, np.inf, a.range.lo), choose(empty, -np.inf, b.range.hi)
        return Trend(Interval(least, most, undefined), a.up & b.up, a.down & b.down)


class _Within(Problem):
    """An objective over boxes, whatever the inputs are within their ends."""

    def __init__(
        self,
        root: Node,
        leaves: Mapping[str, Leaf],
        sizes: Mapping[str, int],
        ends: Mapping[str, tuple[Leaf, Leaf]],
    ) -> None:
        self.ends = ends
        super().__init__(root, leaves, sizes)
        place = {axis: k for k, axis in enumerate(self.dims)}
        for name, (low, high) in ends.items():
            if name in self.extremes:
                bands: dict[str, Any] = self.extremes
                bands[name] = _Band(low, high, [place[axis] for axis in low.axes])

    def _fixed(self, node: Node) -> Trend:
        if node.op == "reference" and node.args[0] in self.ends:
            low, high = (float(end.array) for end in self.ends[node.args[0]])
            return Trend(interval_of(np.float64(low), np.float64(high)), EVERY, EVERY)
        return super()._fixed(node)

    def least_and_most(self, boxes: Boxes) -> NDArray[np.float64]:
        """Between which numbers the objective lies in each box (rows: least, most)."""
        count = boxes.lo.shape[1]
        found = np.empty((2, count))
        for first in range(0, count, _TOGETHER):
            part = slice(first, first + _TOGETHER)
            held = self.trends(boxes.take(part))[id(self.root)].range
            found[0, part], found[1, part] = held.lo, held.hi
        return found


def rivals(
    grid: Grid, goal: Goal, inputs: Sequence[Uncertain], *, most: int
) -> tuple[Meeting, NDArray[np.float64]]:
    """Boxes outside of which no configuration is the best, whatever the inputs.

    Those that are ``certain`` hold one configuration, which is the best for some values of the
    inputs. ``complete`` where all boxes are single configurations.

    Parameters
    ----------
    grid : Grid
        Without switch axes; its inputs stand at what the study gives them.
    inputs : sequence of Uncertain
        At most three.
    most : int
        How many boxes at most.
    """
    (key,) = grid.graphs
    dims = grid.ordered(dims_of(grid, [goal]))
    sizes = {axis: grid.axes[axis].size for axis in dims}
    root = objective_node(grid, key, goal)
    search = _Rivals(
        grid=grid, goal=goal, key=key, inputs=inputs, root=root, sizes=sizes, tally=Tally()
    )
    with np.errstate(all="ignore"):
        return search.run(most)


@dataclass(frozen=True, kw_only=True)
class _Rivals:
    grid: Grid
    goal: Goal
    key: tuple[str, ...]
    inputs: Sequence[Uncertain]
    root: Node
    sizes: Mapping[str, int]
    tally: Tally

    def _at(self, one: Uncertain, share: float) -> Leaf:
        low, high = one.low[self.key], one.high[self.key]
        if share in (0.0, 1.0):
            return high if share else low
        return replace(low, array=low.array + (high.array - low.array) * share)

    def _cells(self, parts: int) -> list[_Within]:
        """The objective in each cell of the inputs."""
        cuts = [(k / parts, (k + 1) / parts) for k in range(parts)]
        found = []
        for cell in itertools.product(cuts, repeat=len(self.inputs)):
            ends = {
                one.name: (self._at(one, a), self._at(one, b))
                for one, (a, b) in zip(self.inputs, cell, strict=True)
            }
            found.append(_Within(self.root, self.grid.leaves[self.key], self.sizes, ends))
        return found

    def _winners(self) -> NDArray[np.int64]:
        """The best at the middle and at the corners of the inputs; a column each."""
        found = []
        middle = [] if any(one.whole for one in self.inputs) else [(0.5,) * len(self.inputs)]
        for chosen in [*middle, *itertools.product((0.0, 1.0), repeat=len(self.inputs))]:
            own = {o.name: self._at(o, s) for o, s in zip(self.inputs, chosen, strict=True)}
            leaves = {self.key: {**self.grid.leaves[self.key], **own}}
            held = replace(self.grid, leaves=leaves, kept={})
            best = best_within(held, parts_of(held, [self.goal], ()), {}, 0.0, self.tally)
            if best.place is not None and best.bound == best.value:
                found.append([best.place[axis] for axis in self.sizes])
        return np.unique(np.array(found, dtype=np.int64).reshape(-1, len(self.sizes)), axis=0).T

    def run(self, most: int) -> tuple[Meeting, NDArray[np.float64]]:
        """Halve boxes until all are single configurations, or there are enough."""
        winners = self._winners()
        points = Boxes(winners, winners)
        cells = self._cells(1)
        limits = [_limit(cell, points) for cell in cells]
        boxes = cells[0].whole
        fine = False
        while True:
            boxes, limits = self._kept(boxes, cells, limits)
            single = np.all(boxes.lo == boxes.hi, axis=0)
            late = self.tally.late or 2 * boxes.lo.shape[1] > most
            if not fine and (single.all() or late or boxes.lo.shape[1] > _TOGETHER):
                cells, fine = self._cells(_PARTS[len(self.inputs)]), True
                limits = [_limit(cell, points) for cell in cells]
                continue
            if single.all() or late:
                break
            boxes = _halved(boxes, single, cells[0])
        complete = bool(single.all())
        while (split := _holding(boxes, winners) & ~single).any():  # each winner by itself
            longest = np.argmax(boxes.hi - boxes.lo, axis=0)[split]
            boxes = joined([boxes.take(split).halves(longest), boxes.take(~split)])
            single = np.all(boxes.lo == boxes.hi, axis=0)
        found = Meeting(
            dims=tuple(self.sizes),
            lo=boxes.lo,
            hi=boxes.hi,
            certain=_holding(boxes, winners) & single,
            bounded=self.tally.boxes,
            complete=complete,
        )
        if boxes.lo.shape[1] <= _FEW:
            cells = self._cells(_FINE[len(self.inputs)])
        return found, _chances(boxes, cells)

    def _kept(
        self, boxes: Boxes, cells: Sequence[_Within], limits: list[float]
    ) -> tuple[Boxes, list[float]]:
        """The boxes that some cell leaves; what is known of single configurations bounds others."""
        alive, tightened = np.zeros(boxes.lo.shape[1], dtype=bool), []
        single = np.all(boxes.lo == boxes.hi, axis=0)
        for cell, limit in zip(cells, limits, strict=True):
            least, top = cell.least_and_most(boxes)
            self.tally.boxes += least.size
            limit = min([limit, *top[single].tolist()])
            alive |= (least <= limit) & (least < np.inf)
            tightened.append(limit)
        return boxes.take(alive), tightened


def _chances(boxes: Boxes, cells: Sequence[_Within]) -> NDArray[np.float64]:
    """In which share of the cells a box certainly holds the best, and in which it may."""
    found = np.zeros((2, boxes.lo.shape[1]))
    single = np.all(boxes.lo == boxes.hi, axis=0)
    for cell in cells:
        least, top = cell.least_and_most(boxes)
        limit = np.min(top[single], initial=np.inf)
        alive = (least <= limit) & (least < np.inf)
        found[1] += alive
        if np.count_nonzero(alive) == 1 and limit < np.inf:
            found[0] += alive
    return found / len(cells)


def _holding(boxes: Boxes, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which boxes hold one of some places (columns)."""
    lo, hi = boxes.lo[:, :, None], boxes.hi[:, :, None]
    inside = (lo <= places[:, None]) & (places[:, None] <= hi)
    return np.asarray(np.any(np.all(inside, axis=0), axis=1))


def _limit(cell: _Within, points: Boxes) -> float:
    """What some configuration certainly reaches in a cell."""
    return float(np.min(cell.least_and_most(points)[1], initial=np.inf))


def _halved(boxes: Boxes, single: NDArray[np.bool_], problem: _Within) -> Boxes:
    """The boxes of several configurations halved along the axis that parts their bounds most."""
    some, rest = boxes.take(~single), boxes.take(single)
    wide = some.hi > some.lo
    gains = np.full(wide.shape, -np.inf)
    for axis in range(len(wide)):
        for first in range(0, wide.shape[1], _TOGETHER):
            part = slice(first, first + _TOGETHER)
            halves = problem.halved(some.take(part), axis).least
            high = np.nan_to_num(np.max(halves, axis=0), posinf=1e300, neginf=-1e300)
            gains[axis, part] = np.where(wide[axis, part], high, -np.inf)
    best = gains >= gains.max(axis=0)  # of equal ones the longest
    axis_of = np.argmax(np.where(best & wide, some.hi - some.lo, -1), axis=0)
    parts = some.halves(axis_of)
    return joined([parts, rest])
