"""Merge axes that act together: of combinations that no equation can tell apart, keep one.

Registers and shared memory act on the run time only through the number of blocks that fit.
Thousands of combinations of these two and of threads per block reduce to a few. To merge some axes,
evaluate every quantity that depends only on these axes and that other equations use. Each distinct
row of such values becomes an index of the new axis, and stands for the first combination, in axis
order, that has the row. Rows that break a condition are left out.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.problem import (
    BoxProblem,
    Floats,
    Indices,
    Leaves,
    Mask,
    MergedProblem,
    Places,
    evenly_spaced,
    order_by_similarity,
)
from sweeps.bounds.rounded_shares import spread_limits
from sweeps.grid.build import fold_constants
from sweeps.grid.grid import Leaf, unravel
from sweeps.runtime.search_loop import SearchStats
from symbolic.node import INFINITE, conjuncts
from symbolic.ops import Node, constant, interpret_arrays, reference, references, walk

#: Axes are merged only if at most this share of their combinations has distinct rows.
_MAX_SHARE = 0.75
_MIN_POINTS = sizes.MERGE_WORTH


def merge_axes(
    root: Node,
    leaves: Leaves,
    sizes: Mapping[str, int],
    fixed: Mapping[str, int],
    stats: SearchStats | None = None,
    *,
    unmerged_axis: str | None = None,
    more: Sequence[Node] = (),
) -> MergedProblem:
    """Fix some axes of an objective, and merge the other axes except ``unmerged_axis``.

    Return the problem over the remaining axes. ``more`` are further objectives, which are infinite
    where the first objective is infinite. When the time is up, merging ends.
    """
    used = {}
    for name in references(root, *more):
        leaf = leaves[name]
        index = tuple(fixed.get(axis, slice(None)) for axis in leaf.axes)
        axes = tuple(axis for axis in leaf.axes if axis not in fixed)
        used[name] = Leaf(axes=axes, array=np.asarray(leaf.array[index]))
    plain = {name: float(leaf.array) for name, leaf in used.items() if not leaf.axes}
    roots = [_limit_values(each) for each in fold_constants([root, *more], plain, {})[0]]
    left = {axis: size for axis, size in sizes.items() if axis not in fixed}
    roots = spread_limits(roots, used, left)
    known = {axis: index for axis, index in fixed.items() if axis in sizes}
    merging = _AxisMerger(roots, used, left, stats or SearchStats(), unmerged_axis)
    while math.prod(merging.sizes.values()) > _MIN_POINTS and merging.step():
        pass
    first, *others = merging.roots
    problem = BoxProblem(first, merging.leaves, merging.sizes, others)
    return MergedProblem(problem=problem, rows=tuple(merging.rows.values()), fixed_indices=known)


class _AxisMerger:
    def __init__(
        self,
        roots: Sequence[Node],
        leaves: dict[str, Leaf],
        sizes: dict[str, int],
        stats: SearchStats,
        unmerged_axis: str | None,
    ) -> None:
        self.roots, self.leaves, self.sizes, self.axis_order = roots, leaves, sizes, tuple(sizes)
        self.stats, self.unmerged_axis = stats, unmerged_axis
        self.failed_groups: set[tuple[str, ...]] = set()
        self.injective_leaves: dict[str, bool] = {}
        self.rows: dict[str, tuple[tuple[str, ...], Indices]] = {
            axis: ((axis,), np.arange(size)[None]) for axis, size in sizes.items()
        }
        self.nodes, self.step_axes = self._walk_steps()

    def step(self) -> bool:
        """Merge the axis or pair of axes with the most equal rows; return False if none helps."""
        axes = list(self.sizes)
        pairs = [*((axis,) for axis in axes), *itertools.combinations(axes, 2)]
        best: tuple[float, tuple[str, ...]] | None = None
        for some in pairs:
            if self.stats.is_late:
                return False
            count = math.prod(self.sizes[axis] for axis in some)
            if some in self.failed_groups or self.unmerged_axis in some:
                continue
            if not 1 < count <= sizes.MERGE_MOST or self._has_shared_table(some):
                continue
            tried = {axis: evenly_spaced(self.sizes[axis], sizes.MERGE_TRIED) for axis in some}
            share = self._distinct_share(some, tried)
            if share > _MAX_SHARE:
                self.failed_groups.add(some)
            elif best is None or share < best[0]:
                best = share, some
        if best is None:
            return False
        return self._merge_group(best[1])

    def _has_shared_table(self, group: Iterable[str]) -> bool:
        """True if a leaf depends on axes of the group and also on other axes."""
        inside = set(group)
        axes = (set(leaf.axes) for leaf in self.leaves.values())
        return any(inside & some and some - inside for some in axes)

    def _walk_steps(self) -> tuple[list[Node], dict[int, frozenset[str]]]:
        nodes, result = walk(self.roots), dict[int, frozenset[str]]()
        for node in nodes:
            if node.op == "reference":
                result[id(node)] = frozenset(self.leaves[node.args[0]].axes)
            elif node.op == "constant":
                result[id(node)] = frozenset()
            else:
                result[id(node)] = frozenset().union(*(result[id(arg)] for arg in node.args))
        return nodes, result

    def _read_nodes(self, group: Iterable[str]) -> tuple[list[Node], list[Node]]:
        inside = set(group)
        local = {key for key, axes in self.step_axes.items() if axes and axes <= inside}
        read = {id(root): root for root in self.roots if id(root) in local}
        for node in self.nodes:
            if node.op not in ("constant", "reference") and id(node) not in local:
                read.update({id(arg): arg for arg in node.args if id(arg) in local})
        required = [node for node in _required_conditions(self.roots) if id(node) in local]
        return list(read.values()), required

    def _has_distinct_values(self, nodes: Sequence[Node], group: Iterable[str]) -> bool:
        """True if merging is useless: along each axis, the values of some node are all distinct."""
        left = set(group)
        for node in nodes:
            if node.op == "reference" and self._is_injective(node.args[0]):
                left -= self.step_axes[id(node)]
        return not left

    def _is_injective(self, name: str) -> bool:
        if name not in self.injective_leaves:
            array = self.leaves[name].array
            self.injective_leaves[name] = array.ndim == 1 and np.unique(array).size == array.size
        return self.injective_leaves[name]

    def _values(
        self, nodes: Sequence[Node], group: Sequence[str], index: Places
    ) -> list[NDArray[Any]]:
        shape = tuple(len(index[axis]) for axis in group)
        values = {}
        for name in references(*nodes):
            leaf = self.leaves[name].transpose(group).take(index)
            values[name] = np.atleast_1d(leaf.align_to(group))
        result = interpret_arrays(nodes, values)
        return [np.broadcast_to(value, shape).reshape(-1).astype(np.float64) for value in result]

    def _distinct_share(self, group: tuple[str, ...], index: Places) -> float:
        """Return (number of distinct allowed rows) / (number of combinations)."""
        read, needed = self._read_nodes(group)
        if not read:
            return 0.0
        if not needed and self._has_distinct_values(read, group):
            return 1.0
        allowed, rows = self._evaluate_rows(read, needed, group, index)
        bits = np.ascontiguousarray(rows[:, allowed].T).view(np.int64)
        return len(np.unique(bits, axis=0)) / rows.shape[1] if allowed.any() else 0.0

    def _evaluate_rows(
        self, read: Sequence[Node], needed: Sequence[Node], group: Sequence[str], index: Places
    ) -> tuple[Mask, Floats]:
        values = self._values([*read, *needed], group, index)
        allowed = np.ones(values[0].size, dtype=bool)
        for condition in values[len(read) :]:
            allowed &= condition != 0
        return allowed, np.stack(values[: len(read)])

    def _grid_indices(self, group: Sequence[str], places: Indices) -> dict[str, Indices]:
        split = unravel(places, tuple(self.sizes[axis] for axis in group))
        return {
            name: table[k][at]
            for axis, at in zip(group, split, strict=True)
            for (names, table) in (self.rows[axis],)
            for k, name in enumerate(names)
        }

    def _grid_order(self, group: Sequence[str], places: Indices) -> Indices:
        result = self._grid_indices(group, places)
        return np.lexsort([result[axis] for axis in reversed(self.axis_order) if axis in result])

    def _merge_group(self, group: tuple[str, ...]) -> bool:
        read, needed = self._read_nodes(group)
        index = {axis: np.arange(self.sizes[axis]) for axis in group}
        if read:
            allowed, rows = self._evaluate_rows(read, needed, group, index)
            places = np.flatnonzero(allowed) if allowed.any() else np.zeros(1, dtype=np.int64)
            places = places[self._grid_order(group, places)]
            code = np.zeros(places.size, dtype=np.int64)
            for values in rows:
                if self.stats.is_late:
                    return False
                row = np.unique(values[places].view(np.int64), return_inverse=True)[1]
                code = code * (int(row.max()) + 1) + row
                code = np.unique(code, return_inverse=True)[1]
            places = places[np.sort(np.unique(code, return_index=True)[1])]
            rows = rows[:, places]
            order = order_by_similarity(rows, self.stats)
            places, rows = places[order], rows[:, order]
        else:
            places = np.arange(math.prod(self.sizes[axis] for axis in group))
            places, rows = places[self._grid_order(group, places)][:1], np.empty((0, 1))
        originals = list(self._grid_indices(group, places).items())
        merged = f"merged_{len(self.failed_groups)}_{group[0]}"
        swap = {}
        for number, (node, row) in enumerate(zip(read, rows, strict=True)):
            name = f"{merged}_{number}"
            self.leaves[name] = Leaf(axes=(merged,), array=row)
            new = reference(name)
            swap[id(node)] = constant(new > 0.5) if node.is_boolean else new
        self.roots = _replace_nodes(self.roots, swap)
        names = references(*self.roots)
        self.leaves = {name: self.leaves[name] for name in names}
        order_of = [merged if axis == group[0] else axis for axis in self.sizes]
        order_of = [axis for axis in order_of if axis == merged or axis not in group]
        self.sizes[merged] = len(places)
        self.rows[merged] = tuple(n for n, _ in originals), np.stack([t for _, t in originals])
        self.sizes = {axis: self.sizes[axis] for axis in order_of}
        self.rows = {axis: self.rows[axis] for axis in order_of}
        self.failed_groups.add((merged,))
        self.nodes, self.step_axes = self._walk_steps()
        return True


def _required_conditions(roots: Sequence[Node]) -> list[Node]:
    result: list[dict[int, Node]] = []
    for root in roots:
        tests = root.args[:1] if root.op == "where" and root.args[2] is INFINITE else ()
        result.append({id(node): node for node in conjuncts(tests)})
    return [node for key, node in result[0].items() if all(key in other for other in result)]


def _limit_values(root: Node) -> Node:
    """Put the limits that conditions set into the objective, where they tighten its bounds.

    Where ``q >= 2`` must hold, ``max(q, 2)`` is ``q``, but its bounds are tighter over boxes in
    which the condition holds at some points only.
    """
    if root.op != "where" or root.args[2] is not INFINITE:
        return root
    condition, value, undefined = root.args
    swap: dict[int, Node] = {}
    for test in conjuncts([condition]):
        if test.op in ("less", "less_equal"):
            small, large = test.args
            for op, limit, limited in (("maximum", small, large), ("minimum", large, small)):
                # max(-0.0, 0) may be 0, so a limit of 0 could change the sign of a zero
                fits = limit.op == "constant" and 0 < abs(limit.args[0]) < math.inf
                if fits and limited is not value:
                    swap[id(limited)] = Node(op, (swap.get(id(limited), limited), limit))
    if not swap:
        return root
    (result,) = _replace_nodes([value], swap)
    (condition,) = _replace_nodes([condition], {id(value): result})  # they share its steps
    return Node("where", (condition, result, undefined))


def _replace_nodes(roots: Sequence[Node], swap: Mapping[int, Node]) -> list[Node]:
    done: dict[int, Node] = {}
    for node in walk(roots):
        if id(node) in swap:
            done[id(node)] = swap[id(node)]
        elif node.op in ("constant", "reference"):
            done[id(node)] = node
        else:
            done[id(node)] = Node(node.op, tuple(done[id(arg)] for arg in node.args))
    return [done[id(root)] for root in roots]
