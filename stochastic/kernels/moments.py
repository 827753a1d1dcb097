"""Compute moments of the loss by quadrature over the nodes t = first·exp(h·m).

See stochastic.loss.moments for the mathematics. A law is a table: the value in row r and column j
is ``low + columns[j] + rows[r]``. So exp(-t·value) is the product of an exponential for the row and
one for the column. Cells without a value have weight 0.
"""

from __future__ import annotations

import math

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.compile_cache import compiled

_REST = 1e-18  # Part of the integral that may be left out on either side, relative to the result.
_FAR = 150.0  # -log of a negligible probability.
_TINY = 1e-280  # Smaller probabilities of a value are skipped.
CHUNK = sizes.VARIANCE_CHUNK


@compiled(fastmath={"contract"}, _nrt=False)
def integrate_moment(
    columns: Floats,
    rows: Floats,
    weights: Floats,
    column_weights: Floats,
    gains: Floats,
    start: float,
    order: float,
    factor: float,
    low: float,
    high: float,
    lanes: int,
    first: float,
    h: float,
    tails: Floats,
    scratch: Floats,
    history: Floats,
    out: Floats,
) -> None:
    """Write E[(lanes·max/sum)**order; sum > 0], and a bound on the omitted ends of the integral.

    ``gains`` are the increments of (value/high)**order from each value to the next; ``start`` is
    (low/high)**order; ``factor`` is (order - 1)!. ``history`` has room for the nodes in t..2t.
    """
    count, nodes, stage = len(columns), len(history), 0  # stage 0: t = 0; 1: t grows; 2: t falls
    chord, fade = math.exp(-h), math.exp(-h * order)
    flat = fade / (1.0 - fade)
    origin = result = carry = rest = left = beyond = share = 0.0
    m = 0
    top = 1
    while 2 * top <= lanes:
        top *= 2
    while stage < 3:
        t = first * math.exp(h * m) if stage > 0 else 0.0
        # tails: P(W > value) of the law tilted by exp(-t·W). A transform near 1 is computed from
        # its difference to 1, so that a high power of it is accurate.
        for j in range(count):
            scratch[0, j] = math.exp(-columns[j] * t)
            scratch[1, j] = scratch[2, j] = 0.0
        for r in range(len(rows) - 1, -1, -1):
            inner, less = math.exp(-rows[r] * t), -math.expm1(-rows[r] * t)
            for j in range(count):
                tails[r, j] = scratch[1, j]
                scratch[1, j] += weights[r, j] * inner * scratch[0, j]
                scratch[2, j] += weights[r, j] * less
        gone = lost = mass = fell = 0.0  # two compensated sums
        for j in range(count - 1, -1, -1):
            term = (
                scratch[0, j] * scratch[2, j] - column_weights[j] * math.expm1(-columns[j] * t)
            ) - lost
            new = gone + term
            lost = (new - gone) - term
            gone = new
            term = scratch[1, j] - fell
            scratch[1, j] = mass
            new = mass + term
            fell = (new - mass) - term
            mass = new
        scale = 1.0 / (mass if gone > 0.5 else 1.0 - gone)
        log = math.log(mass) if gone > 0.5 else math.log1p(-gone)
        for j in range(count):
            scratch[4, j] = 0.0
        work = 1.0
        for r in range(len(rows)):
            for j in range(count):
                tails[r, j] = (tails[r, j] + scratch[1, j]) * scale
                scratch[3, j] = tails[r, j]
            bit = top // 2
            while bit > 0:  # 1 - (1 - tail)**lanes, by doubling the exponent and adding one
                odd = 1.0 if lanes & bit else 0.0
                for j in range(count):
                    twice = 2.0 * scratch[3, j] - scratch[3, j] * scratch[3, j]
                    scratch[3, j] = twice + odd * (tails[r, j] - tails[r, j] * twice)
                bit //= 2
            if r == 0 and low == 0.0:
                work = scratch[3, 0]
            for j in range(count):
                scratch[4, j] += gains[r, j] * scratch[3, j]
        size = math.exp(lanes * (log - low * t))
        history[m % nodes] = size * work  # E[exp(-t·sum); sum > 0]
        half = history[(m + 1) % nodes]  # bound on E[exp(-t·sum/2); sum > 0] at the next t
        expected = lost = 0.0
        for j in range(count - 1, -1, -1):
            term = scratch[4, j] - lost
            new = expected + term
            lost = (new - expected) - term
            expected = new
        expected = size * (start + expected)  # E[max**order · exp(-t·sum)]
        going = False
        if stage == 0:
            origin = expected
        else:
            share = math.pow(lanes * high * t, order) * h / factor
            term = share * expected - carry
            new = result + term
            carry = (new - result) - term
            result = new
            if stage == 1:  # a bound, because X <= lanes
                left = rest = math.pow(2.0 * lanes, order) * half
            else:
                gap = origin - expected
                left = share * gap * flat
                # sum over all smaller t, with ``expected`` interpolated linearly between t and 0
                beyond = origin * flat - gap * fade * chord / (1.0 - fade * chord)
            going = left > _REST * result
        if stage == 0 or not going:
            stage += 1
            m = 0 if stage == 1 else -1
            if stage == 1:
                for i in range(nodes):
                    history[i] = 1.0
        else:
            m += 1 if stage == 1 else -1
    out[0] = result + share * beyond
    out[1] = rest + abs(left)


