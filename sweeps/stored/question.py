"""A question of a finished store: what its zones say of each block, and the values of blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.grid.flat_index import unravel
from sweeps.grid.goals import Goal
from sweeps.grid.grid import FEASIBLE
from sweeps.store.reader import Stored
from sweeps.stored.blocks import Blocks, points_cut
from sweeps.stored.wanted import read_condition, read_goal
from symbolic.expression import parse_condition
from symbolic.intervals import Decision, Interval, enclose
from symbolic.node import conjuncts
from symbolic.ops import Node, interpret_arrays, reference, references

__all__ = ["BUILT", "Question"]

#: Blocks after which it pays to compile.
_MANY = sizes.STORED_MANY
#: Points of blocks that are evaluated together by compiled code: where some values are put together
#: before, and where all are read where they lie.
BUILT, _PASS = sizes.STORED_BUILT, sizes.STORED_PASS


class Question:
    """Some goals under some conditions, over the axes on which they depend, in order."""

    def __init__(
        self,
        stored: Stored,
        goals: Sequence[Goal],
        where: Sequence[str | Node],
        per: Sequence[str] = (),
    ) -> None:
        self.stored = stored
        self.nodes = [goal.node(stored.quantities) for goal in goals]
        self.conditions = conjuncts(
            text if isinstance(text, Node) else parse_condition(text, stored.quantities)
            for text in where
        )
        if goals and FEASIBLE in stored.zones:
            self.conditions.append(reference(FEASIBLE) > 0)
        names = references(*self.nodes, *self.conditions)
        used = {axis for name in names for axis in stored.dims(name)} | set(per)
        self.axes = {axis: n for axis, n in stored.axes.items() if axis in used}
        self.blocks = stored.once(("blocks", *self.axes), lambda: Blocks(self.axes))
        self.origins = self.starts(list(self.axes))
        self.names = tuple(names)
        self.read, self.compiles, self._per = 0, False, per  # blocks that were read
        self.left = self.unread = 0  # points that an interrupt left
        self._bound()
        self._groups = self._merged()
        self.goals = [read_goal(node) for node in self.nodes]
        self.terms = [read_condition(node) for node in self.conditions]
        coordinates = set(self.names) - set(stored.zones)
        self.batch = _PASS
        for term in (*self.goals, *self.terms):
            if term.name is None or not (term.name in coordinates or stored.mapped(term.name)):
                self.batch = BUILT

    # --- bounds
    def _bound(self) -> None:
        """Of each block: below which no goal lies, whether it may hold a point, what is certain."""
        boxes, there = {}, np.ones(self.blocks.grid, dtype=bool)
        for name in self.names:
            key = ("range", name, *self.axes)
            low, high, undefined = self.stored.once(key, partial(self._range, name))
            there = there & ((low <= high) | undefined)
            wild = low > high  # nothing but NaN, or no point at all
            low, high = np.where(wild, -math.inf, low), np.where(wild, math.inf, high)
            boxes[name] = Interval(low, high, undefined if np.any(undefined) else False)
        found = enclose([*self.nodes, *self.conditions], boxes, outward=False)
        self.lower, self.upper, self.finite, defined = [], [], [], np.ones_like(there)
        for interval in found[: len(self.nodes)]:
            assert isinstance(interval, Interval)
            low = np.where(np.isnan(interval.lo), -math.inf, interval.lo)
            self.lower.append(np.broadcast_to(low, self.blocks.grid).reshape(-1))
            high = np.where(np.isnan(interval.hi), math.inf, interval.hi)
            self.upper.append(np.broadcast_to(high, self.blocks.grid).reshape(-1))
            defined = defined & np.logical_not(interval.undefined)
            finite = np.isfinite(interval.lo) & np.isfinite(interval.hi)
            finite = finite & np.logical_not(interval.undefined)
            self.finite.append(np.broadcast_to(finite, self.blocks.grid).reshape(-1))
        self.certain = []
        for decision in found[len(self.nodes) :]:
            assert isinstance(decision, Decision)
            there = there & decision.possible
            certain = np.broadcast_to(decision.certain, self.blocks.grid)
            self.certain.append(certain.reshape(-1))
        #: Blocks that may hold points that count; those of which a point may be among the best.
        self.possible = np.flatnonzero(there)
        self.open = self.possible[
            np.all([low[self.possible] < math.inf for low in self.lower], axis=0)
        ]
        #: Whether all points of a block count, and all goals are numbers there.
        self.sure = np.all([defined.reshape(-1), *self.certain], axis=0)

    def _range(self, name: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Of each block the least and the largest value, and whether one is NaN."""
        zoned = self.stored.zones.get(name)
        if zoned is not None:
            low, high, undefined = zoned.low, zoned.high, zoned.undefined
            dims, cut = zoned.dims, zoned.cut
        else:
            axis, values = self.stored.column(name)
            values = values.astype(np.float64)
            undefined = np.isnan(values)
            low, high = (np.where(undefined, end, values) for end in (math.inf, -math.inf))
            dims, cut = (axis,), points_cut(values.shape)
        return (
            self.blocks.reduced(low, dims, cut, np.minimum, math.inf),
            self.blocks.reduced(high, dims, cut, np.maximum, -math.inf),
            self.blocks.reduced(undefined, dims, cut, np.logical_or, False),
        )

    # --- values
    def _merged(self) -> list[list[str]]:
        """Trailing axes that each array, and ``per``, has or lacks together: fewer to loop over."""
        kinds = [
            (axis in self._per, *(axis in self.stored.dims(name) for name in self.names))
            for axis in self.blocks.trailing
        ]
        groups: list[list[str]] = []
        pairs = zip(self.blocks.trailing, kinds, [None, *kinds], strict=False)
        for axis, kind, before in pairs:
            if kind == before:
                groups[-1].append(axis)
            else:
                groups.append([axis])
        return groups

    def sizes(self, length: int) -> dict[str, int]:
        """The trailing axes of blocks, of which the first is cut."""
        return {a: self.axes[a] if k else length for k, a in enumerate(self.blocks.trailing)}

    def array(self, name: str, numbers: NDArray[np.int64], length: int) -> NDArray[Any]:
        """An array over some blocks, shaped for broadcasting: a row each, then merged axes."""
        dims, sizes = self.stored.dims(name), self.sizes(length)
        count = math.prod(n for axis, n in sizes.items() if axis in dims)
        starts = self.blocks.starts(numbers, dims)
        zoned = self.stored.zones.get(name)
        if zoned is None:
            found = self.stored.column(name)[1][starts[:, None] + np.arange(count)]
        elif self.compiled and self.stored.mapped(name):
            found = self._gathered(name, numbers, count)
        elif zoned.cut.flat:
            found = self.stored.pieces(name, starts, count)
        else:
            index = np.array(unravel(starts, zoned.cut.shape)).T
            extent = [sizes.get(axis, 1) for axis in dims]
            found = np.stack([self.stored.box(name, low, low + extent) for low in index])
        rows: NDArray[Any] = found.reshape(numbers.size, *self.shape(dims, length))
        return rows.astype(np.float64, copy=False)

    def _gathered(self, name: str, numbers: NDArray[np.int64], count: int) -> NDArray[Any]:
        """An output that is mapped over some blocks, a row each."""
        from sweeps.stored.kernels import gather

        located, found = self.addresses(name, numbers, count), np.empty((numbers.size, count))
        gather(located[0], found)
        return found

    def addresses(
        self, name: str, numbers: NDArray[np.int64], count: int
    ) -> tuple[NDArray[np.int64], Any]:
        """Where an output that is mapped lies over some blocks; what must outlive that."""
        dims, cut = self.stored.dims(name), self.stored.zones[name].cut
        starts = self.starts(dims)
        found = self.stored.once(("found", cut, dims, *self.axes), lambda: cut.find(starts))
        return self.stored.addresses(name, starts[numbers], [k[numbers] for k in found], count)

    def starts(self, dims: Sequence[str]) -> NDArray[np.int64]:
        """The first flat index of every block in an array over some of the axes."""
        key = ("starts", tuple(dims), *self.axes)
        return self.stored.once(key, lambda: self.blocks.starts(np.arange(self.blocks.count), dims))

    def shape(self, dims: Sequence[str], length: int) -> list[int]:
        """How many values an array over some axes has along each group of trailing axes."""
        sizes = self.sizes(length)
        return [
            math.prod(sizes[axis] for axis in group) if group[0] in dims else 1
            for group in self._groups
        ]

    def values(self, numbers: NDArray[np.int64], length: int) -> list[NDArray[np.float64]]:
        """The signed goals over some blocks, a row each, infinite where a point does not count."""
        found, (results, holds) = [], self.looked(numbers, length)
        for value, finite in zip(results, self.finite, strict=True):
            counts = holds if np.all(finite[numbers]) else holds & np.isfinite(value)
            counted = np.where(counts, value, math.inf)
            whole = np.broadcast_to(counted, (numbers.size, *self.shape(list(self.axes), length)))
            found.append(whole.reshape(numbers.size, -1))
        return found

    def looked(self, numbers: NDArray[np.int64], length: int) -> tuple[Sequence[Any], Any]:
        """The signed goals over some blocks and which points count, shaped for broadcasting."""
        undecided = [
            condition
            for condition, certain in zip(self.conditions, self.certain, strict=True)
            if not np.all(certain[numbers])
        ]
        names = references(*self.nodes, *undecided)
        arrays = {name: self.array(name, numbers, length) for name in names}
        results = interpret_arrays([*self.nodes, *undecided], arrays)
        holds: Any = True
        for condition in results[len(self.nodes) :]:
            holds = holds & condition
        return results[: len(self.nodes)], holds

    def points(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many points some blocks have."""
        inner = math.prod(list(self.sizes(1).values()))
        return np.asarray(self.blocks.length(numbers) * inner)

    @property
    def compiled(self) -> bool:
        """Whether compiled code is to go through the blocks: there are many."""
        return self.compiles and self.read > _MANY and bool(self._groups)

    @property
    def signs(self) -> NDArray[np.float64]:
        """By which the column of each goal is multiplied."""
        return np.array([goal.sign for goal in self.goals])
