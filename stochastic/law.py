"""The law of the loss of a group in lockstep, X = lanes · max / sum (Swatman 2022, Eqs. 1-11)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.answers import ErrorBound, Slowdown
from stochastic.checks import ZERO_WORK, choice, fraction, whole
from stochastic.errors import LawError, ToleranceWarning
from stochastic.exact import ExactLaw, cost
from stochastic.labels import joint_array, pmf_array
from stochastic.numeric import NumericLaw
from stochastic.pmf import Pmf

if TYPE_CHECKING:
    import numpy.typing as npt
    import xarray as xr

__all__ = ["Law", "imbalance"]

#: Steps of integer arithmetic up to which fractions are computed: for laws given in fractions, for
#: others whose weights are known as fractions (and whose answers are rounded once), when asked for.
_PRICE = {"given": 2e6, "known": 2e3, "asked": 1e9}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Law:
    """The law of the loss of a group; made by :func:`imbalance`.

    Each answer is computed when it is first asked for, by the cheapest way that is exact enough;
    :attr:`method` says which. Of a small law given in fractions the answers are fractions.

    Attributes
    ----------
    source : Pmf
        The law of the work of one item, as given.
    work : Pmf
        That law, cut where its support is infinite: what is computed with.
    lanes : int
        Items in lockstep.
    tol : float
        Tolerance on the mean and on probabilities.
    zero_work : str
        What a group without any work loses: ``one`` X = 1, ``zero`` X = 0, ``drop`` not counted.
    """

    source: Pmf
    work: Pmf
    lanes: int
    tol: float
    zero_work: str
    _exact: ExactLaw | None
    _numeric: NumericLaw
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        return f"Law({self.source!r}, lanes={self.lanes})"

    @property
    def in_fractions(self) -> bool:
        """Whether answers are fractions: those asked for so, or of a small law given so."""
        return self._exact is not None and (self.source.given_exactly or self._kept["asked"])

    @property
    def method(self) -> Mapping[str, str]:
        """How each answer is computed: ``moments``, ``cdf`` (and quantiles), ``atoms``."""
        if self._exact is not None:
            return MappingProxyType(dict.fromkeys(("moments", "cdf", "atoms"), "exact"))
        return MappingProxyType(self._numeric.method)

    @property
    def error(self) -> ErrorBound:
        """Bounds on the error: rigorous for the cut, estimated for the numerics."""
        if self._exact is not None:
            mean, numerical = float(self._exact.mean()), 0.0
        else:
            mean, numerical = self._numeric.moment(1)
        moved = self._moved
        return ErrorBound(
            missing=self.work.missing,
            cut=int(self.work.high),
            cdf=moved,
            mean=moved * max(self.lanes - mean, mean - 1.0) + numerical,
            numerical=numerical,
            tol=self.tol,
        )

    # --- moments
    def mean(self) -> Any:
        """Mean loss E[X]. [ratio]

        >>> imbalance(Pmf.uniform(1, 6), lanes=2).mean() == 64877 / 49896
        True
        """
        return self.moment(1)

    def moment(self, k: int) -> Any:
        """Raw moment E[X**k], for k = 0, 1, 2, ..."""
        k = whole("k", k, least=0)
        if self._exact is not None:
            return self._told(self._exact.moment(k))
        if k == 0:
            return 1.0
        numeric, moved = self._cut_for(k)
        value, error = numeric.moment(k)
        error += moved * max(self.lanes**k - value, value - 1.0)
        self._check(error / max(value, 1.0), f"moment {k}")
        return value

    def var(self) -> Any:
        """Variance of the loss, in a centred form that keeps its digits at any number of lanes."""
        if self._exact is not None:
            return self._told(self._exact.var())
        numeric, moved = self._cut_for(2)
        value, error = numeric.var()
        mean, _ = numeric.moment(1)
        error += moved * max(self.lanes - mean, mean - 1.0) ** 2
        self._check(error / max(value, 1.0), "variance")
        return value

    def std(self) -> float:
        """Standard deviation of the loss."""
        return math.sqrt(self.var())

    def slowdown(self) -> Slowdown:
        """What a whole workload pays, E[max] / E[W], beside the mean loss of one group."""
        if "slowdown" not in self._kept:
            self._kept["slowdown"] = Slowdown.of(self.work, self.lanes, float(self.mean()))
        found: Slowdown = self._kept["slowdown"]
        return found

    # --- probabilities
    def cdf(self, t: Any) -> Any:
        """P(X <= t), for a number or an array; a Fraction is compared exactly.

        >>> imbalance(Pmf.uniform(1, 6), lanes=2).cdf([1.0, 1.5]).round(12).tolist()
        [0.166666666667, 0.777777777778]
        """
        return self._probability(t, tail=False)

    def sf(self, t: Any) -> Any:
        """P(X > t), for a number or an array."""
        return self._probability(t, tail=True)

    def _probability(self, t: Any, *, tail: bool) -> Any:
        asked = np.asarray(t, dtype=None if _plain(t) else object)
        flat = asked.reshape(-1)
        for one in flat[flat != flat]:
            raise LawError(f"t = {one!r} is no number: expected a loss to compare with")
        if self._exact is not None:
            ask = self._exact.sf if tail else self._exact.cdf
            found = np.array([self._told(ask(_number(one))) for one in flat.tolist()])
        else:
            found, error = self._numeric.probability(flat, tail=tail)
            self._check(error + self._moved, "CDF")
        return found.reshape(asked.shape) if asked.shape else found.item()

    def quantile(self, q: Any) -> Any:
        """The smallest loss x with P(X <= x) >= q, for a number or an array of probabilities.

        >>> imbalance(Pmf.uniform(1, 6), lanes=32).quantile(0.5) == 12 / 7
        True
        """
        asked = np.asarray(q, dtype=None if _plain(q) else object)
        flat = asked.reshape(-1).tolist()
        for one in flat:
            if not 0 <= one <= 1:
                raise LawError(f"q = {one!r}: expected a probability from 0 to 1")
        if self._exact is not None:
            found = np.array([self._told(self._exact.quantile(_number(one))) for one in flat])
        else:
            unbounded = not self.source.is_finite
            found = np.array(
                [
                    float(self.lanes)
                    if one == 1 and unbounded and self.lanes > 1
                    else self._numeric.quantile(float(one))
                    for one in flat
                ]
            )
        return found.reshape(asked.shape) if asked.shape else found.item()

    # --- atoms
    def joint(self) -> xr.DataArray:
        """P(max = a, sum = b), labelled ``max`` and ``sum`` (Swatman 2022, Eqs. 7-10).

        Raises
        ------
        LawError
            Where the atoms would not fit; moments, CDF and quantiles need none.
        """
        if self._exact is None:
            found = self._numeric.joint()
            return joint_array(self, found.maxima, found.sums, found.probabilities)
        maxima = np.arange(self.work.low, self.work.high + 1)
        sums = np.arange(self.lanes * self.work.low, self.lanes * self.work.high + 1)
        table = np.full((len(maxima), len(sums)), self._told(Fraction(0)))
        for (a, b), chance in self._exact.joint().items():
            table[a - maxima[0], b - sums[0]] = self._told(chance)
        return joint_array(self, maxima, sums, table)

    def pmf(self) -> xr.DataArray:
        """P(X = x) with equal fractions merged exactly, ascending (Swatman 2022, Eq. 11).

        Along ``loss``; its coordinates ``numerator`` and ``denominator`` are in lowest terms.
        """
        if self._exact is None:
            return pmf_array(self, *self._numeric.atoms())
        atoms = self._exact.pmf()
        above = np.array([x.numerator for x in atoms])
        below = np.array([x.denominator for x in atoms])
        return pmf_array(self, above, below, np.array([self._told(p) for p in atoms.values()]))

    def sample(self, size: int, seed: int = 0) -> npt.NDArray[np.float64]:
        """Losses of ``size`` independent groups, drawn from the law of the work."""
        from stochastic.simulation import losses

        return losses(self.source, self.lanes, size, seed=seed, zero_work=self.zero_work)

    # --- what is told
    def _told(self, value: Fraction) -> Fraction | float:
        return value if self.in_fractions else float(value)

    @property
    def _moved(self) -> float:
        """Most by which the cut moves a probability: 1 - (1 - missing)**lanes."""
        return _moved_by(self.work.missing, self.lanes)

    def _cut_for(self, k: int) -> tuple[NumericLaw, float]:
        """The law cut far enough out for its k-th moment, and by how much that moves it."""
        if k <= 1 or self.source.is_finite or self._kept["eps"] is not None:
            return self._numeric, self._moved
        if k not in self._kept:
            work = self.source.cut(_cut(self.tol, self.lanes, k))
            numeric = replace(self._numeric, low=work.low, weights=work.weights, _kept={})
            self._kept[k] = numeric, _moved_by(work.missing, self.lanes)
        found: tuple[NumericLaw, float] = self._kept[k]
        return found

    def _check(self, error: float, what: str) -> None:
        """Say so where an answer is not known within the tolerance."""
        if error > self.tol and self._kept["eps"] is None:
            warnings.warn(
                f"the {what} of {self!r} is known within {error:.2g} only, asked for was "
                f"tol = {self.tol:g}: give a larger tol, or method='exact' where the law is small",
                ToleranceWarning,
                stacklevel=3,
            )


def _moved_by(missing: float, lanes: int) -> float:
    return -math.expm1(lanes * math.log1p(-missing)) if missing < 1 else 1.0


def _cut(tol: float, lanes: int, k: int) -> float:
    """The tail that may be left out so that the k-th moment moves by less than ``tol``.

    One item in a group is beyond the cut with a probability of at most lanes · eps, and then
    X**k is at most lanes**k.
    """
    return max(tol / lanes / max(lanes**k - 1.0, 1.0), 1e-280)


def _plain(value: Any) -> bool:
    """Whether NumPy may read it as it is: no fractions in it."""
    return isinstance(value, (int, float, np.ndarray, np.generic))


def _number(value: Any) -> Fraction:
    return value if isinstance(value, Fraction) else Fraction(value)


def imbalance(
    pmf: Pmf,
    lanes: int,
    *,
    tol: float = 1e-9,
    eps: float | None = None,
    zero_work: str = "one",
    method: str = "auto",
) -> Law:
    """The exact law of what lockstep costs a group: X = lanes · max / sum of independent items.

    Parameters
    ----------
    pmf : Pmf
        The law of the work of one item.
    lanes : int
        Items in lockstep, 1 or more.
    tol : float
        Tolerance on the mean: an infinite support is cut so far out that it moves the mean by less.
    eps : float, optional
        Cut where P(W > S) < eps instead, whatever that does to the error (the paper's 1e-6).
    zero_work : {"one", "drop", "zero"}
        What a group without any work loses: nothing (X = 1), 0, or it is not counted.
    method : {"auto", "exact", "sweep", "fft"}
        ``exact`` answers in fractions; the last two choose how atoms are computed.

    Raises
    ------
    LawError
        For lanes that are no whole number of 1 or more, an infinite mean, a support too large.

    Notes
    -----
    Swatman 2022, Eqs. 1-11, with the factor n that Algorithm 1 and the support of Eq. 11 omit.

    >>> law = imbalance(Pmf.geometric(0.05), lanes=32)
    >>> round(law.mean(), 9), law.error.met
    (3.978774601, True)
    """
    if not isinstance(pmf, Pmf):
        raise LawError(
            f"{pmf!r} is no law of work: expected a Pmf, such as Pmf.geometric(0.05) or "
            "Pmf.from_samples(lengths)"
        )
    lanes = whole("lanes", lanes, least=1, example=32)
    tol = fraction("tol", tol, "1e-9")
    cut = _cut(tol, lanes, 1) if eps is None else fraction("eps", eps, "1e-6")
    choice("zero_work", zero_work, ZERO_WORK)
    choice("method", method, ("auto", "exact", "sweep", "fft"))
    if not math.isfinite(pmf.mean()):
        raise LawError(
            f"{pmf!r} has an infinite mean, so that no number of items makes its average; bound "
            "its items with truncate(high)"
        )
    work = pmf.cut(cut)
    if zero_work == "drop" and work.high == 0:
        raise LawError(f"{pmf!r} never has any work, and zero_work='drop' drops every group")
    return Law(
        source=pmf,
        work=work,
        lanes=lanes,
        tol=tol,
        zero_work=zero_work,
        _exact=_in_integers(pmf, work, lanes, zero_work, method),
        _numeric=NumericLaw(
            low=work.low,
            weights=work.weights,
            lanes=lanes,
            zero_work=zero_work,
            way="auto" if method == "exact" else method,
        ),
        _kept={"asked": method == "exact", "eps": eps},
    )


def _in_integers(pmf: Pmf, work: Pmf, lanes: int, zero_work: str, method: str) -> ExactLaw | None:
    """The law in fractions, where that was asked for or costs little."""
    if method not in ("auto", "exact") or (method == "auto" and work.exact is None):
        return None
    why = "asked" if method == "exact" else "given" if pmf.given_exactly else "known"
    if cost(work.weights, lanes) > _PRICE[why]:
        if method == "auto":
            return None
        raise LawError(
            f"fractions of {len(work.weights)} values in {lanes} lanes would take too long: leave "
            "out method='exact'; the answers then carry a bound of their error"
        )
    weights = work.exact
    if weights is None:
        own = [Fraction(float(w)) for w in work.weights]
        total = sum(own)
        weights = tuple(w / total for w in own)
    return ExactLaw(low=work.low, weights=weights, lanes=lanes, zero_work=zero_work)
