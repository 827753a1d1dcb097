"""What becomes of laws: mixed, bounded, added up, the largest of several; exact where they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from stochastic.errors import LawError
from stochastic.work.combined import Above, Maximum
from stochastic.work.distribution import Distribution, spanned
from stochastic.work.finite import convolved, largest
from stochastic.work.geometric import Geometric
from stochastic.work.mixture import Mixture
from stochastic.work.moved import shifted
from stochastic.work.ratios import largest_of, mixed, summed
from stochastic.work.tabulated import Tabulated, tabulated

__all__ = ["added", "between", "maximum", "mixture", "tabulate", "truncated"]


def tabulate(law: Distribution) -> Tabulated:
    """A finite law as a table."""
    return _part(law, law.low, int(law.high), law.text)


def mixture(parts: Sequence[tuple[Any, Distribution]]) -> Distribution:
    """One of several laws, drawn with given probabilities; a table where all are finite."""
    law = Mixture(tuple((float(share), of) for share, of in parts))
    if law.high == math.inf:
        return law
    exact = [
        (share, of.low, ratios)
        for share, of in parts
        if isinstance(share, Fraction) and (ratios := of.numerators()) is not None
    ]
    ratios = mixed(exact) if len(exact) == len(parts) else None
    if ratios is not None:
        return tabulated(law.low, None, ratios, law.text)
    return tabulate(law)


def truncated(law: Distribution, high: int, made: str) -> tuple[Tabulated, float]:
    """The law up to ``high`` < law.high, renormalised, and the mass beyond."""
    if high < law.low:
        raise _nothing(law, 0, high)
    table = _part(law, law.low, high, made)
    return table, float(law.sf(float(high)))


def between(law: Distribution, low: int, high: float) -> tuple[Distribution, float]:
    """The law on condition of a range, and the probability of that."""
    if high < max(low, law.low) or low > law.high:
        raise _nothing(law, low, high)
    low = max(low, law.low)
    if high >= law.high == math.inf:
        mass = float(law.sf(low - 1.0)) if low > law.low else 1.0
        if mass == 0:
            raise _nothing(law, low, high)
        if isinstance(law, Geometric):
            return shifted(law, low - law.low), mass
        of = law.of if isinstance(law, Above) else law
        return Above(of, low), mass
    top = int(min(high, law.high))
    table = _part(law, low, top, f"{law.text}.between({low}, {top})")
    before = float(law.sf(low - 1.0)) if low > law.low else 1.0
    return table, before - (float(law.sf(float(top))) if top < law.high else 0.0)


def _part(law: Distribution, low: int, high: int, made: str) -> Tabulated:
    ratios = law.numerators()
    if ratios is not None:
        ratios = ratios[low - law.low : high - law.low + 1]
        if not any(ratios):
            raise _nothing(law, low, high)
        return tabulated(low, None, ratios, made)
    spanned(low, high, made)
    table = law.relative(low, high)
    total = table.sum()
    if not total > 0:
        raise _nothing(law, low, high)
    return tabulated(low, table / total, made=made)


def _nothing(law: Distribution, low: int, high: float) -> LawError:
    return LawError(
        f"{law.text} has no probability that a double holds from {low} to {high}: expected a "
        f"range that overlaps {law.low} to {law.high}"
    )


def added(parts: Sequence[tuple[int, Tabulated]], made: str) -> Tabulated:
    """The sum of copies of finite laws, in integers where all are and it stays small."""
    low = sum(copies * law.low for copies, law in parts)
    ratios: tuple[int, ...] | None = (1,)
    for copies, law in parts:
        both = None if ratios is None or law.ratios is None else (ratios, law.ratios)
        ratios = None if both is None else summed(*both, copies)
    if ratios is not None:
        return tabulated(low, None, ratios, made)
    table = np.ones(1)
    for copies, law in parts:
        table = convolved(table, law.weights, copies, made)
    return tabulated(low, table / table.sum(), made=made)


def maximum(law: Distribution, copies: int) -> Distribution:
    """The largest of copies; a table where the law is one."""
    if not isinstance(law, Tabulated):
        if isinstance(law, Maximum):
            copies, law = copies * law.copies, law.of
        return Maximum(law, copies)
    made = f"{law.text}.max_of({copies})"
    ratios = None if law.ratios is None else largest_of(law.ratios, copies)
    if ratios is not None:
        return tabulated(law.low, None, ratios, made)
    table = largest(law.weights, 0.0, copies)
    return tabulated(law.low, table / table.sum(), made=made)
