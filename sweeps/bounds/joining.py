"""A statistic of few values as a formula, step by step as :mod:`sweeps.nest.summing` has it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

from symbolic.ops import (
    Node,
    absolute,
    both,
    constant,
    either,
    exp,
    log,
    maximum,
    minimum,
    sqrt,
    where,
)
from symbolic.statistic import Statistic

__all__ = ["joined"]

#: From so many terms on a sum runs in so many parts.
_LONG, _PARTS = 32, 8
#: How far off a level the sum of weights may be.
_OFF = 1e-12


def joined(about: Statistic, values: Sequence[Node], weights: Any, sure: bool = False) -> Node:
    """A statistic of some values, each NaN where it has none.

    Parameters
    ----------
    weights : array, optional
        How much each counts, in sum 1; all alike where None.
    sure : bool
        Whether none of the values is ever NaN.
    """
    kind = about.kind
    shares = None if weights is None else [float(share) for share in weights]
    if kind in ("mean", "chance"):
        return _mean(values, shares)
    if kind == "geomean":
        return constant(exp(_mean([constant(log(value)) for value in values], shares)))
    if kind == "std":
        mean = _mean(values, shares)
        off = [constant(absolute(value - mean)) for value in values]
        return constant(sqrt(_mean([one * one for one in off], shares)))
    holds = [constant(value >= -math.inf) for value in values]
    if kind.startswith(("worst", "best")) and sure:
        return _extreme(values, kind.endswith("high"))
    if kind.startswith("best"):
        high = kind == "best_high"
        known = [
            constant(where(test, value, -math.inf if high else math.inf))
            for test, value in zip(holds, values, strict=True)
        ]
        return constant(where(either(*holds), _extreme(known, high), math.nan))
    if kind.startswith("worst"):
        found = _extreme(values, kind == "worst_high")
    else:
        found = _tail(about, values, shares)
    return found if sure else constant(where(both(*holds), found, math.nan))


def _extreme(values: Sequence[Node], high: bool) -> Node:
    pick = maximum if high else minimum
    return reduce(lambda found, value: constant(pick(value, found)), values)


def _total(terms: Sequence[Node]) -> Node:
    """The sum, in the order of the compiled one."""

    def inorder(first: Node, rest: Sequence[Node]) -> Node:
        return reduce(lambda a, b: a + b, rest, first)

    zero = constant(0.0)
    whole = len(terms) - len(terms) % _PARTS if len(terms) >= _LONG else 0
    parts = [inorder(zero, terms[k:whole:_PARTS]) for k in range(_PARTS)] if whole else [zero] * 8
    a, b, c, d, e, f, g, h = parts
    first = ((a + b) + (c + d)) + ((e + f) + (g + h)) if whole else zero
    return inorder(first, terms[whole:])


def _mean(values: Sequence[Node], shares: Sequence[float] | None) -> Node:
    if shares is None:
        return _total(values) / len(values)
    pairs = zip(shares, values, strict=True)
    terms = [share * value for share, value in pairs if share > 0]
    return reduce(lambda a, b: a + b, terms, constant(0.0))


def _tail(about: Statistic, values: Sequence[Node], shares: Sequence[float] | None) -> Node:
    """A quantile, or the mean of what lies beyond it."""
    assert about.level is not None
    count, level, sign = len(values), about.level, -1.0 if about.kind == "cvar_low" else 1.0
    signed = [value * sign for value in values]
    tail = about.kind != "quantile"
    if shares is None:
        rank = max(math.ceil(level * count) - 1, 0)
        found, *beyond = _sorted(signed)[rank:]
        if tail:
            found = found * float(rank + 1 - level * count) + _total(beyond)
            found = found / float((1 - level) * count)
        return found * sign
    found = _weighted(signed, shares, float(level))
    if tail:
        excess = [constant(maximum(value - found, 0.0)) for value in signed]
        mean = _mean(excess, shares) / (1 - float(level))
        found = constant(where(absolute(found) < math.inf, found + mean, found))
    return found * sign


def _weighted(values: Sequence[Node], shares: Sequence[float], level: float) -> Node:
    """The least value up to which the weights reach a level."""
    reached = []
    for value in values:
        below = [
            constant(where(other <= value, share, 0.0))
            for other, share in zip(values, shares, strict=True)
        ]
        enough = reduce(lambda a, b: a + b, below) >= level - _OFF
        reached.append(constant(where(enough, value, math.inf)))
    return _extreme(reached, high=False)


def _sorted(values: Sequence[Node]) -> list[Node]:
    """The values in order, by Batcher's exchanges (Knuth, TAOCP 3, algorithm 5.2.2M)."""
    found = list(values)
    count = len(found)
    top = 1 << max(count - 1, 0).bit_length() >> 1
    p = top
    while p > 0:
        q, r, d = top, 0, p
        while True:
            for i in range(count - d):
                if i & p == r:
                    a, b = found[i], found[i + d]
                    found[i], found[i + d] = constant(minimum(a, b)), constant(maximum(b, a))
            if q == p:
                break
            d, q, r = q - p, q >> 1, p
        p >>= 1
    return found
