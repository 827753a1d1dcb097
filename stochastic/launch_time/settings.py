"""Describe a launch: its blocks, the slots that run them, and the law of a block's duration."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.checks import LawError
from stochastic.work.correlated_lanes import CommonShock, parse_correlation
from stochastic.work.pmf import Pmf

_ROUNDS = sizes.SCHEDULE_ROUNDS  # Upper limit on the different times at which slots become free.


@dataclass(frozen=True, kw_only=True, eq=False)
class SlotKind:
    """The number of slots of a kind, and P(D = k) for the duration D of a busy block, k = 0..K."""

    slots: int
    law: Floats

    @cached_property
    def cdf(self) -> Floats:
        """Return P(D <= k), k = 0..K; sums are computed in long double and then rounded."""
        result = np.minimum(np.cumsum(self.law, dtype=np.longdouble), 1.0).astype(np.float64)
        result[-1] = 1.0
        return result

    @cached_property
    def sf(self) -> Floats:
        """Return P(D > k), k = 0..K, with a small relative error."""
        result = np.cumsum(self.law[:0:-1], dtype=np.longdouble)[::-1]
        return np.append(result, 0.0).astype(np.float64)

    @property
    def shortest(self) -> int:
        """Return the smallest number of steps that a block can take."""
        return int(np.flatnonzero(self.law)[0])

    @property
    def longest(self) -> int:
        """Return the largest number of steps that a block can take."""
        return int(np.flatnonzero(self.law)[-1])

    @cached_property
    def mean(self) -> float:
        """Return E[D]."""
        return float(np.arange(len(self.law)) @ self.law)

    @cached_property
    def var(self) -> float:
        """Return the variance of D."""
        return float((np.arange(len(self.law)) - self.mean) ** 2 @ self.law)


@dataclass(frozen=True, kw_only=True, eq=False)
class LaunchSetting:
    """A launch whose blocks go to the first free slot.

    If slots of several kinds are free at the same time, the first of ``kinds`` is served first. All
    kinds have laws of the same length; ``span`` is the time of a step of these laws.
    ``idle_chance`` is the probability that a block has no work.
    """

    kinds: tuple[SlotKind, ...]
    blocks: int
    idle_chance: float
    span: int = 1

    @property
    def slots(self) -> int:
        """Return the number of slots."""
        return sum(kind.slots for kind in self.kinds)

    @property
    def longest(self) -> int:
        """Return the largest number of steps that a block can take."""
        return len(self.kinds[0].law) - 1

    @property
    def is_certain(self) -> bool:
        """True if durations are not random, all blocks have work, and scheduling is fast."""
        rounds = self.blocks / max(kind.slots for kind in self.kinds)
        quick = len(self.kinds) == 1 or rounds < _ROUNDS
        return quick and self.idle_chance == 0 and all(k.shortest == k.longest for k in self.kinds)

    def end_range(self) -> tuple[int, int] | None:
        """Return the smallest and largest number of steps of a launch; None for several kinds."""
        if len(self.kinds) > 1:
            return None
        kind = self.kinds[0]
        rounds = -(-self.blocks // kind.slots)
        return (0 if self.idle_chance else rounds * kind.shortest), rounds * kind.longest

    def schedule(self, lengths: Sequence[int]) -> tuple[int, int, tuple[int, ...]]:
        """Return the time of the end, the last block's start, and the work on each kind of slots.

        A block takes ``lengths[g]`` steps on slots of kind g, so that all these slots end together.
        """
        queue = [(0, number) for number in range(len(self.kinds))]
        counts, left, end, start = [0] * len(self.kinds), self.blocks, 0, 0
        while left > 0:
            start, number = queue[0]
            kind, length = self.kinds[number], lengths[number]
            rounds = 1 if len(self.kinds) > 1 else -(-left // kind.slots)
            begun = min(rounds * kind.slots, left)
            start += (rounds - 1) * length
            counts[number] += begun
            left -= begun
            end = max(end, start + length)
            heapq.heapreplace(queue, (start + length, number))
        work = tuple(count * length for count, length in zip(counts, lengths, strict=True))
        return end, start, work

    def tilt_durations(self, tilt: float) -> LaunchSetting:
        """Return the launch in which P(D = k) is multiplied by exp(tilt·k) and then normalised."""
        [kind] = self.kinds
        law = kind.law * np.exp(tilt * (np.arange(len(kind.law)) - kind.mean))
        size = math.fsum(law)
        work = (1.0 - self.idle_chance) * size * math.exp(tilt * kind.mean)
        idle = self.idle_chance / (self.idle_chance + work)
        tilted = SlotKind(slots=kind.slots, law=law / size)
        return replace(self, kinds=(tilted,), idle_chance=idle)

    @property
    def busy_blocks(self) -> float:
        """Return the mean number of blocks with work."""
        return self.blocks * (1.0 - self.idle_chance)

    @property
    def start_spread(self) -> float:
        """Estimate the standard deviation of the number of blocks that have started.

        The estimate is for the mean time of the last start.
        """
        rate = sum(kind.slots / kind.mean for kind in self.kinds)
        result = self.blocks * self.idle_chance * (1.0 - self.idle_chance)
        for kind in self.kinds:
            each = self.busy_blocks / rate / kind.mean
            result += kind.slots * (each * kind.var / kind.mean**2 + 0.1)
        return math.sqrt(result)

    def log_weight(self, tilt: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return log E[exp(-tilt · number of blocks with work)]."""
        if self.idle_chance == 0.0:
            return -tilt * self.blocks
        works = (1.0 - self.idle_chance) * np.exp(-tilt)
        return np.asarray(self.blocks * np.log(self.idle_chance + works))

    def simulate(self, size: int, seed: int) -> Ints:
        """Simulate ``size`` launches; return rows of times, last blocks' starts and total work."""
        from stochastic.kernels.schedule import simulate_schedules

        rng = np.random.default_rng(seed)
        kind = np.repeat(np.arange(len(self.kinds)), [one.slots for one in self.kinds])
        result = np.zeros((3, size), dtype=np.int64)
        step = max(1, sizes.DURATIONS_AT_ONCE // self.blocks)
        for first in range(0, size, step):
            count = min(step, size - first)
            drawn = rng.random((count, self.blocks))
            busy = rng.random((count, self.blocks)) >= self.idle_chance if self.idle_chance else 1
            durations = np.array(
                [np.searchsorted(one.cdf, drawn, side="right") * busy for one in self.kinds]
            )
            into = np.zeros((3, count), dtype=np.int64)
            simulate_schedules(durations, kind, np.empty(len(kind), dtype=np.int64), into)
            result[:, first : first + count] = into
        return result


def longest_item_law(work: Pmf, items: int, tail: float, correlation: Any) -> tuple[Pmf, float]:
    """Return the law of the longest of ``items`` items, and the tail probability that it omits."""
    how = parse_correlation(correlation, work)
    if how is None or isinstance(how, CommonShock):
        block = (work.max_of(items) if how is None else how.longest(work, items)).cut(tail)
        return block, block.missing
    cut = work.cut(tail / items)
    return how.longest(cut, items), items * cut.missing


def make_setting(laws: Sequence[Pmf], slots: Sequence[int], blocks: int) -> LaunchSetting | None:
    """Return the launch in steps of the durations' greatest common divisor; None without work."""
    for law in laws:
        if law.high > sizes.STEPS_MOST:
            raise LawError(
                f"a block takes up to {int(law.high):,} steps, too many for an exact law: expected "
                f"up to {sizes.STEPS_MOST:,}. Count the work in units "
                f"{math.ceil(law.high / 5e5):,} times as large, rounded up and rounded down: the "
                "law lies between both results"
            )
    weights = [np.concatenate([np.zeros(law.low), law.weights]) for law in laws]
    idle = {float(one[0]) for one in weights}
    if max(idle) - min(idle) > 1e-15:
        raise LawError(
            f"a block has no work with probability {min(idle):.6g} or {max(idle):.6g}, depending "
            "on its slot: expected laws of work with the same P(0)"
        )
    values = np.unique(np.concatenate([np.flatnonzero(one) for one in weights]))
    values = values[values > 0]
    if not len(values):
        return None
    span = int(np.gcd.reduce(values))
    longest = int(values[-1]) // span
    kinds = []
    for one, count in zip(weights, slots, strict=True):
        steps = one[span::span]
        chances = np.zeros(longest + 1)
        chances[1 : len(steps) + 1] = steps / math.fsum(steps)
        kinds.append(SlotKind(slots=count, law=chances))
    return LaunchSetting(kinds=tuple(kinds), blocks=blocks, idle_chance=idle.pop(), span=span)
