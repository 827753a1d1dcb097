"""Maximum likelihood of the families of laws, from how often each value occurs.

What takes one line stands in the table of families. Of a family ``f``, ``f`` returns the likeliest
parameters, or why there are none, and ``f_errors`` their standard errors.

Poisson, binomial and negative binomial are one family in the dispersion a = -1/trials, 0, 1/r: with
T(j) samples above j, n in all, their mean m, and p eliminated, the log-likelihood is

.. math:: \\sum_j T_j \\log(1 + ja) - n (1/a + m) \\log(1 + ma) + n m \\log m - \\sum \\log x!
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.work.distribution import first_true

_EXACT = sizes.EXTREME_EXACT  # values beyond which an extreme is taken as that of a continuous law


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """The values 0, 1, ..., largest and how often each occurs."""

    counts: Ints
    size: int = field(init=False)
    low: int = field(init=False)
    total: int = field(init=False)
    above: Floats = field(init=False)

    def __post_init__(self) -> None:
        held = np.flatnonzero(self.counts)
        above = np.cumsum(self.counts[:0:-1])[::-1].astype(np.float64)
        for name, value in (
            ("size", int(self.counts.sum())),
            ("low", int(held[0])),
            ("total", int(above.sum())),
            ("above", above),
        ):
            object.__setattr__(self, name, value)

    @property
    def high(self) -> int:
        """Largest value."""
        return len(self.counts) - 1

    @property
    def mean(self) -> float:
        """Mean of the samples."""
        return self.total / self.size

    @property
    def excess(self) -> int:
        """Variance less mean, times size², in whole numbers."""
        held = np.flatnonzero(self.counts)
        if float(self.high) ** 2 * self.size < 2.0**62:
            squares = int(np.dot(self.counts[held], held**2))
        else:
            squares = sum(int(self.counts[k]) * k * k for k in held.tolist())
        return (squares - self.total) * self.size - self.total**2


def _log_factorials(h: Histogram) -> float:
    from scipy.special import gammaln

    held = np.flatnonzero(h.counts)
    return float(np.dot(h.counts[held], gammaln(held + 1.0)))


def _dispersed(h: Histogram, a: float) -> float:
    """The log-likelihood at a dispersion, but for what does not depend on it."""
    j = np.arange(h.high)
    n, m = h.size, h.mean
    if a == 0:
        return -n * m
    return float(np.dot(h.above, np.log1p(j * a))) - n * (1 / a + m) * math.log1p(m * a)


def dispersed_likelihood(h: Histogram, a: float) -> float:
    """Return the log-likelihood at a dispersion and the mean of the samples."""
    return _dispersed(h, a) + h.total * math.log(h.mean) - _log_factorials(h)


def _inverse(rr: float, rp: float, pp: float) -> tuple[float, float]:
    """Standard errors of two parameters from their observed information."""
    determinant = rr * pp - rp * rp
    if not determinant > 0:
        return math.nan, math.nan
    return math.sqrt(pp / determinant), math.sqrt(rr / determinant)


def uniform_errors(h: Histogram, low: float, high: float) -> tuple[float, ...]:
    """The standard deviation of the smallest and of the largest of so many samples."""
    width, n = high - low + 1, h.size
    if width > _EXACT:
        spread = width * math.sqrt(n / (n + 2)) / (n + 1)
        return spread, spread
    j = np.arange(1, int(width))
    beyond = np.exp(n * np.log1p(-j / width))  # P(the extreme falls short by j or more)
    mean = beyond.sum()
    spread = math.sqrt(max(float(np.dot(2 * j - 1, beyond)) - mean**2, 0.0))
    return spread, spread


def binomial(h: Histogram) -> tuple[float, ...] | str:
    """Return the likeliest trials and p, or why there are none."""
    if h.low == h.high:
        return h.high, 1.0
    if h.excess >= 0:
        return "a binomial law varies less, the variance of the samples not being below their mean"
    best = first_true(lambda n: _dispersed(h, -1 / (n + 1)) <= _dispersed(h, -1 / n), h.high)
    if best is None or _dispersed(h, -1 / best) <= _dispersed(h, 0.0):
        return "more trials are always likelier: the limit is the Poisson law"
    return best, h.mean / best


def binomial_errors(h: Histogram, trials: float, p: float) -> tuple[float, ...]:
    """Return the standard errors of trials, taken as a real number, and p."""
    j = np.arange(h.high)
    curved = float(np.dot(h.above, (trials - j) ** -2.0))
    failures = h.size * trials - h.total
    both = _inverse(curved, h.size / (1 - p), h.total / p**2 + failures / (1 - p) ** 2)
    return both if both[0] > 0 else (math.nan, math.sqrt(p * (1 - p) / h.size / trials))


def negative_binomial(h: Histogram) -> tuple[float, ...] | str:
    """Return the likeliest r and p, or why there are none."""
    from scipy.optimize import brentq

    if h.excess <= 0:
        return "it varies more, the variance of the samples not being above their mean"
    j, n, m = np.arange(h.high), h.size, h.mean

    def slope(log_a: float) -> float:
        a = math.exp(log_a)
        return float(np.dot(h.above, j / (1 + j * a))) - n * _lost(m * a) / a / a

    low = high = math.log(h.excess) - 2 * math.log(h.total)
    while slope(low) < 0:
        low -= 1.0
        if low < -60:
            return "larger r is always likelier: the limit is the Poisson law"
    while slope(high) > 0:
        high += 1.0
    r = math.exp(-brentq(slope, low, high, xtol=1e-13, rtol=1e-15))
    return r, r / (r + m)


def _lost(x: float) -> float:
    """x - log(1 + x), x > 0."""
    if x > 0.05:
        return x - math.log1p(x)
    return math.fsum((-x) ** k / k for k in range(2, 14))


def negative_binomial_errors(h: Histogram, r: float, p: float) -> tuple[float, ...]:
    """Return the standard errors of r and p."""
    j = np.arange(h.high)
    curved = float(np.dot(h.above, (r + j) ** -2.0))
    return _inverse(curved, -h.size / p, h.size * r / p**2 + h.total / (1 - p) ** 2)
