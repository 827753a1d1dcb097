"""Comparisons, what joins conditions, and choices between values."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from symbolic.primitives.arithmetic import against, together
from symbolic.primitives.row import Function, Primitive, Reading
from symbolic.primitives.words import (
    EVERY,
    INF,
    NONE,
    any_of,
    choose,
    holds,
    is_empty,
    least,
    most,
    opposite,
    perhaps,
    some,
    told,
    unless,
)


# --- enclosures
def _less(al: Any, ah: Any, ua: Any, bl: Any, bh: Any, ub: Any) -> Any:
    empty = any_of(is_empty(ua, al, ah), is_empty(ub, bl, bh))
    return told(unless(any_of(ua, ub), ah < bl)), told(unless(empty, al < bh)), False


def _less_equal(al: Any, ah: Any, ua: Any, bl: Any, bh: Any, ub: Any) -> Any:
    empty = any_of(is_empty(ua, al, ah), is_empty(ub, bl, bh))
    return told(unless(any_of(ua, ub), ah <= bl)), told(unless(empty, al <= bh)), False


def _equal(al: Any, ah: Any, ua: Any, bl: Any, bh: Any, ub: Any) -> Any:
    empty = any_of(is_empty(ua, al, ah), is_empty(ub, bl, bh))
    meet = unless(empty, (al <= bh) & (bl <= ah))
    return told(unless(any_of(ua, ub), (al == bh) & (bl == ah))), told(meet), False


def _both(al: Any, ah: Any, ua: Any, bl: Any, bh: Any, ub: Any) -> Any:
    return least(al, bl), least(ah, bh), False


def _either(al: Any, ah: Any, ua: Any, bl: Any, bh: Any, ub: Any) -> Any:
    return most(al, bl), most(ah, bh), False


def _negate(al: Any, ah: Any, ua: Any) -> Any:
    return opposite(ah), opposite(al), False


def _where(cl: Any, ch: Any, uc: Any, al: Any, ah: Any, ua: Any, bl: Any, bh: Any, ub: Any) -> Any:
    yes, may = holds(cl), holds(ch)
    lo = choose(yes, al, choose(may, least(al, bl), bl))
    hi = choose(yes, ah, choose(may, most(ah, bh), bh))
    undefined = perhaps(any_of(ua, ub))
    if some(undefined):
        undefined = perhaps(choose(yes, ua, choose(may, undefined, ub)))
    return lo, hi, undefined


def _minimum(al: Any, ah: Any, ua: Any, bl: Any, bh: Any, ub: Any) -> Any:
    """NaN for a gives b; NaN for b gives NaN."""
    lo = choose(is_empty(ub, bl, bh), INF, least(al, bl))
    return lo, choose(ua, bh, least(ah, bh)), ub


def _maximum(al: Any, ah: Any, ua: Any, bl: Any, bh: Any, ub: Any) -> Any:
    hi = choose(is_empty(ub, bl, bh), -INF, most(ah, bh))
    return choose(ua, bl, most(al, bl)), hi, ub


# --- directions
def _falling(al: Any, ah: Any, aup: Any, adn: Any, bl: Any, bh: Any, bup: Any, bdn: Any) -> Any:
    return against(bl, bh, bup, bdn, al, ah, aup, adn)


def _unknown(al: Any, ah: Any, aup: Any, adn: Any, bl: Any, bh: Any, bup: Any, bdn: Any) -> Any:
    idle = aup & adn & bup & bdn
    return idle, idle


def _negate_trend(al: Any, ah: Any, aup: Any, adn: Any) -> Any:
    return adn, aup


def _one(first: Any, second: Any, aup: Any, adn: Any, bup: Any, bdn: Any) -> Any:
    """As b where the second holds, as a where the first does, as both where neither.

    The second comes first: it holds where a is empty, which leaves b.
    """
    up = choose(second, bup, choose(first, aup, aup & bup))
    return up, choose(second, bdn, choose(first, adn, adn & bdn))


def _minimum_trend(
    al: Any, ah: Any, aup: Any, adn: Any, bl: Any, bh: Any, bup: Any, bdn: Any
) -> Any:
    return _one(ah <= bl, bh <= al, aup, adn, bup, bdn)


def _maximum_trend(
    al: Any, ah: Any, aup: Any, adn: Any, bl: Any, bh: Any, bup: Any, bdn: Any
) -> Any:
    return _one(bh <= al, ah <= bl, aup, adn, bup, bdn)


def _where_trend(
    cl: Any,
    ch: Any,
    cup: Any,
    cdn: Any,
    al: Any,
    ah: Any,
    aup: Any,
    adn: Any,
    bl: Any,
    bh: Any,
    bup: Any,
    bdn: Any,
) -> Any:
    still = cup & cdn
    rises = choose(bh <= al, EVERY, NONE)  # when the condition comes to hold
    falls = choose(ah <= bl, EVERY, NONE)
    up = aup & bup & (still | (rises & cup) | (falls & cdn))
    down = adn & bdn & (still | (rises & cdn) | (falls & cup))
    yes, may = holds(cl), holds(ch)
    return choose(yes, aup, choose(may, up, bup)), choose(yes, adn, choose(may, down, bdn))


# --- closed forms
def _sympy_where(s: Any, condition: Any, if_true: Any, if_false: Any) -> Any:
    from symbolic.exact import where

    return where(condition, if_true, if_false)


def _extremum(kind: Any, drop: Any, a: Any, b: Any) -> Any:
    """Min or Max without SymPy's search for comparable arguments, which is slow on long ones."""
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


