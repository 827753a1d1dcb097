"""The law of a launch by coefficients of generating functions, at nodes of the unit circle.

Let every slot draw blocks without end: M renewal processes, and the launch is their first B starts.
H(u) = Σ_n z**n P(S_n = u) counts starts in powers of z. A slot whose running block began by s, ends
after s and by t, has A_s = z Σ_{u<=s} H(u) (F(t - u) - F(s - u)), A_{-1} = 1, and

    P(C <= t) = [z**B] Σ_s x / (x - 1) · (A_s**M - A_{s-1}**M),   x = z F(t - s).

The term of s is the probability that the B-th block begins at s and all end by t: it is looked at
for those s and told apart from those B that Chernoff's bounds leave over. Kinds of slots multiply:
those named first are served first, so that they have A_s where the later ones have A_{s-1}.

Nodes are exp(2πi(j + 1/2)/period), so that 1 is none. With phi(s) = E[z**N(s)] no |A_s| is
above (1 + |phi(s)|)/2, so that nodes are left out where that to the power of M is nothing; between
nodes |phi| moves by no more than E|N - c| times the angle, so that most are not even looked at.

Jointly with the total work T, each duration k carries exp(i·phase·k): H(u) has exp(i·phase·u), F is
a sum of phases, and the formula stays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import sizes
from stochastic.errors import LawError
from stochastic.scheduling.reach import NOTHING, Reach, reach
from stochastic.scheduling.renewals import renewals
from stochastic.threads import shared_out

if TYPE_CHECKING:
    import numpy.typing as npt

    from stochastic.scheduling.setting import Setting

__all__ = ["Inversion"]

_EPS = 2.0**-52
_MARGIN = -8.0  # beyond NOTHING, for there are many nodes and starts
_MEMORY = sizes.SEQUENCES_BYTES  # bytes of sequences


@dataclass(frozen=True, kw_only=True, eq=False)
class Inversion:
    """The law of the time of a launch, asked at any times."""

    setting: Setting
    phase: float = 0.0
    turning: int | None = None  # the kind of slots whose work has the phase; all where none is

    @cached_property
    def reach(self) -> Reach:
        """When the last block begins."""
        setting = self.setting
        rate = sum(kind.slots / kind.mean for kind in setting.kinds)
        self._fits(24.0 * setting.spread / rate + setting.longest, 16)
        return reach(self.setting)

    @cached_property
    def _laws(self) -> npt.NDArray[np.float64]:
        return np.array([kind.law for kind in self.setting.kinds])

    @cached_property
    def _slots(self) -> npt.NDArray[np.int64]:
        return np.array([kind.slots for kind in self.setting.kinds])

    @cached_property
    def _chances(self) -> npt.NDArray[Any]:
        """F of each kind, or the sum of phases up to each duration."""
        if self.phase == 0.0:
            return np.array([kind.chances for kind in self.setting.kinds])
        turns = np.exp(1j * np.outer(self._phases, np.arange(self.setting.longest + 1)))
        return np.asarray(np.cumsum(self._laws * turns, axis=1))

    @property
    def _phases(self) -> npt.NDArray[np.float64]:
        """Return the phase of each kind."""
        kinds = np.arange(len(self.setting.kinds))
        return np.where((kinds == self.turning) | (self.turning is None), self.phase, 0.0)

    def _looked(self, nodes: npt.NDArray[np.int64]) -> tuple[Any, Any]:
        """H from first - K on and A_s without an end from first - 1 on, of each kind and node."""
        first, last, longest = self.reach.first, self.reach.last, self.setting.longest
        z, end = self._roots(nodes), self._chances[:, -1]
        starts = np.array([renewals(z, law[None], first - longest, last) for law in self._laws])
        if self.phase:
            places = np.arange(first - longest, last + 1)
            starts *= np.exp(1j * np.outer(self._phases, places))[:, None]
        begun = np.empty((len(self._laws), len(nodes), last - first + 2), dtype=np.complex128)
        for g, chances in enumerate(self._chances):
            tail = (end[g] - chances[:-1])[::-1]
            begun[g, :, 0] = z * (starts[g, :, :longest] @ tail) if first > 0 else 1.0
        np.cumsum(starts[:, :, longest:], axis=2, out=begun[:, :, 1:])
        begun[:, :, 1:] *= -(1.0 - z * end[:, None])[:, :, None]
        begun[:, :, 1:] += begun[:, :, :1]
        return starts, begun

    def _roots(self, nodes: npt.NDArray[np.int64]) -> npt.NDArray[np.complex128]:
        return np.asarray(np.exp(2j * math.pi / self.reach.period * (nodes + self._offset)))

    @cached_property
    def _offset(self) -> float:
        """How far the nodes are turned; with a phase, so far that no x is near 1 at any."""
        if self.phase == 0.0:
            return 0.5
        period = self.reach.period
        poles = -np.angle(self._chances[:, -1]) * period / (2.0 * math.pi)
        tried = np.arange(1, 17) / 17
        apart = np.abs((poles[:, None] - tried + 0.5) % 1.0 - 0.5).min(axis=0)
        return float(tried[np.argmax(apart)])

    @cached_property
    def _nodes(self) -> tuple[npt.NDArray[np.int64], Any, Any]:
        """Nodes that count, with their H and E[z**N]."""
        half, period = self.reach.period // 2, self.reach.period
        if self.phase:
            self._refuse(period)
            return np.arange(period), *self._looked(np.arange(period))
        least = NOTHING + _MARGIN
        step = 2.0 * math.pi / period * self.reach.scatter
        near = min(half, math.ceil(1.2 * 9.0 * period / (2.0 * math.pi * self.setting.spread)))
        seen = np.zeros((len(self._laws), half))
        visited = np.zeros(half, dtype=bool)
        kept: list[tuple[Any, Any, Any]] = []
        coarse = max(int(0.8 / step.max()), 1)
        ask = np.unique(
            np.concatenate([np.arange(near), np.arange(near, half, coarse), [half - 1]])
        )
        while len(ask):
            self._refuse(len(ask) + sum(len(one[0]) for one in kept))
            starts, begun = self._looked(ask)
            seen[:, ask] = np.abs(begun).max(axis=2)
            visited[ask] = True
            counts = self._log_most(seen[:, ask]) > least
            kept.append((ask[counts], starts[:, counts], begun[:, counts]))
            known = np.flatnonzero(visited)
            gaps = np.flatnonzero(np.diff(known) > 1)
            left, right = known[gaps], known[gaps + 1]
            most = (seen[:, left] + seen[:, right] + step[:, None] * (right - left)) / 2
            open_ = self._log_most(np.minimum(most, 1.0)) > least
            ask = (left[open_] + right[open_]) // 2
        nodes = np.concatenate([one[0] for one in kept])
        order = np.argsort(nodes)
        starts = np.concatenate([one[1] for one in kept], axis=1)[:, order]
        begun = np.concatenate([one[2] for one in kept], axis=1)[:, order]
        return nodes[order], starts, begun

    def _log_most(self, modulus: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The logarithm of the most that Π |A_s|**M can be."""
        return np.asarray(self._slots @ np.log((1.0 + modulus) / 2.0))

    def _refuse(self, nodes: int) -> None:
        self._fits(self.reach.last - self.reach.first + self.setting.longest + 1, nodes)

    def _fits(self, width: float, nodes: int) -> None:
        if 64.0 * nodes * width * len(self._laws) > _MEMORY:
            raise LawError(
                f"the last block begins within {width:,.0f} steps, told apart at {nodes:,} nodes, "
                "too large to be exact. Count the work in units "
                f"{max(2, width // 5000):,.0f} times as large, "
                "rounded up and rounded down: the law lies between the two. Or draw it "
                "with sample, from a law of any size"
            )

    @cached_property
    def _tables(self) -> tuple[Any, ...]:
        """What the kernel takes, from the first start on."""
        from stochastic.kernels.circle import TILE

        nodes, starts, begun = self._nodes
        z = self._roots(nodes)
        x = z[:, None] * self._chances[:, None, :]
        powers = np.array([_power(*one) for one in zip(begun, self._slots.tolist(), strict=True)])
        longer = np.log(z.astype(np.clongdouble))  # of a power as high as there are blocks
        sides = 1.0 if self.phase else 2.0  # nodes below the real axis are conjugates, or are there
        weights = (sides / self.reach.period * np.exp(self.setting.log_weight(longer))).astype(
            z.dtype
        )
        room = 6 + 6 * len(self._laws)
        apart = int(self.phase != 0.0 and len(self._laws) > 1)
        arrays = (starts, 1.0 - x, x / (x - 1.0), begun, powers, weights)
        pairs = (np.array([one.real, one.imag]) for one in arrays)
        return (self.reach.first, self.reach.last, self._slots, *pairs, apart, (room, TILE))

    def cdf(self, times: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """P(C <= t), in steps."""
        found = self._summed(times, self._tables)
        found[times >= self.reach.last + self.setting.longest] = 1.0
        return np.clip(found + self._nothing(times), 0.0, 1.0)

    def transform(self, times: npt.NDArray[np.int64]) -> npt.NDArray[np.complex128]:
        """E[exp(i·phase·T); C <= t], T the total work."""
        *tables, weights, apart, room = self._tables
        turned = np.array([weights[1], -weights[0]])
        real = self._summed(times, (*tables, weights, apart, room))
        imag = self._summed(times, (*tables, turned, apart, room))
        return np.asarray(real + 1j * imag + self._nothing(times), dtype=np.complex128)

    def _nothing(self, times: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """No block has any work."""
        return np.where(times >= 0, self.setting.idle**self.setting.blocks, 0.0)

    def started(self) -> tuple[int, npt.NDArray[np.float64]]:
        """The first start that the last block can have, and P(it has begun by s) from there on."""
        powers, weights = self._tables[7], self._tables[8]
        each = np.prod(powers[0] + 1j * powers[1], axis=0)
        z = self._roots(self._nodes[0])
        factor = (weights[0] + 1j * weights[1]) * z / (z - 1.0)
        found = (factor @ (each[:, 1:] - each[:, :1])).real
        first, last = self.reach.first, self.reach.last
        found += self._nothing(np.arange(first, last + 1))
        found = np.maximum.accumulate(np.clip(found, 0.0, 1.0))
        found[-1] = 1.0
        return first, found

    def _summed(
        self, times: npt.NDArray[np.int64], tables: tuple[Any, ...]
    ) -> npt.NDArray[np.float64]:
        """The sum over nodes and starts, times shared out to threads."""
        from stochastic.kernels.circle import chances

        def part(some: npt.NDArray[np.int64], into: npt.NDArray[np.float64]) -> None:
            chances(some, *tables[:-1], np.zeros(tables[-1]), into)

        return shared_out(times, part)


def _power(base: npt.NDArray[np.complex128], exponent: int) -> npt.NDArray[np.complex128]:
    """By squaring, as the kernel does."""
    found = np.ones_like(base)
    while exponent:
        if exponent & 1:
            found *= base
        exponent >>= 1
        base = base * base
    return found
