"""Statistics over axes, as leaves of a grid that are computed when they are first used.

A statistic needs all values of its formula along the reduced axes, so it is a leaf over the other
axes. Its formula has a separate grid, in which the reduced axes come last. Statistics that are
needed together and reduce the same axes are computed in one pass over the values.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.grid.axes import Axis
from sweeps.grid.grid import POINT_AXIS, Grid, Leaf, gather_points, leaf_at, subgrid
from sweeps.grid.replaced_axes import replace_axes, value_tests
from symbolic.errors import DseError, UnknownNameError, nearest_hint
from symbolic.graph import Condition, Definition, Graph
from symbolic.ops import Node, both, constant, reference, references, substitute, where
from symbolic.statistics import (
    DESIGN,
    DRAW,
    RUN,
    STATISTICS,
    Statistic,
    StatisticName,
    statistics_of,
)

Floats = NDArray[np.float64]
#: Function that takes formulas over one grid, and returns a mapping of names to statistics.
ComputeStatistics = Callable[[Sequence["StatisticGroup"]], Mapping[str, Floats]]
MAX_PORTION_VALUES = sizes.PORTION


@dataclass(frozen=True, kw_only=True, eq=False)
class StatisticPass:
    """One pass that evaluates all formulas with the same reduced axes in one part of a grid."""

    lock: Any = field(default_factory=threading.RLock)
    #: The last part that was sliced: its pass, and a mapping from groups to their parts.
    parts: dict[Any, tuple[StatisticPass, dict[StatisticGroup, StatisticGroup]]] = field(
        default_factory=dict
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class StatisticGroup:
    """A formula over a grid (NaN where it has no value), and its statistics along ``reduced_axes``.

    The reduced axes are the last axes of the grid. The axis of the draws is the first reduced axis.
    """

    grid: Grid
    root: Node
    result_axes: tuple[str, ...]
    reduced_axes: tuple[str, ...]
    compute_statistics: ComputeStatistics
    shared_pass: StatisticPass = field(default_factory=StatisticPass)
    statistics: dict[str, Statistic] = field(default_factory=dict)
    _results: dict[str, Floats] = field(init=False, default_factory=dict)

    @property
    def weights(self) -> Floats | None:
        """Return weights of points along the reduced axes (sum 1); None if all are equal."""
        axes = [self.grid.axes[axis] for axis in self.reduced_axes]
        if all(axis.weights is None for axis in axes):
            return None
        result = np.ones(1)
        for axis in axes:
            result = np.multiply.outer(result, axis.value_weights).reshape(-1)
        return result

    @property
    def replicates(self) -> int:
        """Return the number of independent samples among the draws; 1 without draws."""
        return self.grid.axes[DRAW].replicates if DRAW in self.reduced_axes else 1

    @property
    def draws(self) -> int:
        """Return the number of draws along the reduced axes; 1 without draws."""
        return self.grid.axes[DRAW].size if DRAW in self.reduced_axes else 1

    @property
    def is_computed(self) -> bool:
        """True if all statistics of the formula are computed."""
        return len(self._results) >= len(self.statistics)

    def array(self, name: str) -> Floats:
        """Return the values of a statistic over the remaining axes; compute them if necessary."""
        self.compute([self])
        return self._results[name]

    def compute(self, groups: Sequence[StatisticGroup]) -> None:
        """Compute the missing statistics of groups that share one pass."""
        with self.shared_pass.lock:
            missing = [group for group in groups if not group.is_computed]
            if missing:
                result = self.compute_statistics(missing)
                for group in missing:
                    group._results.update({name: result[name] for name in group.statistics})

    def slice_axes(self, slices: Mapping[str, slice]) -> StatisticGroup:
        """Return the group for the part of the grid within slices of some axes."""
        with self.shared_pass.lock:
            key = tuple((axis, cut.start, cut.stop) for axis, cut in sorted(slices.items()))
            if key not in self.shared_pass.parts:
                # keep only this part, because callers use one part after the other
                self.shared_pass.parts.clear()
                self.shared_pass.parts[key] = StatisticPass(), {}
            shared_pass, groups = self.shared_pass.parts[key]
            if self not in groups:
                part = subgrid(self.grid, slices)
                groups[self] = replace(self, grid=part, shared_pass=shared_pass)
            return groups[self]

    def gather(self, indices: Mapping[str, Any]) -> StatisticGroup:
        """Return the group at points, given by an index array or a slice per axis."""
        whole = tuple(axis for axis in self.result_axes if isinstance(indices[axis], slice))
        here = {axis: indices[axis] for axis in self.result_axes if axis not in whole}
        grid = gather_points(self.grid, (), here, (*whole, *self.reduced_axes))
        axes = (POINT_AXIS, *whole)
        return replace(self, grid=grid, result_axes=axes, shared_pass=StatisticPass())


class LazyStatistic(Leaf):
    """The leaf of a statistic, which is computed when its values are first read."""

    __slots__ = ("group", "name")

    group: StatisticGroup
    name: str

    def __init__(
        self, group: StatisticGroup, name: str, axes: tuple[str, ...], switch_axes: tuple[str, ...]
    ) -> None:
        for key, value in {"axes": axes, "switch_axes": switch_axes, "failures": {}}.items():
            object.__setattr__(self, key, value)
        object.__setattr__(self, "group", group)
        object.__setattr__(self, "name", name)

    @property
    def array(self) -> Any:
        """Return the values; compute them if necessary."""
        result = self.group.array(self.name)
        if self.axes == self.group.result_axes:
            return result
        return result.transpose([self.group.result_axes.index(axis) for axis in self.axes])

    @property
    def pending_group(self) -> StatisticGroup | None:
        """Return the group if it is not computed yet, otherwise None."""
        return None if self.group.is_computed else self.group

    def __reduce__(self) -> Any:
        return _computed_leaf, (self.axes, self.array, self.switch_axes)

    def slice_axes(self, slices: Mapping[str, slice]) -> Leaf:
        """Return the part of the leaf within slices; it stays lazy if it is not computed yet."""
        used = {axis: part for axis, part in slices.items() if axis in self.axes}
        if not used:
            return self
        if self.group.is_computed:
            return _computed_leaf(self.axes, self.array, self.switch_axes).slice_axes(slices)
        return LazyStatistic(self.group.slice_axes(used), self.name, self.axes, self.switch_axes)

    def take(self, indices: Mapping[str, NDArray[np.int64]]) -> Leaf:
        """Return the leaf at the given indices along some axes; all its values are computed."""
        return _computed_leaf(self.axes, self.array, self.switch_axes).take(indices)

    def gather(self, indices: Mapping[str, Any]) -> NDArray[Any]:
        """Return the values at points; no other values are computed."""
        if self.group.is_computed or not self.axes:
            return super().gather(indices)
        order = (POINT_AXIS, *(axis for axis in self.axes if isinstance(indices[axis], slice)))
        return LazyStatistic(self.group.gather(indices), self.name, order, ()).array

    @property
    def reduced_axes(self) -> tuple[str, ...]:
        """Return the axes along which the statistic is taken."""
        return self.group.reduced_axes

    def transpose(self, axes: Sequence[str]) -> Leaf:
        """Return the leaf with its axes in another order."""
        order = tuple(axis for axis in axes if axis in self.axes)
        return LazyStatistic(self.group, self.name, order, self.switch_axes)


def _in_order(definitions: Mapping[str, Definition]) -> dict[str, Definition]:
    """Return the definitions in an order in which each follows those that it needs."""
    result: dict[str, Definition] = {}
    stack = [*definitions][::-1]
    while stack:
        name = stack[-1]
        missing = [need for need in definitions[name].needs if need not in result]
        if missing and name not in result:
            stack += reversed(missing)
        else:
            result[stack.pop()] = definitions[name]
    return result


def _computed_leaf(axes: tuple[str, ...], array: Floats, switch_axes: tuple[str, ...]) -> Leaf:
    return Leaf(axes=axes, array=array, switch_axes=switch_axes)


def add_statistics(
    graph: Graph,
    leaves: dict[str, Leaf],
    axes: Mapping[str, Axis],
    switches: set[str],
    compute_statistics: ComputeStatistics,
) -> Graph:
    """Add the statistics of a graph to its leaves; first those that conditions contain.

    Return the graph, with each ``at`` defined by a formula. Points where a condition fails have no
    value. Such points make most statistics along their axis NaN, but ``best`` ignores them. A
    statistic inside a condition ignores all conditions that contain statistics.
    """
    builder = _StatisticBuilder(graph, leaves, axes, switches, compute_statistics)
    in_conditions = graph.ancestors(name for c in graph.conditions for name in references(c.node))
    for name in sorted(graph.statistics, key=lambda name: name not in in_conditions):
        assert isinstance(name, StatisticName)
        skip = name in in_conditions
        if STATISTICS[name.statistic.kind].has_rules:
            builder.define_at(name, skip_statistic_conditions=skip)
        else:
            leaves[name] = builder.leaf(name, skip_statistic_conditions=skip)
    # what an equation of the model takes over an axis is no choice of the query
    equations = (d.needs for d in graph.definitions.values() if d.kind == "equation")
    in_both = (in_conditions & graph.ancestors(graph.outputs)).difference(*equations)
    for name in graph.statistics:
        if name in in_both and isinstance(name, StatisticName):
            builder.check_sees_conditions(name)
    return builder.graph


@dataclass(slots=True)
class _StatisticBuilder:
    graph: Graph
    leaves: dict[str, Leaf]
    axes: Mapping[str, Axis]
    switches: set[str]
    compute_statistics: ComputeStatistics
    statistic_groups: dict[Any, StatisticGroup] = field(default_factory=dict)
    passes: dict[Any, StatisticPass] = field(default_factory=dict)

    def axes_of(self, *nodes: Node) -> set[str]:
        return {axis for n in references(*nodes) for axis in self.leaves[n].axes}

    def leaf(self, name: StatisticName, skip_statistic_conditions: bool) -> Leaf:
        graph, leaves, axes, about = self.graph, self.leaves, self.axes, name.statistic
        node = graph.flatten(about.argument)
        if about.kind == "error":
            inner = leaves[node.args[0]]
            assert isinstance(inner, LazyStatistic)
            if DRAW not in about.axes:
                raise DseError(
                    f"{name}: only statistics over draw have an error, and {node.args[0]} is over "
                    f"{', '.join(inner.reduced_axes) or 'no axis'}: take the error of the inner one"
                )
            group = replace(inner.group, statistics={name: about})
            return LazyStatistic(group, name, inner.axes, inner.switch_axes)
        self._refuse_labels(name)
        named, depends = self._named_axes(name), self.axes_of(node)
        for within in statistics_of([node]):
            if twice := [axis for axis in within.statistic.axes if axis in named - depends]:
                raise DseError(
                    f"{name}: {within} is already over {twice[0]}: use one of the two statistics, "
                    "or name another axis"
                )
        seen, valid = self._conditions_along(named, node, skip_statistic_conditions)
        reach = depends.union(*map(self.axes_of, valid))
        along = tuple(sorted(named & reach, key=lambda a: (a != DRAW, list(axes).index(a))))
        if about.kind == "chance":
            node = constant(where(both(*valid, node), 1.0, 0.0))
        elif valid:
            node = constant(where(constant(both(*valid)), node, math.nan))
        switched = {axis for n in references(node) for axis in leaves[n].switch_axes}
        # a condition may depend on a switch on which the formula does not depend
        chosen = references(about.argument, *(c.node for c in seen))
        switched |= graph.switches_of(chosen) & self.switches
        return self._add_to_group(name, node, reach, along, switched)

    def _conditions_along(
        self, named: set[str], node: Node, skip_statistic_conditions: bool
    ) -> tuple[list[Condition], list[Node]]:
        """Return the conditions that vary along axes, and tests of the points with a value.

        Statistics inside the formula have applied the conditions that vary along their own axes.
        """
        lazy = _lazy_statistics(self.leaves, references(node))
        inner = {axis for leaf in lazy for axis in leaf.reduced_axes} - self.axes_of(node)
        flat = [(c, self.graph.flat_condition(c)) for c in self.graph.conditions]
        seen = [
            (c, condition)
            for c, condition in flat
            if not (skip_statistic_conditions and statistics_of([condition]))
            and self.axes_of(condition) & named
            and not self.axes_of(condition) & inner
        ]
        tests = [condition for _, condition in seen]
        failed = [n for n in references(node) if self.leaves[n].failures]
        tests += [constant(reference(n) >= -math.inf) for n in failed]
        return [c for c, _ in seen], tests

    def _add_to_group(
        self,
        name: StatisticName,
        node: Node,
        reach: set[str],
        along: tuple[str, ...],
        switched: set[str],
    ) -> LazyStatistic:
        graph, leaves, axes = self.graph, self.leaves, self.axes
        rest = tuple(axis for axis in axes if axis in reach and axis not in along)
        key = (node, rest, along)
        if key not in self.statistic_groups:
            order = (*rest, *along)
            self.statistic_groups[key] = StatisticGroup(
                grid=Grid(
                    model=graph.model,  # type: ignore[arg-type]
                    axes={axis: axes[axis] for axis in order},
                    switch_axes=(),
                    graphs={(): graph},
                    leaves={(): {n: leaves[n].transpose(order) for n in references(node)}},
                    outputs=(),
                ),
                root=node,
                result_axes=rest,
                reduced_axes=along,
                compute_statistics=self.compute_statistics,
                shared_pass=self.passes.setdefault((rest, along), StatisticPass()),
            )
        self.statistic_groups[key].statistics[name] = name.statistic
        own_switches = tuple(axis for axis in axes if axis in switched)
        return LazyStatistic(self.statistic_groups[key], name, rest, own_switches)

    def define_at(self, name: StatisticName, skip_statistic_conditions: bool) -> None:
        """Define a value at rules by a formula of the leaves; it is NaN at infeasible points."""
        about, graph = name.statistic, self.graph
        self._refuse_labels(name)
        named = self._named_axes(name)
        rules, tests = {}, list[Node]()
        for axis, rule in zip(about.axes, about.rules, strict=True):
            label = rule.args[0] if rule.op == "constant" else None
            kind = "label" if isinstance(label, str) else "number"
            if axis not in named or self.axes[axis].kind != kind:
                raise DseError(
                    f"{name}: {axis} is no axis of {kind}s: name an axis of numbers, or an axis of "
                    "labels with one of its labels in quotes"
                )
            rules[axis] = graph.flatten(rule)
            if label is not None:
                place = self.axes[axis].position(label, {}) if kind == "label" else label
                rules[axis] = constant(float(place))
            if np.any(self.axes[axis].values == 0):
                rules[axis] = constant(rules[axis] + 0.0)  # -0.0 becomes 0.0, as on the axis
            tests += value_tests(rules[axis], self.axes[axis], graph.model.quantities)
        node = graph.flatten(about.argument)
        seen, valid = self._conditions_along(named, node, skip_statistic_conditions)
        parts: dict[str, Definition] = {}

        def add(text: str, part: Leaf, kind: str) -> Node:
            self.leaves[text] = part
            parts[text] = Definition(name=text, kind=kind, node=reference(text), needs=())
            return reference(text)

        def part_of(leaf_name: str, fixed: Mapping[str, int]) -> Node:
            part = leaf_at(self.leaves[leaf_name], fixed)
            if not (part.axes or part.switch_axes):
                return constant(float(part.array))
            places = ", ".join(f"{axis} {at}" for axis, at in fixed.items())
            return add(f"{leaf_name} at {places}", part, "given")

        def move(node: Node) -> Node:
            lazy = {
                n: self.leaves[n] for n in references(node) if self.axes_of(reference(n)) & named
            }
            swap = {n: move_statistic(x) for n, x in lazy.items() if isinstance(x, LazyStatistic)}
            return replace_axes(substitute(node, swap), rules, self.axes, self.leaves, part_of)

        def move_statistic(leaf: LazyStatistic) -> Node:
            if common := self.axes_of(*rules.values()) & set(leaf.reduced_axes):
                raise DseError(
                    f"{name}: a rule depends on {', '.join(sorted(common))}, along which "
                    f"{leaf.name} is taken: take the statistic of the value at the rule"
                )
            inner = leaf.group.statistics[leaf.name]
            text = replace(about, kind="at", argument_text=inner.argument_text).formula_text
            known = StatisticName(replace(inner, argument_text=text))
            root = move(leaf.group.root)
            reach = self.axes_of(root)
            along = tuple(axis for axis in leaf.reduced_axes if axis in reach)
            return add(
                known,
                self._add_to_group(known, root, reach, along, set(leaf.switch_axes)),
                "statistic",
            )

        value = move(constant(where(both(*valid), node, math.nan)) if valid else node)
        value = constant(where(both(*tests), value, math.nan))
        needs = (*graph.definitions[name].needs, *references(value, *(c.node for c in seen)))
        formula = Definition(name=name, kind="expanded", node=value, needs=needs)
        definitions = _in_order({**graph.definitions, **parts, name: formula})
        self.graph = replace(graph, definitions=definitions, _flat_nodes={})

    def _named_axes(self, name: StatisticName) -> set[str]:
        about, axes, result = name.statistic, self.axes, set[str]()
        for axis in about.axes:
            if axis == DESIGN:
                result |= {a for a in axes if a not in (DRAW, RUN, *about.outer_axes)}
                if not result:
                    raise DseError(
                        f"{name}: design means all axes but {DRAW}, {RUN} and those of the outer "
                        "statistics, and none is left: name other axes"
                    )
            elif axis in axes:
                result.add(axis)
            elif axis == DRAW:
                raise DseError(
                    f"{name} is over draws, and no quantity is random: give quantities laws "
                    f"([random], random=), or name axes, as in {about.kind}"
                    f"({about.argument_text}{', ' + about.level_text if about.level_text else ''}, "
                    f"{next(iter(axes), 'workload')})"
                )
            else:
                raise UnknownNameError(
                    f"{name}: {axis!r} is no axis of the study{nearest_hint(axis, axes)}; its axes "
                    f"are: {', '.join(axes) or 'none'}"
                )
        if wrong := [axis for axis in axes if axis in result & self.switches]:
            raise DseError(
                f"{name}: {wrong[0]} selects equations, so no statistic can be taken over it: name "
                "other axes"
            )
        return result

    def _refuse_labels(self, name: StatisticName) -> None:
        about = name.statistic
        if about.kind == "chance" or about.argument.op != "reference":
            return
        definition = self.graph.definitions.get(about.argument.args[0])
        if definition is not None and definition.equation and (flags := definition.equation.flags):
            raise DseError(
                f"{name}: the values of {about.argument.args[0]} are cases, which have no "
                f"{about.kind}: use chance({about.argument.args[0]} == "
                f"{str(next(iter(flags.values())))!r})"
            )

    def check_sees_conditions(self, name: StatisticName) -> None:
        """Raise DseError if an output that is part of a condition ignores another condition."""
        named = self._named_axes(name)
        for condition in self.graph.conditions:
            node = self.graph.flat_condition(condition)
            along = self.axes_of(node) & named
            if along and statistics_of([node]):
                raise DseError(
                    f"{name} is an output and part of a condition, so it ignores "
                    f"{condition.text!r}, which varies along {', '.join(sorted(along))}: drop one "
                    "condition, or put it into the formula, as where(condition, value, other value)"
                )


def statistic_portions(
    grid: Grid, roots: Mapping[tuple[str, ...], Sequence[Node]], whole_axes: Iterable[str] = ()
) -> list[dict[str, slice]]:
    """Cut a grid into parts such that the statistics below ``roots`` fit in memory.

    The axis that is cut is not in ``whole_axes``, and no statistic reduces it. If no axis can be
    cut, or if all values fit, the only part is the whole grid.
    """
    result = [
        leaf
        for key, nodes in roots.items()
        for leaf in _lazy_statistics(grid.leaves[key], references(*nodes))
    ]
    waiting = (leaf for leaf in result if not leaf.group.is_computed)
    largest = max((math.prod(leaf.group.grid.shape(leaf.axes)) for leaf in waiting), default=0)
    along = {axis for leaf in result for axis in leaf.reduced_axes}
    axes = {axis for leaf in result for axis in leaf.axes if axis in grid.axes}
    free = axes - along - set(whole_axes) - set(grid.switch_axes)
    if largest <= MAX_PORTION_VALUES or not free:
        return [{}]
    axis = max(grid.sort_axes(free), key=lambda name: grid.axes[name].size)
    size = grid.axes[axis].size
    step = max(1, size * MAX_PORTION_VALUES // largest)
    return [{axis: slice(low, min(low + step, size))} for low in range(0, size, step)]


def _lazy_statistics(leaves: Mapping[str, Leaf], names: Iterable[str]) -> Iterator[LazyStatistic]:
    for name in names:
        leaf = leaves[name]
        if isinstance(leaf, LazyStatistic):
            yield leaf
            inner: Mapping[str, Leaf] = leaf.group.grid.leaves[()]
            yield from _lazy_statistics(inner, references(leaf.group.root))


def labels_without_value(grid: Grid, roots: Mapping[tuple[str, ...], Sequence[Node]]) -> list[str]:
    """Return a text for each label at which a statistic in a formula has no value.

    The text names the labels that cause it. Labels that no condition allows, and statistics of more
    than ``MAX_PORTION_VALUES`` values, are left out.
    """
    texts, places = [], [(key, name) for key in roots for name in references(*roots[key])]
    for key, name in places:
        leaves, graph = grid.leaves[key], grid.graphs[key]
        if not isinstance(leaf := leaves[name], LazyStatistic):
            continue
        tests = [graph.flat_condition(c) for c in graph.conditions]
        tests = [test for test in tests if grid.node_dims(test, key) <= {*leaf.axes}]
        within = _lazy_statistics(leaves, [name, *references(*tests)])
        if max(each.group.grid.points for each in within) > MAX_PORTION_VALUES:
            continue
        allowed, values = grid.evaluate(
            [constant(both(True, *tests)), reference(name)], key, leaf.axes
        )
        inner = leaf.group.grid
        cases: list[tuple[Any, str]] = [
            ((*[slice(None)] * place, [k]), f"{label}: ")
            for place, axis in enumerate(leaf.axes)
            for k, label in enumerate(grid.axes[axis].labels)
        ]
        for index, label in cases or [((), "")]:
            if allowed[index].any() and not np.isfinite(values[index]).any():
                (parts,) = inner.evaluate([leaf.group.root], (), [*inner.axes])
                causes = [
                    text
                    for place, axis in enumerate(leaf.reduced_axes, len(leaf.axes))
                    for k, text in enumerate(inner.axes[axis].labels)
                    if not np.isfinite(parts[index].take(k, place)).any()
                ]
                over = f"has one over {', '.join(leaf.reduced_axes)}"
                over = f"of {', '.join(causes)} has one" if causes else over
                texts.append(f"{label}no value: no feasible configuration {over}")
    return list(dict.fromkeys(texts))
