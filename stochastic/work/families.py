"""Define all families of laws of work in one table, `FAMILIES`.

To add a family, append a row to the table, and give :class:`stochastic.work.pmf.Pmf` a typed
constructor of the same name. The parser, command line, studies, fits and models read the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.checks import LawError, check_integer
from stochastic.work import arguments
from stochastic.work.distribution import (
    SMALLEST_LOG,
    Distribution,
    check_span,
    first_true,
    tabulate,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a family, and the model quantity that gives it.

    ``check(name, value)`` returns the value as a number to compute with, or raises a `LawError`.
    ``quantity``, ``domain``, ``meaning`` and ``typical`` describe the quantity.
    """

    name: str
    check: Callable[[str, Any], Any]
    quantity: str
    domain: str
    meaning: str
    typical: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class LawFamily:
    """A row of the table: the properties and functions of a family of laws.

    ``name`` is the name of the constructor, ``summary`` its docstring, ``example`` the text of a
    law. ``note`` is a remark for the command line; ``aliases`` are other names of the family.

    Optional functions take the parameters last; values ``k`` are arrays of floats. ``check``
    returns an error message if parameters do not fit together, else "". ``constant`` returns the
    value of a law that has only one, else None. ``weights`` returns the probabilities of 0, 1, ...
    ``pmf``, ``sf`` (with a small relative error), ``cdf``, ``mean``, ``var`` and ``draw(rng,
    size)`` compute P(W = k), P(W > k), P(W <= k), the moments and draws; only ``pmf`` and ``sf``
    have no default. ``support_ends`` returns the smallest and largest value whose probability a
    double can represent; ``mode`` returns a most probable value. ``term_ratio`` returns (ratio,
    rest, shape, slope) for the recurrence near the mode: f(k+1)/f(k) = (ratio + rest)·(shape +
    slope·k)/(k + 1).

    ``additive_parameter`` is the parameter that adds up in a sum of independent items if their
    other parameters are equal. ``additive_form`` returns (shift, family, parameters) of the same
    law in an additive family. ``is_memoryless``: W given W >= k has the law of W + k - low.

    ``estimate`` returns the parameters of maximum likelihood for a `Histogram`, or a text that says
    why there are none; ``errors`` returns their standard errors. A family without both is not
    fitted. If ``estimate`` returns a text, ``limit_family`` has the maximum likelihood. ``scipy``
    is the name and the parameters of the same law in ``scipy.stats``.
    """

    name: str
    summary: str
    example: str
    parameters: tuple[Parameter, ...]
    note: str = ""
    aliases: tuple[str, ...] = ()
    check: Callable[..., str] | None = None
    constant: Callable[..., int | None] | None = None
    weights: Callable[..., list[Any] | Floats] | None = None
    pmf: Callable[..., Floats] | None = None
    sf: Callable[..., Any] | None = None
    cdf: Callable[..., Any] | None = None
    mean: Callable[..., float] | None = None
    var: Callable[..., float] | None = None
    draw: Callable[..., Any] | None = None
    support_ends: Callable[..., tuple[int, float]] = lambda *_: (0, math.inf)
    mode: Callable[..., int] | None = None
    term_ratio: Callable[..., tuple[float, float, float, float]] | None = None
    additive_parameter: str = ""
    additive_form: Callable[..., tuple[int, str, tuple[Any, ...]]] | None = None
    is_memoryless: bool = False
    estimate: Callable[[Histogram], tuple[float, ...] | str] | None = None
    errors: Callable[..., tuple[float, ...]] | None = None
    log_likelihood: Callable[..., float] | None = None
    limit_family: str = ""
    scipy: tuple[str, tuple[str, ...]] = ("", ())

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the parameters."""
        return tuple(parameter.name for parameter in self.parameters)

    def constructor_text(self, *values: Any) -> str:
        """Return the Python call that constructs the law with these parameters."""
        return f"Pmf.{self.name}({', '.join(map(_number_text, values))})"

    def as_text(self, *values: float) -> str:
        """Return the text of the law with these parameters, such as ``binomial:40,0.5``."""
        pairs = zip(self.parameters, values, strict=True)
        words = (f"{v:.0f}" if p.domain.startswith("whole") else repr(v) for p, v in pairs)
        return f"{self.name}:{','.join(words)}"

    def law(self, *values: Any) -> Distribution:
        """Check the parameters, and return the law; LawError if they are invalid."""
        pairs = zip(self.parameters, values, strict=True)
        values = tuple(parameter.check(parameter.name, value) for parameter, value in pairs)
        if self.check is not None and (wrong := self.check(*values)):
            raise LawError(wrong)
        value = None if self.constant is None else self.constant(*values)
        if value is not None:
            return tabulate(value, [1.0], self.constructor_text(*values))
        if self.weights is not None:
            weights, text = self.weights(*values), self.constructor_text(*values)
            return arguments.law_from_weights(weights, 0, False, text)
        return FamilyLaw(self.name, values)


@dataclass(frozen=True, slots=True)
class FamilyLaw(Distribution):
    """A law of a family, given by checked parameters."""

    name: str
    parameters: tuple[Any, ...]
    low: int = field(init=False, repr=False, compare=False)
    high: float = field(init=False, repr=False, compare=False)
    family: LawFamily = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        family = FAMILIES[self.name]
        low, high = family.support_ends(*self.parameters)
        for name, value in (("low", low), ("high", high), ("family", family)):
            object.__setattr__(self, name, value)

    def __reduce__(self) -> Any:  # pickle the family's name, not its functions
        return FamilyLaw, (self.name, self.parameters)

    @property
    def text(self) -> str:
        """Return the constructor call of the law."""
        return self.family.constructor_text(*self.parameters)

    @property
    def _mode(self) -> int:
        assert self.family.mode is not None
        return self.family.mode(*self.parameters)

    def _direct_pmf(self, k: Floats) -> Floats:
        assert self.family.pmf is not None
        return self.family.pmf(k, *self.parameters)

    def pmf(self, k: Floats) -> Floats:
        """Return P(W = k), computed by recurrence from the mode if the mode is near."""
        if self.family.term_ratio is None:
            return self._direct_pmf(k)
        if k.size == 0:
            return np.zeros(k.shape)
        first, last = int(k.min()), int(k.max())
        if max(last, self._mode) - min(first, self._mode) > sizes.WALK_STEPS:
            return self._direct_pmf(k)
        return self.table(first, last)[(k - first).astype(np.int64)]

    def table(self, first: int, last: int) -> Floats:
        """Return P(W = k) for k = first..last."""
        if self.family.term_ratio is None:
            return self._direct_pmf(np.arange(first, last + 1, dtype=np.float64))
        mode = self._mode
        scale = float(self._direct_pmf(np.array([float(mode)]))[0])
        low, high = first, last
        if max(last, mode) - min(first, mode) <= sizes.WALK_STEPS:
            low, high = min(first, mode), max(last, mode)
        elif not first <= mode <= last:
            scale = float(self._direct_pmf(np.array([float(min(max(mode, first), last))]))[0])
        return scale * self.relative_table(low, high)[first - low : last - low + 1]

    def relative_table(self, first: int, last: int) -> Floats:
        """Return P(W = k) for k = first..last, divided by the largest of them."""
        if self.family.term_ratio is None:
            table = self.table(first, last)
            return np.asarray(table / table.max())
        from stochastic.kernels.recurrence import walk

        terms = np.zeros(last - first + 1)
        start = min(max(self._mode, first), last)
        walk(first, last, start, *map(float, self.family.term_ratio(*self.parameters)), terms)
        return terms

    def sf(self, k: Any) -> Any:
        """Return P(W > k)."""
        assert self.family.sf is not None
        return self.family.sf(k, *self.parameters)

    def cdf(self, k: Any) -> Any:
        """Return P(W <= k)."""
        return 1.0 - self.sf(k) if self.family.cdf is None else self.family.cdf(k, *self.parameters)

    def mean(self) -> float:
        """Return E[W]."""
        mean = self.family.mean
        return Distribution.mean(self) if mean is None else mean(*self.parameters)

    def var(self) -> float:
        """Return E[(W - E[W])²]."""
        var = self.family.var
        return Distribution.var(self) if var is None else var(*self.parameters)

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Return independent draws."""
        if self.family.draw is None:
            return Distribution.sample(self, rng, size)
        return self.family.draw(rng, size, *self.parameters)

    def to_summand(self, copies: int) -> tuple[int, FamilyLaw] | None:
        """Return the law of a sum of ``copies`` items as (shift, additive law), or None."""
        shift, law = 0, self
        if self.family.additive_form is not None:
            shift, name, parameters = self.family.additive_form(*self.parameters)
            law = FamilyLaw(name, parameters)
        if not law.family.additive_parameter:
            return None
        place = law.family.names.index(law.family.additive_parameter)
        return copies * shift, law.with_parameter(place, copies * law.parameters[place])

    def with_parameter(self, place: int, value: Any) -> FamilyLaw:
        """Return the law with another value of one parameter."""
        parameters = (*self.parameters[:place], value, *self.parameters[place + 1 :])
        return FamilyLaw(self.name, parameters)


