"""The primitives in which equations are written.

The text of an equation is written once. Called with floats, ``Fraction`` or NumPy arrays it
computes; called with SymPy expressions it gives a closed form; called with
:class:`symbolic.node.Node` it records itself as a tree, from which loop nests, closed forms,
interval bounds and documentation are made by :func:`interpret` with an *algebra* (a table from
primitive to function).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from symbolic.node import Node, constant, reference, references, substitute, walk

__all__ = [
    "Node",
    "absolute",
    "array_power",
    "both",
    "ceil",
    "constant",
    "divide",
    "either",
    "equal",
    "exp",
    "floor",
    "interpret",
    "interpret_all",
    "interpret_arrays",
    "log",
    "log2",
    "log10",
    "maximum",
    "minimum",
    "negate",
    "power",
    "reference",
    "references",
    "sqrt",
    "substitute",
    "walk",
    "where",
]

MAX_POWER = 64


def _world(args: Iterable[Any]) -> str:
    """Which world the arguments live in: 'scalar', 'array', 'sympy' or 'node'."""
    world = "scalar"
    for arg in args:
        if type(arg) is float or type(arg) is int:
            continue
        if isinstance(arg, Node):
            return "node"
        if isinstance(arg, (np.ndarray, np.generic)):  # of which none may become a Python float
            world = "array" if world == "scalar" else world
        elif hasattr(arg, "free_symbols"):
            world = "sympy"
    return world


def _primitive(
    op: str, scalar: Callable[..., Any], array: Callable[..., Any]
) -> Callable[..., Any]:
    def apply(*args: Any) -> Any:
        world = _world(args)
        if world == "scalar":
            return scalar(*args)
        if world == "node":
            return Node(op, tuple(map(constant, args)))
        if world == "array":
            return array(*args)
        from symbolic.sympy_primitives import SYMPY

        return SYMPY[op](*args)

    return apply


def _array_divide(a: Any, b: Any, at_zero: Any) -> Any:
    zero = np.equal(b, 0)
    return np.where(zero, at_zero, np.divide(a, np.where(zero, 1.0, b)))


def array_power(base: Any, exponent: Any) -> Any:
    """A power of arrays that depends on each pair alone.

    NumPy takes another way, an ulp off, where one exponent serves a whole row.
    """
    pair = np.broadcast_arrays(np.asarray(base, dtype=float), np.asarray(exponent, dtype=float))
    shape = pair[0].shape
    some, to = (np.array(part).reshape(-1) for part in pair)
    if some.size == 1:  # a row, too
        some, to = np.repeat(some, 2), np.repeat(to, 2)
    return np.power(some, to)[: math.prod(shape)].reshape(shape)


def _integral(rounding: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def scalar(a: Any) -> Any:
        if isinstance(a, float):
            return math.copysign(rounding(a), a) if math.isfinite(a) else a  # keeps -0.0
        return rounding(a) if isinstance(a, int) else type(a)(rounding(a))  # a Fraction stays one

    return scalar


def _scalar_log(function: Callable[[float], float]) -> Callable[[Any], float]:
    def scalar(a: Any) -> float:
        if a > 0:
            return function(a)
        return -math.inf if a == 0 else math.nan

    return scalar


def _quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    def array(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args)

    return array


def _scalar_exp(a: Any) -> float:
    try:
        return math.exp(a)
    except OverflowError:
        return math.inf


def _scalar_power(a: Any, b: Any) -> float:
    return float(_quiet(np.power)(float(a), float(b)))


_minimum = _primitive("minimum", lambda a, b: a if a < b else b, lambda a, b: np.where(a < b, a, b))
_maximum = _primitive("maximum", lambda a, b: a if b < a else b, lambda a, b: np.where(b < a, a, b))
_where = _primitive("where", lambda c, a, b: a if c else b, np.where)
_both = _primitive("both", lambda a, b: a and b, np.logical_and)
_either = _primitive("either", lambda a, b: a or b, np.logical_or)
_equal = _primitive("equal", lambda a, b: a == b, np.equal)
_negate = _primitive("negate", lambda a: not a, np.logical_not)
_divide = _primitive("divide", lambda a, b, z: a / b if b != 0 else z, _quiet(_array_divide))
_floor = _primitive("floor", _integral(math.floor), np.floor)
_ceil = _primitive("ceil", _integral(math.ceil), np.ceil)
_absolute = _primitive("absolute", lambda a: -a if a < 0 else a, lambda a: np.where(a < 0, -a, a))
_exp = _primitive("exp", _scalar_exp, _quiet(np.exp))
_log = _primitive("log", _scalar_log(math.log), _quiet(np.log))
_log2 = _primitive("log2", _scalar_log(math.log2), _quiet(np.log2))
_log10 = _primitive("log10", _scalar_log(math.log10), _quiet(np.log10))
_sqrt = _primitive("sqrt", lambda a: math.sqrt(a) if a >= 0 else math.nan, _quiet(np.sqrt))
_pow = _primitive("pow", _scalar_power, _quiet(array_power))


def _fold(function: Callable[[Any, Any], Any], first: Any, rest: tuple[Any, ...]) -> Any:
    for arg in rest:
        first = function(first, arg)
    return first


def minimum(first: Any, *rest: Any) -> Any:
    """The smallest argument: ``a if a < b else b``, from left to right.

    >>> minimum(3, 1.5, 2)
    1.5
    """
    return _fold(_minimum, first, rest)


def maximum(first: Any, *rest: Any) -> Any:
    """The largest argument: ``a if b < a else b``, from left to right.

    >>> maximum(3, 1.5, 2)
    3
    """
    return _fold(_maximum, first, rest)


def where(condition: Any, if_true: Any, if_false: Any) -> Any:
    """``if_true`` where the condition holds, else ``if_false``; both arms are evaluated.

    >>> where(2 < 3, "yes", "no")
    'yes'
    """
    return _where(condition, if_true, if_false)


def both(first: Any, *rest: Any) -> Any:
    """Whether all conditions hold.

    >>> both(True, 1 < 2, 3 < 2)
    False
    """
    return _fold(_both, first, rest)


def either(first: Any, *rest: Any) -> Any:
    """Whether at least one condition holds.

    >>> either(False, 1 < 2)
    True
    """
    return _fold(_either, first, rest)


def negate(condition: Any) -> Any:
    """Whether the condition does not hold.

    >>> negate(1 < 2)
    False
    """
    return _negate(condition)


def equal(a: Any, b: Any) -> Any:
    """Whether two quantities are equal.

    >>> equal(2, 2.0)
    True
    """
    return _equal(a, b)


def divide(a: Any, b: Any, *, at_zero: Any) -> Any:
    """``a / b``, and ``at_zero`` where ``b`` is zero.

    >>> divide(1, 4, at_zero=0), divide(1, 0, at_zero=float("inf"))
    (0.25, inf)
    """
    return _divide(a, b, at_zero)


def floor(a: Any) -> Any:
    """The largest whole number not above ``a``; an infinity stays itself.

    >>> floor(2.5), floor(float("inf"))
    (2.0, inf)
    """
    return _floor(a)


def ceil(a: Any) -> Any:
    """The smallest whole number not below ``a``; an infinity stays itself.

    >>> ceil(2.5), ceil(3)
    (3.0, 3)
    """
    return _ceil(a)


def absolute(a: Any) -> Any:
    """The magnitude of ``a``.

    >>> absolute(-2)
    2
    """
    return _absolute(a)


def exp(a: Any) -> Any:
    """The exponential; worlds agree within 2 ulp.

    >>> exp(0)
    1.0
    """
    return _exp(a)


def log(a: Any) -> Any:
    """The natural logarithm, -inf at 0 and nan below; worlds agree within 2 ulp.

    >>> log(1), log(0)
    (0.0, -inf)
    """
    return _log(a)


def log2(a: Any) -> Any:
    """The binary logarithm, -inf at 0 and nan below; worlds agree within 2 ulp.

    >>> log2(8)
    3.0
    """
    return _log2(a)


def log10(a: Any) -> Any:
    """The decimal logarithm, -inf at 0 and nan below; worlds agree within 2 ulp.

    >>> log10(100)
    2.0
    """
    return _log10(a)


def sqrt(a: Any) -> Any:
    """The square root, nan below 0.

    >>> sqrt(9)
    3.0
    """
    return _sqrt(a)


def power(base: Any, exponent: Any) -> Any:
    """``base`` to the ``exponent``. A whole literal exponent becomes products, exact everywhere.

    An exponent that is a quantity, or no whole number, uses the library's power function, on which
    worlds agree within 2 ulp. A literal exponent beyond 64 is refused with ``ValueError``.

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
        return _pow(base, exponent)
    count = exponent
    if count == 0:
        return base * 0 + 1
    product = base
    for _ in range(abs(count) - 1):
        product = product * base
    return product if count > 0 else divide(1, product, at_zero=math.inf)


