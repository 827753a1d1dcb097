"""The families of laws that are known by name, each by its parameters."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dse.uncertain.law import Family, Law

__all__ = ["FAMILIES"]

Floats = NDArray[np.float64]


def _normal(mean: float, spread: float) -> Law:
    from scipy.special import ndtr, ndtri

    return Law(
        quantile=lambda u: mean + spread * ndtri(u),
        cdf=lambda x: float(ndtr((x - mean) / spread)),
    )


def _lognormal(mean: float, spread: float) -> Law:
    from scipy.special import ndtr, ndtri

    width = math.sqrt(math.log1p((spread / mean) ** 2))
    middle = math.log(mean) - width**2 / 2
    return Law(
        quantile=lambda u: np.exp(middle + width * ndtri(u)),
        cdf=lambda x: float(ndtr((math.log(x) - middle) / width)) if x > 0 else 0.0,
    )


def _uniform(low: float, high: float) -> Law:
    return Law(
        quantile=lambda u: low + (high - low) * u,
        cdf=lambda x: min(max((x - low) / (high - low), 0.0), 1.0),
    )


def _triangular(low: float, mode: float, high: float) -> Law:
    width, left = high - low, mode - low
    turn = left / width

    def quantile(u: Floats) -> Floats:
        rising = low + np.sqrt(u * width * left)
        falling = high - np.sqrt((1 - u) * width * (high - mode))
        return np.where(u < turn, rising, falling)

    def cdf(x: float) -> float:
        if x <= low or x >= high:
            return float(x >= high)
        if x < mode:
            return (x - low) ** 2 / (width * left)
        return 1 - (high - x) ** 2 / (width * (high - mode)) if mode < high else 1.0

    return Law(quantile=quantile, cdf=cdf)


def _beta(a: float, b: float, low: float = 0.0, high: float = 1.0) -> Law:
    from scipy.special import betainc, betaincinv

    return Law(
        quantile=lambda u: low + (high - low) * betaincinv(a, b, u),
        cdf=lambda x: float(betainc(a, b, min(max((x - low) / (high - low), 0.0), 1.0))),
    )


FAMILIES: dict[str, Family] = {
    "normal": Family(
        numbers=("mean", "spread"),
        make=_normal,
        holds=lambda mean, spread: spread > 0,
        must="the spread, a standard deviation, is above 0",
        shares=("spread",),
    ),
    "lognormal": Family(
        numbers=("mean", "spread"),
        make=_lognormal,
        holds=lambda mean, spread: mean > 0 and spread > 0,
        must="the mean and the spread, a standard deviation, are above 0",
        shares=("spread",),
    ),
    "uniform": Family(
        numbers=("low", "high"),
        make=_uniform,
        holds=lambda low, high: low < high,
        must="the first is below the second",
    ),
    "triangular": Family(
        numbers=("low", "mode", "high"),
        make=_triangular,
        holds=lambda low, mode, high: low <= mode <= high and low < high,
        must="the mode lies between the ends, the lower of which comes first",
    ),
    "beta": Family(
        numbers=("a", "b", "low", "high"),
        make=_beta,
        holds=lambda a, b, low=0.0, high=1.0: a > 0 and b > 0 and low < high,
        must="a and b are above 0, and the lower end comes before the upper one",
        plain=("a", "b"),
        optional=2,
    ),
}
