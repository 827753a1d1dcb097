"""What a law answers besides numbers: how sure it is, and what a whole workload pays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stochastic.checks import whole
from stochastic.loss.items import any_of

if TYPE_CHECKING:
    from stochastic.loss.longest import OrderStatistics
    from stochastic.work.pmf import Pmf

__all__ = ["ErrorBound", "Slowdown", "moved_by", "tail_for"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBound:
    """How far answers may be from the law that was given.

    Attributes
    ----------
    missing : float
        Probability that an item is longer than the cut, so not in the law that is computed with.
    cut : int
        The longest item that is computed with.
    cdf : float
        Most by which the cut moves any probability of the loss: 1 - (1 - missing)**lanes, over that
        of any work where groups without are dropped. The numerics of a probability add less than
        ``tol``, or a :class:`ToleranceWarning` says by how much more.
    mean : float
        Bound on the error of the mean: that of the cut, rigorous, and of the numerics, estimated.
    numerical : float
        The numerical part of it alone.
    tol : float
        What was asked for.
    """

    missing: float
    cut: int
    cdf: float
    mean: float
    numerical: float
    tol: float

    @classmethod
    def of(
        cls, work: Pmf, lanes: int, moved: float, mean: float, numerical: float, tol: float
    ) -> ErrorBound:
        """That of a mean computed with the cut law ``work``, which moves a probability so far."""
        return cls(
            missing=work.missing,
            cut=int(work.high),
            cdf=moved,
            mean=moved * max(lanes - mean, mean) + numerical,
            numerical=numerical,
            tol=tol,
        )

    @property
    def met(self) -> bool:
        """Whether the mean is known within the tolerance asked for."""
        return self.mean <= self.tol

    def __float__(self) -> float:
        return self.mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowdown:
    """What lockstep costs a whole workload of many groups: E[max] / E[W], a ratio of means.

    The mean loss of a group counts every group alike; a workload pays for each group by its length:
    n·Σmax / Σsum weighs a group's loss by its work. So slowdown = E[X] + Cov(X, sum) / E[sum]: it
    is above the mean loss where long groups lose more, below it where they lose less.

    Attributes
    ----------
    value : float
        E[max] / E[W].
    loss : float
        The mean loss of one group, E[X], for comparison.
    error : float
        Rigorous bound on what the cut of an infinite law takes from it.
    variance_of_one : float
        Var(n·max - value·sum) / (n·E[W])**2: divided by the number of groups, the variance of
        n·Σmax / Σsum (delta method; the error is of second order in 1 / groups).
    """

    value: float
    loss: float
    error: float
    variance_of_one: float

    @classmethod
    def of(cls, items: OrderStatistics, lanes: int, *, loss: float, error: float) -> Slowdown:
        """From moments of the longest item and of one, where the mean loss is ``loss``."""
        if items.mean == 0.0:  # no work at all: nothing is waited for
            return cls(value=1.0, loss=loss, error=0.0, variance_of_one=0.0)
        ratio = items.mean_max / items.mean
        scatter = lanes * items.var_max - 2.0 * ratio * items.cov_max_sum + ratio**2 * items.var
        return cls(
            value=ratio,
            loss=loss,
            error=error,
            variance_of_one=max(scatter, 0.0) / (lanes * items.mean**2),
        )

    def __float__(self) -> float:
        return self.value

    @property
    def difference(self) -> float:
        """Slowdown less mean loss: Cov(X, sum) / E[sum]."""
        return self.value - self.loss

    def var(self, groups: int) -> float:
        """Variance of n·Σmax / Σsum over a workload of that many independent groups."""
        return self.variance_of_one / whole("groups", groups, least=1)

    def std(self, groups: int) -> float:
        """Its standard deviation."""
        return math.sqrt(self.var(groups))


def _counted(law: Pmf, lanes: int, zero_work: str) -> float:
    """Probability of a group that counts: 1, but where those without any work are dropped."""
    return any_of(float(law.sf(0)), lanes) if zero_work == "drop" and law.low == 0 else 1.0


def moved_by(work: Pmf, lanes: int, zero_work: str) -> float:
    """Most by which the cut of a law moves a probability of the loss."""
    return min(any_of(work.missing, lanes) / _counted(work, lanes, zero_work), 1.0)


def tail_for(tol: float, lanes: int, k: int, law: Pmf, zero_work: str = "one") -> float:
    """The tail that may be left out so that the k-th moment moves by less than ``tol``.

    One item in a group is beyond the cut with a probability of at most lanes · eps, and then
    X**k is at most lanes**k; where groups without work are dropped, the others weigh more.
    """
    share = _counted(law, lanes, zero_work) or 1.0  # no work at all is refused elsewhere
    log = math.log(tol) - math.log(lanes) - k * math.log(lanes) + math.log(share)
    return math.exp(max(log, -640.0))
