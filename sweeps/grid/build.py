"""Build a grid from a model, axes and values."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from stochastic.checks import LawError
from stochastic.threads import cpu_count
from sweeps.grid.axes import Axis
from sweeps.grid.failures import reason_of
from sweeps.grid.grid import Grid, Leaf
from sweeps.grid.work_laws import read_label
from sweeps.runtime.interrupts import raise_if_interrupted
from sweeps.runtime.resources import run_in_threads
from symbolic.equation import Equation
from symbolic.errors import DseError
from symbolic.expression import parse_output
from symbolic.graph import Graph
from symbolic.model import Model
from symbolic.ops import (
    Node,
    constant,
    either,
    equal,
    interpret,
    interpret_arrays,
    reference,
    references,
    substitute,
    walk,
    where,
)
from symbolic.quantities import Domain, Quantity, label_index_name
from symbolic.resolve import resolve
from symbolic.statistic_laws import refuse_laws

if TYPE_CHECKING:
    from sweeps.grid.lazy_statistics import ComputeStatistics


def fold_constants(
    roots: Sequence[Node], constants: Mapping[str, float], names: Mapping[int, str]
) -> tuple[list[Node], dict[int, str]]:
    """Simplify nodes, given the values of some leaves; return the nodes, and names of new nodes.

    All rules are exact in floating point: ``x * 1`` is simplified, ``x * 0`` and ``x + 0`` are not.
    """
    done: dict[int, Node] = {}
    new_names: dict[int, str] = {}
    for node in walk(roots):
        if node.op == "reference":
            name = node.args[0]
            new = constant(constants[name]) if name in constants else node
        elif node.op == "constant":
            new = node
        else:
            new = _simplify(node.op, tuple(done[id(arg)] for arg in node.args))
        done[id(node)] = new
        if id(node) in names and new.op != "constant":
            new_names.setdefault(id(new), names[id(node)])
    return [done[id(root)] for root in roots], new_names


def _simplify(op: str, args: tuple[Node, ...]) -> Node:
    if all(arg.op == "constant" for arg in args):
        with np.errstate(all="ignore"):
            return constant(interpret(Node(op, args), {}, number=_number)[0])
    simpler = _RULES[op](*args) if op in _RULES else None
    return Node(op, args) if simpler is None else simpler


def _number(value: bool | float) -> NDArray[Any]:
    """Return a value as an array, because exp and log of a Python float differ from NumPy's."""
    return np.array([value], dtype=bool if isinstance(value, bool) else float)


def _is(node: Node, value: float) -> bool:
    return node.op == "constant" and bool(node.args[0] == value)


def _product(a: Node, b: Node) -> Node | None:
    return b if _is(a, 1) else a if _is(b, 1) else None


def _where(condition: Node, yes: Node, no: Node) -> Node | None:
    if condition.op == "constant":
        return yes if condition.args[0] else no
    return yes if yes is no else None


def _junction_rule(absorbing: bool) -> Callable[[Node, Node], Node | None]:
    """Return the rule that simplifies ``both`` or ``either`` with a constant argument.

    A constant that equals ``absorbing`` is the result. Any other constant is dropped.
    """

    def rule(a: Node, b: Node) -> Node | None:
        for condition, other in ((a, b), (b, a)):
            if condition.op == "constant":
                return condition if bool(condition.args[0]) is absorbing else other
        return None

    return rule


def _divide(a: Node, b: Node, at_zero: Node) -> Node | None:
    if b.op != "constant":
        return None
    return at_zero if _is(b, 0) else _simplify("div", (a, b))


_RULES: dict[str, Callable[..., Node | None]] = {
    "mul": _product, "div": lambda a, b: a if _is(b, 1) else None, "where": _where,
    "both": _junction_rule(False), "either": _junction_rule(True), "divide": _divide,
}  # fmt: skip

#: Time after which work moves to threads [s], and number of pieces of work per thread.
_SERIAL_SECONDS, _PIECES = 0.1, sizes.TABLE_PIECES

Inputs = tuple[Any, ...]


