"""Axes that act together as one: of the combinations that no equation tells apart one is kept.

Registers and shared memory act on the run time only through the blocks that fit; thousands of
combinations of them, and of the threads of a block, come to a few. A set of axes is merged by
evaluating every quantity that depends on these axes alone and is read elsewhere: the distinct rows
of such values are the indices of one axis that replaces the set. Each row stands for the first of
its combinations in the order of the axes; rows that break a condition are left out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.problem import Indices, Problem, Space, alike, thinned
from sweeps.grid.build import folded
from sweeps.grid.flat_index import unravel
from sweeps.grid.grid import Leaf
from sweeps.runtime.loop import Tally
from symbolic.node import conjuncts
from symbolic.ops import Node, constant, interpret_arrays, reference, references, walk

#: Combinations that are evaluated to merge axes; values of each axis tried first; the share of
#: combinations that may be left; points below which nothing is merged.
_MOST, _TRIED, _SHARE, _WORTH = sizes.MERGE_MOST, sizes.MERGE_TRIED, 0.75, sizes.MERGE_WORTH


def reduced(
    root: Node,
    leaves: Mapping[str, Leaf],
    sizes: Mapping[str, int],
    fixed: Mapping[str, int],
    tally: Tally | None = None,
    *,
    apart: str | None = None,
    more: Sequence[Node] = (),
) -> Space:
    """The objective with some axes fixed, others but ``apart`` merged, ready to be searched.

    ``more`` are objectives that are infinite where the first is; once the time of a tally is up, no
    more axes are merged.
    """
    used = {}
    for name in references(root, *more):
        leaf = leaves[name]
        index = tuple(fixed.get(axis, slice(None)) for axis in leaf.axes)
        axes = tuple(axis for axis in leaf.axes if axis not in fixed)
        used[name] = Leaf(axes=axes, array=np.asarray(leaf.array[index]))
    plain = {name: float(leaf.array) for name, leaf in used.items() if not leaf.axes}
    roots = folded([root, *more], plain, {})[0]
    known = {axis: index for axis, index in fixed.items() if axis in sizes}
    left = {axis: size for axis, size in sizes.items() if axis not in fixed}
    merging = _Merging(roots, used, left, tally or Tally(), apart)
    while math.prod(merging.sizes.values()) > _WORTH and merging.step():
        pass
    first, *others = merging.roots
    problem = Problem(first, merging.leaves, merging.sizes, others)
    return Space(problem=problem, rows=tuple(merging.rows.values()), fixed=known)


class _Merging:
    def __init__(
        self,
        roots: Sequence[Node],
        leaves: dict[str, Leaf],
        sizes: dict[str, int],
        tally: Tally,
        apart: str | None,
    ) -> None:
        self.roots, self.leaves, self.sizes, self.order = roots, leaves, sizes, tuple(sizes)
        self.tally, self.apart = tally, apart
        self.failed: set[tuple[str, ...]] = set()
        self.unlike: dict[str, bool] = {}
        self.rows: dict[str, tuple[tuple[str, ...], Indices]] = {
            axis: ((axis,), np.arange(size)[None]) for axis, size in sizes.items()
        }
        self.nodes, self.axes = self._walked()

    def step(self) -> bool:
        """Merge one set of axes, if any is worth it."""
        axes = list(self.sizes)
        pairs = [*((axis,) for axis in axes), *itertools.combinations(axes, 2)]
        best: tuple[float, tuple[str, ...]] | None = None
        for some in pairs:
            if self.tally.late:
                return False
            count = math.prod(self.sizes[axis] for axis in some)
            if some in self.failed or self.apart in some or not 1 < count <= _MOST:
                continue
            if self._tied(some):
                continue
            tried = {axis: thinned(self.sizes[axis], _TRIED) for axis in some}
            share = self._distinct(some, tried)
            if share > _SHARE:
                self.failed.add(some)
            elif best is None or share < best[0]:
                best = share, some
        if best is None:
            return False
        return self._merge(best[1])

    def _tied(self, some: Iterable[str]) -> bool:
        """Whether a table lies along some of these axes and of others, too."""
        inside = set(some)
        return any(
            inside & set(leaf.axes) and set(leaf.axes) - inside for leaf in self.leaves.values()
        )

    def _walked(self) -> tuple[list[Node], dict[int, frozenset[str]]]:
        """Every step, and the axes on which each depends."""
        nodes, found = walk(self.roots), dict[int, frozenset[str]]()
        for node in nodes:
            if node.op == "reference":
                found[id(node)] = frozenset(self.leaves[node.args[0]].axes)
            elif node.op == "constant":
                found[id(node)] = frozenset()
            else:
                found[id(node)] = frozenset().union(*(found[id(arg)] for arg in node.args))
        return nodes, found

    def _read(self, some: Iterable[str]) -> tuple[list[Node], list[Node]]:
        """What depends on some axes alone and is read elsewhere; conditions that must hold."""
        inside = set(some)
        own = {key for key, axes in self.axes.items() if axes and axes <= inside}
        read = {id(root): root for root in self.roots if id(root) in own}
        for node in self.nodes:
            if node.op not in ("constant", "reference") and id(node) not in own:
                read.update({id(arg): arg for arg in node.args if id(arg) in own})
        return list(read.values()), [node for node in _needed(self.roots) if id(node) in own]

    def _apart(self, read: Sequence[Node], some: Iterable[str]) -> bool:
        """Whether every value of every axis is read as it is, so that none are alike."""
        left = set(some)
        for node in read:
            if node.op == "reference" and self._unlike(node.args[0]):
                left -= self.axes[id(node)]
        return not left

    def _unlike(self, name: str) -> bool:
        """Whether a leaf has another value at each index of its one axis."""
        if name not in self.unlike:
            array = self.leaves[name].array
            self.unlike[name] = array.ndim == 1 and np.unique(array).size == array.size
        return self.unlike[name]

    def _values(
        self, nodes: Sequence[Node], some: Sequence[str], index: Mapping[str, Indices]
    ) -> list[NDArray[Any]]:
        shape = tuple(len(index[axis]) for axis in some)
        values = {}
        for name in references(*nodes):
            values[name] = np.atleast_1d(self.leaves[name].ordered(some).taken(index).over(some))
        found = interpret_arrays(nodes, values)
        return [np.broadcast_to(value, shape).reshape(-1).astype(np.float64) for value in found]

    def _distinct(self, some: tuple[str, ...], index: Mapping[str, Indices]) -> float:
        """Which share of some combinations is told apart."""
        read, needed = self._read(some)
        if not read:
            return 0.0
        if not needed and self._apart(read, some):
            return 1.0
        kept, rows = self._table(read, needed, some, index)
        bits = np.ascontiguousarray(rows[:, kept].T).view(np.int64)
        return len(np.unique(bits, axis=0)) / rows.shape[1] if kept.any() else 0.0

    def _table(
        self,
        read: Sequence[Node],
        needed: Sequence[Node],
        some: Sequence[str],
        index: Mapping[str, Indices],
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        values = self._values([*read, *needed], some, index)
        kept = np.ones(values[0].size, dtype=bool)
        for condition in values[len(read) :]:
            kept &= condition != 0
        return kept, np.stack(values[: len(read)])

    def _originals(self, some: Sequence[str], places: Indices) -> dict[str, Indices]:
        """The indices along the axes of the grid of some combinations, by axis."""
        split = unravel(places, tuple(self.sizes[axis] for axis in some))
        return {
            name: table[k][at]
            for axis, at in zip(some, split, strict=True)
            for (names, table) in (self.rows[axis],)
            for k, name in enumerate(names)
        }

    def _order(self, some: Sequence[str], places: Indices) -> Indices:
        """The order of the axes of the grid, in which the rows of merged axes do not stand."""
        found = self._originals(some, places)
        return np.lexsort([found[axis] for axis in reversed(self.order) if axis in found])

    def _merge(self, some: tuple[str, ...]) -> bool:
        """Replace some axes by one; whether there was time for it."""
        read, needed = self._read(some)
        index = {axis: np.arange(self.sizes[axis]) for axis in some}
        if read:
            kept, rows = self._table(read, needed, some, index)
            places = np.flatnonzero(kept) if kept.any() else np.zeros(1, dtype=np.int64)
            places = places[self._order(some, places)]
            code = np.zeros(places.size, dtype=np.int64)
            for values in rows:
                if self.tally.late:
                    return False
                row = np.unique(values[places].view(np.int64), return_inverse=True)[1]
                code = code * (int(row.max()) + 1) + row
                code = np.unique(code, return_inverse=True)[1]
            places = places[np.sort(np.unique(code, return_index=True)[1])]
            rows = rows[:, places]
            order = alike(rows, self.tally)
            places, rows = places[order], rows[:, order]
        else:
            places = np.arange(math.prod(self.sizes[axis] for axis in some))
            places, rows = places[self._order(some, places)][:1], np.empty((0, 1))
        originals = list(self._originals(some, places).items())
        merged = f"merged_{len(self.failed)}_{some[0]}"
        swap = {}
        for number, (node, row) in enumerate(zip(read, rows, strict=True)):
            name = f"{merged}_{number}"
            self.leaves[name] = Leaf(axes=(merged,), array=row)
            new = reference(name)
            swap[id(node)] = constant(new > 0.5) if node.is_boolean else new
        self.roots = _replaced(self.roots, swap)
        names = references(*self.roots)
        self.leaves = {name: self.leaves[name] for name in names}
        order_of = [merged if axis == some[0] else axis for axis in self.sizes]
        order_of = [axis for axis in order_of if axis == merged or axis not in some]
        self.sizes[merged] = len(places)
        self.rows[merged] = tuple(n for n, _ in originals), np.stack([t for _, t in originals])
        self.sizes = {axis: self.sizes[axis] for axis in order_of}
        self.rows = {axis: self.rows[axis] for axis in order_of}
        self.failed.add((merged,))
        self.nodes, self.axes = self._walked()
        return True


def _needed(roots: Sequence[Node]) -> list[Node]:
    """Conditions without which the objectives are infinite: those joined in the choice of each."""
    found: list[dict[int, Node]] = []
    for root in roots:
        tests = root.args[:1] if root.op == "where" and repr(root.args[2]) == "inf" else ()
        found.append({id(node): node for node in conjuncts(tests)})
    return [node for key, node in found[0].items() if all(key in other for other in found)]


def _replaced(roots: Sequence[Node], swap: Mapping[int, Node]) -> list[Node]:
    done: dict[int, Node] = {}
    for node in walk(roots):
        if id(node) in swap:
            done[id(node)] = swap[id(node)]
        elif node.op in ("constant", "reference"):
            done[id(node)] = node
        else:
            done[id(node)] = Node(node.op, tuple(done[id(arg)] for arg in node.args))
    return [done[id(root)] for root in roots]
