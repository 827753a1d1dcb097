"""The law of the loss of a group in lockstep, X = lanes · max / sum (Swatman 2022, Eqs. 1-11)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.checks import losses, plain, probability, whole
from stochastic.errors import ToleranceWarning
from stochastic.labels import joint_array, pmf_array
from stochastic.loss.answers import ErrorBound, Slowdown, moved_by, tail_for
from stochastic.loss.numeric import NumericLaw
from stochastic.loss.rational import RationalLaw
from stochastic.work.pmf import Pmf

if TYPE_CHECKING:
    import numpy.typing as npt
    import xarray as xr

    from stochastic.loss.longest import OrderStatistics

__all__ = ["Law"]


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
    _eps: float | None
    _engine: RationalLaw | NumericLaw
    _kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        return f"Law({self.source!r}, lanes={self.lanes})"

    @property
    def in_fractions(self) -> bool:
        """Whether answers are fractions: those asked for so, or of a small law given so."""
        return isinstance(self._engine, RationalLaw) and self._engine.in_fractions

    @property
    def method(self) -> Mapping[str, str]:
        """How each answer is computed: ``moments``, ``cdf`` (and quantiles), ``atoms``."""
        return MappingProxyType(self._engine.method)

    @property
    def error(self) -> ErrorBound:
        """Bounds on the error: rigorous for the cut, estimated for the numerics."""
        mean, numerical = self._engine.moment(1)
        return ErrorBound.of(self.work, self.lanes, self._moved, float(mean), numerical, self.tol)

    # --- moments
    def mean(self) -> Any:
        """Mean loss E[X]. [ratio]

        >>> from stochastic import imbalance
        >>> imbalance(Pmf.uniform(1, 6), lanes=2).mean() == 64877 / 49896
        True
        """
        return self.moment(1)

    def moment(self, k: int) -> Any:
        """Raw moment E[X**k], for k = 0, 1, 2, ..."""
        k = whole("k", k, least=0, most=600.0 / math.log(max(self.lanes, 2)))  # of doubles
        engine, moved = self._cut_for(k)
        value, error = engine.moment(k)
        error += moved * max(self.lanes**k - float(value), float(value))
        self._check(error / max(float(value), 1.0), "mean" if k == 1 else f"moment {k}")
        return value

    def var(self) -> Any:
        """Variance of the loss, in a centred form that keeps its digits at any number of lanes."""
        engine, moved = self._cut_for(2)
        value, error = engine.var()
        mean = float(engine.moment(1)[0])
        error += moved * max(self.lanes - mean, mean) ** 2
        self._check(error / max(float(value), 1.0), "variance")
        return value

    def std(self) -> float:
        """Standard deviation of the loss."""
        return math.sqrt(float(self.var()))

    def slowdown(self) -> Slowdown:
        """What a whole workload pays, E[max] / E[W], beside the mean loss of one group."""
        if "slowdown" not in self._kept:
            items, short = self._items()
            error = self.lanes * short / items.mean if items.mean else 0.0
            loss = float(self.mean())
            self._kept["slowdown"] = Slowdown.of(items, self.lanes, loss=loss, error=error)
        found: Slowdown = self._kept["slowdown"]
        self._check(found.error, "slowdown")
        return found

    def order_statistics(self) -> OrderStatistics:
        """Moments of the longest item of a group and of one, what was cut off at the cut."""
        return self._items()[0]

    def _items(self) -> tuple[OrderStatistics, float]:
        from stochastic.loss.longest import order_statistics, uncut

        if self.source.is_finite or self._eps is not None:
            return order_statistics(self.work.low, self.work.weights, self.lanes), 0.0
        return uncut(self.source, tail_for(self.tol, self.lanes, 2, self.source), self.lanes)

    # --- probabilities
    def cdf(self, t: Any) -> Any:
        """P(X <= t), for a number or an array of them.

        A Fraction is compared exactly. A float stands for all numbers that round to it, so that
        ``cdf(1.2)`` counts the loss 6/5, although the double 1.2 is below it.

        >>> from stochastic import imbalance
        >>> imbalance(Pmf.uniform(1, 6), lanes=2).cdf([1.0, 1.2]).round(12).tolist()
        [0.166666666667, 0.444444444444]
        """
        return self._probability(t, tail=False)

    def sf(self, t: Any) -> Any:
        """P(X > t), for a number or an array of them, as :meth:`cdf`."""
        return self._probability(t, tail=True)

    def _probability(self, t: Any, *, tail: bool) -> Any:
        asked = np.asarray(t, dtype=None if plain(t) else object)
        found, error = self._engine.probability(losses(asked.reshape(-1)), tail=tail)
        self._check(error + self._moved, "CDF")
        return found.reshape(asked.shape) if asked.shape else found.item()

    def quantile(self, q: Any) -> Any:
        """The smallest loss x with P(X <= x) >= q, for a number or an array of probabilities.

        >>> from stochastic import imbalance
        >>> imbalance(Pmf.uniform(1, 6), lanes=32).quantile(0.5) == 12 / 7
        True
        """
        asked = np.asarray(q, dtype=None if plain(q) else object)
        flat = asked.reshape(-1).tolist()
        for one in flat:
            probability("q", one)
        endless = self.lanes > 1 and not self.source.is_finite
        told = [
            float(self.lanes) if one == 1 and endless else self._engine.quantile(one)
            for one in flat
        ]
        found = np.array(told, dtype=object if self.in_fractions else np.float64)
        return found.reshape(asked.shape) if asked.shape else found.item()

    # --- atoms
    def joint(self) -> xr.DataArray:
        """P(max = a, sum = b), labelled ``max`` and ``sum`` (Swatman 2022, Eqs. 7-10).

        Raises
        ------
        LawError
            Where the atoms would not fit; moments, CDF and quantiles need none.
        """
        atoms = self._engine.joint()
        return joint_array(self._told(), *atoms)

    def pmf(self) -> xr.DataArray:
        """P(X = x) with equal fractions merged exactly, ascending (Swatman 2022, Eq. 11).

        Along ``loss``; its coordinates ``numerator`` and ``denominator`` are in lowest terms.
        """
        atoms = self._engine.atoms()
        return pmf_array(self._told(), *atoms)

    def sample(self, size: int, seed: int = 0) -> npt.NDArray[np.float64]:
        """Losses of ``size`` independent groups, drawn from the law of the work."""
        from stochastic.trials.simulation import losses as drawn

        return drawn(self.source, self.lanes, size, seed=seed, zero_work=self.zero_work)

    # --- what is told
    def _told(self) -> dict[str, Any]:
        """What the atoms are of."""
        told = {"work": repr(self.source), "lanes": self.lanes, "zero_work": self.zero_work}
        if isinstance(self._engine, NumericLaw):
            told["atom_error"] = self._engine.atom_error
        error = self.error
        return {**told, "method": self.method["atoms"], "cut": error.cut, "missing": error.missing}

    @property
    def _moved(self) -> float:
        """Most by which the cut moves a probability."""
        return moved_by(self.work, self.lanes, self.zero_work)

    def _cut_for(self, k: int) -> tuple[RationalLaw | NumericLaw, float]:
        """The law cut far enough out for its k-th moment, and by how much that moves it."""
        engine = self._engine
        settled = k <= 1 or self.source.is_finite or self._eps is not None
        if settled or isinstance(engine, RationalLaw):
            return engine, self._moved
        if k not in self._kept:
            work = self.source.cut(tail_for(self.tol, self.lanes, k, self.source, self.zero_work))
            finer = replace(engine, low=work.low, weights=work.weights, _kept={})
            self._kept[k] = finer, moved_by(work, self.lanes, self.zero_work)
        found: tuple[NumericLaw, float] = self._kept[k]
        return found

    def _check(self, error: float, what: str) -> None:
        """Say so where an answer is not known within the tolerance."""
        if error > self.tol and self._eps is None:
            warnings.warn(
                f"the {what} of {self!r} is known within {error:.2g} only, asked for was "
                f"tol = {self.tol:g}: give a larger tol, or method='exact' where the law is small",
                ToleranceWarning,
                stacklevel=3,
            )