def add_laws(laws: Sequence[FamilyLaw]) -> FamilyLaw | None:
    """Return the law of the sum of one item of each law; None if other parameters differ."""
    first = laws[0]
    place = first.family.names.index(first.family.additive_parameter)
    kinds = {(law.name, *law.parameters[:place], *law.parameters[place + 1 :]) for law in laws}
    if len(kinds) > 1:
        return None
    terms = [law.parameters[place] for law in laws]
    are_whole = all(isinstance(term, int) for term in terms)
    return first.with_parameter(place, sum(terms) if are_whole else math.fsum(terms))


def _number_text(x: Any) -> str:
    return repr(int(x)) if isinstance(x, float) and x.is_integer() and x < 2**53 else repr(x)


# --- maximum likelihood, from a histogram of the samples; one-line functions are in the table.
# Binomial, Poisson and negative binomial laws are one family, with the dispersion a = -1/trials, 0
# or 1/r. Let T(j) be the number of samples above j, n the number of all samples, and m
# their mean. With p eliminated, the log-likelihood is
# Σ_j T_j log(1 + ja) - n (1/a + m) log(1 + ma) + n m log m - Σ log x!


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """The number of samples with each of the values 0, 1, ..., largest."""

    counts: Ints
    size: int = field(init=False)
    low: int = field(init=False)
    total: int = field(init=False)
    tail_counts: Floats = field(init=False)

    def __post_init__(self) -> None:
        values = np.flatnonzero(self.counts)
        above = np.cumsum(self.counts[:0:-1])[::-1].astype(np.float64)
        for name, value in (
            ("size", int(self.counts.sum())),
            ("low", int(values[0])),
            ("total", int(above.sum())),
            ("tail_counts", above),
        ):
            object.__setattr__(self, name, value)

    @property
    def high(self) -> int:
        """Return the largest value."""
        return len(self.counts) - 1

    @property
    def mean(self) -> float:
        """Return the mean of the samples."""
        return self.total / self.size

    @property
    def excess(self) -> int:
        """Return (variance - mean) · size², computed exactly in whole numbers."""
        values = np.flatnonzero(self.counts)
        if float(self.high) ** 2 * self.size < 2.0**62:
            squares = int(np.dot(self.counts[values], values**2))
        else:
            squares = sum(int(self.counts[k]) * k * k for k in values.tolist())
        return (squares - self.total) * self.size - self.total**2


