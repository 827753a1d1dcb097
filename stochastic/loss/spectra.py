r"""Spectra of sums of items that are at most a value: which sums and frequencies matter, and those.

Sums outside a window have, by Chernoff's bound, a probability of less than 1e-18 on either side.
Inside it, the characteristic function of the sum, given that no item is above a, is the n-th power
of :math:`G_a(\omega) = \sum_{j\le a} f_j e^{i\omega j}`; a frequency may be left out where that is
negligible for every a. Three bounds say so, each at its own cost:

* near 0, since :math:`\sin y \ge 2y/\pi`, at :math:`\omega \le \pi/\mathrm{range}`:
  :math:`|G_a| \le F_a \exp(-2\omega^2\sigma_a^2/\pi^2)` with the variance of an item that is at
  most a;
* by summation by parts: :math:`|G_a| \le V / (2\sin(\omega/2))`, where V is the total variation of
  the weights: good for smooth laws;
* by Fourier transforms of the law cut at some values, and how little it can differ between those
  and between the points of a grid: for rough laws, as measured ones are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stochastic import sizes
from stochastic.arrays import Floats, Ints

LEFT_OUT = 1e-18  # probability in a group of values that are left out
#: Modulus of a characteristic function that is left out.
NEGLIGIBLE = 1e-22

_FAR = 41.5  # -log of the probability beyond either end of the window
_BEYOND_LAST = 1e-17  # most that all frequencies beyond the last may add to a probability
_WORTH = (
    sizes.FREQUENCIES_WORTH
)  # transforms of single values beyond which a search among frequencies pays
_FINE = sizes.FREQUENCIES_FINE  # points of a grid to a turn at the largest value
_ROWS = sizes.COEFFICIENT_ROWS
_SPARSE = (
    sizes.COEFFICIENT_SPARSE
)  # cells a value, beyond which values are listed rather than cells
_CHUNK = sizes.COEFFICIENT_CHUNK
_EPS = 2.0**-53


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Items:
    """The law of an item on its lattice: values ``first + step·places``, those that matter.

    ``above`` is P(W > value); ``idle`` counts values without work, 0 or 1.
    """

    first: int
    step: int
    places: Ints
    weights: Floats
    above: Floats

    @classmethod
    def of(cls, low: int, weights: Floats, lanes: int) -> Items:
        """Of probabilities of low, low + 1, ..., less both ends where no group of lanes is."""
        used = np.flatnonzero(weights)
        some = weights[used]
        above = np.append(np.cumsum(some[:0:-1])[::-1], 0.0)
        least = LEFT_OUT / lanes
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


def window(items: Items, lanes: int) -> tuple[int, int]:
    """First and last sum of ``lanes`` items that count.

    The Chernoff bound holds at any tilt; the tilt that is chosen is close to the best.
    """
    places, weights = items.places, items.weights
    mean = float((places * weights).sum())
    off = places - mean
    spread = math.sqrt(float((off * off * weights).sum()))
    if spread == 0.0:
        return lanes * int(places[0]), lanes * int(places[0])
    ends = []
    for side in (-off, off):
        most = 600.0 / float(side.max()) if side.max() > 0.0 else math.inf  # nothing beyond a mean
        tilts = math.sqrt(2.0 * _FAR / lanes) / spread * 2.0 ** np.arange(-8, 4)
        for _ in range(2):
            tilts = np.minimum(tilts, most)
            logs = np.log1p((np.expm1(np.outer(tilts, side)) * weights).sum(axis=1))
            reach = (lanes * logs + _FAR) / tilts
            best = int(np.argmin(reach))
            tilts = tilts[best] * 2.0 ** np.linspace(-0.6, 0.6, 5)
        ends.append(float(reach[best]))
    first = math.floor(lanes * mean - ends[0])
    last = math.ceil(lanes * mean + ends[1])
    return max(first, lanes * int(places[0])), min(last, lanes * int(places[-1]))


def frequencies(
    items: Items, lanes: int, period: int, kept: int
) -> tuple[list[tuple[int, int]], float]:
    """Runs of frequencies 1, 2, ... of ``period`` that may matter, and what others add at most.

    They may matter to P(max = value, sum >= s), summed over the last ``kept`` values.
    """
    places, weights = items.places, items.weights
    half = (period - 1) // 2
    steps = np.where(np.diff(places) == 1, np.abs(np.diff(weights)), weights[1:] + weights[:-1])
    variation = float(weights[0] + steps.sum() + weights.max())
    # abs(G) <= reach/k, as sin(y) >= 2y/pi; the rest is below 2·kept/lanes·(reach/k)**lanes
    reach = variation * period / 4.0
    last = reach * (2.0 * kept / lanes / _BEYOND_LAST) ** (1.0 / lanes)
    last = half if last >= half else math.ceil(last)
    turn = period // (2 * max(int(places[-1] - places[0]), 1))  # the first bound holds up to there
    near = min(_near(items, lanes, period, kept), last)
    if near >= turn:
        turn = near
    runs = [(1, near + 1), (turn + 1, last + 1)]
    if float(last - turn) * len(weights) > _WORTH:
        runs[1:] = _searched(turn + 1, last + 1, items, lanes, period, kept)
    others = 2.0 * kept * NEGLIGIBLE * (1.0 + math.log(max(half, 1)))
    return [(a, b) for a, b in runs if a < b], others + (_BEYOND_LAST if last < half else 0.0)


def _near(items: Items, lanes: int, period: int, kept: int) -> int:
    """The frequency beyond which the first bound says that none matters."""
    places, weights = items.places, items.weights
    mean = float((places * weights).sum())
    off = places - mean
    mass = np.cumsum(weights)[-kept:]
    first = np.cumsum(weights * off)[-kept:] / mass
    square = np.cumsum(weights * off * off)[-kept:] / mass - first * first
    square -= 1e-12 * float((weights * off * off).sum())  # for the rounding of it
    needed = lanes * np.log(np.minimum(mass, 1.0)) - math.log(NEGLIGIBLE)
    ratio = np.where(needed > 0, needed / np.maximum(square, 1e-300), 0.0)
    angle = math.pi * math.sqrt(float(ratio.max()) / (2.0 * lanes))
    return math.ceil(min(angle / (2.0 * math.pi) * period, float(period)))


def _searched(
    start: int, stop: int, items: Items, lanes: int, period: int, kept: int
) -> list[tuple[int, int]]:
    """Runs of frequencies at which the third bound does not say that they do not matter."""
    places, weights = items.places, items.weights
    span = int(places[-1] - places[0])
    level = NEGLIGIBLE ** (1.0 / lanes)
    mass = np.cumsum(weights)
    first = len(weights) - kept - 1  # the last value that is not kept
    low = float(mass[first]) if first >= 0 else 0.0
    blocks = math.ceil((1.0 - low) / (0.5 * level))
    size, slack = period, 0.0
    if period > _FINE * span:
        size = 1 << (_FINE * span - 1).bit_length()
        slack = math.pi / size * float((np.abs(places - (places * weights).sum()) * weights).sum())
    if float(blocks) * size * math.log2(size) > float(stop - start) * len(weights):
        return [(start, stop)]
    cuts = np.searchsorted(mass, low + (1.0 - low) / blocks * np.arange(1, blocks))
    cuts = np.unique(np.concatenate([[first], cuts[cuts > first], [len(mass) - 1]]))
    most = np.zeros(size // 2 + 1)
    held, below, left = 0.0, low, first
    for right in cuts.tolist():
        cut = np.bincount(places[: right + 1] % size, weights[: right + 1], minlength=size)
        np.maximum(most, np.abs(np.fft.rfft(cut)), out=most)
        if right > left + 1:  # a value between is close to one of the two
            held = max(held, min(mass[right - 1] - below, 0.5 * (mass[right] - below)))
        below, left = (float(mass[right]) if right >= 0 else 0.0), right
    open_ = np.concatenate([[False], most + held + slack > level, [False]])
    edges = np.flatnonzero(open_[1:] != open_[:-1]).reshape(-1, 2)
    scale = period / size
    runs = []
    for a, b in edges.tolist():  # a cell of the grid stands for what is nearest to it
        begin = max(start, math.floor((a - 0.5) * scale))
        end = min(stop, math.ceil((b - 0.5) * scale) + 1)
        if begin < end:
            runs.append((begin, end))
            start = end
    return runs


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
    log_upto: Floats
    kept: int
    idle: int
    runs: list[tuple[int, int]]
    left_out: float

    @classmethod
    def of(cls, items: Items, lanes: int) -> Plan:
        """Window, values and frequencies that matter."""
        begin, last = window(items, lanes)
        period = (last - begin + 1) | 1
        below = np.log(np.minimum(np.cumsum(items.weights), 1.0))
        rest = np.log1p(-np.minimum(items.above, 0.5))
        log_upto = lanes * np.where(items.above < 0.5, rest, below)
        kept = len(log_upto) - int(np.searchsorted(log_upto, math.log(LEFT_OUT)))
        runs, left_out = frequencies(items, lanes, period, kept)
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


def coefficients(plan: Plan, centre: float) -> tuple[Ints, Floats]:
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spectrum:
    """Coefficients of the probabilities at each frequency, of each value of the largest item."""

    end: int
    period: int
    origin: int
    fraction: float
    frequencies: Ints
    coefficients: Floats
    at_end: Floats
    chances: Floats
    error: float

    method = "characteristic function"

    @property
    def kept(self) -> int:
        """Values that the largest item can have."""
        return len(self.chances)

    def __call__(self, least: Ints) -> Floats:
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