def run_tables(
    graph: Graph, needs: tuple[str, ...], leaves: Mapping[str, Leaf], order: Iterable[str]
) -> dict[str, Leaf]:
    """Evaluate the tables of some inputs at each combination of these; return results as leaves."""
    order, peers = tuple(order), [d for d in graph.definitions.values() if d.needs == needs]
    equations = [d.equation for d in peers if d.kind == "table" and d.equation is not None]
    roots = [graph.flat(need) for need in needs]
    names = references(*roots)
    used = {axis for n in names for axis in leaves[n].axes}
    switched = {axis for n in names for axis in leaves[n].switch_axes}
    axes = tuple(axis for axis in order if axis in used)
    values = {n: np.atleast_1d(leaves[n].align_to(axes)) for n in names}
    columns = np.broadcast_arrays(*map(np.asarray, interpret_arrays(roots, values)))
    shape = columns[0].shape if columns and axes else ()
    known: dict[Inputs, int] = {}
    rows = zip(*(c.reshape(-1).tolist() for c in columns), strict=True) if columns else [()]
    places = [known.setdefault(row, len(known)) for row in rows]
    upstream = {leaves[n].failures[k] for n in names for k in leaves[n].failures}
    usable = [row for row in known if not (upstream and any(x is None or x != x for x in row))]
    results = dict(zip(usable, _evaluate_rows(equations, usable), strict=True))
    missing = _FailureReason(next(iter(sorted(upstream)), ""))
    rows_of = [results.get(row) or [missing] * len(equations) for row in known]
    switch_axes = tuple(axis for axis in order if axis in switched)
    tables = {}
    for number, eq in enumerate(equations):
        dtype = object if graph.model.quantity(eq.name).is_label else np.float64
        outcomes = [result[number] for result in rows_of]
        blank = None if dtype is object else math.nan
        column = np.array([blank if isinstance(v, _FailureReason) else v for v in outcomes], dtype)
        failed = {
            place: f"{eq.name}: {why}" if why not in upstream else why
            for place, row in enumerate(places)
            if isinstance(why := outcomes[row], _FailureReason)
        }
        for k, other in enumerate(equations if usable and len(failed) == len(places) else ()):
            why = results[usable[0]][k]
            if all(isinstance(results[row][k], _FailureReason) for row in usable):
                raise DseError(f"{other.name} {_describe_inputs(other, usable[0])}: {why}")
        array = column[places].reshape(shape)
        tables[eq.name] = Leaf(axes=axes, array=array, switch_axes=switch_axes, failures=failed)
    return tables


class _FailureReason(str):
    """The reason why a table equation has no value for some inputs."""


def _evaluate_rows(equations: Sequence[Equation], inputs: Sequence[Inputs]) -> list[list[Any]]:
    """Evaluate equations at each combination of inputs. Threads are used if this takes long."""
    began = time.monotonic()
    results: list[list[Any]] = []
    while len(results) < len(inputs) and time.monotonic() - began < _SERIAL_SECONDS:
        results.append(_evaluate_row(equations, inputs[len(results)]))
    rest = inputs[len(results) :]
    if not rest:
        return results
    size = math.ceil(len(rest) / (_PIECES * cpu_count()))
    pieces = [rest[first : first + size] for first in range(0, len(rest), size)]
    done = run_in_threads(lambda k: [_evaluate_row(equations, r) for r in pieces[k]], len(pieces))
    return results + [result for piece in done for result in piece]


def _evaluate_row(equations: Sequence[Equation], row: Inputs) -> list[Any]:
    raise_if_interrupted()
    return [_value(eq, row) for eq in equations]


def _value(eq: Equation, row: Inputs) -> Any:
    try:
        value = eq(*row)
        return read_label(eq.name, value) if isinstance(value, str) else float(value)
    except DseError:
        raise
    except LawError as error:
        raise DseError(f"{eq.name} {_describe_inputs(eq, row)}: {error}") from error
    except Exception as error:
        return _FailureReason(reason_of(error))


def _describe_inputs(eq: Equation, row: Inputs) -> str:
    text = ", ".join(f"{name} = {value}" for name, value in zip(eq.inputs, row, strict=True))
    return f"at {text}" if text else "without inputs"


Value = float | Node | Leaf

#: Axes whose labels are names of files.
_FILE_AXES = ("machine", "workload")