def _comparison(
    function: Function, closed: str, sign: str, interval: Function, *names: str, **cells: Any
) -> Primitive:
    """Return the row of a comparison; ``closed`` is SymPy's name of it."""
    text = f"{{0}} {sign} {{1}}"
    cells = {"scalar": function, "array": function, "trend": _falling} | cells
    return Primitive(
        arity=2,
        sympy=lambda s, a, b: getattr(s, closed)(a, b),
        nest=text,
        js=text,
        interval=interval,
        reads=Reading.exactly(2, *names),
        condition=True,
        **cells,
    )


ROWS = {
    "less": _comparison(operator.lt, "Lt", "<", _less, "<", ">"),
    "less_equal": _comparison(operator.le, "Le", "<=", _less_equal, "<=", ">="),
    "equal": _comparison(
        operator.eq, "Eq", "==", _equal, "equal", "==", "!=", array=np.equal, trend=_unknown
    ),
    "both": Primitive(
        arity=2,
        scalar=lambda a, b: a and b,
        array=np.logical_and,
        sympy=lambda s, a, b: s.And(a, b),
        nest="{0} & {1}",
        js="{0} && {1}",
        interval=_both,
        trend=together,
        reads=Reading.any_number("both"),
        condition=True,
    ),
    "either": Primitive(
        arity=2,
        scalar=lambda a, b: a or b,
        array=np.logical_or,
        sympy=lambda s, a, b: s.Or(a, b),
        nest="{0} | {1}",
        js="{0} || {1}",
        interval=_either,
        trend=together,
        reads=Reading.any_number("either"),
        condition=True,
    ),
    "negate": Primitive(
        arity=1,
        scalar=operator.not_,
        array=np.logical_not,
        sympy=lambda s, a: s.Not(a),
        nest="not {0}",
        js="!{0}",
        interval=_negate,
        trend=_negate_trend,
        reads=Reading.exactly(1, "negate"),
        condition=True,
    ),
    "where": Primitive(
        arity=3,
        scalar=lambda condition, a, b: a if condition else b,
        array=np.where,
        sympy=_sympy_where,
        nest="where({0}, {1}, {2})",
        js="{0} ? {1} : {2}",
        interval=_where,
        trend=_where_trend,
        reads=Reading.exactly(3, "where"),
        chooses=True,
        strict=False,
    ),
    "minimum": Primitive(
        arity=2,
        scalar=lambda a, b: a if a < b else b,
        array=lambda a, b: np.where(a < b, a, b),
        sympy=lambda s, a, b: _extremum(s.Min, s.oo, a, b),
        nest="minimum({0}, {1})",
        js="{0} < {1} ? {0} : {1}",
        interval=_minimum,
        trend=_minimum_trend,
        reads=Reading.any_number("minimum", "min"),
        strict=False,
    ),
    "maximum": Primitive(
        arity=2,
        scalar=lambda a, b: a if b < a else b,
        array=lambda a, b: np.where(b < a, a, b),
        sympy=lambda s, a, b: _extremum(s.Max, -s.oo, a, b),
        nest="maximum({0}, {1})",
        js="{1} < {0} ? {0} : {1}",
        interval=_maximum,
        trend=_maximum_trend,
        reads=Reading.any_number("maximum", "max"),
        strict=False,
    ),
}
