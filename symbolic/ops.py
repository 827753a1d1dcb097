"""The primitive functions in which equations are written.

An equation is one Python function. Called with floats, ``Fraction`` or NumPy arrays, it computes
its value. Called with SymPy expressions, it returns a closed form. Called with
:class:`symbolic.node.Node`, it returns a tree of nodes. :func:`interpret` evaluates such a tree in
an *algebra*, a mapping from primitives to functions; there are algebras for numbers, closed forms
and interval bounds. Each primitive is one row of :mod:`symbolic.primitives`, with a field for every
backend.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from symbolic.node import Node, constant, reference, references, substitute, walk
from symbolic.primitives import PRIMITIVES
from symbolic.primitives.spec import Primitive

__all__ = [
    "NEARLY_ALL", "SYMPY", "Node", "absolute", "both", "ceil", "constant", "divide", "either",
    "equal", "exp", "floor", "interpret", "interpret_all", "interpret_arrays", "log", "log2",
    "log10", "maximum", "minimum", "negate", "power", "reference", "references", "sqrt",
    "substitute", "walk", "where",
]  # fmt: skip

MAX_POWER = 64


def _backend(args: Iterable[Any]) -> str:
    """Return the backend of the arguments: 'scalar', 'array', 'sympy' or 'node'."""
    backend = "scalar"
    for arg in args:
        if type(arg) is float or type(arg) is int:
            continue
        if isinstance(arg, Node):
            return "node"
        if isinstance(arg, (np.ndarray, np.generic)):  # NumPy scalars must not become Python floats
            backend = "array" if backend == "scalar" else backend
        elif hasattr(arg, "free_symbols"):
            backend = "sympy"
    return backend


def _primitive_function(op: str) -> Callable[..., Any]:
    row = PRIMITIVES[op]
    scalar, array = row.scalar, row.array
    if scalar is array:
        return scalar

    def apply(*args: Any) -> Any:
        backend = _backend(args)
        if backend == "scalar":
            return scalar(*args)
        if backend == "node":
            return Node(op, tuple(map(constant, args)))
        if backend == "array":
            return array(*args)
        return SYMPY[op](*args)

    return apply


def _sympy_function(row: Primitive) -> Callable[..., Any]:
    def apply(*args: Any) -> Any:
        import sympy

        from symbolic.exact import to_exact

        return row.sympy(sympy, *map(to_exact, args))

    return apply


#: The symbolic algebra: SymPy expressions and Python numbers.
SYMPY = {op: _sympy_function(row) for op, row in PRIMITIVES.items()}
#: The numeric algebra: floats, fractions and NumPy arrays.
NUMERIC: dict[str, Callable[..., Any]] = {op: _primitive_function(op) for op in PRIMITIVES}


def interpret_all(
    roots: Iterable[Node],
    values: Mapping[str, Any],
    algebra: Mapping[str, Callable[..., Any]] | None = None,
    number: Callable[[Any], Any] = lambda value: value,
) -> list[Any]:
    """Evaluate several traced equations by :func:`interpret`, but each common node only once."""
    algebra = NUMERIC if algebra is None else algebra
    roots = list(roots)
    done: dict[int, Any] = {}
    for node in walk(roots):
        if node.op == "constant":
            done[id(node)] = number(node.args[0])
        elif node.op == "reference":
            done[id(node)] = values[node.args[0]]
        else:
            done[id(node)] = algebra[node.op](*[done[id(arg)] for arg in node.args])
    return [done[id(root)] for root in roots]


def interpret_arrays(roots: Iterable[Node], values: Mapping[str, Any]) -> list[Any]:
    """Evaluate several traced equations over NumPy arrays, without warnings.

    Literals become doubles: a Python number would raise an error on division by zero, and a Python
    integer may be larger than every double.
    """
    with np.errstate(all="ignore"):
        return interpret_all(roots, values, number=_double)


def _double(value: Any) -> Any:
    return value if isinstance(value, bool) else np.float64(value)


def interpret(
    root: Node,
    values: Mapping[str, Any],
    algebra: Mapping[str, Callable[..., Any]] | None = None,
    number: Callable[[Any], Any] = lambda value: value,
) -> Any:
    """Evaluate a traced equation in an algebra (default: numbers) at given values of quantities.

    ``number`` converts literals to the numbers of the algebra.
    """
    return interpret_all((root,), values, algebra, number)[0]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return a primitive that has no function in this module, such as ``less``."""
        if name in NUMERIC and PRIMITIVES[name].syntax.names[0] == name:
            return NUMERIC[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _fold(function: Callable[[Any, Any], Any], first: Any, rest: tuple[Any, ...]) -> Any:
    for arg in rest:
        first = function(first, arg)
    return first


def minimum(first: Any, *rest: Any) -> Any:
    """Return the smallest argument: ``a if a < b else b``, applied from left to right.

    >>> minimum(3, 1.5, 2)
    1.5
    """
    return _fold(NUMERIC["minimum"], first, rest)


def maximum(first: Any, *rest: Any) -> Any:
    """Return the largest argument: ``a if b < a else b``, applied from left to right.

    >>> maximum(3, 1.5, 2)
    3
    """
    return _fold(NUMERIC["maximum"], first, rest)


def where(condition: Any, if_true: Any, if_false: Any) -> Any:
    """Return ``if_true`` where the condition holds, otherwise ``if_false``; both are evaluated.

    >>> where(2 < 3, "yes", "no")
    'yes'
    """
    return NUMERIC["where"](condition, if_true, if_false)


def both(first: Any, *rest: Any) -> Any:
    """Return True where all conditions hold.

    >>> both(True, 1 < 2, 3 < 2)
    False
    """
    return _fold(NUMERIC["both"], first, rest)


def either(first: Any, *rest: Any) -> Any:
    """Return True where at least one condition holds.

    >>> either(False, 1 < 2)
    True
    """
    return _fold(NUMERIC["either"], first, rest)


def negate(condition: Any) -> Any:
    """Return True where the condition does not hold.

    >>> negate(1 < 2)
    False
    """
    return NUMERIC["negate"](condition)


def equal(a: Any, b: Any) -> Any:
    """Return True where two quantities are equal.

    >>> equal(2, 2.0)
    True
    """
    return NUMERIC["equal"](a, b)


def divide(a: Any, b: Any, *, at_zero: Any) -> Any:
    """Return ``a / b``, or ``at_zero`` where ``b`` is zero.

    >>> divide(1, 4, at_zero=0), divide(1, 0, at_zero=float("inf"))
    (0.25, inf)
    """
    return NUMERIC["divide"](a, b, at_zero)


def floor(a: Any) -> Any:
    """Return the largest whole number <= ``a``; an infinity is returned unchanged.

    >>> floor(2.5), floor(float("inf"))
    (2.0, inf)
    """
    return NUMERIC["floor"](a)


#: Factor before ``ceil``, so that a whole number with a rounding error up to 1e-12 stays the same.
NEARLY_ALL = 1 - 1e-12


def ceil(a: Any) -> Any:
    """Return the smallest whole number >= ``a``; an infinity is returned unchanged.

    >>> ceil(2.5), ceil(3)
    (3.0, 3)
    """
    return NUMERIC["ceil"](a)


def absolute(a: Any) -> Any:
    """Return the magnitude of ``a``.

    >>> absolute(-2)
    2
    """
    return NUMERIC["absolute"](a)


def exp(a: Any) -> Any:
    """Return the exponential; floats, arrays and loop nests give the same bits.

    >>> exp(0)
    1.0
    """
    return NUMERIC["exp"](a)


def log(a: Any) -> Any:
    """Return the natural logarithm: -inf at 0, NaN below; same bits in all numeric backends.

    >>> log(1), log(0)
    (0.0, -inf)
    """
    return NUMERIC["log"](a)


def log2(a: Any) -> Any:
    """Return the binary logarithm: -inf at 0, NaN below; same bits in all numeric backends.

    >>> log2(8)
    3.0
    """
    return NUMERIC["log2"](a)


def log10(a: Any) -> Any:
    """Return the decimal logarithm: -inf at 0, NaN below; same bits in all numeric backends.

    >>> log10(100)
    2.0
    """
    return NUMERIC["log10"](a)


def sqrt(a: Any) -> Any:
    """Return the square root; NaN for negative numbers.

    >>> sqrt(9)
    3.0
    """
    return NUMERIC["sqrt"](a)


def power(base: Any, exponent: Any) -> Any:
    """Return ``base`` to the power ``exponent``.

    A whole literal exponent is computed by products. Any other exponent uses the library's power
    function; floats, arrays and loop nests give the same bits. Literal exponents beyond 64 raise
    ``ValueError``.

    >>> power(3, 2), power(2.0, -1), power(2.0, 0.5) == 2.0**0.5
    (9, 0.5, True)
    """
    if isinstance(exponent, Node) and exponent.op == "constant":
        exponent = exponent.args[0]
    traced = isinstance(base, Node)
    literal = isinstance(exponent, int) or (traced and isinstance(exponent, float))
    if literal and abs(exponent) > MAX_POWER and (traced or isinstance(base, int)):
        raise ValueError(f"the exponent {exponent} is beyond {MAX_POWER}: rewrite the formula")
    if not isinstance(exponent, int) or abs(exponent) > MAX_POWER:
        return NUMERIC["pow"](base, exponent)
    count = exponent
    if count == 0:
        return base * 0 + 1
    product = base
    for _ in range(abs(count) - 1):
        product = product * base
    return product if count > 0 else divide(1, product, at_zero=math.inf)
