"""An objective over boxes of a grid: ranges of indices along each axis, thousands at once.

Over a box each leaf lies between the extremes of its values in the range; the enclosures of
:mod:`symbolic.intervals` carry that to the objective, with the axes along which it rises or falls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sweeps.bounds.boxes import Boxes, Indices, alike
from sweeps.bounds.enclosures import Extremes
from sweeps.grid.grid import Leaf
from symbolic.intervals import Trend, trend_number, trends
from symbolic.ops import Node, interpret_arrays, references, walk
from symbolic.primitives.words import EVERY


class Bounds(NamedTuple):
    """The least that an objective can be in each box, and the axes along which it goes one way."""

    least: Any
    up: Any
    down: Any


class Problem:
    """A signed objective (smaller is better), or several, over axes of so many values each."""

    def __init__(
        self,
        root: Node,
        leaves: Mapping[str, Leaf],
        sizes: Mapping[str, int],
        more: Sequence[Node] = (),
    ) -> None:
        self.root, self.roots, self.dims = root, (root, *more), tuple(sizes)
        self.sizes = np.array(list(sizes.values()), dtype=np.int64)
        self.used = {name: leaves[name] for name in references(*self.roots)}
        self.algebra = trends()
        #: The axes, as bits, on which each step depends, and those on which it does not.
        self.bits: dict[int, int] = {}
        self.idle: dict[int, Any] = {}
        self.fixed: dict[int, Trend] = {}
        self.extremes: dict[str, Extremes] = {}
        self.steps: list[Node] = []
        place = {axis: k for k, axis in enumerate(self.dims)}
        with np.errstate(all="ignore"):
            for node in walk(self.roots):
                if node.op == "constant":
                    bits = 0
                elif node.op == "reference":
                    leaf = self.used[node.args[0]]
                    bits = sum(1 << place[axis] for axis in leaf.axes)
                    if bits:
                        places = [place[axis] for axis in leaf.axes]
                        self.extremes[node.args[0]] = Extremes(leaf, places)
                else:
                    bits = 0
                    for arg in node.args:
                        bits |= self.bits[id(arg)]
                self.bits[id(node)] = bits
                self.idle[id(node)] = np.uint64(~bits & int(EVERY))
                if bits:
                    self.steps.append(node)
                else:
                    self.fixed[id(node)] = self._fixed(node)

    def asked(self, root: Node) -> Problem:
        """Another objective of the same leaves, over the same axes."""
        return Problem(root, self.used, dict(zip(self.dims, self.sizes.tolist(), strict=True)))

    def _fixed(self, node: Node) -> Trend:
        if node.op == "constant":
            return trend_number(node.args[0])
        if node.op == "reference":
            return trend_number(float(self.used[node.args[0]].array))
        found: Trend = self.algebra[node.op](*(self.fixed[id(arg)] for arg in node.args))
        return found

    def _run(
        self, steps: Sequence[Node], done: dict[int, Trend], lo: Any, hi: Any
    ) -> dict[int, Trend]:
        for node in steps:
            if node.op == "reference":
                done[id(node)] = self.extremes[node.args[0]](lo, hi)
            else:
                found = self.algebra[node.op](*[done[id(arg)] for arg in node.args])
                idle = self.idle[id(node)]
                done[id(node)] = Trend(found.range, found.up | idle, found.down | idle)
        return done

    @property
    def points(self) -> float:
        """How many points there are."""
        return float(np.prod(self.sizes.astype(np.float64)))

    @property
    def whole(self) -> Boxes:
        """The box of all points."""
        return Boxes(np.zeros((len(self.sizes), 1), dtype=np.int64), self.sizes[:, None] - 1)

    def trends(self, boxes: Boxes) -> dict[int, Trend]:
        """Every step of the objective over the boxes."""
        return self._run(self.steps, dict(self.fixed), list(boxes.lo), list(boxes.hi))

    def bounded(self, boxes: Boxes) -> Bounds:
        """The bounds of some boxes."""
        return self.spread(self.trends(boxes)[id(self.root)], (boxes.lo.shape[1],))

    def spread(self, trend: Trend, shape: tuple[int, ...]) -> Bounds:
        """What is known of the objective, for each box."""
        parts = (trend.range.lo, trend.up, trend.down)
        return Bounds(*(np.broadcast_to(part, shape) for part in parts))

    def halved(self, boxes: Boxes, axis: int) -> Bounds:
        """Return the bounds of both halves of each box along an axis, of shape (2, boxes)."""
        low, high = boxes.lo[axis], boxes.hi[axis]
        middle = (low + high) // 2
        lo, hi = list(boxes.lo), list(boxes.hi)
        lo[axis] = np.stack([low, np.minimum(middle + 1, high)])
        hi[axis] = np.stack([middle, high])
        steps = [node for node in self.steps if self.bits[id(node)] >> axis & 1]
        trend = self._run(steps, self.trends(boxes), lo, hi)[id(self.root)]
        return self.spread(trend, (2, low.size))

    def values(self, places: Indices) -> NDArray[np.float64]:
        """The (first) objective at points, given as indices along each axis (rows)."""
        return self._at(self.roots[:1], places)[0]

    def every(self, places: Indices) -> NDArray[np.float64]:
        """All objectives (rows) at points."""
        return np.stack(self._at(self.roots, places))

    def _at(self, roots: Sequence[Node], places: Indices) -> list[NDArray[np.float64]]:
        along = dict(zip(self.dims, places, strict=True))
        values = {
            name: np.atleast_1d(leaf.array[tuple(along[axis] for axis in leaf.axes)])
            for name, leaf in self.used.items()
        }
        shape = places.shape[1:]
        found = interpret_arrays(roots, values)
        return [np.broadcast_to(np.asarray(each, dtype=np.float64), shape) for each in found]


# --- A problem over axes each of which is one of the grid or several of them, row by row


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """A problem over some axes, each one of the grid or several merged."""

    problem: Problem
    #: For each axis of the problem the axes of the grid, and their indices row by row.
    rows: tuple[tuple[tuple[str, ...], Indices], ...]
    fixed: Mapping[str, int]

    def original(self, place: Indices) -> dict[str, int]:
        """The index along each axis of the grid."""
        found = dict(self.fixed)
        for (axes, table), index in zip(self.rows, place.tolist(), strict=True):
            found.update(zip(axes, table[:, index].tolist(), strict=True))
        return found

    def along(self, axis: str) -> tuple[int, Indices]:
        """The axis of the problem in which one of the grid lies, and its index row by row."""
        for number, (axes, table) in enumerate(self.rows):
            if axis in axes:
                return number, table[axes.index(axis)]
        raise KeyError(axis)

    def only(self, number: int, chosen: Indices) -> Space:
        """The part with some rows of one axis."""
        problem = self.problem
        name = problem.dims[number]
        if len(self.rows[number][0]) > 1:  # halves of what is left should be alike, too
            own = [leaf.array for leaf in problem.used.values() if leaf.axes == (name,)]
            chosen = chosen[alike(np.stack(own)[:, chosen].astype(np.float64))]
        return self._taken(number, chosen)

    def in_order(self, order: Sequence[str]) -> tuple[Space, list[Indices]]:
        """The same with all rows in the order of the grid, and where each of the rows is then."""
        found, moved = self, []
        for number, (axes, table) in enumerate(self.rows):
            chosen = np.lexsort([table[axes.index(a)] for a in reversed(order) if a in axes])
            moved.append(np.argsort(chosen))
            if np.any(np.diff(chosen) < 0):
                found = found._taken(number, chosen)
        return found, moved

    def _taken(self, number: int, chosen: Indices) -> Space:
        problem = self.problem
        name = problem.dims[number]
        leaves = {key: leaf.taken({name: chosen}) for key, leaf in problem.used.items()}
        sizes = dict(zip(problem.dims, problem.sizes.tolist(), strict=True))
        rows = list(self.rows)
        rows[number] = rows[number][0], rows[number][1][:, chosen]
        sizes[name] = chosen.size
        part = Problem(problem.root, leaves, sizes, problem.roots[1:])
        return Space(problem=part, rows=tuple(rows), fixed=self.fixed)
