"""What rounding can do to a law of launches that is computed from counts, bounded step by step.

Let u be half the distance of 1 to the next double. Sums of positive terms are off by a number of
roundings, relative to themselves: 10 for each duration of q_n (7 of the sum, 3 of the law), so that
D is off by u Σ_n P(N = n) |1 - z**(n - c)| (10n + ...), and by as much of what the end takes. With
Λ = P(a slot's block ends after t), |A| <= 1 - Λ and |A| <= (1 + |phi|)/2, and (1 - D)**M is off by
at most M|A|**(M-1) times that; of its powers, each squaring adds what later squarings double.
The sum over starts is one by parts, Σ_s (r_s - r_{s+1}) P_s, r = x/(x - 1): an error of P counts as
often as r varies, that of r and of sums as Σ_s |r_s (P_s - P_{s-1})| <= M Σ_s |H(s)| |A|**(M-1).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stochastic.kernels.starts import TILE
from stochastic.scheduling.reach import NOTHING

if TYPE_CHECKING:
    import numpy.typing as npt

    from stochastic.scheduling.centred import Centred

__all__ = ["bound"]

_UNIT = 2.0**-53
_LONG = float(np.finfo(np.longdouble).eps)
_LAW = 3  # roundings of a probability of the law, and of a sum of them that is rounded once more
_SUM = 7  # of stochastic.kernels.starts.convolved
_CIRCLE = 10  # of a point of the circle, and of 1 less it
_PLAIN = math.sqrt(2.0)  # of a complex number, as both its parts may be off
_SQUARE = 3.0 * _PLAIN  # of D(2 - D), relative to |D|(2 + |D|)
_JOIN = 1.0 + 3.0 * _SQUARE  # of E + D(1 - E), relative to the larger of the two


def bound(law: Centred) -> float:
    """Bound on the error of a probability."""
    share = 2.0 / law.reach.period
    varies = _variation(law)
    off = np.zeros(len(law.nodes))
    for g in range(len(law.counts)):
        lack = np.hypot(*law.endless[:, g])
        most = (1.0 + np.minimum(np.hypot(1.0 - law.endless[0, g], law.endless[1, g]), 1.0)) / 2.0
        if law.reach.first == 0:  # what was before is a point of the circle
            off += varies * _PLAIN * _CIRCLE
            lack[:, 0] = 0.0
        off += varies * _power_off(law, g, lack, most)
        off += _summed_off(law, g, most)
    off += varies * 6.0 * (len(law.counts) - 1)
    found = share * _UNIT * float(off.sum())
    beyond = sum(int(m) * one.beyond for m, one in zip(law.slots, law.counts, strict=True))
    found += share * float(varies.sum()) * beyond
    return found + _left_out(law) + 6.0 * math.exp(NOTHING)


def _variation(law: Centred) -> npt.NDArray[np.float64]:
    """Σ |r_s - r_{s+1}| over all durations, and the first |r|, of each node."""
    path = law.ratio[..., ::-1].transpose(0, 2, 3, 1)  # from the longest duration, kinds in order
    steps = np.diff(path.reshape(*path.shape[:2], -1), axis=2)
    return np.asarray(np.hypot(*steps).sum(axis=1) + np.hypot(*law.ratio).max(axis=(0, 2)))


def _power_off(
    law: Centred, g: int, lack: npt.NDArray[np.float64], most: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Roundings of (1 - D)**M of a kind, absolutely, of each node and the worst of starts.

    ``lack`` is |D| without an end, ``most`` what |A| cannot exceed, of nodes and starts.
    """
    one, slots = law.counts[g], int(law.slots[g])
    rows, places = one.held.shape
    longest = law.setting.longest
    each = (_SUM + _LAW) * np.maximum(one.counts - 1.0, 0.0)
    tail = 1.0 + _LAW + longest * _LONG / _UNIT
    sizes = np.hypot(law.lacks[0, g], law.lacks[1, g])
    added = np.where(law.often, np.count_nonzero(law.often), rows) + 1.0
    shares = each + tail + _SUM + added + _CIRCLE + 2.0
    endless = _PLAIN * (sizes @ (one.held * shares[:, None]))
    endless[lack == 0.0] = 0.0
    ahead = one.counts[:, None] - one.counts
    above = (np.maximum(ahead.T, 0.0) @ one.held).max(axis=1)  # E[(N - n)+] of each n
    reached = int(np.argmax(above <= 1e-3 / slots))
    ended = each[reached] + tail + longest / TILE + 8.0 + rows + _CIRCLE
    ended = _PLAIN * (ended + TILE + places / TILE + 4.0)
    found = slots * endless * most ** (slots - 1)
    found += _squared_off(lack, most, slots)
    return np.asarray(found.max(axis=1) + ended + (_SUM + _LAW) * _PLAIN * 1e-3)


def _squared_off(
    lack: npt.NDArray[np.float64], most: npt.NDArray[np.float64], slots: int
) -> npt.NDArray[np.float64]:
    """Roundings of the squarings and products of which (1 - D)**slots is made."""
    top = slots.bit_length() - 1
    found = np.zeros(lack.shape)
    for k in range(top + 1):
        power = 2.0**k
        after = slots & ((1 << (k + 1)) - 1)  # of the power that is made by now
        if slots >> k & 1:
            size = np.minimum(after * lack, 2.0) if k < top else 2.0
            found += _JOIN * size * most ** (slots - after) + (_JOIN if k < top else 0.0)
        if k < top:
            size = np.minimum(power * lack, 1.0 + most**power)
            if k + 1 == top:
                size = 1.0 + most**power
            else:
                found += 4.0 * _SQUARE  # of what the end takes: MΛ(1 - Λ)**(M/2) is below 1
            left = most ** (slots - 2.0 * power)
            found += slots / (2.0 * power) * _SQUARE * size * (2.0 + size) * left
    return found


def _summed_off(law: Centred, g: int, most: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Roundings of ratios, products and sums over starts, of each node."""
    slots = int(law.slots[g])
    near = np.maximum(most[:, 1:], most[:, :-1]) ** (slots - 1)
    each = slots * (np.hypot(*law.starts[:, g]) * near).sum(axis=1)
    lack = 2.0 * np.sin((law.nodes + 0.5) * (math.pi / law.reach.period))
    idle = law.setting.blocks * law.setting.idle * lack * (4.0 + 8.0 * _LONG / _UNIT)
    width = law.reach.last - law.reach.first
    return np.asarray(each * (3 * _CIRCLE + 3 * _LAW + 24.0 + width / TILE + idle))


def _left_out(law: Centred) -> float:
    """Bound on what nodes hold that are not looked at."""
    logs = law.slots @ np.log((1.0 + law.modulus(slice(None))) / 2.0)
    logs[law.nodes] = -math.inf
    angles = (2.0 * np.arange(len(logs)) + 1.0) * (math.pi / law.reach.period)
    starts = len(law.slots) * (law.reach.last - law.reach.first + 3)
    return float((np.exp(logs) / np.sin(angles / 2)).sum()) * 2.0 * starts / law.reach.period
