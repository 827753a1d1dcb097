"""The operations in which the rules of enclosures and directions are written.

A rule is one Python function with three uses: arrays of boxes rounded to nearest, arrays of boxes
rounded outward, and compiled code that handles one box at a time. The uses differ only in the
operations that the rule calls (:func:`rebind_rule`). The operations in this module are those for
arrays, rounded to nearest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

import numpy as np

from symbolic.primitives import elementary

# --- Directed rounding. The rounding error of a float operation is itself a float; Knuth's sum and
# Dekker's product compute it exactly. The sign of the error says on which side of the rounded
# result the true result lies. If the error is outside the range of floats, the result is always
# moved by one float.


_SPLIT = 2.0**27 + 1.0
#: Range for the magnitudes of a product and its factors; in it, the product's error is a float.
_SMALL, _LARGE = 2.0**-900, 2.0**990


def _sum_error(value: Any, a: Any, b: Any) -> Any:
    part = value - a
    error = (a - (value - part)) + (b - part)
    return np.where(np.isfinite(error), error, math.nan)


def _split_float(a: Any) -> tuple[Any, Any]:
    large = _SPLIT * a
    high = large - (large - a)
    return high, a - high


def _product_error(value: Any, a: Any, b: Any) -> Any:
    """Return the exact a * b - value; NaN if a magnitude is outside the range for exact errors."""
    (a_high, a_low), (b_high, b_low) = _split_float(a), _split_float(b)
    error = ((a_high * b_high - value) + a_high * b_low + a_low * b_high) + a_low * b_low
    size = np.abs(value)
    safe = (size > _SMALL) & (size < _LARGE) & (np.abs(a) < _LARGE) & (np.abs(b) < _LARGE)
    return np.where(safe, error, math.nan)


def _quotient_error(value: Any, a: Any, b: Any) -> Any:
    back = value * b
    return ((a - back) - _product_error(back, value, b)) * np.sign(b)


def _root_error(value: Any, a: Any) -> Any:
    back = value * value
    return (a - back) - _product_error(back, value, value)


def _round_outward(function: Callable[..., Any], error: Callable[..., Any], towards: float) -> Any:
    """Return an operation that rounds to the infinity ``towards`` (minus or plus).

    The result is moved by one float if the true value may lie further in that direction. If an
    argument is zero or infinite, the result is exact.
    """

    def outward(*args: Any) -> Any:
        value = function(*args)
        missing = error(value, *args)
        exact = np.isinf(args[0]) | (args[0] == 0)
        for arg in args[1:]:
            exact = exact | np.isinf(arg) | (arg == 0)
        beyond = (missing * towards > 0) | np.isnan(missing)
        return np.where(~exact & beyond, np.nextafter(value, towards), value)

    return outward


#: Each operation in two forms: rounded down for lower ends, and up for upper ends.
_OUTWARD: dict[str, Callable[..., Any]] = {
    f"{name}_{end}": _round_outward(function, error, towards)
    for name, function, error in (
        ("add", np.add, _sum_error),
        ("mul", np.multiply, _product_error),
        ("div", np.divide, _quotient_error),
        ("sqrt", np.sqrt, _root_error),
    )
    for end, towards in (("low", -math.inf), ("high", math.inf))
}

#: The set of all axes and the empty set of axes, with one bit for each axis.
ALL_AXES, NO_AXES = np.uint64(2**64 - 1), np.uint64(0)
INF = math.inf
#: Assumed upper limit of the error of a library function. [ulp]
ULPS = 4
#: True if lower and upper ends use the same operations, which round to nearest.
ROUNDS_TO_NEAREST = True

min_of, max_of = np.minimum, np.maximum
not_of = np.logical_not
add_low = add_high = np.add
mul_low = mul_high = np.multiply
div_low = div_high = np.divide
sqrt_low = sqrt_high = np.sqrt


def all_true(test: Any) -> Any:
    """True if the test holds in all boxes; faster than ``np.all``."""
    return np.logical_and.reduce(test, axis=None)


def any_true(test: Any) -> Any:
    """True if the test holds in any box."""
    return np.logical_or.reduce(test, axis=None)


def choose(test: Any, yes: Any, no: Any) -> Any:
    """Return ``yes`` in the boxes in which the test holds, and ``no`` in the others."""
    return no if test is False else np.where(test, yes, no)


def condition_end(test: Any) -> Any:
    """Return a test as an end of a condition's enclosure; for arrays it is the test itself."""
    return test


