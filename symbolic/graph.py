"""The graph of a model: one definition for each quantity that is needed."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from symbolic.equation import Equation, EquationSet
from symbolic.ops import NEARLY_ALL, Node, constant, reference, references, substitute


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Definition:
    """The definition of a quantity in a graph.

    ``kind`` is ``"given"`` (a leaf whose value the user gives), ``"default"`` (a leaf with its
    default value), ``"formula"`` (a formula of the user, or a default that names another quantity),
    ``"equation"``, ``"table"`` (a leaf that a table equation computes before the grid),
    ``"statistic"`` (a leaf computed from the values of a formula along some axes), or
    ``"expanded"`` (a statistic written as a formula of other quantities).
    """

    name: str
    kind: str
    node: Node
    needs: tuple[str, ...]
    equation: Equation | None = None

    @property
    def is_leaf(self) -> bool:
        """True if the value of the quantity is an input of the loop nest."""
        return self.kind in ("given", "default", "table", "statistic")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Condition:
    """A condition that a feasible point meets: a rule of the model or a constraint of the user."""

    text: str
    node: Node
    is_rule: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Graph:
    """The definitions needed for some outputs; each follows those that it needs."""

    model: EquationSet
    definitions: Mapping[str, Definition]
    outputs: tuple[str, ...]
    conditions: tuple[Condition, ...]
    switches: Mapping[str, str]
    _flat_nodes: dict[str, Node] = field(default_factory=dict, repr=False, compare=False)

    def flat(self, name: str) -> Node:
        """Return a quantity as a formula of the graph's leaves."""
        if not self._flat_nodes:
            for key, definition in self.definitions.items():
                if definition.is_leaf:
                    self._flat_nodes[key] = reference(key)
                else:
                    needs = {need: self._flat_nodes[need] for need in definition.needs}
                    self._flat_nodes[key] = substitute(definition.node, needs)
        return self._flat_nodes[name]

    @property
    def statistics(self) -> list[str]:
        """Return the names of the graph's statistics."""
        return [name for name, result in self.definitions.items() if result.kind == "statistic"]

    def flatten(self, node: Node) -> Node:
        """Return a formula rewritten as a formula of the graph's leaves."""
        return substitute(node, {name: self.flat(name) for name in references(node)})

    def flat_condition(self, condition: Condition) -> Node:
        """Return a condition rewritten as a formula of the graph's leaves."""
        return self.flatten(condition.node)

    def ancestors(self, names: Iterable[str], without: Iterable[str] = ()) -> set[str]:
        """Return the given quantities and all on which they depend other than by ``without``."""
        seen: set[str] = {*without}
        stack = list(names)
        while stack:
            name = stack.pop()
            if name not in seen:
                seen.add(name)
                stack.extend(self.definitions[name].needs)
        return seen

    def switches_of(self, names: Iterable[str]) -> set[str]:
        """Return the switches that choose among the equations behind the given quantities."""
        return {
            switch
            for name in self.ancestors(names)
            if self.definitions[name].kind in ("equation", "table")
            for variant in self.model.variants(name)
            for switch in variant.when
        }

    @property
    def equations(self) -> tuple[Equation, ...]:
        """Return the equations that the graph uses."""
        return tuple(d.equation for d in self.definitions.values() if d.equation is not None)


def extreme_terms(
    graph: Graph,
    name: str,
    op: str = "minimum",
    stop: Collection[str] = (),
    look_through: Collection[str] = ("ceil",),
) -> tuple[str, ...]:
    """Return the terms of a quantity that is a minimum (or a maximum, by ``op``) of its terms.

    A term that is itself a minimum (or maximum) is replaced by its terms, unless it is in ``stop``.
    Operations in ``look_through`` are ignored. A quantity of any other form is its own only term.
    """
    result: dict[str, None] = {}
    stack = [graph.definitions[name].node]
    if stack[0].op != op and stack[0].op not in look_through:
        return (name,)
    while stack:
        node = stack.pop()
        if node.op == op or node.op in look_through:
            stack.extend(reversed(node.args))
        elif node.op == "mul" and node.args[1] is constant(NEARLY_ALL):
            stack.append(node.args[0])
        elif node.op != "reference":
            return (name,)
        else:
            term = node.args[0]
            below = (term,) if term in stop else extreme_terms(graph, term, op, stop, look_through)
            result.update(dict.fromkeys(below))
    return tuple(result)
