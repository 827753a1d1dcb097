"""Regimes and their borders, in closed form.

SymPy cannot solve for an unknown inside ``Min``, and its simplifier fails on the larger models. So
each regime is reasoned about by itself: the branches of an equation are separated first, on the
traced tree, and only what is left, free of decisions, goes to the solver.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import sympy

from symbolic.closed_form import SYMPY, exact, inline, piecewise, symbol, to_sympy, under
from symbolic.errors import DseError, UnknownNameError, nearest
from symbolic.graph import Graph
from symbolic.ops import Node, constant, references, walk

if TYPE_CHECKING:
    from symbolic.equation import Equation
    from symbolic.model import Family, Model

__all__ = ["Regime", "border", "regimes"]

MOST_BRANCHES = 12
INFINITE = (sympy.oo, sympy.nan, sympy.zoo)
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
        lines = [f"{self.label} ({self.of}): where {self.condition}"]
        lines += [f"  {name} = {expression}" for name, expression in self.outputs.items()]
        return "\n".join(lines)


def _flagged(graph: Graph) -> dict[str, Equation]:
    """The cases and bounds: quantities whose values have meanings."""
    return {eq.name: eq for eq in graph.equations if eq.flags}


def _tells_apart(family: Family, eq: Equation) -> bool:
    return set(family.terms) <= set(eq.flags.values())


def _families(model: Model, graph: Graph) -> dict[str, Family]:
    """The families that hold under the switches: ``of`` is the smallest of just those terms."""
    return {
        family.of: family
        for family in model.families
        if family.of in graph.definitions
        and _smallest_of(graph, family.of, family) == set(family.terms.values())
    }


def _smallest_of(graph: Graph, name: str, family: Family) -> set[str]:
    """The quantities whose smallest is the named one, as far down as minima go."""
    found: set[str] = set()
    stack = [graph.definitions[name].node]
    while stack:
        node = stack.pop()
        if node.op == "minimum":
            stack.extend(node.args)
        elif node.op != "reference":
            return {name}
        elif node.args[0] in family.terms.values():
            found.add(node.args[0])
        elif node.args[0] != name:
            found |= _smallest_of(graph, node.args[0], family)
    return found or {name}


def regimes(
    model: Model, family: str | None, expand: bool, switches: Mapping[str, Any]
) -> tuple[Regime, ...]:
    """The regimes of a model; see :meth:`symbolic.model.Model.regimes`."""
    graph = model.graph(**switches)
    families = _families(model, graph)
    flagged = _flagged(graph)
    known = [*families]
    known += [
        name
        for name, eq in flagged.items()
        if not any(_tells_apart(entry, eq) for entry in families.values())
    ]
    if family is not None and family not in known and family not in flagged:
        raise UnknownNameError(
            f"{family!r} has no regimes in the model {model.name}{nearest(family, known)}; "
            f"there are regimes of: {', '.join(known) or 'nothing'}"
        )
    found: list[Regime] = []
    for of in known if family is None else (family,):
        if of in families:
            found += _of_family(model, graph, families[of], expand)
        else:
            found += _of_flags(model, graph, flagged[of], expand)
    return tuple(found)


def _outputs(
    model: Model, graph: Graph, of: str, instead: Mapping[str, str | Node], names: set[str]
) -> dict[str, Any]:
    return {
        name: to_sympy(inline(graph, {*names, name}, instead)[name], model.quantities)
        for name in model.outputs
        if name in graph.definitions and of in graph.ancestors((name,))
    }


def _plain(graph: Graph, family: Family) -> list[str]:
    """The terms that decide nothing, so that they are written out rather than named."""
    return [
        term
        for term in family.terms.values()
        if all(step.op in PLAIN for step in walk((graph.definitions[term].node,)))
    ]


def _inlined(
    graph: Graph, of: str, expand: bool, terms: Iterable[str] = (), keep: Iterable[str] = ()
) -> set[str]:
    """The quantities to substitute: those that depend on ``of``, and the terms, or all."""
    every = set(graph.definitions)
    if expand:
        return every
    below = {name for name in every if of in graph.ancestors((name,))}
    return below.difference(keep).union(terms)


def _of_family(model: Model, graph: Graph, family: Family, expand: bool) -> Iterator[Regime]:
    flagged = _flagged(graph)
    names = _inlined(graph, family.of, expand, _plain(graph, family), flagged)
    trees = inline(graph, names)
    terms = {label: to_sympy(trees[term], model.quantities) for label, term in family.terms.items()}
    decided = {name: eq for name, eq in flagged.items() if _tells_apart(family, eq)}
    for label, term in family.terms.items():
        others = [sympy.Le(terms[label], terms[rest]) for rest in terms if rest != label]
        instead: dict[str, str | Node] = {family.of: term}
        for name, eq in decided.items():
            instead[name] = constant(next(k for k, text in eq.flags.items() if text == label))
        outputs = _outputs(model, graph, family.of, instead, names)
        outputs |= {name: label for name in decided if name in model.outputs}
        yield Regime(of=family.of, label=label, condition=sympy.And(*others), outputs=outputs)


def _of_flags(model: Model, graph: Graph, eq: Equation, expand: bool) -> Iterator[Regime]:
    names = _inlined(graph, eq.name, expand)
    node = inline(graph, names if expand else {eq.name})[eq.name]
    for value, label in eq.flags.items():
        condition = _equals(model, node, value)
        if condition != sympy.false:
            outputs = _outputs(model, graph, eq.name, {eq.name: constant(value)}, names)
            if eq.name in outputs:
                outputs[eq.name] = label
            yield Regime(of=eq.name, label=label, condition=condition, outputs=outputs)


def _equals(model: Model, node: Node, value: int) -> Any:
    """The condition on which a case has the given value."""
    if node.op == "where":
        condition = to_sympy(node.args[0], model.quantities)
        first, second = (_equals(model, arm, value) for arm in node.args[1:])
        return sympy.Or(sympy.And(condition, first), sympy.And(sympy.Not(condition), second))
    return sympy.Eq(to_sympy(node, model.quantities), exact(value))


# --- borders


def border(model: Model, a: str, b: str, solve_for: str, switches: Mapping[str, Any]) -> Any:
    """Where two regimes meet; see :meth:`symbolic.model.Model.border`."""
    row = model.quantity(solve_for)
    graph = model.graph(**switches)
    family = _family(model, graph, a, b)
    below = _inlined(graph, solve_for, False, _plain(graph, family)) - {solve_for}
    trees = inline(graph, below)
    left, right = trees[family.terms[a]], trees[family.terms[b]]
    for node in walk((left, right)):
        if node.op in ("floor", "ceil") and solve_for in references(node):
            raise DseError(
                f"{solve_for} stands behind a {node.op} in the border between {a} and {b}: it has "
                "no closed form there; solve for a quantity that is not rounded, or sweep it"
            )
    if solve_for not in references(left, right):
        moving = graph.ancestors((family.terms[a], family.terms[b]))
        raise DseError(
            f"{solve_for} does not move the border between {a} and {b} of {family.of}: their terms "
            f"depend on {', '.join(sorted(moving)) or 'nothing'}"
        )
    unknown = sympy.Dummy(solve_for, **_sign(symbol(row)))
    found: dict[Any, Any] = {}
    sides = [_branches(model, node, solve_for, unknown) for node in (left, right)]
    if len(sides[0]) * len(sides[1]) > MOST_BRANCHES:
        raise _too_many(solve_for)
    for (first, when_first), (second, when_second) in product(*sides):
        for solution in _solve(first - second, unknown, (a, b, solve_for)):
            condition = sympy.And(when_first, when_second).subs(unknown, solution)
            if condition != sympy.false:
                found[solution] = sympy.Or(found.get(solution, sympy.false), condition)
    if not found:
        raise DseError(
            f"the regimes {a} and {b} of {family.of} never meet as {solve_for} varies within "
            f"{row.domain}"
        )
    answers = [
        solution if condition == sympy.true else piecewise((solution, condition))
        for solution, condition in found.items()
    ]
    return answers[0] if len(answers) == 1 else answers


def _family(model: Model, graph: Graph, a: str, b: str) -> Family:
    families = _families(model, graph).values()
    labels = [label for entry in families for label in entry.terms]
    for label in (a, b):
        for entry in model.families:
            if label in entry.terms and label not in labels:
                raise DseError(
                    f"{entry.of} is not the smallest of {', '.join(entry.terms.values())}"
                    f"{under(graph)}: its regimes have no border in closed form"
                )
        if label not in labels:
            raise UnknownNameError(
                f"{label!r} is no regime of the model {model.name}{nearest(label, labels)}; "
                f"those with borders are: {', '.join(labels) or 'none'}"
            )
    if a == b:
        raise DseError(f"{a!r} has no border with itself: name two regimes")
    for entry in families:
        if a in entry.terms and b in entry.terms:
            return entry
    groups = "; ".join(f"{entry.of}: {', '.join(entry.terms)}" for entry in families)
    raise DseError(
        f"{a!r} and {b!r} are regimes of different quantities, so they share no border ({groups})"
    )


def _sign(expression: Any) -> dict[str, bool]:
    """What is known of the sign of a quantity; a border lies between whole numbers too."""
    if expression.is_extended_positive:
        return {"positive": True}
    return {"nonnegative": True} if expression.is_extended_nonnegative else {"real": True}


def _branches(model: Model, root: Node, name: str, unknown: Any) -> list[tuple[Any, Any]]:
    """The tree as expressions free of decisions on the unknown, each with its condition."""
    done: dict[int, list[tuple[Any, Any]]] = {}
    for node in walk((root,)):
        if node.op == "reference" and node.args[0] == name:
            done[id(node)] = [(unknown, sympy.true)]
        elif name not in references(node):
            done[id(node)] = [(to_sympy(node, model.quantities), sympy.true)]
        else:
            found: dict[Any, Any] = {}
            for parts in product(*(done[id(arg)] for arg in node.args)):
                given = sympy.And(*(condition for _, condition in parts))
                for value, condition in _decide(node.op, [value for value, _ in parts]):
                    both = sympy.And(given, condition)
                    if both != sympy.false:
                        found[value] = sympy.Or(found.get(value, sympy.false), both)
            if len(found) > MOST_BRANCHES:
                raise _too_many(name)
            done[id(node)] = list(found.items())
    return done[id(root)]


def _too_many(name: str) -> DseError:
    return DseError(
        f"the border has more than {MOST_BRANCHES} branches in {name}: solve for an intermediate "
        "quantity between it and the terms, or sweep it"
    )


def _decide(op: str, values: list[Any]) -> list[tuple[Any, Any]]:
    """The possible values of one primitive, each with its condition."""
    if op in ("minimum", "maximum"):
        a, b = values
        low = sympy.Le(a, b), sympy.Le(b, a)
        return [(a, low[op == "maximum"]), (b, low[op == "minimum"])]
    if op == "where":
        condition, a, b = values
        return [(a, condition), (b, sympy.Not(condition))]
    if op == "divide":
        a, b, at_zero = values
        if b.is_zero is None:
            return [(a / b, sympy.Ne(b, 0)), (at_zero, sympy.Eq(b, 0))]
    if op == "absolute":
        return [(values[0], sympy.Ge(values[0], 0)), (-values[0], sympy.Le(values[0], 0))]
    return [(SYMPY[op](*values), sympy.true)]


def _solve(difference: Any, unknown: Any, what: tuple[str, str, str]) -> list[Any]:
    """The admissible zeros of a difference; what it decides without the unknown stays closed."""
    decided = difference.atoms(sympy.Piecewise, sympy.Min, sympy.Max)
    closed = {part: sympy.Dummy(**_sign(part)) for part in decided}
    bare = difference.xreplace(closed)
    if unknown not in bare.free_symbols or bare.has(*INFINITE):
        return []
    numerator = sympy.fraction(sympy.together(bare))[0]
    try:
        zeros = sympy.solve(numerator, unknown)
    except NotImplementedError:
        a, b, name = what
        raise DseError(
            f"the border between {a} and {b} cannot be solved for {name} in closed form"
        ) from None
    opened = {dummy: part for part, dummy in closed.items()}
    real = [zero for zero in zeros if zero.is_real is not False and not zero.has(*INFINITE)]
    return [_shortest(zero).xreplace(opened) for zero in real]


def _shortest(expression: Any) -> Any:
    forms = (expression, sympy.factor(expression), sympy.expand(expression))
    return min(forms, key=sympy.count_ops)
