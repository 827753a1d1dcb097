"""Define the law of the work of one item, a probability mass function over 0, 1, 2, ..."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stochastic.arrays import Floats
from stochastic.checks import LawError, check_fraction, check_integer
from stochastic.work import arguments
from stochastic.work.distribution import (
    HASHED_WEIGHTS,
    Distribution,
    Tabulated,
    convolve_copies,
    first_true,
    maximum_weights,
    tabulate,
)
from stochastic.work.families import FAMILIES, FamilyLaw
from stochastic.work.transforms import (
    Affine,
    LeftTruncated,
    Maximum,
    Mixture,
    closed_form_sum,
    no_probability_error,
    shift_law,
    tabulate_range,
)

_LONG = 100  # Upper limit on the characters of a repr.
_NEGLIGIBLE_TAIL = 1e-20  # Tail left out of each infinite law in a sum without a closed form.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Pmf:
    """The law of a non-negative integer, such as the iterations of one work item.

    Constructors build laws. Laws are immutable, and are compared and hashed by content.

    Attributes:
        missing: Bound on the probability that truncation left out, and so on the error of any
            probability.

    >>> law = Pmf.geometric(0.05)
    >>> law.mean(), law.var(), law.high
    (20.0, 380.0, inf)
    >>> law.cut(1e-6).high
    270
    >>> round(Pmf.uniform(1, 6).sum_of(2).pmf(7), 12)
    0.166666666667
    """

    distribution: Distribution
    missing: float = 0.0
    _table: Tabulated | None = field(default=None, init=False)

    @classmethod
    def geometric(cls, p: float) -> Pmf:
        """Number of trials up to and including the first success of probability p."""
        return cls.of_family("geometric", p)

    @classmethod
    def poisson(cls, rate: float) -> Pmf:
        """Number of independent events with the given mean, ``rate``."""
        return cls.of_family("poisson", rate)

    @classmethod
    def binomial(cls, trials: int, p: float) -> Pmf:
        """Number of successes in independent trials, each with success probability p."""
        return cls.of_family("binomial", trials, p)

    @classmethod
    def negative_binomial(cls, r: float, p: float) -> Pmf:
        """Number of failures before the r-th success of probability p; r > 0 is real."""
        return cls.of_family("negative_binomial", r, p)

    @classmethod
    def uniform(cls, low: int, high: int) -> Pmf:
        """Whole number from low to high (both included), all with the same probability."""
        return cls.of_family("uniform", low, high)

    @classmethod
    def bernoulli(cls, p: float) -> Pmf:
        """The number 1 with probability p, else 0."""
        return cls.of_family("bernoulli", p)

    @classmethod
    def quantiles(
        cls, low: float, q1: float, median: float, q3: float, high: float, mean: float
    ) -> Pmf:
        """Whole number with five quantiles and a mean, which shapes the tail above q3."""
        return cls.of_family("quantiles", low, q1, median, q3, high, mean)

    @classmethod
    def of_family(cls, family: str, *parameters: Any) -> Pmf:
        """Return a law of the family with this name in `stochastic.work.families.FAMILIES`."""
        return cls(distribution=FAMILIES[family].law(*parameters))

    @classmethod
    def from_weights(cls, weights: Any, low: int = 0, *, normalise: bool = False) -> Pmf:
        """Return the law with the given weights of low, low + 1, ..., or of a mapping's keys.

        The sum must be 1 (floats: within 1e-9; Fractions: exactly); ``normalise`` divides by it.

        >>> Pmf.from_weights({3: 1, 5: 3}, normalise=True).weights.tolist()
        [0.25, 0.0, 0.75]
        """
        return cls(distribution=arguments.law_from_weights(weights, low, normalise))

    @classmethod
    def from_counts(cls, counts: Any, low: int = 0) -> Pmf:
        """Return the law of an item, from counts of items with work low, ..., or a mapping."""
        return cls(distribution=arguments.law_from_counts(counts, low))

    @classmethod
    def from_samples(cls, samples: Any) -> Pmf:
        """Return the law of a randomly drawn sample; samples are whole numbers in any shape."""
        return cls(distribution=arguments.law_from_samples(samples))

    @classmethod
    def from_scipy(cls, frozen: Any) -> Pmf:
        """Convert a frozen discrete law of ``scipy.stats``; if possible, to a named family.

        >>> import scipy.stats
        >>> Pmf.from_scipy(scipy.stats.nbinom(5, 0.3, loc=2))
        Pmf.negative_binomial(5, 0.3).shift(2)
        """
        from stochastic.work.scipy_laws import family_arguments, law_from_scipy

        result = family_arguments(frozen)
        if result is None:
            return cls(distribution=law_from_scipy(frozen))
        name, arguments, shift = result
        return cls.of_family(name, *arguments).shift(shift)

    @classmethod
    def mixture(cls, parts: Iterable[tuple[Any, Pmf]], *, normalise: bool = False) -> Pmf:
        """Return the law of an item whose law is drawn from pairs (probability, law).

        >>> Pmf.mixture([(0.9, Pmf.uniform(1, 3)), (0.1, Pmf.geometric(0.01))]).mean()
        11.8
        """
        pairs = list(parts)
        if not pairs or not all(map(is_weighted_law, pairs)):
            raise LawError(f"parts = {pairs!r:.80}: expected a list of pairs (probability, Pmf)")
        shares = arguments.normalize_weights(
            [pair[0] for pair in pairs], normalise, "probabilities"
        ).tolist()
        laws = [(share, law) for share, (_, law) in zip(shares, pairs, strict=True) if share]
        if len(laws) == 1:
            return laws[0][1]
        law: Distribution = Mixture(tuple((share, law.distribution) for share, law in laws))
        if law.high < math.inf:
            law = tabulate_range(law, law.low, int(law.high), law.text)
        return cls(distribution=law, missing=sum(share * law.missing for share, law in laws))

    @classmethod
    def parse(cls, text: str) -> Pmf:
        """Parse a law: ``geometric:0.05``, ``uniform:20,40`` or the path of a CSV file.

        Other laws are ``poisson:30 binomial:40,0.5 negative_binomial:5,0.3 bernoulli:1/4
        weights:0.2,0.8``; the name of a family may be abbreviated if it stays unique. A CSV
        file has a column of samples, or a column of values and one of probabilities or counts.

        >>> Pmf.parse("nb:5,0.3")
        Pmf.negative_binomial(5, 0.3)
        """
        from stochastic.work.parse import parse_law

        name, arguments = parse_law(text)
        if name in FAMILIES:
            return cls.of_family(name, *arguments)
        return getattr(cls, name)(*arguments)

    @property
    def low(self) -> int:
        """Return the smallest value whose probability a double can represent."""
        return self.distribution.low

    @property
    def high(self) -> float:
        """Return the largest value, a whole number, or ``math.inf``."""
        return self.distribution.high

    @property
    def is_finite(self) -> bool:
        """True if the law has a largest value."""
        return self.distribution.high < math.inf

    def support(self) -> tuple[int, float]:
        """Return the smallest and the largest value."""
        return self.low, self.high

    @property
    def weights(self) -> Floats:
        """Return P(W = low), ..., P(W = high) of a finite law as a read-only array."""
        return self._finite_table().weights

    def _finite_table(self) -> Tabulated:
        if isinstance(self.distribution, Tabulated):
            return self.distribution
        if not self.is_finite:
            raise LawError(f"{self!r} has no last value: cut(eps) truncates it, such as cut(1e-9)")
        if self._table is None:
            law = self.distribution
            table = tabulate_range(law, law.low, int(law.high), law.text)
            object.__setattr__(self, "_table", table)
        assert self._table is not None
        return self._table

    def __repr__(self) -> str:
        text = self.distribution.text
        return text if len(text) <= _LONG else f"Pmf({self.low}..{self.high})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pmf):
            return NotImplemented
        if (self.support(), self.missing) != (other.support(), other.missing):
            return False
        if self.distribution == other.distribution:
            return True
        return self.is_finite and self._finite_table() == other._finite_table()

    def __hash__(self) -> int:
        if self.is_finite:
            small = self.high - self.low < HASHED_WEIGHTS
            return hash((self.support(), self.weights.tobytes() if small else b""))
        return hash(self.distribution)

    def mean(self) -> float:
        """Return E[W]; LawError if it is infinite."""
        self._check_finite_mean()
        return self.distribution.mean()

    def var(self) -> float:
        """Return E[(W - E[W])²], which may be ``math.inf``."""
        self._check_finite_mean()
        return self.distribution.var()

    def std(self) -> float:
        """Return the square root of the variance."""
        return math.sqrt(self.var())

    def _check_finite_mean(self) -> None:
        if self.distribution.has_infinite_mean:
            raise LawError(
                f"{self!r} has an infinite mean, which no cut can approximate: bound it with "
                "truncate(high), or condition it on a range with between(low, high)"
            )

    def pmf(self, k: Any) -> Any:
        """Return P(W = k) for a number or an array; it is 0 for numbers that W cannot take."""
        numbers = _check_numbers("k", k)
        is_value = (numbers >= self.low) & (numbers <= self.high) & (np.floor(numbers) == numbers)
        result = np.zeros(numbers.shape)
        result[is_value] = self.distribution.pmf(numbers[is_value])
        return _scalar_or_array(result)

    def cdf(self, k: Any) -> Any:
        """Return P(W <= k) for a number or an array."""
        return self._probability_at(k, 0.0, self.distribution.cdf)

    def sf(self, k: Any) -> Any:
        """Return P(W > k) for a number or an array, with a small relative error."""
        return self._probability_at(k, 1.0, self.distribution.sf)

    def _probability_at(self, k: Any, before: float, inside: Callable[[Any], Any]) -> Any:
        numbers = np.floor(_check_numbers("k", k))
        is_inside = (numbers >= self.low) & (numbers < self.high)
        result = np.where(numbers < self.low, before, 1.0 - before)
        result[is_inside] = inside(numbers[is_inside])
        return _scalar_or_array(result)

    def quantile(self, q: Any) -> Any:
        """Return the smallest k with P(W <= k) >= q, for a number or an array of probabilities."""
        levels = _check_numbers("q", q)
        most = levels.max(initial=0.0)
        if not (np.all(levels >= 0) and most <= 1):
            raise LawError(f"q = {q!r}: expected probabilities from 0 to 1")
        if most == 1 and not self.is_finite:
            raise LawError(f"q = 1: {self!r} has no largest value; expected a probability below 1")
        result = [self._quantile(one) for one in levels.ravel().tolist()]
        return _scalar_or_array(np.array(result, dtype=np.int64).reshape(levels.shape))

    def _quantile(self, q: float) -> int:
        law = self.distribution
        if q == 1:
            return int(law.high)
        if isinstance(law, Tabulated):
            return law.low + int(np.searchsorted(law.cdf_and_sf()[0], q))
        result = first_true(lambda k: k >= law.high or bool(law.cdf(float(k)) >= q), law.low)
        if result is None:
            raise LawError(f"the quantile {q!r} of {self!r} is beyond 2**62: expected a lower q")
        return result

    def sample(self, size: Any = None, seed: Any = 0) -> Any:
        """Return one draw, or an array of the shape ``size``; ``seed`` is an int or a Generator."""
        draws = self.distribution.sample(np.random.default_rng(seed), size)
        return _scalar_or_array(np.asarray(draws))

    def cut(self, eps: float) -> Pmf:
        """Truncate an infinite law at the smallest S with P(W > S) < eps, and renormalise it.

        A finite law is returned unchanged. LawError if the mean is infinite, or the law too large.
        """
        eps = check_fraction("eps", eps, "1e-6")
        if self.is_finite:
            return self
        self._check_finite_mean()
        return self._truncate_at(self.distribution.tail_end(eps), f"cut({eps!r})")

    def truncate(self, high: int) -> Pmf:
        """Return the law truncated at ``high`` and renormalised; ``missing`` grows by the tail."""
        high = check_integer("high", high, least=0, example=1000)
        return self if high >= self.high else self._truncate_at(high, f"truncate({high})")

    def _truncate_at(self, high: int, how: str) -> Pmf:
        law = self.distribution
        if high < law.low:
            raise no_probability_error(law, 0, high)
        table = tabulate_range(law, law.low, high, f"{law.text}.{how}")
        beyond = float(law.sf(float(high)))
        return replace(self, distribution=table, missing=min(self.missing + beyond, 1.0))

    def between(self, low: int, high: int | None = None) -> Pmf:
        """Return the law of W given low <= W <= high; if ``high`` is None, given low <= W.

        >>> Pmf.geometric(0.05).between(21).mean()  # memoryless
        40.0
        """
        low = check_integer("low", low, least=0, example=1)
        top = math.inf if high is None else check_integer("high", high, least=0, example=1000)
        if low <= self.low and top >= self.high:
            return self
        law = self.distribution
        if top < max(low, law.low) or low > law.high:
            raise no_probability_error(law, low, top)
        low = max(low, law.low)
        mass = float(law.sf(low - 1.0)) if low > law.low else 1.0
        part: Distribution
        if top < law.high or self.is_finite:
            last = int(min(top, law.high))
            part = tabulate_range(law, low, last, f"{law.text}.between({low}, {last})")
            mass -= float(law.sf(float(last))) if last < law.high else 0.0
        elif mass == 0:
            raise no_probability_error(law, low, top)
        elif isinstance(law, FamilyLaw) and law.family.is_memoryless:
            part = shift_law(law, low - law.low)
        else:
            part = LeftTruncated(law.base if isinstance(law, LeftTruncated) else law, low)
        return replace(self, distribution=part, missing=min(self.missing / mass, 1.0))

    def shift(self, k: int) -> Pmf:
        """Return the law of W + k; k may be negative if no value becomes negative.

        Laws of different forms are not equal, although the two laws here have the same
        probabilities:

        >>> Pmf.geometric(0.05).shift(-1) == Pmf.negative_binomial(1, 0.05)
        False
        """
        k = check_integer("k", k, least=-self.low, example=1)
        return self if k == 0 else replace(self, distribution=shift_law(self.distribution, k))

    def scale(self, k: int) -> Pmf:
        """Return the law of k·W, k >= 1: the same work in a unit that is 1/k as large."""
        k = check_integer("k", k, least=1, example=2)
        of, times = self.distribution, k
        if isinstance(of, Affine) and not of.offset:
            times, of = of.factor * k, of.base
        return self if k == 1 else replace(self, distribution=Affine(of, times, 0))

    def sum_of(self, copies: int) -> Pmf:
        """Return the law of the sum of independent copies.

        Geometric, Poisson, binomial and negative binomial laws have a closed form. Other laws are
        convolved; an infinite law is first truncated at a tail of 1e-20.
        """
        copies = check_integer("copies", copies, least=1, example=32)
        if copies == 1:
            return self
        return self._sum_parts([(copies, self)], f"{self!r}.sum_of({copies})")

    def __add__(self, other: object) -> Pmf:
        if not isinstance(other, Pmf):
            return NotImplemented
        return self._sum_parts([(1, self), (1, other)], f"({self!r} + {other!r})")

    @staticmethod
    def _sum_parts(parts: list[tuple[int, Pmf]], constructor_text: str) -> Pmf:
        law = closed_form_sum([(copies, law.distribution) for copies, law in parts])
        if law is None:
            parts = [(copies, law.cut(_NEGLIGIBLE_TAIL)) for copies, law in parts]
            table = np.ones(1)
            for copies, part in parts:
                table = convolve_copies(table, part.weights, copies, constructor_text)
            low = sum(copies * part.low for copies, part in parts)
            law = tabulate(low, table / table.sum(), constructor_text=constructor_text)
        return Pmf(distribution=law, missing=_combined_missing(parts))

    def max_of(self, copies: int) -> Pmf:
        """Return the law of the maximum of independent copies, whose CDF is P(W <= k)**copies."""
        copies = check_integer("copies", copies, least=1, example=32)
        if copies == 1:
            return self
        law = self.distribution
        if self.is_finite:
            whole_law = self._finite_table()
            table = maximum_weights(whole_law.weights, 0.0, copies)
            made = f"{whole_law.text}.max_of({copies})"
            law = tabulate(whole_law.low, table / table.sum(), made)
        elif isinstance(law, Maximum):
            law = Maximum(law.base, copies * law.copies)
        else:
            law = Maximum(law, copies)
        return replace(self, distribution=law, missing=_combined_missing([(copies, self)]))


def _combined_missing(parts: list[tuple[int, Pmf]]) -> float:
    """Return 1 - Π (1 - missing)**copies, a bound on P(truncation changes some item)."""
    if any(law.missing >= 1 for _, law in parts):
        return 1.0
    return -math.expm1(sum(copies * math.log1p(-law.missing) for copies, law in parts))


def check_law(pmf: Any) -> Pmf:
    """Return the argument if it is a law of work; LawError for anything else."""
    if not isinstance(pmf, Pmf):
        raise LawError(
            f"{pmf!r} is no law of work: expected a Pmf, such as Pmf.geometric(0.05) or "
            "Pmf.from_samples(lengths)"
        )
    return pmf


def is_weighted_law(value: Any) -> bool:
    """True if a value is a pair (probability, Pmf); the probability is not checked."""
    return isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[1], Pmf)


def _check_numbers(name: str, values: Any) -> Floats:
    try:
        result = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise LawError(f"{name} = {values!r}: expected a number or an array of them") from None
    if np.isnan(result).any():
        raise LawError(f"{name} = {values!r}: expected numbers, not NaN")
    return result


def _scalar_or_array(array: Any) -> Any:
    return array.item() if array.ndim == 0 else array
