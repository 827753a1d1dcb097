"""The exact law of a launch: blocks of random work on slots, each block to the first free slot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from stochastic.arrays import Ints
from stochastic.checks import check_choice, check_fraction, check_integer, check_real
from stochastic.errors import LawError
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
    """The law of the time C of a launch; made by :func:`stochastic.launch`.

    Times are in the units of the work.

    Attributes
    ----------
    works : tuple of Pmf
        The law of the work of one item, one for each kind of slots.
    lanes, warps, blocks : int
        Items in lockstep, warps of a block, blocks of the launch.
    slots : tuple of int
        How many blocks run at a time, of each kind; those named first are served first.
    missing : float
        Bound on how far the cut of an infinite law moves any probability.
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
        """``inversion``, or ``exact`` if all is certain, of slots that do not slow each other."""
        return f"{self._engine.method if self._engine else 'exact'}, independent slots"

    @property
    def error(self) -> float:
        """Bound on the error of a probability: of the cut, of what is left out, of rounding."""
        return self.missing + (self._engine.error if self._engine else 0.0)

    @property
    def span(self) -> Any:
        """All times are multiples of it."""
        return self._engine.setting.span if self._engine else 1

    # --- the time
    def times(self) -> TimeLaw:
        """All of the law of the time, computed once."""
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
        result: TimeLaw = self._cache["times"]
        return result

    def cdf(self, t: Any) -> Any:
        """P(C <= t), for a number or an array of them; few of them do not need the whole law.

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
        """Probability that all blocks have ended by the deadline, P(C <= deadline)."""
        return self.cdf(deadline)

    def quantile(self, q: Any) -> Any:
        """The smallest t with P(C <= t) >= q, for a number or an array of probabilities."""
        return self.times().quantile(q)

    def cvar(self, q: Any) -> Any:
        """Mean of the slowest share 1 - q of launches."""
        return self.times().cvar(q)

    def mean(self) -> float:
        """E[C].

        >>> from stochastic import Pmf, launch
        >>> round(launch(Pmf.uniform(1, 6), blocks=3, slots=2).mean() - 343 / 54, 12)
        0.0
        """
        return self.times().mean()

    def var(self) -> float:
        """Variance of C."""
        return self.times().var()

    def std(self) -> float:
        """Standard deviation of C."""
        return self.times().std()

    def pmf(self) -> xr.DataArray:
        """P(C = t) along ``time``."""
        return self.times().pmf()

    def start_of_last(self) -> TimeLaw:
        """The law of when the last block that has work begins; 0 where none has."""
        return self._engine.last_start() if self._engine else self.times()

    def joint(self) -> xr.DataArray:
        """P(C = t, T = w), T the work of all blocks, along ``time`` and ``total``.

        Raises
        ------
        LawError
            Where the table would be too large.
        """
        if self._engine is None:
            return law_array(np.ones((1, 1)), {}, time=[0], total=[0])
        first, chances, totals = self._engine.joint()
        times = np.arange(first, first + len(chances)) * self.span
        return law_array(chances, {}, time=times, total=totals * self.span)

    def sample(self, size: int, seed: int = 0) -> Ints:
        """Times of ``size`` independent launches, simulated."""
        return np.asarray(self.simulated(size, seed)[0])

    def simulated(self, size: int, seed: int = 0) -> Ints:
        """Time, start of the last block and total work of simulated launches, (3, size)."""
        size, seed = check_integer("size", size, least=0), check_integer("seed", seed, least=0)
        if self._engine is None:
            return np.zeros((3, size), dtype=np.int64)
        return np.asarray(self._engine.setting.simulate(size, seed) * self.span)

    # --- what becomes of it
    def total(self) -> float:
        """E[T], the mean work of all blocks; of slots that are alike, blocks · mean of a block."""
        return float(self.span * sum(self._engine.mean_totals)) if self._engine else 0.0

    def idle(self) -> TimeBreakdown:
        """Where the time of slots and lanes goes, on average.

        >>> from stochastic import Pmf, launch
        >>> law = launch(Pmf.uniform(1, 1000), blocks=4096, slots=864)
        >>> round(law.idle().slot_share, 3)
        0.211
        """
        return TimeBreakdown.from_means(
            slots=sum(self.slots),
            time=self.mean(),
            total=self.total(),
            parts=self._parts(),
        )

    def _parts(self) -> list[tuple[float, float, float]]:
        """Return the number of blocks on each kind, the mean work of an item and of a warp."""
        if len(self.slots) == 1 or self._engine is None:
            return [(self.blocks, *self.means[0])]
        setting = self._engine.setting
        busy = [
            total / kind.mean / (1.0 - setting.idle_probability)
            for total, kind in zip(self._engine.mean_totals, setting.kinds, strict=True)
        ]
        return [(count, *means) for count, means in zip(busy, self.means, strict=True)]

    def energy(self, working: float, on: float, idling: float) -> Energy:
        """The energy of a launch: working·T + on·C + idling·(M·C - T), T the total work.

        Parameters
        ----------
        working, idling : float
            Power of a slot that runs a block, and of one that waits for the end.
        on : float
            Power of all the rest while the launch runs.
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
    alike: Any = ...,
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
    alike: Any = ...,
    sharing: Sharing,
) -> SharedLaunch: ...


