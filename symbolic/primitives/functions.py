"""Primitives for functions of one number, and for powers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from symbolic.primitives import elementary
from symbolic.primitives.arithmetic import scale_trend
from symbolic.primitives.rule_operations import (
    INF,
    NO_AXES,
    any_true,
    choose,
    clear_where,
    either_flag,
    exp_of,
    flag_or_false,
    is_empty,
    log2_of,
    log10_of,
    log_of,
    max_of,
    min_of,
    pow_of,
    sqrt_high,
    sqrt_low,
    widen,
)
from symbolic.primitives.spec import FormulaSyntax, Function, Primitive

#: JavaScript for a power. For some powers of 1 and -1, Math.pow gives NaN; this code gives 1, as
#: IEEE 754 requires.
_JS_POWER = "{0} === 1 || ({0} === -1 && Math.abs({1}) === Infinity) ? 1 : Math.pow({0}, {1})"


def _rounding_scalar(rounding: Function) -> Function:
    def scalar(a: Any) -> Any:
        if isinstance(a, float):
            return math.copysign(rounding(a), a) if math.isfinite(a) else a
        return rounding(a) if isinstance(a, int) else type(a)(rounding(a))

    return scalar


def _silence_warnings(function: Function) -> Function:
    def array(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args)

    return array


def _sympy_power(s, base, exponent):
    if base.is_zero and exponent.is_negative:
        return s.oo
    value = base**exponent
    return s.nan if value.is_number and value.is_extended_real is False else value


def _absolute_interval(al, ah, ua):
    low, high = abs(al), abs(ah)
    return choose((al <= 0) & (ah >= 0), 0.0, min_of(low, high)), max_of(low, high), ua


def _sqrt_interval(al, ah, ua):
    lo, hi = sqrt_low(max_of(al, 0.0)), sqrt_high(max_of(ah, 0.0))
    return _nan_below_zero(al, ah, ua, lo, hi)


def _nan_below_zero(al, ah, ua, lo, hi):
    negative = al < 0
    if not any_true(negative):
        return lo, hi, ua
    never = ah < 0
    return choose(never, INF, lo), choose(never, -INF, hi), either_flag(ua, negative)


def _exp_interval(al, ah, ua):
    lo, hi = widen(exp_of(al), exp_of(ah), al == ah)
    return max_of(lo, 0.0), hi, ua


def _log_interval(al, ah, ua):
    lo, hi = widen(log_of(max_of(al, 0.0)), log_of(max_of(ah, 0.0)), al == ah)
    return _nan_below_zero(al, ah, ua, lo, hi)


def _log2_interval(al, ah, ua):
    lo, hi = widen(log2_of(max_of(al, 0.0)), log2_of(max_of(ah, 0.0)), al == ah)
    return _nan_below_zero(al, ah, ua, lo, hi)


def _log10_interval(al, ah, ua):
    lo, hi = widen(log10_of(max_of(al, 0.0)), log10_of(max_of(ah, 0.0)), al == ah)
    return _nan_below_zero(al, ah, ua, lo, hi)


def _pow_interval(al, ah, ua, bl, bh, ub):
    """Return the enclosure of a power.

    If the base is positive, the extremes are at corners of the box. If the base may be negative,
    the enclosure is all numbers, or empty if the power is always NaN. As in IEEE 754, NaN to the
    power 0 is 1, and so is 1 to the power NaN.
    """
    x, y = max_of(al, 0.0), max_of(ah, 0.0)
    t, u, v, w = pow_of(x, bl), pow_of(x, bh), pow_of(y, bl), pow_of(y, bh)
    low, high = min_of(min_of(t, u), min_of(v, w)), max_of(max_of(t, u), max_of(v, w))
    lo, hi = widen(low, high, (al == ah) & (bl == bh))
    lo, undefined = max_of(lo, 0.0), either_flag(ua, ub)
    open_ended = (al < 0) | ((al == 0) & (bl < 0))  # the power of -0 may be minus infinity
    if any_true(open_ended):
        lo, hi = choose(open_ended, -INF, lo), choose(open_ended, INF, hi)
        part = (bl != bh) | (np.floor(bl) != bl)
        undefined = either_flag(undefined, flag_or_false((al < 0) & part))
        never = (al > -INF) & (ah < 0) & (bl == bh) & part
        lo, hi = choose(never, INF, lo), choose(never, -INF, hi)
    no_base, no_power = is_empty(ua, al, ah), is_empty(ub, bl, bh)
    never = either_flag(no_base, no_power)
    if any_true(never):
        one = choose(no_base, clear_where(no_power, (bl <= 0) & (bh >= 0)), (al <= 1) & (ah >= 1))
        lo = choose(never, choose(one, 1.0, INF), lo)
        hi = choose(never, choose(one, 1.0, -INF), hi)
    return lo, hi, undefined


def _pow_trend(al, ah, aup, adn, bl, bh, bup, bdn):
    au, ad = scale_trend(aup, adn, bl, bh)
    bu, bd = scale_trend(bup, bdn, al - 1, ah - 1)
    # a base of zero may be -0, with a power of -inf; powers of a negative base are not monotone
    clear = (al > 0) | ((al == 0) & (bl >= 0))
    return choose(clear, au & bu, NO_AXES), choose(clear, ad & bd, NO_AXES)


def _increasing_function(
    name: str,
    scalar: Function,
    array: Function,
    closed: Function,
    box: Function,
    units: str = "like",
    *,
    call: bool = False,
) -> Primitive:
    return Primitive(
        arity=1,
        scalar=scalar,
        array=array,
        sympy=closed,
        nest=f"{name}({{0}})",
        js=f"Math.{name}({{0}})",
        interval=box,
        trend=lambda al, ah, aup, adn: (aup, adn),
        syntax=FormulaSyntax.fixed_count(1, name, units=units),
        calls_library=call,
    )


def _transcendental(name: str, closed: Function, box: Function) -> Primitive:
    scalar, array = getattr(elementary, f"scalar_{name}"), getattr(elementary, name)
    return _increasing_function(name, scalar, array, closed, box, "plain", call=True)


def _logarithm(name: str, base: int | None, box: Function) -> Primitive:
    def sympy_log(s: Any, a: Any) -> Any:
        if a.is_zero:
            return -s.oo
        if a.is_negative:
            return s.nan
        return s.log(a) if base is None else s.log(a, base)

    return _transcendental(name, sympy_log, box)


ROWS = {
    "floor": _increasing_function(
        "floor", _rounding_scalar(math.floor), np.floor, lambda s, a: s.floor(a),
        lambda al, ah, ua: (np.floor(al), np.floor(ah), ua),
    ),
    "ceil": _increasing_function(
        "ceil", _rounding_scalar(math.ceil), np.ceil, lambda s, a: s.ceiling(a),
        lambda al, ah, ua: (np.ceil(al), np.ceil(ah), ua),
    ),
    "absolute": Primitive(
        arity=1, scalar=lambda a: -a if a < 0 else a, array=lambda a: np.where(a < 0, -a, a),
        sympy=lambda s, a: s.Abs(a), nest="where({0} < 0.0, -{0}, {0})", js="{0} < 0 ? -{0} : {0}",
        interval=_absolute_interval, trend=lambda al, ah, aup, adn: scale_trend(aup, adn, al, ah),
        syntax=FormulaSyntax.fixed_count(1, "absolute"),
    ),
    "log": _logarithm("log", None, _log_interval),
    "log2": _logarithm("log2", 2, _log2_interval),
    "log10": _logarithm("log10", 10, _log10_interval),
    "exp": _transcendental("exp", lambda s, a: s.exp(a), _exp_interval),
    "sqrt": _increasing_function(
        "sqrt", lambda a: math.sqrt(a) if a >= 0 else math.nan, _silence_warnings(np.sqrt),
        lambda s, a: s.nan if a.is_negative else s.sqrt(a), _sqrt_interval, "root",
    ),
    "pow": Primitive(
        arity=2, scalar=elementary.scalar_power, array=elementary.power, sympy=_sympy_power,
        nest="pow({0}, {1})", js=_JS_POWER, interval=_pow_interval, trend=_pow_trend,
        syntax=FormulaSyntax.fixed_count(2, "power", units="power"), calls_library=True,
        propagates_nan=False,
    ),
}  # fmt: skip
