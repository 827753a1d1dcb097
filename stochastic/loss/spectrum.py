"""Probabilities of a group by the spectra of its items: products of transforms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stochastic.loss.coefficients import Plan, coefficients
from stochastic.loss.items import LEFT_OUT

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Spectrum"]

_EPS = 2.0**-53


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