def _log_factorials(h: Histogram) -> float:
    from scipy.special import gammaln

    values = np.flatnonzero(h.counts)
    return float(np.dot(h.counts[values], gammaln(values + 1.0)))


def _dispersion_likelihood(h: Histogram, a: float) -> float:
    """Return the log-likelihood at a dispersion, without the terms that do not depend on it."""
    j = np.arange(h.high)
    n, m = h.size, h.mean
    if a == 0:
        return -n * m
    return float(np.dot(h.tail_counts, np.log1p(j * a))) - n * (1 / a + m) * math.log1p(m * a)


def _log_likelihood_at_dispersion(h: Histogram, a: float) -> float:
    return _dispersion_likelihood(h, a) + h.total * math.log(h.mean) - _log_factorials(h)


def _standard_errors(rr: float, rp: float, pp: float) -> tuple[float, float]:
    """Return the standard errors of two parameters from second derivatives of -log-likelihood."""
    determinant = rr * pp - rp * rp
    if not determinant > 0:
        return math.nan, math.nan
    return math.sqrt(pp / determinant), math.sqrt(rr / determinant)


def _uniform_errors(h: Histogram, low: float, high: float) -> tuple[float, ...]:
    """Return the standard deviations of the smallest and the largest of ``h.size`` samples."""
    width, n = high - low + 1, h.size
    if width > sizes.EXTREME_EXACT:
        spread = width * math.sqrt(n / (n + 2)) / (n + 1)
        return spread, spread
    j = np.arange(1, int(width))
    beyond = np.exp(n * np.log1p(-j / width))  # P(smallest sample >= low + j)
    mean = beyond.sum()
    spread = math.sqrt(max(float(np.dot(2 * j - 1, beyond)) - mean**2, 0.0))
    return spread, spread


