"""Laws of loads by enumeration of all loads, in fractions."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
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


def with_weights(items: int, bins: int, weights: dict[int, Fraction]) -> dict[Loads, Fraction]:
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


def _poisson_terms(items: int, share: Fraction) -> list[Fraction]:
    return [share**n / math.factorial(n) for n in range(items + 1)]


def _product(first: Sequence[Fraction], second: Sequence[Fraction], items: int) -> list[Fraction]:
    result = [Fraction(0)] * (items + 1)
    for i, a in enumerate(first):
        if a:
            for j in range(min(len(second), items + 1 - i)):
                result[i + j] += a * second[j]
    return result


def at_most(
    items: int, shares: Sequence[Fraction], groups: Sequence[Sequence[int]], tile: int, most: int
) -> Fraction:
    """Return P(no group has more than ``most`` tiles), from products of polynomials in z.

    >>> at_most(6, [Fraction(1, 3)] * 3, [[0], [1], [2]], 1, 3)
    Fraction(170, 243)
    """
    whole = [Fraction(1)]
    for group in groups:
        by_tiles: dict[int, list[Fraction]] = {0: [Fraction(1)]}
        for place in group:
            terms = _poisson_terms(items, shares[place])
            by_tiles = _add_bin(by_tiles, terms, tile, items, most)
        factor = [sum(column) for column in zip(*map(_pad(items), by_tiles.values()), strict=True)]
        whole = _product(whole, factor, items)
    return whole[items] * math.factorial(items)


def totals(items: int, shares: Sequence[Fraction], tile: int) -> dict[int, Fraction]:
    """Return the probability of each Σ ⌈n / tile⌉.

    >>> totals(2, [Fraction(1, 2)] * 2, 2)
    {1: Fraction(1, 2), 2: Fraction(1, 2)}
    """
    by_tiles: dict[int, list[Fraction]] = {0: [Fraction(1)]}
    for share in shares:
        by_tiles = _add_bin(by_tiles, _poisson_terms(items, share), tile, items, items)
    chances = {
        tiles: terms[items] * math.factorial(items)
        for tiles, terms in sorted(by_tiles.items())
        if len(terms) > items
    }
    return {tiles: chance for tiles, chance in chances.items() if chance}


def _pad(items: int) -> Callable[[list[Fraction]], list[Fraction]]:
    return lambda terms: terms + [Fraction(0)] * (items + 1 - len(terms))


def _add_bin(
    by_tiles: dict[int, list[Fraction]], terms: list[Fraction], tile: int, items: int, most: int
) -> dict[int, list[Fraction]]:
    result: dict[int, list[Fraction]] = {}
    for tiles, known in by_tiles.items():
        for more in range(-(-items // tile) + 1):
            if tiles + more > most:
                break
            part = [term if -(-n // tile) == more else Fraction(0) for n, term in enumerate(terms)]
            product = _product(known, part, items)
            old = result.get(tiles + more, [Fraction(0)] * (items + 1))
            result[tiles + more] = [a + b for a, b in zip(old, product, strict=True)]
    return result
