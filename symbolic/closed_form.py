"""Convert equations to SymPy expressions (closed forms) and LaTeX.

Symbols are named after quantities; the domain of a quantity gives the SymPy assumptions. Literals
become exact rationals, so that a SymPy expression at rational points has the same value as the
equation evaluated on ``Fraction``.
"""

import math
import re
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

import sympy

from symbolic.equation import Equation, EquationSet
from symbolic.errors import DseError
from symbolic.exact import replace_rounding, to_exact
from symbolic.expression import parse_output
from symbolic.graph import Graph
from symbolic.node import is_readable
from symbolic.ops import SYMPY, Node, interpret, reference, references, substitute
from symbolic.quantity import Quantity
from symbolic.statistics import Statistic, StatisticName


def symbol(row: Quantity) -> Any:
    """Return the SymPy symbol of a quantity, with the sign that follows from its domain."""
    domain = row.domain
    infinite = "extended_" if math.inf == domain.high and not domain.high_open else ""
    if domain.low > 0 or (domain.low == 0 and domain.low_open):
        sign = f"{infinite}positive"
    elif domain.low == 0:
        sign = f"{infinite}nonnegative"
    else:
        sign = f"{infinite}real"
    assumptions = {sign: True}
    if domain.whole and not infinite:
        assumptions["integer"] = True
    return sympy.Symbol(row.name, **assumptions)


def to_sympy(
    node: Node, quantities: Mapping[str, Quantity], number: Callable[[Any], Any] = to_exact
) -> Any:
    """Return a traced equation as a SymPy expression over the symbols of its quantities."""
    names = references(node)
    missing = [name for name in names if name not in quantities]
    if missing:
        raise DseError(f"{missing[0]!r} is no quantity: its domain is needed for a closed form")
    return interpret(node, {name: symbol(quantities[name]) for name in names}, SYMPY, number)


def inline(
    graph: Graph, names: Container[str], replacements: Mapping[str, str | Node] | None = None
) -> dict[str, Node]:
    """Return a tree for each quantity of a graph, in which some quantities are substituted.

    A quantity in ``names`` is replaced by its equation wherever it is used. ``replacements`` maps a
    quantity to a node that replaces it, or to another quantity whose tree replaces it.
    """
    trees: dict[str, Node] = {}
    for name, definition in graph.definitions.items():
        other = (replacements or {}).get(name)
        if other is not None:
            trees[name] = trees[other] if isinstance(other, str) else other
        elif name in names and definition.kind == "equation":
            trees[name] = substitute(definition.node, {n: trees[n] for n in definition.needs})
        else:
            trees[name] = reference(name)
    return trees


def closed_form(graph: Graph, name: str, expand: bool | str | Iterable[str]) -> Any:
    """Return the equation of a quantity; see :meth:`symbolic.model.Model.closed_form`."""
    quantities = graph.model.quantities
    is_other = isinstance(name, str) and name not in quantities
    known = parse_output(name, quantities) if is_other else name
    if isinstance(known, StatisticName) and known.statistic.kind == "at":
        return to_sympy(_value_at(graph, known.statistic, expand is True), quantities)
    _require_equation(graph, name)
    if expand is True:
        return to_sympy(graph.flat(name), quantities)
    chosen = () if expand is False else (expand,) if isinstance(expand, str) else tuple(expand)
    for other in chosen:
        _require_equation(graph, other)
    return to_sympy(inline(graph, (name, *chosen))[name], quantities)


def _value_at(graph: Graph, at: Statistic, expand: bool) -> Node:
    """Return a value with axes replaced by rules; that the rules fit the axes is not tested."""
    rules = dict(zip(at.axes, map(graph.flatten, at.rules) if expand else at.rules, strict=True))
    names = {n for n in graph.definitions if expand or graph.ancestors([n]) & rules.keys()}
    trees = inline(graph, names, rules)
    return substitute(at.argument, {name: trees[name] for name in references(at.argument)})


def _require_equation(graph: Graph, name: str) -> None:
    model = graph.model
    model.quantity(name)
    definition = graph.definitions.get(name)
    if definition is not None and definition.kind == "equation":
        return
    if definition is not None and definition.kind == "table":
        raise DseError(
            f"{name} of the model {model.name} is computed by a table equation, before the grid: "
            "it has no closed form"
        )
    what = "is an input of" if definition is not None else "is not part of"
    raise DseError(
        f"{name} {what} the model {model.name}{switches_clause(graph)}: "
        f"it yields {', '.join(model.yields)}"
    )


def switches_clause(graph: Graph) -> str:
    """Return " under SWITCH=LABEL, ..." for the switches that choose among a graph's equations."""
    used = graph.switches_of(graph.definitions)
    labels = ", ".join(f"{switch}={graph.switches[switch]}" for switch in sorted(used))
    return f" under {labels}" if labels else ""


# --- equations as LaTeX, with the symbols of their papers


def _escape_latex(text: str) -> str:
    return "".join(f"\\{char}" if char in "_#%&$" else char for char in text)


def _mathrm(name: str) -> str:
    return f"\\mathrm{{{_escape_latex(name)}}}"


_NAME = re.compile(
    r"(?<![A-Za-z\\{])(\\#|(?=[A-Za-z]{3}|[A-Za-z]+\\_))([A-Za-z0-9]|\\_)+|(?<=_\{)[a-zA-Z]{3,}"
)


def latex_symbols(model: EquationSet) -> dict[str, str]:
    """Return the LaTeX of each quantity: the paper's symbol (long names upright), or the name."""
    symbols = {n: _NAME.sub(r"\\mathrm{\g<0>}", s) for n, s in model.symbols_by_name.items()}
    return {name: _mathrm(name) for name in model.quantities} | symbols


def _decimal(value: Any) -> Any:
    """Return a literal as a decimal for LaTeX: 0.1365, not 273/2000."""
    finite = isinstance(value, float) and math.isfinite(value) and not value.is_integer()
    return sympy.Float(repr(value)) if finite else to_exact(value)


def _equation_line(model: EquationSet, eq: Equation, names: Mapping[str, str]) -> str:
    if eq.table or not is_readable(eq.node):
        kind, inputs = "table" if eq.table else "function", ", ".join(names[n] for n in eq.inputs)
        right = f"\\mathrm{{{kind}}}\\left({inputs}\\right)"
    else:
        expression = replace_rounding(to_sympy(eq.node, model.quantities, _decimal))
        symbols = {p: names.get(p.name, r"\varepsilon") for p in expression.free_symbols}
        right = sympy.latex(expression, symbol_names=symbols, mul_symbol="dot")
    left = names[eq.name]
    if r"\frac" in left:  # the paper's symbol is a formula, so both sides would be equal
        left = _mathrm(eq.name)
    note = "; ".join(_escape_latex(part) for part in (eq.source, eq.switch_text) if part)
    return f"{left} = {right}" + (f" \\quad \\text{{({note})}}" if note else "")


def latex(model: EquationSet, graph: Graph | None, name: str | None) -> str:
    """Return equations of a model or graph; see :meth:`symbolic.model.Model.latex`."""
    names = latex_symbols(model)
    if graph is None or name is None:
        used = model.equations if graph is None else graph.equations
        return "\n".join(_equation_line(model, eq, names) for eq in model.equations if eq in used)
    model.quantity(name)
    definition = graph.definitions.get(name)
    if definition is None or definition.equation is None:
        _require_equation(graph, name)
        raise AssertionError(name)
    return _equation_line(model, definition.equation, names)
