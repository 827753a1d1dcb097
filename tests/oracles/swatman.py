"""Imbalance of a law of work, in fractions, from the text of Swatman 2022, section III.

A kind of group is the number of lanes with each length of work; its chance is multinomial.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

Weights = Mapping[int, Fraction]


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to write ``total`` as an ordered sum of ``parts`` counts."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)


def groups(weights: Weights, lanes: int) -> Iterator[tuple[Fraction, int, int]]:
    """Yield, for each kind of group, the chance, the longest work and the sum of work."""
    lengths: Sequence[int] = sorted(weights)
    for counts in compositions(lanes, len(lengths)):
        chance = Fraction(math.factorial(lanes))
        for length, count in zip(lengths, counts, strict=True):
            chance *= weights[length] ** count / math.factorial(count)
        drawn = [length for length, count in zip(lengths, counts, strict=True) if count]
        work = sum(length * count for length, count in zip(lengths, counts, strict=True))
        yield chance, max(drawn), work


def root(value: Fraction) -> float:
    """Return the square root of a fraction, which may be far below the least float."""
    scale = 10**40
    return math.isqrt(value.numerator * scale**2 // value.denominator) / scale


def imbalance(weights: Weights, lanes: int) -> dict[str, float]:
    """Return the means, deviations and bounds of a law; a group without work has a loss of 1."""
    mean = sum((chance * length for length, chance in weights.items()), Fraction(0))
    square = sum((chance * length**2 for length, chance in weights.items()), Fraction(0))
    loss = second = longest = product = Fraction(0)
    for chance, most, work in groups(weights, lanes):
        ratio = Fraction(lanes * most, work) if work else Fraction(1)  # Eqs. 4 and 5
        loss += chance * ratio
        second += chance * ratio**2
        longest += chance * most  # Eq. 7
        product += chance * most * work
    total, variance = lanes * mean, lanes * (square - mean**2)
    covariance = product - longest * total
    least, top = min(weights), max(weights)
    out = {
        "work_mean": mean,
        "work_min": Fraction(least),
        "work_max": Fraction(top),
        "expected_max": longest,
        "max_sum_covariance": covariance,
        "imbalance_loss": loss,
        "imbalance_slowdown": longest / mean if mean else Fraction(1),  # C_SIMT over C_MIMD
        "imbalance_largest": Fraction(lanes * top, top + (lanes - 1) * least or 1) if top else 1,
        "imbalance_limit": top / mean if mean else Fraction(1),
        "imbalance_delta": lanes
        * (longest / total - covariance / total**2 + longest * variance / total**3)
        if mean
        else Fraction(1),
        "exponential_loss": sum((Fraction(1, i + 1) for i in range(lanes)), Fraction(0)),
    }
    return {name: float(value) for name, value in out.items()} | {
        "work_std": root(square - mean**2),
        "imbalance_loss_std": root(second - loss**2),
    }
