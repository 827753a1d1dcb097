r"""Which sums and which frequencies an inversion on a lattice needs: bounds, all of them rigorous.

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
from typing import TYPE_CHECKING

import numpy as np

from stochastic import sizes

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["NEGLIGIBLE", "frequencies", "window"]

#: Modulus of a characteristic function that is left out.
NEGLIGIBLE = 1e-22

_FAR = 41.5  # -log of the probability beyond either end of the window
_LEFT_OUT = 1e-17  # most that all frequencies beyond the last may add to a probability
_WORTH = (
    sizes.FREQUENCIES_WORTH
)  # transforms of single values beyond which a search among frequencies pays
_FINE = sizes.FREQUENCIES_FINE  # points of a grid to a turn at the largest value


def window(
    places: npt.NDArray[np.int64], weights: npt.NDArray[np.float64], lanes: int
) -> tuple[int, int]:
    """First and last sum of ``lanes`` items that count.

    The Chernoff bound holds at any tilt; the tilt that is chosen is close to the best.
    """
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
    places: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    lanes: int,
    period: int,
    kept: int,
) -> tuple[list[tuple[int, int]], float]:
    """Runs of frequencies 1, 2, ... of ``period`` that may matter, and what others add at most.

    They may matter to P(max = value, sum >= s), summed over the last ``kept`` values.
    """
    half = (period - 1) // 2
    steps = np.where(np.diff(places) == 1, np.abs(np.diff(weights)), weights[1:] + weights[:-1])
    variation = float(weights[0] + steps.sum() + weights.max())
    # abs(G) <= reach/k, as sin(y) >= 2y/pi; the rest is below 2·kept/lanes·(reach/k)**lanes
    reach = variation * period / 4.0
    last = reach * (2.0 * kept / lanes / _LEFT_OUT) ** (1.0 / lanes)
    last = half if last >= half else math.ceil(last)
    turn = period // (2 * max(int(places[-1] - places[0]), 1))  # the first bound holds up to there
    near = min(_near(places, weights, lanes, period, kept), last)
    if near >= turn:
        turn = near
    runs = [(1, near + 1), (turn + 1, last + 1)]
    if float(last - turn) * len(weights) > _WORTH:
        runs[1:] = _searched(turn + 1, last + 1, places, weights, lanes, period, kept)
    others = 2.0 * kept * NEGLIGIBLE * (1.0 + math.log(max(half, 1)))
    return [(a, b) for a, b in runs if a < b], others + (_LEFT_OUT if last < half else 0.0)


def _near(
    places: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    lanes: int,
    period: int,
    kept: int,
) -> int:
    """The frequency beyond which the first bound says that none matters."""
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
    start: int,
    stop: int,
    places: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    lanes: int,
    period: int,
    kept: int,
) -> list[tuple[int, int]]:
    """Runs of frequencies at which the third bound does not say that they do not matter."""
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
