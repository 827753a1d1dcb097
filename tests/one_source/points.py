"""Random points of the design space, drawn from the table of quantities."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from fractions import Fraction

from symbolic.quantities import Quantity


def draw(row: Quantity, rng: random.Random, *, edges: float = 0.05) -> Fraction:
    """A rational of the quantity's typical range; with probability ``edges`` a low end."""
    domain = row.domain
    low, high = row.typical or (max(domain.low, 0.0), min(domain.high, 100.0))
    if rng.random() < edges and not domain.low_open and math.isfinite(domain.low):
        return Fraction(domain.low)
    if domain.whole:
        return Fraction(rng.randint(math.ceil(low), math.floor(high)))
    spread = rng.random()
    value = low * (high / low) ** spread if low > 0 else low + (high - low) * spread
    if value == 0 and domain.low_open:
        return Fraction(1, 1000)
    scale = 10 ** max(0, 3 - math.floor(math.log10(value))) if value > 0 else 1
    return Fraction(round(value * scale), scale)


def point(
    quantities: Mapping[str, Quantity],
    names: Iterable[str],
    rng: random.Random,
    *,
    edges: float = 0.05,
) -> dict[str, Fraction]:
    """A value for each of the named quantities."""
    return {name: draw(quantities[name], rng, edges=edges) for name in names}
