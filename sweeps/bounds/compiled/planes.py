"""Bound steps by planes (linear functions), made of tangents and chords of nonlinear steps.

A plane has a factor (share) for each argument, and a constant. The plane must lie below the step
times its weight. So the sign of the weight decides between a tangent and a chord.
"""

from __future__ import annotations

import math

from stochastic import sizes
from stochastic.compile_cache import compiled
from sweeps.bounds.compiled.enclosure import (
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
    compiled_no_nrt,
)

SMALL, LARGE = 1e-280, 1e280


@compiled_no_nrt
def add_weight(weights, n, weight) -> None:
    """Add a weight to step n; row 0 of ``weights`` sums the weights, row 1 their magnitudes."""
    weights[0, n] += weight
    weights[1, n] += abs(weight)


@compiled_no_nrt
def sign_of(low, high, hole):
    """Return the sign (1 or -1) of a step; 0 if its sign or the range of log|step| is unknown."""
    if hole:
        return 0
    if low > SMALL and high < LARGE:
        return 1
    if high < -SMALL and low > -LARGE:
        return -1
    return 0


@compiled_no_nrt
def _clamp_magnitude(x, low, high):
    """Return |x| clamped to the positive range [low, high]; if x is NaN, return sqrt(low high)."""
    return min(max(abs(x), low), high) if x == x else math.sqrt(low * high)


@compiled_no_nrt
def linearize_log(weight, small, large, about):
    """Return s, c such that weight*s*x + c <= weight*log(x) for small <= x <= large."""
    if weight > 0:
        lowest, highest = math.log(small), math.log(large)
        slope = (highest - lowest) / (large - small)
        return slope, weight * min(lowest - slope * small, highest - slope * large)
    slope = 1.0 / _clamp_magnitude(about, small, large)
    return slope, weight * (-math.log(slope) - 1.0)


@compiled_no_nrt
def linearize_exp(weight, small, large, about):
    """Return s, c such that weight*s*y + c <= weight*exp(y) for log(small) <= y <= log(large)."""
    if weight > 0:
        slope = _clamp_magnitude(about, small, large)
        return slope, weight * slope * (1.0 - math.log(slope))
    lowest, highest = math.log(small), math.log(large)
    slope = (large - small) / (highest - lowest) if highest > lowest else small
    return slope, weight * max(small - slope * lowest, large - slope * highest)


@compiled_no_nrt
def _softplus(t):
    return t + math.log1p(math.exp(-t)) if t > 0 else math.log1p(math.exp(t))


@compiled_no_nrt
def _log1mexp(t):
    return math.log(-math.expm1(-t))


@compiled_no_nrt
def log_difference(weight, xl, xh, yl, yh, about):
    """Bound log(x - y) for x > y > 0 by a line; return the share of log(y) and the constant."""
    tl, th = math.log(xl / yh), math.log(xh / yl)
    sl, sh = _log1mexp(tl), _log1mexp(th)
    if weight > 0:
        share = (sh - sl) / (th - tl) if th > tl else 0.0
        return share, min(sl - share * tl, sh - share * th)
    t = math.log(_clamp_magnitude(about, xl / yh, xh / yl))
    share = 1.0 / math.expm1(t)
    return share, _log1mexp(t) - share * t


@compiled_no_nrt
def log_sum(weight, xl, xh, yl, yh, x, y):
    """Bound log(x + y) for x, y > 0 by a line; return the share of log(x) and the constant."""
    if weight > 0:
        p, q = _clamp_magnitude(x, xl, xh), _clamp_magnitude(y, yl, yh)
        share = min(max(p / (p + q), 1e-15), 1.0 - 1e-15)
        return share, -(share * math.log(share) + (1 - share) * math.log(1 - share))
    tl, th = math.log(xl / yh), math.log(xh / yl)
    sl, sh = _softplus(tl), _softplus(th)
    share = (sh - sl) / (th - tl) if th > tl else 0.5
    return share, max(sl - share * tl, sh - share * th)


@compiled_no_nrt
def linearize_min(tl, th, weight, is_minimum, about):
    """Return two shares and a constant that bound min(a, b) or max(a, b) if tl <= a - b <= th."""
    if about != about:
        about = tl + th
    if not is_minimum:  # max(a, b) = -min(-a, -b)
        one, two, rest = _linearize_min_pair(-th, -tl, -weight, -about)
        return one, two, -rest
    return _linearize_min_pair(tl, th, weight, about)