#: The numeric algebra: floats, fractions and NumPy arrays.
NUMERIC: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "equal": _equal,
    "both": _both,
    "either": _either,
    "negate": _negate,
    "where": _where,
    "minimum": _minimum,
    "maximum": _maximum,
    "divide": _divide,
    "floor": _floor,
    "ceil": _ceil,
    "absolute": _absolute,
    "exp": _exp,
    "log": _log,
    "log2": _log2,
    "log10": _log10,
    "sqrt": _sqrt,
    "pow": _pow,
}


def interpret_all(
    roots: Iterable[Node],
    values: Mapping[str, Any],
    algebra: Mapping[str, Callable[..., Any]] | None = None,
    number: Callable[[Any], Any] = lambda value: value,
) -> list[Any]:
    """Evaluate several traced equations together, each shared step once; see :func:`interpret`."""
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
    """Evaluate several traced equations over NumPy arrays, without a warning.

    A literal is a double as they are: Python's own numbers raise where they divide by zero, and
    whole ones multiply without end.

    >>> interpret_arrays([constant(1) / 0, constant(3) * 2], {})
    [np.float64(inf), np.float64(6.0)]
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
    """Evaluate a traced equation in an algebra, at the values of the quantities it names.

    ``number`` turns a literal into the algebra's own kind of number.

    >>> interpret(minimum(reference("a"), 2) + 1, {"a": 5})
    3
    """
    return interpret_all((root,), values, algebra, number)[0]
