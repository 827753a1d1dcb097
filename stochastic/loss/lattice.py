"""Two ways to the probabilities P(sum >= the least sum of its largest value) of a group of items.

A way is prepared once for a law and a number of lanes; it is then called with rows of least sums,
one for each value that the largest item can have, and adds up over them. Sums are counted in steps
of their lattice, from the smallest. See :mod:`stochastic.loss.inversion` for the mathematics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stochastic import sizes
from stochastic.errors import LawError
from stochastic.loss.coefficients import Plan, coefficients
from stochastic.loss.items import LEFT_OUT, Items

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Convolution", "Spectrum", "choose"]

_EPS = 2.0**-53
_COEFFICIENTS = sizes.LATTICE_KEPT  # most that are kept, of 16 bytes each
_TRANSFORMS = sizes.LATTICE_TRANSFORMS  # most of a single value at a frequency
_PRODUCTS = sizes.LATTICE_PRODUCTS  # most of a convolution


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Convolution:
    """A few lanes: halves of the group convolved, while the largest value grows."""

    items: Items
    lanes: int

    method = "convolution"

    @property
    def kept(self) -> int:
        """Values that the largest item can have."""
        return len(self.items.places) - self.items.idle

    @property
    def error(self) -> float:
        """Of a probability, estimated: sums of positive terms."""
        return _EPS * (16.0 + 2.0 * math.sqrt(len(self.items.places))) + 2.0 * LEFT_OUT

    @property
    def products(self) -> float:
        """Products for each answer."""
        if self.lanes <= 2:
            return float(len(self.items.places))
        return 0.25 * self.lanes * len(self.items.places) * float(self.items.places[-1])

    @property
    def growth(self) -> float:
        """Products for the sums of halves, whatever is asked."""
        half = self.lanes - self.lanes // 2
        return half**3 / 12 * len(self.items.places) * float(self.items.places[-1])

    def __call__(self, least: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Probabilities, one for each row of least sums."""
        from stochastic.kernels.convolution import between, of_two

        items = self.items
        if self.lanes == 2:
            found = of_two(items.places, items.weights, items.idle, least)
        else:
            # of equal weights, sums of 1 are exact where those of a fraction drift
            most = float(items.weights.max())
            weights = items.weights / most
            found = between(items.places, weights, self.lanes, items.idle, least)
            found *= most**self.lanes
        return np.asarray(found)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spectrum:
    """Coefficients of the probabilities at each frequency, of each value of the largest item."""

    end: int
    period: int
    origin: int
    fraction: float
    frequencies: npt.NDArray[np.int64]
    coefficients: npt.NDArray[np.float64]
    at_end: npt.NDArray[np.float64]
    chances: npt.NDArray[np.float64]
    error: float

    method = "characteristic function"

    @property
    def kept(self) -> int:
        """Values that the largest item can have."""
        return len(self.chances)

    def __call__(self, least: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Probabilities, one for each row of least sums."""
        from stochastic.kernels.inversion import BLOCK, probabilities

        found = np.zeros(len(least))
        probabilities(
            *(least, self.end, self.period, self.origin, self.fraction),
            *(self.frequencies, self.coefficients, self.at_end, self.chances),
            *(np.empty((10, BLOCK)), found),
        )
        return found

    @classmethod
    def of(cls, plan: Plan) -> Spectrum:
        """As planned."""
        items, lanes, kept = plan.items, plan.lanes, plan.kept
        # the centre is a short binary fraction, so that distances from it are exact
        centre = round(float((items.places * items.weights).sum()) * 2**20)
        used, found = coefficients(plan, centre / 2**20)
        origin, fraction = divmod(lanes * centre, 2**20)
        turns = used * ((plan.end - origin) - fraction / 2**20) / plan.period
        angles = -2.0 * math.pi * (turns - np.floor(turns))
        rounding = _EPS * (48.0 + math.sqrt(kept) + math.sqrt(len(used)) + 0.5 * math.sqrt(lanes))
        return cls(
            end=plan.end,
            period=plan.period,
            origin=origin,
            fraction=fraction / 2**20,
            frequencies=used,
            coefficients=found,
            at_end=np.einsum("pf,pfa->a", np.array([np.cos(angles), -np.sin(angles)]), found),
            chances=np.diff(np.exp(plan.log_upto[-kept:]), prepend=0.0)[plan.idle :],
            error=plan.left_out + 6.0 * LEFT_OUT + rounding,
        )


def choose(items: Items, lanes: int) -> Convolution | Spectrum:
    """The way that costs less for an answer: few lanes with a wide law are convolved."""
    convolution = Convolution(items=items, lanes=lanes)
    if lanes == 2:
        return convolution
    plan = Plan.of(items, lanes)
    needed = plan.frequencies * plan.kept
    fits = needed <= _COEFFICIENTS and plan.frequencies * len(items.places) <= _TRANSFORMS
    if fits and needed <= convolution.products + convolution.growth:
        return Spectrum.of(plan)
    if convolution.products + convolution.growth <= _PRODUCTS:
        return convolution
    if fits:
        return Spectrum.of(plan)
    raise LawError(
        f"the CDF of {lanes} lanes over {len(items.places)} uneven values up to "
        f"{int(items.places[-1])} steps apart takes too long ({needed:.1g} coefficients): "
        "simulate it, or group the values on a coarser grid"
    )
