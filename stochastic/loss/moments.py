r"""Compute moments of the loss X = n·max/sum by quadrature, and moments of the longest item.

For a positive sum, :math:`\int_0^\infty t^{k-1} e^{-t\Sigma}\,dt = \Gamma(k)/\Sigma^k`. With
:math:`t = e^u` and the trapezoidal rule of step h over all of u,

.. math::
    E[X^k; \Sigma>0] = \frac{n^k}{\Gamma(k)} \int_0^\infty t^{k-1}\, E[M^k e^{-t\Sigma}]\, dt
    \approx \frac{n^k h}{\Gamma(k)} \sum_m t_m^k\, E[M^k e^{-t_m\Sigma}], \qquad t_m = t_0 e^{mh}.

For each outcome the integrand over u has the same shape, a gamma density, at another position. So
by Poisson summation the relative error of the rule is at most

.. math:: 2 \sum_{j\ge1} |\Gamma(k + 2\pi i j/h)| / \Gamma(k)

**for every law and number of lanes**: 1e-17 at h = 0.2 for k = 2. On both sides, the sum over m
ends where the omitted part is below 1e-18 of the result. It is bounded above t by
:math:`(2n)^k E[e^{-t\Sigma/2}; \Sigma>0]`, because X <= n, and below t by the convexity of
:math:`E[M^k e^{-t\Sigma}]`, whose value at t = 0 is known.

The expectations are sums of positive terms (Abel summation over the largest value): with
:math:`G_a(t) = \sum_{j\le a} f_j e^{-jt}` and S the largest value,

.. math:: E[M^k e^{-t\Sigma}] = \sum_{a\ge0} ((a+1)^k - a^k) \, (G_S^n - G_a^n), \qquad
    G_S^n - G_a^n = G_S^n (1 - (1 - T_a)^n),

where T_a, the tail of the law tilted by :math:`e^{-jt}`, is summed from above, and 1-(1-T)^n is
computed by doubling n, without a subtraction. The variance is centred before it is summed:

.. math::
    E[(X-c)^2; \Sigma>0] = \int_0^\infty t\, E[(nM - c\Sigma)^2 e^{-t\Sigma}]\, dt,

Given the largest value a and the number K of items that have it, the other items are independent
and below a. So under the tilted law, the square is a squared mean plus a variance,

.. math::
    E[(na - c\Sigma)^2 \mid a] = (na - cE\Sigma)^2
    + c^2\{(a-\mu)^2\, \mathrm{Var}\,K + E[n-K]\,\sigma^2\},

with the mean and variance of an item below a, and K binomial given K >= 1.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from stochastic import sizes
from stochastic.arrays import Floats
from stochastic.checks import LawError, check_fraction
from stochastic.work.correlated_lanes import Sticky
from stochastic.work.pmf import Pmf, check_law

_EPS = 2.0**-53  # Largest relative error of one rounding.
_RARE = 1e-60  # Probability of work in a group below which quadrature would overflow.
_DISCRETE = 1e-17  # Upper limit on the relative error of the trapezoidal rule.


def any_probability(chance: float, lanes: int) -> float:
    """Return 1 - (1 - chance)**lanes, the probability of an event in one or more items."""
    return -math.expm1(lanes * math.log1p(-chance)) if chance < 1 else 1.0


def work_probability(low: int, weights: Floats, lanes: int) -> float:
    """Return the probability that some item of a group has work, with a small relative error."""
    if low > 0:
        return 1.0
    if weights[0] < 0.5:
        return 1.0 - float(weights[0]) ** lanes
    return any_probability(float(weights[1:].sum()), lanes)


def idle_probability(low: int, weights: Floats, lanes: int) -> float:
    """Return the probability that no item of a group has any work."""
    if low > 0:
        return 0.0
    if weights[0] < 0.5:
        return float(weights[0]) ** lanes
    return math.exp(lanes * math.log1p(-float(weights[1:].sum())))


def raw_moment(low: int, weights: Floats, lanes: int, order: int = 1) -> tuple[float, float]:
    """Return E[X**order; sum > 0] of the loss X = lanes·max/sum, and its error.

    Groups without work are left out; the probabilities of other groups are not rescaled. The cost
    is about 130 passes over the values. The error is a bound of quadrature plus estimated rounding.
    """
    busy = work_probability(low, weights, lanes)
    if lanes == 1 or len(weights) == 1:  # X = 1
        return busy, 0.0
    if busy < _RARE:  # one item alone has all the work: X = lanes
        value = busy * float(lanes**order)
        return value, value * (8.0 * _EPS + busy)
    from stochastic.kernels.moments import integrate_moment

    cells = _value_grid(weights)
    columns, rows = len(cells.columns), len(cells.rows)
    high = low + len(weights) - 1.0
    x = (low + np.append(cells.values, cells.values[-1])) / high
    gains, table = np.zeros((2, columns * rows))
    table[: len(cells.values)] = cells.weights
    steps = np.diff(cells.values) / high
    gains[: len(steps)] = steps * _divided_difference(x[:-2], x[1:-1], order)
    table = np.ascontiguousarray(table.reshape(columns, rows).T)
    gains = np.ascontiguousarray(gains.reshape(columns, rows).T)
    h, discrete = _quadrature_step(order)
    mean = low + float((cells.values * cells.weights).sum())
    out = np.empty(2)
    integrate_moment(
        *(cells.columns, cells.rows, table, table.sum(axis=0), gains, (low / high) ** order),
        *(float(order), float(math.gamma(order)), float(low), high, lanes, 1.0 / (lanes * mean), h),
        *(np.empty_like(table), np.empty((5, columns)), np.ones(_nodes(h)), out),
    )
    value, rest = out.tolist()
    if not math.isfinite(value):
        raise LawError(
            f"X**{order} of {lanes} lanes is above the largest number of double precision: "
            "ask for a moment of lower order"
        )
    return value, value * (discrete + _EPS * (8.0 * order + math.log2(lanes))) + rest


def variance(low: int, weights: Floats, lanes: int, centre: float) -> tuple[float, float]:
    """Return E[(X - centre)**2; sum > 0] of the loss X = lanes·max/sum, and its error.

    If ``centre`` is the mean, this is the part of the variance from groups with work. The relative
    error is small for any number of lanes, because losses are centred before they are squared. The
    cost is about 100 passes over the values.
    """
    busy = work_probability(low, weights, lanes)
    if lanes == 1 or len(weights) == 1:  # X = 1
        return busy * (1.0 - centre) ** 2, 0.0
    if busy < _RARE:  # one item alone has all the work: X = lanes
        value = busy * (lanes - centre) ** 2
        return value, value * 8.0 * _EPS + busy * busy * lanes**2
    from stochastic.kernels.moments import CHUNK, integrate_square

    cells = _value_grid(weights)
    place = np.flatnonzero(cells.weights)
    some = cells.weights[place]
    mean = low + float((cells.values[place] * some).sum())
    h, discrete = _quadrature_step(2)
    columns, rows, out = len(cells.columns), len(cells.rows), np.empty(2)
    integrate_square(
        *(cells.columns, cells.rows, place // rows, place % rows, some),
        *(float(low), low + len(weights) - 1.0, lanes, centre, 1.0 / (lanes * mean), h),
        *(np.empty((2, columns + rows)), np.empty((6, len(some))), np.empty((4, CHUNK))),
        *(np.empty(_nodes(h)), out),
    )
    value, rest = out.tolist()
    rounding = _EPS * (16.0 + math.log2(lanes) + 0.5 * math.sqrt(len(some)))
    # error of a loss that is rounded before ``centre`` is subtracted
    off = _EPS * centre * math.sqrt(busy)
    return value, value * (discrete + rounding) + off * (math.sqrt(value) + off) + rest


class _ValueGrid(NamedTuple):
    """Values and weights of a law in a table; each value is ``columns[j] + rows[r]``."""

    columns: Floats
    rows: Floats
    values: Floats
    weights: Floats


def _value_grid(weights: Floats) -> _ValueGrid:
    """Return the law as a table from the value 0 on; a sparse law gets a single row."""
    used = np.flatnonzero(weights)
    step = 1 if weights[1] else int(np.gcd.reduce(used))
    count = (len(weights) - 1) // step + 1
    if count > sizes.MOMENT_SPARSE * len(used):
        values = used.astype(np.float64)
        return _ValueGrid(values, np.zeros(1), values, weights[used])
    values = step * np.arange(count, dtype=np.float64)
    rows = min(1 << round(math.log2(count) / 2), sizes.MOMENT_ROWS)
    columns, some = (np.ascontiguousarray(part) for part in (values[::rows], weights[::step]))
    return _ValueGrid(columns, values[:rows], values, some)


def _divided_difference(a: Floats, b: Floats, k: int) -> Floats:
    total = power = np.ones_like(a)
    for _ in range(k - 1):
        power = power * a
        total = total * b + power
    return total


def _nodes(h: float) -> int:
    """Return the number of quadrature nodes from t to 2t."""
    return math.ceil(math.log(2.0) / h)


@cache
def _quadrature_step(order: int) -> tuple[float, float]:
    """Return the trapezoidal rule's step for moments up to ``order``, and its relative error."""
    h = 0.25
    while True:
        worst = max(_quadrature_error(k, h) for k in (1, order))
        if worst < _DISCRETE:
            return h, worst
        h *= 0.97


