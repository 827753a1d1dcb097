"""Probabilities of small laws of work as fractions."""

from __future__ import annotations

from fractions import Fraction

from stochastic import Pmf


def fractions_of(law: Pmf) -> list[Fraction]:
    """Return P(W = 0), P(W = 1), ... of a law whose probabilities are fractions of small numbers.

    >>> fractions_of(Pmf.from_weights([1, 2], low=1, normalise=True))
    [Fraction(0, 1), Fraction(1, 3), Fraction(2, 3)]
    """
    result = [Fraction(weight).limit_denominator(10_000) for weight in law.weights.tolist()]
    assert [float(one) for one in result] == law.weights.tolist()
    assert sum(result) == 1
    return [Fraction(0)] * law.low + result
