"""An objective over boxes that are real along some axes and ranges of indices along the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sweeps.bounds.problem import Problem
from sweeps.grid.leaf import Leaf
from sweeps.prove.reals.cases import decided
from symbolic.intervals import Decision, Interval, algebra, enclose
from symbolic.monotone import EVERY, Trend, trends
from symbolic.ops import Node, interpret_arrays, references, walk
from symbolic.slopes import slopes

__all__ = ["Bounded", "Floats", "Mixed"]

Floats = NDArray[np.float64]

_TO = algebra(outward=True)
#: What floats that compute a value may lie below its enclosure to second order, as a share.
_SLACK = 2.0**-40


class Bounded(NamedTuple):
    """Below which the objective cannot be in each box; along which axes it goes one way.

    ``open`` tells which comparisons are open.
    """

    least: Floats
    rises: NDArray[np.bool_]
    falls: NDArray[np.bool_]
    open: NDArray[np.bool_]


class _Line:
    """A real axis as a leaf: between the ends of a box."""

    def __init__(self, place: int) -> None:
        self.place, self.bit = place, np.uint64(1) << np.uint64(place)

    def __call__(self, lo: Sequence[Any], hi: Sequence[Any]) -> Trend:
        low, high = lo[self.place], hi[self.place]
        down = np.where(low == high, EVERY, EVERY & ~self.bit)
        return Trend(Interval(low, high), EVERY, down)


def _hull(root: Node, leaves: Mapping[str, Leaf]) -> dict[int, Any]:
    """Every step over the whole space."""
    boxes: dict[str, Interval] = {}
    for name in references(root):
        array = np.asarray(leaves[name].array, dtype=float)
        known = array[~np.isnan(array)]
        least, most = known.min(initial=np.inf), known.max(initial=-np.inf)
        boxes[name] = Interval(least, most, known.size < array.size)
    nodes = walk((root,))
    return {id(node): found for node, found in zip(nodes, enclose(nodes, boxes), strict=True)}


class Mixed(Problem):
    """A signed objective over axes, of which some are real, and comparisons that may be supposed.

    The ends of boxes are floats: along real axes, then of indices, then, for each comparison on
    which a choice depends, 0 and 1 where it may be false and true. ``real`` gives the ends of the
    real axes, which stand among ``sizes`` with any size.
    """

    def __init__(
        self,
        root: Node,
        leaves: Mapping[str, Leaf],
        sizes: Mapping[str, int],
        real: Mapping[str, tuple[float, float]],
    ) -> None:
        super().__init__(decided(root, _hull(root, leaves)), leaves, sizes)
        root = self.root
        self.algebra = trends(outward=True)
        with np.errstate(all="ignore"):
            for node in walk((root,)):
                if id(node) in self.fixed:
                    self.fixed[id(node)] = self._fixed(node)
        place = {axis: k for k, axis in enumerate(self.dims)}
        lines: Any = self.extremes
        lines.update({name: _Line(place[name]) for name in real if name in self.used})
        self.lines = {place[name]: name for name in real if name in self.used}
        chosen = root.op == "where" and repr(root.args[2]) == "inf"
        self.value: Node = root.args[1] if chosen else root
        self.holds: Node | None = root.args[0] if chosen else None
        self.atoms = [
            node
            for node in walk((self.value,))
            if node.op in ("less", "less_equal") and self.bits[id(node)]
        ]
        supposed = {id(node): len(self.dims) + k for k, node in enumerate(self.atoms)}
        self.supposed = supposed
        low = [real[axis][0] if axis in real else 0 for axis in self.dims]
        high = [real[axis][1] if axis in real else sizes[axis] - 1 for axis in self.dims]
        self.low = np.array([*low, *(0 for _ in self.atoms)], dtype=float)
        self.high = np.array([*high, *(1 for _ in self.atoms)], dtype=float)
        self.real = np.array([axis in real for axis in self.dims] + [False] * len(self.atoms))

    def _trends(self, lo: Floats, hi: Floats) -> tuple[dict[int, Trend], Any, Any]:
        """Every step; which boxes are empty, as what is supposed cannot be; where it need not be.

        The steps are those of the objective as it would be everywhere if it were so.
        """
        kinds = zip(lo, hi, self.real, strict=True)
        ends = [(a, b) if real else (a.astype(int), b.astype(int)) for a, b, real in kinds]
        low, high = ([pair[k] for pair in ends] for k in (0, 1))
        done = dict(self.fixed)
        empty, leaning = np.zeros(lo.shape[1], dtype=bool), np.zeros(lo.shape[1], dtype=bool)
        for node in self.steps:
            if node.op == "reference":
                done[id(node)] = self.extremes[node.args[0]](low, high)
                continue
            found = self.followed(node, done)
            row = self.supposed.get(id(node))
            if row is not None:
                yes, no = lo[row] == 1, hi[row] == 0
                if yes.any() or no.any():
                    was = found.range
                    empty |= (yes & np.logical_not(was.possible)) | (no & was.certain)
                    leaning |= (yes & np.logical_not(was.certain)) | (no & was.possible)
                    now = Decision((was.possible | yes) & ~no, (was.certain | yes) & ~no)
                    either = yes | no
                    up, down = (np.where(either, EVERY, way) for way in (found.up, found.down))
                    found = Trend(now, up, down)
            done[id(node)] = found
        return done, empty, leaning

    def middle(self, lo: Floats, hi: Floats) -> Floats:
        """The point, or the lower index, half way."""
        half = lo / 2 + hi / 2
        return np.clip(np.where(self.real[:, None], half, np.floor(half)), lo, hi)

    def roughly(self, lo: Floats, hi: Floats) -> Floats:
        """Below which the objective cannot be in each box, to first order."""
        known, empty, _ = self._trends(lo, hi)
        return np.where(empty, np.inf, known[id(self.root)].range.lo)

    def _open(self, count: int, known: Mapping[int, Trend]) -> NDArray[np.bool_]:
        """Which comparisons (rows) are neither certain nor impossible in each box."""
        found = np.zeros((len(self.atoms), count), dtype=bool)
        for row, node in zip(found, self.atoms, strict=True):
            decision = known[id(node)].range
            row[:] = decision.possible & np.logical_not(decision.certain)
        return found

    def closely(self, lo: Floats, hi: Floats) -> Bounded:
        """The same to second order along the real axes, where that is higher."""
        count, dims = lo.shape[1], len(self.dims)
        known, empty, leaning = self._trends(lo, hi)
        root = known[id(self.root)]
        bits = np.uint64(1) << np.arange(dims, dtype=np.uint64)[:, None]
        rises, falls = np.zeros((2, *lo.shape), dtype=bool)
        rises[:dims], falls[:dims] = (
            (np.broadcast_to(way, (count,)) & bits) != 0 for way in (root.up, root.down)
        )
        least = np.where(empty, np.inf, root.range.lo)
        wide = self._open(count, known)
        depends = self.bits[id(self.value)]
        along = [place for place in self.lines if depends >> place & 1]
        if along:
            centre = self.middle(lo, hi)
            low, high = (np.where(self.real[:, None], centre, ends) for ends in (lo, hi))
            there = self._trends(low, high)[0][id(self.value)].range
            value = Interval(there.lo, there.lo)
            free = np.ones(count, dtype=bool)
            if self.holds is not None:
                free &= known[id(self.holds)].range.certain
            for place in along:
                bit = np.uint64(1 << place)
                found = slopes(self.steps, known, self.lines[place], bit)[id(self.value)]
                assert found is not None
                middle = Interval(centre[place], centre[place])
                off = _TO["sub"](Interval(lo[place], hi[place]), middle)
                value = _TO["add"](value, _TO["mul"](found, off))
                rises[place] |= free & (found.lo >= 0)
                falls[place] |= free & (found.hi <= 0)
            lost = value.undefined | there.undefined | np.isnan(value.lo)
            second = np.where(lost, -np.inf, value.lo)
            least = np.fmax(least, second - _SLACK * np.abs(second))
        # at the end of a box what is supposed in it need not be so
        return Bounded(least, rises & ~leaning, falls & ~leaning, wide)

    def at(self, points: Floats) -> Floats:
        """The objective at points (columns); of one alone, to the bit, what an answer tells."""
        places = dict(zip(self.dims, points, strict=False))
        own = set(self.lines.values())
        index = {axis: row.astype(int) for axis, row in places.items() if axis not in own}
        values = {
            name: places[name]
            if name in own
            else leaf.array[tuple(index[axis] for axis in leaf.axes)]
            for name, leaf in self.used.items()
        }
        found = interpret_arrays((self.root,), values)[0]
        return np.array(np.broadcast_to(np.asarray(found, dtype=float), points.shape[1:]))
