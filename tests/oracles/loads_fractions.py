"""Laws of loads by enumeration of all loads, in fractions."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

Loads = tuple[int, ...]


def compositions(items: int, bins: int) -> Iterator[Loads]:
    """Yield all loads of the bins with the sum ``items``.

    >>> list(compositions(2, 2))
    [(0, 2), (1, 1), (2, 0)]
    """
    if bins == 1:
        yield (items,)
        return
    for first in range(items + 1):
        for rest in compositions(items - first, bins - 1):
            yield (first, *rest)


def multinomial(items: int, shares: Sequence[Fraction]) -> dict[Loads, Fraction]:
    """Return the probability of all loads of bins with fixed probabilities."""
    result = {}
    for loads in compositions(items, len(shares)):
        ways = math.factorial(items) // math.prod(map(math.factorial, loads))
        result[loads] = ways * math.prod(p**n for p, n in zip(shares, loads, strict=True))
    return result


def with_weights(
    items: int, bins: int, weights: dict[int, Fraction]
) -> dict[Loads, Fraction]:
    """Return the probability of all loads of bins with independent weights, not all of them 0."""
    result: Counter[Loads] = Counter()
    total = Fraction(0)
    for some in itertools.product(weights.items(), repeat=bins):
        sum_ = sum(weight for weight, _ in some)
        if sum_ == 0:
            continue
        chance = math.prod(p for _, p in some)
        total += chance
        shares = [Fraction(weight, sum_) for weight, _ in some]
        for loads, share in multinomial(items, shares).items():
            result[loads] += chance * share
    return {loads: chance / total for loads, chance in result.items()}


def dirichlet(items: int, bins: int, concentration: Fraction) -> dict[Loads, Fraction]:
    """Return the probability of all loads of bins with symmetric Dirichlet shares (Pólya's urn)."""

    def rising(x: Fraction, n: int) -> Fraction:
        return math.prod((x + i for i in range(n)), start=Fraction(1))

    return {
        loads: math.factorial(items)
        / rising(bins * concentration, items)
        * math.prod(rising(concentration, n) / math.factorial(n) for n in loads)
        for loads in compositions(items, bins)
    }


def measure(loads: Loads, groups: Sequence[Sequence[int]], tile: int) -> dict[str, int]:
    """Return the numbers of some loads."""
    tiles = [-(-n // tile) for n in loads]
    return {
        "largest": max(loads),
        "busiest": max(sum(loads[i] for i in group) for group in groups),
        "occupied": sum(n > 0 for n in loads),
        "tiles": sum(tiles),
        "busiest_tiles": max(sum(tiles[i] for i in group) for group in groups),
    }


def laws(
    chances: dict[Loads, Fraction], groups: Sequence[Sequence[int]], tile: int
) -> tuple[dict[str, Counter[int]], dict[tuple[str, str], Counter[tuple[int, int]]]]:
    """Return the probabilities of each number, and of each pair of numbers."""
    single: dict[str, Counter[int]] = {}
    pairs: dict[tuple[str, str], Counter[tuple[int, int]]] = {}
    for loads, chance in chances.items():
        numbers = measure(loads, groups, tile)
        for name, value in numbers.items():
            single.setdefault(name, Counter())[value] += chance
        for first, second in itertools.product(numbers, numbers):
            pair = numbers[first], numbers[second]
            pairs.setdefault((first, second), Counter())[pair] += chance
    return single, pairs
