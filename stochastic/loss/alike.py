"""What lockstep costs lanes that are alike: mean loss, slowdown, and for small laws all of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import sizes
from stochastic.errors import LawError
from stochastic.work.alike import Alike, Markov, Shock, Sticky, Windows
from stochastic.work.pmf import Pmf

if TYPE_CHECKING:
    import numpy.typing as npt

_STATES = sizes.ALIKE_STATES  # of longest, total and last lane, times lanes
_PRODUCTS = sizes.ALIKE_PRODUCTS
_ROUNDING = 1e-14  # of a probability
_CUT = 1e-10  # of an infinite law, over the square of the lanes
STEP = 0.25  # of log t: the trapezoidal rule for ∫ exp(-t·sum) dt is then exact to 2e-16
REACH = 45.0  # exp(-45) is nothing


@dataclass(frozen=True, kw_only=True, eq=False)
class AlikeLaw:
    """The loss X = lanes · max / sum of a group whose lanes are alike; without any work X = 1.

    Attributes
    ----------
    work : Pmf
        The law of one item, cut where it is infinite.
    lanes : int
        Items in lockstep.
    alike : Sticky, Markov, Shock or Windows
        How they are alike.
    """

    work: Pmf
    lanes: int
    alike: Alike

    @cached_property
    def longest(self) -> Pmf:
        """The law of the longest item of a group, exact."""
        return self.alike.longest(self.work, self.lanes)

    @property
    def _parts(self) -> list[tuple[float, Pmf]]:
        """The laws of a shock, each cut where it is infinite, with their probabilities."""
        parts = self.alike.parts if isinstance(self.alike, Shock) else ()
        return [(float(p), law.cut(_CUT / self.lanes**2)) for p, law in parts]

    def slowdown(self) -> float:
        """E[max] / E[W]: what a workload of many groups pays."""
        return self.longest.mean() / self.work.mean() if self.work.mean() else 1.0

    def mean(self) -> float:
        """E[X], to some 1e-11 of it."""
        if isinstance(self.alike, Windows):
            return math.fsum(p * x for x, p in self.table.items())
        if isinstance(self.alike, Shock):
            return sum(p * mean_loss_alike(part, self.lanes, Sticky(0)) for p, part in self._parts)
        return mean_loss_alike(self.work, self.lanes, self.alike)

    @cached_property
    def table(self) -> dict[float, float]:
        """P(X = x) of each loss, ascending.

        Raises
        ------
        LawError
            Where the law is too large.
        """
        chances: dict[float, float] = {}
        if isinstance(self.alike, Windows):
            chances = self.alike.losses(self.lanes)
        elif isinstance(self.alike, Shock):
            for p, part in self._parts:
                for x, chance in _joint(part, self.lanes, None).items():
                    chances[x] = chances.get(x, 0.0) + p * chance
        else:
            chances = _joint(self.work, self.lanes, self.alike)
        return dict(sorted(chances.items()))

    def cdf(self, t: Any) -> float:
        """P(X <= t), of a small law."""
        return math.fsum(p for x, p in self.table.items() if x <= float(t))

    def quantile(self, q: Any) -> float:
        """The smallest x with P(X <= x) >= q, to within rounding, of a small law."""
        chance = 0.0
        for x, p in self.table.items():
            chance += p
            if chance >= q - _ROUNDING:
                return x
        return x


def _joint(work: Pmf, lanes: int, alike: Sticky | Markov | None) -> dict[float, float]:
    """P(X = x), lane after lane: the work of the last, the longest, and the sum of all."""
    size, most = int(work.high) - work.low + 1, lanes * int(work.high)
    if float(size) ** 2 * (most + 1) * lanes > _STATES:
        raise LawError(
            f"the law of {lanes} alike lanes of up to {int(work.high):,} is too large to tell all "
            "of it: mean(), slowdown() and longest are told, or count the work in larger units"
        )
    law = work.weights
    held = np.zeros((size, size, most + 1))  # work of the last, longest, sum
    for k in range(size):
        held[k, k, k + work.low] = law[k]
    for _ in range(lanes - 1):
        free = law[:, None, None] * held.sum(axis=0)
        moved = free if alike is None else alike.step(held, law)
        held = np.zeros_like(held)
        for k in range(size):
            far = np.roll(moved[k], k + work.low, axis=1)
            held[k, k] = far[: k + 1].sum(axis=0)
            held[k, k + 1 :] = far[k + 1 :]
    chances: dict[float, float] = {}
    for (a, b), p in np.ndenumerate(held.sum(axis=0)):
        if p:
            x = lanes * (a + work.low) / b if b else 1.0
            chances[x] = chances.get(x, 0.0) + float(p)
    return chances


def log_nodes(least: float, most: float, lanes: int) -> npt.NDArray[np.float64]:
    """Nodes t, equally spaced in log t, for E[max / sum] = ∫ E[max·exp(-t·sum)] dt of many laws.

    Values are 0 or lie between ``least`` and ``most``. With weights STEP·t the rule is exact to
    2e-16 for every sum at once: its error is that of Γ(1 + 2πi / STEP). Up to the first node the
    integrand is E[max] to 1e-8, and that interval is 1e-8 of the whole.
    """
    first = math.log(1e-8 / (lanes * most))
    last = math.log((REACH + math.log(lanes * most / least)) / least)
    nodes: npt.NDArray[np.float64] = np.exp(np.arange(first, last + STEP, STEP))
    return nodes


def mean_loss_alike(work: Pmf, lanes: int, alike: Sticky | Markov) -> float:
    """E[max / sum] = ∫ E[max·exp(-t·sum)] dt, E[max; ...] = Σ_a (all - those up to a).

    Raises
    ------
    LawError
        Where that is too many products.
    """
    values = np.arange(work.low, int(work.high) + 1).astype(np.float64)
    some = values[values > 0]
    if not len(some):
        return 1.0
    nodes = log_nodes(some[0], some[-1], lanes)
    each = lanes if isinstance(alike, Sticky) else float(len(values)) ** 2
    if each * len(values) * len(nodes) * lanes > _PRODUCTS:
        raise LawError(
            f"the mean loss of {lanes} alike lanes of {len(values):,} values takes too many "
            "products: slowdown() and longest are told, or count the work in larger units"
        )
    decay = np.exp(-values[:, None] * nodes)
    law = work.weights
    if isinstance(alike, Sticky):
        upto = _sticky(law, decay, lanes, alike.rho)
    else:
        upto = np.array([_through(a, law, decay, lanes, alike) for a in range(1, len(values) + 1)])
    area = upto[-1] * work.low + (upto[-1] - upto[:-1]).sum(axis=0)
    longest = alike.longest(work, lanes).mean()
    total = float(nodes @ area) + longest * nodes[0] / np.expm1(STEP)
    idle = 0.0
    if work.low == 0:
        held = law[:1]
        for _ in range(lanes - 1):
            held = alike.step(held, law[:1])
        idle = float(held.sum())
    return float(lanes * STEP * total + idle)


def _sticky(
    law: npt.NDArray[np.float64], decay: npt.NDArray[np.float64], lanes: int, rho: float
) -> npt.NDArray[np.float64]:
    """As below for every first value, run of equal draws after run."""
    each = [rho**r * np.cumsum(law[:, None] * decay ** (r + 1), axis=0) for r in range(lanes)]
    before = np.ones((lanes, *decay.shape))  # of so many lanes, a new draw next
    for n in range(1, lanes):
        before[n] = (1.0 - rho) * np.sum([each[r] * before[n - 1 - r] for r in range(n)], axis=0)
    return np.asarray(np.sum([each[r] * before[lanes - 1 - r] for r in range(lanes)], axis=0))


def _through(
    size: int,
    law: npt.NDArray[np.float64],
    decay: npt.NDArray[np.float64],
    lanes: int,
    alike: Sticky | Markov,
) -> npt.NDArray[np.float64]:
    """E[exp(-t·sum); all among the first values] at each node t."""
    held = law[:size, None] * decay[:size]
    for _ in range(lanes - 1):
        held = alike.step(held, law[:size]) * decay[:size]
    return np.asarray(held.sum(axis=0))
