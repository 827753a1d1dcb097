"""Resolve a model into a graph: choose one definition for each quantity that is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy

from symbolic.equation import Equation, EquationSet
from symbolic.errors import GraphError, UnknownNameError, nearest_hint
from symbolic.expression import parse_condition
from symbolic.graph import Condition, Definition, Graph
from symbolic.ops import Node, both, constant, reference, references, substitute, where
from symbolic.statistic_laws import check_labels, law_definition
from symbolic.statistics import StatisticName, check_direction, regret_formula

#: Maximum number of equations that the error for a missing quantity names.
_MAX_NAMED = 4


class _Resolver:
    def __init__(
        self,
        model: EquationSet,
        values: Mapping[str, Node | None],
        switches: Mapping[str, str],
        varying_switches: Mapping[str, Mapping[str, Node]],
    ) -> None:
        self.model = model
        self.values = values
        self.switches = switches
        self.varying_switches = varying_switches
        self.definitions: dict[str, Definition] = {}
        self.missing: dict[str, list[str]] = {}
        self.variants: dict[str, list[Equation]] = {}
        for eq in model.equations:
            self.variants.setdefault(eq.name, []).append(eq)

    def fork(self) -> _Resolver:
        other = copy(self)
        other.definitions, other.missing = dict(self.definitions), {}
        return other

    def equation(self, name: str) -> Equation | None:
        for switch, labels in self.varying_switches.items():
            if any(switch in eq.when for eq in self.variants.get(name, ())):
                return self.switched_equation(name, switch, labels)
        return self.select_equation(name, self.switches)

    def switched_equation(
        self, name: str, switch: str, labels: Mapping[str, Node]
    ) -> Equation | None:
        """Return an equation of a quantity that chooses between the labels of a switch.

        The first label applies where its condition holds, and so on; the last applies elsewhere.
        """
        chosen = {}
        for label in labels:
            other = copy(self)
            other.switches = {**self.switches, switch: label}
            other.varying_switches = {**self.varying_switches}
            del other.varying_switches[switch]
            eq = other.equation(name)
            if eq is None or eq.table:
                return None
            chosen[label] = eq
        given = {  # where the quantity is not given, the value is unused
            need: substitute(formula, {need: constant(1)})
            for need in self.model.quantity(switch).settled_by
            if (formula := self.values.get(need)) is not None
        }
        *others, last = chosen
        node = chosen[last].node
        for label in reversed(others):
            node = where(labels[label], substitute(chosen[label].node, given), node)
        sources = [f"{chosen[label].source} where {switch} is {label}" for label in others]
        return Equation(
            name=name,
            function=lambda *_: node,
            inputs=references(node),
            source=f"{', '.join(sources)}, else {chosen[last].source}",
            when={**chosen[last].when, switch: self.switches[switch]},
            flags=chosen[last].flags,
            symbol=chosen[last].symbol,
        )

    def select_equation(self, name: str, switches: Mapping[str, str]) -> Equation | None:
        result = [
            eq
            for eq in self.variants.get(name, ())
            if all(switches[switch] == label for switch, label in eq.when.items())
        ]
        if len(result) > 1:
            raise GraphError(
                f"{name} has two definitions: {result[0].describe()} and {result[1].describe()}; "
                "keep one, choose between them by a switch (when=), or give the quantity a value"
            )
        return result[0] if result else None

    def model_definition(self, name: str) -> Definition | None:
        """Return the model's definition of a quantity: by an equation or by a default."""
        result = self.equation(name)
        if result is not None:
            kind = "table" if result.table else "equation"
            node = reference(name) if result.table else result.node
            needs = result.inputs if result.table else references(node)
            return Definition(name=name, kind=kind, node=node, needs=needs, equation=result)
        default = self.model.quantity(name).default
        if isinstance(default, str) and not self.model.quantity(name).is_label:
            return Definition(name=name, kind="formula", node=reference(default), needs=(default,))
        if default is not None and not isinstance(default, str):
            return Definition(name=name, kind="default", node=constant(default), needs=())
        return None

    def definition(self, name: str) -> Definition | None:
        if isinstance(name, StatisticName):
            if name.statistic.kind == "regret":
                node = regret_formula(name.statistic)
                return Definition(name=name, kind="expanded", node=node, needs=references(node))
            result = law_definition(name, self.model, self.definition)
            if result is None:
                check_direction(name)
                needs = references(name.statistic.argument, *name.statistic.rules)
                result = Definition(name=name, kind="statistic", node=reference(name), needs=needs)
            return result
        if name not in self.values:
            return self.model_definition(name)
        formula = self.values[name]
        if formula is None:
            return Definition(name=name, kind="given", node=reference(name), needs=())
        if name in references(formula):  # only some labels of an axis give a value
            otherwise = self.model_definition(name)
            if otherwise is None:
                return None
            if otherwise.kind == "table":
                raise GraphError(
                    f"{name} is given for some labels of an axis and comes from a table equation "
                    "for the others: give it for every label, or for none"
                )
            formula = substitute(formula, {name: otherwise.node})
        return Definition(name=name, kind="formula", node=formula, needs=references(formula))

    def define(self, root: str) -> None:
        """Add the definition of a quantity after those of all quantities that it needs."""
        path: list[str] = []
        stack: list[tuple[str, Definition | None]] = [(root, None)]
        while stack:
            name, ready = stack.pop()
            if ready is not None:
                path.pop()
                self.definitions[name] = ready
                continue
            if name in self.definitions or name in self.missing:
                if name in self.missing and path:
                    self.missing[name].append(path[-1])
                continue
            if name in path:
                cycle = " -> ".join([*path[path.index(name) :], name])
                raise GraphError(
                    f"the definitions form a cycle: {cycle}; give one of them a value to cut it"
                )
            definition = self.definition(name)
            if definition is None:
                self.missing[name] = path[-1:]
                continue
            path.append(name)
            stack.append((name, definition))
            stack.extend((need, None) for need in reversed(definition.needs))

    def cite(self, name: str) -> str:
        eq = self.equation(name)
        return f"{name} ({eq.source})" if eq is not None and eq.source else name

    def raise_missing(self) -> None:
        if not self.missing:
            return
        lines = []
        for name, users in self.missing.items():
            row = self.model.quantity(name)
            needed = [self.cite(user) for user in dict.fromkeys(users)]
            if len(needed) > _MAX_NAMED:
                needed[_MAX_NAMED:] = [f"and {len(needed) - _MAX_NAMED} more"]
            unit = f" [{row.unit}]" if row.unit else ""
            meaning = f", {row.meaning}{unit}," if row.meaning else f"{unit}"
            reason = f" is needed by {'; '.join(needed)}" if needed else " is wanted"
            hint = ""
            if name in self.values:
                hint = " (it is given for some labels of an axis and not for the others)"
            for switch, label in self.switches.items():
                variants = [eq for eq in self.variants.get(name, ()) if switch in eq.when]
                if variants and label not in (known := [eq.when[switch] for eq in variants]):
                    expected = " or ".join(dict.fromkeys(known))
                    hint = f" (it has no equation for {switch} = {label}: expected {expected})"
            lines.append(f"{name}{meaning}{reason}{hint}")
        raise GraphError(
            f"the model {self.model.name} lacks "
            + ("a value:\n  " if len(lines) == 1 else f"{len(lines)} values:\n  ")
            + "\n  ".join(lines)
            + "\nGive each a value (set, an axis, a machine or a workload), or join a model that "
            "yields it"
        )


