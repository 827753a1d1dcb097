"""The law of the loss in floating point: each answer by the cheapest way that is exact enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.errors import LawError
from stochastic.loss.items import any_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from stochastic.loss.atoms import Joint, Merged
    from stochastic.loss.inversion import Inversion
    from stochastic.loss.rare import Rare

__all__ = ["NumericLaw"]

_TOLD = 0.01  # the largest error of an atom that is an answer
_RARE = 1e-60  # probability of any work in a group, below which quadrature overflows at last
_EPS = 2.0**-52


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NumericLaw:
    """X = lanes · max / sum for a finite law of work, values ``low``, ``low + 1``, ...

    The numerics know the groups with work only; those without (probability ``idle``) are added
    here: X = 1 (``one``), X = 0 (``zero``), or left out (``drop``).
    """

    low: int
    weights: npt.NDArray[np.float64]
    lanes: int
    zero_work: str
    way: str
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)

    def _once(self, key: str, make: Callable[[], Any]) -> Any:
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    @property
    def high(self) -> int:
        """The longest item."""
        return self.low + len(self.weights) - 1

    @property
    def is_level(self) -> bool:
        """Whether every group with work loses exactly 1."""
        return self.lanes == 1 or len(self.weights) == 1

    @property
    def idle(self) -> float:
        """Probability that no item of a group has any work."""
        if self.low > 0:
            return 0.0
        first = float(self.weights[0])
        if first < 0.5:
            return first**self.lanes
        return math.exp(self.lanes * math.log1p(-float(self.weights[1:].sum())))

    @property
    def busy(self) -> float:
        """Probability that some item has work: 1 - idle, with all its digits where that is rare."""
        return 1.0 if self.low > 0 else any_of(float(self.weights[1:].sum()), self.lanes)

    @property
    def _is_rare(self) -> bool:
        """True if groups with work are so rare that one item alone has all of it: X = lanes."""
        return self.busy < _RARE

    @property
    def idle_loss(self) -> int | None:
        """The loss of such a group; None where it is not counted."""
        return {"one": 1, "zero": 0}.get(self.zero_work)

    @property
    def method(self) -> dict[str, str]:
        """How moments, CDF (and quantiles) and atoms are computed."""
        from stochastic.loss.atoms import choose

        found = self._kept.get("joint") or self._kept.get("merged")
        atoms = found.method if found else choose(self.low, self.weights, self.lanes, self.way)
        if self.is_level:
            return {"moments": "closed form", "cdf": "closed form", "atoms": atoms}
        return {"moments": "quadrature", "cdf": "inversion", "atoms": atoms}

    # --- moments
    def _expect(self, part: float, of: Callable[[int], float]) -> float:
        """An expectation from its part over groups with work."""
        if self.idle_loss is None:
            return part / self.busy
        return part + self.idle * of(self.idle_loss)

    def _scaled(self, error: float) -> float:
        """The error of what is told, from that of the part over groups with work."""
        return error / self.busy if self.idle_loss is None else error

    def moment(self, k: int) -> tuple[float, float]:
        """E[X**k] and the numerical error of it."""
        found: tuple[float, float] = self._once(f"moment {k}", partial(self._moment, k))
        return found

    def _moment(self, k: int) -> tuple[float, float]:
        if k == 0 or (self.is_level and self.zero_work != "zero"):
            return 1.0, 0.0
        if self.is_level:
            part, error = self.busy, 0.0
        elif self._is_rare:
            part = self.busy * float(self.lanes**k)
            error = part * (4.0 * _EPS + self.busy)
        else:
            from stochastic.loss.moments import raw_moments

            values, errors = raw_moments(self.low, self.weights, self.lanes, orders=(k,))
            part, error = float(values[0]), float(errors[0])
        return self._expect(part, lambda x: float(x**k)), self._scaled(error)

    def var(self) -> tuple[float, float]:
        """The variance, centred before it is summed, and the numerical error of it."""
        found: tuple[float, float] = self._once("var", self._var)
        return found

    def _var(self) -> tuple[float, float]:
        centre, _ = self.moment(1)
        if self.is_level:
            return (self.busy * self.idle if self.zero_work == "zero" else 0.0), 0.0
        if self._is_rare:
            part = self.busy * (self.lanes - centre) ** 2
            others = self.busy * self.lanes**2  # of groups with work
            error = self._scaled(part * 4.0 * _EPS)
            error += others if self.idle_loss is None else self.busy * others
            return self._expect(part, lambda x: (x - centre) ** 2), error
        from stochastic.loss.moments import variance

        part, error = variance(self.low, self.weights, self.lanes, centre)
        return self._expect(part, lambda x: (x - centre) ** 2), self._scaled(error)

    # --- probabilities
    @property
    def _inversion(self) -> Inversion | Rare:
        """The CDF of groups with work: up to ``busy``, or up to 1 where they are rare."""
        from stochastic.loss.inversion import Inversion
        from stochastic.loss.rare import RARE, Rare

        found: Inversion | Rare = self._once(
            "inversion",
            lambda: (
                Rare(self.weights, self.lanes)
                if self.idle_loss is None and self.busy < RARE
                else Inversion(self.low, self.weights, self.lanes)
            ),
        )
        return found

    def probability(
        self, t: npt.NDArray[Any], *, tail: bool
    ) -> tuple[npt.NDArray[np.float64], float]:
        """P(X <= t) or, of the tail, P(X > t); and the error of it."""
        if self.is_level:
            part, error, whole = self.busy * _reached(t, 1, tail), 0.0, self.busy
        else:
            law = self._inversion
            part = np.asarray((law.sf if tail else law.cdf)(t), dtype=np.float64)
            error, whole = law.error, law.mass
        if self.idle_loss is None:
            return np.clip(part / whole, 0.0, 1.0), error / whole
        part = part + self.idle * _reached(t, self.idle_loss, tail)
        return np.clip(part, 0.0, 1.0), error

    def quantile(self, q: float) -> float:
        """The smallest loss x with P(X <= x) >= q."""
        idle = self.idle
        rounded = q == 1 and self.busy > 0  # idle may be 1 by rounding
        if self.zero_work == "zero" and idle > 0 and q <= idle and not rounded:
            return 0.0
        if self.is_level:
            return 1.0
        if q == 1:
            return self.lanes * self.high / (self.high + (self.lanes - 1) * self.low)
        wanted = q * self._inversion.mass if self.idle_loss is None else q - idle
        if wanted <= 0 and idle > 0:
            return 1.0
        numerator, denominator = self._inversion.quantile(max(wanted, 0.0))
        return numerator / denominator

    # --- atoms
    @property
    def atom_error(self) -> float:
        """Return the error of each atom: absolute by ``fft``, relative by ``sweep``."""
        found = self._kept.get("merged") or self._kept.get("joint")
        error: float = found.error if found else 0.0
        return self._scaled(error) if found and found.method == "fft" else error

    def _check_atoms(self, found: Joint | Merged) -> None:
        """Raise where groups with work are so rare that the transform tells nothing of them."""
        if found.method == "fft" and self._scaled(found.error) > _TOLD:
            raise LawError(
                f"a group has work with probability {self.busy:.3g}, and zero_work='drop' asks for "
                f"these groups alone; by method='fft' an atom is good to {found.error:.2g} of all "
                "groups only: take method='auto' or 'sweep', or count the others (zero_work='one')"
            )

    def joint(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.float64]]:
        """The maxima, the sums, and P(max = a, sum = b)."""
        from stochastic.loss.atoms import joint

        found: Joint = self._once(
            "joint", lambda: joint(self.low, self.weights, self.lanes, how=self.way)
        )
        self._check_atoms(found)
        return found.maxima, found.sums, found.probabilities

    def atoms(
        self,
    ) -> tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.integer[Any]], npt.NDArray[np.float64]]:
        """Numerator, denominator and probability of each loss, ascending."""
        from stochastic.loss.atoms import merged

        found: Merged = self._once(
            "merged", lambda: merged(self.low, self.weights, self.lanes, how=self.way)
        )
        self._check_atoms(found)
        above, below, chance = found.numerator, found.denominator, found.probability
        at, idle = self.idle_loss, self.idle
        if idle == 0.0:
            return above, below, chance
        if at is None:
            return above, below, chance / self.busy
        if len(above) and above[0] == at * below[0]:
            chance = chance.copy()
            chance[0] += idle
            return above, below, chance
        return np.insert(above, 0, at), np.insert(below, 0, 1), np.insert(chance, 0, idle)


def _reached(t: npt.NDArray[Any], at: int, tail: bool) -> npt.NDArray[np.float64]:
    """The CDF of a law that is all at one place, or its tail."""
    return np.array((t < at) == tail, dtype=np.float64)