def _quadrature_error(k: int, h: float) -> float:
    """Return the first term of the error bound, 2·|gamma(k + 2πi/h)| / gamma(k)."""
    y = 2.0 * math.pi / h
    log = 0.5 * (math.log(2.0 * math.pi * y) - math.pi * y)  # log |gamma(1 + iy)|
    log += sum(math.log(math.hypot(1.0, y / j)) for j in range(1, k))
    return 2.0 * math.exp(log)


class OrderStatistics(NamedTuple):
    """Moments of the largest of some independent items, and of a single item."""

    mean_max: float
    var_max: float
    cov_max_sum: float
    mean: float
    var: float


class SumGivenMaximum(NamedTuple):
    """Statistics of the sum of all items given that the largest is ``a``, for each possible ``a``.

    ``least_distance`` and ``largest_distance`` are the distances from the mean sum to the smallest
    and to the largest sum. ``rest_mean`` and ``rest_variance`` are the mean and variance of an item
    shorter than ``a``, measured from the shortest possible item.
    """

    maximum: Floats
    probability: Floats
    mean: Floats
    variance: Floats
    least_distance: Floats
    largest_distance: Floats
    rest_mean: Floats
    rest_variance: Floats


def _log_cdf_and_tail(weights: Floats) -> tuple[Floats, Floats]:
    """Return log F and 1 - F at each value, both with a small relative error."""
    below = np.cumsum(weights, dtype=np.longdouble)
    above = np.zeros_like(below)
    above[:-1] = np.cumsum(weights[:0:-1], dtype=np.longdouble)[::-1]
    total = below + above
    with np.errstate(divide="ignore"):
        logs = np.where(above < below, np.log1p(-above / total), np.log(below / total))
    return logs.astype(np.float64), (above / total).astype(np.float64)


