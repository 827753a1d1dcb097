"""Convert laws of SciPy to named families or tables; wrap infinite laws of other families."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stochastic import sizes
from stochastic.arrays import Floats
from stochastic.checks import LawError
from stochastic.work.distribution import Distribution, check_span, tabulate
from stochastic.work.families import FAMILIES

_FAR = 2.0**30  # Beyond this value, a tail is examined for an infinite mean.


@dataclass(frozen=True, slots=True)
class ScipyLaw(Distribution):
    """An infinite law of SciPy; the tail is summed unless SciPy has a formula for it."""

    frozen: Any = field(compare=False)
    key: tuple[Any, ...]
    low: int
    text: str
    has_infinite_mean: bool = False
    high: float = math.inf

    def pmf(self, k: Floats) -> Floats:
        """Return P(W = k)."""
        return np.asarray(self.frozen.pmf(k), dtype=np.float64)

    def sf(self, k: Any) -> Any:
        """Return P(W > k)."""
        tail = _tail(self.frozen)
        if tail is not None:
            return tail(k)
        result = [self._sum_tail(int(one)) for one in np.ravel(k)]
        return np.reshape(result, np.shape(k))[()]

    def _sum_tail(self, k: int) -> float:
        total, size, start = 0.0, 64, k + 1
        while start <= k + sizes.TAIL_TERMS:
            block = float(np.sum(self.pmf(np.arange(start, start + size, dtype=np.float64))))
            total += block
            if block <= 1e-17 * total:
                return total
            start, size = start + size, 2 * size
        if k - self.low < sizes.TAIL_TERMS:
            return 1 - float(np.sum(self.pmf(np.arange(self.low, k + 1, dtype=np.float64))))
        raise LawError(
            f"the tail of {self.text} falls too slowly to be added up: bound it with truncate(high)"
        )

    def mean(self) -> float:
        """Return E[W]."""
        return float(self.frozen.mean())

    def var(self) -> float:
        """Return E[(W - E[W])²], which may be infinite."""
        with np.errstate(all="ignore"):
            result = float(self.frozen.var())
        return math.inf if math.isnan(result) else result

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Return independent draws."""
        if hasattr(self.frozen, "rvs"):
            return np.asarray(self.frozen.rvs(size=size, random_state=rng)).astype(np.int64)[()]
        return np.asarray(self.frozen.sample(size or (), rng=rng)).astype(np.int64)[()]


def _parameters(frozen: Any) -> dict[str, Any]:
    names = [*(frozen.dist.shapes or "").replace(" ", "").split(","), "loc"]
    return {**dict(zip([name for name in names if name], frozen.args, strict=False)), **frozen.kwds}


def _tail(frozen: Any) -> Callable[[Any], Any] | None:
    """Return the function k -> P(W > k); None if SciPy has no accurate formula for it."""
    from scipy.special import zeta
    from scipy.stats import rv_discrete

    dist = getattr(frozen, "dist", None)
    if dist is None:
        return None
    if dist.name == "zipf":
        given = _parameters(frozen)
        a, loc = float(given["a"]), int(given.get("loc", 0))
        return lambda k: zeta(a, k - loc + 1.0) / zeta(a, 1.0)
    if type(dist)._sf is not rv_discrete._sf:
        return lambda k: frozen.sf(k)
    return None


def _has_infinite_mean(frozen: Any) -> bool:
    """True if the mean is infinite: SciPy says so, or 2**j·P(W > 2**j) does not decrease."""
    with np.errstate(all="ignore"):
        if not math.isfinite(float(frozen.mean())):
            return True
        tail = _tail(frozen)
        if tail is None:
            return False
        near, far = float(tail(_FAR)), float(tail(2 * _FAR))
    return near > 0 and 2 * far >= near * (1 - 1e-7)


def family_arguments(frozen: Any) -> tuple[str, tuple[Any, ...], int] | None:
    """Return (constructor, arguments, shift) for a law of SciPy that belongs to a named family."""
    if type(frozen).__name__ == "Binomial" and not hasattr(frozen, "dist"):
        return "binomial", (int(frozen.n), float(frozen.p)), 0
    dist = getattr(frozen, "dist", None)
    if dist is None:
        return None
    given = _parameters(frozen)
    loc = given.get("loc", 0)
    if not (np.ndim(loc) == 0 and float(loc).is_integer()):
        raise LawError(f"loc = {loc!r}: expected a whole number, because work is a whole number")
    if dist.name == "randint":
        return "uniform", (int(given["low"] + loc), int(given["high"] + loc) - 1), 0
    for row in FAMILIES.values():
        name, parameters = row.scipy
        if dist.name == name:
            return row.name, tuple(np.asarray(given[key]).item() for key in parameters), int(loc)
    return None


def law_from_scipy(frozen: Any) -> Distribution:
    """Return a frozen discrete law of SciPy as a table, or as a ScipyLaw if it is infinite."""
    text = f"Pmf.from_scipy({_scipy_text(frozen)})"
    if not _is_discrete(frozen):
        raise LawError(
            f"{frozen!r} is no discrete law with its parameters: expected one such as "
            "scipy.stats.zipf(2.5)"
        )
    low, high = (float(end) for end in frozen.support())
    if math.isnan(low) or math.isnan(high):
        raise LawError(f"{text} has parameters that SciPy refuses: its support is empty")
    if low < 0:
        raise LawError(
            f"{text} reaches down to {low:g}, and work is never negative: give it a loc that moves "
            "it to 0 or above"
        )
    if high == math.inf:
        kind, key = type(getattr(frozen, "dist", frozen)), _scipy_text(frozen)
        return ScipyLaw(frozen, (kind, key), int(low), text, _has_infinite_mean(frozen))
    check_span(int(low), int(high), text)
    table = np.asarray(frozen.pmf(np.arange(low, high + 1)), dtype=np.float64)
    total = math.fsum(table)
    if not (np.all(table >= 0) and abs(total - 1) < 1e-9):
        raise LawError(f"{text} has probabilities that sum to {total!r}, not to 1")
    return tabulate(int(low), table / total, constructor_text=text)


def _is_discrete(frozen: Any) -> bool:
    from scipy.stats import rv_discrete

    if isinstance(frozen, rv_discrete):  # a law that is not frozen must have its values
        return hasattr(frozen, "xk")
    kinds = {kind.__name__ for kind in type(frozen).__mro__}
    return bool(kinds & {"rv_discrete_frozen", "DiscreteDistribution"})


def _scipy_text(frozen: Any) -> str:
    dist = getattr(frozen, "dist", None)
    if dist is None:
        return repr(frozen) if not hasattr(frozen, "xk") else "rv_discrete(values=...)"
    given = ", ".join(f"{name}={np.asarray(v).item()!r}" for name, v in _parameters(frozen).items())
    return f"{dist.name}({given})"
