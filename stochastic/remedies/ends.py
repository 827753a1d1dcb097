"""Where bins of sorted items end: candidates, and the best of them by dynamic programming."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stochastic.checks import whole
from stochastic.errors import LawError
from stochastic.remedies.means import REACH, STEP, log_nodes
from stochastic.work.stickiness import runs

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["MOST", "best_ends", "ends_of"]

_NOTHING = 1e-18  # a share of groups that is left out
#: Pairs of (place where a bin may begin, later value) that are looked at, by what is made small:
#: some seconds.
MOST = {"slowdown": 2e8, "loss": 2e7}


def ends_of(
    values: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    places: int | None,
    objective: str,
) -> npt.NDArray[np.int64]:
    """After how many values a bin may end, from 0 to all."""
    count = len(values)
    if places is None:
        ends = np.arange(count + 1)
    else:
        half = whole("places", places, least=2, example=1000) // 2
        steps = np.arange(1, half + 1) / (half + 1)
        shares = (np.cumsum(weights), np.cumsum(weights * values))
        near = [1 + np.searchsorted(share, steps * share[-1]) for share in shares]
        ends = np.unique(np.minimum(np.concatenate([[0, count], *near]), count))
    if len(ends) / 2 * count > MOST[objective]:
        fit = int(2 * MOST[objective] / count) - 2
        way = f"give places={min(fit, 1000)} to look at so many of them, or " if fit >= 2 else ""
        raise LawError(
            f"the {len(ends) - 1:,} places where a bin of {count:,} values may end are too many to "
            f"look at them all: {way}count the work in larger units"
        )
    return ends


def best_ends(
    values: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    ends: npt.NDArray[np.int64],
    lanes: int,
    bins: int,
    objective: str,
    rho: float,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The least cost of the values up to each end in exactly b bins; where the last bin begins."""
    from stochastic.kernels.binning import best_for_loss, best_for_slowdown

    real = values.astype(np.float64)
    best = np.full((len(ends), bins + 1), np.inf)
    begin = np.zeros((len(ends), bins + 1), dtype=np.int64)
    best[0, 0] = 0.0
    if objective == "slowdown" or len(values) == 1:
        count = np.arange(1.0, lanes + 1.0) if rho else np.array([float(lanes)])
        shares = runs(lanes, rho) if rho else np.ones(1)
        held = shares > _NOTHING
        count, shares = count[held], shares[held]
        room = np.empty(len(count))
        best_for_slowdown(real, weights, count, shares, bins, ends, room, best, begin)
        return best, begin
    nodes = log_nodes(real[real > 0][0], real[-1], lanes)
    starts = real[ends[:-1]]
    with np.errstate(divide="ignore"):
        beyond = (REACH + np.log(real[-1] / starts)) / (lanes * starts)
    used = np.where(starts > 0, np.searchsorted(nodes, beyond) + 1, len(nodes))
    used = np.minimum(used, len(nodes))
    decay = np.exp(-real.reshape(-1, 1) * nodes)
    room = np.empty((5, len(nodes)))
    best_for_loss(real, weights, lanes, bins, ends, nodes, used, STEP, decay, room, best, begin)
    return best, begin
