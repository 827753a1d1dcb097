"""The law of imbalance by enumeration: every group there is, one by one, in fractions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import product

Weights = Mapping[int, Fraction]


def brute_joint(weights: Weights, lanes: int) -> dict[tuple[int, int], Fraction]:
    """P(max = a, sum = b)."""
    found: dict[tuple[int, int], Fraction] = {}
    for group in product(weights, repeat=lanes):
        outcome = max(group), sum(group)
        chance = math.prod((weights[item] for item in group), start=Fraction(1))
        found[outcome] = found.get(outcome, Fraction(0)) + chance
    return found


def brute_losses(
    weights: Weights, lanes: int, zero_work: str | None = None
) -> dict[Fraction, Fraction]:
    """P(X = x), ascending; of groups with work only where nothing is said of the others."""
    found: dict[Fraction, Fraction] = {}
    idle = Fraction(0)
    for (most, total), chance in brute_joint(weights, lanes).items():
        if total == 0:
            idle = chance
            continue
        loss = Fraction(lanes * most, total)
        found[loss] = found.get(loss, Fraction(0)) + chance
    if idle and zero_work in ("one", "zero"):
        loss = Fraction(int(zero_work == "one"))
        found[loss] = found.get(loss, Fraction(0)) + idle
    whole = 1 - idle if zero_work == "drop" else 1
    return {loss: found[loss] / whole for loss in sorted(found)}