def _switch_condition(
    model: EquationSet, values: Mapping[str, Node | None], switch: str
) -> bool | Node:
    """Return True if all quantities that settle a switch are given, and False if one is not given.

    If a quantity is given only for some labels of a categorical axis, return the condition as a
    node.
    """

    def value_indicator(node: Node, name: str) -> Node:
        if node.op == "where":
            condition, *arms = node.args
            return constant(where(condition, *(value_indicator(arm, name) for arm in arms)))
        return constant(0 if name in references(node) else 1)

    settled: dict[Node, None] = {}
    for name in model.quantity(switch).settled_by:
        if name not in values:
            return False
        node = values[name]
        if node is not None and name in references(node):
            settled[value_indicator(node, name) > 0] = None
    return both(*settled) if settled else True


def resolve(
    model: EquationSet,
    *,
    values: Mapping[str, Node | None],
    switches: Mapping[str, str | Mapping[str, Node]] | None = None,
    outputs: Iterable[str] | None = None,
    where: Iterable[str] = (),
) -> Graph:
    """Join equations, given values and defaults into one definition for each quantity needed.

    ``values`` maps a quantity to None if it is a leaf of the grid, or to a formula of other
    quantities. In the formula of a quantity, the quantity's own name means the model's definition.
    Switches without a label in ``switches`` have defaults. A switch may have several labels there,
    each with the condition where it applies. In the graph's ``switches``, ``auto`` is replaced by
    its meaning (see :class:`symbolic.quantity.Quantity`). But if the meaning differs along an axis,
    ``auto`` stays; the labels of other switches that vary are joined by "or". Equations then choose
    between variants. All quantities of the user's constraints ``where`` are required; a rule of the
    model applies only if all its quantities are known.

    Raise a :class:`GraphError` if an input is missing, has two definitions or is part of a cycle.
    """
    for name in values:
        model.quantity(name)
    chosen = {name: str(row.default) for name, row in model.quantities.items() if row.is_switch}
    varying: dict[str, Mapping[str, Node]] = {}
    for name, given in (switches or {}).items():
        row = model.quantity(name)
        for label in (given,) if isinstance(given, str) else given:
            if row.labels is None or label not in row.labels:
                raise UnknownNameError(
                    f"{name} = {label!r} is no choice: expected one of "
                    f"{', '.join(row.labels or ())}{nearest_hint(label, row.labels or ())}"
                )
        if not isinstance(given, str):
            varying[name] = given
        chosen[name] = given if isinstance(given, str) else " or ".join(given)
    for name, label in chosen.items():
        if label == "auto" and model.quantity(name).settled_by:
            *_, without, within = model.quantity(name).labels or ()
            settled = _switch_condition(model, values, name)
            if isinstance(settled, Node):
                varying[name] = {within: settled, without: constant(True)}
            else:
                chosen[name] = within if settled else without
    wanted = tuple(dict.fromkeys(model.outputs if outputs is None else outputs))
    resolver = _Resolver(model, values, chosen, varying)
    conditions: list[Condition] = []
    for name in wanted:
        model.quantity(name)
        resolver.define(name)
    for text in where:
        node = parse_condition(text, model.quantities)
        conditions.append(Condition(text=text, node=node, is_rule=False))
        for name in references(node):
            resolver.define(name)
    resolver.raise_missing()
    rules = []
    for text in model.rules:
        node = parse_condition(text, model.quantities)
        attempt = resolver.fork()
        try:
            for name in references(node):
                attempt.define(name)
        except GraphError:  # a rule with undefined quantities does not apply
            continue
        if not attempt.missing:
            resolver.definitions.update(attempt.definitions)
            rules.append(Condition(text=text, node=node, is_rule=True))
    graph = Graph(
        model=model,
        definitions=resolver.definitions,
        outputs=wanted,
        conditions=(*rules, *conditions),
        switches=chosen,
    )
    check_labels(graph)
    return graph