def _sums_before(values: Floats) -> Floats:
    result = np.zeros(len(values), dtype=np.longdouble)
    np.cumsum(values[:-1], dtype=np.longdouble, out=result[1:])
    return result.astype(np.float64)


def order_statistics(low: int, weights: Floats, lanes: int) -> OrderStatistics:
    """Return moments of the largest of ``lanes`` independent items, and of one item.

    Covariances are sums of positive terms, P(A <= a, B <= b) - P(A <= a)·P(B <= b) (Hoeffding).
    """
    logs, tails = (part[:-1] for part in _log_cdf_and_tail(weights))  # the last item of each is 0
    upto = np.exp(logs)
    highest, beyond = np.exp(lanes * logs), -np.expm1(lanes * logs)
    others = np.exp((lanes - 1) * logs)
    tails_from = np.cumsum(tails[::-1], dtype=np.longdouble)[::-1].astype(np.float64)
    covariance = others * (upto * tails_from + tails * _sums_before(upto))
    return OrderStatistics(
        mean_max=low + float(beyond.sum()),
        var_max=float((beyond * (2.0 * _sums_before(highest) + highest)).sum()),
        cov_max_sum=lanes * float(covariance.sum()),
        mean=low + float(tails.sum()),
        var=float((tails * (2.0 * _sums_before(upto) + upto)).sum()),
    )