def _fit_binomial(h: Histogram) -> tuple[float, ...] | str:
    if h.low == h.high:
        return h.high, 1.0
    if h.excess >= 0:
        return "the variance of a binomial law is below its mean, but that of the samples is not"

    def likelihood(trials: int) -> float:
        return _dispersion_likelihood(h, -1 / trials)

    best = first_true(lambda n: likelihood(n + 1) <= likelihood(n), h.high)
    if best is None or likelihood(best) <= _dispersion_likelihood(h, 0.0):
        return "the likelihood grows with the number of trials: the limit is the Poisson law"
    return best, h.mean / best


def _binomial_errors(h: Histogram, trials: float, p: float) -> tuple[float, ...]:
    """Return the standard errors of trials (treated as a real number) and of p."""
    j = np.arange(h.high)
    curved = float(np.dot(h.tail_counts, (trials - j) ** -2.0))
    failures = h.size * trials - h.total
    both = _standard_errors(curved, h.size / (1 - p), h.total / p**2 + failures / (1 - p) ** 2)
    return both if both[0] > 0 else (math.nan, math.sqrt(p * (1 - p) / h.size / trials))


def _fit_negative_binomial(h: Histogram) -> tuple[float, ...] | str:
    from scipy.optimize import brentq

    if h.excess <= 0:
        return "its variance is above its mean, but that of the samples is not"
    j, n, m = np.arange(h.high), h.size, h.mean

    def slope(log_a: float) -> float:
        a = math.exp(log_a)
        return float(np.dot(h.tail_counts, j / (1 + j * a))) - n * _x_minus_log1p(m * a) / a / a

    low = high = math.log(h.excess) - 2 * math.log(h.total)
    while slope(low) < 0:
        low -= 1.0
        if low < -60:
            return "the likelihood grows with r: the limit is the Poisson law"
    while slope(high) > 0:
        high += 1.0
    r = math.exp(-brentq(slope, low, high, xtol=1e-13, rtol=1e-15))
    return r, r / (r + m)


def _x_minus_log1p(x: float) -> float:
    if x > 0.05:
        return x - math.log1p(x)
    return math.fsum((-x) ** k / k for k in range(2, 14))


def _negative_binomial_errors(h: Histogram, r: float, p: float) -> tuple[float, ...]:
    j = np.arange(h.high)
    curved = float(np.dot(h.tail_counts, (r + j) ** -2.0))
    return _standard_errors(curved, -h.size / p, h.size * r / p**2 + h.total / (1 - p) ** 2)


_check_nonnegative = partial(arguments.check_positive, zero=True)
_check_probability_or_0 = partial(arguments.check_probability, zero=True)


def _probability_parameter(check: Callable[[str, Any], Any]) -> Parameter:
    return Parameter(
        name="p",
        check=check,
        quantity="success_probability",
        domain="(0, 1]",
        meaning="probability of success of a trial",
        typical=(0.02, 0.9),
    )


def _quantile_parameter(name: str, meaning: str, typical: tuple[float, float]) -> Parameter:
    return Parameter(
        name=name,
        check=_check_nonnegative,
        quantity="row_" + {"low": "min", "high": "max"}.get(name, name),
        domain="[0, inf)",
        meaning=f"{meaning} of the work of an item, such as the length of a row",
        typical=typical,
    )


def _count_parameter(
    name: str, quantity: str, least: str, meaning: str, typical: Any, like: int
) -> Parameter:
    return Parameter(
        name=name,
        check=partial(check_integer, least=0, example=like),
        quantity=quantity,
        domain=f"whole [{least}, inf)",
        meaning=meaning,
        typical=typical,
    )


def _scalar_deviance(x: float, mean: float) -> float:
    """Return x·log(x/m) + m - x with a precision of a few digits, where m is ``mean``."""
    return x * math.log1p((x - mean) / mean) - (x - mean)


