"""The law of imbalance in integers: weights are whole numbers, powers are those of polynomials."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

import flint

_BITS = 320


def joint(low: int, counts: Sequence[int], lanes: int) -> Iterator[tuple[int, int, flint.fmpz]]:
    """(max, sum, ways): how many of ``sum(counts)**lanes`` equally likely groups have both."""
    before = flint.fmpz_poly([])
    for i, count in enumerate(counts):
        if count == 0:
            continue
        now = flint.fmpz_poly(list(counts[: i + 1])) ** lanes
        ways = now - (before**lanes if before.degree() >= 0 else before)
        for j, way in enumerate(ways.coeffs()):
            if way:
                yield low + i, lanes * low + j, way
        before = flint.fmpz_poly(list(counts[: i + 1]))


def raw(low: int, counts: Sequence[int], lanes: int, order: int) -> flint.arb:
    """E[X**order; sum > 0], to about 90 digits."""
    return _expect(low, counts, lanes, lambda x: x**order)


def central(low: int, counts: Sequence[int], lanes: int, centre: float) -> flint.arb:
    """E[(X - centre)**2; sum > 0]."""
    exact = Fraction(centre)
    middle = flint.fmpq(exact.numerator, exact.denominator)
    return _expect(low, counts, lanes, lambda x: (x - middle) ** 2)


def _expect(low: int, counts: Sequence[int], lanes: int, of) -> flint.arb:  # type: ignore[no-untyped-def]
    precision = flint.ctx.prec
    flint.ctx.prec = _BITS
    try:
        total = flint.arb(0)
        for most, sum_, ways in joint(low, counts, lanes):
            if sum_ > 0:
                total += flint.arb(ways) * flint.arb(of(flint.fmpq(lanes * most, sum_)))
        return total / flint.arb(flint.fmpz(sum(counts)) ** lanes)
    finally:
        flint.ctx.prec = precision


def distribution(low: int, counts: Sequence[int], lanes: int) -> dict[Fraction, Fraction]:
    """P(X = x; sum > 0) in ascending order of x."""
    result: dict[Fraction, int] = {}
    for most, sum_, ways in joint(low, counts, lanes):
        if sum_ > 0:
            x = Fraction(lanes * most, sum_)
            result[x] = result.get(x, 0) + int(ways)
    whole = sum(counts) ** lanes
    return {x: Fraction(result[x], whole) for x in sorted(result)}


def quadrature(
    low: int, counts: Sequence[int], lanes: int, order: int, centre: float | None = None
) -> flint.arb:
    """E[X**order; sum > 0] or, about a centre, E[(X - centre)**2; sum > 0], for many lanes.

    As an integral over t with certified bounds, not by the rule that is tested. About a centre the
    square is expanded, for which the digits suffice.
    """
    zero = flint.acb(0)

    def moments(t: flint.acb) -> flint.acb:
        """n**k t**(k-1)/gamma(k) · E[max**k exp(-t·sum)] for the k asked for."""
        partial, powers, slopes = [], [], []
        g = first = second = zero
        for value, chance in values:
            weight = chance * (-t * value).exp()
            g, first, second = g + weight, first + weight * value, second + weight * value**2
            partial.append(g)
            powers.append(g ** (lanes - 2))
            slopes.append((first, second))
        if centre is None:
            result, before = zero, zero
            for (value, _), g, power in zip(values, partial, powers, strict=True):
                now = power * g * g
                result += value**order * (now - before)
                before = now
            return result * t ** (order - 1) * scale
        result, before, before_first = zero, zero, zero
        for (value, _), g, power, (first, _) in zip(values, partial, powers, slopes, strict=True):
            now, now_first = power * g * g, power * g * first
            result += value**2 * (now - before) - 2 * middle * value * (now_first - before_first)
            before, before_first = now, now_first
        g, power, (first, second) = partial[-1], powers[-1], slopes[-1]
        result += middle**2 * power * (g * second + (lanes - 1) * first**2) / lanes
        return result * t * scale

    precision = flint.ctx.prec
    flint.ctx.prec = _BITS
    try:
        total = flint.arb(sum(counts))
        values = [(low + i, flint.arb(c) / total) for i, c in enumerate(counts) if c]
        middle = flint.arb(centre) if centre is not None else flint.arb(0)
        scale = flint.arb(lanes) ** order / flint.arb(order).gamma()
        mean = sum(value * chance for value, chance in values)
        end = 400 / (lanes * mean) if low else flint.arb(400)
        edges = [flint.arb(0)]
        step = 1 / (lanes * mean)
        while edges[-1] < end:
            edges.append(step)
            step = 4 * step
        return sum(
            flint.acb.integral(lambda t, _: moments(t), a, b, rel_tol=2.0**-150, abs_tol=2.0**-150)
            for a, b in pairwise(edges)
        ).real
    finally:
        flint.ctx.prec = precision


def invert(
    low: int, counts: Sequence[int], lanes: int, losses: Sequence[Fraction], most: int = 10**9
) -> list[float]:
    """P(X <= x; sum > 0) of many lanes: the Fourier sum as it stands, with 60 digits.

    Over 44 standard deviations of the sum, at its first ``most`` frequencies, for every value that
    is the largest with a probability above 1e-35.
    """
    precision = flint.ctx.prec
    flint.ctx.prec = 200
    try:
        total = sum(counts)
        mean = sum(i * c for i, c in enumerate(counts)) / total
        spread = math.sqrt(sum((i - mean) ** 2 * c for i, c in enumerate(counts)) / total)
        far = 22 * spread * math.sqrt(lanes)
        begin = max(0, math.floor(lanes * mean - far))
        period = min(lanes * (len(counts) - 1), math.ceil(lanes * mean + far)) + 1 - begin
        period += 1 - period % 2
        end = begin + period
        chances = [flint.arb(c) / total for c in counts]
        upto, mass = [flint.arb(0)], flint.arb(0)
        for chance in chances:
            mass += chance
            upto.append(mass**lanes)
        first = next(i for i, p in enumerate(upto[1:]) if float(p) > 1e-35)
        first += int(low + first == 0)
        needed = {
            x: [
                min(max(math.ceil(Fraction(lanes * (low + i)) / x) - lanes * low, begin), end)
                for i in range(first, len(counts))
            ]
            for x in losses
        }
        result = {
            x: sum(
                ((upto[i + 1] - upto[i]) * (end - s) / period for i, s in enumerate(sums, first)),
                flint.arb(0),
            )
            for x, sums in needed.items()
        }
        for k in range(1, min(most, period // 2) + 1):
            angle = 2 * flint.arb.pi() * k / period
            turn, place, partial = (flint.acb(0, 1) * angle).exp(), flint.acb(1), flint.acb(0)
            differences, before = [], flint.acb(0)
            for i, chance in enumerate(chances):
                partial += chance * place
                place *= turn
                if i >= first - 1:
                    now = partial**lanes
                    if i >= first:
                        differences.append(now - before)
                    before = now
            scale = flint.acb(2) / period / (1 - turn.conjugate())
            last = (flint.acb(0, -1) * angle * end).exp()
            for x, sums in needed.items():
                terms = (
                    d * ((flint.acb(0, -1) * angle * s).exp() - last)
                    for d, s in zip(differences, sums, strict=True)
                )
                result[x] += (scale * sum(terms, flint.acb(0))).real
        return [float(result[x]) for x in losses]
    finally:
        flint.ctx.prec = precision
