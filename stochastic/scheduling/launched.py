"""The law of the time of a launch, as it is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.checks import whole
from stochastic.errors import LawError
from stochastic.labels import totals_array
from stochastic.scheduling.engines import Numerically
from stochastic.scheduling.exactly import Certain, Exactly
from stochastic.scheduling.spent import Energy, Idle
from stochastic.scheduling.times import Times, asked_times
from stochastic.work.pmf import Pmf

if TYPE_CHECKING:
    import numpy.typing as npt
    import xarray as xr

__all__ = ["Launch"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Launch:
    """The law of the time C of a launch; made by :func:`stochastic.launch`.

    Times are in the units of the work. Where the laws were given in Fractions and are small, the
    answers are Fractions.

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
    _engine: Numerically | Exactly | Certain | None
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        works = ", ".join(map(repr, self.works))
        return f"Launch({works}, blocks={self.blocks}, slots={list(self.slots)})"

    @property
    def method(self) -> str:
        """``inversion`` or ``exact``, of slots that do not slow each other down."""
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
    def times(self) -> Times:
        """All of the law of the time, computed once."""
        if "times" not in self._kept:
            first, below = self._engine.below if self._engine else (0, np.ones(1))
            ends = self._engine.setting.ends() if self._engine else None
            least, most = ends or (None, None)
            self._kept["times"] = Times(
                first=first,
                below=below,
                span=self.span,
                least=least,
                most=most if ends is None or self.works[0].is_finite else math.inf,
            )
        found: Times = self._kept["times"]
        return found

    def cdf(self, t: Any) -> Any:
        """P(C <= t), for a number or an array of them; few of them do not need the whole law.

        >>> from stochastic import Pmf, launch
        >>> law = launch(Pmf.uniform(1, 1000), blocks=4096, slots=864)
        >>> round(law.cdf(3042), 4)
        0.9016
        """
        if self._engine is None or "times" in self._kept:
            return self.times().cdf(t)
        steps, shape = asked_times(t, self.span)
        found = self._engine.cdf(steps)
        return found.reshape(shape) if shape else found.item()

    def chance(self, deadline: Any) -> Any:
        """Probability that all blocks have ended by the deadline, P(C <= deadline)."""
        return self.cdf(deadline)

    def quantile(self, q: Any) -> Any:
        """The smallest t with P(C <= t) >= q, for a number or an array of probabilities."""
        return self.times().quantile(q)

    def cvar(self, q: Any) -> Any:
        """Mean of the slowest share 1 - q of launches."""
        return self.times().cvar(q)

    def mean(self) -> Any:
        """E[C].

        >>> from stochastic import Pmf, launch
        >>> launch(Pmf.from_weights([Fraction(1, 6)] * 6, low=1), blocks=3, slots=2).mean()
        Fraction(343, 54)
        """
        return self.times().mean()

    def var(self) -> Any:
        """Variance of C."""
        return self.times().var()

    def std(self) -> float:
        """Standard deviation of C."""
        return self.times().std()

    def pmf(self) -> xr.DataArray:
        """P(C = t) along ``time``."""
        return self.times().pmf()

    def start_of_last(self) -> Times:
        """The law of when the last block that has work begins; 0 where none has."""
        return self._engine.started() if self._engine else self.times()

    def joint(self) -> xr.DataArray:
        """P(C = t, T = w), T the work of all blocks, along ``time`` and ``total``.

        Raises
        ------
        LawError
            Where the table would be too large.
        """
        if self._engine is None:
            return totals_array([0], [0], np.ones((1, 1)))
        first, chances, totals = self._engine.joint()
        times = np.arange(first, first + len(chances)) * self.span
        return totals_array(times, totals * self.span, chances)

    def sample(self, size: int, seed: int = 0) -> npt.NDArray[np.int64]:
        """Times of ``size`` independent launches, simulated."""
        return np.asarray(self.simulated(size, seed)[0])

    def simulated(self, size: int, seed: int = 0) -> npt.NDArray[np.int64]:
        """Time, start of the last block and total work of simulated launches, (3, size)."""
        size, seed = whole("size", size, least=0), whole("seed", seed, least=0)
        if self._engine is None:
            return np.zeros((3, size), dtype=np.int64)
        return np.asarray(self._engine.setting.simulated(size, seed) * self.span)

    # --- what becomes of it
    def total(self) -> Any:
        """E[T], the mean work of all blocks; of slots that are alike, blocks · mean of a block."""
        if self._engine is None:
            return 0
        setting = self._engine.setting
        if len(self.slots) == 1:
            if isinstance(self._engine, Exactly):
                weights = self._engine.launch.weights[0]
                mean = Fraction(sum(k * w for k, w in enumerate(weights)), sum(weights))
                return self.span * self.blocks * (1 - self._engine.launch.idle) * mean
            return self.span * setting.busy * setting.kinds[0].mean
        return self.span * self._engine.mean_total

    def idle(self) -> Idle:
        """Where the time of slots and lanes goes, on average.

        >>> from stochastic import Pmf, launch
        >>> law = launch(Pmf.uniform(1, 1000), blocks=4096, slots=864)
        >>> round(law.idle().slot_share, 3)
        0.211
        """
        return Idle.of(
            slots=sum(self.slots),
            time=float(self.mean()),
            total=float(self.total()),
            parts=self._parts(),
        )

    def _parts(self) -> list[tuple[float, float, float]]:
        """Return the number of blocks on each kind, the mean work of an item and of a warp."""
        if len(self.slots) == 1 or self._engine is None:
            return [(self.blocks, *self.means[0])]
        setting, engine = self._engine.setting, self._engine
        if isinstance(engine, Exactly):
            engine = (
                Certain(setting=setting) if setting.is_certain else Numerically(setting=setting)
            )
        busy = [
            total / kind.mean / (1.0 - setting.idle)
            for total, kind in zip(engine.mean_totals, setting.kinds, strict=True)
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
            if isinstance(value, bool | str) or not 0 <= value < math.inf:
                raise LawError(f"{name} = {value!r}: expected a power of 0 or more")
        slots = sum(self.slots)
        time, total = float(self.mean()), float(self.total())
        parts = working * total, on * time, idling * (slots * time - total)
        if self._engine is None:
            return Energy(working=0.0, on=0.0, idling=0.0, std=0.0)
        moments = float(self._engine.total_var), float(self._engine.covariance)
        square = float(self.span) ** 2
        a, b = working - idling, on + slots * idling
        var = a * a * square * moments[0] + b * b * float(self.var())
        var += 2 * a * b * square * moments[1]
        return Energy(working=parts[0], on=parts[1], idling=parts[2], std=math.sqrt(max(var, 0.0)))
