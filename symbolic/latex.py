"""Equations as LaTeX, with the symbols of their papers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import sympy

from symbolic.closed_form import require_equation, to_sympy
from symbolic.equation import Equation, EquationSet
from symbolic.exact import exact, readable
from symbolic.graph import Graph


def _escape(text: str) -> str:
    return "".join(f"\\{char}" if char in "_#%&$" else char for char in text)


def _upright(name: str) -> str:
    return f"\\mathrm{{{_escape(name)}}}"


def _names(model: EquationSet) -> dict[str, str]:
    names = {name: _upright(name) for name in model.quantities} | {
        name: symbol for name, symbol in model.symbols.items() if name in model.quantities
    }
    for eq in reversed(model.equations):
        if eq.symbol:
            names[eq.name] = eq.symbol
    return names


def _decimal(value: Any) -> Any:
    """A literal as it is read: 0.1365, not 273/2000."""
    finite = isinstance(value, float) and math.isfinite(value) and not value.is_integer()
    return sympy.Float(repr(value)) if finite else exact(value)


def _line(model: EquationSet, eq: Equation, names: Mapping[str, str]) -> str:
    if eq.table:
        right = f"\\mathrm{{table}}\\left({', '.join(names[need] for need in eq.inputs)}\\right)"
    else:
        expression = readable(to_sympy(eq.node, model.quantities, _decimal))
        symbols = {p: names.get(p.name, r"\varepsilon") for p in expression.free_symbols}
        right = sympy.latex(expression, symbol_names=symbols, mul_symbol="dot")
    left = names[eq.name]
    if r"\frac" in left:  # a formula by itself, which its equation would repeat
        left = _upright(eq.name)
    note = "; ".join(_escape(part) for part in (eq.source, eq.switches) if part)
    return f"{left} = {right}" + (f" \\quad \\text{{({note})}}" if note else "")


def latex(model: EquationSet, graph: Graph | None, name: str | None) -> str:
    """Equations as LaTeX, one a line; see :meth:`symbolic.model.Model.latex`.

    Those of the graph, where there is one.
    """
    names = _names(model)
    if graph is None or name is None:
        held = model.equations if graph is None else graph.equations
        return "\n".join(_line(model, eq, names) for eq in model.equations if eq in held)
    model.quantity(name)
    definition = graph.definitions.get(name)
    if definition is None or definition.equation is None:
        require_equation(graph, name)
        raise AssertionError(name)
    return _line(model, definition.equation, names)