def sum_given_maximum(low: int, weights: Floats, lanes: int) -> SumGivenMaximum:
    """Return, for each maximum, the mean, variance and range of the sum of ``lanes`` items.

    The number K of items equal to ``a`` is binomial with q = P(W = a | W <= a), given K >= 1. The
    other items are independent and shorter.
    """
    place = np.flatnonzero(weights).astype(np.float64)
    share = weights[weights > 0]
    logs, _ = _log_cdf_and_tail(share)
    before = _sums_before(share)
    first = before == 0  # no item is shorter than this value
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(first, place, _sums_before(share * place) / before)
        spread = np.where(first, 0.0, _sums_before(share * place * place) / before - mean * mean)
        q = share / (before + share)
        some = -np.expm1(lanes * np.log1p(-q))  # P(K >= 1)
    spread = np.maximum(spread, 0.0)
    count = np.clip(lanes * q / some, 1.0, lanes)  # E[K | K >= 1]
    scatter = count * np.maximum((1.0 - q) - lanes * q * (1.0 - some) / some, 0.0)
    gap, rest = place - mean, lanes - count
    below, above = (lanes - 1) * mean + (count - 1.0) * gap, rest * gap
    return SumGivenMaximum(
        maximum=low + place,
        probability=np.exp(lanes * logs) * some,
        mean=lanes * float(low) + place + below,
        variance=np.minimum(rest * spread + scatter * gap**2, below * above),
        least_distance=below,
        largest_distance=above,
        rest_mean=mean,
        rest_variance=spread,
    )


def uncut_order_statistics(source: Pmf, eps: float, lanes: int) -> tuple[OrderStatistics, float]:
    """Return the moments for an infinite law, and the truncation error of the mean of an item.

    Items longer than the cut are set to the cut. The longest item loses at most the sum of what
    all items lose, so its mean falls by at most ``lanes`` times the returned error.
    """
    work = source.cut(eps)
    weights = work.weights * (1.0 - work.missing)
    weights[-1] += work.missing
    result = order_statistics(work.low, weights, lanes)
    mean, spread = source.mean(), source.var()
    if math.isinf(spread):
        result = result._replace(var_max=math.inf, cov_max_sum=0.0)
    return result._replace(mean=mean, var=spread), max(mean - result.mean, 0.0)


# --- statistics of finite laws as plain arrays, for callers that evaluate many laws
def finite_law(pmf: Any, lanes: int, tol: float) -> Pmf:
    """Return the law, truncated if infinite: the mean loss changes by less than ``tol``."""
    tol = check_fraction("tol", tol, "1e-9")
    return check_law(pmf).cut(tol / (2.0 * lanes * lanes))


def mean_loss(low: int, weights: Floats, lanes: int, rho: float = 0.0) -> float:
    """Return E[lanes · max / sum] for weights of low, low + 1, ...; 1 for a group without work."""
    if rho:
        work = Pmf.from_weights(weights, low=low, normalise=True)
        return Sticky(rho).mean_loss(work, lanes)
    if lanes == 1 or len(weights) == 1:
        return 1.0
    return raw_moment(low, weights, lanes)[0] + idle_probability(low, weights, lanes)


def slowdown(low: int, weights: Floats, lanes: int, rho: float = 0.0) -> float:
    """Return E[max] / E[W] for weights of low, low + 1, ...; 1 without any work."""
    if rho:
        work = Pmf.from_weights(weights, low=low, normalise=True)
        return Sticky(rho).longest(work, lanes).mean() / work.mean() if work.high else 1.0
    result = order_statistics(low, weights, lanes)
    return result.mean_max / result.mean if result.mean else 1.0
