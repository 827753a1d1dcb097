"""Primitives for sums, products and quotients.

Names in the rules, for the operands ``a`` and ``b``: ``al`` and ``ah`` are the lower and upper end
of ``a``, and ``ua`` is the mask of boxes in which ``a`` may be NaN. ``aup`` are the axes along
which ``a`` never falls, ``adn`` the axes along which ``a`` never rises.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from symbolic.primitives.rule_operations import (
    INF,
    NO_AXES,
    ROUNDS_TO_NEAREST,
    add_high,
    add_low,
    all_finite,
    all_true,
    any_true,
    choose,
    div_high,
    div_low,
    either_flag,
    flag_or_false,
    is_empty,
    max_of,
    min_of,
    mul_high,
    mul_low,
)
from symbolic.primitives.spec import FormulaSyntax, Primitive


def _add_interval(al, ah, ua, bl, bh, ub):
    """Return the enclosure of the sum.

    A computed end is NaN if one operand is always the same infinity, and the other can be the
    opposite infinity. Then that first infinity is the only possible sum besides NaN.
    """
    lo, hi = add_low(al, bl), add_high(ah, bh)
    undefined = either_flag(ua, ub)
    if not all_finite(lo, hi):
        opposed = ((ah == INF) & (bl == -INF)) | ((al == -INF) & (bh == INF))
        undefined = either_flag(undefined, flag_or_false(opposed))
        lo, hi = choose(lo != lo, INF, lo), choose(hi != hi, -INF, hi)
    return lo, hi, undefined


def _sub_interval(al, ah, ua, bl, bh, ub):
    return _add_interval(al, ah, ua, -bh, -bl, ub)


def _zero_if_nan(value):
    """Return the value at a corner of a box; zero if the value is NaN, as for zero times infinity.

    Zero is correct there: near that corner, values lie between zero and the other corners' values.
    """
    return choose(value != value, 0.0, value)


def _smallest_corner(w, x, y, z):
    return min_of(
        min_of(_zero_if_nan(w), _zero_if_nan(x)), min_of(_zero_if_nan(y), _zero_if_nan(z))
    )


def _largest_corner(w, x, y, z):
    return max_of(
        max_of(_zero_if_nan(w), _zero_if_nan(x)), max_of(_zero_if_nan(y), _zero_if_nan(z))
    )


def _can_be_infinite(low, high):
    return (abs(low) == INF) | (abs(high) == INF)


def _is_infinite(low, high):
    return (low == INF) | (high == -INF)


def _is_zero(low, high):
    return (low == 0) & (high == 0)


def _mul_interval(al, ah, ua, bl, bh, ub):
    undefined = either_flag(ua, ub)
    if all_true(al >= 0) and all_true(bl >= 0):
        lo, hi = mul_low(al, bl), mul_high(ah, bh)
        if all_finite(lo, hi):
            return lo, hi, undefined
    w, x, y, z = mul_low(al, bl), mul_low(al, bh), mul_low(ah, bl), mul_low(ah, bh)
    p, q, r, s = w, x, y, z
    if not ROUNDS_TO_NEAREST:
        p, q, r, s = mul_high(al, bl), mul_high(al, bh), mul_high(ah, bl), mul_high(ah, bh)
    if all_finite(w, x) and all_finite(y, z) and all_finite(p, q) and all_finite(r, s):
        return min_of(min_of(w, x), min_of(y, z)), max_of(max_of(p, q), max_of(r, s)), undefined
    clash = (al <= 0) & (ah >= 0) & _can_be_infinite(bl, bh)
    clash = clash | (bl <= 0) & (bh >= 0) & _can_be_infinite(al, ah)
    never = _is_zero(al, ah) & _is_infinite(bl, bh) | _is_zero(bl, bh) & _is_infinite(al, ah)
    lo = choose(never, INF, _smallest_corner(w, x, y, z))
    hi = choose(never, -INF, _largest_corner(p, q, r, s))
    return lo, hi, either_flag(undefined, flag_or_false(clash))


def _quotient_interval(al, ah, ua, bl, bh, ub):
    """Return the enclosure of a / b; the result has no meaning in boxes where b can be zero."""
    undefined = either_flag(ua, ub)
    if all_true(al >= 0) and all_true(bl > 0):
        lo, hi = div_low(al, bh), div_high(ah, bl)
        if all_finite(lo, hi):
            return lo, hi, undefined
    w, x, y, z = div_low(al, bl), div_low(al, bh), div_low(ah, bl), div_low(ah, bh)
    p, q, r, s = w, x, y, z
    if not ROUNDS_TO_NEAREST:
        p, q, r, s = div_high(al, bl), div_high(al, bh), div_high(ah, bl), div_high(ah, bh)
    if all_finite(w, x) and all_finite(y, z) and all_finite(p, q) and all_finite(r, s):
        return min_of(min_of(w, x), min_of(y, z)), max_of(max_of(p, q), max_of(r, s)), undefined
    far = _can_be_infinite(al, ah) & _can_be_infinite(bl, bh)
    never = _is_infinite(al, ah) & _is_infinite(bl, bh)
    lo = choose(never, INF, _smallest_corner(w, x, y, z))
    hi = choose(never, -INF, _largest_corner(p, q, r, s))
    return lo, hi, either_flag(undefined, flag_or_false(far))


def _div_interval(al, ah, ua, bl, bh, ub):
    """Return the enclosure of a / b: all numbers in boxes where b can be zero."""
    lo, hi, undefined = _quotient_interval(al, ah, ua, bl, bh, ub)
    zero = (bl <= 0) & (bh >= 0)
    if not any_true(zero):
        return lo, hi, undefined
    undefined = either_flag(undefined, flag_or_false(zero & (al <= 0) & (ah >= 0)))
    never = _is_zero(al, ah) & _is_zero(bl, bh)
    lo = choose(zero, choose(never, INF, -INF), lo)
    return lo, choose(zero, choose(never, -INF, INF), hi), undefined


def _one_sided_quotient(side, al, ah, divisor, lo, hi):
    """Return the ends ``lo`` and ``hi`` of a quotient, replaced in the boxes of the mask ``side``.

    In these boxes the divisor lies between zero and the positive number ``divisor``.
    """
    if not any_true(side):
        return lo, hi
    low = choose(al >= 0, _zero_if_nan(div_low(al, divisor)), -INF)
    high = choose(ah <= 0, _zero_if_nan(div_high(ah, divisor)), INF)
    return choose(side, low, lo), choose(side, high, hi)


def _divide_interval(al, ah, ua, bl, bh, ub, zl, zh, uz):
    """Return the enclosure of a / b for nonzero b, joined with ``at_zero`` where b can be zero."""
    lo, hi, undefined = _quotient_interval(al, ah, ua, bl, bh, ub)
    zero = (bl <= 0) & (bh >= 0)
    never = either_flag(is_empty(ua, al, ah), is_empty(ub, bl, bh))
    if not any_true(zero):
        return choose(never, INF, lo), choose(never, -INF, hi), undefined
    lo, hi = _one_sided_quotient(zero & (bl >= 0), al, ah, bh, lo, hi)
    lo, hi = _one_sided_quotient(zero & (bh <= 0), -ah, -al, -bl, lo, hi)
    through = (bl < 0) & (bh > 0)
    nothing = _is_zero(al, ah)
    lo = choose(through, choose(nothing, 0.0, -INF), lo)
    hi = choose(through, choose(nothing, 0.0, INF), hi)
    lo, hi = choose(never, INF, lo), choose(never, -INF, hi)
    only = _is_zero(bl, bh)
    lo = choose(zero, choose(only, zl, min_of(lo, zl)), lo)
    hi = choose(zero, choose(only, zh, max_of(hi, zh)), hi)
    return lo, hi, either_flag(undefined, flag_or_false(zero & uz))


def scale_trend(up, down, low, high):
    """Return the directions of a product of a value and a factor from ``low`` to ``high``."""
    if all_true(low >= 0):
        return up, down
    idle = up & down
    rises = choose(low >= 0, up, choose(high <= 0, down, idle))
    return rises, choose(low >= 0, down, choose(high <= 0, up, idle))


def common_trend(al, ah, aup, adn, bl, bh, bup, bdn):
    """Return the axes along which neither argument falls, and those along which neither rises."""
    return aup & bup, adn & bdn


def _difference_trend(al, ah, aup, adn, bl, bh, bup, bdn):
    return aup & bdn, adn & bup


def _mul_trend(al, ah, aup, adn, bl, bh, bup, bdn):
    au, ad = scale_trend(aup, adn, bl, bh)
    bu, bd = scale_trend(bup, bdn, al, ah)
    return au & bu, ad & bd


def _div_trend(al, ah, aup, adn, bl, bh, bup, bdn):
    au, ad = scale_trend(aup, adn, bl, bh)
    bu, bd = scale_trend(bup, bdn, al, ah)
    clear = (bl > 0) | (bh < 0)
    return choose(clear, au & bd, NO_AXES), choose(clear, ad & bu, NO_AXES)


def _divide_trend(al, ah, aup, adn, bl, bh, bup, bdn, zl, zh, zup, zdn):
    au, ad = scale_trend(aup, adn, bl, bh)
    bu, bd = scale_trend(bup, bdn, al, ah)
    up, down = au & bd, ad & bu
    clear = (bl > 0) | (bh < 0)
    if all_true(clear):
        return up, down
    # if a >= 0 and division by 0 gives inf, the quotient rises as b falls to 0
    falls_from = (bl >= 0) & (al >= 0) & (zl == INF)
    idle = aup & adn & bup & bdn & zup & zdn
    up = choose(clear, up, choose(falls_from, up & zup, idle))
    return up, choose(clear, down, choose(falls_from, down & zdn, idle))


def _array_divide(a, b, at_zero):
    with np.errstate(all="ignore"):
        zero = np.equal(b, 0)
        return np.where(zero, at_zero, np.divide(a, np.where(zero, 1.0, b)))


def _sympy_divide(s, a, b, at_zero):
    from symbolic.exact import where

    if b.is_zero is None:
        return where(s.Eq(b, 0), at_zero, a / b)
    return at_zero if b.is_zero else a / b


def _operator(
    function: Callable[[Any, Any], Any], sign: str, interval: Any, trend: Any, units: str = "like"
) -> Primitive:
    text = f"{{0}} {sign} {{1}}"
    return Primitive(
        arity=2,
        scalar=function,
        array=function,
        sympy=lambda s, a, b: function(a, b),
        nest=text,
        js=text,
        interval=interval,
        trend=trend,
        syntax=FormulaSyntax.fixed_count(2, sign, units=units),
    )


ROWS = {
    "add": _operator(operator.add, "+", _add_interval, common_trend),
    "sub": _operator(operator.sub, "-", _sub_interval, _difference_trend),
    "mul": _operator(operator.mul, "*", _mul_interval, _mul_trend, "product"),
    "div": _operator(operator.truediv, "/", _div_interval, _div_trend, "quotient"),
    "divide": Primitive(
        arity=3, scalar=lambda a, b, at_zero: a / b if b != 0 else at_zero, array=_array_divide,
        sympy=_sympy_divide, nest="where({1} == 0.0, {2}, {0} / {1})",
        js="{1} === 0 ? {2} : {0} / {1}", interval=_divide_interval, trend=_divide_trend,
        syntax=FormulaSyntax.fixed_count(3, "divide", units="quotient"), propagates_nan=False,
    ),
}  # fmt: skip
