"""Planes below single steps: tangents and chords of what is neither a sum nor a product.

A plane is told by the shares of the arguments and a constant; whether it is a tangent or a chord
depends on the sign of the weight that the step has, as it is to lie below.
"""

from __future__ import annotations

import math

from sweeps.bounds.machine.jit import jitted

__all__ = [
    "LARGE",
    "SMALL",
    "apart",
    "exponent",
    "give",
    "least_of",
    "logarithm",
    "product",
    "signed",
    "together",
]

SMALL, LARGE = 1e-280, 1e280


@jitted
def give(weights, n, weight) -> None:
    """Put some more weight on a step; row 1 holds how much there was before any cancelled."""
    weights[0, n] += weight
    weights[1, n] += abs(weight)


@jitted
def signed(low, high, hole):
    """1 or -1 for a step of one sign whose logarithm is known, else 0."""
    if hole:
        return 0
    if low > SMALL and high < LARGE:
        return 1
    if high < -SMALL and low > -LARGE:
        return -1
    return 0


@jitted
def _near(x, low, high):
    """The magnitude of a value, drawn into a range above 0; about its middle for no number."""
    return min(max(abs(x), low), high) if x == x else math.sqrt(low * high)


@jitted
def logarithm(weight, small, large, about):
    """The logarithm of a value: a chord below, a tangent above."""
    if weight > 0:
        lowest, highest = math.log(small), math.log(large)
        slope = (highest - lowest) / (large - small)
        return slope, weight * min(lowest - slope * small, highest - slope * large)
    slope = 1.0 / _near(about, small, large)
    return slope, weight * (-math.log(slope) - 1.0)


@jitted
def exponent(weight, small, large, about):
    """The value of a logarithm: a tangent below, a chord above."""
    if weight > 0:
        slope = _near(about, small, large)
        return slope, weight * slope * (1.0 - math.log(slope))
    lowest, highest = math.log(small), math.log(large)
    slope = (large - small) / (highest - lowest) if highest > lowest else small
    return slope, weight * max(small - slope * lowest, large - slope * highest)


@jitted
def _softplus(t):
    return t + math.log1p(math.exp(-t)) if t > 0 else math.log1p(math.exp(t))


@jitted
def _gap(t):
    return math.log(-math.expm1(-t))


@jitted
def apart(weight, xl, xh, yl, yh, about):
    """The logarithm of x - y > 0, the share of y and the rest: a chord below, a tangent above."""
    tl, th = math.log(xl / yh), math.log(xh / yl)
    sl, sh = _gap(tl), _gap(th)
    if weight > 0:
        share = (sh - sl) / (th - tl) if th > tl else 0.0
        return share, min(sl - share * tl, sh - share * th)
    t = math.log(_near(about, xl / yh, xh / yl))
    share = 1.0 / math.expm1(t)
    return share, _gap(t) - share * t


@jitted
def together(weight, xl, xh, yl, yh, x, y):
    """The logarithm of x + y, the share of x and the rest: a weighted mean below, a chord above."""
    if weight > 0:
        p, q = _near(x, xl, xh), _near(y, yl, yh)
        share = min(max(p / (p + q), 1e-15), 1.0 - 1e-15)
        return share, -(share * math.log(share) + (1 - share) * math.log(1 - share))
    tl, th = math.log(xl / yh), math.log(xh / yl)
    sl, sh = _softplus(tl), _softplus(th)
    share = (sh - sl) / (th - tl) if th > tl else 0.5
    return share, max(sl - share * tl, sh - share * th)


@jitted
def least_of(tl, th, weight, least, about):
    """For the lesser (or greater) of two steps that differ by t: both their shares, constant."""
    if about != about:
        about = tl + th
    if not least:  # the greater of a and b is b - the lesser of (b - a, 0) ... mirrored
        one, two, rest = _least_of_pair(-th, -tl, -weight, -about)
        return one, two, -rest
    return _least_of_pair(tl, th, weight, about)


@jitted
def _least_of_pair(tl, th, weight, about):
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
def product(al, ah, bl, bh, weight, x, y):
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
