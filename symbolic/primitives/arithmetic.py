"""Sums, products and quotients."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from symbolic.primitives.row import Primitive, Reading
from symbolic.primitives.words import (
    INF,
    NONE,
    ONE_WAY,
    add_high,
    add_low,
    any_of,
    choose,
    div_high,
    div_low,
    every,
    finite,
    is_empty,
    least,
    most,
    mul_high,
    mul_low,
    perhaps,
    some,
)


# --- enclosures
def add(al: Any, ah: Any, ua: Any, bl: Any, bh: Any, ub: Any) -> Any:
    """The sum.

    An end is NaN where one operand has nothing but an infinity and the other reaches the opposite
    one: then that infinity is the only sum that is a number.
    """
    lo, hi = add_low(al, bl), add_high(ah, bh)
    undefined = any_of(ua, ub)
    if not finite(lo, hi):
        opposed = ((ah == INF) & (bl == -INF)) | ((al == -INF) & (bh == INF))
        undefined = any_of(undefined, perhaps(opposed))
        lo, hi = choose(lo != lo, INF, lo), choose(hi != hi, -INF, hi)
    return lo, hi, undefined


def sub(al: Any, ah: Any, ua: Any, bl: Any, bh: Any, ub: Any) -> Any:
    """The difference."""
    return add(al, ah, ua, -bh, -bl, ub)


def _corner(value: Any) -> Any:
    """A corner that is no number, of zero times infinity and the like, as zero.

    Where one end makes a corner NaN, the values near it reach what the other corners reach.
    """
    return choose(value != value, 0.0, value)


def _least(w: Any, x: Any, y: Any, z: Any) -> Any:
    return least(least(_corner(w), _corner(x)), least(_corner(y), _corner(z)))


def _most(w: Any, x: Any, y: Any, z: Any) -> Any:
    return most(most(_corner(w), _corner(x)), most(_corner(y), _corner(z)))


def _infinite(low: Any, high: Any) -> Any:
    """True where a value may be infinite."""
    return (abs(low) == INF) | (abs(high) == INF)


def _endless(low: Any, high: Any) -> Any:
    """True where a value is certain to be infinite, of one sign."""
    return (low == INF) | (high == -INF)


def _zero(low: Any, high: Any) -> Any:
    return (low == 0) & (high == 0)


def mul(al: Any, ah: Any, ua: Any, bl: Any, bh: Any, ub: Any) -> Any:
    """The product."""
    undefined = any_of(ua, ub)
    if every(al >= 0) and every(bl >= 0):
        lo, hi = mul_low(al, bl), mul_high(ah, bh)
        if finite(lo, hi):
            return lo, hi, undefined
    w, x, y, z = mul_low(al, bl), mul_low(al, bh), mul_low(ah, bl), mul_low(ah, bh)
    p, q, r, s = w, x, y, z
    if not ONE_WAY:
        p, q, r, s = mul_high(al, bl), mul_high(al, bh), mul_high(ah, bl), mul_high(ah, bh)
    if finite(w, x) and finite(y, z) and finite(p, q) and finite(r, s):
        return least(least(w, x), least(y, z)), most(most(p, q), most(r, s)), undefined
    clash = (al <= 0) & (ah >= 0) & _infinite(bl, bh) | (bl <= 0) & (bh >= 0) & _infinite(al, ah)
    never = _zero(al, ah) & _endless(bl, bh) | _zero(bl, bh) & _endless(al, ah)
    lo, hi = choose(never, INF, _least(w, x, y, z)), choose(never, -INF, _most(p, q, r, s))
    return lo, hi, any_of(undefined, perhaps(clash))


def _quotient(al: Any, ah: Any, ua: Any, bl: Any, bh: Any, ub: Any) -> Any:
    """a / b where b does not hold zero; anything where it does."""
    undefined = any_of(ua, ub)
    if every(al >= 0) and every(bl > 0):
        lo, hi = div_low(al, bh), div_high(ah, bl)
        if finite(lo, hi):
            return lo, hi, undefined
    w, x, y, z = div_low(al, bl), div_low(al, bh), div_low(ah, bl), div_low(ah, bh)
    p, q, r, s = w, x, y, z
    if not ONE_WAY:
        p, q, r, s = div_high(al, bl), div_high(al, bh), div_high(ah, bl), div_high(ah, bh)
    if finite(w, x) and finite(y, z) and finite(p, q) and finite(r, s):
        return least(least(w, x), least(y, z)), most(most(p, q), most(r, s)), undefined
    far = _infinite(al, ah) & _infinite(bl, bh)
    never = _endless(al, ah) & _endless(bl, bh)
    lo, hi = choose(never, INF, _least(w, x, y, z)), choose(never, -INF, _most(p, q, r, s))
    return lo, hi, any_of(undefined, perhaps(far))


def div(al: Any, ah: Any, ua: Any, bl: Any, bh: Any, ub: Any) -> Any:
    """The quotient; anything where the divisor holds zero."""
    lo, hi, undefined = _quotient(al, ah, ua, bl, bh, ub)
    zero = (bl <= 0) & (bh >= 0)
    if not some(zero):
        return lo, hi, undefined
    undefined = any_of(undefined, perhaps(zero & (al <= 0) & (ah >= 0)))
    never = _zero(al, ah) & _zero(bl, bh)
    lo = choose(zero, choose(never, INF, -INF), lo)
    return lo, choose(zero, choose(never, -INF, INF), hi), undefined


def _beside(side: Any, al: Any, ah: Any, far: Any, lo: Any, hi: Any) -> Any:
    """The ends, but those of a / b for b next to zero on one side, where it is so."""
    if not some(side):
        return lo, hi
    low = choose(al >= 0, _corner(div_low(al, far)), -INF)
    high = choose(ah <= 0, _corner(div_high(ah, far)), INF)
    return choose(side, low, lo), choose(side, high, hi)


def divide(al: Any, ah: Any, ua: Any, bl: Any, bh: Any, ub: Any, zl: Any, zh: Any, uz: Any) -> Any:
    """The hull of a / b where b is not zero, and of what stands for it where b may be."""
    lo, hi, undefined = _quotient(al, ah, ua, bl, bh, ub)
    zero = (bl <= 0) & (bh >= 0)
    never = any_of(is_empty(ua, al, ah), is_empty(ub, bl, bh))
    if not some(zero):
        return choose(never, INF, lo), choose(never, -INF, hi), undefined
    lo, hi = _beside(zero & (bl >= 0), al, ah, bh, lo, hi)
    lo, hi = _beside(zero & (bh <= 0), -ah, -al, -bl, lo, hi)
    through = (bl < 0) & (bh > 0)
    nothing = _zero(al, ah)
    lo = choose(through, choose(nothing, 0.0, -INF), lo)
    hi = choose(through, choose(nothing, 0.0, INF), hi)
    lo, hi = choose(never, INF, lo), choose(never, -INF, hi)
    only = _zero(bl, bh)
    lo = choose(zero, choose(only, zl, least(lo, zl)), lo)
    hi = choose(zero, choose(only, zh, most(hi, zh)), hi)
    return lo, hi, any_of(undefined, perhaps(zero & uz))


# --- along which axes they rise and fall
def along(up: Any, down: Any, low: Any, high: Any) -> Any:
    """How something goes once multiplied by what lies between two ends."""
    if every(low >= 0):
        return up, down
    idle = up & down
    rises = choose(low >= 0, up, choose(high <= 0, down, idle))
    return rises, choose(low >= 0, down, choose(high <= 0, up, idle))


def together(al: Any, ah: Any, aup: Any, adn: Any, bl: Any, bh: Any, bup: Any, bdn: Any) -> Any:
    """Along the axes along which both go."""
    return aup & bup, adn & bdn


def against(al: Any, ah: Any, aup: Any, adn: Any, bl: Any, bh: Any, bup: Any, bdn: Any) -> Any:
    """As the first, and as the second turned round."""
    return aup & bdn, adn & bup


def mul_trend(al: Any, ah: Any, aup: Any, adn: Any, bl: Any, bh: Any, bup: Any, bdn: Any) -> Any:
    """Of a product."""
    au, ad = along(aup, adn, bl, bh)
    bu, bd = along(bup, bdn, al, ah)
    return au & bu, ad & bd


def div_trend(al: Any, ah: Any, aup: Any, adn: Any, bl: Any, bh: Any, bup: Any, bdn: Any) -> Any:
    """Of a quotient: none where the divisor may be zero, whose sign may vary."""
    au, ad = along(aup, adn, bl, bh)
    bu, bd = along(bup, bdn, al, ah)
    clear = (bl > 0) | (bh < 0)
    return choose(clear, au & bd, NONE), choose(clear, ad & bu, NONE)


def divide_trend(
    al: Any,
    ah: Any,
    aup: Any,
    adn: Any,
    bl: Any,
    bh: Any,
    bup: Any,
    bdn: Any,
    zl: Any,
    zh: Any,
    zup: Any,
    zdn: Any,
) -> Any:
    """Of a quotient with a value where the divisor is zero."""
    au, ad = along(aup, adn, bl, bh)
    bu, bd = along(bup, bdn, al, ah)
    up, down = au & bd, ad & bu
    clear = (bl > 0) | (bh < 0)
    if every(clear):
        return up, down
    # the quotient grows as the divisor falls to zero, where it is infinite
    falls_from = (bl >= 0) & (al >= 0) & (zl == INF)
    idle = aup & adn & bup & bdn & zup & zdn
    up = choose(clear, up, choose(falls_from, up & zup, idle))
    return up, choose(clear, down, choose(falls_from, down & zdn, idle))


# --- values and rows
def _array_divide(a: Any, b: Any, at_zero: Any) -> Any:
    with np.errstate(all="ignore"):
        zero = np.equal(b, 0)
        return np.where(zero, at_zero, np.divide(a, np.where(zero, 1.0, b)))


def _sympy_divide(s: Any, a: Any, b: Any, at_zero: Any) -> Any:
    from symbolic.exact import where

    if b.is_zero is None:
        return where(s.Eq(b, 0), at_zero, a / b)
    return at_zero if b.is_zero else a / b


def _operator(
    function: Callable[[Any, Any], Any], sign: str, interval: Any, trend: Any, units: str = "like"
) -> Primitive:
    """Return the row of an operator that each world has by itself."""
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
        reads=Reading.exactly(2, sign, units=units),
    )


ROWS = {
    "add": _operator(operator.add, "+", add, together),
    "sub": _operator(operator.sub, "-", sub, against),
    "mul": _operator(operator.mul, "*", mul, mul_trend, "product"),
    "div": _operator(operator.truediv, "/", div, div_trend, "quotient"),
    "divide": Primitive(
        arity=3,
        scalar=lambda a, b, at_zero: a / b if b != 0 else at_zero,
        array=_array_divide,
        sympy=_sympy_divide,
        nest="where({1} == 0.0, {2}, {0} / {1})",
        js="{1} === 0 ? {2} : {0} / {1}",
        interval=divide,
        trend=divide_trend,
        reads=Reading.exactly(3, "divide", units="quotient"),
        strict=False,
    ),
}
