"""How many blocks a slot has begun, of the probability of every count: sums of positive terms.

q_n(u) = P(S_n = u), S_n a sum of n durations, and with N(s) the starts by s of a slot that never
runs out of blocks, P(N(s) = n + 1) = Σ_{u<=s} q_n(u) P(D > s - u).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from stochastic.scheduling.setting import Kind

__all__ = ["Counts", "counted", "price"]

_TAILS = 8  # products with tails that take as long as one with the law
_SHARE = 0.3  # of what may be left out, that is left out at places where it is less


@dataclass(frozen=True, kw_only=True, eq=False)
class Counts:
    """Of one kind of slots, a row for each count n = least, least + 1, ...; K the longest duration.

    Attributes
    ----------
    least : int
        The first count.
    low, high : int
        The places s that are told apart, low - 1 besides.
    starts : array, shape (counts, high - low + K + 1)
        P(S_{n-1} = u) for u = low - K..high; none for n = 0.
    held : array, shape (counts, high - low + 2)
        P(N(s) = n) for s = low - 1..high.
    beyond : float
        Bound on the probability that is left out: of any count above these, by high.
    """

    least: int
    low: int
    high: int
    starts: npt.NDArray[np.float64]
    held: npt.NDArray[np.float64]
    beyond: float

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """The counts themselves."""
        return np.arange(self.least, self.least + len(self.held))

    @cached_property
    def centre(self) -> int:
        """About the mean count."""
        middle = self.held[:, self.held.shape[1] // 2]
        return round(float(self.counts @ middle / middle.sum()))

    def cut(self, low: int, high: int, rows: int) -> Counts:
        """The same of fewer places, and as many rows, the last of nothing."""
        longest = self.starts.shape[1] - (self.high - self.low + 1)
        begin, stop = low - self.low, high - self.low + 1
        starts = np.zeros((rows, stop - begin + longest))
        held = np.zeros((rows, stop - begin + 1))
        starts[: len(self.starts)] = self.starts[:, begin : stop + longest]
        held[: len(self.held)] = self.held[:, begin : stop + 1]
        return Counts(
            least=self.least, low=low, high=high, starts=starts, held=held, beyond=self.beyond
        )

    def moments(self, tilts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """log E[exp(tilt·N(s))], a row for each tilt, s = low - 1..high, without counts beyond."""
        found = np.exp(np.outer(tilts, self.counts - self.centre)) @ self.held
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(found) + (tilts * self.centre)[:, None])


def price(kind: Kind, low: int, high: int) -> float:
    """Return about how many products it takes to count between two places.

    Each count is a product with the law, where that has any chance, and one with its tails.
    """
    most = high / kind.mean + 9.0 * np.sqrt(high * kind.var / kind.mean**3 + 1.0) + 9.0
    tails = float(high - low + 1) * kind.longest / _TAILS
    return float(most * (high * np.count_nonzero(kind.law) + tails))


def counted(kind: Kind, low: int, high: int, beyond: float) -> Counts:
    """All counts by high but those that together have a probability below ``beyond``."""
    from stochastic.kernels.starts import AT_ONCE, TILE, convolved

    longest = len(kind.law) - 1
    pad = (longest // AT_ONCE + 1) * AT_ONCE
    law, tails = np.zeros(pad), np.zeros(pad)
    law[: longest + 1] = kind.law
    tails[:longest] = kind.tails[:longest]
    room = np.empty((2, TILE))
    row = np.zeros(pad + high + 1 + TILE)
    row[pad] = 1.0
    into = np.empty(high - max(low - 1, 0) + 1 + TILE)
    first = n = 0
    little, left = _SHARE * beyond / (high + 1), 0.0
    shortest = int(np.flatnonzero(kind.law)[0])
    least, starts, held = 0, list[npt.NDArray[np.float64]](), list[npt.NDArray[np.float64]]()
    if low == 0:  # nothing has begun before
        starts.append(np.zeros(high + longest + 1))
        held.append(np.append(1.0, np.zeros(high + 1)))
    while True:
        begin = max(low - longest, 0)
        seen = row[pad + begin : pad + high + 1]
        if starts or seen.max() > little:
            least = least if starts else n + 1
            starts.append(np.concatenate([np.zeros(begin - low + longest), seen]))
            convolved(tails, row, first, max(low - 1, 0), high, room, into)
            held.append(np.concatenate([np.zeros(int(low == 0)), into[:-TILE]]))
        after = np.zeros_like(row)
        first += shortest
        if first > high:
            break
        if n:
            convolved(law, row, first - shortest, first, high, room, after[pad + first :])
        else:
            after[pad : pad + min(longest, high) + 1] = law[: min(longest, high) + 1]
        after[pad + high + 1 :] = 0.0
        row, n = after, n + 1
        few = row[pad + first : pad + high + 1]
        less = int(np.argmax(few > little))
        left += float(few[:less].sum())
        few[:less] = 0.0
        first += less
        mass = float(few.sum())  # P(S_n <= high), that of any count above n
        if mass < beyond:
            left += mass
            break
    return Counts(
        least=least,
        low=low,
        high=high,
        starts=np.array(starts),
        held=np.array(held),
        beyond=left,
    )
