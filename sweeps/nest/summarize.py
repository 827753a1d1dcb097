"""Statistics of a formula over a grid: its values some points at a time, none of which is kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.awaited import Folding
from sweeps.nest.rows import BLOCK, over_rows
from sweeps.nest.summing import MEAN, MOMENTS, extreme, moments, tails, weighted_tails
from sweeps.runtime.memory import check_memory
from sweeps.runtime.threads import workers
from symbolic.statistic import Statistic

__all__ = ["error_of", "half_width", "summarized", "summary"]

Floats = NDArray[np.float64]

_NONE = np.empty(0)


def summarized(foldings: Sequence[Folding]) -> Mapping[str, Floats]:
    """Return every statistic of some formulas over the same grid, in one pass over their values."""
    first = foldings[0]
    rest, along, weights = first.rest, first.along, first.weights
    grid = first.grid
    if len(foldings) > 1:
        leaves = {n: leaf for one in foldings for n, leaf in one.grid.leaves[()].items()}
        grid = replace(grid, leaves={(): leaves}, _dims={}, kept={})
    roots = list(dict.fromkeys(folding.root for folding in foldings))
    names = [(name, about, f.root) for f in foldings for name, about in f.statistics.items()]
    shape, count = grid.shape(rest), math.prod(grid.shape(along))
    points = math.prod(shape)
    check_memory(
        8 * (points * len(names) + (1 + len(roots)) * workers() * max(count, BLOCK)),
        f"{', '.join(name for name, _, _ in names)} over {points:.4g} points",
        "shorten axes, or leave some out of the study",
    )
    found = {name: np.empty(points) for name, _, _ in names}

    def tell(values: list[Floats], start: int) -> None:
        for root, rows in zip(roots, values, strict=True):
            own = [(name, about) for name, about, of in names if of is root]
            ordered = np.sort(rows, axis=1) if _orders(own) and weights is None else None
            for name, about in own:
                out = found[name][start : start + len(rows)]
                if about.kind == "error":
                    inner = about.argument.args[0].statistic
                    out[...] = error_of(inner, rows, weights, first.replicates, ordered)
                else:
                    summary(about, rows, weights, out, ordered)

    over_rows(grid, (), roots, rest, along, tell)
    return {name: array.reshape(shape) for name, array in found.items()}


def _orders(statistics: Sequence[tuple[str, Statistic]]) -> bool:
    """True if sorting the rows once is less work than what some statistics need otherwise."""
    kinds = [about.kind for _, about in statistics]
    inner = [a.argument.args[0].statistic.kind for _, a in statistics if a.kind == "error"]
    return "quantile" in inner or kinds.count("quantile") > 1


def summary(
    about: Statistic,
    values: Floats,
    weights: Floats | None,
    out: Floats,
    ordered: Floats | None = None,
) -> None:
    """Fill ``out`` with a statistic of each row of values; ``ordered`` are the rows sorted."""
    kind, own = about.kind, _NONE if weights is None else weights
    if kind == "geomean":
        with np.errstate(all="ignore"):
            moments(np.log(values), own, MEAN, out)
            np.exp(out, out=out)
    elif kind in MOMENTS:
        moments(values, own, MOMENTS[kind], out)
    elif kind.startswith(("worst", "best")):
        extreme(values, 1.0 if kind.endswith("high") else -1.0, kind.startswith("best"), out)
    else:
        assert about.level is not None
        sign = -1.0 if kind == "cvar_low" else 1.0
        tail = kind != "quantile"
        if weights is not None:
            order = np.argsort(sign * values, axis=1, kind="stable")
            weighted_tails(values, order, own, sign, float(about.level), tail, out)
            return
        count = values.shape[1]
        rank = max(math.ceil(about.level * count) - 1, 0)
        if ordered is not None and not tail:  # NaN is sorted to the end
            out[...] = np.where(np.isnan(ordered[:, -1]), np.nan, ordered[:, rank])
            return
        rest = float((1 - about.level) * count) if tail else 0.0
        tails(values, sign, rank, float(rank + 1 - about.level * count), rest, out)


def error_of(
    about: Statistic,
    values: Floats,
    weights: Floats | None,
    replicates: int,
    ordered: Floats | None = None,
) -> Floats:
    """Half the width of the interval in which a statistic lies in 95 of 100 cases.

    It is Student's, of the values of the statistic in each of the replicates.
    """
    points, count = values.shape
    if replicates < 2:
        return np.zeros(points)
    size = count // replicates
    if about.kind == "quantile":
        return _of_quantile(about, values, replicates, ordered)
    if about.kind.startswith("cvar"):
        return _of_tail(about, values, replicates)
    each = np.empty(points * replicates)
    own = None if weights is None else weights[:size] * replicates
    summary(about, values.reshape(points * replicates, size), own, each)
    return half_width(each.reshape(points, replicates))


def _of_quantile(
    about: Statistic, values: Floats, replicates: int, ordered: Floats | None
) -> Floats:
    """How far the quantiles are at the ends of the interval of the level (Woodruff 1952).

    A replicate holds too few draws for a quantile of its own; the share of them that does not
    exceed that of all is a mean.
    """
    points, count = values.shape
    level = float(about.level or 0)
    ordered = np.sort(values, axis=1) if ordered is None else ordered
    here = np.empty(points)
    summary(about, values, None, here, ordered)
    below = (values <= here[:, None]).reshape(points, replicates, -1).mean(axis=-1)
    off = np.maximum(half_width(below), 1 / count)
    ends = []
    for at in (level - off, level + off):
        rank = np.clip(np.ceil(at * count).astype(np.int64) - 1, 0, count - 1)
        ends.append(np.take_along_axis(ordered, rank[:, None], axis=1)[:, 0])
    return (ends[1] - ends[0]) / 2


def _of_tail(about: Statistic, values: Floats, replicates: int) -> Floats:
    """From the means of what exceeds the quantile of all draws (Rockafellar and Uryasev 2000).

    A little off the quantile the mean of a tail does not change, so that its own error is enough.
    """
    points, count = values.shape
    level, sign = float(about.level or 0), -1.0 if about.kind == "cvar_low" else 1.0
    rank = max(math.ceil(level * count) - 1, 0)
    signed = sign * values
    quantile = np.partition(signed, rank, axis=1)[:, rank]
    over = np.maximum(signed - quantile[:, None], 0.0).reshape(points, replicates, -1).mean(axis=-1)
    return half_width(over) / (1 - level)


def half_width(each: Floats) -> Floats:
    """Half the width of Student's 95 % interval of a mean, from independent values (last axis)."""
    count = each.shape[-1]
    spread = each.std(axis=-1, ddof=1)
    return np.asarray(_student(count - 1) * spread / math.sqrt(count))


def _student(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's law; that of 16 replicates without SciPy's import."""
    if freedom == 15:
        return 2.131449545559776
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))
