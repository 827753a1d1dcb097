"""The law of a launch that is known exactly: in fractions, or because nothing is random."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.scheduling.times import Times

if TYPE_CHECKING:
    import numpy.typing as npt

    from stochastic.scheduling.rational import RationalLaunch
    from stochastic.scheduling.setting import Setting

__all__ = ["Certain", "Exactly"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Exactly:
    """In fractions."""

    launch: RationalLaunch
    setting: Setting
    method = "exact"
    error = 0.0

    @cached_property
    def below(self) -> tuple[int, npt.NDArray[Any]]:
        """The first time with a probability, and P(C <= t) from there on."""
        found = self.launch.below()
        first = next(t for t, chance in enumerate(found) if chance)
        return first, np.array(found[first:], dtype=object)

    def cdf(self, times: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """P(C <= t)."""
        first, below = self.below
        at = np.clip(times - first, 0, len(below) - 1)
        return np.array(
            [below[i] if t >= first else Fraction(0) for t, i in zip(times, at, strict=True)],
            dtype=object,
        )

    def started(self) -> Times:
        """The start of the last block."""
        found = np.array(self.launch.started(), dtype=object)
        return Times(first=0, below=found, span=self.setting.span)

    def joint(self) -> tuple[int, npt.NDArray[Any], npt.NDArray[np.int64]]:
        """The first time, P(C = t, T = w) and the steps of work w."""
        table = np.array(self.launch.joint(), dtype=object)
        chances = np.diff(table, axis=0, prepend=np.full((1, table.shape[1]), Fraction(0)))
        return 0, chances, np.arange(table.shape[1])

    @property
    def mean_total(self) -> Fraction:
        """E[T]."""
        _, chances, totals = self.joint()
        return Fraction(chances.sum(axis=0) @ totals)

    @property
    def total_var(self) -> Fraction:
        """Var(T)."""
        _, chances, totals = self.joint()
        return Fraction(chances.sum(axis=0) @ (totals * totals) - self.mean_total**2)

    @cached_property
    def covariance(self) -> Fraction:
        """Cov(C, T) of time and total work, in steps."""
        first, chances, totals = self.joint()
        times = np.arange(first, first + len(chances))
        mean = (chances.sum(axis=1) @ times, chances.sum(axis=0) @ totals)
        return Fraction(times @ chances @ totals - mean[0] * mean[1])


@dataclass(frozen=True, kw_only=True, eq=False)
class Certain:
    """All blocks take one time on slots of a kind, so that the launch takes one time as well."""

    setting: Setting
    method = "exact"
    error = 0.0
    total_var = covariance = 0.0

    @cached_property
    def _found(self) -> tuple[int, int, tuple[int, ...]]:
        """Return the end, the start of the last block, and the work on each kind of slots."""
        return self.setting.scheduled([kind.longest for kind in self.setting.kinds])

    @property
    def below(self) -> tuple[int, npt.NDArray[np.float64]]:
        """Return the time, and its chance."""
        return self._found[0], np.ones(1)

    def cdf(self, times: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return P(C <= t)."""
        return np.where(times < self._found[0], 0.0, 1.0)

    def started(self) -> Times:
        """Return the start of the last block."""
        return Times(first=self._found[1], below=np.ones(1), span=self.setting.span)

    def joint(self) -> tuple[int, npt.NDArray[Any], npt.NDArray[np.int64]]:
        """Return the time, its chance, and the steps of work."""
        return self._found[0], np.ones((1, 1)), np.array([int(self.mean_total)])

    @property
    def mean_totals(self) -> list[float]:
        """Return the work on each kind of slots."""
        return [float(one) for one in self._found[2]]

    @property
    def mean_total(self) -> float:
        """Return the work of all blocks."""
        return float(sum(self._found[2]))
