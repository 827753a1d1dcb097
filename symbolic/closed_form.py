"""Closed forms: equations as SymPy expressions and as LaTeX. The only door to SymPy.

Symbols are named after quantities and carry what is known of their domain; literals are exact
rationals, so that an expression at rational points equals the evaluation on ``Fraction``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping
from numbers import Rational as RationalNumber
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from sympy.functions.elementary.piecewise import ExprCondPair, Piecewise
from sympy.logic.boolalg import Boolean

from symbolic.errors import DseError
from symbolic.graph import Graph
from symbolic.ops import Node, interpret, reference, references, substitute
from symbolic.quantities import TABLE, Quantity

if TYPE_CHECKING:
    from symbolic.equation import Equation
    from symbolic.model import Model

__all__ = [
    "SYMPY",
    "closed_form",
    "exact",
    "inline",
    "latex",
    "piecewise",
    "symbol",
    "to_sympy",
    "under",
]


def exact(value: Any) -> Any:
    """A Python number as an exact SymPy number; an expression stays itself.

    A float becomes the rational of its shortest decimal: the text of an equation says 0.1, and
    means a tenth.

    >>> exact(0.1), exact(3), exact(float("inf"))
    (1/10, 3, oo)
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return sympy.true if value else sympy.false
    if isinstance(value, RationalNumber):
        return sympy.Rational(int(value.numerator), int(value.denominator))
    if isinstance(value, float):
        return sympy.Rational(repr(value)) if math.isfinite(value) else sympy.sympify(value)
    return sympy.sympify(value)


def symbol(row: Quantity) -> Any:
    """The symbol of a quantity, with the assumptions its domain allows.

    >>> symbol(TABLE["threads"]).is_positive, symbol(TABLE["n_sms"]).is_integer
    (True, True)
    """
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


def _is_condition(value: Any) -> bool:
    return isinstance(value, Boolean) and not isinstance(value, sympy.Expr)  # a Symbol is both


def _where(condition: Any, if_true: Any, if_false: Any) -> Any:
    if condition in (sympy.true, sympy.false):
        return if_true if condition else if_false
    if _is_condition(if_true) and _is_condition(if_false):
        return sympy.ITE(condition, if_true, if_false)
    rest = if_false.args if isinstance(if_false, Piecewise) else ((if_false, sympy.true),)
    return piecewise((if_true, condition), *rest)


class _Pair(ExprCondPair):  # type: ignore[misc]
    """A piece whose condition is left as it is."""

    def __new__(cls, expression: Any, condition: Any) -> Any:
        return sympy.Tuple.__new__(cls, sympy.sympify(expression), sympy.sympify(condition))


class _Unfolded(Piecewise):  # type: ignore[misc]
    """A ``Piecewise`` with a ``Piecewise`` in a condition, left there whatever is done to it.

    SymPy folds those outwards, branch by branch; on the larger models that takes minutes or fails,
    as branches meet that exclude one another.
    """

    def __new__(cls, *pieces: Any, **_: Any) -> Any:
        return piecewise(*pieces)


_Unfolded.__name__ = "Piecewise"  # printed so


def piecewise(*pieces: Any) -> Any:
    """``sympy.Piecewise`` of pairs of value and condition, which may hold decisions themselves."""
    pairs = [_Pair(*piece) for piece in pieces]
    if not any(pair.cond.has(Piecewise) for pair in pairs):
        return Piecewise(*((pair.expr, pair.cond) for pair in pairs))
    return sympy.Basic.__new__(_Unfolded, *(pair for pair in pairs if pair.cond != sympy.false))


def _extremum(kind: Any, drop: Any) -> Callable[..., Any]:
    """Min or Max without SymPy's search for comparable arguments, which is slow on long ones."""

    def extremum(a: Any, b: Any) -> Any:
        parts = [p for arg in (a, b) for p in (arg.args if isinstance(arg, kind) else (arg,))]
        numbers = [part for part in parts if part.is_number]
        rest = list(dict.fromkeys(part for part in parts if not part.is_number))
        if numbers:
            best = kind(*numbers)
            if not rest or best == -drop:
                return best
            if best != drop:
                rest.append(best)
        return rest[0] if len(rest) == 1 else kind(*rest, evaluate=False)

    return extremum


def _divide(a: Any, b: Any, at_zero: Any) -> Any:
    if b.is_zero is None:
        return _where(sympy.Eq(b, 0), at_zero, a / b)
    return at_zero if b.is_zero else a / b


def _logarithm(base: int | None) -> Callable[[Any], Any]:
    def logarithm(a: Any) -> Any:
        if a.is_zero:
            return -sympy.oo
        if a.is_negative:
            return sympy.nan
        return sympy.log(a) if base is None else sympy.log(a, base)

    return logarithm


def _power(base: Any, exponent: Any) -> Any:
    if base.is_zero and exponent.is_negative:
        return sympy.oo
    value = base**exponent
    return sympy.nan if value.is_number and value.is_extended_real is False else value