def _representable_end(log_pmf: Callable[[int], float], outside: int, mode: int) -> int:
    """Return the value nearest to ``outside`` whose probability a double can represent."""
    while abs(mode - outside) > 1:
        middle = (mode + outside) // 2
        if log_pmf(middle) < SMALLEST_LOG:
            outside = middle
        else:
            mode = middle
    return mode


def _poisson_ends(rate: float) -> tuple[int, float]:
    if -rate >= SMALLEST_LOG:
        return 0, math.inf

    def log_pmf(k: int) -> float:
        return -_scalar_deviance(k, rate) - math.log(math.tau * k) / 2

    return _representable_end(log_pmf, 0, int(rate)), math.inf


def _binomial_mode(n: int, p: float) -> int:
    return min(int((n + 1) * p), n)


def _binomial_ends(n: int, p: float) -> tuple[int, int]:
    mode = _binomial_mode(n, p)

    def log_pmf(k: int) -> float:
        away = _scalar_deviance(k, n * p) + _scalar_deviance(n - k, n * (1 - p))
        return -away - math.log(math.tau * k * (n - k) / n) / 2

    low = 0 if n * math.log1p(-p) >= SMALLEST_LOG else _representable_end(log_pmf, 0, mode)
    high = n if n * math.log(p) >= SMALLEST_LOG else _representable_end(log_pmf, n, mode)
    return low, high


def _negative_binomial_mode(r: float, p: float) -> int:
    return max(int((r - 1) * (1 - p) / p), 0)


def _negative_binomial_ends(r: float, p: float) -> tuple[int, float]:
    if r * math.log(p) >= SMALLEST_LOG:
        return 0, math.inf

    def log_pmf(k: int) -> float:
        n = r + k
        away = _scalar_deviance(r, n * p) + _scalar_deviance(k, n * (1 - p))
        return -away - math.log(math.tau * k * n / r) / 2

    return _representable_end(log_pmf, 0, _negative_binomial_mode(r, p)), math.inf


def _complement(p: float) -> tuple[float, float]:
    q = 1 - p
    return q, (1 - q) - p


def _binomial_steps(n: int, p: float) -> tuple[float, float, float, float]:
    odds = Fraction(p) / (1 - Fraction(p))
    return float(odds), float(odds - Fraction(float(odds))), float(n), -1.0


# --- Poisson, binomial and negative binomial probabilities without cancellation: Loader, "Fast and
# accurate computation of binomial probabilities" (2000). The large terms of the logarithm are
# combined into deviances, which vanish at the mean, and into remainders of Stirling's formula. The
# relative rounding error is then about 1e-16 · (1 + |log p|).

#: Coefficients of 1/x, 1/x³, ... in log Γ(x+1) = x·log x - x + log(2πx)/2 + 1/(12x) - 1/(360x³) ...
_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_FAR = 16.0  # Smallest x at which the series is exact to 1e-17.
_NEAR = 0.5  # Largest |x-m|/(x+m) at which we sum a series for the deviance; above, little cancels.
_TERMS = 28  # Number of terms of the deviance series: 0.5**(2·28) / 59 < 1e-18.


def _stirling_remainder(x: Floats) -> Floats:
    """Return log Γ(x+1) - (x·log x - x + log(2πx)/2), for x > 0."""
    result = np.zeros_like(x)
    y = x.copy()
    for _ in range(int(_FAR)):
        small = y < _FAR
        if not small.any():
            break
        near = y[small]
        result[small] += (near + 0.5) * np.log1p(1 / near) - 1
        y[small] = near + 1
    square = 1 / (y * y)
    series = np.zeros_like(y)
    for coefficient in reversed(_SERIES):
        series = series * square + coefficient
    return np.asarray(result + series / y)


def _deviance(x: Floats, mean: float | Floats, rest: float | Floats) -> Floats:
    """Return x·log(x/m) + m - x, for x > 0 and m = mean + rest; rest is the error of mean."""
    apart = x - mean
    v = apart / (x + mean)
    square = v * v
    series = np.zeros_like(x)
    for j in range(_TERMS, 0, -1):
        series = (series + 1 / (2 * j + 1)) * square
    near = v * apart + 2 * x * v * series
    with np.errstate(divide="ignore"):
        far = x * np.log(x / mean) - apart
    return np.where(np.abs(v) < _NEAR, near, far) - rest * (apart / mean)


