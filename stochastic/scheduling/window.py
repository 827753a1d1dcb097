"""The starts that the last block can have, by Chernoff's bounds, and the nodes of a circle.

With N(s) the blocks that a slot with endless work has begun by s, the last of B blocks has begun by
s if all slots together have begun B by then. For every l > 0, P(ΣN >= B) <= exp(-l·B) Π E[exp(l·N)]
and so for l < 0 the other way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.arrays import Floats, Ints

if TYPE_CHECKING:
    from stochastic.scheduling.settings import Kind, Setting


#: log E[exp(tilt·N(s))] of a kind of slots, a row for each tilt, s = low - 1..high.
Moments = Callable[[Any], Any]

#: The logarithm of a probability that is left out.
NOTHING = -37.0
_TILTS = np.array([4.0, 7.0, 9.0, 14.0])


@dataclass(frozen=True, kw_only=True, eq=False)
class Window:
    """The starts that the last block can have, and what is needed to tell them apart.

    Attributes
    ----------
    first, last : int
        It begins before the one, or after the other, with a probability below exp(NOTHING) each.
    period : int
        How many numbers of blocks are told apart: those as far away are as improbable. Even.
    """

    first: int
    last: int
    period: int

    @cached_property
    def _circle(self) -> tuple[Floats, Floats]:
        """exp(iπk/period) and 1 less it, for k = 0..2·period - 1, (2, 2·period) each."""
        period = self.period
        k = np.arange(2 * period)
        angle = np.where(k > period, k - 2 * period, k) * (math.pi / period)
        sine = np.sin(angle)
        return np.array([np.cos(angle), sine]), np.array([2.0 * np.sin(angle / 2) ** 2, -sine])

    def powers(self, nodes: Ints, exponents: Any) -> Floats:
        """Return z**n of the z of each node and each exponent n, (2, ..., nodes, exponents)."""
        return np.asarray(self._circle[0][:, self._places(nodes, exponents)])

    def lacks(self, nodes: Ints, exponents: Any) -> Floats:
        """Return 1 - z**n, as precise relative to itself."""
        return np.asarray(self._circle[1][:, self._places(nodes, exponents)])

    def ratios(self, kinds: Sequence[Kind], nodes: Ints) -> Floats:
        """Return x/(x - 1) of durations 0..K, x = z·F, (2, kinds, nodes, K + 1)."""
        (a, b), (p, q) = self.powers(nodes, [1]), self.lacks(nodes, [1])
        tails = np.array([kind.tails for kind in kinds])[:, None]
        below = np.array([kind.chances for kind in kinds])[:, None]
        p, q = p + a * tails, q + b * tails
        size = below / (p * p + q * q)
        return np.array([-(a * p + b * q) * size, (a * q - b * p) * size])

    def _places(self, nodes: Ints, exponents: Any) -> Ints:
        """Return which point of the circle each power of each node is."""
        turns = (2 * nodes[:, None] + 1) * np.asarray(exponents)[..., None, :]
        return np.asarray(turns % (2 * self.period))


def window_within(
    setting: Setting, low: int, high: int, moments: Sequence[Moments]
) -> Window | None:
    """Return when the last block can begin if that lies within low..high, else None."""
    far = _TILTS / setting.spread
    bound = np.zeros((2 * len(far), high - low + 2))
    for kind, of in zip(setting.kinds, moments, strict=True):
        bound += kind.slots * of(np.concatenate([far, -far]))
    bound[np.isnan(bound)] = math.inf  # no bound
    up, down = bound[: len(far)], bound[len(far) :]
    up += setting.log_weight(far)[:, None]
    down += (setting.log_weight(-far) - far)[:, None]  # at most one less has begun
    early, late = up.min(axis=0), down.min(axis=0)  # of s = low - 1, ..., high
    if (low > 0 and early[0] > NOTHING) or late[-1] > NOTHING:
        return None
    first = low + int(np.argmax(early[1:] > NOTHING)) if np.any(early[1:] > NOTHING) else high
    last = max(low - 1 + int(np.argmax(late <= NOTHING)), first)
    above = float(((up[:, last - low + 1] - NOTHING) / far).min())
    below = float(((down[:, first - low] - NOTHING) / far).min())
    shortest = min(int(np.flatnonzero(kind.law)[0]) for kind in setting.kinds)
    above = min(above, setting.slots * (last // shortest + 1) + 1)  # more never begin by then
    if first == 0:
        below = min(below, setting.blocks)
    return Window(first=first, last=last, period=2 * math.ceil(max(above, below, 2.0) / 2))
