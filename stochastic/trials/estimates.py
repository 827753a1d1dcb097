"""What a sample of losses tells, from tallies of it: moments, quantiles, a histogram."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.labels import named

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["CONFIDENCE", "histogram", "moments", "order_statistics", "ratio"]

CONFIDENCE = 0.95
#: The expected number of groups that may be like none that was drawn, in standard errors; and the
#: share of a number that is mere rounding.
_UNSEEN, _ALIKE = -math.log(0.025) / 1.96, 1e-12


def moments(
    total: npt.NDArray[np.float64], centre: float, reach: float
) -> dict[str, tuple[Any, ...]]:
    """Mean and standard deviation with their errors; sums of powers 0 to 4 about the centre.

    Where all groups lose the same, others have a chance of at most 3.7 / groups, and lose up to
    ``reach`` more or less.
    """
    count = total[0]
    a, b, c, d = total[1:] / count
    var = max(b - a * a, 0.0)
    fourth = d - 4 * a * c + 6 * a * a * b - 3 * a**4
    std = math.sqrt(var * count / (count - 1)) if count > 1 else math.nan
    error, std_error = std / math.sqrt(count), math.sqrt(_UNSEEN / count) * reach
    if std > _ALIKE * max(abs(centre), 1.0):
        std_error = math.sqrt(max(fourth - var * var, 0.0) / count) / (2 * std)
    elif count > 1:
        std, error = 0.0, min(_UNSEEN / count, 1.0) * reach
    return {
        "loss": named((), centre + a, "mean loss of a group"),
        "loss_error": named((), error, "standard error of the mean loss"),
        "loss_std": named((), std, "standard deviation of the loss"),
        "loss_std_error": named(
            (), std_error if count > 1 else math.nan, "standard error of loss_std"
        ),
    }


def ratio(
    total: npt.NDArray[np.float64],
    centres: npt.NDArray[np.float64],
    groups: int,
    lanes: int,
    reach: float,
) -> dict[str, tuple[Any, ...]]:
    """n·Σmax / Σsum and its standard error by the delta method, from sums about the centres."""
    m, s, mm, ms, ss = total / groups
    work = centres[1] + s
    value = lanes * (centres[0] + m) / work if work > 0 else 1.0
    scatter = lanes**2 * (mm - m * m) - 2 * lanes * value * (ms - m * s) + value**2 * (ss - s * s)
    error = math.sqrt(max(scatter, 0.0) / (groups - 1)) / work if groups > 1 and work > 0 else 0.0
    if error <= _ALIKE * value:
        error = min(_UNSEEN / groups, 1.0) * reach
    return {
        "slowdown": named((), value, "slowdown of the whole workload, n·Σmax / Σsum"),
        "slowdown_error": named(
            (), error if groups > 1 else math.nan, "standard error of the slowdown"
        ),
    }


def order_statistics(
    seen: npt.NDArray[np.float64], asked: npt.NDArray[np.float64], least: float, most: float
) -> dict[str, tuple[Any, ...]]:
    """Sample quantiles, and the order statistics that enclose the true ones.

    ``seen`` has a row (count, smallest, largest) for each bin, ascending; all losses lie between
    ``least`` and ``most``.
    """
    from scipy.special import bdtrik

    upto = np.cumsum(seen[:, 0])
    count = upto[-1]
    tail = (1 - CONFIDENCE) / 2
    inside = np.clip(asked, 1e-300, 1 - 1e-16)
    below = np.floor(np.nan_to_num(bdtrik(tail, count, inside)))  # a quantile of the binomial law
    above = np.ceil(np.nan_to_num(bdtrik(1 - tail, count, inside))) + 1
    rank = np.ceil(asked * count * (1 - 1e-15))

    def at(ranks: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return seen[np.searchsorted(upto, np.clip(ranks, 1, count)), 1:]

    middle = at(rank)
    low = np.where(below < 1, least, at(below)[:, 0])
    high = np.where(above > count, most, at(above)[:, 1])
    return {
        "loss_quantile": named(
            "probability", middle[:, 0] + (middle[:, 1] - middle[:, 0]) / 2, "quantile of the loss"
        ),
        "loss_quantile_low": named(
            "probability", low, "lower limit of the quantile, 95 % confidence"
        ),
        "loss_quantile_high": named(
            "probability", high, "upper limit of the quantile, 95 % confidence"
        ),
        "loss_smallest": named((), seen[0, 1], "smallest loss drawn"),
        "loss_largest": named((), seen[-1, 2], "largest loss drawn"),
    }


def histogram(seen: npt.NDArray[np.float64], bins: int) -> dict[str, tuple[Any, ...]]:
    """Bars of equal width, [left, right), their edges moved to where no fine bin is divided."""
    low, high = seen[0, 1], seen[-1, 2]
    if high == low:
        bins = 1
    edges = np.linspace(low, high, bins + 1)
    which = np.clip(np.searchsorted(edges, seen[:, 1], side="right") - 1, 0, bins - 1)
    count = np.bincount(which, weights=seen[:, 0], minlength=bins)
    np.maximum.at(edges, which + 1, np.nextafter(seen[:, 2], math.inf))
    edges[-1] = high
    width = np.diff(edges)
    share = count / count.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        density = np.where(width > 0, share / width, math.inf)
    return {
        "left": named("bin", edges[:-1], "left edge of the bar"),
        "right": named("bin", edges[1:], "right edge of the bar"),
        "frequency": named("bin", count.astype(np.int64), "groups with such a loss"),
        "density": named("bin", density, "share of groups over the width of the bar"),
    }
