"""The grid: a model joined with axes and values, and the axes on which each quantity depends."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sweeps.grid.axes import Axis
from symbolic.answer import value_text
from symbolic.graph import Condition, Graph
from symbolic.model import Model
from symbolic.ops import Node, both, constant, interpret_arrays, reference, references, where
from symbolic.quantities import indexed_quantity

# NumPy's `unravel_index` (2.3 to 2.4) is wrong for arrays of shape (n, 1) with n > 8,192. A test
# forbids the use of `unravel_index` and `ravel_multi_index`.


def unravel(flat: ArrayLike, sizes: Sequence[int]) -> tuple[NDArray[np.int64], ...]:
    """Convert flat indices (any shape) to an index along each axis; the last axis varies fastest.

    >>> [index.tolist() for index in unravel([[0], [5]], (2, 3))]
    [[[0], [1]], [[0], [2]]]
    """
    rest = np.asarray(flat, dtype=np.int64)
    split: list[NDArray[np.int64]] = []
    for size in reversed(sizes):
        whole = rest // size
        split.append(rest - whole * size)
        rest = whole
    if rest.any():
        raise IndexError(f"a flat index is outside a grid of {' x '.join(map(str, sizes))}")
    return tuple(reversed(split))


def ravel(index: Sequence[Any], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Convert indices along each axis to flat indices; the inverse of :func:`unravel`.

    >>> ravel(([0, 1], [0, 2]), (2, 3)).tolist()
    [0, 5]
    """
    if math.prod(sizes) > 2**63:
        raise OverflowError(f"{math.prod(sizes):,} places have no flat index of 64 bits")
    flat = np.zeros((), dtype=np.int64)
    for along, size in zip(index, sizes, strict=True):
        along = np.asarray(along, dtype=np.int64)
        if along.size and (along.min() < 0 or along.max() >= size):
            raise IndexError(f"an index is outside an axis of {size} values")
        flat = flat * size + along
    return np.asarray(flat)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """The values of one quantity over some axes, in the order of the grid.

    A quantity that also depends on ``switch_axes`` has a leaf for each set of their labels.
    ``failures`` maps the flat index of each missing value to the reason why it is missing.
    """

    axes: tuple[str, ...]
    array: NDArray[Any]
    switch_axes: tuple[str, ...] = ()
    failures: Mapping[int, str] = field(default_factory=dict)

    @property
    def pending_group(self) -> Any:
        """Return the StatisticGroup that will compute the values; None if they are known."""
        return None

    def align_to(self, axes: Sequence[str]) -> NDArray[Any]:
        """Return the values, reshaped so that they broadcast over ``axes``."""
        sizes = dict(zip(self.axes, self.array.shape, strict=True))
        return self.array.reshape([sizes.get(axis, 1) for axis in axes])

    def slice_axes(self, slices: Mapping[str, slice]) -> Leaf:
        """Return the part of the leaf within slices of some axes."""
        if not any(axis in slices for axis in self.axes):
            return self
        index = tuple(slices.get(axis, slice(None)) for axis in self.axes)
        array, failed = self.array[index], {}
        if self.failures:
            numbers = np.arange(self.array.size).reshape(self.array.shape)[index].reshape(-1)
            known = self.failures
            failed = {k: known[n] for k, n in enumerate(numbers.tolist()) if n in known}
        return replace(self, array=array, failures=failed)

    def take(self, indices: Mapping[str, NDArray[np.int64]]) -> Leaf:
        """Return the leaf at the given indices along some axes, in the given order."""
        if not any(axis in indices for axis in self.axes):
            return self
        array = np.asarray(self.array)
        for at, axis in enumerate(self.axes):
            if axis in indices:
                array = array.take(indices[axis], axis=at)
        return replace(self, array=array)

    def gather(self, indices: Mapping[str, Any]) -> NDArray[Any]:
        """Return the values at points (indices along axes, first), then along sliced axes."""
        leaf = self.transpose(sorted(self.axes, key=lambda axis: isinstance(indices[axis], slice)))
        return np.asarray(leaf.array[tuple(indices[axis] for axis in leaf.axes)])

    def transpose(self, axes: Sequence[str]) -> Leaf:
        """Return the leaf with its axes in another order."""
        order = tuple(axis for axis in axes if axis in self.axes)
        if order == self.axes:
            return self
        array = self.array.transpose([self.axes.index(axis) for axis in order])
        return Leaf(axes=order, array=array, switch_axes=self.switch_axes)