@compiled(fastmath={"contract"}, _nrt=False)
def integrate_square(
    columns: Floats,
    rows: Floats,
    column: Ints,
    row: Ints,
    weights: Floats,
    low: float,
    high: float,
    lanes: int,
    centre: float,
    first: float,
    h: float,
    edges: Floats,
    scratch: Floats,
    counts: Floats,
    history: Floats,
    out: Floats,
) -> None:
    """Write E[(lanes·max/sum - centre)**2; sum > 0], and a bound on the omitted ends.

    Only values with a positive weight are given; ``column`` and ``row`` are their cells in the
    table. ``history`` has room for the nodes from t to 2t.
    """
    count, width, nodes, stage = len(weights), len(columns), len(history), 0
    most = 4.0 * max(float(lanes), centre) ** 2
    flat, chord = math.exp(-2.0 * h), math.exp(-3.0 * h)
    for i in range(nodes):
        history[i] = 1.0
    top = 1
    while 2 * top <= lanes - 1:
        top *= 2
    origin = total = carry = rest = lost = scale = 0.0
    m = 0
    while stage < 3:  # 0: t = 0; 1: t grows; 2: t falls
        t = first * math.exp(h * m) if stage > 0 else 0.0
        for j in range(edges.shape[1]):  # exp(-t·place) and 1 - exp(-t·place)
            place = columns[j] if j < width else rows[j - width]
            edges[0, j], edges[1, j] = math.exp(-place * t), -math.expm1(-place * t)
        # rows of scratch, under the tilted law: 0-1 share of a value and share of the lower values,
        # among the values up to it; 2-3 mean and variance of the lower values; 4 probability of the
        # values up to it; 5 probability of the value, then log P(max <= value)
        gone = mass = mean = square = 0.0
        for i in range(count):
            j, r = column[i], width + row[i]
            weight = weights[i] * edges[0, j] * edges[0, r]
            gone += weights[i] * (edges[1, j] + edges[0, j] * edges[1, r])
            scratch[2, i] = mean
            scratch[3, i] = square / mass if i > 0 else 0.0
            upto = mass + weight
            scratch[0, i], scratch[1, i] = weight / upto, mass / upto
            scratch[4, i], scratch[5, i] = upto, weight
            gap = columns[j] + rows[r - width] - mean
            square += weight * scratch[1, i] * gap * gap
            mean += gap * scratch[0, i]
            mass = upto
        whole = mass if gone > 0.5 else 1.0 - gone
        above = 0.0
        start = count
        while start > 0 and lanes * above < _FAR * whole:
            start -= 1
            weight = scratch[5, start]
            near = above < 0.5 * whole
            scratch[5, start] = lanes * (
                math.log1p(-above / whole) if near else math.log(scratch[4, start] / whole)
            )
            above += weight
        result = 0.0
        for begin in range(start, count, CHUNK):
            size = min(CHUNK, count - begin)
            # For K ~ Binomial(lanes, p), q = 1 - p: P(K >= 1), P(K = 0), E[max(K - 1, 0)], and
            # P(K >= 1) with one item fewer. The number of items is doubled, and one is added for a
            # bit of ``lanes``. Terms are positive or hardly cancel, so relative errors stay small.
            for i in range(size):
                counts[0, i], counts[1, i] = scratch[0, begin + i], scratch[1, begin + i]
                counts[2, i] = counts[3, i] = 0.0
            bit = top
            while bit > 0:
                bit //= 2
                twice, once = bit > 0, bit == 0 or (lanes - 1) & bit != 0
                for i in range(size):
                    p, q = scratch[0, begin + i], scratch[1, begin + i]
                    some, none, more = counts[0, i], counts[1, i], counts[2, i]
                    if twice:
                        more = 2.0 * more + some * some
                        some = 2.0 * some - some * some
                        none = none * none
                    else:
                        counts[3, i] = some
                    if once:
                        more = more + p * some
                        some = some + p - p * some
                        none = none * q
                    counts[0, i], counts[1, i], counts[2, i] = some, none, more
            for i in range(size):
                some, none, more, fewer = counts[0, i], counts[1, i], counts[2, i], counts[3, i]
                if some < _TINY:
                    continue
                a = begin + i
                p, q = scratch[0, a], scratch[1, a]
                expected = lanes * p
                if expected < 1.0:  # spread is Var K / E[K], given K >= 1
                    spread = ((lanes - 1) * p * some - more) / some
                elif q < 0.5:
                    spread = q - expected * none / some
                else:
                    spread = q - (expected * (1.0 - some) / some if expected < 40.0 else 0.0)
                others = lanes * q * fewer / some
                x = columns[column[a]] + rows[row[a]]
                gap = x - scratch[2, a]
                if centre < 2.0:
                    off = (low + x) * (1.0 - centre) + centre / lanes * others * gap
                else:
                    all_ = expected / some * (low + x) + others * (low + scratch[2, a])
                    off = (low + x) - centre / lanes * all_
                noise = gap * gap * expected / some * spread + others * scratch[3, a]
                share = centre / (lanes * high)
                result += (
                    math.exp(scratch[5, a]) * some * ((off / high) ** 2 + share * share * noise)
                )
        log = math.log(mass) if gone > 0.5 else math.log1p(-gone)
        size_ = math.exp(lanes * (log - low * t))
        work = -math.expm1(scratch[5, 0]) if low == 0.0 and start == 0 else 1.0
        result *= size_
        if stage == 0:
            origin = result
            stage, m = 1, 0
            continue
        history[m % nodes] = size_ * work
        scale = (lanes * high * t) ** 2 * h
        term = scale * result - carry
        new = total + term
        carry = (new - total) - term
        total = new
        if stage == 1:
            left = rest = most * history[(m + 1) % nodes]
        else:
            lost = origin - result
            left = scale * lost * flat / (1.0 - flat)
        if left > _REST * total:
            m += 1 if stage == 1 else -1
        else:
            stage += 1
            m = -1
    out[0] = total + scale * (origin * flat / (1.0 - flat) - lost * chord / (1.0 - chord))
    out[1] = rest + scale * abs(lost) * flat / (1.0 - flat)