def build_grid(
    model: Model,
    *,
    axes: Sequence[Axis] = (),
    values: Mapping[str, Value] | None = None,
    labels: Mapping[str, str] | None = None,
    switches: Mapping[str, str] | None = None,
    tables: Mapping[str, Mapping[str, Sequence[Any]]] | None = None,
    outputs: Iterable[str] | None = None,
    constraints: Iterable[str] = (),
    compute_statistics: ComputeStatistics | None = None,
    invalid_values: Mapping[str, str] | None = None,
) -> Grid:
    """Join a model with axes (outermost first) and values.

    ``values`` are numbers, formulas in other quantities, or tables over some axes. Only table
    equations and constraints read ``labels``, which may include ``machine`` and ``workload``.
    ``switches`` are labels of switches that do not vary. ``tables[axis][quantity]`` has an entry
    for each label of the axis: a number, a formula, a label, or None if the label does not supply
    the quantity. ``outputs`` and ``constraints`` are explained at :func:`symbolic.resolve.resolve`.
    ``compute_statistics`` is required if formulas contain statistics. ``invalid_values`` maps a
    quantity to the message of the error that is raised if a formula needs the quantity.
    """
    if len(axes) > sizes.AXES_MOST:
        raise DseError(
            f"the study has {len(axes)} axes, expected at most {sizes.AXES_MOST}: NumPy arrays "
            "have at most 64 dimensions; put quantities with one value under set, or zip axes"
        )
    axis_of = {axis.name: axis for axis in axes}
    definitions: dict[str, Node | None] = {}
    leaves: dict[str, Leaf] = {}
    for name, value in (values or {}).items():
        definitions[name] = value if isinstance(value, Node) else None
        if isinstance(value, Leaf):
            leaves[name] = value
        elif not isinstance(value, Node):
            leaves[name] = Leaf(axes=(), array=np.array(float(value)))
    for name, label in (labels or {}).items():
        if name not in _FILE_AXES:
            definitions[name] = None
            leaves[name] = Leaf(axes=(), array=np.array(read_label(name, label), dtype=object))
    columns: dict[str, tuple[str, Sequence[Any]]] = {}  # of labels, with their axis
    varying: dict[str, dict[str, Node]] = {}
    for axis in axes:
        table = (tables or {}).get(axis.name, {})
        table = {name: table[name] for name in table if model.quantity(name).is_label}
        columns |= {name: (axis.name, column) for name, column in table.items()}
        columns |= {axis.name: (axis.name, axis.labels)} if axis.labels else {}
        for name in [name for name in table if model.quantity(name).is_switch]:
            varying[name] = {label: _is_at(axis, table[name], label) for label in table[name]}
    for name, (of, column) in columns.items():
        if name not in _FILE_AXES and not model.quantity(name).is_switch:
            definitions[name] = None
            leaves[name] = Leaf(axes=(of,), array=np.array(column, dtype=object))
    model, places = _add_label_indices(model, columns, labels or {}, switches or {})
    definitions |= dict.fromkeys(places)
    leaves |= places
    for axis in axes:
        numbers = {n: c for n, c in (tables or {}).get(axis.name, {}).items() if n not in columns}
        _add_axis(axis, numbers, definitions, leaves)
    switch_axes = tuple(axis.name for axis in axes if axis.kind == "switch")
    wanted = None
    if outputs is not None:
        wanted = [parse_output(name, model.quantities) for name in outputs]
    for name in wanted or ():
        if model.quantity(name).is_label:
            raise DseError(f"{name} has labels for values and cannot be an output: leave it out")
    supplied = {name for axis in axes for name in (axis.name, *axis.columns)} | set(places)
    graphs: dict[tuple[str, ...], Graph] = {}
    complete: dict[tuple[str, ...], dict[str, Leaf]] = {}
    for key in itertools.product(*(axis_of[name].labels for name in switch_axes)):
        graph = resolve(
            model,
            values=definitions,
            switches={**(switches or {}), **varying, **dict(zip(switch_axes, key, strict=True))},
            outputs=wanted,
            where=constraints,
        )
        for name in graph.definitions:
            if name in (invalid_values or {}):
                raise DseError((invalid_values or {})[name])
        refuse_laws(graph)
        graphs[key] = graph
        indices = {a: axis_of[a].labels.index(k) for a, k in zip(switch_axes, key, strict=True)}
        selected = {name: _select_switch_labels(leaf, indices) for name, leaf in leaves.items()}
        complete[key] = _complete(graph, selected, tuple(axis_of))
        if compute_statistics is not None and graph.statistics:
            from sweeps.grid.lazy_statistics import add_statistics

            graphs[key] = add_statistics(
                graph, complete[key], axis_of, set(switch_axes), compute_statistics
            )
    first = next(iter(graphs.values()))
    return Grid(
        model=model,
        axes=axis_of,
        switch_axes=switch_axes,
        graphs=graphs,
        leaves=complete,
        outputs=tuple(name for name in first.outputs if name not in supplied),
    )


def _is_at(axis: Axis, column: Sequence[str], label: str) -> Node:
    """Return the condition that a file on an axis gives a switch a certain label."""
    index = reference(label_index_name(axis.name))
    pairs = zip(axis.labels, column, strict=True)
    places = {axis.labels.index(of) for of, own in pairs if own == label}
    return either(*(equal(index, place) for place in sorted(places)))


