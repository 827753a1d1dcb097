"""The theory of imbalance as SymPy: the largest of several items, exact losses, bounds, limits.

Symbols bear the names of quantities. The mean loss of a group of ``lanes`` items is E[X],
X = lanes · max / sum; what a whole workload pays is E[max] / E[W]. Functions of ``weights`` take
those of a finite law, P(W = 0), P(W = 1), ..., as SymPy expressions or numbers, and are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy
from sympy import Sum, Symbol, binomial

from symbolic.closed_form import symbol
from symbolic.errors import DseError, UnknownNameError, nearest_hint
from symbolic.exact import to_exact
from symbolic.quantities import TABLE

A, K = (Symbol(name, integer=True, nonnegative=True) for name in "ak")
X = Symbol("x", positive=True)
SHAPE = Symbol("shape", positive=True)


def _symbol_of(name: str) -> Any:
    return symbol(TABLE[name])


N, P = _symbol_of("lanes"), _symbol_of("success_probability")


def _choose(family: str, known: Mapping[str, Callable[[], Any]], what: str) -> Any:
    if family not in known:
        raise UnknownNameError(
            f"{what} of {family!r} has no closed form here{nearest_hint(family, known)}; "
            f"expected one of {', '.join(known)}"
        )
    return known[family]()


# --- the largest of several items


def _geometric() -> Any:
    return Sum((-1) ** (K + 1) * binomial(N, K) / (1 - (1 - P) ** K), (K, 1, N))


def _uniform() -> Any:
    low, high = _symbol_of("lowest_work"), _symbol_of("highest_work")
    count = high - low + 1
    powers = (sympy.bernoulli(N + 1, count) - sympy.bernoulli(N + 1)) / (N + 1)  # Faulhaber
    return high - powers / count**N


def _binomial() -> Any:
    trials = _symbol_of("trial_count")
    below = sympy.betainc_regularized(trials - A, A + 1, 0, 1 - P)
    return Sum(1 - below**N, (A, 0, trials - 1))


def _negative_binomial() -> Any:
    below = sympy.betainc_regularized(_symbol_of("success_count"), A + 1, 0, P)
    return Sum(1 - below**N, (A, 0, sympy.oo))


def _poisson() -> Any:
    below = sympy.uppergamma(A + 1, _symbol_of("event_rate")) / sympy.factorial(A)
    return Sum(1 - below**N, (A, 0, sympy.oo))


_LARGEST: Mapping[str, Callable[[], Any]] = {
    "any": lambda: Sum(1 - sympy.Function("F")(A) ** N, (A, 0, sympy.oo)),
    "bernoulli": lambda: 1 - (1 - P) ** N,
    "binomial": _binomial,
    "exponential": lambda: _symbol_of("work_mean") * sympy.harmonic(N),
    "geometric": _geometric,
    "negative_binomial": _negative_binomial,
    "poisson": _poisson,
    "uniform": _uniform,
}


def expected_max(family: str = "any") -> Any:
    """E[max] of ``lanes`` independent items: of any law with distribution function F, or a family.

    Families as in the paper: ``geometric`` counts trials (from 1), ``negative_binomial`` failures,
    ``uniform`` includes both ends. ``exponential`` is continuous.

    >>> expected_max()
    Sum(1 - F(a)**lanes, (a, 0, oo))
    >>> expected_max("geometric").subs({N: 2, P: to_exact(0.5)}).doit()
    8/3
    """
    return _choose(family, _LARGEST, "the expected maximum")


# --- losses


def _gamma() -> Any:
    below = sympy.lowergamma(SHAPE, X) / sympy.gamma(SHAPE)
    return sympy.Integral(1 - below**N, (X, 0, sympy.oo)) / SHAPE


def _interval() -> Any:
    step = (-1) ** (N - 1 - K) * binomial(N - 1, K) * (1 + K) ** (N - 2) * sympy.log(1 + K)
    return N / sympy.factorial(N - 2) * Sum(step, (K, 0, N - 1))


_LOSSES: Mapping[str, Callable[[], Any]] = {
    "exponential": lambda: sympy.harmonic(N),
    "gamma": _gamma,
    "interval": _interval,
}


def mean_loss(family: str) -> Any:
    """E[X] of a continuous family, exact.

    ``exponential`` and ``gamma`` (of a ``shape``): there max / sum does not depend on the sum, so
    that E[X] = E[max] / E[W]. ``interval`` is uniform between 0 and any length, for 2 lanes or
    more: given the longest item, the others fill the interval below it evenly.

    >>> mean_loss("exponential").subs(N, 4)
    25/12
    >>> mean_loss("interval").subs(N, 2).doit()
    2*log(2)
    """
    return _choose(family, _LOSSES, "the mean loss")


_LIMITS: Mapping[str, Callable[[], Any]] = {
    "any": lambda: _symbol_of("work_max") / _symbol_of("work_mean"),
    "bernoulli": lambda: 1 / P,
    "binomial": lambda: 1 / P,
    "uniform": lambda: (
        2 * _symbol_of("highest_work") / (_symbol_of("highest_work") + _symbol_of("lowest_work"))
    ),
    **dict.fromkeys(("exponential", "geometric", "negative_binomial", "poisson"), lambda: sympy.oo),
}


def limit_loss(family: str = "any") -> Any:
    """Return the limit of E[X] and E[max] / E[W] for many lanes: longest over mean item.

    >>> limit_loss("uniform").subs({_symbol_of("lowest_work"): 20, _symbol_of("highest_work"): 40})
    4/3
    """
    return _choose(family, _LIMITS, "the limit of the loss")


# --- bounds of a finite law


def sum_given_maximum(weights: Sequence[Any], lanes: Any) -> tuple[tuple[Any, Any, Any, Any], ...]:
    """Value of the largest item, its probability, mean and variance of the sum given it.

    From the sums over all groups whose items are at most ``a``: n·m₁·Fⁿ⁻¹ and
    n·m₂·Fⁿ⁻¹ + n(n-1)·m₁²·Fⁿ⁻², with the partial moments m₁ and m₂ of the law up to ``a``, less
    those up to ``a - 1``.

    >>> sum_given_maximum([to_exact(0.5), to_exact(0.5)], 2)  # two coins
    ((0, 1/4, 0, 0), (1, 3/4, 4/3, 2/9))
    """
    shares, n = [to_exact(weight) for weight in weights], to_exact(lanes)
    if not shares or sympy.simplify(sum(shares) - 1) != 0:
        raise DseError(f"the weights sum to {sum(shares)}: expected the probabilities of a law")
    result = []
    upto = first = second = sympy.Integer(0)
    totals = (upto, first, second)
    for a, share in enumerate(shares):
        upto, first, second = upto + share, first + a * share, second + a * a * share
        if upto == 0:
            continue
        below, totals = (
            totals,
            (
                upto**n,
                n * first * upto ** (n - 1),
                n * second * upto ** (n - 1) + n * (n - 1) * first**2 * upto ** (n - 2),
            ),
        )
        chance, linear, square = (now - past for now, past in zip(totals, below, strict=True))
        if share != 0:
            mean = linear / chance
            result.append((sympy.Integer(a), chance, mean, square / chance - mean**2))
    return tuple(result)


def _losses(weights: Sequence[Any], lanes: Any, inverse: Callable[..., Any]) -> Any:
    """The mean loss, where the inverse of the sum has that mean given the maximum."""
    n, shares = to_exact(lanes), [to_exact(weight) for weight in weights]
    least = next((a for a, share in enumerate(shares) if share != 0), 0)
    total = sympy.Integer(0)
    for a, chance, mean, variance in sum_given_maximum(shares, n):
        if a == 0:
            total += chance  # without any work nothing is lost
        else:
            total += chance * n * a * inverse(mean, variance, a + (n - 1) * least, n * a)
    return total


def conditional_jensen(weights: Sequence[Any], lanes: Any) -> Any:
    """Lower bound on E[X]: Σ P(max = a) · n·a / E[sum | max = a].

    >>> conditional_jensen([to_exact(0.5), to_exact(0.5)], 2)
    11/8
    """
    return _losses(weights, lanes, lambda mean, *_: 1 / mean)


def _parabola(mean: Any, variance: Any, room: Any, end: Any) -> Any:
    """Mean inverse of a sum with two values: the end, and the one that gives mean and variance.

    ``room`` is from the mean to the end.
    """
    if variance == 0 or room == 0:
        return 1 / mean
    other = mean - variance / room
    share = variance / (variance + room**2)
    return share / end + (1 - share) / other


def second_moment_lower(weights: Sequence[Any], lanes: Any) -> Any:
    """Lower bound on E[X], sharp given mean, variance and range of the sum for each maximum.

    >>> second_moment_lower([to_exact(0.5), to_exact(0.5)], 2)  # the sum is 1 or 2: this is E[X]
    3/2
    """
    return _losses(
        weights, lanes, lambda mean, variance, _, most: _parabola(mean, variance, most - mean, most)
    )


def second_moment_upper(weights: Sequence[Any], lanes: Any) -> Any:
    """Upper bound on E[X], sharp given mean, variance and range of the sum for each maximum.

    >>> second_moment_upper([to_exact(0.5), to_exact(0.5)], 2)
    3/2
    """
    return _losses(
        weights,
        lanes,
        lambda mean, variance, least, _: _parabola(mean, variance, least - mean, least),
    )
