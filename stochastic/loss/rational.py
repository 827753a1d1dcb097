"""The law of the loss in fractions, asked as the numeric one is; of floats rounded once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.errors import LawError
from stochastic.loss.exact import ExactLaw, cost

if TYPE_CHECKING:
    import numpy.typing as npt

    from stochastic.work.pmf import Pmf

__all__ = ["RationalLaw", "in_integers", "limit"]

#: Steps of integer arithmetic up to which fractions are computed: for laws given in fractions, for
#: others whose weights are known as fractions (and whose answers are rounded once), when asked for.
_PRICE = {"given": 2e7, "known": 2e3, "asked": 2e9}
#: No loss is so large.
_BEYOND = 2**53


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RationalLaw:
    """The exact law; its answers are fractions, or floats where the law was not given so."""

    exact: ExactLaw
    in_fractions: bool

    @property
    def method(self) -> dict[str, str]:
        """How moments, CDF (and quantiles) and atoms are computed."""
        return dict.fromkeys(("moments", "cdf", "atoms"), "exact")

    def _told(self, value: Fraction) -> Any:
        return value if self.in_fractions else float(value)

    def _all(self, values: Sequence[Fraction]) -> npt.NDArray[Any]:
        kind = object if self.in_fractions else np.float64
        return np.array([self._told(value) for value in values], dtype=kind)

    def moment(self, k: int) -> tuple[Any, float]:
        """E[X**k], and no error."""
        return self._told(self.exact.moment(k)), 0.0

    def var(self) -> tuple[Any, float]:
        """The variance, and no error."""
        return self._told(self.exact.var()), 0.0

    def probability(self, t: npt.NDArray[Any], *, tail: bool) -> tuple[npt.NDArray[Any], float]:
        """P(X <= t) or, of the tail, P(X > t), and no error."""
        ask = self.exact.sf if tail else self.exact.cdf
        return self._all([ask(limit(one)) for one in t.tolist()]), 0.0

    def quantile(self, q: Any) -> Any:
        """The smallest loss x with P(X <= x) >= q."""
        return self._told(self.exact.quantile(q if isinstance(q, Fraction) else Fraction(q)))

    def joint(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """The maxima, the sums, and P(max = a, sum = b)."""
        law = self.exact
        maxima = np.arange(law.low, law.low + len(law.weights))
        sums = np.arange(law.lanes * law.low, law.lanes * int(maxima[-1]) + 1)
        table = np.full((len(maxima), len(sums)), self._told(Fraction(0)))
        for (a, b), chance in law.joint().items():
            table[a - law.low, b - sums[0]] = self._told(chance)
        return maxima, sums, table

    def atoms(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """Numerator, denominator and probability of each loss, ascending."""
        atoms = self.exact.pmf()
        above = np.array([x.numerator for x in atoms])
        return above, np.array([x.denominator for x in atoms]), self._all(list(atoms.values()))


def limit(t: Any) -> Fraction:
    """Up to where losses count: a double stands for all numbers that round to it."""
    if not isinstance(t, float):
        return Fraction(t)
    if abs(t) >= _BEYOND:
        return Fraction(_BEYOND if t > 0 else -1)
    return (Fraction(t) + Fraction(math.nextafter(t, math.inf))) / 2


def in_integers(
    pmf: Pmf, work: Pmf, lanes: int, zero_work: str, *, asked: bool
) -> RationalLaw | None:
    """The law in fractions, where that was asked for or costs little."""
    why = "asked" if asked else "given" if pmf.given_exactly else "known"
    outcomes = (lanes - 1) * float(np.flatnonzero(work.weights).sum())
    weights = work.exact if asked or outcomes < _PRICE[why] else None
    if weights is None and not asked:
        return None
    if cost(work.weights.tolist() if weights is None else weights, lanes) > _PRICE[why]:
        if not asked:
            return None
        raise LawError(
            f"fractions of {len(work.weights)} values in {lanes} lanes would take too long: leave "
            "out method='exact'; the answers then carry a bound of their error"
        )
    if weights is None:
        weights = tuple(Fraction(float(w)) for w in work.weights)
    exact = ExactLaw(low=work.low, weights=weights, lanes=lanes, zero_work=zero_work)
    return RationalLaw(exact=exact, in_fractions=asked or pmf.given_exactly)
