"""A plane below a step of a tape over a box: a sum of one function of each axis.

Weights stand on the values of steps (``wide``) and on the logarithms of their magnitudes
(``deep``), and move from each step to those it reads: sums pass values on as they are, products
logarithms. What is neither is replaced by a tangent or a chord, whichever lies below for the sign
of the weight; a minimum by a chord between its arguments, an open choice by the lesser of both. So
a box is bounded to second order where the enclosure of each step alone would be to first.

What holds after each step: at every point of the box where what is supposed is true, and neither
the step at the top nor one with a weight is NaN, the constant and all weights, times the values
that floats make of their steps, come to no more than the top, but for rounding. So a weight may
stand on a logarithm only where the range of *its own* step is of one sign (:func:`signed`). Of a
minimum of which an argument is supposed, the range is of what the minimum is: the argument's own
may reach beyond, and through zero. Such a weight becomes one on the value, by the range of the
minimum, before it moves on. Rounding is counted at each step, by what was added to its weight
before anything cancelled (row 1 of the weights) times the largest that the step can be.
"""

from __future__ import annotations

import math
from typing import Any

from stochastic.kept import compiled
from sweeps.bounds.machine.enclose import (
    ABSOLUTE,
    ADD,
    CEIL,
    DIVIDE,
    EXP,
    FLOOR,
    LOG,
    LOG2,
    LOG10,
    MAXIMUM,
    MINIMUM,
    MUL,
    POW,
    REFERENCE,
    SQRT,
    SUB,
    WHERE,
)
from sweeps.bounds.machine.jit import jitted

__all__ = ["give", "relax", "signed"]

INF = math.inf
_LN2, _LN10 = math.log(2.0), math.log(10.0)
_SMALL, _LARGE = 1e-280, 1e280
#: More than the magnitude of a logarithm between these. What rounding can make of one step, as a
#: share of what it may make of a plane (`_SLACK` in look): some 180 ulp of what is added in it.
_LOGS, _STEP = 700.0, 2e-4
#: Up to what ratio a difference is too near to 0 for its logarithm to be told from both.
_NEAR = 1.0001


@jitted
def give(weights: Any, n: Any, weight: Any) -> None:
    """Put some more weight on a step; row 1 holds how much there was before any cancelled."""
    weights[0, n] += weight
    weights[1, n] += abs(weight)


@jitted
def signed(low: Any, high: Any, hole: Any) -> Any:
    """1 or -1 for a step of one sign whose logarithm is known, else 0."""
    if hole:
        return 0
    if low > _SMALL and high < _LARGE:
        return 1
    if high < -_SMALL and low > -_LARGE:
        return -1
    return 0


@jitted
def _softplus(t: Any) -> Any:
    return t + math.log1p(math.exp(-t)) if t > 0 else math.log1p(math.exp(t))


@jitted
def _gap(t: Any) -> Any:
    return math.log(-math.expm1(-t))


@jitted
def _least_of(tl: Any, th: Any, weight: Any, least: Any, about: Any) -> Any:
    """For the lesser (or greater) of two steps that differ by t: both their shares, constant."""
    if about != about:
        about = tl + th
    if not least:  # the greater of a and b is b - the lesser of (b - a, 0) ... mirrored
        one, two, rest = _least_of_pair(-th, -tl, -weight, -about)
        return one, two, -rest
    return _least_of_pair(tl, th, weight, about)


@jitted
def _least_of_pair(tl: Any, th: Any, weight: Any, about: Any) -> Any:
    """min(a, b) against one a + two b + rest: below it for weights above zero, above it for others.

    With t = a - b. The smaller share is no difference of the larger from 1, in which it would be
    lost where one step reaches far beyond the other.
    """
    if th <= 0:
        return 1.0, 0.0, 0.0
    if tl >= 0:
        return 0.0, 1.0, 0.0
    if weight > 0:
        one, two = -tl / (th - tl), th / (th - tl)
        return one, two, tl * two
    return (1.0, 0.0, 0.0) if about < 0 else (0.0, 1.0, 0.0)


