"""The law of the work of one item: a probability mass function over 0, 1, 2, ..."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from stochastic.checks import fraction, whole
from stochastic.errors import LawError
from stochastic.work import algebra, given
from stochastic.work.binomial import Binomial
from stochastic.work.chances import Chances
from stochastic.work.combined import closed_sum
from stochastic.work.geometric import Geometric
from stochastic.work.moved import scaled, shifted
from stochastic.work.negative_binomial import NegativeBinomial
from stochastic.work.poisson import Poisson
from stochastic.work.tabulated import Tabulated, tabulated
from stochastic.work.uniform import Uniform

__all__ = ["Pmf", "law_of_work"]

_NOTHING = 1e-20  # the tail that a sum without a closed form leaves out of each of its terms


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Pmf(Chances):
    """The law of a non-negative integer, such as the iterations of one work item.

    Build one by the constructors below; laws are immutable, comparable and hashable by content.

    Attributes
    ----------
    missing : float
        Bound on the probability mass that cuts left out, so on how far any probability is from
        that of the law as it was constructed (total variation).

    >>> law = Pmf.geometric(0.05)
    >>> law.mean(), law.var(), law.high
    (20.0, 380.0, inf)
    >>> law.cut(1e-6).high
    270
    >>> Pmf.uniform(1, 6).sum_of(2).pmf(7) == 1 / 6
    True
    """

    # --- constructors
    @classmethod
    def geometric(cls, p: float) -> Pmf:
        """Trials up to the first success of probability p, from 1 on."""
        p = float(given.probability("p", p))
        return cls._constant(1, "geometric(1)") if p == 1 else cls(distribution=Geometric(p))

    @classmethod
    def poisson(cls, rate: float) -> Pmf:
        """Events that occur at a rate, independently."""
        rate = given.positive("rate", rate, zero=True)
        return cls._constant(0, "poisson(0)") if rate == 0 else cls(distribution=Poisson(rate))

    @classmethod
    def binomial(cls, trials: int, p: float | Fraction) -> Pmf:
        """Successes among trials, each with probability p."""
        trials = whole("trials", trials, least=0, example=40)
        p = given.probability("p", p, zero=True)
        if trials == 0 or p in (0, 1):
            return cls._constant(trials * int(p), f"binomial({trials}, {p!r})")
        return cls(distribution=Binomial(trials, p), _in_fractions=isinstance(p, Fraction))

    @classmethod
    def negative_binomial(cls, r: float, p: float) -> Pmf:
        """Failures before the r-th success of probability p; r > 0 need not be whole."""
        r, p = given.positive("r", r), float(given.probability("p", p))
        if p == 1:
            return cls._constant(0, f"negative_binomial({r!r}, 1)")
        return cls(distribution=NegativeBinomial(r, p))

    @classmethod
    def uniform(cls, low: int, high: int) -> Pmf:
        """Each of low, ..., high alike, both included."""
        low = whole("low", low, least=0, example=20)
        high = whole("high", high, least=0, example=40)
        if high < low:
            raise LawError(f"low = {low} is above high = {high}: expected low <= high")
        return cls(distribution=Uniform(low, high))

    @classmethod
    def bernoulli(cls, p: float | Fraction) -> Pmf:
        """1 with probability p, else 0."""
        p = given.probability("p", p, zero=True)
        if p in (0, 1):
            return cls._constant(int(p), f"bernoulli({p!r})")
        return cls._tabulated(*given.weighed([1 - p, p], 0, False, f"Pmf.bernoulli({p!r})"))

    @classmethod
    def from_weights(cls, weights: Any, low: int = 0, *, normalise: bool = False) -> Pmf:
        """Probabilities of low, low + 1, ..., or a mapping from values to probabilities.

        Floats sum to one within 1e-9, Fractions exactly; ``normalise`` divides them by their sum.
        Fractions are kept, in ``exact``.

        >>> Pmf.from_weights({3: Fraction(1, 4), 5: Fraction(3, 4)}).exact
        (Fraction(1, 4), Fraction(0, 1), Fraction(3, 4))
        """
        return cls._tabulated(*given.weighed(weights, low, normalise))

    @classmethod
    def from_counts(cls, counts: Any, low: int = 0) -> Pmf:
        """Items seen with low, low + 1, ... of work, or a mapping from values to counts."""
        return cls(distribution=given.counted(counts, low))

    @classmethod
    def from_samples(cls, samples: Any) -> Pmf:
        """The law of drawing one of the samples: an array of whole numbers of any shape."""
        return cls(distribution=given.drawn(samples))

    @classmethod
    def from_scipy(cls, frozen: Any) -> Pmf:
        """A discrete law of ``scipy.stats`` with its parameters; its families become ours.

        >>> import scipy.stats
        >>> Pmf.from_scipy(scipy.stats.nbinom(5, 0.3, loc=2))
        Pmf.negative_binomial(5, 0.3).shift(2)
        """
        from stochastic.work.imported import family_of, imported

        found = family_of(frozen)
        if found is None:
            return cls(distribution=imported(frozen))
        name, arguments, shift = found
        law: Pmf = getattr(cls, name)(*arguments)
        return law.shift(shift)

    @classmethod
    def mixture(cls, parts: Iterable[tuple[Any, Pmf]], *, normalise: bool = False) -> Pmf:
        """One of several laws, drawn with given probabilities: pairs (probability, law).

        >>> Pmf.mixture([(0.9, Pmf.uniform(1, 3)), (0.1, Pmf.geometric(0.01))]).mean()
        11.8
        """
        pairs = list(parts)
        if not pairs or not all(
            isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[1], Pmf)
            for pair in pairs
        ):
            raise LawError(f"parts = {pairs!r:.80}: expected a list of pairs (probability, Pmf)")
        shares, fractions = given.shares([pair[0] for pair in pairs], normalise, "probabilities")
        laws = [(share, law) for share, (_, law) in zip(shares, pairs, strict=True) if share]
        if len(laws) == 1:
            return laws[0][1]
        return cls(
            distribution=algebra.mixture([(share, law.distribution) for share, law in laws]),
            missing=sum(float(share) * law.missing for share, law in laws),
            _in_fractions=fractions and all(law.given_exactly for _, law in laws),
        )

    @classmethod
    def parse(cls, text: str) -> Pmf:
        """A law as it is spoken: ``geometric:0.05``, ``uniform:20,40`` or the path of a CSV file.

        Also ``poisson:30 binomial:40,0.5 negative_binomial:5,0.3 bernoulli:1/4 weights:0.2,0.8``;
        a family may be shortened as long as it stays the only one. The file, also ``.csv.gz``, has
        a column of samples, or one of values and one of probabilities or counts.

        >>> Pmf.parse("nb:5,0.3")
        Pmf.negative_binomial(5, 0.3)
        """
        from stochastic.work.reading import spoken

        name, arguments = spoken(text)
        found: Pmf = getattr(cls, name)(*arguments)
        return found

    @classmethod
    def _constant(cls, value: int, made: str) -> Pmf:
        return cls(distribution=tabulated(value, None, (1,), f"Pmf.{made}"))

    @classmethod
    def _tabulated(cls, table: Tabulated, fractions: bool) -> Pmf:
        return cls(distribution=table, _in_fractions=fractions)

    # --- what becomes of it
    def cut(self, eps: float) -> Pmf:
        """The law up to the smallest S with P(W > S) < eps, renormalised; a finite law as it is.

        Raises
        ------
        LawError
            For an infinite mean, or a support too large to tabulate.
        """
        eps = fraction("eps", eps, "1e-6")
        if self.is_finite:
            return self
        self._refuse_endless()
        return self._truncated(self.distribution.beyond(eps), f"cut({eps!r})")

    def truncate(self, high: int) -> Pmf:
        """The law without what is above ``high``, renormalised; ``missing`` tells what that was."""
        high = whole("high", high, least=0, example=1000)
        return self if high >= self.high else self._truncated(high, f"truncate({high})")

    def _truncated(self, high: int, how: str) -> Pmf:
        made = f"{self.distribution.text}.{how}"
        table, beyond = algebra.truncated(self.distribution, high, made)
        return replace(self, distribution=table, missing=min(self.missing + beyond, 1.0))

    def between(self, low: int, high: int | None = None) -> Pmf:
        """The law on condition that low <= W <= high; ``high`` may be left out.

        >>> Pmf.geometric(0.05).between(21).mean()  # it forgets what was
        40.0
        """
        low = whole("low", low, least=0, example=1)
        top = math.inf if high is None else whole("high", high, least=0, example=1000)
        if low <= self.low and top >= self.high:
            return self
        law, mass = algebra.between(self.distribution, low, top)
        return replace(self, distribution=law, missing=min(self.missing / mass, 1.0))

    def shift(self, k: int) -> Pmf:
        """The law of W + k; k may be negative where no value becomes so.

        >>> Pmf.geometric(0.05).shift(-1) == Pmf.negative_binomial(1, 0.05)
        False
        """
        k = whole("k", k, least=-self.low, example=1)
        return self if k == 0 else replace(self, distribution=shifted(self.distribution, k))

    def scale(self, k: int) -> Pmf:
        """The law of k·W, k >= 1: the same work counted in smaller units."""
        k = whole("k", k, least=1, example=2)
        return self if k == 1 else replace(self, distribution=scaled(self.distribution, k))

    def sum_of(self, copies: int) -> Pmf:
        """The law of the sum of independent copies.

        Closed for the geometric, Poisson, binomial and negative binomial; else by convolution,
        where an infinite law leaves out a tail of 1e-20.
        """
        copies = whole("copies", copies, least=1, example=32)
        return self if copies == 1 else self._added([(copies, self)], f"{self!r}.sum_of({copies})")

    def __add__(self, other: object) -> Pmf:
        """The law of the sum of two independent items, one of each law."""
        if not isinstance(other, Pmf):
            return NotImplemented
        return self._added([(1, self), (1, other)], f"({self!r} + {other!r})")

    @staticmethod
    def _added(parts: list[tuple[int, Pmf]], made: str) -> Pmf:
        fractions = all(law.given_exactly for _, law in parts)
        law = closed_sum([(copies, law.distribution) for copies, law in parts])
        if law is None:
            parts = [(copies, law.cut(_NOTHING)) for copies, law in parts]
            law = algebra.added([(copies, law._whole()) for copies, law in parts], made)
        return Pmf(distribution=law, missing=_missing(parts), _in_fractions=fractions)

    def max_of(self, copies: int) -> Pmf:
        """The law of the largest of independent copies, P(W <= k)**copies."""
        copies = whole("copies", copies, least=1, example=32)
        if copies == 1:
            return self
        of = self.distribution if not self.is_finite else self._whole()
        law = algebra.maximum(of, copies)
        return replace(self, distribution=law, missing=_missing([(copies, self)]))


def _missing(parts: list[tuple[int, Pmf]]) -> float:
    """What may be missing where any of several items may be: 1 - Π (1 - missing)**copies."""
    if any(law.missing >= 1 for _, law in parts):
        return 1.0
    return -math.expm1(sum(copies * math.log1p(-law.missing) for copies, law in parts))


def law_of_work(pmf: Any) -> Pmf:
    """A law of the work of one item, or an error that says how one is made."""
    if not isinstance(pmf, Pmf):
        raise LawError(
            f"{pmf!r} is no law of work: expected a Pmf, such as Pmf.geometric(0.05) or "
            "Pmf.from_samples(lengths)"
        )
    return pmf
