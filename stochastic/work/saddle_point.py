"""Poisson, binomial and negative binomial probabilities without cancellation.

Loader, "Fast and accurate computation of binomial probabilities" (2000): the large terms of the
logarithm are joined into deviances, which vanish at the mean, and the rest of Stirling's formula.
What is left of the rounding is about 1e-16 · (1 + |log p|), relative.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stochastic.arrays import Floats

#: Of log Γ(x+1) = x·log x - x + log(2πx)/2 + 1/(12x) - 1/(360x³) + ...
_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_FAR = 16.0  # from here the series is exact to 1e-17
_NEAR = 0.5  # beyond it x·log(x/m) is at most 4 times the whole
_TERMS = 28  # 0.5**(2·28) / 59 < 1e-18


def _stirling_rest(x: Floats) -> Floats:
    """log Γ(x+1) less x·log x - x + log(2πx)/2, for x > 0."""
    found = np.zeros_like(x)
    y = x.copy()
    for _ in range(int(_FAR)):
        small = y < _FAR
        if not small.any():
            break
        near = y[small]
        found[small] += (near + 0.5) * np.log1p(1 / near) - 1
        y[small] = near + 1
    square = 1 / (y * y)
    series = np.zeros_like(y)
    for coefficient in reversed(_SERIES):
        series = series * square + coefficient
    return np.asarray(found + series / y)


def _deviance(x: Floats, mean: float | Floats, rest: float | Floats) -> Floats:
    """x·log(x/m) + m - x, for x > 0 and m = mean + rest, where rest is a rounding error."""
    apart = x - mean
    v = apart / (x + mean)
    square = v * v
    series = np.zeros_like(x)
    for j in range(_TERMS, 0, -1):
        series = (series + 1 / (2 * j + 1)) * square
    near = v * apart + 2 * x * v * series
    with np.errstate(divide="ignore"):
        far = x * np.log(x / mean) - apart
    return np.where(np.abs(v) < _NEAR, near, far) - rest * (apart / mean)


def _product(a: Any, b: float) -> tuple[Any, Any]:
    """a·b as the rounded product and its error, as far as doubles tell it (Dekker 1971)."""
    product = a * b
    split = 134217729.0
    t = split * a
    ah = t - (t - a)
    al = a - ah
    t = split * b
    bh = t - (t - b)
    bl = b - bh
    return product, ((ah * bh - product) + ah * bl + al * bh) + al * bl


def poisson(k: Floats, rate: float) -> Floats:
    """P(W = k) of a Poisson law with rate > 0."""
    x = np.maximum(k, 1.0)
    inside = np.exp(-_stirling_rest(x) - _deviance(x, rate, 0.0)) / np.sqrt(2 * math.pi * x)
    return np.where(k == 0, math.exp(-rate), inside)


def binomial(k: Floats, trials: int, p: float) -> Floats:
    """P(W = k) of a binomial law with 0 < p < 1 and at least one trial."""
    n = float(trials)
    ends = np.where(k == 0, math.exp(n * math.log1p(-p)), p**n)
    if trials == 1:
        return ends
    x = np.minimum(np.maximum(k, 1.0), n - 1)
    y = n - x
    mean, rest = _product(n, p)
    other = n - mean
    lost = ((n - other) - mean) - rest
    log = _stirling_rest(np.array([n]))[0] - _stirling_rest(x) - _stirling_rest(y)
    log = log - _deviance(x, mean, rest) - _deviance(y, other, lost)
    inside = np.exp(log) * np.sqrt(n / (2 * math.pi * x * y))
    return np.where((k == 0) | (k == n), ends, inside)


def negative_binomial(k: Floats, r: float, p: float) -> Floats:
    """P(W = k) of k failures before the r-th success, r > 0 real, 0 < p < 1."""
    x = np.maximum(k, 1.0)
    n = x + r
    successes, rest = _product(n, p)
    failures = n - successes
    lost = ((n - failures) - successes) - rest
    both = np.full_like(x, r)
    log = _stirling_rest(n) - _stirling_rest(both) - _stirling_rest(x)
    log = log - _deviance(both, successes, rest) - _deviance(x, failures, lost)
    inside = np.exp(log) * np.sqrt(r / (2 * math.pi * x * n))
    return np.where(k == 0, math.exp(r * math.log(p)), inside)
