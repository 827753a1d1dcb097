"""Statistics of a formula over a grid: its values some points at a time, none of which is kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.awaited import Folding
from sweeps.nest.errors import Sample, error_of
from sweeps.nest.reach import reach_of
from sweeps.nest.rows import BLOCK, over_rows
from sweeps.nest.summing import MEAN, MOMENTS, extreme, moments, tails, weighted_tails
from sweeps.runtime.memory import check_memory
from sweeps.runtime.threads import workers
from symbolic.node import Node
from symbolic.primitives import elementary
from symbolic.statistic import Statistic

__all__ = ["summarized", "summary"]

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
    reaches = {folding.root: reach_of(folding) for folding in foldings}

    def sample_at(root: Node, start: int) -> Sample:
        return Sample(
            draws=first.draws,
            replicates=first.replicates,
            weights=weights,
            reach=lambda rows, whole: reaches[root](start + rows, whole),
        )

    def tell(values: list[Floats], start: int) -> None:
        for root, rows in zip(roots, values, strict=True):
            own = [(name, about) for name, about, of in names if of is root]
            kinds = [about.kind for _, about in own]
            several = weights is None and kinds.count("quantile") > 1
            ordered = np.sort(rows, axis=1) if several else None
            for name, about in own:
                out = found[name][start : start + len(rows)]
                if about.kind == "error":
                    inner = about.argument.args[0].statistic
                    out[...] = error_of(inner, rows, sample_at(root, start))
                else:
                    summary(about, rows, weights, out, ordered)

    over_rows(grid, (), roots, rest, along, tell)
    return {name: array.reshape(shape) for name, array in found.items()}


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
        moments(elementary.log(values), own, MEAN, out)
        out[...] = elementary.exp(out)
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