def _exact_product(a: Any, b: float) -> tuple[Any, Any]:
    """Return a·b as the rounded product and its error (Dekker 1971)."""
    product = a * b
    split = 134217729.0
    t = split * a
    ah = t - (t - a)
    al = a - ah
    t = split * b
    bh = t - (t - b)
    bl = b - bh
    return product, ((ah * bh - product) + ah * bl + al * bh) + al * bl


def poisson_pmf(k: Floats, rate: float | Floats) -> Floats:
    """Return P(W = k) for a Poisson law with rate > 0."""
    x = np.maximum(k, 1.0)
    inside = np.exp(-_stirling_remainder(x) - _deviance(x, rate, 0.0)) / np.sqrt(2 * math.pi * x)
    return np.where(k == 0, np.exp(-rate), inside)


def _binomial_pmf(k: Floats, trials: int, p: float) -> Floats:
    n = float(trials)
    ends = np.where(k == 0, math.exp(n * math.log1p(-p)), p**n)
    if trials == 1:
        return ends
    x = np.minimum(np.maximum(k, 1.0), n - 1)
    y = n - x
    mean, rest = _exact_product(n, p)
    other = n - mean
    lost = ((n - other) - mean) - rest
    log = _stirling_remainder(np.array([n]))[0] - _stirling_remainder(x) - _stirling_remainder(y)
    log = log - _deviance(x, mean, rest) - _deviance(y, other, lost)
    inside = np.exp(log) * np.sqrt(n / (2 * math.pi * x * y))
    return np.where((k == 0) | (k == n), ends, inside)


def _negative_binomial_pmf(k: Floats, r: float, p: float) -> Floats:
    x = np.maximum(k, 1.0)
    n = x + r
    successes, rest = _exact_product(n, p)
    failures = n - successes
    lost = ((n - failures) - successes) - rest
    both = np.full_like(x, r)
    log = _stirling_remainder(n) - _stirling_remainder(both) - _stirling_remainder(x)
    log = log - _deviance(both, successes, rest) - _deviance(x, failures, lost)
    inside = np.exp(log) * np.sqrt(r / (2 * math.pi * x * n))
    return np.where(k == 0, math.exp(r * math.log(p)), inside)


# --- The law with five given quantiles and a mean. A quarter of the items lies between two
# neighbouring quantiles a <= b, at a + (b - a)·v**g with v uniform in [0, 1]; its mean is
# a + share·(b - a) with share = 1/(g + 1). The lower three quarters are uniform (share 1/2), unless
# the mean is out of reach of the tail, which alone takes up the rest of the mean.


def _quantile_shares(*values: float) -> tuple[float, float]:
    """Return ``share`` of the lower three quarters and of the tail; outside [0, 1]: no such law."""
    low, q1, median, q3, high, mean = values
    missing = 4 * mean - (low + q1 + median + q3)
    tail = high - q3
    excess = min(max(missing - (q3 - low) / 2, 0.0), tail)
    body = (missing - excess) / (q3 - low) if q3 > low else 0.5 + missing - excess
    return body, excess / tail if tail else 0.5


def _check_quantiles(*values: float) -> str:
    *ends, mean = values
    if ends != sorted(ends):
        return f"the quantiles {', '.join(map(repr, ends))} do not ascend: expected low to high"
    check_span(0, math.ceil(ends[-1]), "the law", "count the work in larger units")
    if not -1e-9 <= _quantile_shares(*values)[0] <= 1 + 1e-9:
        least, most = sum(ends[:4]) / 4, sum(ends[1:]) / 4
        return f"mean = {mean!r}: these quantiles allow a mean from {least!r} to {most!r}"
    return ""


def _quantile_weights(*values: float) -> Floats:
    """Return P(W = 0), P(W = 1), ...; rounding up or down at random keeps the mean of the law."""
    *ends, _ = values
    body, tail = _quantile_shares(*values)
    k = np.arange(-1.0, math.ceil(ends[-1]) + 2)
    above = np.zeros_like(k)  # E[max(X - k, 0)], four times
    for low, high, shape in zip(ends, ends[1:], (body, body, body, tail), strict=False):
        width, share = high - low, min(max(shape, 1e-300), 1 - 2**-53)
        z = np.clip((k - low) / width, 0.0, 1.0) if width else np.zeros_like(k)
        with np.errstate(divide="ignore"):
            reached = -np.expm1(share / (1 - share) * np.log(z))
        inside = width * (share * (1 - z) - (1 - share) * z * reached)
        above += np.where(k < low, low + share * width - k, inside)
    weights = np.maximum(np.diff(above, 2), 0.0)
    weights[: math.floor(ends[0])] = 0.0
    return np.asarray(weights / math.fsum(weights))