def leaf_at(leaf: Leaf, fixed: Mapping[str, int]) -> Leaf:
    """Return a leaf at fixed indices of some of its axes, over its other axes."""
    cut = leaf.slice_axes({axis: slice(index, index + 1) for axis, index in fixed.items()})
    left = tuple(axis for axis in leaf.axes if axis not in fixed)
    array = np.asarray(cut.align_to(left))
    return Leaf(axes=left, array=array, switch_axes=leaf.switch_axes, failures=cut.failures)


def compute_pending(leaves: Iterable[Leaf]) -> None:
    """Compute all leaves that are not computed yet. One pass serves all leaves that share it."""
    passes: dict[int, list[Any]] = {}
    for leaf in leaves:
        group = leaf.pending_group
        if group is not None:
            groups = passes.setdefault(id(group.shared_pass), [])
            if group not in groups:
                groups.append(group)
    for groups in passes.values():
        groups[0].compute(groups)


FEASIBLE = "feasible"
_TYPES = {"float": np.float64, "flag": np.int8, "bool": np.bool_}


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A model joined with axes, as :func:`sweeps.grid.build.build_grid` makes it.

    The keys of ``graphs`` and ``leaves`` are labels of the switch axes.
    """

    model: Model
    axes: Mapping[str, Axis]
    switch_axes: tuple[str, ...]
    graphs: Mapping[tuple[str, ...], Graph]
    leaves: Mapping[tuple[str, ...], Mapping[str, Leaf]]
    outputs: tuple[str, ...]
    _dims: dict[Any, tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)
    #: Cached results that depend only on the grid: passed checks and prepared loop nests.
    cache: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def points(self) -> int:
        """Return the number of configurations."""
        return math.prod(axis.size for axis in self.axes.values())

    def shape(self, dims: Iterable[str]) -> tuple[int, ...]:
        """Return the sizes of some axes."""
        return tuple(self.axes[dim].size for dim in dims)

    def sort_axes(self, names: Iterable[str]) -> tuple[str, ...]:
        """Sort names of axes into the order of the grid."""
        wanted = set(names)
        return tuple(axis for axis in self.axes if axis in wanted)

    @property
    def graph(self) -> Graph:
        """Return the graph for the first label of each switch axis."""
        return next(iter(self.graphs.values()))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Return the rules and constraints under all switch labels, each once."""
        result = {c.text: c for graph in self.graphs.values() for c in graph.conditions}
        return tuple(result.values())

    def dims(self, name: str) -> tuple[str, ...]:
        """Return the axes on which a quantity, or ``feasible``, depends."""
        if name not in self._dims:
            if name == FEASIBLE:
                dims = {d for condition in self.conditions for d in self.condition_dims(condition)}
            else:
                dims = set()
                for key, graph in self.graphs.items():
                    if name not in graph.definitions:  # other labels use the quantity
                        continue
                    dims.update(self.node_dims(graph.flat(name), key))
                    dims.update(graph.switches_of([name]) & set(self.switch_axes))
            self._dims[name] = self.sort_axes(dims)
        return self._dims[name]

    def condition_dims(self, condition: Condition) -> tuple[str, ...]:
        """Return the axes on which a condition depends."""
        if condition.text not in self._dims:
            dims: set[str] = set()
            for key, graph in self.graphs.items():
                if any(c.text == condition.text for c in graph.conditions):
                    dims.update(self.node_dims(graph.flat_condition(condition), key))
                    names = references(condition.node)
                    dims.update(graph.switches_of(names) & set(self.switch_axes))
                else:
                    dims.update(self.switch_axes)
            self._dims[condition.text] = self.sort_axes(dims)
        return self._dims[condition.text]

    def node_dims(self, node: Node, key: tuple[str, ...]) -> set[str]:
        """Return the axes of the leaves below a node."""
        leaves = self.leaves[key]
        used = [leaves[name] for name in references(node)]
        return {axis for leaf in used for axis in (*leaf.axes, *leaf.switch_axes)}

    def feasible_node(self, key: tuple[str, ...]) -> Node:
        """Return the conjunction of all rules and constraints under some switch labels."""
        graph = self.graphs[key]
        return _all(graph.flat_condition(c) for c in graph.conditions)

    def output_node(self, name: str, key: tuple[str, ...], dims: Sequence[str]) -> Node:
        """Return an output's node; it is NaN (-1 for flags) where a rule over ``dims`` fails."""
        if name == FEASIBLE:
            return self.feasible_node(key)
        node = self.graphs[key].flat(name)
        rules = [*self.rule_nodes(key, dims), *self.no_failure_nodes(node, key)]
        if not rules:
            return node
        broken = -1.0 if self.kind(name) == "flag" else math.nan
        return constant(where(_all(rules), node, broken))

    def rule_nodes(self, key: tuple[str, ...], dims: Sequence[str]) -> list[Node]:
        """Return the rules of the model that depend only on axes in ``dims``."""
        graph = self.graphs[key]
        return [
            graph.flat_condition(c)
            for c in graph.conditions
            if c.is_rule and set(self.condition_dims(c)) <= set(dims)
        ]

    def no_failure_nodes(self, node: Node, key: tuple[str, ...]) -> list[Node]:
        """Return conditions that are true where no leaf below a node has a failure."""
        failed = (n for n in references(node) if self.leaves[key][n].failures)
        return [constant(reference(name) >= -math.inf) for name in failed]

    def dtype(self, name: str) -> Any:
        """Return the dtype in which an output is stored."""
        return _TYPES[self.kind(name)]

    def kind(self, name: str) -> str:
        """Return how an output is stored: 'float', 'flag' (a small integer) or 'bool'."""
        if name == FEASIBLE:
            return "bool"
        return "flag" if self.flag_meanings(name) else "float"

    def flag_meanings(self, name: str) -> Mapping[int, str]:
        """Return the meaning of each value of a case or bound; empty if the output is a number."""
        for graph in self.graphs.values():
            definition = graph.definitions.get(name)
            if definition is not None and definition.equation is not None:
                return definition.equation.flags
        return {}

    def keys(self, dims: Sequence[str]) -> Iterator[tuple[dict[str, int], tuple[str, ...]]]:
        """Yield (indices, labels) for each combination of labels of the switch axes in ``dims``."""
        within = [axis for axis in self.switch_axes if axis in dims]
        for index in itertools.product(*(range(self.axes[axis].size) for axis in within)):
            at = dict(zip(within, index, strict=True))
            yield at, self.switch_labels(at)

    def switch_labels(self, indices: Mapping[str, int]) -> tuple[str, ...]:
        """Return the label of each switch axis at its index (default: 0)."""
        return tuple(self.axes[a].labels[indices.get(a, 0)] for a in self.switch_axes)

    def non_switch_axes(self, dims: Iterable[str]) -> list[str]:
        """Return the axes that are not switch axes."""
        return [axis for axis in dims if axis not in self.switch_axes]

    def split_by_switches(
        self, array: NDArray[Any], dims: Sequence[str]
    ) -> Iterator[tuple[tuple[str, ...], NDArray[Any]]]:
        """Yield each key of switch labels, and the view of an array for these labels.

        ``dims`` are the last axes of the array.
        """
        for at, key in self.keys(dims):
            yield key, array[(..., *(at.get(dim, slice(None)) for dim in dims))]

    def evaluate(
        self, roots: Sequence[Node], key: tuple[str, ...], dims: Sequence[str]
    ) -> list[NDArray[Any]]:
        """Evaluate nodes with NumPy, broadcast over the axes ``dims`` (without switch axes)."""
        leaves = self.leaves[key]
        names = references(*roots)
        compute_pending(leaves[name] for name in names)
        # use arrays, because division of a Python float by zero raises an error
        values = {name: np.atleast_1d(leaves[name].align_to(dims)) for name in names}
        shape = self.shape(dims)
        result = interpret_arrays(roots, values)
        if not shape:
            result = [np.asarray(value).reshape(()) for value in result]
        return [np.broadcast_to(value, shape) for value in result]

    def evaluate_cases(
        self, roots: Mapping[tuple[str, ...], Node], dims: Sequence[str]
    ) -> NDArray[np.float64]:
        """Evaluate a node of each set of switch labels, over the axes ``dims``."""
        result = np.empty(self.shape(dims))
        for key, piece in self.split_by_switches(result, dims):
            piece[...] = self.evaluate([roots[key]], key, self.non_switch_axes(dims))[0]
        return result

    def evaluate_point(self, point: Mapping[str, int], names: Sequence[str]) -> dict[str, Any]:
        """Return quantities, or ``feasible``, at a point, even if the point breaks a rule."""
        key = self.switch_labels(point)
        graph, leaves = self.graphs[key], self.leaves[key]
        roots = [self.feasible_node(key) if n == FEASIBLE else graph.flat(n) for n in names]
        values = {
            name: np.array([leaves[name].array[tuple(point[a] for a in leaves[name].axes)]])
            for name in references(*roots)
        }
        result = [np.atleast_1d(value)[0] for value in interpret_arrays(roots, values)]
        return dict(zip(names, result, strict=True))

    def outputs_at_points(
        self, indices: Mapping[str, NDArray[np.int64]], names: Sequence[str]
    ) -> dict[str, NDArray[Any]]:
        """Return outputs, as a run stores them, at points given by an index along each axis."""
        count = len(next(iter(indices.values()))) if indices else 1
        result = {name: np.empty(count, dtype=self.dtype(name)) for name in names}
        which = [self.axes[a].values[indices[a]].astype(int) for a in self.switch_axes]
        combos = np.array(which, dtype=int).reshape(len(which), count)
        for combo in {tuple(column) for column in combos.T.tolist()}:
            chosen = np.all(combos == np.array(combo, dtype=int).reshape(-1, 1), axis=0)
            key = self.switch_labels(dict(zip(self.switch_axes, combo, strict=True)))
            roots = [self.output_node(name, key, tuple(self.axes)) for name in names]
            leaves, at = self.leaves[key], {axis: index[chosen] for axis, index in indices.items()}
            values = {
                # use arrays, because exp and log of Python floats differ from NumPy's
                name: np.atleast_1d(leaves[name].gather(at))
                for name in references(*roots)
            }
            with np.errstate(all="ignore"):
                for name, value in zip(names, interpret_arrays(roots, values), strict=True):
                    result[name][chosen] = value
        return result

    def decode_value(self, name: str, value: Any) -> tuple[str, float | str]:
        """Return a quantity's name and its value; an index of a label is replaced by the label."""
        row = self.model.quantities.get(indexed_quantity(name))
        if row is None or name == row.name:
            return name, float(value)
        return row.name, row.axis_labels[int(value)]

    def describe(self, point: Mapping[str, int]) -> str:
        """Return a point as text: ``active_sms = 4, core_clock = 1.3 GHz, machine = gtx280``."""
        units = {name: row.unit for name, row in self.model.quantities.items()}
        values = {axis: self.axes[axis].coordinate[i] for axis, i in point.items()}
        return ", ".join(f"{n} = {value_text(v, units.get(n, ''))}" for n, v in values.items())