@compiled_no_nrt
def _linearize_min_pair(tl, th, weight, about):
    """Return p, q, r such that p*a + q*b + r <= min(a, b) if tl <= a - b <= th.

    If ``weight`` is negative, the plane lies above min(a, b) instead. Both p and q are computed
    directly, because 1 - p would round a very small q to 0.
    """
    if th <= 0:
        return 1.0, 0.0, 0.0
    if tl >= 0:
        return 0.0, 1.0, 0.0
    if weight > 0:
        one, two = -tl / (th - tl), th / (th - tl)
        return one, two, tl * two
    return (1.0, 0.0, 0.0) if about < 0 else (0.0, 1.0, 0.0)


@compiled_no_nrt
def linearize_product(al, ah, bl, bh, weight, x, y):
    """Return p, q, r such that p*a + q*b + r <= weight*a*b (McCormick's planes)."""
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


@compiled_no_nrt
def _round_log(is_ceil, weight, low, high, least, most, y):
    """Bound the logarithm of ceil(x) or floor(x) by log(x), by its ends (1), or by x (2).

    Return 0 for log(x), 1 or 2, and how far log(x) may lie on the wrong side. ``low`` to ``high``
    are the rounded values, ``least`` to ``most`` is x, and ``y`` is the rounded value in the
    middle. The way with the smallest error is taken.
    """
    width = math.log(high / low)
    if is_ceil == (weight > 0):  # log(ceil(x)) >= log(x), and log(floor(x)) <= log(x)
        error = math.log(low / least if is_ceil else most / high)
        return (0 if error < width else 1), 0.0
    over = math.log((low + 1.0) / low)
    if is_ceil and low > least:
        over = max(over, math.log(low / least))
    if high - low <= 2:
        return (0 if over < width else 1), over
    by_value = width * width / 8.0 + 1.0 / _clamp_magnitude(y, low, high)
    return (0 if over < by_value else 2), over


# --- Terms of a plane along one axis: their minimum over a range, and the indices they exclude


INF = math.inf
SCAN_VALUES = sizes.ALONG_FEW


@compiled_no_nrt
def axis_term(table, axis, index, weights, row):
    """Return a plane's term for one axis: the weighted sum of the axis's leaves at one index."""
    axis_leaves, leaves, numbers, logs = table
    result = 0.0
    for j in range(axis_leaves.shape[1]):
        k = axis_leaves[axis, j]
        if k < 0:
            break
        w, d = weights[row, 0, k], weights[row, 1, k]
        if w == 0 and d == 0:
            continue
        place = leaves[k, 2] + index
        if w != 0:
            result += w * numbers[place]
        if d != 0:
            result += d * logs[place]
    return result


@compiled_no_nrt
def _min_linear_log(w, d, low, high):
    """Return the minimum of w x + d ln |x| over [low, high]; if d is not 0, x has one sign."""
    if d == 0:
        return w * (low if w > 0 else high)
    one = w * low + d * math.log(abs(low))
    two = w * high + d * math.log(abs(high))
    result = min(one, two)
    if w != 0:
        x = -d / w
        if low < x < high:
            result = min(result, w * x + d * math.log(abs(x)))
    return result


@compiled_no_nrt
def minimize_axis(table, axis, first, last, weights, row, ends):
    """Return a lower bound of :func:`axis_term` over a range, and an index with a low term."""
    axis_leaves = table[0]
    if last - first < SCAN_VALUES:
        result, place = INF, first
        for index in range(first, last + 1):
            value = axis_term(table, axis, index, weights, row)
            if value < result:
                result, place = value, index
        return result, place
    result, number = 0.0, 0
    for j in range(axis_leaves.shape[1]):
        k = axis_leaves[axis, j]
        if k < 0:
            break
        w, d = weights[row, 0, k], weights[row, 1, k]
        if w != 0 or d != 0:
            number += 1
            result += _min_linear_log(w, d, ends[k, 0], ends[k, 1])
    if number == 0:
        return 0.0, first
    place, value = first, axis_term(table, axis, first, weights, row)
    for step in range(1, 9):
        index = first + (last - first) * step // 8
        other = axis_term(table, axis, index, weights, row)
        if other < value:
            place, value = index, other
    return result, place


@compiled_no_nrt
def _last_index_below(table, axis, index_above, index_below, weights, row, most):
    """Find by bisection the last index, seen from ``index_below``, whose term is <= ``most``."""
    while abs(index_above - index_below) > 1:
        middle = (index_above + index_below) // 2
        if axis_term(table, axis, middle, weights, row) > most:
            index_above = middle
        else:
            index_below = middle
    return index_below