#: The symbolic algebra: every primitive of :data:`symbolic.ops.NUMERIC` on SymPy expressions.
_RAW: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "less": sympy.Lt,
    "less_equal": sympy.Le,
    "equal": sympy.Eq,
    "both": sympy.And,
    "either": sympy.Or,
    "negate": sympy.Not,
    "where": _where,
    "minimum": _extremum(sympy.Min, sympy.oo),
    "maximum": _extremum(sympy.Max, -sympy.oo),
    "divide": _divide,
    "floor": sympy.floor,
    "ceil": sympy.ceiling,
    "absolute": sympy.Abs,
    "exp": sympy.exp,
    "log": _logarithm(None),
    "log2": _logarithm(2),
    "log10": _logarithm(10),
    "sqrt": lambda a: sympy.nan if a.is_negative else sympy.sqrt(a),
    "pow": _power,
}


def _lift(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: function(*map(exact, args))


#: The symbolic algebra: each primitive of the equations on SymPy expressions and Python numbers.
SYMPY: Mapping[str, Callable[..., Any]] = {op: _lift(f) for op, f in _RAW.items()}


def to_sympy(
    node: Node,
    quantities: Mapping[str, Quantity] = TABLE,
    number: Callable[[Any], Any] = exact,
) -> Any:
    """A traced equation as a SymPy expression over the symbols of its quantities.

    >>> to_sympy(reference("lanes_width") / reference("intensity"))
    lanes_width/intensity
    """
    names = references(node)
    missing = [name for name in names if name not in quantities]
    if missing:
        raise DseError(f"{missing[0]!r} is no quantity: its domain is needed for a closed form")
    return interpret(node, {name: symbol(quantities[name]) for name in names}, SYMPY, number)


def inline(
    graph: Graph, names: Container[str], instead: Mapping[str, str | Node] | None = None
) -> dict[str, Node]:
    """Every quantity as a tree in which the given names are replaced by their equations.

    ``instead`` replaces a quantity by another one's tree, or by a node, wherever it is used.
    """
    trees: dict[str, Node] = {}
    for name, definition in graph.definitions.items():
        other = (instead or {}).get(name)
        if other is not None:
            trees[name] = trees[other] if isinstance(other, str) else other
        elif name in names and definition.kind == "equation":
            trees[name] = substitute(
                definition.node, {need: trees[need] for need in definition.needs}
            )
        else:
            trees[name] = reference(name)
    return trees


def closed_form(
    model: Model, name: str, expand: bool | str | Iterable[str], switches: Mapping[str, Any]
) -> Any:
    """The equation of a quantity; see :meth:`symbolic.model.Model.closed_form`."""
    graph = model.graph(**switches)
    require_equation(model, graph, name)
    if expand is True:
        return to_sympy(graph.flat(name), model.quantities)
    chosen = () if expand is False else (expand,) if isinstance(expand, str) else tuple(expand)
    for other in chosen:
        require_equation(model, graph, other)
    return to_sympy(inline(graph, (name, *chosen))[name], model.quantities)


def require_equation(model: Model, graph: Graph, name: str) -> None:
    """Raise where a quantity has no equation that could be shown."""
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
        f"{name} {what} the model {model.name}{under(graph)}: it yields {', '.join(model.yields)}"
    )


def under(graph: Graph) -> str:
    """The switches that choose among the equations of a graph, for messages."""
    used = graph.switches_of(graph.definitions)
    labels = ", ".join(f"{switch}={graph.switches[switch]}" for switch in sorted(used))
    return f" under {labels}" if labels else ""


# --- LaTeX


def _escape(text: str) -> str:
    return "".join(f"\\{char}" if char in "_#%&$" else char for char in text)


def _names(model: Model) -> dict[str, str]:
    names = {name: f"\\mathrm{{{_escape(name)}}}" for name in model.quantities}
    for eq in reversed(model.equations):
        if eq.symbol:
            names[eq.name] = eq.symbol
    return names


def _decimal(value: Any) -> Any:
    """A literal as it is read: 0.1365, not 273/2000."""
    finite = isinstance(value, float) and math.isfinite(value) and not value.is_integer()
    return sympy.Float(repr(value)) if finite else exact(value)


def _line(model: Model, eq: Equation, names: Mapping[str, str]) -> str:
    if eq.table:
        right = f"\\mathrm{{table}}\\left({', '.join(names[need] for need in eq.inputs)}\\right)"
    else:
        expression = to_sympy(eq.node, model.quantities, _decimal)
        symbols = {part: names[part.name] for part in expression.free_symbols}
        right = sympy.latex(expression, symbol_names=symbols, mul_symbol="dot")
    note = "; ".join(_escape(part) for part in (eq.source, eq.switches) if part)
    return f"{names[eq.name]} = {right}" + (f" \\quad \\text{{({note})}}" if note else "")


def latex(model: Model, name: str | None, switches: Mapping[str, Any]) -> str:
    """Equations as LaTeX, one a line; see :meth:`symbolic.model.Model.latex`."""
    names = _names(model)
    if name is None and not switches:
        return "\n".join(_line(model, eq, names) for eq in model.equations)
    graph = model.graph(**switches)
    if name is None:
        return "\n".join(_line(model, eq, names) for eq in model.equations if eq in graph.equations)
    model.quantity(name)
    definition = graph.definitions.get(name)
    if definition is None or definition.equation is None:
        require_equation(model, graph, name)
        raise AssertionError(name)
    return _line(model, definition.equation, names)
