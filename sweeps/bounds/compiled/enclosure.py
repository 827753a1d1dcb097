"""Compute an enclosure of every step of a tape over a box, and the axes where it is monotone."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from stochastic.compile_cache import compiled
from sweeps.bounds.compiled.tape import OPCODES
from symbolic.primitives import PRIMITIVES, rule_operations
from symbolic.primitives.rule_operations import ALL_AXES, NO_AXES, rebind_rule

#: Compiled without Numba's reference counts of arrays. These functions allocate nothing, and
#: counting took two thirds of their time.
compiled_no_nrt = compiled(_nrt=False, flat=True)


@compiled_no_nrt
def copy_into(place, values) -> None:
    """Copy values into a buffer of the same size."""
    for k in range(values.size):
        place[k] = values[k]


# --- Compiled rules of the primitives over one box
# The rules in :mod:`symbolic.primitives` serve arrays of boxes and this module. In this module a
# condition is an interval of two numbers: the lower end is 1 if the condition surely holds, and
# the upper end is 0 if it cannot hold.


INF = math.inf
#: Bound on the relative error of functions of the mathematical library (exp, log, pow ...).
_OFF = 1.8e-15


@compiled_no_nrt
def _round_down(value):
    if value == INF:
        return 1.7976931348623157e308
    return value - abs(value) * _OFF - 5e-324 if value > -INF else value


@compiled_no_nrt
def _round_up(value):
    if value == -INF:
        return -1.7976931348623157e308
    return value + abs(value) * _OFF + 5e-324 if value < INF else value


@compiled_no_nrt
def _widen(low, high, _):
    return _round_down(low), _round_up(high)


@compiled_no_nrt
def _identity(value):
    return value


@compiled_no_nrt
def _choose(test, yes, no):
    return yes if test else no


@compiled_no_nrt
def _any_of(first, second):
    return first or second


@compiled_no_nrt
def _clear_where(flag, test):
    return test and not flag


@compiled_no_nrt
def _is_empty(undefined, low, high):
    return undefined and low > high


@compiled_no_nrt
def _condition_end(test):
    return 1.0 if test else 0.0


@compiled_no_nrt
def _is_true(end):
    return end > 0


@compiled_no_nrt
def _not_of(end):
    return 1.0 - end


@compiled_no_nrt
def _all_finite(first, second):
    return abs(first) < INF and abs(second) < INF


_RULE_OPERATIONS: dict[str, Any] = {
    "either_flag": _any_of,
    "choose": _choose,
    "all_finite": _all_finite,
    "is_true": _is_true,
    "is_empty": _is_empty,
    "min_of": min,
    "max_of": max,
    "not_of": _not_of,
    "condition_end": _condition_end,
    "clear_where": _clear_where,
    "widen": _widen,  # a multiplication, because four calls of nextafter are far slower
    "pow_of": operator.pow,
    "exp_of": np.exp,
    "log_of": np.log,
    "log2_of": np.log2,
    "log10_of": np.log10,
    **dict.fromkeys(("all_true", "any_true", "flag_or_false"), _identity),
    **dict.fromkeys(("add_low", "add_high"), operator.add),
    **dict.fromkeys(("mul_low", "mul_high"), operator.mul),
    **dict.fromkeys(("div_low", "div_high"), operator.truediv),
    **dict.fromkeys(("sqrt_low", "sqrt_high"), math.sqrt),
}
if unknown := _RULE_OPERATIONS.keys() - vars(rule_operations).keys():
    raise NameError(f"rule_operations has no {', '.join(unknown)}")
_compiled_rules: dict[Any, Any] = {}


def interval_rule(name: str) -> Any:
    """Return the compiled rule for the enclosure of a primitive."""
    return rebind_rule(
        PRIMITIVES[name].interval, _RULE_OPERATIONS, compiled_no_nrt, _compiled_rules
    )


def trend_rule(name: str) -> Any:
    """Return the compiled rule that finds the axes along which a primitive rises or falls."""
    return rebind_rule(PRIMITIVES[name].trend, _RULE_OPERATIONS, compiled_no_nrt, _compiled_rules)


@compiled_no_nrt
def _unknown_step(op, inside, ways):
    return -INF, INF, True, NO_AXES, NO_AXES


def _four_rules(rules: list[tuple[int, Any, Any]], rest: Any) -> Any:
    """Return a function that applies one of four rules; four functions would compile longer."""
    (code_1, ends_1, trend_1), (code_2, ends_2, trend_2) = rules[:2]
    (code_3, ends_3, trend_3), (code_4, ends_4, trend_4) = rules[2:]

    def step(op: Any, inside: Any, ways: Any) -> Any:
        if op == code_1:
            low, high, hole = ends_1(*inside)
            rises, falls = trend_1(*ways)
        elif op == code_2:
            low, high, hole = ends_2(*inside)
            rises, falls = trend_2(*ways)
        elif op == code_3:
            low, high, hole = ends_3(*inside)
            rises, falls = trend_3(*ways)
        elif op == code_4:
            low, high, hole = ends_4(*inside)
            rises, falls = trend_4(*ways)
        else:
            return rest(op, inside, ways)
        return low, high, hole, rises, falls

    return compiled_no_nrt(step)


def rule_chain(arity: int, excluded: Iterable[str]) -> Any:
    """Return a function that applies the rules of all primitives with ``arity`` arguments."""
    rules = [
        (OPCODES[name], interval_rule(name), trend_rule(name))
        for name, row in PRIMITIVES.items()
        if row.arity == arity and name not in excluded
    ]
    result = _unknown_step
    for begin in reversed(range(0, len(rules), 4)):
        result = _four_rules((rules[begin : begin + 4] * 4)[:4], result)
    return result


ONE = np.uint64(1)
REFERENCE, WHERE = OPCODES["reference"], OPCODES["where"]
LESS, LESS_EQUAL = OPCODES["less"], OPCODES["less_equal"]
ADD, SUB, MUL, DIVIDE = (OPCODES[n] for n in ("add", "sub", "mul", "divide"))
DIV = OPCODES["div"]
MINIMUM, MAXIMUM, FLOOR, CEIL = (OPCODES[n] for n in ("minimum", "maximum", "floor", "ceil"))
#: Primitives that return NaN if an argument is NaN; STRICT is the bit mask of their opcodes.
_STRICT = [name for name, row in PRIMITIVES.items() if row.propagates_nan and not row.is_condition]
STRICT = np.uint64(sum(1 << OPCODES[name] for name in _STRICT))
ABSOLUTE, EXP, LOG, LOG2 = (OPCODES[n] for n in ("absolute", "exp", "log", "log2"))
LOG10, SQRT, POW = (OPCODES[n] for n in ("log10", "sqrt", "pow"))


@compiled_no_nrt
def _leaf_range(leaves, facts, numbers, k, first, last):
    form, dims, values = leaves[k, 0], leaves[k, 1], leaves[k, 2]
    if form == 1 or form == 2:
        axis = leaves[k, 7]
        a, b = numbers[values + first[axis]], numbers[values + last[axis]]
        return (a, b, False) if form == 1 else (b, a, False)
    if form == 4:
        single, place = True, 0
        for d in range(dims):
            axis = leaves[k, 7 + 3 * d]
            single = single and first[axis] == last[axis]
            place = place * leaves[k, 8 + 3 * d] + first[axis]
        if single:
            value = numbers[values + place]
            return (value, value, False) if value == value else (INF, -INF, True)
        return facts[k, 0], facts[k, 1], facts[k, 2] > 0
    low, high, hole = INF, -INF, False
    for corner in range(1 << dims):
        place = 0
        for d in range(dims):
            axis, size, levels = leaves[k, 7 + 3 * d], leaves[k, 8 + 3 * d], leaves[k, 9 + 3 * d]
            length = last[axis] - first[axis] + 1
            level = 0
            while (2 << level) <= length:
                level += 1
            at = last[axis] - (1 << level) + 1 if corner >> d & 1 else first[axis]
            place = (place * levels + level) * size + at
        low = min(low, numbers[leaves[k, 3] + place])
        high = max(high, numbers[leaves[k, 4] + place])
        if leaves[k, 5] >= 0:
            hole = hole or numbers[leaves[k, 5] + place] > 0
    return low, high, hole


#: These operations have separate code below, because they can be assumed or can copy another step.
_SPECIAL_OPS = ("less", "less_equal", "where", "minimum", "maximum")
_unary_rules, _binary_rules, _ternary_rules = (rule_chain(n, _SPECIAL_OPS) for n in (1, 2, 3))
_less, _less_equal, _where = (interval_rule(name) for name in _SPECIAL_OPS[:3])
_minimum, _maximum = (interval_rule(name) for name in _SPECIAL_OPS[3:])
_less_trend, _where_trend = trend_rule("less"), trend_rule("where")
_minimum_trend, _maximum_trend = trend_rule("minimum"), trend_rule("maximum")


@compiled(_nrt=False, flat=True, gives=True)
def enclose(tape, first, last, assumptions, lo, hi, und, up, dn, conditional, alias, ranks):
    """Enclose all steps over the box from ``first`` to ``last``; return False if no point is left.

    ``assumptions`` of a comparison: 1 if it is assumed to hold, 2 if it is assumed not to hold, 0
    if nothing is assumed. For a minimum or maximum: the argument (1 or 2) that it is assumed to
    equal. ``conditional`` marks enclosures that hold only under these assumptions; trends always
    hold. ``alias`` has, for each step, a step with certainly the same value. ``ranks`` lists the
    order relations assumed so far: (smaller step, larger step, 1 if strict).
    """
    steps, ops, args, leaf_of = tape.steps, tape.ops, tape.args, tape.leaf_of
    constant_along = tape.idle_axes
    leaves, facts, trends, numbers = tape.leaves, tape.leaf_ranges, tape.leaf_trends, tape.numbers
    ranked = 0
    for number in range(steps.size):
        n = steps[number]
        op = ops[n]
        alias[n] = n
        if op == REFERENCE:
            k = leaf_of[n]
            low, high, hole = _leaf_range(leaves, facts, numbers, k, first, last)
            lo[n], hi[n], und[n], conditional[n] = low, high, hole, False
            if hole and low <= high:
                up[n], dn[n] = trends[k, 2], trends[k, 2]
            elif hole or low == high:
                up[n], dn[n] = ALL_AXES, ALL_AXES
            else:
                rises, falls = trends[k, 0], trends[k, 1]
                dims = leaves[k, 1]
                if dims > 1:
                    for d in range(dims):
                        axis = leaves[k, 7 + 3 * d]
                        if first[axis] == last[axis]:
                            rises |= ONE << np.uint64(axis)
                            falls |= ONE << np.uint64(axis)
                up[n], dn[n] = rises, falls
            continue
        a = args[n, 0]
        al, ah, ua, aup, adn = lo[a], hi[a], und[a], up[a], dn[a]
        low, high, hole, rises, falls = al, ah, ua, aup, adn
        known = ua  # True if the step or an argument may be NaN
        empty = ua and al > ah
        idle = aup & adn
        free = conditional[a]
        b = args[n, 1]
        if b < 0:
            low, high, hole, rises, falls = _unary_rules(op, (al, ah, ua), (al, ah, aup, adn))
        else:
            bl, bh, ub, bup, bdn = lo[b], hi[b], und[b], up[b], dn[b]
            hole = ua or ub
            known = hole
            empty = empty or (ub and bl > bh)
            idle &= bup & bdn
            free = free or conditional[b]
            if LESS <= op <= LESS_EQUAL:
                if op == LESS:
                    low, high, _ = _less(al, ah, ua, bl, bh, ub)
                else:
                    low, high, _ = _less_equal(al, ah, ua, bl, bh, ub)
                rises, falls = _less_trend(al, ah, aup, adn, bl, bh, bup, bdn)
                i, j = alias[a], alias[b]
                if low < high and ranked > 0 and not hole:
                    if i == j:
                        low, high = (0.0, 0.0) if op == LESS else (1.0, 1.0)
                        free = True
                    for r in range(ranked):
                        under = ranks[r, 0] == i and ranks[r, 1] == j
                        if under and (op == LESS_EQUAL or ranks[r, 2] > 0):
                            low, free = 1.0, True
                        over = ranks[r, 0] == j and ranks[r, 1] == i
                        if over and (op == LESS or ranks[r, 2] > 0):
                            high, free = 0.0, True
                    if low > high:
                        return False
                if assumptions[n] == 1 and not hole:
                    ranks[ranked, 0], ranks[ranked, 1], ranks[ranked, 2] = i, j, op == LESS
                    ranked += 1
                elif assumptions[n] == 2 and not hole:
                    ranks[ranked, 0], ranks[ranked, 1], ranks[ranked, 2] = j, i, op == LESS_EQUAL
                    ranked += 1
                hole = False
                if assumptions[n] == 1 and low == 0:
                    if high == 0:
                        return False
                    low, free = 1.0, True
                elif assumptions[n] == 2 and high == 1:
                    if low == 1:
                        return False
                    high, free = 0.0, True
            elif MINIMUM <= op <= MAXIMUM:
                if op == MINIMUM:
                    low, high, hole = _minimum(al, ah, ua, bl, bh, ub)
                    one, two = ah <= bl, bh <= al
                    rises, falls = _minimum_trend(al, ah, aup, adn, bl, bh, bup, bdn)
                else:
                    low, high, hole = _maximum(al, ah, ua, bl, bh, ub)
                    one, two = bh <= al, ah <= bl
                    rises, falls = _maximum_trend(al, ah, aup, adn, bl, bh, bup, bdn)
                known = ub or (ua and (al <= ah or conditional[a]))
                if not known:
                    i, j = alias[a], alias[b]
                    if ua and assumptions[n] == 1:  # it cannot hold: argument 1 is NaN
                        return False
                    pick = 2 if two else 1 if one else 0
                    if pick == 0 and ranked > 0:
                        if i == j:
                            pick = 1
                        for r in range(ranked):
                            if ranks[r, 0] == i and ranks[r, 1] == j:
                                pick = 1 if op == MINIMUM else 2
                            elif ranks[r, 0] == j and ranks[r, 1] == i:
                                pick = 2 if op == MINIMUM else 1
                        free = free or pick > 0
                    if assumptions[n] > 0 and pick != assumptions[n]:
                        if op == MINIMUM:
                            if (assumptions[n] == 1 and al > bh) or (
                                assumptions[n] == 2 and bl > ah
                            ):
                                return False
                        elif (assumptions[n] == 1 and ah < bl) or (assumptions[n] == 2 and bh < al):
                            return False
                        pick, free = assumptions[n], True
                        first_less = (pick == 1) == (op == MINIMUM)
                        ranks[ranked, 0], ranks[ranked, 1] = (i, j) if first_less else (j, i)
                        ranks[ranked, 2] = 0
                        ranked += 1
                    if pick == 1:
                        alias[n] = i
                        low, high = max(low, al), min(high, ah)
                    elif pick == 2:
                        alias[n] = j
                        low, high = max(low, bl), min(high, bh)
                if free:
                    rises, falls = aup & bup, adn & bdn
            elif args[n, 2] < 0 or op <= DIV:
                # the third argument of a sum is a hint for planes
                low, high, hole, rises, falls = _binary_rules(
                    op, (al, ah, ua, bl, bh, ub), (al, ah, aup, adn, bl, bh, bup, bdn)
                )
                c = args[n, 2]
                if op == MUL and c >= 0:  # a * floor(c / a) for whole a and c
                    high = max(low, min(high, hi[c]))
                    low = min(high, max(low, lo[c] - ah + 1.0))
                    free = free or conditional[c]
                elif op == DIV and c >= 0:  # the quotient of such a product by c
                    high = max(low, min(high, 1.0))
            else:
                c = args[n, 2]
                cl, ch, uc, cup, cdn = lo[c], hi[c], und[c], up[c], dn[c]
                idle &= cup & cdn
                if op == WHERE:
                    low, high, hole = _where(al, ah, ua, bl, bh, ub, cl, ch, uc)
                    rises, falls = _where_trend(
                        al, ah, aup, adn, bl, bh, bup, bdn, cl, ch, cup, cdn
                    )
                    if al > 0:
                        alias[n], free = alias[b], conditional[b]
                    elif ah == 0:
                        alias[n], free = alias[c], conditional[c]
                    else:
                        free = conditional[b] or conditional[c]
                    if conditional[a] or (al == 0 and ah > 0):
                        free = conditional[a] or conditional[b] or conditional[c]
                        if free:
                            still = aup & adn
                            rises, falls = bup & cup & still, bdn & cdn & still
                    known = hole
                    if free:
                        known = known or ub or uc
                else:
                    # argument 3 is the value where the divisor is zero
                    known = known or (uc and (cl <= ch or conditional[c]))
                    empty = empty or (uc and cl > ch)
                    free = free or conditional[c]
                    low, high, hole, rises, falls = _ternary_rules(
                        op,
                        (al, ah, ua, bl, bh, ub, cl, ch, uc),
                        (al, ah, aup, adn, bl, bh, bup, bdn, cl, ch, cup, cdn),
                    )
        if free and (MUL <= op <= DIVIDE or op == ABSOLUTE or op >= POW):
            rises, falls = idle, idle  # the enclosures are conditional
        if empty and (STRICT >> np.uint64(op)) & ONE != NO_AXES:
            low, high, hole = INF, -INF, True
        if known or hole:
            rises, falls = idle, idle
        if not free and (low > high if hole else low == high):
            rises, falls = ALL_AXES, ALL_AXES
        lo[n], hi[n], und[n] = low, high, hole
        up[n], dn[n] = rises | constant_along[n], falls | constant_along[n]
        conditional[n] = free
    return True
