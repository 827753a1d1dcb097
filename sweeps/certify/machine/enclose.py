"""Every step of a tape over a box: its ends, whether it may be NaN, and how it goes along the axes.

The rules are those of :mod:`symbolic.intervals` and :mod:`symbolic.monotone`, rounding to nearest.
A condition is a number: its lower end 1 where it is certain, its upper end 0 where it is
impossible.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stochastic.kept import compiled
from sweeps.certify.machine.jit import jitted
from sweeps.certify.machine.tape import CODES

__all__ = [
    "ABSOLUTE",
    "ADD",
    "CEIL",
    "DIVIDE",
    "EVERY",
    "EXP",
    "FLOOR",
    "LOG",
    "LOG2",
    "LOG10",
    "MAXIMUM",
    "MINIMUM",
    "MUL",
    "ONE",
    "POW",
    "REFERENCE",
    "SQRT",
    "SUB",
    "WHERE",
    "enclose",
]

EVERY, NONE, ONE = np.uint64(2**64 - 1), np.uint64(0), np.uint64(1)
INF = math.inf
CONSTANT, REFERENCE = CODES["constant"], CODES["reference"]
ADD, SUB, MUL, DIV, DIVIDE = (CODES[n] for n in ("add", "sub", "mul", "div", "divide"))
LESS, LESS_EQUAL, EQUAL = (CODES[n] for n in ("less", "less_equal", "equal"))
BOTH, EITHER, NEGATE, WHERE = (CODES[n] for n in ("both", "either", "negate", "where"))
MINIMUM, MAXIMUM, FLOOR, CEIL = (CODES[n] for n in ("minimum", "maximum", "floor", "ceil"))
ABSOLUTE, EXP, LOG, LOG2 = (CODES[n] for n in ("absolute", "exp", "log", "log2"))
LOG10, SQRT, POW = (CODES[n] for n in ("log10", "sqrt", "pow"))
#: By how much the library's functions may be off, as a share.
_OFF = 1.8e-15


@jitted
def _below(value: Any) -> Any:
    if value == INF:
        return 1.7976931348623157e308
    return value - abs(value) * _OFF - 5e-324 if value > -INF else value


@jitted
def _above(value: Any) -> Any:
    if value == -INF:
        return -1.7976931348623157e308
    return value + abs(value) * _OFF + 5e-324 if value < INF else value


@jitted
def _corner(value: Any) -> Any:
    return 0.0 if value != value else value


@jitted
def _leaf(leaves: Any, facts: Any, numbers: Any, k: Any, first: Any, last: Any) -> Any:
    """The extremes of a leaf over a box, and whether there may be a hole."""
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


@jitted
def _quotient(al: Any, ah: Any, bl: Any, bh: Any) -> Any:
    if al >= 0 and bl > 0:
        low, high = al / bh, ah / bl
        if low == low and high < INF:
            return low, high
    w, x, y, z = al / bl, al / bh, ah / bl, ah / bh
    w, x, y, z = _corner(w), _corner(x), _corner(y), _corner(z)
    return min(min(w, x), min(y, z)), max(max(w, x), max(y, z))


@jitted
def _divide(al: Any, ah: Any, bl: Any, bh: Any, zl: Any, zh: Any, low: Any, high: Any) -> Any:
    """The hull of a / b next to b = 0 and of what stands for it there."""
    if bl == 0 and bh == 0:
        return zl, zh
    if bl >= 0:
        low = _corner(al / bh) if al >= 0 else -INF
        high = _corner(ah / bh) if ah <= 0 else INF
    elif bh <= 0:
        low = _corner(-ah / -bl) if -ah >= 0 else -INF
        high = _corner(-al / -bl) if -al <= 0 else INF
    elif al == 0 and ah == 0:
        low, high = 0.0, 0.0
    else:
        low, high = -INF, INF
    return min(low, zl), max(high, zh)


@compiled(_nrt=False, gives=True)
def enclose(
    tape: Any,
    first: Any,
    last: Any,
    forced: Any,
    lo: Any,
    hi: Any,
    und: Any,
    up: Any,
    dn: Any,
    loose: Any,
    alias: Any,
    ranks: Any,
) -> Any:
    """Work out the steps over the box from ``first`` to ``last``; False where nothing is in it.

    ``forced`` holds what is supposed of each comparison: 1 that it holds, 2 that it does not, 0
    nothing; of a minimum or maximum which argument it is. ``loose`` tells which ends hold under
    that alone, while directions hold in any case. ``alias`` is the step of which one is sure to be
    a copy, ``ranks`` what is supposed so far: that a step is no more than another, or is less.
    """
    steps, ops, args, leaf_of = tape.steps, tape.ops, tape.args, tape.leaf_of
    leaves, facts, trends, numbers = tape.leaves, tape.facts, tape.trends, tape.numbers
    ranked = 0
    for number in range(steps.size):
        n = steps[number]
        op = ops[n]
        alias[n] = n
        if op == REFERENCE:
            k = leaf_of[n]
            low, high, hole = _leaf(leaves, facts, numbers, k, first, last)
            lo[n], hi[n], und[n], loose[n] = low, high, hole, False
            if hole:
                up[n], dn[n] = trends[k, 2], trends[k, 2]
            elif low == high:
                up[n], dn[n] = EVERY, EVERY
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
        known = ua
        idle = aup & adn
        free = loose[a]
        if op == FLOOR:
            low, high = np.floor(al), np.floor(ah)
        elif op == CEIL:
            low, high = np.ceil(al), np.ceil(ah)
        elif op == NEGATE:
            low, high, rises, falls = 1.0 - ah, 1.0 - al, adn, aup
        elif op == ABSOLUTE:
            if al >= 0:
                pass
            elif ah <= 0:
                low, high, rises, falls = -ah, -al, adn, aup
            else:
                low, high, rises, falls = 0.0, max(-al, ah), idle, idle
            if free:
                rises, falls = idle, idle
        elif op == SQRT:
            low, high, hole = math.sqrt(max(al, 0.0)), math.sqrt(max(ah, 0.0)), ua or al < 0
        elif op == EXP:
            low, high = max(_below(np.exp(al)), 0.0), _above(np.exp(ah))
        elif op == LOG:
            low, high = _below(np.log(max(al, 0.0))), _above(np.log(max(ah, 0.0)))
            hole = ua or al < 0
        elif op == LOG2:
            low, high = _below(np.log2(max(al, 0.0))), _above(np.log2(max(ah, 0.0)))
            hole = ua or al < 0
        elif op == LOG10:
            low, high = _below(np.log10(max(al, 0.0))), _above(np.log10(max(ah, 0.0)))
            hole = ua or al < 0
        else:
            b = args[n, 1]
            bl, bh, ub, bup, bdn = lo[b], hi[b], und[b], up[b], dn[b]
            hole = ua or ub
            known = hole
            idle &= bup & bdn
            free = free or loose[b]
            if op == ADD:
                low, high = al + bl, ah + bh
                if not (abs(low) < INF and abs(high) < INF):
                    hole = hole or (ah == INF and bl == -INF) or (al == -INF and bh == INF)
                    low, high = low if low == low else -INF, high if high == high else INF
                rises, falls = aup & bup, adn & bdn
            elif op == SUB:
                low, high = al - bh, ah - bl
                if not (abs(low) < INF and abs(high) < INF):
                    hole = hole or (ah == INF and bh == INF) or (al == -INF and bl == -INF)
                    low, high = low if low == low else -INF, high if high == high else INF
                rises, falls = aup & bdn, adn & bup
            elif op == MUL:
                if al >= 0 and bl >= 0 and ah < INF and bh < INF:
                    low, high = al * bl, ah * bh
                    rises, falls = aup & bup, adn & bdn
                else:
                    w, x, y, z = al * bl, al * bh, ah * bl, ah * bh
                    if (
                        w != w
                        or x != x
                        or y != y
                        or z != z
                        or not (max(abs(al), abs(ah), abs(bl), abs(bh)) < INF)
                    ):
                        zero_a, zero_b = al <= 0 <= ah, bl <= 0 <= bh
                        far_a = abs(al) == INF or abs(ah) == INF
                        far_b = abs(bl) == INF or abs(bh) == INF
                        hole = hole or (zero_a and far_b) or (far_a and zero_b)
                        w, x, y, z = _corner(w), _corner(x), _corner(y), _corner(z)
                    low, high = min(min(w, x), min(y, z)), max(max(w, x), max(y, z))
                    rises, falls = idle, idle
                    au = aup if bl >= 0 else adn if bh <= 0 else aup & adn
                    ad = adn if bl >= 0 else aup if bh <= 0 else aup & adn
                    bu = bup if al >= 0 else bdn if ah <= 0 else bup & bdn
                    bd = bdn if al >= 0 else bup if ah <= 0 else bup & bdn
                    rises, falls = au & bu, ad & bd
            elif op <= DIVIDE:
                low, high = _quotient(al, ah, bl, bh)
                far = (abs(al) == INF or abs(ah) == INF) and (abs(bl) == INF or abs(bh) == INF)
                hole = hole or far
                zl, zh, uz, zup, zdn = 0.0, 0.0, False, EVERY, EVERY
                if op == DIVIDE:
                    c = args[n, 2]
                    zl, zh, uz, zup, zdn = lo[c], hi[c], und[c], up[c], dn[c]
                    known = known or uz
                    idle &= zup & zdn
                    free = free or loose[c]
                au = aup if bl >= 0 else adn if bh <= 0 else aup & adn
                ad = adn if bl >= 0 else aup if bh <= 0 else aup & adn
                bu = bup if al >= 0 else bdn if ah <= 0 else bup & bdn
                bd = bdn if al >= 0 else bup if ah <= 0 else bup & bdn
                rises, falls = au & bd, ad & bu
                if bl <= 0 <= bh:
                    if op == DIV:
                        low, high = -INF, INF
                        hole = hole or al <= 0 <= ah
                        rises, falls = idle, idle
                    else:
                        if bl >= 0 and al >= 0 and zl == INF:
                            rises, falls = rises & zup, falls & zdn
                        else:
                            rises, falls = idle, idle
                        low, high = _divide(al, ah, bl, bh, zl, zh, low, high)
                        hole = hole or uz
            elif op <= LESS_EQUAL:
                if op == LESS:
                    low = 1.0 if ah < bl and not hole else 0.0
                    high = 1.0 if al < bh else 0.0
                else:
                    low = 1.0 if ah <= bl and not hole else 0.0
                    high = 1.0 if al <= bh else 0.0
                rises, falls = adn & bup, aup & bdn
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
                if forced[n] == 1 and not hole:
                    ranks[ranked, 0], ranks[ranked, 1], ranks[ranked, 2] = i, j, op == LESS
                    ranked += 1
                elif forced[n] == 2 and not hole:
                    ranks[ranked, 0], ranks[ranked, 1], ranks[ranked, 2] = j, i, op == LESS_EQUAL
                    ranked += 1
                hole = False
                if forced[n] == 1 and low == 0:
                    if high == 0:
                        return False
                    low, free = 1.0, True
                elif forced[n] == 2 and high == 1:
                    if low == 1:
                        return False
                    high, free = 0.0, True
            elif op == EQUAL:
                low = 1.0 if al == bh and bl == ah and not hole else 0.0
                high = 1.0 if al <= bh and bl <= ah else 0.0
                rises, falls, hole = idle, idle, False
            elif op == BOTH:
                low, high, rises, falls = min(al, bl), min(ah, bh), aup & bup, adn & bdn
            elif op == EITHER:
                low, high, rises, falls = max(al, bl), max(ah, bh), aup & bup, adn & bdn
            elif MINIMUM <= op <= MAXIMUM:
                hole = ub
                if op == MINIMUM:
                    low, high = min(al, bl), bh if ua else min(ah, bh)
                    one, two = ah <= bl, bh <= al
                else:
                    low, high = bl if ua else max(al, bl), max(ah, bh)
                    one, two = bh <= al, ah <= bl
                if not known:
                    i, j = alias[a], alias[b]
                    pick = 1 if one else 2 if two else 0
                    if pick == 0 and ranked > 0:
                        if i == j:
                            pick = 1
                        for r in range(ranked):
                            if ranks[r, 0] == i and ranks[r, 1] == j:
                                pick = 1 if op == MINIMUM else 2
                            elif ranks[r, 0] == j and ranks[r, 1] == i:
                                pick = 2 if op == MINIMUM else 1
                        free = free or pick > 0
                    if forced[n] > 0 and pick != forced[n]:
                        if op == MINIMUM:
                            if (forced[n] == 1 and al > bh) or (forced[n] == 2 and bl > ah):
                                return False
                        elif (forced[n] == 1 and ah < bl) or (forced[n] == 2 and bh < al):
                            return False
                        pick, free = forced[n], True
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
                    one, two = False, False
                rises = aup if one else bup if two else aup & bup
                falls = adn if one else bdn if two else adn & bdn
            elif op == POW:
                x, y = max(al, 0.0), max(ah, 0.0)
                t, u, v, w = x**bl, x**bh, y**bl, y**bh
                low = max(_below(min(min(t, u), min(v, w))), 0.0)
                high = _above(max(max(t, u), max(v, w)))
                if al < 0 or (al == 0 and bl < 0):
                    low, high = -INF, INF
                    hole = hole or (al < 0 and not (bl == bh and np.floor(bl) == bl))
                if al >= 0:
                    au = aup if bl >= 0 else adn if bh <= 0 else aup & adn
                    ad = adn if bl >= 0 else aup if bh <= 0 else aup & adn
                    bu = bup if al >= 1 else bdn if ah <= 1 else bup & bdn
                    bd = bdn if al >= 1 else bup if ah <= 1 else bup & bdn
                    rises, falls = au & bu, ad & bd
                else:
                    rises, falls = idle, idle
            else:  # where: a is the condition
                c = args[n, 2]
                cl, ch, uc, cup, cdn = lo[c], hi[c], und[c], up[c], dn[c]
                idle &= cup & cdn
                if al > 0:
                    low, high, hole, rises, falls = bl, bh, ub, bup, bdn
                elif ah == 0:
                    low, high, hole, rises, falls = cl, ch, uc, cup, cdn
                else:
                    low, high, hole = min(bl, cl), max(bh, ch), ub or uc
                if loose[a] or (al == 0 and ah > 0):
                    still = aup & adn
                    more, less = NONE, NONE
                    free = loose[a] or loose[b] or loose[c]
                    if ch <= bl and not free:
                        more = EVERY
                    if bh <= cl and not free:
                        less = EVERY
                    rises = bup & cup & (still | (more & aup) | (less & adn))
                    falls = bdn & cdn & (still | (more & adn) | (less & aup))
                else:
                    free = loose[b] if al > 0 else loose[c]
                if al > 0:
                    alias[n] = alias[b]
                elif ah == 0:
                    alias[n] = alias[c]
                known = hole
                if free:
                    known = known or ub or uc
            if free and (MUL <= op <= DIVIDE or op == POW):
                rises, falls = idle, idle
        if low == high and not free:
            rises, falls = EVERY, EVERY
        if known or hole:
            rises, falls = idle, idle
        lo[n], hi[n], und[n], up[n], dn[n] = low, high, hole, rises, falls
        loose[n] = free
    return True
