"""Finite laws in integers: probabilities of consecutive values in the ratios of whole numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from stochastic import sizes

__all__ = ["SMALL", "Ratios", "exact_mean", "kept_between", "largest_of", "mixed", "summed"]

Ratios = tuple[int, ...]

#: Most values, and most bits in all, for which fractions are kept beside the doubles.
SMALL = sizes.RATIOS_SMALL
_BITS = sizes.RATIOS_BITS


def summed(first: Ratios, second: Ratios, copies: int = 1) -> Ratios | None:
    """Of the sum of an item of the first law and ``copies`` of the second, where that is small.

    >>> summed((1, 1), (1, 1), copies=2)
    (1, 3, 3, 1)
    """
    size = len(first) + copies * (len(second) - 1)
    width = sum(first).bit_length() + copies * sum(second).bit_length()
    width += -width % 8
    if size > SMALL or size * width > _BITS:
        return None
    product = _packed(first, width) * _packed(second, width) ** copies
    digits = product.to_bytes(size * width // 8, "little")
    step = width // 8
    return tuple(
        int.from_bytes(digits[i : i + step], "little") for i in range(0, len(digits), step)
    )


def _packed(ratios: Ratios, width: int) -> int:
    """The polynomial of these coefficients at 2**width."""
    step = width // 8
    return int.from_bytes(b"".join(ratio.to_bytes(step, "little") for ratio in ratios), "little")


def largest_of(ratios: Ratios, copies: int) -> Ratios | None:
    """Of the largest of independent copies, where that is small.

    >>> largest_of((1, 1), copies=3)
    (1, 7)
    """
    if len(ratios) * copies * sum(ratios).bit_length() > _BITS:
        return None
    powers = [below**copies for below in accumulate(ratios)]
    return tuple(after - before for before, after in zip([0, *powers], powers, strict=False))


def mixed(parts: Sequence[tuple[Fraction, int, Ratios]]) -> Ratios | None:
    """Of a mixture of (weight, lowest value, ratios), from the lowest value of all."""
    low = min(start for _, start, _ in parts)
    size = max(start + len(ratios) for _, start, ratios in parts) - low
    if size > SMALL:
        return None
    shares = [weight / sum(ratios) for weight, _, ratios in parts]
    common = math.lcm(*(share.denominator for share in shares))
    found = [0] * size
    for share, (_, start, ratios) in zip(shares, parts, strict=True):
        factor = int(share * common)
        for i, ratio in enumerate(ratios, start - low):
            found[i] += factor * ratio
    return tuple(found)


def exact_mean(low: int, ratios: Ratios) -> Fraction:
    """The mean of the values from ``low`` on.

    >>> exact_mean(3, (1, 1, 2))
    Fraction(17, 4)
    """
    return low + Fraction(sum(i * ratio for i, ratio in enumerate(ratios)), sum(ratios))


def kept_between(ratios: Ratios, first: int, last: int) -> Ratios | None:
    """The ratios of a range, unless a weight that no double holds is lost."""
    return None if any(ratios[:first]) or any(ratios[last + 1 :]) else ratios[first : last + 1]