def launch(
    work: Pmf | Sequence[Pmf],
    *,
    blocks: int,
    slots: int | Sequence[int],
    lanes: int = 1,
    warps: int = 1,
    alike: Any = 0,
    sharing: Any = None,
    tol: float = 1e-13,
    method: str = "auto",
) -> Launch | SharedLaunch:
    """The exact law of the time of a launch, under the hardware's own dynamic scheduling.

    A block goes to the first slot that is free; it takes as long as its longest warp, and a warp as
    long as its longest lane. Slots do not slow each other down.

    Parameters
    ----------
    work : Pmf, or a sequence of them
        The law of the work of one item, in whole units of time; several where multiprocessors are
        unlike, one for each of ``slots``.
    blocks : int
        Blocks of the launch.
    slots : int, or a sequence of them
        Blocks that run at a time, multiprocessors · resident blocks. Of several kinds, the first
        named is served first where slots are free at the same moment.
    lanes, warps : int
        Items in lockstep, and warps of a block: independent items. With ``lanes = warps = 1``,
        ``work`` is that of a block.
    alike : number, matrix, pairs, or trace
        How the lanes of a block are alike, all of them in a row: a lane repeats its neighbour's
        work with this probability; P(next | this) of a finite law's values; of pairs
        (probability, law), one law for the whole block, ``work`` their mixture; or a trace, of
        which a block takes items in a row.
    sharing : Sharing, optional
        Warps that share the rate of their multiprocessor: simulated, with an interval; the answer
        then is a ``SharedLaunch``.
    tol : float
        Most by which the cut of an infinite law may move a probability.
    method : {"auto", "inversion"}
        There is one way to the law; both name it.

    Raises
    ------
    LawError
        For what does not fit, and for a law that is too large, with what works instead.

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
            raise LawError("sharing: expected multiprocessors that are alike, one law of work")
        return simulate_shared_launch(works[0], sharing, blocks, each[0], lanes, warps, alike)
    beyond = tol / (4.0 * blocks)
    longest = [longest_item_law(one, lanes * warps, beyond, alike) for one in works]
    missing = 2.0 * blocks * max(left for _, left in longest)
    served = [min(one, blocks) for one in each]  # slots beyond the blocks stay empty
    setting = make_setting([block for block, _ in longest], served, blocks)
    engine: LaunchInversion | CertainLaunch | None = None
    if setting is not None:
        engine = (
            CertainLaunch(setting=setting)
            if setting.is_certain
            else LaunchInversion.from_setting(setting)
        )
    warps_of = [longest_item_law(one, lanes, beyond, alike)[0] for one in works]
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
            f"work = {work!r:.60} and slots = {slots!r:.60}: expected one law and one number, or, "
            "of multiprocessors that are unlike, as many laws as numbers"
        )
    if not works:
        raise LawError("work is empty: expected a law of work, such as Pmf.geometric(0.05)")
    each = [
        check_integer("slots", one, least=1, example=864) for one in (slots if several else [slots])
    ]
    return works, each
