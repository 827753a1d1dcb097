"""Statistics in NumPy and Fractions, slow and obvious."""

from fractions import Fraction

import numpy as np


def summary(kind, values, level=None, weights=None):
    """A statistic along the last axis; NaN where a value is NaN, but for the best."""
    values = np.asarray(values, dtype=float)
    count = values.shape[-1]
    shares = np.full(count, 1 / count) if weights is None else np.asarray(weights, dtype=float)
    if kind.startswith("best"):
        clean = np.where(np.isnan(values), np.inf if kind == "best_low" else -np.inf, values)
        result = clean.min(-1) if kind == "best_low" else clean.max(-1)
        return np.where(np.all(np.isnan(values), axis=-1), np.nan, result)
    if kind == "worst_high":
        return values.max(-1)
    if kind == "worst_low":
        return values.min(-1)
    mean = (values * shares).sum(-1)
    if kind in ("mean", "chance"):
        return mean
    if kind == "std":
        return np.sqrt((((values - mean[..., None]) ** 2) * shares).sum(-1))
    if kind == "geomean":
        return np.exp((np.log(values) * shares).sum(-1))
    flat = values.reshape(-1, count)
    tails = {"quantile": _quantile, "cvar_high": _tail}
    if kind == "cvar_low":
        return -summary("cvar_high", -values, level, weights)
    exact = [Fraction(1, count)] * count if weights is None else list(map(Fraction, weights))
    return np.array([tails[kind](row, exact, level) for row in flat]).reshape(values.shape[:-1])


def _quantile(row, shares, level):
    below = Fraction(0)
    if np.isnan(row).any():
        return np.nan
    pairs = sorted(zip(row.tolist(), shares, strict=True))
    for value, share in pairs:
        below += share
        if below >= level:
            return value
    return pairs[-1][0]


def _tail(row, shares, level):
    """The mean of the largest values that make up a share of 1 - level."""
    if np.isnan(row).any():
        return np.nan
    left, total = 1 - Fraction(level), 0.0
    for value, share in sorted(zip(row.tolist(), shares, strict=True), reverse=True):
        taken = min(share, left)
        total += float(taken) * value
        left -= taken
    return total / float(1 - Fraction(level))