@compiled_no_nrt
def cut_range(table, axis, first, last, weights, row, most):
    """Shrink a range of indices: drop indices at its ends whose :func:`axis_term` is > ``most``."""
    axis_leaves, leaves = table[0], table[1]
    if last - first < SCAN_VALUES:
        while first <= last and axis_term(table, axis, first, weights, row) > most:
            first += 1
        while last > first and axis_term(table, axis, last, weights, row) > most:
            last -= 1
        return first, last
    single, sure = -1, True
    for j in range(axis_leaves.shape[1]):
        k = axis_leaves[axis, j]
        if k < 0:
            break
        w, d = weights[row, 0, k], weights[row, 1, k]
        if w != 0 or d != 0:
            sure = sure and single < 0 and (w == 0 or d == 0) and leaves[k, 0] <= 2
            single = k
    if single < 0 or not sure:
        return first, last
    # only one monotone leaf has a weight, so the term is monotone too
    if axis_term(table, axis, first, weights, row) > most:
        first = _last_index_below(table, axis, first, last + 1, weights, row, most)
    elif axis_term(table, axis, last, weights, row) > most:
        last = _last_index_below(table, axis, last, first, weights, row, most)
    return first, last


# --- A plane below a step of a tape over a box: a sum of one function per axis
# A step has a weight on its value (``value_weights``) and a weight on the logarithm of its absolute
# value (``log_weights``). The weights move from each step to the steps that it reads: sums pass on
# weights of values, and products pass on weights of logarithms. A minimum is replaced by a chord
# between its arguments, and an undecided choice by the minimum of both. Any other step is replaced
# by a tangent or a chord, depending on the sign of the weight. In a small box this bound is tighter
# than the enclosure: its error falls with the square of the size of the box.
#
# Invariant: after each step, constant + sum of (weight * value of a step) <= top step, apart from
# rounding. It holds at every point of the box that meets the assumptions, unless the top step or a
# step with a weight is NaN there. Three rules follow:
# - A logarithm gets a weight only if the step's range has one sign (:func:`sign_of`).
# - If an argument is assumed to be the minimum, the minimum's range is used for the argument, whose
#   range may contain zero. A weight on its logarithm is first turned into a weight on its value.
# - The rounding error of a step is bounded by its largest magnitude times the sum of the
#   magnitudes of all weights that were added to it (row 1 of the weights), times a constant.


_LN2, _LN10 = math.log(2.0), math.log(10.0)
#: Upper bound of |log x| if SMALL <= x <= LARGE.
_MAX_LOG = 700.0
#: Rounding error of a step (about 180 ulp), divided by `_SLACK` of depth_first.
_STEP_ERROR = 2e-4
#: log(x - y) is bounded by log x and log y only if x / y is at least this ratio.
_NEAR_RATIO = 1.0001


