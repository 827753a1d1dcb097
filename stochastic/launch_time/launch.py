"""Compute the exact law of a launch of blocks with random work, each on the first free slot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from stochastic.aliases import old_names
from stochastic.arrays import Ints
from stochastic.checks import LawError, check_choice, check_fraction, check_integer, check_real
from stochastic.labels import law_array
from stochastic.launch_time.inversion import CertainLaunch, LaunchInversion
from stochastic.launch_time.law import Energy, TimeBreakdown, TimeLaw, whole_steps
from stochastic.launch_time.settings import longest_item_law, make_setting
from stochastic.launch_time.shared_rate import SharedLaunch, Sharing, simulate_shared_launch
from stochastic.work.pmf import Pmf, check_law

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Launch:
    """The law of the time C of a launch; see :func:`stochastic.launch`.

    Times are in the unit of the work.

    Attributes:
        works: The law of the work of one item, one for each kind of slots.
        lanes, warps, blocks: Items in lockstep, warps of a block, blocks of the launch.
        slots: Number of slots of each kind; free slots of the first kinds are served first.
        missing: Bound on the error of any probability by the truncation of an infinite law.
    """

    works: tuple[Pmf, ...]
    lanes: int
    warps: int
    blocks: int
    slots: tuple[int, ...]
    missing: float
    means: tuple[tuple[float, float], ...]
    _engine: LaunchInversion | CertainLaunch | None
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        works = ", ".join(map(repr, self.works))
        return f"Launch({works}, blocks={self.blocks}, slots={list(self.slots)})"

    @property
    def method(self) -> str:
        """Return the name of the method: inversion, or exact if nothing is random."""
        return f"{self._engine.method if self._engine else 'exact'}, independent slots"

    @property
    def error(self) -> float:
        """Return a bound on the error of a probability: truncation, omitted terms and rounding."""
        return self.missing + (self._engine.error if self._engine else 0.0)

    @property
    def span(self) -> Any:
        """Return the time of a step; all times are multiples of it."""
        return self._engine.setting.span if self._engine else 1

    def times(self) -> TimeLaw:
        """Return the law of the time of the launch, which is computed once."""
        if "times" not in self._cache:
            first, below = self._engine.cdf_table if self._engine else (0, np.ones(1))
            ends = self._engine.setting.end_range() if self._engine else None
            least, most = ends or (None, None)
            self._cache["times"] = TimeLaw(
                first=first,
                cdf_values=below,
                span=self.span,
                minimum=least,
                maximum=most if ends is None or self.works[0].is_finite else math.inf,
            )
        return self._cache["times"]

    def cdf(self, t: Any) -> Any:
        """Return P(C <= t), for a number or an array, without computing the whole law.

        >>> from stochastic import Pmf, launch
        >>> law = launch(Pmf.uniform(1, 1000), blocks=4096, slots=864)
        >>> round(law.cdf(3042), 4)
        0.9016
        """
        if self._engine is None or "times" in self._cache:
            return self.times().cdf(t)
        steps, shape = whole_steps(t, self.span)
        result = self._engine.cdf(steps)
        return result.reshape(shape) if shape else result.item()

    def chance(self, deadline: Any) -> Any:
        """Return the probability that all blocks have ended by the deadline, P(C <= deadline)."""
        return self.cdf(deadline)

    def quantile(self, q: Any) -> Any:
        """Return the smallest t with P(C <= t) >= q, for a number or an array of probabilities."""
        return self.times().quantile(q)

    def cvar(self, q: Any) -> Any:
        """Return the mean time of the slowest launches, whose share is 1 - q."""
        return self.times().cvar(q)

    def mean(self) -> float:
        """Return E[C].

        >>> from stochastic import Pmf, launch
        >>> round(launch(Pmf.uniform(1, 6), blocks=3, slots=2).mean() - 343 / 54, 12)
        0.0
        """
        return self.times().mean()

    def var(self) -> float:
        """Return the variance of C."""
        return self.times().var()

    def std(self) -> float:
        """Return the standard deviation of C."""
        return self.times().std()

    def pmf(self) -> xr.DataArray:
        """Return P(C = t) along ``time``."""
        return self.times().pmf()

    def start_of_last(self) -> TimeLaw:
        """Return the law of the time at which the last block with work begins (0 without work)."""
        return self._engine.last_start() if self._engine else self.times()

    def joint(self) -> xr.DataArray:
        """Return P(C = t, T = w) along ``time`` and ``total``, where T is the work of all blocks.

        LawError if the table would be too large.
        """
        if self._engine is None:
            return law_array(np.ones((1, 1)), {}, time=[0], total=[0])
        first, chances, totals = self._engine.joint()
        times = np.arange(first, first + len(chances)) * self.span
        return law_array(chances, {}, time=times, total=totals * self.span)

    def sample(self, size: int, seed: int = 0) -> Ints:
        """Simulate ``size`` independent launches and return their times."""
        return np.asarray(self.simulated(size, seed)[0])

    def simulated(self, size: int, seed: int = 0) -> Ints:
        """Simulate launches; return rows of times, last blocks' starts and total work."""
        size, seed = check_integer("size", size, least=0), check_integer("seed", seed, least=0)
        if self._engine is None:
            return np.zeros((3, size), dtype=np.int64)
        return np.asarray(self._engine.setting.simulate(size, seed) * self.span)

    def total(self) -> float:
        """Return E[T], the mean total work of all blocks."""
        return float(self.span * sum(self._engine.mean_totals)) if self._engine else 0.0

    def idle(self) -> TimeBreakdown:
        """Return the mean shares of slot time: useful work, and waiting by lanes, warps and slots.

        >>> from stochastic import Pmf, launch
        >>> law = launch(Pmf.uniform(1, 1000), blocks=4096, slots=864)
        >>> round(law.idle().slot_share, 3)
        0.211
        """
        slots, time, total = sum(self.slots), self.mean(), self.total()
        return TimeBreakdown.from_means(slots=slots, time=time, total=total, parts=self._parts())

    def _parts(self) -> list[tuple[float, float, float]]:
        """Return means for each kind of slots: (blocks, work of an item, work of a warp)."""
        if len(self.slots) == 1 or self._engine is None:
            return [(self.blocks, *self.means[0])]
        setting = self._engine.setting
        busy = [
            total / kind.mean / (1.0 - setting.idle_chance)
            for total, kind in zip(self._engine.mean_totals, setting.kinds, strict=True)
        ]
        return [(count, *means) for count, means in zip(busy, self.means, strict=True)]

    def energy(self, working: float, on: float, idling: float) -> Energy:
        """Return the energy of a launch: working·T + on·C + idling·(M·C - T).

        T is the total work, M the number of slots, and C the time of the launch.

        Parameters:
            working, idling (float): Power of a slot that runs a block, and of a slot that waits for
                the end.
            on (float): Power of the GPU, in addition to that of its slots, while the launch runs.
        """
        for name, value in (("working", working), ("on", on), ("idling", idling)):
            check_real(name, value, lambda x: x >= 0, "a power of 0 or more")
        slots = sum(self.slots)
        time, total = self.mean(), self.total()
        parts = working * total, on * time, idling * (slots * time - total)
        if self._engine is None:
            return Energy(working=0.0, on=0.0, idling=0.0, std=0.0)
        square = float(self.span) ** 2
        a, b = working - idling, on + slots * idling
        var = a * a * square * self._engine.total_var + b * b * self.var()
        var += 2 * a * b * square * self._engine.covariance
        return Energy(working=parts[0], on=parts[1], idling=parts[2], std=math.sqrt(max(var, 0.0)))


