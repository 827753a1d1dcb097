"""The law of imbalance by enumeration: every group there is, one by one, in fractions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import product

Weights = Mapping[int, Fraction]


def brute_joint(weights: Weights, lanes: int) -> dict[tuple[int, int], Fraction]:
    """P(max = a, sum = b)."""
    result: dict[tuple[int, int], Fraction] = {}
    for group in product(weights, repeat=lanes):
        outcome = max(group), sum(group)
        chance = math.prod((weights[item] for item in group), start=Fraction(1))
        result[outcome] = result.get(outcome, Fraction(0)) + chance
    return result


def brute_losses(
    weights: Weights, lanes: int, zero_work: str | None = None
) -> dict[Fraction, Fraction]:
    """P(X = x), ascending; of groups with work only where nothing is said of the others."""
    result: dict[Fraction, Fraction] = {}
    idle = Fraction(0)
    for (most, total), chance in brute_joint(weights, lanes).items():
        if total == 0:
            idle = chance
            continue
        loss = Fraction(lanes * most, total)
        result[loss] = result.get(loss, Fraction(0)) + chance
    if idle and zero_work in ("one", "zero"):
        loss = Fraction(int(zero_work == "one"))
        result[loss] = result.get(loss, Fraction(0)) + idle
    whole = 1 - idle if zero_work == "drop" else 1
    return {loss: result[loss] / whole for loss in sorted(result)}