@compiled(_nrt=False, flat=True, gives=(0.0, 0.0))
def relax(tape, top, lo, hi, und, assumptions, value_weights, log_weights, loss, ref):
    """Move the weights of steps 0 to ``top`` to the leaves; return the constant of the plane.

    The constant is minus infinity if no plane is known. The second result is a sum of magnitudes:
    this sum times ``_SLACK`` bounds the rounding error.
    """
    ops = tape.ops
    args = tape.args
    leaf_of = tape.leaf_of
    leaves = tape.leaves
    plain = tape.value_steps
    total, size = 0.0, 0.0
    for n in range(top, -1, -1):
        w, d, mass = value_weights[0, n], log_weights[0, n], value_weights[1, n]
        if mass == 0 and log_weights[1, n] == 0:
            continue
        low, high = lo[n], hi[n]
        far = max(abs(low), abs(high))
        if far <= LARGE:
            size += _STEP_ERROR * mass * far
        elif mass > 2 * abs(w):  # terms of the weight cancel, so its sign is uncertain
            return -INF, 0.0
        size += _STEP_ERROR * _MAX_LOG * log_weights[1, n]
        op = ops[n]
        if op == REFERENCE and low < high and not und[n] and leaves[leaf_of[n], 1] == 1:
            continue
        value_weights[0, n], log_weights[0, n] = 0.0, 0.0
        if w == 0 and d == 0:
            continue
        sign = sign_of(low, high, und[n])
        flat = op <= REFERENCE or low == high or und[n]
        a, b, origin, copied = 0, 0, n, -1
        al, ah, bl, bh, sa, sb = 0.0, 0.0, 0.0, 0.0, 0, 0
        to_value, to_log, same_sign, far_apart, pair = False, False, False, False, False
        result = 0.0
        if not flat:
            a, b = args[n, 0], args[n, 1]
            if op == WHERE:
                if lo[a] > 0:
                    copied = b
                elif hi[a] == 0:
                    copied = args[n, 2]
                a, b = b, args[n, 2]
            elif MINIMUM <= op <= MAXIMUM:
                pick = assumptions[n]
                if und[a] and lo[a] > hi[a]:  # the first argument is always NaN
                    pick = 2
                elif not und[a] and not und[b]:
                    if hi[a] <= lo[b]:
                        pick = 1 if op == MINIMUM else 2
                    elif hi[b] <= lo[a]:
                        pick = 2 if op == MINIMUM else 1
                if pick > 0:
                    copied = a if pick == 1 else b
            elif op == ADD and args[n, 2] >= 0:  # x + max(y - x, 0) is max(x, y)
                op, origin, b = MAXIMUM, b, args[n, 2]
                if assumptions[origin] > 0:
                    first = ops[args[origin, 0]] == SUB  # argument 1 of max is y - x, not 0
                    copied = b if (assumptions[origin] == 1) == first else a
            al, ah = lo[a], hi[a]
            flat = und[a] or far > LARGE or abs(al) > LARGE or abs(ah) > LARGE
            sa = sign_of(al, ah, und[a])
            if b >= 0:
                bl, bh = lo[b], hi[b]
                flat = flat or und[b] or abs(bl) > LARGE or abs(bh) > LARGE
                sb = sign_of(bl, bh, und[b])
            if origin != n and not flat:  # x + max(y - x, 0) rounds twice; terms may be large
                part = max(abs(al), abs(ah)) + max(abs(bl), abs(bh))
                size += (
                    _STEP_ERROR * part * (abs(w) + abs(d) / max(min(abs(low), abs(high)), SMALL))
                )
            if copied >= 0 and not und[copied] and (origin == n or not flat):
                # unless the later step copies this one, the signs of the two may differ
                if d == 0 or sign_of(lo[copied], hi[copied], False) == sign:
                    add_weight(value_weights, copied, w)
                    add_weight(log_weights, copied, d)
                    continue
                flat, to_value = False, True
            else:
                copied = -1
        if not flat and copied < 0:
            # decide whether to pass on a weight on the value or a weight on the logarithm
            if op <= SUB:
                if bl == 0 and bh == 0:
                    add_weight(value_weights, a, w)
                    add_weight(log_weights, a, d)
                    continue
                if op == ADD and al == 0 and ah == 0:
                    add_weight(value_weights, b, w)
                    add_weight(log_weights, b, d)
                    continue
                same_sign = sa != 0 and sa == (-sb if op == SUB else sb) and not plain[n]
                xl, xh = (al, ah) if sa > 0 else (-ah, -al)
                yl, yh = (bl, bh) if sb > 0 else (-bh, -bl)
                if op == SUB and sign != 0 and sa == sign and sb == sign and not plain[n]:
                    far_apart = xl > _NEAR_RATIO * yh and yh * xl <= xh * yl
                to_value = d != 0 and not same_sign and not far_apart
            elif op <= DIVIDE:
                if op != MUL and bl <= 0 <= bh:
                    flat = True
                elif d == 0 and op == MUL and al == ah:
                    add_weight(value_weights, b, w * al)
                    continue
                elif d == 0 and bl == bh:
                    add_weight(value_weights, a, w * bl if op == MUL else w / bl)
                    continue
                elif sa != 0 and sb != 0 and sign != 0:
                    to_log = w != 0
                elif d != 0 or (op != MUL and sb == 0):
                    flat = True
            elif WHERE <= op <= MAXIMUM:
                pair = True
                to_value = d != 0 and not (sa != 0 and sa == sb)
                to_log = d != 0 and not to_value and w * sign * d < 0
            elif LOG <= op <= LOG10:
                flat = sa <= 0
                to_value = d != 0
            elif EXP <= op <= POW:
                flat = sign <= 0 or (op != EXP and sa <= 0) or (op == POW and bl != bh)
                to_log = w != 0
            elif op == ABSOLUTE:
                flat = sa == 0
            elif FLOOR <= op <= CEIL:
                flat = high - low <= 2
                to_value = d != 0
                if w == 0 and sa > 0 and sign > 0:
                    way, over = _round_log(op == CEIL, d, low, high, al, ah, ref[n])
                    if way == 0:
                        add_weight(log_weights, a, d)
                        total -= abs(d) * over
                        size += abs(d) * over
                        continue
                    flat = way == 1
            else:
                flat = True
        if flat:
            if w != 0:
                result += w * (low if w > 0 else high)
            if d != 0:
                small, large = (low, high) if sign > 0 else (-high, -low)
                result += d * math.log(small if d > 0 else large)
            if not result > -INF:
                return -INF, 0.0
            total += result
            size += abs(result)
            continue
        if to_value or to_log:
            small, large = (low, high) if sign > 0 else (-high, -low)
            if to_value:
                slope, rest = linearize_log(d, small, large, ref[n])
                result += rest
                w += d * slope * sign
                d = 0.0
            else:
                part = w * sign
                slope, rest = linearize_exp(part, small, large, ref[n])
                result += rest
                d += part * slope
                w = 0.0
        if copied >= 0:
            add_weight(value_weights, copied, w)
        elif op <= SUB:
            if d != 0:
                if far_apart:  # |a| - |b|
                    share, rest = log_difference(d, xl, xh, yl, yh, ref[a] / ref[b])
                    add_weight(log_weights, a, d * (1 + share))
                    add_weight(log_weights, b, -d * share)
                else:  # |a| + |b|
                    share, rest = log_sum(d, xl, xh, yl, yh, ref[a], ref[b])
                    add_weight(log_weights, a, d * share)
                    add_weight(log_weights, b, d * (1 - share))
                result += d * rest
            if w != 0:
                add_weight(value_weights, a, w)
                add_weight(value_weights, b, w if op == ADD else -w)
        elif op <= DIVIDE:
            if d != 0:
                add_weight(log_weights, a, d)
                add_weight(log_weights, b, d if op == MUL else -d)
            else:
                if op != MUL:
                    bl, bh = 1.0 / bh, 1.0 / bl
                x, y = ref[a], ref[b] if op == MUL else 1.0 / ref[b]
                x = min(max(x, al), ah) if x == x else 0.5 * (al + ah)
                y = min(max(y, bl), bh) if y == y else 0.5 * (bl + bh)
                wa, wb, rest = linearize_product(al, ah, bl, bh, w, x, y)
                add_weight(value_weights, a, wa)
                result += rest
                if op == MUL:
                    add_weight(value_weights, b, wb)
                else:  # the weight on 1 / b becomes a weight on the logarithm of b
                    part = wb * sb
                    small, large = (bl, bh) if sb > 0 else (-bh, -bl)
                    slope, rest = linearize_exp(part, small, large, 1.0 / ref[b])
                    result += rest
                    add_weight(log_weights, b, -part * slope)
        elif pair:
            for turn in range(2):  # first the weight on the logarithm, then the weight on the value
                view = d if turn == 0 else w
                if view == 0:
                    continue
                least, tl, th, about = op == MINIMUM, al - bh, ah - bl, ref[a] - ref[b]
                if turn == 0 and sa > 0:
                    tl, th = math.log(al / bh), math.log(ah / bl)
                elif turn == 0:
                    tl, th, about = math.log(ah / bl), math.log(al / bh), -about
                    least = not least
                if op == WHERE:
                    least = view > 0
                one, two, rest = linearize_min(tl, th, view, least, about)
                result += view * rest
                if tl < 0 < th:
                    loss[origin] += abs(view) * (-tl * th / (th - tl))
                weights = log_weights if turn == 0 else value_weights
                add_weight(weights, a, view * one)
                add_weight(weights, b, view * two)
        elif LOG <= op <= LOG10:
            add_weight(log_weights, a, w / (1.0 if op == LOG else _LN2 if op == LOG2 else _LN10))
        elif op == EXP:
            add_weight(value_weights, a, d)
        elif op == SQRT:
            add_weight(log_weights, a, 0.5 * d)
        elif op == POW:
            add_weight(log_weights, a, d * bl)
        elif op == ABSOLUTE:
            add_weight(value_weights, a, w * sa)
            add_weight(log_weights, a, d)
        else:  # floor and ceil differ from their argument by less than 1
            add_weight(value_weights, a, w)
            if op == FLOOR and w > 0:
                result -= w
            elif op == CEIL and w < 0:
                result += w
        if not result > -INF:
            return -INF, 0.0
        total += result
        size += abs(result)
    return total, size
