"""Compute the law of a launch by inverting generating functions at nodes of the unit circle.

Let each of M slots draw blocks without end. The launch is the first B starts of these M renewal
processes, and C is the time at which its last block ends. Let S_n be the sum of n durations, F the
CDF of a duration, and H(u) = Σ_n z**n P(S_n = u), so that powers of z count starts. A_s counts the
starts of one slot, if the block that runs at time s ends by time t. With A_{-1} = 1,

    A_s = z Σ_{u<=s} H(u) (F(t - u) - F(s - u)),
    P(C <= t) = [z**B] Σ_s x / (x - 1) · (A_s**M - A_{s-1}**M),   x = z F(t - s).

The term of s is the probability that the B-th block begins at s and all blocks end by t. The
inversion separates B from other numbers of blocks. Chernoff's bounds show which of these numbers,
and which times s, matter. For several kinds of slots, the powers A**M of the kinds are multiplied.
In the term of a kind, kinds that are served earlier contribute A_s, and kinds that are served later
contribute A_{s-1}.

For the joint law of C and the total work T, each duration k gets the factor exp(i·phase·k). Then
H(u) has the factor exp(i·phase·u), F is a sum of these factors, and the formula is the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.checks import LawError
from stochastic.kernels.launch_counts import TILE, launch_probabilities
from stochastic.launch_time.block_counts import LOG_LEFT_OUT, BlockCounts, Window, is_affordable
from stochastic.launch_time.law import TimeLaw
from stochastic.threads import cpu_count

if TYPE_CHECKING:
    from stochastic.launch_time.settings import LaunchSetting

_CLEAR = 1e-14  # Smaller probabilities than this are left out; the error bound includes them.
_WIDE = 0.03  # Phase for Var(T), in units of 1 / (longest duration · √blocks).
_TILT = 1e-3  # Tilt for the covariance, in units of 1 / (standard deviation of T).
_STEEP = 2e-3  # Upper limit on the tilt _TILT, in units of 1 / (longest duration).


@dataclass(frozen=True, kw_only=True, eq=False)
class LaunchInversion:
    """The law of the time of a launch, by inversion in double precision; times are in steps."""

    setting: LaunchSetting
    counts: BlockCounts
    method = "inversion"

    @classmethod
    def from_setting(cls, setting: LaunchSetting) -> LaunchInversion:
        """Return the law; blocks are counted by products, or by transforms if products are slow."""
        counts = BlockCounts(setting=setting, products=is_affordable(setting))
        return cls(setting=setting, counts=counts)

    @cached_property
    def error(self) -> float:
        """Return a bound on the numerical error; with transforms, rounding is estimated."""
        return self.counts.error + _CLEAR

    @property
    def window(self) -> Window:
        """Return the range of times at which the last block can begin."""
        return self.counts.window

    @property
    def _idle_chance(self) -> float:
        return float(self.setting.idle_chance**self.setting.blocks)

    @cached_property
    def _weights(self) -> Floats:
        """Return 2/period · z**(Σ M·c) · E[z**-(blocks with work)] per node z: shape (2, nodes)."""
        setting, window, nodes = self.setting, self.window, self.counts.nodes
        kinds = zip(setting.kinds, self.counts.centres, strict=True)
        power = sum(kind.slots * centre for kind, centre in kinds) - setting.blocks
        real, imag = window.powers(nodes, [power])[..., 0]
        result = real + 1j * imag
        if setting.idle_chance:
            real, imag = window.one_minus_powers(nodes, [1])[..., 0]
            share = np.log1p(-setting.idle_chance * (real + 1j * imag).astype(np.clongdouble))
            result = result * np.exp(setting.blocks * share).astype(np.complex128)
        return 2.0 / window.period * np.array([result.real, result.imag])

    @cached_property
    def _tables(self) -> tuple[Any, ...]:
        """Return the arguments of ``launch_probabilities`` from ``slots`` to ``weights``."""
        kinds, seen = self.setting.kinds, self.counts
        tails = np.array([kind.sf[::-1] for kind in kinds])
        tails = np.array([tails, np.zeros_like(tails)])
        ratio = self.window.ratios(kinds, seen.nodes)
        before, factors = seen.rows
        arrays = factors, seen.starts, seen.deficits, ratio, self._weights
        slots = np.array([kind.slots for kind in kinds])
        return slots, before, tails, *map(np.ascontiguousarray, arrays)

    def cdf(self, times: Ints) -> Floats:
        """Return P(C <= t) for each time t."""
        result = self._sum_over_nodes(times, self._tables).real
        result[times >= self.window.last + self.setting.longest] = 1.0
        return np.clip(result + np.where(times >= 0, self._idle_chance, 0.0), 0.0, 1.0)

    def _sum_over_nodes(self, times: Ints, tables: tuple[Any, ...]) -> npt.NDArray[np.complex128]:
        """Return the sum over nodes for each time; the times are divided among threads."""
        kinds, rows = tables[1].shape[:2]
        count = min(cpu_count(), max(len(times) // sizes.TIMES_EACH, 1))
        result = np.zeros((len(times), 2))

        def part(i: int) -> None:
            some = np.ascontiguousarray(times[i::count], dtype=np.int64)
            into = np.zeros((len(some), 2))
            room, ends = np.zeros((6 + 4 * kinds, TILE)), np.zeros((2, kinds, rows))
            first, last = self.window.first, self.window.last
            launch_probabilities(some, first, last, *tables, room, ends, into)
            result[i::count] = into

        if count == 1:
            part(0)
        else:
            with ThreadPoolExecutor(count) as pool:
                list(pool.map(part, range(count)))
        return result.view(np.complex128)[:, 0]

    @cached_property
    def cdf_table(self) -> tuple[int, Floats]:
        """Return the first time t with P(C <= t) above _CLEAR, and P(C <= t) from this time on."""
        low, high = self.window.first - 1, self.window.last + self.setting.longest
        nothing = self._idle_chance
        first = self._first_time(nothing + _CLEAR, low, high) if nothing < _CLEAR else 0
        last = self._first_time(1.0 - _CLEAR, max(first, low), high)
        result = self.cdf(np.arange(first, last + 1))
        result[-1] = 1.0
        return first, np.maximum.accumulate(result)

    def _first_time(self, q: float, low: int, high: int) -> int:
        while high - low > 1:
            ask = np.unique(np.linspace(low, high, 10).astype(np.int64)[1:-1])
            ask = ask[(ask > low) & (ask < high)]
            seen = self.cdf(ask) >= q
            at = int(np.argmax(seen)) if seen.any() else len(ask)
            low = int(ask[at - 1]) if at > 0 else low
            high = int(ask[at]) if at < len(ask) else high
        return high

    def last_start(self) -> TimeLaw:
        """Return the law of the time at which the last block begins."""
        window, nodes, endless = self.window, self.counts.nodes, self.counts.deficits
        gone = np.zeros(endless.shape[2:], dtype=np.complex128)
        for kind, one in zip(self.setting.kinds, endless[0] + 1j * endless[1], strict=True):
            lost = _one_minus_power(one, kind.slots)
            if window.first == 0:
                lost[:, 0] = one[:, 0]
            gone = gone + lost - gone * lost
        z, lack = window.powers(nodes, [1])[..., 0], window.one_minus_powers(nodes, [1])[..., 0]
        factor, z, lack = (a + 1j * b for a, b in (self._weights, z, lack))
        result = (factor * z / lack @ (gone[:, 1:] - gone[:, :1])).real + self._idle_chance
        result = np.maximum.accumulate(np.clip(result, 0.0, 1.0))
        result[-1] = 1.0
        return TimeLaw(first=window.first, cdf_values=result, span=self.setting.span)

    def transform(self, times: Ints, phases: Sequence[float]) -> npt.NDArray[np.complex128]:
        """Return E[exp(i Σ_g phases[g]·T_g); C <= t], where T_g is the work on slots of kind g.

        The nodes are rotated so that x is not near 1, and none is skipped.
        """
        setting, window = self.setting, self.window
        first, last, longest, period = window.first, window.last, setting.longest, window.period
        durations, places = np.arange(longest + 1), np.arange(first - longest, last + 1)
        sums = [
            np.cumsum(kind.law * np.exp(1j * phase * durations))
            for kind, phase in zip(setting.kinds, phases, strict=True)
        ]
        poles = np.array([-np.angle(one[-1]) * period / (2.0 * math.pi) for one in sums])
        offsets = np.arange(1, 17) / 17
        apart = np.abs((poles[:, None] - offsets + 0.5) % 1.0 - 0.5).min(axis=0)
        z = np.exp(2j * math.pi / period * (np.arange(period) + offsets[np.argmax(apart)]))
        counts = self.counts.counts
        turns = np.array([z[:, None] ** one.counts for one in counts])
        turned = np.exp(1j * np.outer(phases, places))
        rows = np.array([one.starts for one in counts]) * turned[:, None]
        starts = turns @ rows
        alive = np.empty((len(counts), len(z), starts.shape[2] - longest + 1), dtype=np.complex128)
        for each, total, start in zip(alive, sums, starts, strict=True):
            # A_s for each node and s = first - 1, first, ..., if blocks may end at any time
            each[:, 0] = start[:, :longest] @ (total[-1] - total[:-1])[::-1] if first else 1.0
            each[:, 1:] = ((total[-1] * z - 1.0) / z)[:, None] * start[:, longest:]
            np.cumsum(each, axis=1, out=each)
        # log of an upper bound on Π |A_s|**M, for each node and start
        logs = np.log((1.0 + np.minimum(np.abs(alive), 1.0)) / 2.0)
        most = np.tensordot(self.counts.slots, logs, 1)
        some = most.max(axis=1) > LOG_LEFT_OUT - 8.0
        x = z[some, None] * np.array(sums)[:, None]
        weights = np.exp(setting.log_weight(np.log(z[some].astype(np.clongdouble))))
        early = np.concatenate([rows[..., :longest].real, rows[..., :longest].imag], axis=1)
        tables = (
            np.array([total[-1] - total[::-1] for total in sums]),
            np.concatenate([turns, 1j * turns], axis=2)[:, some],
            starts[:, some, longest:],
            1.0 - alive[:, some],
            x / (x - 1.0),
            weights.astype(np.complex128) / period,
        )
        pairs = (np.array([table.real, table.imag]) for table in tables)
        result = self._sum_over_nodes(times, (self.counts.slots, early, *pairs))
        return result + np.where(times >= 0, self._idle_chance, 0.0)

    def joint(self) -> tuple[int, npt.NDArray[Any], Ints]:
        """Return the first time t, the table P(C = t, T = w), and the values of w in steps."""
        setting = self.setting
        first, below = self.cdf_table
        shortest = 0 if setting.idle_chance else min(kind.shortest for kind in setting.kinds)
        least = setting.blocks * shortest
        count = setting.blocks * setting.longest - least + 1
        if float(count) ** 2 * len(below) * self.window.period > sizes.JOINT_MOST:
            raise LawError(
                f"the joint law of {len(below):,} times and {count:,} totals is too large: "
                "energy(...) gives means and standard deviation without it, and simulated(size) "
                "draws both"
            )
        times = np.arange(first, first + len(below))
        angles = 2.0 * math.pi / count * np.arange(count // 2 + 1)
        turned = np.array([self.transform(times, [a] * len(setting.kinds)) for a in angles])
        totals = np.arange(least, least + count)
        result = np.fft.irfft(np.conj(turned), count, axis=0)[totals % count]
        return first, np.diff(result.T, axis=0, prepend=0.0), totals

    @cached_property
    def _phase_transform(self) -> tuple[float, npt.NDArray[np.complex128]]:
        """Return a small phase, and E[exp(i·phase·T); C <= t] for all times t."""
        first, below = self.cdf_table
        angle = 6e-5 / (self.setting.longest * math.sqrt(self.setting.blocks))
        times = np.arange(first, first + len(below))
        return angle, self.transform(times, [angle] * len(self.setting.kinds))

    def _total_transform(self, phases: Sequence[float]) -> complex:
        first, below = self.cdf_table
        return complex(self.transform(np.array([first + len(below) - 1]), phases)[0])

    @property
    def mean_totals(self) -> list[float]:
        """Return the mean work of the blocks on each kind of slots, in steps."""
        if len(self.setting.kinds) == 1:
            return [self.setting.busy_blocks * self.setting.kinds[0].mean]
        angle = 6e-5 / (self.setting.longest * math.sqrt(self.setting.blocks))
        turned = [self._total_transform(one) for one in angle * np.eye(len(self.setting.kinds))]
        return [max(float(np.angle(one)) / angle, 0.0) for one in turned]

    @property
    def total_var(self) -> float:
        """Return Var(T); for several kinds of slots, from |E[exp(i·a·T)]| with small phases a."""
        setting = self.setting
        if len(setting.kinds) > 1:
            wide = self._total_var_at(_WIDE)
            return wide + (self._total_var_at(_WIDE / 2.0) - wide) * 4.0 / 3.0
        kind, p = setting.kinds[0], setting.idle_chance
        return setting.blocks * (1 - p) * (kind.var + p * kind.mean**2)

    def _total_var_at(self, phase: float) -> float:
        """Return Var(T), with an error proportional to the square of the phase."""
        angle = phase / (self.setting.longest * math.sqrt(self.setting.blocks))
        turned = self._total_transform([angle] * len(self.setting.kinds))
        return -2.0 * math.log(abs(turned)) / angle**2

    @cached_property
    def covariance(self) -> float:
        """Return Cov(C, T) of time and total work, in steps.

        For one kind of slots, this is the derivative of E[C] by a tilt: the probability of k steps
        is multiplied by exp(tilt·k). For several kinds, it follows from Σ E[T; C > t] over all t.
        """
        if len(self.setting.kinds) > 1:
            angle, turned = self._phase_transform
            mean = sum(self.mean_totals)
            return -float(np.imag(turned * np.exp(-1j * angle * mean)).sum()) / angle
        if not self.total_var:
            return 0.0
        tilt = min(_TILT / math.sqrt(self.total_var), _STEEP / self.setting.longest)
        tilted = (self.setting.tilt_durations(one) for one in (tilt, -tilt))
        more, less = (LaunchInversion.from_setting(one).mean_time for one in tilted)
        return (more - less) / (2.0 * tilt)

    @property
    def mean_time(self) -> float:
        """Return E[C], in steps."""
        first, below = self.cdf_table
        return first + math.fsum(1.0 - below)


def _one_minus_power(base: npt.NDArray[np.complex128], exponent: int) -> npt.NDArray[np.complex128]:
    result = np.zeros_like(base)
    while exponent:
        if exponent & 1:
            result = result + base * (1.0 - result)
        exponent >>= 1
        base = base * (2.0 - base)
    return result


@dataclass(frozen=True, kw_only=True, eq=False)
class CertainLaunch:
    """A launch on one kind of slots whose blocks all take the same time."""

    setting: LaunchSetting
    method = "exact"
    error = 0.0
    total_var = covariance = 0.0

    @cached_property
    def _schedule(self) -> tuple[int, int, tuple[int, ...]]:
        return self.setting.schedule([kind.longest for kind in self.setting.kinds])

    @property
    def cdf_table(self) -> tuple[int, Floats]:
        """Return the time of the launch, and its cumulative probability 1."""
        return self._schedule[0], np.ones(1)

    def cdf(self, times: Ints) -> Floats:
        """Return P(C <= t) for each time t."""
        return np.where(times < self._schedule[0], 0.0, 1.0)

    def last_start(self) -> TimeLaw:
        """Return the law of the time at which the last block begins: a single value."""
        return TimeLaw(first=self._schedule[1], cdf_values=np.ones(1), span=self.setting.span)

    def joint(self) -> tuple[int, npt.NDArray[Any], Ints]:
        """Return the time, its probability in a table of shape (1, 1), and the total work."""
        return self._schedule[0], np.ones((1, 1)), np.array([sum(self._schedule[2])])

    @property
    def mean_totals(self) -> list[float]:
        """Return the work on each kind of slots."""
        return [float(one) for one in self._schedule[2]]