def is_true(end: Any) -> Any:
    """Return an end of a condition's enclosure as a test; for arrays it is the end itself."""
    return end


def either_flag(first: Any, second: Any) -> Any:
    """Return the union of two masks of boxes; a mask may also be the bool False."""
    if first is False:
        return second
    return first if second is False else np.logical_or(first, second)


def is_empty(undefined: Any, low: Any, high: Any) -> Any:
    """Return a mask of the boxes in which an operand is always NaN, with the ends (inf, -inf)."""
    return False if undefined is False else undefined & (low > high)


def clear_where(flag: Any, test: Any) -> Any:
    """Return the mask ``test``, set to False in the boxes in which ``flag`` is True."""
    return test if flag is False else test & np.logical_not(flag)


def flag_or_false(flag: Any) -> Any:
    """Return the mask ``flag``, or the bool False if the mask is True in no box."""
    return flag if any_true(flag) else False


def all_finite(first: Any, second: Any) -> Any:
    """True if both values are finite in all boxes."""
    return all_true(np.isfinite(first)) and all_true(np.isfinite(second))


def widen_by_ulps(low: Any, high: Any) -> tuple[Any, Any]:
    """Return the ends of a library function's enclosure, widened by the possible error."""
    for _ in range(ULPS):
        low, high = np.nextafter(low, -math.inf), np.nextafter(high, math.inf)
    return low, high


def widen(low: Any, high: Any, point: Any) -> tuple[Any, Any]:
    """Return the ends of a library function's enclosure, widened in boxes where ``point`` is False.

    A box where ``point`` is True is a single point, and floats compute exactly its value.
    """
    lo, hi = widen_by_ulps(low, high)
    return np.where(point, low, lo), np.where(point, high, hi)


#: Library functions that give the same bits for floats and in loop nests.
exp_of, log_of, log2_of = elementary.exp, elementary.log, elementary.log2
log10_of, pow_of = elementary.log10, elementary.power

#: Modules whose functions :func:`rebind_rule` does not replace.
_SHARED_MODULES = (__name__, elementary.__name__)


def rebind_rule(
    rule: Callable[..., Any],
    operations: Mapping[str, Any],
    wrap: Callable[[Any], Any] = lambda function: function,
    rebound: dict[Any, Any] | None = None,
) -> Any:
    """Return a copy of a rule with other operations; the rules that it calls are copied likewise.

    ``operations`` maps names of operations to their replacements. ``wrap`` is applied to each copy.
    ``rebound`` collects the copies, so that each rule is copied once.
    """
    if not isinstance(rule, FunctionType):
        raise TypeError(f"no rule that could be rebound: {rule!r}")
    rebound = {} if rebound is None else rebound
    if rule not in rebound:
        scope = rule.__globals__
        names = {name: scope[name] for name in rule.__code__.co_names if name in scope}
        for name, value in names.items():
            if name in operations:
                names[name] = operations[name]
            elif isinstance(value, FunctionType) and value.__module__ not in _SHARED_MODULES:
                names[name] = rebind_rule(value, operations, wrap, rebound)
        new = FunctionType(rule.__code__, names, rule.__name__, rule.__defaults__, rule.__closure__)
        rebound[rule] = wrap(new)
    return rebound[rule]


def _widen_always(low: Any, high: Any, _: Any) -> tuple[Any, Any]:
    return widen_by_ulps(low, high)


def outward_operations() -> dict[str, Any]:
    """Return the operations that round outward, by the names that rules use."""
    return {**_OUTWARD, "widen": _widen_always, "ROUNDS_TO_NEAREST": False}
