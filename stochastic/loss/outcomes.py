"""The outcomes (max, sum) of a finite law, what their probabilities cost, and the way to them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import sizes
from stochastic.checks import whole
from stochastic.errors import LawError

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["LEFT_OUT", "Outcomes", "choose_way", "refuse"]

#: Probability that the transform leaves out, of each of three kinds: minus its logarithm.
_NOTHING = 42.0
LEFT_OUT = 3 * math.exp(-_NOTHING)

WAYS = ("auto", "sweep", "fft")
_MOST_BYTES = sizes.OUTCOMES_BYTES
_MOST_SECONDS = 120.0
#: Up to here the sweep, whose atoms have all digits however small they are, is worth any price.
_PATIENCE = 2.0
#: The sweep is for lanes of which it computes atoms down to this size, at least.
_LEAST_FLOOR = 1e-30


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcomes:
    """Of items with values ``low + step·values`` and positive ``weights``, in so many ``lanes``."""

    low: int
    step: int
    values: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]
    lanes: int

    @classmethod
    def of(cls, low: int, weights: Any, lanes: int) -> Outcomes:
        """Those of a law with weights of low, low + 1, ..."""
        weights = np.asarray(weights, dtype=np.float64)
        at = np.flatnonzero(weights)
        if not len(at) or not weights.min() >= 0 or not math.isfinite(weights.sum()):
            raise LawError("weights: expected probabilities, at least one of them above 0")
        weights, moved = weights[at], at - at[0]
        if abs(weights.sum() - 1.0) > 1e-9:
            weights = weights / math.fsum(weights)
        step = max(int(np.gcd.reduce(moved)), 1)
        return cls(
            low=int(low) + int(at[0]),
            step=step,
            values=(moved // step).astype(np.int64),
            weights=weights,
            lanes=whole("lanes", lanes, least=1, example=32),
        )

    @property
    def top(self) -> int:
        """The largest of ``values``."""
        return int(self.values[-1])

    @property
    def maxima(self) -> npt.NDArray[np.int64]:
        """The values of the law."""
        return self.low + self.step * self.values

    def sums(self, first: int, last: int) -> npt.NDArray[np.int64]:
        """The sums from ``first`` up to ``last``, both counted in steps from the smallest."""
        return self.lanes * self.low + self.step * np.arange(first, last + 1, dtype=np.int64)

    @property
    def count(self) -> int:
        """How many outcomes there are."""
        return (self.lanes - 1) * int(self.values.sum()) + len(self.values)

    @cached_property
    def excess(self) -> float:
        """By how much the weights sum to more than 1, after rounding."""
        return math.fsum([*self.weights.tolist(), -1.0])

    @cached_property
    def masses(self) -> npt.NDArray[np.float64]:
        """P(max = value), with all its digits also where it is tiny."""
        below = np.cumsum(self.weights.astype(np.longdouble))
        share = self.weights[1:] / below[1:]
        below /= below[-1]
        with np.errstate(divide="ignore"):  # what lies below is nothing beside it
            above = -np.expm1(self.lanes * np.log1p(-share)) * below[1:] ** self.lanes
        return np.concatenate([below[:1] ** self.lanes, above]).astype(np.float64)

    # --- the sweep
    @cached_property
    def shift(self) -> int:
        """q of the sweep: its row i is scaled by 2**(q·i) / i!, for none above 2**1000."""
        n = self.lanes
        q = int((1000.0 + _log2_factorial(n)) // n)
        while 2**q < n and q * 2**q - _log2_factorial(2**q) > 1000.0:
            q -= 1
        return q

    @property
    def floor(self) -> float:
        """Atoms above it are computed by the sweep without underflow."""
        n, q = self.lanes, self.shift
        most = min(n, 2**q)  # the row that is scaled up most
        lost = _log2_factorial(n) - _log2_factorial(most) - q * (n - most)
        return float(min(1e-300 * 2.0 ** min(lost, 1000.0), 1.0))

    @property
    def sweep_seconds(self) -> float:
        """About how long the sweep takes."""
        n = float(self.lanes)
        total = float(self.values.sum()) + 128.0 * len(self.values) / n
        return total * (6e-11 * n**3 / 6 + 4e-10 * n**2 / 2 + 2e-9 * n)

    # --- the transform
    @cached_property
    def reach(self) -> tuple[int, int, int]:
        """First value, and first and last sum in steps, that the transform computes.

        The others have a probability below :data:`LEFT_OUT` (of the sums by Bernstein).
        """
        total = float(self.weights.sum())
        below = np.cumsum(self.weights) / total
        row = int(np.argmax(self.lanes * np.log(below) > -_NOTHING))
        mean = float(self.weights @ self.values) / total
        spread = float(self.weights @ (self.values - mean) ** 2) / total * self.lanes

        def away(most: float) -> float:
            part = _NOTHING * most / 3
            return part + math.sqrt(part * part + 2 * _NOTHING * spread) + 1

        first = max(math.floor(self.lanes * mean - away(mean)), 0)
        last = min(math.ceil(self.lanes * mean + away(self.top - mean)), self.lanes * self.top)
        return row, first, last

    @property
    def fft_seconds(self) -> float:
        """About how long the transform takes."""
        row, first, last = self.reach
        return 1.4e-8 * (len(self.values) - row) * (last - first + 1)


def _log2_factorial(n: int) -> float:
    return math.lgamma(n + 1.0) / math.log(2.0)


def choose_way(outcomes: Outcomes, how: str) -> str:
    """The sweep, unless it takes long or the lanes are too many for it, and the transform less."""
    if how not in WAYS:
        raise LawError(f"how = {how!r}: expected one of {', '.join(WAYS)}")
    if how != "auto":
        return how
    if outcomes.floor > _LEAST_FLOOR:
        return "fft"
    seconds = outcomes.sweep_seconds
    return "fft" if seconds > _PATIENCE and seconds > 2 * outcomes.fft_seconds else "sweep"


def refuse(outcomes: Outcomes, way: str, size: int) -> None:
    """An error where a result of ``size`` bytes is too large, or takes too long."""
    seconds = outcomes.fft_seconds
    if way == "sweep":
        size += 4 * outcomes.lanes * (outcomes.lanes * outcomes.top + 512)
        seconds = outcomes.sweep_seconds
        if outcomes.floor > _LEAST_FLOOR:
            raise LawError(
                f"the sweep underflows in {outcomes.lanes} lanes: take 'auto' or 'fft' instead of "
                "'sweep'; moments, CDF and quantiles need no atoms"
            )
    if size > _MOST_BYTES or seconds > _MOST_SECONDS:
        raise LawError(
            f"the atoms of {len(outcomes.values)} values up to {outcomes.maxima[-1]} in "
            f"{outcomes.lanes} lanes would take {size / 2**30:.3g} GiB and about {seconds:.2g} s "
            f"(by the {way}), above {_MOST_BYTES >> 30} GiB or {_MOST_SECONDS:.0f} s: moments, CDF "
            "and quantiles need no atoms; a larger eps cuts the support shorter; simulate draws"
        )
