"""The law of a launch in doubles, as it is asked: by inversion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import sizes
from stochastic.errors import LawError
from stochastic.scheduling.centred import Centred, affordable
from stochastic.scheduling.inversion import Inversion
from stochastic.scheduling.reach import NOTHING
from stochastic.scheduling.rounding import bound
from stochastic.scheduling.times import Times

if TYPE_CHECKING:
    import numpy.typing as npt

    from stochastic.scheduling.setting import Setting

__all__ = ["Numerically"]

_EPS = 2.0**-52
_CLEAR = 1e-14  # probabilities below it are left to the error bound
_WIDE = 0.03  # of an angle, over the longest total's standard deviation
_JOINT = sizes.JOINT_MOST  # coefficients of a joint law, times the nodes of one


@dataclass(frozen=True, kw_only=True, eq=False)
class Numerically:
    """By inversion, in doubles. Times are in steps."""

    setting: Setting
    method = "inversion"

    @cached_property
    def inversion(self) -> Centred | Inversion:
        """What answers."""
        if affordable(self.setting):
            return Centred(setting=self.setting)
        return Inversion(setting=self.setting)

    @cached_property
    def error(self) -> float:
        """Bound on the numerical error of a probability: what is left out, and rounding.

        Where blocks are counted it is proven (stochastic.scheduling.rounding). For a law too large
        for that, rounding is an estimate: the law evaluated at other nodes differs by up to 1.3
        roundings for each block, in hundreds of random laws of up to 60 blocks a slot.
        """
        if isinstance(self.inversion, Centred):
            return bound(self.inversion) + _CLEAR
        most = max(kind.slots for kind in self.setting.kinds)
        return 6 * math.exp(NOTHING) + _CLEAR + _EPS * (4.0 * (self.setting.blocks + most) + 64.0)

    def cdf(self, times: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """P(C <= t)."""
        if "below" in self.__dict__:
            first, below = self.below
            at = np.clip(times - first, 0, len(below) - 1)
            return np.where(times < first, 0.0, below[at])
        return self.inversion.cdf(times)

    @cached_property
    def below(self) -> tuple[int, npt.NDArray[np.float64]]:
        """The first time with a probability, and P(C <= t) from there on."""
        reach, longest = self.inversion.reach, self.setting.longest
        idle = self.setting.idle**self.setting.blocks
        low, high = reach.first, reach.last + longest
        first = self._least(idle + _CLEAR, low - 1, high) if idle < _CLEAR else 0
        last = self._least(1.0 - _CLEAR, max(first, low - 1), high)
        found = self.inversion.cdf(np.arange(first, last + 1))
        found[-1] = 1.0
        return first, np.maximum.accumulate(found)

    def _least(self, q: float, below: int, above: int) -> int:
        """The first time by which the launch has ended with probability q, if after ``below``."""
        while above - below > 1:
            ask = np.unique(np.linspace(below, above, 10).astype(np.int64)[1:-1])
            ask = ask[(ask > below) & (ask < above)]
            seen = self.inversion.cdf(ask) >= q
            at = int(np.argmax(seen)) if seen.any() else len(ask)
            below, above = (
                int(ask[at - 1]) if at > 0 else below,
                int(ask[at]) if at < len(ask) else above,
            )
        return above

    def started(self) -> Times:
        """The start of the last block."""
        first, below = self.inversion.started()
        return Times(first=first, below=below, span=self.setting.span)

    def joint(self) -> tuple[int, npt.NDArray[Any], npt.NDArray[np.int64]]:
        """The first time, P(C = t, T = w) and the steps of work w."""
        setting = self.setting
        first, below = self.below
        shortest = min(int(np.flatnonzero(kind.law)[0]) for kind in setting.kinds)
        least = setting.blocks * shortest if setting.idle == 0 else 0
        count = setting.blocks * setting.longest - least + 1
        if float(count) ** 2 * len(below) * self.inversion.reach.period > _JOINT:
            raise LawError(
                f"the joint law of {len(below):,} times and {count:,} totals is too large: "
                "energy(...) tells mean and standard deviation without it, sample draws both"
            )
        times = np.arange(first, first + len(below))
        turned = np.array(
            [
                Inversion(setting=setting, phase=2 * math.pi * k / count).transform(times)
                for k in range(count // 2 + 1)
            ]
        )
        totals = np.arange(least, least + count)
        found = np.fft.irfft(np.conj(turned), count, axis=0)[totals % count]
        return first, np.diff(found.T, axis=0, prepend=0.0), totals

    @cached_property
    def _turned(self) -> tuple[float, npt.NDArray[np.complex128]]:
        """A small phase, and E[exp(i·phase·T); C <= t] of all times."""
        setting = self.setting
        first, below = self.below
        angle = 6e-5 / (setting.longest * math.sqrt(setting.blocks))
        times = np.arange(first, first + len(below))
        return angle, Inversion(setting=setting, phase=angle).transform(times)

    @property
    def mean_total(self) -> float:
        """E[T], of unlike slots too."""
        angle, turned = self._turned
        return float(np.angle(turned[-1])) / angle

    @property
    def mean_totals(self) -> list[float]:
        """Return E[T] of the blocks on each kind of slots."""
        angle, _ = self._turned
        first, below = self.below
        end, found = np.array([first + len(below) - 1]), []
        for number in range(len(self.setting.kinds)):
            engine = Inversion(setting=self.setting, phase=angle, turning=number)
            found.append(max(float(np.angle(engine.transform(end)[0])) / angle, 0.0))
        return found

    @property
    def total_var(self) -> float:
        """Var(T): blocks are independent where slots are alike, else by how |E[e**iaT]| bends."""
        setting = self.setting
        if len(setting.kinds) > 1:
            wide = self._curve(_WIDE)
            return wide + (self._curve(_WIDE / 2.0) - wide) * 4.0 / 3.0
        kind, p = setting.kinds[0], setting.idle
        return setting.blocks * (1 - p) * (kind.var + p * kind.mean**2)

    def _curve(self, turn: float) -> float:
        """Var(T), but for a part that falls as the square of the turn."""
        angle = turn / (self.setting.longest * math.sqrt(self.setting.blocks))
        first, below = self.below
        end = np.array([first + len(below) - 1])
        turned = Inversion(setting=self.setting, phase=angle).transform(end)[0]
        return -2.0 * math.log(abs(turned)) / angle**2

    @cached_property
    def covariance(self) -> float:
        """Cov(C, T) of time and total work, in steps: E[T; C > t] over all t."""
        angle, turned = self._turned
        return -float(np.imag(turned * np.exp(-1j * angle * self.mean_total)).sum()) / angle