def _all(nodes: Iterable[Node]) -> Node:
    listed = list(nodes)
    return constant(both(*listed) if listed else True)


class Tiling:
    """Numbered boxes (tiles) that together cover a loop nest. Each tile is contiguous in memory."""

    def __init__(self, outer: Sequence[int], row: int, target: int) -> None:
        self.sizes = (*outer, row)
        inner, split = 1, len(self.sizes)
        while split and inner * self.sizes[split - 1] <= target:
            split -= 1
            inner *= self.sizes[split]
        self.split = split - 1  # the axis that is cut, or -1 for a single box
        self.inner = inner
        self.step = max(1, target // inner) if split else 1
        self.cuts = -(-self.sizes[self.split] // self.step) if split else 1
        self.count = math.prod(self.sizes[: max(self.split, 0)]) * self.cuts

    def bounds(self, number: int) -> tuple[NDArray[np.int64], int, int]:
        """Return a tile's (first, last + 1) per axis, its first flat index, and its point count."""
        bounds = np.empty(2 * len(self.sizes), dtype=np.int64)
        bounds[0::2], bounds[1::2] = 0, self.sizes
        if self.split < 0:
            return bounds, 0, self.inner
        rest, cut = divmod(number, self.cuts)
        low = cut * self.step
        high = min(low + self.step, self.sizes[self.split])
        bounds[2 * self.split], bounds[2 * self.split + 1] = low, high
        origin, stride = low * self.inner, self.inner * self.sizes[self.split]
        for axis in range(self.split - 1, -1, -1):
            rest, index = divmod(rest, self.sizes[axis])
            bounds[2 * axis], bounds[2 * axis + 1] = index, index + 1
            origin += index * stride
            stride *= self.sizes[axis]
        return bounds, origin, (high - low) * self.inner

    def locate(self, flat: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return, for each flat index, the number of its tile and the tile's first flat index."""
        if self.split < 0:
            return np.zeros_like(flat), np.zeros_like(flat)
        whole, size = self.inner * self.sizes[self.split], self.inner * self.step
        rest = flat // whole
        cut = (flat - rest * whole) // size
        return rest * self.cuts + cut, rest * whole + cut * size


#: Name of the axis of points in the result of :func:`gather_points`.
POINT_AXIS = "point"

#: A mapping from axes to an index or a slice.
Indexers = Mapping[str, int | slice]


def subgrid(grid: Grid, indexers: Indexers) -> Grid:
    """Return the part of a grid at an index or slice of some axes. All axes are kept."""
    if not indexers:
        return grid
    cut = {a: i if isinstance(i, slice) else slice(i, i + 1) for a, i in indexers.items()}
    leaves = {k: {n: a.slice_axes(cut) for n, a in each.items()} for k, each in grid.leaves.items()}
    axes = dict(grid.axes)
    axes |= {name: _slice_axis(axes[name], part) for name, part in cut.items()}
    cache = {"formulas": True} if grid.cache.get("formulas") else {}
    return replace(grid, axes=axes, leaves=leaves, _dims={}, cache=cache)


def _slice_axis(axis: Axis, part: slice) -> Axis:
    size = part.stop - part.start
    return replace(
        axis,
        coordinate=axis.coordinate[part],
        values=np.arange(float(size)) if axis.kind == "switch" else axis.values[part],
        labels=axis.labels[part],
        columns={name: column[part] for name, column in axis.columns.items()},
        weights=None if axis.weights is None else axis.weights[part],
    )


def gather_points(
    grid: Grid,
    key: tuple[str, ...],
    indices: Mapping[str, NDArray[np.int64]],
    whole_axes: Sequence[str],
) -> Grid:
    """Return a grid of some points along the axis POINT_AXIS, followed by ``whole_axes``.

    ``indices`` has the index of each point along each other axis. The leaves of ``grid`` have
    ``whole_axes`` in this order. The result has no switch axes.
    """
    here = {axis: np.atleast_1d(index) for axis, index in indices.items()}
    index = np.arange(len(next(iter(here.values()))) if here else 1)
    axis = Axis(name=POINT_AXIS, kind="index", coordinate=index, values=index.astype(np.float64))
    leaves = {}
    for name, leaf in grid.leaves[key].items():
        inner = tuple(axis for axis in leaf.axes if axis in whole_axes)
        if len(inner) == len(leaf.axes):
            leaves[name] = leaf
        else:
            result = leaf.gather({**here, **dict.fromkeys(inner, slice(None))})
            leaves[name] = Leaf(axes=(POINT_AXIS, *inner), array=result)
    return replace(
        grid,
        axes={POINT_AXIS: axis, **{name: grid.axes[name] for name in whole_axes}},
        switch_axes=(),
        graphs={(): grid.graphs[key]},
        leaves={(): leaves},
        _dims={},
        cache={},
    )