def _add_label_indices(
    model: Model,
    columns: Mapping[str, tuple[str, Sequence[Any]]],
    labels: Mapping[str, str],
    switches: Mapping[str, str],
) -> tuple[Model, dict[str, Leaf]]:
    """Return the model and leaves with the index of each label, for use in conditions.

    ``columns`` maps a quantity to an axis and to the labels along this axis.
    """
    rows = {name: Quantity(name=name, labels=()) for name in _FILE_AXES} | dict(model.quantities)
    taken = {name: str(row.default) for name, row in rows.items() if row.is_switch}
    fixed = {name: (label,) for name, label in {**taken, **labels, **switches}.items()}
    over = {name: tuple(column) for name, (_, column) in columns.items()}
    result: dict[str, Leaf] = {}
    for name, here in {**fixed, **over}.items():
        row, known = rows[name], here
        if name not in _FILE_AXES:
            known = row.labels or tuple(x for x in here if x is not None)
        elif name not in over and here[0] in row.axis_labels:
            known = row.axis_labels
        array = np.array([known.index(x) if x in known else -1 for x in here], dtype=float)
        dims = (columns[name][0],) if name in over else ()
        result[label_index_name(name)] = Leaf(axes=dims, array=array if dims else array.reshape(()))
        rows[name] = replace(row, axis_labels=known) if row.is_label else row
        index = label_index_name(name)
        rows[index] = Quantity(name=index, domain=Domain.parse("whole [0, inf)"))
    return replace(model, quantities=rows), result


def _select_switch_labels(leaf: Leaf, indices: Mapping[str, int]) -> Leaf:
    switched = tuple(axis for axis in leaf.axes if axis in indices)
    if not switched:
        return leaf
    index = tuple(indices.get(axis, slice(None)) for axis in leaf.axes)
    axes = tuple(axis for axis in leaf.axes if axis not in indices)
    return Leaf(axes=axes, array=np.asarray(leaf.array[index]), switch_axes=switched)


def _add_axis(
    axis: Axis,
    table: Mapping[str, Sequence[float | Node | None]],
    definitions: dict[str, Node | None],
    leaves: dict[str, Leaf],
) -> None:
    if axis.kind == "number":
        definitions[axis.name] = None
        leaves[axis.name] = Leaf(axes=(axis.name,), array=axis.values)
    elif axis.kind in ("zip", "draw"):
        for column, array in axis.columns.items():
            definitions[column] = None
            leaves[column] = Leaf(axes=(axis.name,), array=array.astype(np.float64))
    for name, supplied in _inline_label_formulas(axis, table).items():
        if all(isinstance(value, (int, float)) for value in supplied):
            definitions[name] = None
            array = np.array(supplied, dtype=np.float64)
            leaves[name] = (
                Leaf(axes=(), array=array[0])
                if np.all(array == array[0])
                else Leaf(axes=(axis.name,), array=array)
            )
            continue
        index = reference(label_index_name(axis.name))
        node = reference(name)  # a label without a value uses the model's definition
        first = {label: place for place, label in reversed([*enumerate(axis.labels)])}
        for place in first.values():  # a label can occur twice: measurements repeat workloads
            if (value := supplied[place]) is not None:
                node = where(equal(index, place), value, node)
        if all(value is not None for value in supplied):
            node = substitute(node, {name: constant(supplied[0])})
        definitions[name] = node


def _inline_label_formulas(
    axis: Axis, table: Mapping[str, Sequence[float | Node | None]]
) -> dict[str, list[float | Node | None]]:
    """Replace quantities in each label's formulas by the values and formulas of the label."""

    def inline(
        value: float | Node,
        path: tuple[str, ...],
        label_values: Mapping[str, float | Node],
        label: str,
    ) -> float | Node:
        if not isinstance(value, Node):
            return value
        known: dict[str, Node] = {}
        for need in references(value):
            if need in path:
                cycle = " -> ".join([*path[path.index(need) :], need])
                raise DseError(f"the formulas of {label} form a cycle: {cycle}")
            if need in label_values:
                value_of = inline(label_values[need], (*path, need), label_values, label)
                known[need] = constant(value_of)
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


def _complete(graph: Graph, leaves: Mapping[str, Leaf], order: tuple[str, ...]) -> dict[str, Leaf]:
    complete: dict[str, Leaf] = {}
    for name, definition in graph.definitions.items():
        if definition.kind == "given":
            complete[name] = leaves[name]
        elif definition.kind == "default":
            complete[name] = Leaf(axes=(), array=np.array(float(definition.node.args[0])))
        elif definition.kind == "table" and name not in complete:
            complete.update(run_tables(graph, definition.needs, complete, order))
    return complete


def recompute_tables(
    graph: Graph, leaves: Mapping[str, Leaf], changed: Mapping[str, Leaf]
) -> dict[str, Leaf]:
    """Return ``changed`` and the tables among ``leaves`` that depend on it, with new values."""
    new, order = dict(changed), next(iter(changed.values())).axes
    for name, definition in graph.definitions.items():
        is_known = definition.kind != "table" or name in new or name not in leaves
        if not is_known and {*references(*map(graph.flat, definition.needs))} & new.keys():
            new |= run_tables(graph, definition.needs, {**leaves, **new}, order)
    return new