@overload
def launch(
    work: Pmf | Sequence[Pmf],
    *,
    blocks: int,
    slots: int | Sequence[int],
    lanes: int = ...,
    warps: int = ...,
    correlation: Any = ...,
    sharing: None = ...,
    tol: float = ...,
    method: str = ...,
) -> Launch: ...
@overload
def launch(
    work: Pmf,
    *,
    blocks: int,
    slots: int,
    lanes: int = ...,
    warps: int = ...,
    correlation: Any = ...,
    sharing: Sharing,
) -> SharedLaunch: ...


@old_names(alike="correlation")
def launch(
    work: Pmf | Sequence[Pmf],
    *,
    blocks: int,
    slots: int | Sequence[int],
    lanes: int = 1,
    warps: int = 1,
    correlation: Any = 0,
    sharing: Any = None,
    tol: float = 1e-13,
    method: str = "auto",
) -> Launch | SharedLaunch:
    """Return the exact law of the time of a launch, whose blocks the hardware schedules.

    Each block goes to the first free slot. It takes as long as its longest warp, and a warp takes
    as long as its longest lane. Slots do not slow each other down, except with ``sharing``.

    Parameters:
        work (Pmf, or a sequence of them): The law of the work of one item, in whole units of time.
            For multiprocessors of several kinds, a sequence with one law for each of ``slots``.
        blocks (int): Number of blocks of the launch.
        slots (int, or a sequence of them): Number of blocks that run at a time: multiprocessors ·
            resident blocks. If slots of several kinds are free at the same time, the first kind is
            served first.
        lanes, warps (int): Items in lockstep, and warps of a block. With ``lanes = warps = 1``,
            ``work`` is the law of the work of a block.
        correlation (number, matrix, pairs, or trace): Dependence of the lanes of a block. A number
            is the probability that a lane repeats its neighbour's work. A matrix holds P(next |
            this) for the values of a finite law. Pairs (probability, law), whose mixture is
            ``work``: all lanes of a block have one of these laws. A trace: each block takes
            consecutive items of it.
        sharing (Sharing, optional): Parameters of warps that share the rate of their
            multiprocessor. The launch is then simulated, and the result is a ``SharedLaunch`` with
            confidence intervals.
        tol (float): Upper limit on the error of a probability by the truncation of an infinite law.
        method ({"auto", "inversion"}): Both values select the only method.

    Raises:
        LawError: An argument is invalid, or the law is too large; the message says what works
            instead.

    >>> law = launch(Pmf.geometric(0.05), lanes=32, warps=4, blocks=1000, slots=160)
    >>> round(law.mean(), 3), law.quantile(0.99), law.error < 1e-11
    (781.423, 860, True)
    """
    works, each = _check_kinds(work, slots)
    lanes = check_integer("lanes", lanes, least=1, example=32)
    warps = check_integer("warps", warps, least=1, example=8)
    blocks = check_integer("blocks", blocks, least=1, example=4096)
    tol = check_fraction("tol", tol, "1e-13")
    check_choice("method", method, ("auto", "inversion"))
    if sharing is not None:
        if len(works) > 1:
            raise LawError("sharing: expected multiprocessors of one kind, with one law of work")
        return simulate_shared_launch(works[0], sharing, blocks, each[0], lanes, warps, correlation)
    beyond = tol / (4.0 * blocks)
    longest = [longest_item_law(one, lanes * warps, beyond, correlation) for one in works]
    missing = 2.0 * blocks * max(left for _, left in longest)
    served = [min(one, blocks) for one in each]  # a slot beyond the number of blocks stays empty
    setting = make_setting([block for block, _ in longest], served, blocks)
    engine: LaunchInversion | CertainLaunch | None = None
    if setting is not None and setting.is_certain:
        engine = CertainLaunch(setting=setting)
    elif setting is not None:
        engine = LaunchInversion.from_setting(setting)
    warps_of = [longest_item_law(one, lanes, beyond, correlation)[0] for one in works]
    return Launch(
        works=tuple(works),
        lanes=lanes,
        warps=warps,
        blocks=blocks,
        slots=tuple(each),
        missing=missing,
        means=tuple((one.mean(), warp.mean()) for one, warp in zip(works, warps_of, strict=True)),
        _engine=engine,
    )


def _check_kinds(work: Any, slots: Any) -> tuple[list[Pmf], list[int]]:
    several = isinstance(work, list | tuple)
    works = [check_law(one) for one in (work if several else [work])]
    if several != isinstance(slots, list | tuple) or (several and len(work) != len(slots)):
        raise LawError(
            f"work = {work!r:.60} and slots = {slots!r:.60}: expected one law and one number, or "
            "as many laws as numbers, for multiprocessors of several kinds"
        )
    if not works:
        raise LawError("work is empty: expected a law of work, such as Pmf.geometric(0.05)")
    each = [
        check_integer("slots", one, least=1, example=864) for one in (slots if several else [slots])
    ]
    return works, each
