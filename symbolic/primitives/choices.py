"""Primitives for comparisons, logical operations, and choices between values."""

import operator
from typing import Any

import numpy as np

from symbolic.primitives.arithmetic import common_trend
from symbolic.primitives.rule_operations import (
    ALL_AXES,
    INF,
    NO_AXES,
    any_true,
    choose,
    clear_where,
    condition_end,
    either_flag,
    flag_or_false,
    is_empty,
    is_true,
    max_of,
    min_of,
    not_of,
)
from symbolic.primitives.spec import FormulaSyntax, Function, Primitive


def _less_interval(al, ah, ua, bl, bh, ub):
    empty = either_flag(is_empty(ua, al, ah), is_empty(ub, bl, bh))
    return (
        condition_end(clear_where(either_flag(ua, ub), ah < bl)),
        condition_end(clear_where(empty, al < bh)),
        False,
    )


def _less_equal_interval(al, ah, ua, bl, bh, ub):
    empty = either_flag(is_empty(ua, al, ah), is_empty(ub, bl, bh))
    return (
        condition_end(clear_where(either_flag(ua, ub), ah <= bl)),
        condition_end(clear_where(empty, al <= bh)),
        False,
    )


def _equal_interval(al, ah, ua, bl, bh, ub):
    empty = either_flag(is_empty(ua, al, ah), is_empty(ub, bl, bh))
    meet = clear_where(empty, (al <= bh) & (bl <= ah))
    return (
        condition_end(clear_where(either_flag(ua, ub), (al == bh) & (bl == ah))),
        condition_end(meet),
        False,
    )


def _where_interval(cl, ch, uc, al, ah, ua, bl, bh, ub):
    yes, may = is_true(cl), is_true(ch)
    lo = choose(yes, al, choose(may, min_of(al, bl), bl))
    hi = choose(yes, ah, choose(may, max_of(ah, bh), bh))
    undefined = flag_or_false(either_flag(ua, ub))
    if any_true(undefined):
        undefined = flag_or_false(choose(yes, ua, choose(may, undefined, ub)))
    return lo, hi, undefined


def _minimum_interval(al, ah, ua, bl, bh, ub):
    """Return the enclosure of min(a, b): its value is b if a is NaN, and NaN if b is NaN."""
    lo = choose(is_empty(ub, bl, bh), INF, min_of(al, bl))
    return lo, choose(ua, bh, min_of(ah, bh)), ub


def _maximum_interval(al, ah, ua, bl, bh, ub):
    hi = choose(is_empty(ub, bl, bh), -INF, max_of(ah, bh))
    return choose(ua, bl, max_of(al, bl)), hi, ub


def _unknown_trend(al, ah, aup, adn, bl, bh, bup, bdn):
    idle = aup & adn & bup & bdn
    return idle, idle


def _selected_trend(first, second, aup, adn, bup, bdn):
    """Return the directions of the chosen argument; common directions if either may be chosen.

    The argument b is chosen in boxes where ``second`` is True, otherwise a where ``first`` is True.
    """
    up = choose(second, bup, choose(first, aup, aup & bup))
    return up, choose(second, bdn, choose(first, adn, adn & bdn))


def _minimum_trend(al, ah, aup, adn, bl, bh, bup, bdn):
    return _selected_trend(ah <= bl, bh <= al, aup, adn, bup, bdn)


def _maximum_trend(al, ah, aup, adn, bl, bh, bup, bdn):
    return _selected_trend(bh <= al, ah <= bl, aup, adn, bup, bdn)


def _where_trend(cl, ch, cup, cdn, al, ah, aup, adn, bl, bh, bup, bdn):
    still = cup & cdn
    rises = choose(bh <= al, ALL_AXES, NO_AXES)  # if the condition becomes true
    falls = choose(ah <= bl, ALL_AXES, NO_AXES)
    up = aup & bup & (still | (rises & cup) | (falls & cdn))
    down = adn & bdn & (still | (rises & cdn) | (falls & cup))
    yes, may = is_true(cl), is_true(ch)
    return choose(yes, aup, choose(may, up, bup)), choose(yes, adn, choose(may, down, bdn))


