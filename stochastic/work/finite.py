"""The largest of several items of a finite law, and the sum of two, by their tables."""

from __future__ import annotations

import numpy as np

from stochastic import sizes
from stochastic.errors import LawError
from stochastic.work.distribution import Reals, spanned

__all__ = ["convolved", "largest"]

#: Most products of a convolution: some half a minute.
_PRODUCTS = sizes.CONVOLVE_MOST


def largest(weights: Reals, beyond: float, copies: int) -> Reals:
    """P(max of independent copies = k) from P(W = k) and P(W > last); F(k)**n - F(k-1)**n."""
    above = np.full(len(weights), beyond)
    above[:-1] += np.cumsum(weights[:0:-1])[::-1]
    below = np.cumsum(weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(above < 0.5, np.log1p(-np.minimum(above, 0.5)), np.log(below))
        share = np.where(below > 0, np.minimum(weights / below, 1.0), 0.0)
        return np.asarray(np.exp(copies * log) * -np.expm1(copies * np.log1p(-share)))


def convolved(first: Reals, second: Reals, copies: int, what: str) -> Reals:
    """Weights of the sum of an item of the first law and copies of the second, all positive.

    By squaring; no transform, whose rounding would drown the tails.
    """
    size = len(first) + copies * (len(second) - 1)
    spanned(0, size - 1, what, "count its work in larger units, or draw it with sample")
    if copies > 1 and len(second) > 1:
        products = (size / 2) ** 2
    else:
        products = float(len(first)) * len(second)
    if products > _PRODUCTS:
        raise LawError(
            f"{what} takes some {products:.0e} products: count its work in larger units, or draw "
            "it with sample"
        )
    found, power, left = first, second, copies
    while True:
        if left & 1:
            found = np.convolve(found, power)
        left >>= 1
        if not left:
            return found
        power = np.convolve(power, power)
