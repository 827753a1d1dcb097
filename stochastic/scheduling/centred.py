"""The law of a launch from counts of blocks, in terms of what is near 1.

The formula of stochastic.scheduling.inversion. Here z**-c A_s of a slot is 1 - D,

    D = Σ_n P(N(s) = n) (1 - z**(n - c)) + Σ_n z**(n - c) P(N(s) = n, its block ends after t),

of positive probabilities and of phases known to the last digit, so that D is as precise as they
are, relative to itself; for the nodes that count it is some 8/√M at most. What rounding can do to
the law then grows as √M, which stochastic.scheduling.rounding bounds, step by step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import sizes
from stochastic.scheduling.counts import Counts, counted, price
from stochastic.scheduling.reach import NOTHING, Reach, within
from stochastic.threads import shared_out

if TYPE_CHECKING:
    import numpy.typing as npt

    from stochastic.scheduling.setting import Setting

__all__ = ["Centred", "affordable"]

_MARGIN = -8.0  # beyond NOTHING, for there are many nodes and starts
_DEAR = sizes.CENTRED_DEAR  # products
_LOST = 1e-16  # of all slots, that any has begun more blocks than are counted
_RARE = 1e-12
_LOOKED = sizes.CENTRED_LOOKED  # places and nodes that are looked at
_BLOCK = sizes.CENTRED_BLOCK  # phases that are looked at together


def affordable(setting: Setting) -> bool:
    """Whether counting is quicker than going through transforms."""
    low, high = _guess(setting, 11.0)
    return sum(price(kind, low, high) for kind in setting.kinds) < _DEAR and (
        setting.spread * 9.0 * _window(setting, 11.0) * 2.0 < _LOOKED
    )


def _window(setting: Setting, wide: float) -> float:
    rate = sum(kind.slots / kind.mean for kind in setting.kinds)
    return wide * setting.spread / rate + 2.0


def _guess(setting: Setting, wide: float) -> tuple[int, int]:
    """About between which starts the last block begins."""
    rate = sum(kind.slots / kind.mean for kind in setting.kinds)
    ahead = sum(kind.slots * (1 + kind.var / kind.mean**2) / 2 for kind in setting.kinds)
    middle, slack = (setting.busy - ahead) / rate, _window(setting, wide)
    return max(math.floor(middle - slack), 0), max(math.ceil(middle + slack), 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Centred:
    """The law of the time of a launch, asked at any times."""

    setting: Setting

    @cached_property
    def _found(self) -> tuple[Reach, list[Counts]]:
        """When the last block begins, and the counts of each kind around that."""
        wide = 11.0
        while True:
            low, high = _guess(self.setting, wide)
            lost = _LOST / self.setting.slots
            seen = [counted(kind, low, high, lost) for kind in self.setting.kinds]
            reach = within(self.setting, low, high, [one.moments for one in seen])
            if reach is not None:
                rows = max(len(one.held) for one in seen)
                return reach, [one.cut(reach.first, reach.last, rows) for one in seen]
            wide *= 2.0

    @property
    def reach(self) -> Reach:
        """When the last block begins."""
        return self._found[0]

    @property
    def counts(self) -> list[Counts]:
        """How many blocks a slot of each kind has begun."""
        return self._found[1]

    @cached_property
    def slots(self) -> npt.NDArray[np.int64]:
        """Of each kind."""
        return np.array([kind.slots for kind in self.setting.kinds])

    @cached_property
    def _circle(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """exp(iπk/period) and 1 less it, for k = 0..2·period - 1, (2, 2·period) each."""
        period = self.reach.period
        k = np.arange(2 * period)
        angle = np.where(k > period, k - 2 * period, k) * (math.pi / period)
        sine = np.sin(angle)
        return np.array([np.cos(angle), sine]), np.array([2.0 * np.sin(angle / 2) ** 2, -sine])

    def _around(self, nodes: npt.NDArray[np.int64], powers: npt.NDArray[np.int64]) -> Any:
        """Which place of the circle each power of each node's z is, (..., nodes, powers)."""
        return (2 * nodes[:, None] + 1) * powers[..., None, :] % (2 * self.reach.period)

    @cached_property
    def powers(self) -> npt.NDArray[np.int64]:
        """n - c of each kind, (kinds, counts)."""
        return np.array([one.counts - one.centre for one in self.counts])

    def modulus(self, places: slice) -> npt.NDArray[np.float64]:
        """The most that |E[z**N(s)]| is at some of s = first - 1..last, (kinds, all nodes)."""
        half = self.reach.period // 2
        found = np.empty((len(self.counts), half))
        step = max(1, _BLOCK // self.powers.size)
        held = np.array([one.held[:, places] for one in self.counts])
        for begin in range(0, half, step):
            some = np.arange(begin, min(begin + step, half))
            real, imag = self._circle[0][:, self._around(some, self.powers)] @ held
            found[:, some] = np.sqrt((real * real + imag * imag).max(axis=2))
        return np.minimum(found * (1.0 + 1e-12), 1.0)

    @cached_property
    def nodes(self) -> npt.NDArray[np.int64]:
        """Those that count, by three of the starts; the bound of error asks all."""
        few = self.modulus(slice(0, None, max(1, (self.reach.last - self.reach.first + 1) // 2)))
        most = self.slots @ np.log((1.0 + few) / 2.0)
        return np.flatnonzero(most > NOTHING + _MARGIN)

    @cached_property
    def turns(self) -> npt.NDArray[np.float64]:
        """z**(n - c), (2, kinds, nodes, counts)."""
        return np.asarray(self._circle[0][:, self._around(self.nodes, self.powers)])

    @cached_property
    def lacks(self) -> npt.NDArray[np.float64]:
        """1 - z**(n - c), (2, kinds, nodes, counts)."""
        return np.asarray(self._circle[1][:, self._around(self.nodes, self.powers)])

    @cached_property
    def often(self) -> npt.NDArray[np.bool_]:
        """Rows of counts that are no rarity: the others are added apart, and round little."""
        most = np.array([one.held.max(axis=1) for one in self.counts]).max(axis=0)
        return np.asarray(most > _RARE)

    @cached_property
    def endless(self) -> npt.NDArray[np.float64]:
        """D without an end, s = first - 1..last, (2, kinds, nodes, starts + 1)."""
        held, often = np.array([one.held for one in self.counts]), self.often
        found = np.asarray(self.lacks[..., often] @ held[:, often])
        found += self.lacks[..., ~often] @ held[:, ~often]
        if self.reach.first == 0:  # (1 - D)**slots is known to the last digit, and 1 less it kept
            centres = np.array([[-one.centre] for one in self.counts])
            at = self._around(self.nodes, centres * self.slots[:, None])
            found[..., 0] = self._circle[1][:, at[..., 0]]
        return found

    @cached_property
    def starts(self) -> npt.NDArray[np.float64]:
        """Σ_n z**(n - c) P(S_{n-1} = s), s = first..last, (2, kinds, nodes, starts)."""
        longest = self.setting.longest
        return np.asarray(self.turns @ np.array([one.starts[:, longest:] for one in self.counts]))

    @cached_property
    def ratio(self) -> npt.NDArray[np.float64]:
        """x / (x - 1) of each duration, x = z·F, (2, kinds, nodes, K + 1)."""
        at = self._around(self.nodes, np.array([1]))
        (a, b), (p, q) = self._circle[0][:, at], self._circle[1][:, at]
        tails = np.array([kind.tails for kind in self.setting.kinds])[:, None]
        below = np.array([kind.chances for kind in self.setting.kinds])[:, None]
        p, q = p + a * tails, q + b * tails
        size = below / (p * p + q * q)
        return np.array([-(a * p + b * q) * size, (a * q - b * p) * size])

    @cached_property
    def weights(self) -> npt.NDArray[np.float64]:
        """2/period · z**(Σ M·c) E[z**-(blocks with work)], (2, nodes)."""
        setting = self.setting
        centre = sum(int(m) * one.centre for m, one in zip(self.slots, self.counts, strict=True))
        power = np.array([centre - setting.blocks])
        real, imag = self._circle[0][:, self._around(self.nodes, power)[:, 0]]
        found = real + 1j * imag
        if setting.idle:
            real, imag = self._circle[1][:, self._around(self.nodes, np.array([1]))[:, 0]]
            share = np.log1p(-setting.idle * (real + 1j * imag).astype(np.clongdouble))
            found = found * np.exp(setting.blocks * share).astype(np.complex128)
        return 2.0 / self.reach.period * np.array([found.real, found.imag])

    @cached_property
    def _tables(self) -> tuple[Any, ...]:
        """What the kernel takes, from the first start on."""
        before = np.array([one.starts[:, : self.setting.longest] for one in self.counts])
        tails = np.array([kind.tails[::-1] for kind in self.setting.kinds])
        arrays = self.turns, self.starts, self.endless, self.ratio, self.weights
        return self.slots, before, tails, *map(np.ascontiguousarray, arrays)

    def cdf(self, times: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """P(C <= t), in steps."""
        from stochastic.kernels.centred import TILE, chances

        kinds, counts = self._tables[1].shape[:2]

        def part(some: npt.NDArray[np.int64], into: npt.NDArray[np.float64]) -> None:
            room, ends = np.zeros((6 + 4 * kinds, TILE)), np.zeros((kinds, counts))
            chances(some, self.reach.first, self.reach.last, *self._tables, room, ends, into)

        found = shared_out(times, part)
        found[times >= self.reach.last + self.setting.longest] = 1.0
        nothing = np.where(times >= 0, self.setting.idle**self.setting.blocks, 0.0)
        return np.clip(found + nothing, 0.0, 1.0)

    def started(self) -> tuple[int, npt.NDArray[np.float64]]:
        """The first start that the last block can have, and P(it has begun by s) from there on."""
        real, imag = self.endless
        gone = np.zeros(real.shape[1:], dtype=np.complex128)
        for one, slots in zip(real + 1j * imag, self.slots.tolist(), strict=True):
            lost = lacking(one, slots)
            if self.reach.first == 0:
                lost[:, 0] = one[:, 0]
            gone = gone + lost - gone * lost
        at = self._around(self.nodes, np.array([1]))[:, 0]
        z, lack, weights = (
            a + 1j * b for a, b in (*(c[:, at] for c in self._circle), self.weights)
        )
        found = ((weights * z / lack) @ (gone[:, 1:] - gone[:, :1])).real
        found += self.setting.idle**self.setting.blocks
        found = np.maximum.accumulate(np.clip(found, 0.0, 1.0))
        found[-1] = 1.0
        return self.reach.first, found


def lacking(base: npt.NDArray[np.complex128], exponent: int) -> npt.NDArray[np.complex128]:
    """1 - (1 - base)**exponent, as the kernel does it."""
    found = np.zeros_like(base)
    while exponent:
        if exponent & 1:
            found = found + base * (1.0 - found)
        exponent >>= 1
        base = base * (2.0 - base)
    return found