def _sympy_where(s, condition, if_true, if_false):
    from symbolic.exact import where

    return where(condition, if_true, if_false)


def _extremum(kind, drop, a, b):
    """Return SymPy's Min or Max (``kind``) of a and b, without a slow comparison by SymPy.

    ``drop`` is the neutral element: inf for Min, -inf for Max.
    """
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
    text = f"{{0}} {sign} {{1}}"
    return Primitive(
        arity=2,
        scalar=function,
        sympy=lambda s, a, b: getattr(s, closed)(a, b),
        nest=text,
        js=text,
        interval=interval,
        syntax=FormulaSyntax.fixed_count(2, *names),
        is_condition=True,
        **{"array": function, "trend": _comparison_trend} | cells,
    )


def _comparison_trend(al, ah, aup, adn, bl, bh, bup, bdn):
    return bup & adn, bdn & aup


ROWS = {
    "less": _comparison(operator.lt, "Lt", "<", _less_interval, "<", ">"),
    "less_equal": _comparison(operator.le, "Le", "<=", _less_equal_interval, "<=", ">="),
    "equal": _comparison(
        operator.eq, "Eq", "==", _equal_interval, "equal", "==", "!=", array=np.equal,
        trend=_unknown_trend,
    ),
    "both": Primitive(
        arity=2, scalar=lambda a, b: a and b, array=np.logical_and,
        sympy=lambda s, a, b: s.And(a, b), nest="{0} & {1}", js="{0} && {1}",
        interval=lambda al, ah, ua, bl, bh, ub: (min_of(al, bl), min_of(ah, bh), False),
        trend=common_trend, syntax=FormulaSyntax.any_number("both"), is_condition=True,
    ),
    "either": Primitive(
        arity=2, scalar=lambda a, b: a or b, array=np.logical_or, sympy=lambda s, a, b: s.Or(a, b),
        nest="{0} | {1}", js="{0} || {1}",
        interval=lambda al, ah, ua, bl, bh, ub: (max_of(al, bl), max_of(ah, bh), False),
        trend=common_trend, syntax=FormulaSyntax.any_number("either"), is_condition=True,
    ),
    "negate": Primitive(
        arity=1, scalar=operator.not_, array=np.logical_not, sympy=lambda s, a: s.Not(a),
        nest="not {0}", js="!{0}", interval=lambda al, ah, ua: (not_of(ah), not_of(al), False),
        trend=lambda al, ah, aup, adn: (adn, aup), syntax=FormulaSyntax.fixed_count(1, "negate"),
        is_condition=True,
    ),
    "where": Primitive(
        arity=3, scalar=lambda condition, a, b: a if condition else b, array=np.where,
        sympy=_sympy_where, nest="where({0}, {1}, {2})", js="{0} ? {1} : {2}",
        interval=_where_interval, trend=_where_trend, syntax=FormulaSyntax.fixed_count(3, "where"),
        is_choice=True, propagates_nan=False,
    ),
    "minimum": Primitive(
        arity=2, scalar=lambda a, b: a if a < b else b, array=lambda a, b: np.where(a < b, a, b),
        sympy=lambda s, a, b: _extremum(s.Min, s.oo, a, b), nest="minimum({0}, {1})",
        js="{0} < {1} ? {0} : {1}", interval=_minimum_interval, trend=_minimum_trend,
        syntax=FormulaSyntax.any_number("minimum", "min"), propagates_nan=False,
    ),
    "maximum": Primitive(
        arity=2, scalar=lambda a, b: a if b < a else b, array=lambda a, b: np.where(b < a, a, b),
        sympy=lambda s, a, b: _extremum(s.Max, -s.oo, a, b), nest="maximum({0}, {1})",
        js="{1} < {0} ? {0} : {1}", interval=_maximum_interval, trend=_maximum_trend,
        syntax=FormulaSyntax.any_number("maximum", "max"), propagates_nan=False,
    ),
}  # fmt: skip