def _scipy_special(name: str, *arguments: Any) -> Any:
    import scipy.special

    return getattr(scipy.special, name)(*arguments)


#: Append new rows at the end: the index of a row is part of the seed of the replicates of fits.
FAMILIES: Mapping[str, LawFamily] = {
    row.name: row
    for row in (
        LawFamily(
            name="bernoulli",
            summary="The number 1 with probability p, else 0.",
            example="bernoulli:1/4",
            parameters=(_probability_parameter(_check_probability_or_0),),
            constant=lambda p: int(p) if p in (0, 1) else None,
            weights=lambda p: [1 - p, p],
            estimate=lambda h: (
                (h.mean,) if h.high <= 1 else "a Bernoulli law has the values 0 and 1 only"
            ),
            errors=lambda h, p: (math.sqrt(p * (1 - p) / h.size),),
            log_likelihood=lambda h, p: h.total * math.log(p) + (h.size - h.total) * math.log1p(-p),
            scipy=("bernoulli", ("p",)),
        ),
        LawFamily(
            name="binomial",
            summary="Number of successes in independent trials, each with success probability p.",
            example="binomial:40,0.5",
            parameters=(
                _count_parameter(
                    "trials", "trial_count", "1", "trials of a binomial law", (1, 100), 40
                ),
                _probability_parameter(_check_probability_or_0),
            ),
            constant=lambda n, p: n * int(p) if n == 0 or p in (0, 1) else None,
            pmf=_binomial_pmf,
            sf=lambda k, n, p: _scipy_special("betainc", k + 1.0, n - k, p),
            cdf=lambda k, n, p: _scipy_special("betaincc", k + 1.0, n - k, p),
            mean=lambda n, p: n * p,
            var=lambda n, p: n * p * (1 - p),
            draw=lambda rng, size, n, p: rng.binomial(n, p, size),
            support_ends=_binomial_ends,
            mode=_binomial_mode,
            term_ratio=_binomial_steps,
            additive_parameter="trials",
            estimate=_fit_binomial,
            errors=_binomial_errors,
            log_likelihood=lambda h, trials, p: _log_likelihood_at_dispersion(h, -1 / trials),
            limit_family="poisson",
            scipy=("binom", ("n", "p")),
        ),
        LawFamily(
            name="geometric",
            summary="Number of trials up to and including the first success of probability p.",
            example="geometric:0.05",
            note="trials, from 1",
            parameters=(_probability_parameter(arguments.check_probability),),
            constant=lambda p: 1 if p == 1 else None,
            pmf=lambda k, p: np.asarray(p * np.exp((k - 1) * math.log1p(-p))),
            sf=lambda k, p: np.exp(k * math.log1p(-p)),
            cdf=lambda k, p: -np.expm1(k * math.log1p(-p)),
            mean=lambda p: 1 / p,
            var=lambda p: (1 - p) * (1 / p) ** 2,
            draw=lambda rng, size, p: rng.geometric(p, size),
            support_ends=lambda _: (1, math.inf),
            mode=lambda _: 1,
            term_ratio=lambda p: (*_complement(p), 1.0, 1.0),
            additive_form=lambda p: (1, "negative_binomial", (1.0, p)),
            is_memoryless=True,
            estimate=lambda h: (
                (h.size / h.total,)
                if h.low >= 1
                else "a geometric law counts trials, so its values start at 1, and there are zeros"
            ),
            errors=lambda h, p: (p * math.sqrt((1 - p) / h.size),),
            log_likelihood=lambda h, p: (
                h.size * math.log(p) + ((h.total - h.size) * math.log1p(-p) if p < 1 else 0.0)
            ),
            scipy=("geom", ("p",)),
        ),
        LawFamily(
            name="negative_binomial",
            summary="Number of failures before the r-th success of probability p; r > 0 is real.",
            example="negative_binomial:5,0.3",
            note="failures",
            aliases=("nb", "negbin"),
            parameters=(
                Parameter(
                    name="r",
                    check=arguments.check_positive,
                    quantity="success_count",
                    domain="(0, inf)",
                    meaning="successes waited for while failures count",
                    typical=(1, 20),
                ),
                _probability_parameter(arguments.check_probability),
            ),
            constant=lambda r, p: 0 if p == 1 else None,
            pmf=_negative_binomial_pmf,
            sf=lambda k, r, p: _scipy_special("betaincc", r, k + 1.0, p),
            cdf=lambda k, r, p: _scipy_special("betainc", r, k + 1.0, p),
            mean=lambda r, p: r * (1 - p) / p,
            var=lambda r, p: r * (1 - p) / p / p,
            draw=lambda rng, size, r, p: rng.negative_binomial(r, p, size),
            support_ends=_negative_binomial_ends,
            mode=_negative_binomial_mode,
            term_ratio=lambda r, p: (*_complement(p), r, 1.0),
            additive_parameter="r",
            estimate=_fit_negative_binomial,
            errors=_negative_binomial_errors,
            log_likelihood=lambda h, r, p: _log_likelihood_at_dispersion(h, 1 / r),
            limit_family="poisson",
            scipy=("nbinom", ("n", "p")),
        ),
        LawFamily(
            name="poisson",
            summary="Number of independent events with the given mean, ``rate``.",
            example="poisson:30",
            parameters=(
                Parameter(
                    name="rate",
                    check=_check_nonnegative,
                    quantity="event_rate",
                    domain="(0, inf)",
                    meaning="mean of a Poisson law",
                    typical=(1, 100),
                ),
            ),
            constant=lambda rate: 0 if rate == 0 else None,
            pmf=poisson_pmf,
            sf=lambda k, rate: _scipy_special("gammainc", k + 1.0, rate),
            cdf=lambda k, rate: _scipy_special("gammaincc", k + 1.0, rate),
            mean=lambda rate: rate,
            var=lambda rate: rate,
            draw=lambda rng, size, rate: rng.poisson(rate, size),
            support_ends=_poisson_ends,
            mode=lambda rate: int(rate),
            term_ratio=lambda rate: (rate, 0.0, 1.0, 0.0),
            additive_parameter="rate",
            estimate=lambda h: (h.mean,),
            errors=lambda h, rate: (math.sqrt(rate / h.size),),
            log_likelihood=lambda h, _: _log_likelihood_at_dispersion(h, 0.0),
            scipy=("poisson", ("mu",)),
        ),
        LawFamily(
            name="uniform",
            summary="Whole number from low to high (both included), all with the same probability.",
            example="uniform:20,40",
            note="inclusive",
            parameters=(
                _count_parameter(
                    "low", "lowest_work", "0", "shortest item of a uniform law", (0, 20), 20
                ),
                _count_parameter(
                    "high", "highest_work", "0", "longest item of a uniform law", (20, 100), 40
                ),
            ),
            check=lambda low, high: (
                f"low = {low} is above high = {high}: expected low <= high" if high < low else ""
            ),
            pmf=lambda k, low, high: np.full(k.shape, 1 / (high - low + 1)),
            sf=lambda k, low, high: (high - k) / (high - low + 1),
            cdf=lambda k, low, high: (k - low + 1) / (high - low + 1),
            mean=lambda low, high: (low + high) / 2,
            var=lambda low, high: ((high - low + 1) ** 2 - 1) / 12,
            draw=lambda rng, size, low, high: rng.integers(low, high, size, endpoint=True),
            support_ends=lambda low, high: (low, high),
            estimate=lambda h: (h.low, h.high),
            errors=_uniform_errors,
            log_likelihood=lambda h, low, high: -h.size * math.log(high - low + 1),
        ),
        LawFamily(
            name="quantiles",
            summary="Whole number with five quantiles and a mean, which shapes the tail above q3.",
            example="quantiles:1,4,6,9,80,8.5",
            parameters=(
                _quantile_parameter("low", "least value", (0, 2)),
                _quantile_parameter("q1", "lower quartile", (3, 5)),
                _quantile_parameter("median", "median", (6, 8)),
                _quantile_parameter("q3", "upper quartile", (9, 12)),
                _quantile_parameter("high", "largest value", (60, 100)),
                _quantile_parameter("mean", "mean", (7, 19)),
            ),
            check=_check_quantiles,
            weights=_quantile_weights,
        ),
    )
}
