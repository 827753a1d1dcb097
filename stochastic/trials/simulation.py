"""Simulate the loss of groups that are drawn from a law, with standard errors.

Simulation checks the exact results independently, and replaces them if they take too long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stochastic import sizes
from stochastic.arrays import Floats
from stochastic.checks import ZERO_WORK, LawError, check_choice, check_integer
from stochastic.labels import Variables, make_dataset, variable
from stochastic.threads import cpu_count
from stochastic.work.pmf import Pmf, check_law

if TYPE_CHECKING:
    import xarray as xr

_CUT = 1e-18  # Tail probability at which an infinite law is truncated.
_CONFIDENCE = 0.95
#: If all losses are equal, P(another loss) <= 1.96 · _UNSEEN_GROUPS / groups (97.5 % confidence).
_UNSEEN_GROUPS = -math.log(0.025) / 1.96
#: Relative standard deviation up to which losses count as equal.
_ROUNDING_SHARE = 1e-12
_IDLE = {"one": 1.0, "zero": 0.0, "drop": math.nan}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _GroupSampler:
    work: Pmf
    lanes: int
    idle: float
    table: npt.NDArray[np.uint64]
    bits: int
    key: int

    @classmethod
    def from_law(cls, pmf: Any, lanes: Any, seed: Any, zero_work: Any) -> _GroupSampler:
        from stochastic.kernels.simulate import alias_table

        pmf = check_law(pmf)
        lanes = check_integer("lanes", lanes, least=1, example=32)
        seed = check_integer("seed", seed, least=0)
        idle = _IDLE[check_choice("zero_work", zero_work, ZERO_WORK)]
        work = pmf.cut(_CUT)
        if zero_work == "drop" and work.high == 0:
            raise LawError(f"{pmf!r} never has any work, and zero_work='drop' drops every group")
        bits = max(1, (len(work.weights) - 1).bit_length())
        key = int(np.random.SeedSequence(seed).generate_state(1, np.uint64).view(np.int64)[0])
        table = alias_table(work.weights, bits)
        return cls(work=work, lanes=lanes, idle=idle, table=table, bits=bits, key=key)

    def losses(self, first: int, count: int) -> Floats:
        from stochastic.kernels.simulate import sample_losses

        alias = self.table, self.bits, self.key
        return sample_losses(first, count, self.lanes, self.work.low, *alias, self.idle)


def losses(pmf: Pmf, lanes: int, size: int, *, seed: int = 0, zero_work: str = "one") -> Floats:
    """Return the losses of the first ``size`` groups that :func:`simulate` draws."""
    size = check_integer("size", size, least=0)
    source = _GroupSampler.from_law(pmf, lanes, seed, zero_work)
    result = source.losses(0, size)
    if zero_work != "drop":
        return result
    first, parts = size, [result[result == result]]
    while (left := size - sum(map(len, parts))) > 0:
        more = source.losses(first, 2 * left + 16)
        first += len(more)
        parts.append(more[more == more][:left])
    return np.concatenate(parts)


def simulate(
    pmf: Pmf,
    lanes: int,
    groups: int = 1_000_000,
    *,
    seed: int = 0,
    zero_work: str = "one",
    quantiles: Sequence[float] = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99),
    bins: int = 60,
    threads: int | None = None,
) -> xr.Dataset:
    """Draw ``groups`` independent groups of ``lanes`` items and estimate their losses.

    Parameters:
        pmf, lanes, zero_work: As in :func:`stochastic.imbalance`. An infinite law is truncated
            where its tail is below 1e-18.
        groups (int): Number of groups to draw.
        seed (int): Seed of the draws; the number of threads does not change them.
        quantiles (sequence of float): Probabilities of the quantiles to compute.
        bins (int): Number of bars of the histogram.
        threads (int, optional): Number of threads; by default all processors that the process may
            use.

    Returns:
        Dataset: ``loss`` (the mean over groups), ``loss_std`` and ``slowdown`` (n·Σmax / Σsum over
        all groups), each with its standard error ``…_error`` (for the slowdown by the delta
        method); ``loss_quantile`` along ``probability``, with order statistics ``…_low`` and
        ``…_high`` that enclose the true quantile with 95 % confidence; a histogram, ``frequency``
        and ``density`` along ``bin``, between ``left`` and ``right``. All are ratios without a
        unit.

    Raises:
        LawError: Lanes, groups or bins are not whole numbers >= 1; or with "drop", no group has
            work.

    Notes:
        Memory does not grow with ``groups``: losses are counted in bins that are narrower than a
        thousandth of the standard deviation. Each bin records its smallest and largest loss. So a
        quantile is exact if no two possible losses fall into the same bin.

    >>> result = simulate(Pmf.uniform(1, 6), lanes=2, groups=100_000)
    >>> abs(float(result["loss"]) - 64877 / 49896) < 5 * float(result["loss_error"])
    True
    """
    groups = check_integer("groups", groups, least=1, example=1_000_000)
    bins = check_integer("bins", bins, least=1, example=60)
    at_once = cpu_count() if threads is None else check_integer("threads", threads, least=1)
    levels = np.array(quantiles, dtype=np.float64, ndmin=1)
    if not np.all((levels >= 0) & (levels <= 1)):
        raise LawError(f"quantiles = {quantiles!r}: expected probabilities from 0 to 1")
    source = _GroupSampler.from_law(pmf, lanes, seed, zero_work)
    pilot = source.losses(0, min(groups, max(sizes.TRIAL_PILOT // source.lanes, 16)))
    pilot = pilot[pilot == pilot]
    centre = float(pilot.mean()) if len(pilot) else 1.0
    spread = float(pilot.std()) if len(pilot) else 1.0
    mean = source.work.mean()
    centres = np.array([centre, centre * mean, source.lanes * mean])
    seen, total = _tally_groups(source, groups, centres, 1.0 / max(spread, 1e-9), at_once)
    if total[0] == 0:
        raise LawError(
            f"none of {groups} groups of {source.lanes} has any work, and zero_work='drop' drops "
            "them: draw more groups, or count them with zero_work='one'"
        )
    bars, work = _histogram(seen, bins), source.work
    level = source.lanes == 1 or work.low == work.high
    reach = 0.0 if level and (work.low > 0 or zero_work != "zero") else float(source.lanes)
    variables = {
        **_moments(total[:5], centre, reach),
        **_ratio(total[5:], centres[1:], groups, source.lanes, 0.0 if level else reach),
        **_sample_quantiles(seen, levels, 0.0 if source.idle == 0.0 else 1.0, float(source.lanes)),
        "frequency": bars["frequency"],
        "density": bars["density"],
    }
    coords = {
        "probability": variable("probability", levels, "probability of a loss up to the quantile"),
        "left": bars["left"],
        "right": bars["right"],
    }
    attrs = {
        "work": repr(pmf),
        "lanes": source.lanes,
        "groups": groups,
        "counted": int(total[0]),
        "seed": int(seed),
        "zero_work": zero_work,
        "missing": source.work.missing,
        "confidence": _CONFIDENCE,
        "method": "Monte Carlo: alias table, SplitMix64 by place",
    }
    return make_dataset(variables, coords, attrs)


def _tally_groups(
    source: _GroupSampler, groups: int, centres: Floats, scale: float, at_once: int
) -> tuple[Floats, Floats]:
    """Return (count, smallest loss, largest loss) of each fine bin, and sums over all groups."""
    from stochastic.kernels.simulate import tally_losses

    block = max(1, sizes.TRIAL_BLOCK // source.lanes)
    blocks = -(-groups // block)
    step = max(1, sizes.TRIAL_TASK // (block * source.lanes))
    sums = np.zeros((blocks, 10))
    reach = max(source.lanes - centres[0], centres[0]) * scale + 2.0
    rows = (int(np.float64(reach).view(np.int64)) >> 39) - (1023 << 13) + 2
    tables: list[Floats] = []
    free: list[Floats] = []

    def work(first: int) -> None:
        try:
            table = free.pop()
        except IndexError:
            table = np.tile([0.0, math.inf, -math.inf], (2 * rows, 1))
            tables.append(table)
        last = min(first + step, blocks)
        low, key, bits, idle = source.work.low, source.key, source.bits, source.idle
        tally_losses(
            *(first, last, block, groups, source.lanes, low, source.table, bits, key, idle),
            *(centres, scale, table, sums),
        )
        free.append(table)

    tasks = range(0, blocks, step)
    if min(at_once, len(tasks)) > 1:
        with ThreadPoolExecutor(min(at_once, len(tasks))) as pool:
            try:
                list(pool.map(work, tasks))
            except BaseException:  # an interrupt cancels tasks that have not begun
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    else:
        for first in tasks:
            work(first)
    seen = tables[0]
    for other in tables[1:]:
        seen[:, 0] += other[:, 0]
        np.minimum(seen[:, 1], other[:, 1], out=seen[:, 1])
        np.maximum(seen[:, 2], other[:, 2], out=seen[:, 2])
    return seen[seen[:, 0] > 0], np.array([math.fsum(column) for column in sums.T])


def _moments(total: Floats, centre: float, reach: float) -> Variables:
    """Return mean and standard deviation with their errors, from sums of powers of loss - centre.

    If all groups have the same loss, other losses have a probability of at most 3.7 / groups (97.5
    % confidence), and differ from this loss by up to ``reach``.
    """
    count = total[0]
    a, b, c, d = total[1:] / count
    var = max(b - a * a, 0.0)
    fourth = d - 4 * a * c + 6 * a * a * b - 3 * a**4
    std = math.sqrt(var * count / (count - 1)) if count > 1 else math.nan
    error, std_error = std / math.sqrt(count), math.sqrt(_UNSEEN_GROUPS / count) * reach
    if std > _ROUNDING_SHARE * max(abs(centre), 1.0):
        std_error = math.sqrt(max(fourth - var * var, 0.0) / count) / (2 * std)
    elif count > 1:
        std, error = 0.0, min(_UNSEEN_GROUPS / count, 1.0) * reach
    return {
        "loss": variable((), centre + a, "mean loss of a group"),
        "loss_error": variable((), error, "standard error of the mean loss"),
        "loss_std": variable((), std, "standard deviation of the loss"),
        "loss_std_error": variable(
            (), std_error if count > 1 else math.nan, "standard error of loss_std"
        ),
    }


def _ratio(total: Floats, centres: Floats, groups: int, lanes: int, reach: float) -> Variables:
    m, s, mm, ms, ss = total / groups
    work = centres[1] + s
    value = lanes * (centres[0] + m) / work if work > 0 else 1.0
    scatter = lanes**2 * (mm - m * m) - 2 * lanes * value * (ms - m * s) + value**2 * (ss - s * s)
    error = math.sqrt(max(scatter, 0.0) / (groups - 1)) / work if groups > 1 and work > 0 else 0.0
    if error <= _ROUNDING_SHARE * value:
        error = min(_UNSEEN_GROUPS / groups, 1.0) * reach
    return {
        "slowdown": variable((), value, "slowdown of the whole workload, n·Σmax / Σsum"),
        "slowdown_error": variable(
            (), error if groups > 1 else math.nan, "standard error of the slowdown"
        ),
    }


def _sample_quantiles(fine_bins: Floats, levels: Floats, least: float, most: float) -> Variables:
    from scipy.special import bdtrik

    upto = np.cumsum(fine_bins[:, 0])
    count = upto[-1]
    tail = (1 - _CONFIDENCE) / 2
    inside = np.clip(levels, 1e-300, 1 - 1e-16)
    below = np.floor(np.nan_to_num(bdtrik(tail, count, inside)))  # a quantile of the binomial law
    above = np.ceil(np.nan_to_num(bdtrik(1 - tail, count, inside))) + 1
    rank = np.ceil(levels * count * (1 - 1e-15))

    def extremes_at(ranks: Floats) -> Floats:
        return fine_bins[np.searchsorted(upto, np.clip(ranks, 1, count)), 1:]

    middle = extremes_at(rank)
    low = np.where(below < 1, least, extremes_at(below)[:, 0])
    high = np.where(above > count, most, extremes_at(above)[:, 1])
    return {
        "loss_quantile": variable(
            "probability", middle[:, 0] + (middle[:, 1] - middle[:, 0]) / 2, "quantile of the loss"
        ),
        "loss_quantile_low": variable(
            "probability", low, "lower limit of the quantile, 95 % confidence"
        ),
        "loss_quantile_high": variable(
            "probability", high, "upper limit of the quantile, 95 % confidence"
        ),
        "loss_smallest": variable((), fine_bins[0, 1], "smallest loss drawn"),
        "loss_largest": variable((), fine_bins[-1, 2], "largest loss drawn"),
    }


def _histogram(fine_bins: Floats, bins: int) -> Variables:
    low, high = fine_bins[0, 1], fine_bins[-1, 2]
    if high == low:
        bins = 1
    edges = np.linspace(low, high, bins + 1)
    which = np.clip(np.searchsorted(edges, fine_bins[:, 1], side="right") - 1, 0, bins - 1)
    count = np.bincount(which, weights=fine_bins[:, 0], minlength=bins)
    np.maximum.at(edges, which + 1, np.nextafter(fine_bins[:, 2], math.inf))
    edges[-1] = high
    width = np.diff(edges)
    share = count / count.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        density = np.where(width > 0, share / width, math.inf)
    return {
        "left": variable("bin", edges[:-1], "left edge of the bar"),
        "right": variable("bin", edges[1:], "right edge of the bar"),
        "frequency": variable("bin", count.astype(np.int64), "groups with a loss in the bar"),
        "density": variable("bin", density, "share of groups divided by the width of the bar"),
    }
