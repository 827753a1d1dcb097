"""Regimes in closed form: the condition of each, and the main outputs within it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from symbolic.closed_form import inline, to_sympy
from symbolic.equation import Equation
from symbolic.errors import check_known
from symbolic.exact import exact, readable
from symbolic.graph import Graph
from symbolic.guides import Family
from symbolic.ops import Node, constant, walk
from symbolic.quantity import Quantity

PLAIN = frozenset({"constant", "reference", "add", "sub", "mul", "div"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """One regime: its label, the condition on which it holds, and the main outputs within it.

    ``of`` is the quantity that tells the regimes apart. ``outputs`` maps a quantity to its SymPy
    expression in the regime, or to a label where the regime decides a case or bound. On a border
    the conditions of both regimes hold, and their expressions agree.
    """

    of: str
    label: str
    condition: Any
    outputs: Mapping[str, Any]

    def __str__(self) -> str:
        lines = [f"{self.label} ({self.of}): where {readable(self.condition)}"]
        lines += [f"  {name} = {readable(told)}" for name, told in self.outputs.items()]
        return "\n".join(lines)


def _flagged(graph: Graph) -> dict[str, Equation]:
    """The cases and bounds: quantities whose values have meanings."""
    return {eq.name: eq for eq in graph.equations if eq.flags}


def _tells_apart(family: Family, eq: Equation) -> bool:
    return set(family.terms) <= set(eq.flags.values())


def families_of(graph: Graph) -> dict[str, Family]:
    """The families that hold under the switches: ``of`` is the extreme of just those terms."""
    return {
        family.of: family
        for family in graph.model.regime_families
        if family.of in graph.definitions
        and _extreme_of(graph, family.of, family) == set(family.terms.values())
    }


def _extreme_of(graph: Graph, name: str, family: Family) -> set[str]:
    """The quantities whose smallest or largest is the named one, as far down as those go."""
    found: set[str] = set()
    stack = [graph.definitions[name].node]
    while stack:
        node = stack.pop()
        if node.op == ("maximum" if family.largest else "minimum"):
            stack.extend(node.args)
        elif node.op != "reference":
            return {name}
        elif node.args[0] in family.terms.values():
            found.add(node.args[0])
        elif node.args[0] != name:
            found |= _extreme_of(graph, node.args[0], family)
    return found or {name}


def regimes(graph: Graph, family: str | None, expand: bool) -> tuple[Regime, ...]:
    """The regimes of a model; see :meth:`symbolic.model.Model.regimes`."""
    families = families_of(graph)
    flagged = _flagged(graph)
    known = [*families]
    known += [
        name
        for name, eq in flagged.items()
        if not any(_tells_apart(entry, eq) for entry in families.values())
    ]
    if family is not None and family not in flagged:
        said = f"{family!r} has no regimes in the model {graph.model.name}"
        check_known(family, known, said, "there are regimes of")
    found: list[Regime] = []
    for of in known if family is None else (family,):
        if of in families:
            found += _of_family(graph, families[of], expand)
        else:
            found += _of_flags(graph, flagged[of], expand)
    return tuple(found)


def _outputs(
    graph: Graph, of: str, instead: Mapping[str, str | Node], names: set[str]
) -> dict[str, Any]:
    return {
        name: to_sympy(inline(graph, {*names, name}, instead)[name], graph.model.quantities)
        for name in graph.model.outputs
        if name in graph.definitions and of in graph.ancestors((name,))
    }


def plain_terms(graph: Graph, family: Family) -> list[str]:
    """The terms that decide nothing, so that they are written out rather than named."""
    return [
        term
        for term in family.terms.values()
        if all(step.op in PLAIN for step in walk((graph.definitions[term].node,)))
    ]


def inlined(
    graph: Graph, of: str, expand: bool, terms: Iterable[str] = (), keep: Iterable[str] = ()
) -> set[str]:
    """The quantities to substitute: those that depend on ``of``, and the terms, or all."""
    every = set(graph.definitions)
    if expand:
        return every
    below = {name for name in every if of in graph.ancestors((name,))}
    return below.difference(keep).union(terms)


def _of_family(graph: Graph, family: Family, expand: bool) -> Iterator[Regime]:
    model, flagged = graph.model, _flagged(graph)
    names = inlined(graph, family.of, expand, plain_terms(graph, family), flagged)
    trees = inline(graph, names)
    terms = {label: to_sympy(trees[term], model.quantities) for label, term in family.terms.items()}
    decided = {name: eq for name, eq in flagged.items() if _tells_apart(family, eq)}
    beyond = sympy.Ge if family.largest else sympy.Le
    for label, term in family.terms.items():
        others = [beyond(terms[label], terms[rest]) for rest in terms if rest != label]
        instead: dict[str, str | Node] = {family.of: term}
        for name, eq in decided.items():
            instead[name] = constant(next(k for k, text in eq.flags.items() if text == label))
        outputs = _outputs(graph, family.of, instead, names)
        outputs |= {name: label for name in decided if name in model.outputs}
        yield Regime(of=family.of, label=label, condition=sympy.And(*others), outputs=outputs)


def _of_flags(graph: Graph, eq: Equation, expand: bool) -> Iterator[Regime]:
    names = inlined(graph, eq.name, expand)
    node = inline(graph, names if expand else {eq.name})[eq.name]
    for value, label in eq.flags.items():
        condition = _equals(graph.model.quantities, node, value)
        if condition != sympy.false:
            outputs = _outputs(graph, eq.name, {eq.name: constant(value)}, names)
            if eq.name in outputs:
                outputs[eq.name] = label
            yield Regime(of=eq.name, label=label, condition=condition, outputs=outputs)


def _equals(quantities: Mapping[str, Quantity], node: Node, value: int) -> Any:
    """The condition on which a case has the given value."""
    if node.op == "where":
        condition = to_sympy(node.args[0], quantities)
        first, second = (_equals(quantities, arm, value) for arm in node.args[1:])
        return sympy.Or(sympy.And(condition, first), sympy.And(sympy.Not(condition), second))
    return sympy.Eq(to_sympy(node, quantities), exact(value))