@jitted
def _product(al: Any, ah: Any, bl: Any, bh: Any, weight: Any, x: Any, y: Any) -> Any:
    """Weights on a and b, and a constant, that lie below weight * a * b (McCormick's planes)."""
    if weight > 0:
        one = al * y + bl * x - al * bl
        two = ah * y + bh * x - ah * bh
        if one >= two:
            return weight * bl, weight * al, -weight * al * bl
        return weight * bh, weight * ah, -weight * ah * bh
    one = al * y + bh * x - al * bh
    two = ah * y + bl * x - ah * bl
    if one <= two:
        return weight * bh, weight * al, -weight * al * bh
    return weight * bl, weight * ah, -weight * ah * bl


@jitted
def _near(x: Any, low: Any, high: Any) -> Any:
    """The magnitude of a value, drawn into a range above 0; about its middle for no number."""
    return min(max(abs(x), low), high) if x == x else math.sqrt(low * high)


@compiled(_nrt=False, gives=(0.0, 0.0))
def relax(
    tape: Any,
    top: Any,
    lo: Any,
    hi: Any,
    und: Any,
    forced: Any,
    wide: Any,
    deep: Any,
    loss: Any,
    ref: Any,
) -> Any:
    """Move the weights of the steps up to ``top`` down to the leaves; the constant, and its size.

    The constant is minus infinity where nothing is known.
    """
    ops, args, leaf_of, leaves, plain = tape.ops, tape.args, tape.leaf_of, tape.leaves, tape.plain
    total, size = 0.0, 0.0
    for n in range(top, -1, -1):
        w, d, mass = wide[0, n], deep[0, n], wide[1, n]
        if mass == 0 and deep[1, n] == 0:
            continue
        low, high = lo[n], hi[n]
        far = max(abs(low), abs(high))
        if far <= _LARGE:
            size += _STEP * mass * far
        elif mass > 2 * abs(w):  # what is left of weights may be of the other sign
            return -INF, 0.0
        size += _STEP * _LOGS * deep[1, n]
        op = ops[n]
        if op == REFERENCE and low < high and not und[n] and leaves[leaf_of[n], 1] == 1:
            continue
        wide[0, n], deep[0, n] = 0.0, 0.0
        if w == 0 and d == 0:
            continue
        sign = signed(low, high, und[n])
        flat = op <= REFERENCE or low == high or und[n]
        a, b, told, copied = 0, 0, n, -1
        al, ah, bl, bh, sa, sb = 0.0, 0.0, 0.0, 0.0, 0, 0
        to_wide, to_deep, alike, apart, pair = False, False, False, False, False
        found = 0.0
        if not flat:
            a, b = args[n, 0], args[n, 1]
            if op == WHERE:
                if lo[a] > 0:
                    copied = b
                elif hi[a] == 0:
                    copied = args[n, 2]
                a, b = b, args[n, 2]
            elif MINIMUM <= op <= MAXIMUM:
                pick = forced[n]
                if not und[a] and not und[b]:
                    if hi[a] <= lo[b]:
                        pick = 1 if op == MINIMUM else 2
                    elif hi[b] <= lo[a]:
                        pick = 2 if op == MINIMUM else 1
                if pick > 0:
                    copied = a if pick == 1 else b
            elif op == ADD and args[n, 2] >= 0:  # x + max(y - x, 0) is the larger of x and y
                op, told, b = MAXIMUM, b, args[n, 2]
                if forced[told] > 0:
                    first = ops[args[told, 0]] == SUB  # the excess, not nothing
                    copied = b if (forced[told] == 1) == first else a
            al, ah = lo[a], hi[a]
            flat = und[a] or far > _LARGE or abs(al) > _LARGE or abs(ah) > _LARGE
            sa = signed(al, ah, und[a])
            if b >= 0:
                bl, bh = lo[b], hi[b]
                flat = flat or und[b] or abs(bl) > _LARGE or abs(bh) > _LARGE
                sb = signed(bl, bh, und[b])
            if told != n and not flat:  # two roundings, of what may be far larger than the sum
                part = max(abs(al), abs(ah)) + max(abs(bl), abs(bh))
                size += _STEP * part * (abs(w) + abs(d) / max(min(abs(low), abs(high)), _SMALL))
            if copied >= 0 and not und[copied] and (told == n or not flat):
                # it has the sign of the step where it is what the step is; elsewhere perhaps not
                if d == 0 or signed(lo[copied], hi[copied], False) == sign:
                    give(wide, copied, w)
                    give(deep, copied, d)
                    continue
                flat, to_wide = False, True
            else:
                copied = -1
        if not flat and copied < 0:
            # which view suits the step: that of values or that of logarithms
            if op <= SUB:
                if bl == 0 and bh == 0:
                    give(wide, a, w)
                    give(deep, a, d)
                    continue
                if op == ADD and al == 0 and ah == 0:
                    give(wide, b, w)
                    give(deep, b, d)
                    continue
                alike = sa != 0 and sa == (-sb if op == SUB else sb) and not plain[n]
                if op == SUB and sign != 0 and sa == sign and sb == sign and not plain[n]:
                    xl, xh = (al, ah) if sa > 0 else (-ah, -al)
                    yl, yh = (bl, bh) if sb > 0 else (-bh, -bl)
                    apart = xl > _NEAR * yh and yh * xl <= xh * yl
                to_wide = d != 0 and not alike and not apart
            elif op <= DIVIDE:
                if op != MUL and bl <= 0 <= bh:
                    flat = True
                elif d == 0 and op == MUL and al == ah:
                    give(wide, b, w * al)
                    continue
                elif d == 0 and bl == bh:
                    give(wide, a, w * bl if op == MUL else w / bl)
                    continue
                elif sa != 0 and sb != 0 and sign != 0:
                    to_deep = w != 0
                elif d != 0 or (op != MUL and sb == 0):
                    flat = True
            elif WHERE <= op <= MAXIMUM:
                pair = True
                to_wide = d != 0 and not (sa != 0 and sa == sb)
                to_deep = d != 0 and not to_wide and w * sign * d < 0
            elif LOG <= op <= LOG10:
                flat = sa <= 0
                to_wide = d != 0
            elif EXP <= op <= POW:
                flat = sign <= 0 or (op != EXP and sa <= 0) or (op == POW and bl != bh)
                to_deep = w != 0
            elif op == ABSOLUTE:
                flat = sa == 0
            elif FLOOR <= op <= CEIL:
                flat = high - low <= 2
                to_wide = d != 0
            else:
                flat = True
        if flat:
            if w != 0:
                found += w * (low if w > 0 else high)
            if d != 0:
                small, large = (low, high) if sign > 0 else (-high, -low)
                found += d * math.log(small if d > 0 else large)
            if not found > -INF:
                return -INF, 0.0
            total += found
            size += abs(found)
            continue
        if to_wide or to_deep:
            small, large = (low, high) if sign > 0 else (-high, -low)
            lowest, highest = math.log(small), math.log(large)
            if to_wide:  # the logarithm of a value: a chord below, a tangent above
                if d > 0:
                    slope = (highest - lowest) / (large - small)
                    found += d * min(lowest - slope * small, highest - slope * large)
                else:
                    slope = 1.0 / _near(ref[n], small, large)
                    found += d * (-math.log(slope) - 1.0)
                w += d * slope * sign
                d = 0.0
            else:  # the value of a logarithm: a tangent below, a chord above
                part = w * sign
                if part > 0:
                    slope = _near(ref[n], small, large)
                    found += part * slope * (1.0 - math.log(slope))
                else:
                    slope = (large - small) / (highest - lowest) if highest > lowest else small
                    found += part * max(small - slope * lowest, large - slope * highest)
                d += part * slope
                w = 0.0
        if copied >= 0:
            give(wide, copied, w)
        elif op <= SUB:
            if d != 0 and apart:  # |a| - |b|: a chord below, a tangent above
                xl, xh = (al, ah) if sa > 0 else (-ah, -al)
                yl, yh = (bl, bh) if sb > 0 else (-bh, -bl)
                tl, th = math.log(xl / yh), math.log(xh / yl)
                sl, sh = _gap(tl), _gap(th)
                if d > 0:
                    share = (sh - sl) / (th - tl) if th > tl else 0.0
                    rest = min(sl - share * tl, sh - share * th)
                else:
                    t = math.log(_near(ref[a] / ref[b], xl / yh, xh / yl))
                    share = 1.0 / math.expm1(t)
                    rest = _gap(t) - share * t
                found += d * rest
                give(deep, a, d * (1 + share))
                give(deep, b, -d * share)
            elif d != 0:  # |a| + |b|: a weighted mean below, a chord above
                xl, xh = (al, ah) if sa > 0 else (-ah, -al)
                yl, yh = (bl, bh) if sb > 0 else (-bh, -bl)
                if d > 0:
                    p, q = _near(ref[a], xl, xh), _near(ref[b], yl, yh)
                    share = min(max(p / (p + q), 1e-15), 1.0 - 1e-15)
                    rest = -(share * math.log(share) + (1 - share) * math.log(1 - share))
                else:
                    tl, th = math.log(xl / yh), math.log(xh / yl)
                    sl, sh = _softplus(tl), _softplus(th)
                    share = (sh - sl) / (th - tl) if th > tl else 0.5
                    rest = max(sl - share * tl, sh - share * th)
                found += d * rest
                give(deep, a, d * share)
                give(deep, b, d * (1 - share))
            if w != 0:
                give(wide, a, w)
                give(wide, b, w if op == ADD else -w)
        elif op <= DIVIDE:
            if d != 0:
                give(deep, a, d)
                give(deep, b, d if op == MUL else -d)
            else:
                if op != MUL:
                    bl, bh = 1.0 / bh, 1.0 / bl
                x, y = ref[a], ref[b] if op == MUL else 1.0 / ref[b]
                x = min(max(x, al), ah) if x == x else 0.5 * (al + ah)
                y = min(max(y, bl), bh) if y == y else 0.5 * (bl + bh)
                wa, wb, rest = _product(al, ah, bl, bh, w, x, y)
                give(wide, a, wa)
                found += rest
                if op == MUL:
                    give(wide, b, wb)
                else:  # the weight of 1 / b goes to the logarithm of b
                    part = wb * sb
                    small, large = (bl, bh) if sb > 0 else (-bh, -bl)
                    lowest, highest = math.log(small), math.log(large)
                    if part > 0:
                        slope = _near(1.0 / ref[b], small, large)
                        found += part * slope * (1.0 - math.log(slope))
                    else:
                        slope = (large - small) / (highest - lowest) if highest > lowest else small
                        found += part * max(small - slope * lowest, large - slope * highest)
                    give(deep, b, -part * slope)
        elif pair:
            view = d if d != 0 else w
            least = op == MINIMUM
            tl, th = al - bh, ah - bl
            about = ref[a] - ref[b]
            if d != 0:
                if sa < 0:
                    about = -about
                if sa > 0:
                    tl, th = math.log(al / bh), math.log(ah / bl)
                else:
                    tl, th = math.log(ah / bl), math.log(al / bh)
                    least = not least
            if op == WHERE:
                least = view > 0
            for turn in range(2):
                if turn == 1:
                    if d == 0 or w == 0:
                        break
                    view, least, tl, th = w, op == MINIMUM, al - bh, ah - bl
                    about = ref[a] - ref[b]
                    if op == WHERE:
                        least = w > 0
                one, two, rest = _least_of(tl, th, view, least, about)
                found += view * rest
                if tl < 0 < th:
                    loss[told] += abs(view) * (-tl * th / (th - tl))
                if turn == 0 and d != 0:
                    give(deep, a, view * one)
                    give(deep, b, view * two)
                else:
                    give(wide, a, view * one)
                    give(wide, b, view * two)
        elif LOG <= op <= LOG10:
            give(deep, a, w / (1.0 if op == LOG else _LN2 if op == LOG2 else _LN10))
        elif op == EXP:
            give(wide, a, d)
        elif op == SQRT:
            give(deep, a, 0.5 * d)
        elif op == POW:
            give(deep, a, d * bl)
        elif op == ABSOLUTE:
            give(wide, a, w * sa)
            give(deep, a, d)
        else:  # floor, ceil: within one of the value itself
            give(wide, a, w)
            if op == FLOOR and w > 0:
                found -= w
            elif op == CEIL and w < 0:
                found += w
        if not found > -INF:
            return -INF, 0.0
        total += found
        size += abs(found)
    return total, size
