"""A grid: a model joined with axes and values, ready to be evaluated anywhere on it.

Every quantity knows the axes on which it depends; conditions and switches included.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeps.space import Axis
from symbolic.errors import DomainError, DseError, InfeasibleError
from symbolic.graph import Condition, Graph, resolve
from symbolic.model import Model
from symbolic.ops import (
    Node,
    both,
    constant,
    either,
    equal,
    floor,
    interpret_all,
    negate,
    reference,
    references,
    substitute,
    where,
)

__all__ = ["Grid", "Leaf", "build_grid"]

FEASIBLE = "feasible"
_BLOCK = 1 << 20
_TYPES = {"float": np.float64, "flag": np.int8, "bool": np.bool_}


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """The values of one quantity over some axes, in the order of the grid."""

    axes: tuple[str, ...]
    array: NDArray[Any]

    def over(self, axes: Sequence[str]) -> NDArray[Any]:
        """The values shaped for broadcasting over the given axes."""
        sizes = dict(zip(self.axes, self.array.shape, strict=True))
        return self.array.reshape([sizes.get(axis, 1) for axis in axes])


@dataclass(frozen=True, kw_only=True)
class Grid:
    """See :func:`build_grid`. ``graphs`` and ``leaves`` are keyed by the labels of switch axes."""

    model: Model
    axes: Mapping[str, Axis]
    switch_axes: tuple[str, ...]
    graphs: Mapping[tuple[str, ...], Graph]
    leaves: Mapping[tuple[str, ...], Mapping[str, Leaf]]
    outputs: tuple[str, ...]
    _dims: dict[Any, tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)

    # --- shape
    @property
    def points(self) -> int:
        """The number of configurations."""
        return math.prod(axis.size for axis in self.axes.values())

    def shape(self, dims: Iterable[str]) -> tuple[int, ...]:
        """The sizes of some axes."""
        return tuple(self.axes[dim].size for dim in dims)

    def ordered(self, names: Iterable[str]) -> tuple[str, ...]:
        """Names of axes in the order of the grid."""
        wanted = set(names)
        return tuple(axis for axis in self.axes if axis in wanted)

    # --- what depends on what
    @property
    def graph(self) -> Graph:
        """The graph of the first label of every switch axis."""
        return next(iter(self.graphs.values()))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The rules and constraints that apply, each once."""
        found = {c.text: c for graph in self.graphs.values() for c in graph.conditions}
        return tuple(found.values())

    def dims(self, name: str) -> tuple[str, ...]:
        """The axes on which a quantity, or ``feasible``, depends."""
        if name not in self._dims:
            if name == FEASIBLE:
                dims = {d for condition in self.conditions for d in self.condition_dims(condition)}
            else:
                dims = set()
                for key, graph in self.graphs.items():
                    dims.update(self.node_dims(graph.flat(name), key))
                    dims.update(graph.switches_of([name]) & set(self.switch_axes))
            self._dims[name] = self.ordered(dims)
        return self._dims[name]

    def condition_dims(self, condition: Condition) -> tuple[str, ...]:
        """The axes on which a condition depends."""
        if condition.text not in self._dims:
            dims: set[str] = set()
            for key, graph in self.graphs.items():
                if any(c.text == condition.text for c in graph.conditions):
                    dims.update(self.node_dims(graph.flat_condition(condition), key))
                    names = references(condition.node)
                    dims.update(graph.switches_of(names) & set(self.switch_axes))
                else:
                    dims.update(self.switch_axes)
            self._dims[condition.text] = self.ordered(dims)
        return self._dims[condition.text]

    def node_dims(self, node: Node, key: tuple[str, ...]) -> set[str]:
        """The axes of the leaves below a node."""
        leaves = self.leaves[key]
        return {axis for name in references(node) for axis in leaves[name].axes}

    # --- nodes over the leaves
    def feasible_node(self, key: tuple[str, ...]) -> Node:
        """Whether every rule and constraint holds."""
        graph = self.graphs[key]
        nodes = [graph.flat_condition(c) for c in graph.conditions]
        return both(*nodes) if nodes else constant(True)

    def output_node(self, name: str, key: tuple[str, ...], dims: Sequence[str]) -> Node:
        """An output over the leaves, marked where a rule within its axes is broken."""
        if name == FEASIBLE:
            return self.feasible_node(key)
        graph = self.graphs[key]
        node = graph.flat(name)
        rules = [
            graph.flat_condition(c)
            for c in graph.conditions
            if c.is_rule and set(self.condition_dims(c)) <= set(dims)
        ]
        if not rules:
            return node
        return where(both(*rules), node, -1.0 if self.kind(name) == "flag" else math.nan)

    def dtype(self, name: str) -> Any:
        """The type in which an output is stored."""
        return _TYPES[self.kind(name)]

    def kind(self, name: str) -> str:
        """How an output is stored: 'float', 'flag' (a small integer) or 'bool'."""
        if name == FEASIBLE:
            return "bool"
        return "flag" if self.flags(name) else "float"

    def flags(self, name: str) -> Mapping[int, str]:
        """The meanings of the values of a case or bound; empty for a number."""
        for graph in self.graphs.values():
            definition = graph.definitions.get(name)
            if definition is not None and definition.equation is not None:
                return definition.equation.flags
        return {}

    # --- keys of switch axes
    def keys(self, dims: Sequence[str]) -> Iterator[tuple[tuple[int, ...], tuple[str, ...]]]:
        """Indices along the switch axes among ``dims``, and the labels of all switch axes."""
        within = [axis for axis in self.switch_axes if axis in dims]
        for index in itertools.product(*(range(self.axes[axis].size) for axis in within)):
            chosen = dict(zip(within, index, strict=True))
            yield (
                index,
                tuple(self.axes[axis].labels[chosen.get(axis, 0)] for axis in self.switch_axes),
            )

    # --- NumPy evaluation
    def evaluate(
        self, roots: Sequence[Node], key: tuple[str, ...], dims: Sequence[str]
    ) -> list[NDArray[Any]]:
        """Nodes over the leaves, in NumPy, each broadcast over the (switch-free) axes ``dims``."""
        leaves = self.leaves[key]
        names = references(*roots)
        values = {name: leaves[name].over(dims) for name in names}
        shape = self.shape(dims)
        with np.errstate(all="ignore"):
            return [np.broadcast_to(v, shape) for v in interpret_all(roots, values)]

    def at(self, point: Mapping[str, int], names: Sequence[str]) -> dict[str, Any]:
        """Quantities at one configuration, given as an index along each axis.

        ``feasible`` may be among the names. Values are not marked where a rule is broken.
        """
        key = tuple(self.axes[a].labels[point[a]] for a in self.switch_axes)
        graph, leaves = self.graphs[key], self.leaves[key]
        roots = [self.feasible_node(key) if n == FEASIBLE else graph.flat(n) for n in names]
        values = {
            name: leaves[name].array[tuple(point[axis] for axis in leaves[name].axes)]
            for name in references(*roots)
        }
        with np.errstate(all="ignore"):
            return dict(zip(names, interpret_all(roots, values), strict=True))

    def first(self, condition: Any, dims: Sequence[str]) -> dict[str, int] | None:
        """The lowest point of the axes ``dims`` where a condition holds; None where nowhere.

        ``condition`` maps the labels of the switch axes to a node over the leaves.
        """
        plain = [d for d in dims if d not in self.switch_axes]
        best: tuple[int, ...] | None = None
        for index, key in self.keys(dims):
            at_switches = dict(zip([a for a in self.switch_axes if a in dims], index, strict=True))
            found = self._first_in(condition(key), key, plain)
            if found is not None:
                point = {**at_switches, **found}
                place = tuple(point[d] for d in dims)
                best = place if best is None else min(best, place)
        return None if best is None else dict(zip(dims, best, strict=True))

    def _first_in(
        self, node: Node, key: tuple[str, ...], dims: Sequence[str]
    ) -> dict[str, int] | None:
        own = self.ordered(self.node_dims(node, key) & set(dims))
        shape = self.shape(own)
        inner = math.prod(shape[1:])
        step = max(1, _BLOCK // max(inner, 1)) if shape else 1
        for low in range(0, shape[0] if shape else 1, step):
            values = {}
            for name in references(node):
                leaf = self.leaves[key][name].over(own)
                cut = leaf[low : low + step] if shape and leaf.shape[0] > 1 else leaf
                values[name] = cut
            with np.errstate(all="ignore"):
                holds = interpret_all((node,), values)[0]
            sizes = (min(step, shape[0] - low), *shape[1:]) if shape else ()
            holds = np.broadcast_to(holds, sizes)
            if holds.any():
                place = np.unravel_index(int(np.argmax(holds.reshape(-1))), sizes) if sizes else ()
                point = dict.fromkeys(dims, 0)
                point.update({axis: int(i) for axis, i in zip(own, place, strict=True)})
                if shape:
                    point[own[0]] += low
                return point
        return None

    def at_points(
        self, places: Mapping[str, NDArray[np.int64]], names: Sequence[str]
    ) -> dict[str, NDArray[Any]]:
        """Outputs at many configurations, given as indices along each axis; marked as in a run."""
        count = len(next(iter(places.values()))) if places else 1
        found = {name: np.empty(count, dtype=self.dtype(name)) for name in names}
        which = [self.axes[a].values[places[a]].astype(int) for a in self.switch_axes]
        combos = np.array(which, dtype=int).reshape(len(which), count)
        for combo in {tuple(column) for column in combos.T.tolist()}:
            chosen = np.all(combos == np.array(combo, dtype=int).reshape(-1, 1), axis=0)
            key = tuple(
                self.axes[a].labels[i] for a, i in zip(self.switch_axes, combo, strict=True)
            )
            roots = [self.output_node(name, key, tuple(self.axes)) for name in names]
            leaves = self.leaves[key]
            values = {
                name: leaves[name].array[tuple(places[a][chosen] for a in leaves[name].axes)]
                for name in references(*roots)
            }
            with np.errstate(all="ignore"):
                for name, value in zip(names, interpret_all(roots, values), strict=True):
                    found[name][chosen] = value
        return found

    # --- checks
    def check(self) -> None:
        """Raise where a given formula leaves its domain, or no point is feasible."""
        for name in self.graph.definitions:
            if self.graph.definitions[name].kind == "formula":
                self._check_formula(name)
        if self.conditions and self.first(self.feasible_node, self.dims(FEASIBLE)) is None:
            raise InfeasibleError(self._why_infeasible())

    def _check_formula(self, name: str) -> None:
        row = self.model.quantity(name)
        dims = self.dims(name)

        def outside(key: tuple[str, ...]) -> Node:
            node = self.graphs[key].flat(name)
            return _outside(node, row.domain)

        point = self.first(outside, dims)
        if point is not None:
            value = float(self.at({**dict.fromkeys(self.axes, 0), **point}, [name])[name])
            raise DomainError(
                f"{name} = {value:g} by its formula, at {self.describe(point) or 'every point'}, "
                f"is outside its domain {row.domain}: change the formula or the axes"
            )

    def describe(self, point: Mapping[str, int]) -> str:
        """A point as text: ``active_sms = 4, machine = gtx280``."""
        return ", ".join(f"{axis} = {self.axes[axis].coordinate[i]}" for axis, i in point.items())

    def _why_infeasible(self) -> str:
        lines = []
        for condition in self.conditions:
            dims = self.condition_dims(condition)

            def holds(key: tuple[str, ...], condition: Condition = condition) -> Node:
                graph = self.graphs[key]
                return graph.flat_condition(condition)

            if self.first(holds, dims) is None:
                names = references(condition.node)
                values = self.at(dict.fromkeys(self.axes, 0), names)
                shown = ", ".join(f"{n} = {float(v):g}" for n, v in values.items())
                kind = "rule" if condition.is_rule else "constraint"
                lines.append(
                    f"the {kind} {condition.text!r} is broken at every point "
                    f"(at the first: {shown})"
                )
        if not lines:
            texts = " and ".join(repr(c.text) for c in self.conditions)
            lines.append(f"no point satisfies {texts} together")
        return "; ".join(lines) + ": change the axes or the values, or relax the constraints"


def _outside(node: Node, domain: Any) -> Node:
    below = node <= domain.low if domain.low_open else node < domain.low
    above = node >= domain.high if domain.high_open else node > domain.high
    tests = [negate(both(node >= -math.inf, node <= math.inf)), below, above]
    if domain.whole:
        tests.append(negate(equal(floor(node), node)))
    return either(*tests)


Value = float | Node | Leaf


def build_grid(
    model: Model,
    *,
    axes: Sequence[Axis] = (),
    values: Mapping[str, Value] | None = None,
    labels: Mapping[str, str] | None = None,
    switches: Mapping[str, str] | None = None,
    tables: Mapping[str, Mapping[str, Sequence[float | Node | None]]] | None = None,
    outputs: Iterable[str] | None = None,
    where: Iterable[str] = (),
) -> Grid:
    """Join a model with axes and values.

    Parameters
    ----------
    model : Model
        The equations.
    axes : sequence of Axis
        What varies, outermost first.
    values : mapping of str to float, Node or Leaf
        Given quantities: a number, a formula in other quantities, or a table over some axes.
    labels : mapping of str to str
        Given quantities whose values are labels and which only table equations read.
    switches : mapping of str to str
        Labels of switches that do not vary.
    tables : mapping of str to mapping
        For a categorical axis: quantities that it supplies, with a number, a formula or None (not
        supplied) for each label.
    outputs, where :
        As in :func:`symbolic.graph.resolve`.

    Raises
    ------
    DseError
        See :func:`symbolic.graph.resolve`; and a grid of more than 2**63 - 1 points.
    """
    axis_of = {axis.name: axis for axis in axes}
    points = math.prod(axis.size for axis in axes)
    if points >= 2**63:
        raise DseError(
            f"the axes make {points:.3g} points, more than 64-bit indices hold: shorten an axis"
        )
    given: dict[str, Node | None] = {}
    leaves: dict[str, Leaf] = {}
    for name, value in (values or {}).items():
        if isinstance(value, Node):
            given[name] = value
        else:
            given[name] = None
            leaves[name] = (
                value if isinstance(value, Leaf) else Leaf(axes=(), array=np.array(float(value)))
            )
    for name, label in (labels or {}).items():
        given[name] = None
        leaves[name] = Leaf(axes=(), array=np.array(label, dtype=object))
    for axis in axes:
        _add_axis(axis, (tables or {}).get(axis.name, {}), given, leaves)
    switch_axes = tuple(axis.name for axis in axes if axis.kind == "switch")
    wanted = None if outputs is None else list(outputs)
    graphs: dict[tuple[str, ...], Graph] = {}
    complete: dict[tuple[str, ...], dict[str, Leaf]] = {}
    for key in itertools.product(*(axis_of[name].labels for name in switch_axes)):
        graph = resolve(
            model,
            given=given,
            switches={**(switches or {}), **dict(zip(switch_axes, key, strict=True))},
            outputs=wanted,
            where=where,
        )
        graphs[key] = graph
        complete[key] = _complete(graph, leaves, tuple(axis_of))
    first = next(iter(graphs.values()))
    return Grid(
        model=model,
        axes=axis_of,
        switch_axes=switch_axes,
        graphs=graphs,
        leaves=complete,
        outputs=tuple(name for name in first.outputs if name not in axis_of),
    )


def _add_axis(
    axis: Axis,
    table: Mapping[str, Sequence[float | Node | None]],
    given: dict[str, Node | None],
    leaves: dict[str, Leaf],
) -> None:
    """Enter the quantities that an axis supplies."""
    if axis.kind == "number":
        given[axis.name] = None
        leaves[axis.name] = Leaf(axes=(axis.name,), array=axis.values)
    elif axis.kind == "zip":
        for column, array in axis.columns.items():
            given[column] = None
            leaves[column] = Leaf(axes=(axis.name,), array=array.astype(np.float64))
    elif axis.kind == "label" and axis.name not in ("machine", "workload"):
        given[axis.name] = None
        leaves[axis.name] = Leaf(axes=(axis.name,), array=np.array(axis.labels, dtype=object))
    for name, column in _inlined(axis, table).items():
        if all(isinstance(value, (int, float)) for value in column):
            given[name] = None
            array = np.array(column, dtype=np.float64)
            leaves[name] = (
                Leaf(axes=(), array=array[0])
                if np.all(array == array[0])
                else Leaf(axes=(axis.name,), array=array)
            )
            continue
        index = f"{axis.name}_index"
        given[index] = None
        leaves[index] = Leaf(axes=(axis.name,), array=axis.values)
        node = reference(name)  # the model's own definition, where a label supplies nothing
        for place, value in enumerate(column):
            if value is not None:
                node = where(equal(reference(index), place), value, node)
        if all(value is not None for value in column):
            node = _without(node, name, column[0])
        given[name] = node


def _inlined(
    axis: Axis, table: Mapping[str, Sequence[float | Node | None]]
) -> dict[str, list[float | Node | None]]:
    """The table with each label's formulas in terms of that label's own values.

    So a quantity that only one label supplies may serve that label's formulas.
    """

    def inline(
        value: float | Node, path: tuple[str, ...], own: Mapping[str, float | Node], label: str
    ) -> float | Node:
        if not isinstance(value, Node):
            return value
        known: dict[str, Node] = {}
        for need in references(value):
            if need in path:
                cycle = " -> ".join([*path[path.index(need) :], need])
                raise DseError(f"the formulas of {label} form a cycle: {cycle}")
            if need in own:
                known[need] = constant(inline(own[need], (*path, need), own, label))
        return substitute(value, known)

    result: dict[str, list[float | Node | None]] = {name: [] for name in table}
    for place, label in enumerate(axis.labels):
        own: dict[str, float | Node] = {}
        for name, column in table.items():
            value = column[place]
            if value is not None:
                own[name] = value
        for name, inlined in result.items():
            inlined.append(inline(own[name], (name,), own, label) if name in own else None)
    return result


def _without(node: Node, name: str, first: float | Node | None) -> Node:
    """The chain of choices with its last resort, the model's own definition, left out."""
    return substitute(node, {name: constant(first)})


def _complete(graph: Graph, leaves: Mapping[str, Leaf], order: tuple[str, ...]) -> dict[str, Leaf]:
    """The leaves a graph uses: those given, the defaults, and the table equations evaluated."""
    complete: dict[str, Leaf] = {}
    for name, definition in graph.definitions.items():
        if definition.kind == "given":
            complete[name] = leaves[name]
        elif definition.kind == "default":
            complete[name] = Leaf(axes=(), array=np.array(float(definition.node.args[0])))
        elif definition.kind == "table":
            complete[name] = _run_table(graph, name, complete, order)
    return complete


def _run_table(graph: Graph, name: str, leaves: Mapping[str, Leaf], order: tuple[str, ...]) -> Leaf:
    """A table equation, called once for each distinct combination of its inputs."""
    definition = graph.definitions[name]
    assert definition.equation is not None
    roots = [graph.flat(need) for need in definition.needs]
    used = {axis for n in references(*roots) for axis in leaves[n].axes}
    axes = tuple(axis for axis in order if axis in used)
    values = {n: leaves[n].over(axes) for n in references(*roots)}
    with np.errstate(all="ignore"):
        columns = np.broadcast_arrays(*map(np.asarray, interpret_all(roots, values)))
    shape = columns[0].shape if columns else ()
    known: dict[tuple[Any, ...], float] = {}
    result = np.empty(math.prod(shape))
    for place, inputs in enumerate(zip(*(c.reshape(-1).tolist() for c in columns), strict=True)):
        if inputs not in known:
            known[inputs] = float(definition.equation(*inputs))
        result[place] = known[inputs]
    return Leaf(axes=axes, array=result.reshape(shape))
