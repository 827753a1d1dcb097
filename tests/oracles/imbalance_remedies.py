"""Remedies of imbalance, by trying everything, in fractions."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

Weights = Mapping[int, Fraction]


def loss_of(items: Sequence[int], lanes: int) -> Fraction:
    """X = lanes · max / sum, 1 without work."""
    return Fraction(lanes * max(items), sum(items)) if any(items) else Fraction(1)


def group_means(weights: Weights, lanes: int) -> tuple[Fraction, Fraction]:
    """E[X] and E[max] over every multiset of independent items."""
    loss = longest = Fraction(0)
    for items in itertools.combinations_with_replacement(sorted(weights), lanes):
        counts = Counter(items)
        ways = math.factorial(lanes)
        chance = Fraction(1)
        for value, count in counts.items():
            ways //= math.factorial(count)
            chance *= weights[value] ** count
        loss += ways * chance * loss_of(items, lanes)
        longest += ways * chance * max(items)
    return loss, longest


def mean(weights: Weights) -> Fraction:
    return sum((value * weight for value, weight in weights.items()), Fraction(0))


def conditional(weights: Weights, values: Sequence[int]) -> tuple[Fraction, Weights]:
    """The probability of some values, and the law given them."""
    total = sum((weights[value] for value in values), Fraction(0))
    return total, {value: weights[value] / total for value in values}


def runs(values: Sequence[int], bins: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every way to cut ascending values into bins, lowest edges first."""
    for cuts in itertools.combinations(range(1, len(values)), bins - 1):
        edges = (0, *cuts, len(values))
        yield tuple(tuple(values[a:b]) for a, b in itertools.pairwise(edges))


def bin_items(
    weights: Weights, bins: Sequence[Sequence[int]], lanes: int
) -> tuple[Fraction, Fraction]:
    """Slowdown and mean loss of a workload whose groups are formed within bins."""
    slow = loss = Fraction(0)
    for values in bins:
        share, law = conditional(weights, values)
        own, longest = group_means(law, lanes)
        slow += share * longest
        loss += share * own
    work = mean(weights)
    return (slow / work if work else Fraction(1)), loss


def cut_up(weights: Weights, threshold: int, overhead: int) -> tuple[Fraction, Weights]:
    """Pieces of an item, on average, and the law of a piece; item by item, piece by piece."""
    result: dict[int, Fraction] = {}
    for value, weight in weights.items():
        left, first = value, True
        while first or left:
            piece = min(left, threshold)
            left -= piece
            length = piece if first else piece + overhead
            result[length] = result.get(length, Fraction(0)) + weight
            first = False
    count = sum(result.values(), Fraction(0))
    return count, {length: share / count for length, share in result.items()}


def dealt(items: Sequence[int], lanes: int, partial: str) -> tuple[Fraction, Fraction, Fraction]:
    """Mean loss over groups, sum of n·max, sum of work, of items dealt in order."""
    groups = [list(items[i : i + lanes]) for i in range(0, len(items), lanes)]
    if partial == "drop":
        groups = [group for group in groups if len(group) == lanes]
    groups = [group + [0] * (lanes - len(group)) for group in groups]
    losses = [loss_of(group, lanes) for group in groups]
    return (
        sum(losses, Fraction(0)) / len(losses),
        Fraction(sum(lanes * max(group) for group in groups)),
        Fraction(sum(map(sum, groups))),
    )


def dealt_at_random(
    items: Sequence[int], lanes: int, partial: str
) -> tuple[Fraction, Fraction, Fraction]:
    """The same in expectation over every order."""
    every = [dealt(order, lanes, partial) for order in itertools.permutations(items)]
    a, b, c = (sum(column, Fraction(0)) / len(every) for column in zip(*every, strict=True))
    return a, b, c
