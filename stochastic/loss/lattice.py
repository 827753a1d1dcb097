"""Ways to the probabilities P(sum >= the least sum of its largest value) of a group of items.

A way is prepared once for a law and a number of lanes; it is then called with rows of least sums,
one for each value that the largest item can have, and adds up over them. Sums are counted in steps
of their lattice, from the smallest. See :mod:`stochastic.loss.inversion` for the mathematics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stochastic.errors import LawError
from stochastic.loss.frequencies import NEGLIGIBLE, frequencies, window

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Convolution", "Items", "Plan", "Spectrum", "choose"]

_EPS = 2.0**-53
_LEFT_OUT = 1e-18  # probability in a group of values that are left out
_COEFFICIENTS = 1.5e7  # most that are kept, of 16 bytes each
_TRANSFORMS = 1e9  # most of a single value at a frequency
_PRODUCTS = 2e9  # most of a convolution
_ROWS = 64
_SPARSE = 8  # cells a value, beyond which values are listed rather than cells
_CHUNK = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Items:
    """The law of an item on its lattice: values ``first + step·places``, those that matter.

    ``above`` is P(W > value); ``idle`` counts values without work, 0 or 1.
    """

    first: int
    step: int
    places: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]
    above: npt.NDArray[np.float64]

    @classmethod
    def of(cls, low: int, weights: npt.NDArray[np.float64], lanes: int) -> Items:
        """Of probabilities of low, low + 1, ..., less both ends where no group of lanes is."""
        used = np.flatnonzero(weights)
        some = weights[used]
        above = np.append(np.cumsum(some[:0:-1])[::-1], 0.0)
        least = _LEFT_OUT / lanes
        kept = (np.append(1.0, above[:-1]) > least) & (np.cumsum(some) > least)
        used = used[kept]
        step = max(int(np.gcd.reduce(used - used[0])), 1)
        return cls(
            first=low + int(used[0]),
            step=step,
            places=(used - used[0]) // step,
            weights=some[kept],
            above=above[kept],
        )

    @property
    def idle(self) -> int:
        """How many values have no work: 0 or 1."""
        return int(self.first == 0)


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
        return _EPS * (16.0 + 2.0 * math.sqrt(len(self.items.places))) + 2.0 * _LEFT_OUT

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
        used, found = _coefficients(plan, centre / 2**20)
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
            error=plan.left_out + 6.0 * _LEFT_OUT + rounding,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """What a spectrum is to hold: sums up to ``end``, told apart within ``period``.

    The last ``kept`` values are the largest of a group with a probability that counts; ``idle`` of
    those have no work. ``log_upto`` is log P(max <= value).
    """

    items: Items
    lanes: int
    end: int
    period: int
    log_upto: npt.NDArray[np.float64]
    kept: int
    idle: int
    runs: list[tuple[int, int]]
    left_out: float

    @classmethod
    def of(cls, items: Items, lanes: int) -> Plan:
        """Window, values and frequencies that matter."""
        begin, last = window(items.places, items.weights, lanes)
        period = (last - begin + 1) | 1
        below = np.log(np.minimum(np.cumsum(items.weights), 1.0))
        rest = np.log1p(-np.minimum(items.above, 0.5))
        log_upto = lanes * np.where(items.above < 0.5, rest, below)
        kept = len(log_upto) - int(np.searchsorted(log_upto, math.log(_LEFT_OUT)))
        runs, left_out = frequencies(items.places, items.weights, lanes, period, kept)
        return cls(
            items=items,
            lanes=lanes,
            end=begin + period,
            period=period,
            log_upto=log_upto,
            kept=kept,
            idle=items.idle if kept == len(log_upto) else 0,
            runs=runs,
            left_out=left_out,
        )

    @property
    def frequencies(self) -> float:
        """How many frequencies may matter."""
        return float(sum(stop - start for start, stop in self.runs))


def _coefficients(
    plan: Plan, centre: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Frequencies that do matter, and their coefficients."""
    from stochastic.kernels.inversion import transforms

    places, kept = plan.items.places, plan.kept
    if places[-1] >= _SPARSE * len(places):
        rows, column = np.zeros(1), np.arange(len(places))
        columns = places - centre
    else:
        count = min(1 << round(math.log2(places[-1] + 1) / 2), _ROWS)
        rows, column = np.arange(float(count)), places // count
        columns = count * np.arange(column[-1] + 1) - centre
    row = places % len(rows)
    used = [np.empty(0, dtype=np.int64)]
    parts = [np.empty((2, 0, kept - plan.idle))]
    step = max(_CHUNK // kept, 1)
    edges, turned = np.empty((2, len(columns) + len(rows))), np.empty((2, len(places)))
    lacking, power = np.empty((2, 2, kept))
    for start, stop in plan.runs:
        for begin in range(start, stop, step):
            asked = np.arange(begin, min(begin + step, stop))
            chosen, found = np.empty_like(asked), np.empty((2, len(asked), kept - plan.idle))
            size = transforms(
                *(asked, plan.period, columns, rows, column, row, plan.items.weights),
                *(plan.idle, plan.lanes, NEGLIGIBLE),
                *(edges, turned, lacking, power, chosen, found),
            )
            used.append(chosen[:size])
            parts.append(found[:, :size].copy())
    return np.concatenate(used), np.concatenate(parts, axis=1)


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
