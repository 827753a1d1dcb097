"""Derive the regimes of a model and the borders between them in closed form.

SymPy cannot solve for an unknown inside ``Min``, and its simplifier fails on the larger models. So
the two terms of a border are first split into branches, on the traced tree. The solver then gets
only expressions in which the unknown occurs in no ``Min``, ``Max`` or ``Piecewise``.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import sympy

from stochastic import sizes
from symbolic.closed_form import inline, switches_clause, symbol, to_sympy
from symbolic.equation import Equation, Family
from symbolic.errors import DseError, check_name
from symbolic.exact import piecewise, replace_rounding, to_exact
from symbolic.graph import Graph, extreme_terms
from symbolic.ops import SYMPY, Node, constant, references, walk
from symbolic.quantity import Quantity

_PLAIN_OPS = frozenset({"constant", "reference", "add", "sub", "mul", "div"})
_INFINITE = (sympy.oo, sympy.nan, sympy.zoo)


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """A regime: its label, the condition under which it holds, and the main outputs in it.

    ``of`` is the quantity that distinguishes the regimes. ``outputs`` maps a quantity to its SymPy
    expression in the regime; a case or bound that the regime decides is mapped to its label. On a
    border the conditions of both regimes hold, and both regimes give equal outputs.
    """

    of: str
    label: str
    condition: Any
    outputs: Mapping[str, Any]

    def __str__(self) -> str:
        lines = [f"{self.label} ({self.of}): where {replace_rounding(self.condition)}"]
        lines += [f"  {name} = {replace_rounding(text)}" for name, text in self.outputs.items()]
        return "\n".join(lines)


def _flag_equations(graph: Graph) -> dict[str, Equation]:
    return {eq.name: eq for eq in graph.equations if eq.flags}


def _deciding_family(eq: Equation, families: Iterable[Family]) -> str | None:
    """Return the quantity of the family whose terms are most of the labels of a case."""
    labels = set(eq.flags.values())
    within = [family for family in families if labels.issuperset(family.terms)]
    return max(within, key=lambda family: len(family.terms)).of if within else None


def active_families(graph: Graph) -> dict[str, Family]:
    """Return the families that list exactly the terms that their quantity has in this graph."""
    result = {}
    for family in graph.model.regime_families:
        terms = set(family.terms.values())
        op = "maximum" if family.largest else "minimum"
        if family.of in graph.definitions and terms == set(
            extreme_terms(graph, family.of, op, stop=terms, look_through=())
        ):
            result[family.of] = family
    return result


def regimes(graph: Graph, family: str | None, expand: bool) -> tuple[Regime, ...]:
    """Return the regimes of a model; see :meth:`symbolic.model.Model.regimes`."""
    families = active_families(graph)
    flagged = _flag_equations(graph)
    known = [*families]
    known += [
        name for name, eq in flagged.items() if _deciding_family(eq, families.values()) is None
    ]
    if family is not None and family not in flagged:
        message = f"{family!r} has no regimes in the model {graph.model.name}"
        check_name(family, known, message, "there are regimes of")
    result: list[Regime] = []
    for quantity in known if family is None else (family,):
        if quantity in families:
            result += _family_regimes(graph, families, quantity, expand)
        else:
            result += _case_regimes(graph, flagged[quantity], expand)
    return tuple(result)


def _regime_outputs(
    graph: Graph, quantity: str, replacements: Mapping[str, str | Node], names: set[str]
) -> dict[str, Any]:
    return {
        name: to_sympy(inline(graph, {*names, name}, replacements)[name], graph.model.quantities)
        for name in graph.model.outputs
        if name in graph.definitions and quantity in graph.ancestors((name,))
    }


def _plain_terms(graph: Graph, family: Family) -> list[str]:
    """Return the terms of a family that can be substituted, because they are plain arithmetic."""
    return [
        term
        for term in family.terms.values()
        if all(step.op in _PLAIN_OPS for step in walk((graph.definitions[term].node,)))
    ]


def _names_to_inline(
    graph: Graph,
    quantity: str,
    expand: bool,
    terms: Iterable[str] = (),
    excluded: Iterable[str] = (),
) -> set[str]:
    """Return the quantities to substitute by their equations.

    With ``expand`` these are all quantities. Otherwise they are ``terms``, and the quantities that
    depend on ``quantity`` and are not in ``excluded``.
    """
    every = set(graph.definitions)
    if expand:
        return every
    below = {name for name in every if quantity in graph.ancestors((name,))}
    return below.difference(excluded).union(terms)


def _family_regimes(
    graph: Graph, families: Mapping[str, Family], quantity: str, expand: bool
) -> Iterator[Regime]:
    model, flagged, family = graph.model, _flag_equations(graph), families[quantity]
    names = _names_to_inline(graph, family.of, expand, _plain_terms(graph, family), flagged)
    trees = inline(graph, names)
    terms = {label: to_sympy(trees[term], model.quantities) for label, term in family.terms.items()}
    every = families.values()
    decided = {k: eq for k, eq in flagged.items() if _deciding_family(eq, every) == family.of}
    beyond = sympy.Ge if family.largest else sympy.Le
    for label, term in family.terms.items():
        others = [beyond(terms[label], terms[rest]) for rest in terms if rest != label]
        replacements: dict[str, str | Node] = {family.of: term}
        for name, eq in decided.items():
            flag = next(value for value, text in eq.flags.items() if text == label)
            replacements[name] = constant(flag)
        outputs = _regime_outputs(graph, family.of, replacements, names)
        outputs |= {name: label for name in decided if name in model.outputs}
        yield Regime(of=family.of, label=label, condition=sympy.And(*others), outputs=outputs)


def _case_regimes(graph: Graph, eq: Equation, expand: bool) -> Iterator[Regime]:
    names = _names_to_inline(graph, eq.name, expand)
    node = inline(graph, names if expand else {eq.name})[eq.name]
    for value, label in eq.flags.items():
        condition = _equality_condition(graph.model.quantities, node, value)
        if condition != sympy.false:
            outputs = _regime_outputs(graph, eq.name, {eq.name: constant(value)}, names)
            if eq.name in outputs:
                outputs[eq.name] = label
            yield Regime(of=eq.name, label=label, condition=condition, outputs=outputs)


def _equality_condition(quantities: Mapping[str, Quantity], node: Node, value: int) -> Any:
    """Return the condition that a case, given as a tree, equals ``value``."""
    if node.op == "where":
        condition = to_sympy(node.args[0], quantities)
        first, second = (_equality_condition(quantities, arm, value) for arm in node.args[1:])
        return sympy.Or(sympy.And(condition, first), sympy.And(sympy.Not(condition), second))
    return sympy.Eq(to_sympy(node, quantities), to_exact(value))


def border(graph: Graph, a: str, b: str, solve_for: str) -> Any:
    """Return the value of ``solve_for`` at the border; see :meth:`symbolic.model.Model.border`."""
    row = graph.model.quantity(solve_for)
    family = _shared_family(graph, a, b)
    below = _names_to_inline(graph, solve_for, False, _plain_terms(graph, family)) - {solve_for}
    trees = inline(graph, below)
    left, right = trees[family.terms[a]], trees[family.terms[b]]
    for node in walk((left, right)):
        if node.op in ("floor", "ceil") and solve_for in references(node):
            raise DseError(
                f"{solve_for} is inside a {node.op} in the border between {a} and {b}: it has "
                "no closed form there; solve for a quantity that is not rounded, or sweep it"
            )
    if solve_for not in references(left, right):
        moving = graph.ancestors((family.terms[a], family.terms[b]))
        raise DseError(
            f"{solve_for} does not move the border between {a} and {b} of {family.of}: their terms "
            f"depend on {', '.join(sorted(moving)) or 'nothing'}"
        )
    unknown = sympy.Dummy(solve_for, **_sign_assumption(symbol(row)))
    result: dict[Any, Any] = {}
    sides = [_branches(graph.model.quantities, node, solve_for, unknown) for node in (left, right)]
    if len(sides[0]) * len(sides[1]) > sizes.BRANCHES_MOST:
        raise _too_many_branches(solve_for)
    for (first, when_first), (second, when_second) in product(*sides):
        for solution in _solve(first - second, unknown, (a, b, solve_for)):
            both = sympy.And(when_first, when_second)
            condition = _settle_comparisons(both.subs(unknown, solution))
            if condition != sympy.false:
                result[solution] = sympy.Or(result.get(solution, sympy.false), condition)
    if not result:
        raise DseError(
            f"the regimes {a} and {b} of {family.of} never meet as {solve_for} varies within "
            f"{row.domain}"
        )
    answers = [
        solution if condition == sympy.true else piecewise((solution, condition))
        for solution, condition in result.items()
    ]
    return answers[0] if len(answers) == 1 else answers


def _shared_family(graph: Graph, a: str, b: str) -> Family:
    model, families = graph.model, active_families(graph).values()
    labels = [label for entry in families for label in entry.terms]
    for label in (a, b):
        for entry in model.regime_families:
            if label in entry.terms and label not in labels:
                raise DseError(
                    f"{entry.of} is not the {'largest' if entry.largest else 'smallest'} of "
                    f"{', '.join(entry.terms.values())}"
                    f"{switches_clause(graph)}: its regimes have no border in closed form"
                )
        message = f"{label!r} is no regime of the model {model.name}"
        check_name(label, labels, message, "those with borders are")
    if a == b:
        raise DseError(f"{a!r} has no border with itself: name two regimes")
    for entry in families:
        if a in entry.terms and b in entry.terms:
            return entry
    groups = "; ".join(f"{entry.of}: {', '.join(entry.terms)}" for entry in families)
    raise DseError(
        f"{a!r} and {b!r} are regimes of different quantities, so they share no border ({groups})"
    )


def _sign_assumption(expression: Any) -> dict[str, bool]:
    if expression.is_extended_positive:
        return {"positive": True}
    return {"nonnegative": True} if expression.is_extended_nonnegative else {"real": True}


def _branches(
    quantities: Mapping[str, Quantity], root: Node, name: str, unknown: Any
) -> list[tuple[Any, Any]]:
    """Return the branches of a tree: pairs of an expression and the condition for this expression.

    In these expressions, no ``Min``, ``Max`` or ``Piecewise`` contains the unknown ``name``.
    """
    done: dict[int, list[tuple[Any, Any]]] = {}
    for node in walk((root,)):
        if node.op == "reference" and node.args[0] == name:
            done[id(node)] = [(unknown, sympy.true)]
        elif name not in references(node):
            done[id(node)] = [(to_sympy(node, quantities), sympy.true)]
        else:
            result: dict[Any, Any] = {}
            for parts in product(*(done[id(arg)] for arg in node.args)):
                shared = sympy.And(*(condition for _, condition in parts))
                for value, condition in _primitive_branches(node.op, [value for value, _ in parts]):
                    both = sympy.And(shared, condition)
                    if both != sympy.false:
                        result[value] = sympy.Or(result.get(value, sympy.false), both)
            if len(result) > sizes.BRANCHES_MOST:
                raise _too_many_branches(name)
            done[id(node)] = list(result.items())
    return done[id(root)]


def _too_many_branches(name: str) -> DseError:
    return DseError(
        f"the border has more than {sizes.BRANCHES_MOST} branches in {name}: solve for an "
        "intermediate quantity between it and the terms, or sweep it"
    )


def _primitive_branches(op: str, values: list[Any]) -> list[tuple[Any, Any]]:
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
    """Return the zeros of a difference; zeros that are never real or never finite are left out.

    Each ``Piecewise``, ``Min`` and ``Max`` is replaced by a symbol while the equation is solved.
    They do not contain the unknown.
    """
    decided = difference.atoms(sympy.Piecewise, sympy.Min, sympy.Max)
    closed = {part: sympy.Dummy(**_sign_assumption(part)) for part in decided}
    bare = difference.xreplace(closed)
    if unknown not in bare.free_symbols or bare.has(*_INFINITE):
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
    real = [zero for zero in zeros if zero.is_real is not False and not zero.has(*_INFINITE)]
    forms = ((zero, sympy.factor(zero), sympy.expand(zero)) for zero in real)
    return [min(each, key=sympy.count_ops).xreplace(opened) for each in forms]


def _settle_comparisons(condition: Any) -> Any:
    settled = {}
    for relation in condition.atoms(sympy.core.relational.Relational):
        if not relation.has(sympy.Piecewise, *_INFINITE):
            for form in (sympy.expand, sympy.factor):
                outcome = relation.func(form(relation.lhs - relation.rhs), 0)
                if outcome in (sympy.true, sympy.false):
                    settled[relation] = outcome
    return condition.xreplace(settled)
