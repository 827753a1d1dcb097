"""Compute the law of the loss of a group, X = lanes · max / sum (Swatman 2022, Eqs. 1-11).

All answers are in double precision and have an error bound. Moments are computed by quadrature, the
CDF and quantiles by inversion, the slowdown by sums in O(S), the atoms by a sweep or a transform.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from stochastic.aliases import old_names
from stochastic.arrays import Floats
from stochastic.checks import (
    ZERO_WORK,
    LawError,
    ToleranceWarning,
    check_choice,
    check_fraction,
    check_integer,
    check_probability,
)
from stochastic.labels import law_array, pmf_array
from stochastic.loss.moments import any_probability, idle_probability, work_probability
from stochastic.work.correlated_lanes import CorrelatedLoss, Sticky, parse_correlation
from stochastic.work.pmf import Pmf, check_law

if TYPE_CHECKING:
    import xarray as xr

    from stochastic.loss.atoms import JointAtoms, LossAtoms
    from stochastic.loss.inversion import LossInversion, RareWorkInversion
    from stochastic.loss.moments import OrderStatistics

_COARSE = 0.01  # upper limit on the error of an atom in an answer
_METHODS = ("auto", "sweep", "fft")


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBound:
    """Bounds on the errors of probabilities and of the mean.

    ``missing`` is the probability that an item is longer than ``cut``, the longest item of the
    truncated law. ``cdf`` bounds the change of any probability of the loss by the truncation: 1 -
    (1 - missing)**lanes, divided by P(any work) if groups without work are dropped. The numerical
    error of a probability is below ``tol``, the requested tolerance; otherwise a
    :class:`ToleranceWarning` gives the error. ``mean`` bounds the error of the mean. The part by
    truncation is rigorous; the numerical part, ``numerical``, is an estimate.
    """

    missing: float
    cut: int
    cdf: float
    mean: float
    numerical: float
    tol: float

    @property
    def met(self) -> bool:
        """True if the error of the mean is within the requested tolerance."""
        return self.mean <= self.tol

    def __float__(self) -> float:
        return self.mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowdown:
    """Cost of lockstep for a workload of many groups: E[max] / E[W], a ratio of means.

    The mean loss E[X] gives every group the same weight. The slowdown n·Σmax / Σsum weights the
    loss of a group by its work. So the slowdown is E[X] + Cov(X, sum) / E[sum]: it is above the
    mean loss if groups with more work lose more, and below if they lose less.

    ``loss`` is the mean loss of one group, E[X]. ``error`` is a rigorous bound on the reduction of
    ``value`` by truncating an infinite law. ``variance_of_one`` is Var(n·max - value·sum) /
    (n·E[W])**2: divided by the number of groups, it is the variance of n·Σmax / Σsum (delta method;
    the error is of second order in 1 / groups).
    """

    value: float
    loss: float
    error: float
    variance_of_one: float

    def __float__(self) -> float:
        return self.value

    @property
    def difference(self) -> float:
        """Return the slowdown minus the mean loss: Cov(X, sum) / E[sum]."""
        return self.value - self.loss

    def var(self, groups: int) -> float:
        """Return the variance of n·Σmax / Σsum, with sums over ``groups`` independent groups."""
        return self.variance_of_one / check_integer("groups", groups, least=1)

    def std(self, groups: int) -> float:
        """Return the standard deviation of n·Σmax / Σsum over ``groups`` independent groups."""
        return math.sqrt(self.var(groups))


@dataclass(frozen=True, kw_only=True, eq=False)
class Law:
    """The law of the loss of a group; see :func:`imbalance`.

    Each answer is computed when first needed, by the method that :attr:`method` names.

    Attributes:
        source: The law of the work of one item, as given.
        work: The law used in computations: ``source``, truncated if its support is infinite.
        lanes: Items in lockstep.
        tol: Tolerance on the mean and on probabilities.
        zero_work: Loss of a group without any work: ``one`` or ``zero``; ``drop`` does not count
            the group.
    """

    source: Pmf
    work: Pmf
    lanes: int
    tol: float
    zero_work: str
    _eps: float | None
    _atom_method: str
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        return f"Law({self.source!r}, lanes={self.lanes})"

    def _memoize(self, key: str, make: Callable[[], Any]) -> Any:
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    @property
    def method(self) -> Mapping[str, str]:
        """Return the method of each answer: ``moments``, ``cdf`` (and quantiles), ``atoms``."""
        from stochastic.loss.atoms import atom_method

        known, work = self._cache.get("joint_atoms") or self._cache.get("loss_atoms"), self.work
        atoms = known.method if known else ""
        atoms = atoms or atom_method(work.low, work.weights, self.lanes, self._atom_method)
        moments, cdf = ("closed form",) * 2 if self._is_constant else ("quadrature", "inversion")
        return MappingProxyType({"moments": moments, "cdf": cdf, "atoms": atoms})

    @property
    def error(self) -> ErrorBound:
        """Return error bounds: rigorous for the truncation, estimated for numerical errors."""
        mean, numerical = self._moment(1, self.work)
        moved = self._cut_error
        return ErrorBound(
            missing=self.work.missing,
            cut=int(self.work.high),
            cdf=moved,
            mean=moved * max(self.lanes - mean, mean) + numerical,
            numerical=numerical,
            tol=self.tol,
        )

    # --- groups without any work, which moments and inversion leave out
    @property
    def _is_constant(self) -> bool:
        """True if the loss of every group with work is exactly 1."""
        return self.lanes == 1 or len(self.work.weights) == 1

    @property
    def _idle_loss(self) -> int | None:
        return {"one": 1, "zero": 0}.get(self.zero_work)

    def _idle_probability(self, work: Pmf) -> float:
        return idle_probability(work.low, work.weights, self.lanes)

    def _work_probability(self, work: Pmf) -> float:
        return work_probability(work.low, work.weights, self.lanes)

    def _expect(
        self, work: Pmf, part: float, error: float, function: Callable[[int], float]
    ) -> tuple[float, float]:
        """Return E[function(X)] and its error; ``part`` and ``error`` are for groups with work."""
        if self._idle_loss is None:
            busy = self._work_probability(work)
            return part / busy, error / busy
        return part + self._idle_probability(work) * function(self._idle_loss), error

    def mean(self) -> float:
        """Return the mean loss E[X]. [ratio]

        >>> from stochastic import imbalance
        >>> round(imbalance(Pmf.uniform(1, 6), lanes=2).mean(), 12) == round(64877 / 49896, 12)
        True
        """
        return self.moment(1)

    def moment(self, k: int) -> float:
        """Return the raw moment E[X**k], for k = 0, 1, 2, ..."""
        # with this limit, lanes**k fits a double
        k = check_integer("k", k, least=0, most=600.0 / math.log(max(self.lanes, 2)))
        work, moved = self._cut_for_moment(k)
        value, error = self._moment(k, work)
        error += moved * max(self.lanes**k - value, value)
        self._check(error / max(value, 1.0), "mean" if k == 1 else f"moment {k}")
        return value

    def _moment(self, k: int, work: Pmf) -> tuple[float, float]:
        return self._memoize(f"moment {k} up to {work.high}", lambda: self._new_moment(k, work))

    def _new_moment(self, k: int, work: Pmf) -> tuple[float, float]:
        if k == 0 or (self._is_constant and self.zero_work != "zero"):
            return 1.0, 0.0
        from stochastic.loss.moments import raw_moment

        part, error = raw_moment(work.low, work.weights, self.lanes, k)
        return self._expect(work, part, error, lambda x: float(x**k))

    def var(self) -> float:
        """Return the variance of the loss; it is accurate for any number of lanes."""
        work, moved = self._cut_for_moment(2)
        mean, _ = self._moment(1, work)
        value, error = self._memoize("var", lambda: self._new_var(work, mean))
        error += moved * max(self.lanes - mean, mean) ** 2
        self._check(error / max(value, 1.0), "variance")
        return float(value)

    def _new_var(self, work: Pmf, mean: float) -> tuple[float, float]:
        if self._is_constant:
            work_or_not = self._work_probability(work) * self._idle_probability(work)
            return work_or_not if self.zero_work == "zero" else 0.0, 0.0
        from stochastic.loss.moments import variance

        part, error = variance(work.low, work.weights, self.lanes, mean)
        return self._expect(work, part, error, lambda x: (x - mean) ** 2)

    def std(self) -> float:
        """Return the standard deviation of the loss."""
        return math.sqrt(self.var())

    def slowdown(self) -> Slowdown:
        """Return the cost for a whole workload, E[max] / E[W], and the mean loss of one group."""
        if "slowdown" not in self._cache:
            (longest, spread, both, mean, var), short = self._item_moments()
            ratio = longest / mean if mean else 1.0  # if no lane has work, none waits
            scatter = self.lanes * spread - 2.0 * ratio * both + ratio**2 * var
            self._cache["slowdown"] = Slowdown(
                value=ratio,
                loss=self.mean(),
                error=self.lanes * short / mean if mean else 0.0,
                variance_of_one=max(scatter, 0.0) / (self.lanes * mean**2) if mean else 0.0,
            )
        known: Slowdown = self._cache["slowdown"]
        self._check(known.error, "slowdown")
        return known

    def order_statistics(self) -> OrderStatistics:
        """Return moments of the longest item of a group and of one item, without truncation."""
        return self._item_moments()[0]

    def _item_moments(self) -> tuple[OrderStatistics, float]:
        from stochastic.loss.moments import order_statistics, uncut_order_statistics

        if self.source.is_finite or self._eps is not None:
            return order_statistics(self.work.low, self.work.weights, self.lanes), 0.0
        tail = _allowed_tail(self.tol, self.lanes, 2, self.source)
        return uncut_order_statistics(self.source, tail, self.lanes)

    def cdf(self, t: Any) -> Any:
        """Return P(X <= t), for a number or an array.

        Losses that round to t count as t: ``cdf(1.2)`` includes 6/5, although the double is less.

        >>> from stochastic import imbalance
        >>> imbalance(Pmf.uniform(1, 6), lanes=2).cdf([1.0, 1.2]).round(12).tolist()
        [0.166666666667, 0.444444444444]
        """
        return self._probability(t, tail=False)

    def sf(self, t: Any) -> Any:
        """Return P(X > t), for a number or an array; losses are rounded as by :meth:`cdf`."""
        return self._probability(t, tail=True)

    def _probability(self, t: Any, *, tail: bool) -> Any:
        limits = _check_losses(t)
        flat = limits.reshape(-1)
        if self._is_constant:
            error, whole_part = 0.0, self._work_probability(self.work)
            part = whole_part * _point_mass(flat, 1, tail)
        else:
            law = self._inversion
            part = np.asarray((law.sf if tail else law.cdf)(flat), dtype=np.float64)
            error, whole_part = law.error, law.mass
        if self._idle_loss is None:
            part, error = part / whole_part, error / whole_part
        else:
            idle = _point_mass(flat, self._idle_loss, tail)
            part = part + self._idle_probability(self.work) * idle
        self._check(error + self._cut_error, "CDF")
        chances = np.clip(part, 0.0, 1.0)
        return chances.reshape(limits.shape) if limits.shape else chances.item()

    @cached_property
    def _inversion(self) -> LossInversion | RareWorkInversion:
        """Return the CDF P(X <= t; sum > 0), or P(X <= t | sum > 0) if work is rare."""
        from stochastic.loss.inversion import RARE, LossInversion, RareWorkInversion

        work = self.work
        if self._idle_loss is None and self._work_probability(work) < RARE:
            return RareWorkInversion(work.weights, self.lanes)
        return LossInversion(work.low, work.weights, self.lanes)

    def quantile(self, q: Any) -> Any:
        """Return the smallest loss x with P(X <= x) >= q, for a number or an array.

        >>> from stochastic import imbalance
        >>> imbalance(Pmf.uniform(1, 6), lanes=32).quantile(0.5) == 12 / 7
        True
        """
        levels = np.asarray(q, dtype=object)
        flat = levels.reshape(-1).tolist()
        for one in flat:
            check_probability("q", one)
        values = np.array([self._quantile(float(one)) for one in flat], dtype=np.float64)
        return values.reshape(levels.shape) if levels.shape else values.item()

    def _quantile(self, q: float) -> float:
        work, idle = self.work, self._idle_probability(self.work)
        if q == 1.0 and self.lanes > 1 and not self.source.is_finite:
            return float(self.lanes)
        is_rounded = q == 1.0 and self._work_probability(work) > 0.0  # rounding may make ``idle`` 1
        if self.zero_work == "zero" and idle > 0.0 and q <= idle and not is_rounded:
            return 0.0
        if self._is_constant:
            return 1.0
        high = int(work.high)
        if q == 1.0:
            return self.lanes * high / (high + (self.lanes - 1) * work.low)
        wanted = q * self._inversion.mass if self._idle_loss is None else q - idle
        if wanted <= 0.0 and idle > 0.0:
            return 1.0
        return self._inversion.quantile(max(wanted, 0.0))

    def _atoms(self, function: Callable[..., Any]) -> Any:
        work, name = self.work, function.__name__
        call = partial(function, work.low, work.weights, self.lanes, method=self._atom_method)
        return self._memoize(name, call)

    def joint(self) -> xr.DataArray:
        """Return P(max = a, sum = b), labelled ``max`` and ``sum`` (Swatman 2022, Eqs. 7-10).

        LawError if the table would be too large; moments, CDF and quantiles do not need it.
        """
        from stochastic.loss.atoms import joint_atoms

        law = self._atoms(joint_atoms)
        attrs = self._atom_attributes(law)
        return law_array(law.probabilities, attrs, max=law.maxima, sum=law.sums)

    def pmf(self) -> xr.DataArray:
        """Return P(X = x) along ``loss``, ascending, with equal fractions merged exactly.

        It is Eq. 11 of Swatman 2022. The ``numerator`` and ``denominator`` have no common factor.
        """
        from stochastic.loss.atoms import loss_atoms

        work, law = self.work, self._atoms(loss_atoms)
        attrs = self._atom_attributes(law)
        above, below, chance = law.numerator, law.denominator, law.probability
        at, idle = self._idle_loss, self._idle_probability(work)
        if at is None:
            chance = chance / self._work_probability(work)
        elif idle > 0.0 and len(above) and above[0] == at * below[0]:
            chance = chance.copy()
            chance[0] += idle
        elif idle > 0.0:
            above, below = np.insert(above, 0, at), np.insert(below, 0, 1)
            chance = np.insert(chance, 0, idle)
        return pmf_array(attrs, above, below, chance)

    def _atom_attributes(self, law: JointAtoms | LossAtoms) -> dict[str, Any]:
        """Return attributes of the atoms; their error is absolute for fft, relative for sweep."""
        error = law.error
        if law.method == "fft" and self._idle_loss is None:
            busy = self._work_probability(self.work)
            error /= busy
            if error > _COARSE:
                raise LawError(
                    f"a group has work with probability {busy:.3g} only, and zero_work='drop' "
                    f"leaves out the others; with method='fft' an atom has an error of "
                    f"{law.error:.2g} of all groups: take method='auto' or 'sweep', or count "
                    "groups without work (zero_work='one')"
                )
        return {
            "work": repr(self.source),
            "lanes": self.lanes,
            "zero_work": self.zero_work,
            "atom_error": error,
            "method": self.method["atoms"],
            "cut": int(self.work.high),
            "missing": self.work.missing,
            "source": "Swatman et al., MASCOTS 2022, Eqs. 1-11",
        }

    def sample(self, size: int, seed: int = 0) -> Floats:
        """Draw ``size`` independent groups from the law of work, and return their losses."""
        from stochastic.trials.simulation import losses as drawn

        return drawn(self.source, self.lanes, size, seed=seed, zero_work=self.zero_work)

    # --- truncation of infinite laws
    @property
    def _cut_error(self) -> float:
        return _cut_error_of(self.work, self.lanes, self.zero_work)

    def _cut_for_moment(self, k: int) -> tuple[Pmf, float]:
        """Return the law truncated for its k-th moment, and a bound on changes of probabilities."""
        if k <= 1 or self.source.is_finite or self._eps is not None:
            return self.work, self._cut_error
        tail = _allowed_tail(self.tol, self.lanes, k, self.source, self.zero_work)
        work: Pmf = self._memoize(f"cut for {k}", lambda: self.source.cut(tail))
        return work, _cut_error_of(work, self.lanes, self.zero_work)

    def _check(self, error: float, what: str) -> None:
        if error > self.tol and self._eps is None:
            warnings.warn(
                f"the {what} of {self!r} has an error of up to {error:.2g}, above tol = "
                f"{self.tol:g}: give a larger tol",
                ToleranceWarning,
                stacklevel=3,
            )


def _point_mass(t: npt.NDArray[Any], location: int, tail: bool) -> Floats:
    return np.array((t < location) == tail, dtype=np.float64)


def _counted_probability(law: Pmf, lanes: int, zero_work: str) -> float:
    """Return P(a group counts), which is below 1 if groups without work are dropped."""
    return any_probability(float(law.sf(0)), lanes) if zero_work == "drop" and law.low == 0 else 1.0


def _cut_error_of(work: Pmf, lanes: int, zero_work: str) -> float:
    """Bound the change of a probability of the loss by the truncation of the law of work."""
    counted = _counted_probability(work, lanes, zero_work)
    return min(any_probability(work.missing, lanes) / counted, 1.0)


def _allowed_tail(tol: float, lanes: int, k: int, law: Pmf, zero_work: str = "one") -> float:
    """Return the tail probability whose truncation changes the k-th moment by less than ``tol``.

    A group has an item beyond the cut with a probability of at most lanes · tail, and then X**k is
    at most lanes**k. If groups without work are dropped, the probability is divided by P(work).
    """
    share = _counted_probability(law, lanes, zero_work) or 1.0  # 0 is an error in callers
    log = math.log(tol) - math.log(lanes) - k * math.log(lanes) + math.log(share)
    return math.exp(max(log, -640.0))


@overload
def imbalance(
    pmf: Pmf,
    lanes: int,
    *,
    tol: float = ...,
    eps: float | None = ...,
    zero_work: str = ...,
    method: str = ...,
) -> Law: ...
@overload
def imbalance(
    pmf: Pmf, lanes: int, *, correlation: Any, tol: float = ..., eps: float | None = ...
) -> CorrelatedLoss: ...


@old_names(alike="correlation")
def imbalance(
    pmf: Pmf,
    lanes: int,
    *,
    correlation: Any = None,
    tol: float = 1e-9,
    eps: float | None = None,
    zero_work: str = "one",
    method: str = "auto",
) -> Law | CorrelatedLoss:
    """Return the exact law of the loss of a group in lockstep, X = lanes · max / sum of its items.

    Parameters:
        pmf (Pmf): The law of the work of one item.
        lanes (int): Items in lockstep, 1 or more.
        correlation (number, matrix, pairs, or trace, optional): Dependence of the lanes; by default
            they are independent. A number is the probability that a lane repeats its neighbour's
            work. A matrix holds P(next | this) for the values of a finite law. Pairs (probability,
            law), whose mixture is ``pmf``: all lanes have one of these laws. A trace: lanes take
            consecutive items of it from a random item on. With ``correlation``, the result has
            ``mean()``, ``slowdown()``, ``longest``, and for a small law ``cdf``, ``quantile`` and
            ``table``.
        tol (float): Tolerance of the mean: the truncation of an infinite law changes the mean by
            less.
        eps (float, optional): Truncate instead where P(W > S) < eps, regardless of the error (the
            paper uses 1e-6).
        zero_work ({"one", "drop", "zero"}): Loss of a group without any work: 1, not counted, or 0.
        method ({"auto", "sweep", "fft"}): Method for atoms. ``sweep`` has a small relative error of
            each atom; ``fft`` is fast with many lanes.

    Raises:
        LawError: Lanes are not a whole number of 1 or more, the mean is infinite, or the law is too
            large.

    Notes:
        Swatman 2022, Eqs. 1-11, with the factor n that Algorithm 1 and the support in Eq. 11 omit.

    >>> law = imbalance(Pmf.geometric(0.05), lanes=32)
    >>> round(law.mean(), 8), law.error.met
    (3.9787746, True)
    """
    pmf = check_law(pmf)
    lanes = check_integer("lanes", lanes, least=1, example=32)
    tol = check_fraction("tol", tol, "1e-9")
    check_choice("zero_work", zero_work, ZERO_WORK)
    if eps is not None:
        eps = check_fraction("eps", eps, "1e-6")
    check_choice("method", method, _METHODS)
    work = pmf.cut(_allowed_tail(tol, lanes, 1, pmf, zero_work) if eps is None else eps)
    if correlation is not None:
        if zero_work != "one" or method != "auto":
            raise LawError("correlated lanes: expected zero_work='one' and method='auto'")
        chain = parse_correlation(correlation, pmf) or Sticky(0)
        return CorrelatedLoss(work=work, lanes=lanes, correlation=chain)
    if zero_work == "drop" and work.high == 0:
        raise LawError(f"{pmf!r} never has any work, and zero_work='drop' drops every group")
    limits: dict[str, Any] = {"tol": tol, "zero_work": zero_work, "_eps": eps}
    return Law(source=pmf, work=work, lanes=lanes, _atom_method=method, **limits)


def _check_losses(values: Any) -> Floats:
    try:
        t = np.asarray(values)
        if t.dtype.kind not in "biufO" or any(isinstance(one, str) for one in t.flat):
            raise TypeError
        t = t.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise LawError(
            f"t = {values!r:.60}: expected losses to compare with, such as 1.5"
        ) from None
    if np.any(np.isnan(t)):
        raise LawError("t is no number (NaN): expected losses to compare with, such as 1.5")
    return t
