"""Statistics of a formula over a grid: its values some points at a time, none of which is kept."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.awaited import Folding
from sweeps.grid.tiling import Tiling
from sweeps.nest.compile import compiled
from sweeps.nest.emit import row_axes
from sweeps.nest.run import prepare
from sweeps.nest.summing import MOMENTS, extreme, moments, tails, weighted_tails
from sweeps.runtime.memory import check_memory
from sweeps.runtime.stopping import halt
from sweeps.runtime.threads import in_threads, workers
from symbolic.statistic import Statistic

__all__ = ["summarized", "summary"]

Floats = NDArray[np.float64]

#: Below this many values no nest is compiled; values that are looked at together.
SMALL, BLOCK = 1 << 15, 1 << 16
#: Along axes with fewer values than these the points make up the rows.
_SHORT = 32
_NONE = np.empty(0)


def summarized(folding: Folding) -> Mapping[str, Floats]:
    """Every statistic of a formula, over the other axes."""
    grid, rest = folding.grid, folding.rest
    shape, count = grid.shape(rest), math.prod(grid.shape(folding.along))
    points = math.prod(shape)
    check_memory(
        8 * (points * len(folding.statistics) + 2 * workers() * max(count, BLOCK)),
        f"{', '.join(folding.statistics)} over {points:.4g} points",
        "shorten axes, or leave some out of the study",
    )
    found = {name: np.empty(points) for name in folding.statistics}
    weights = folding.weights

    def tell(values: Floats, first: int) -> None:
        for name, about in folding.statistics.items():
            out = found[name][first : first + len(values)]
            if about.kind == "error":
                inner = about.argument.args[0].statistic
                out[...] = _error(inner, values, weights, folding.replicates)
            else:
                summary(about, values, weights, out)

    if points * count <= SMALL:
        dims = (*rest, *folding.along)
        values = grid.evaluate([folding.root], (), dims)[0]
        tell(np.array(values, dtype=np.float64).reshape(points, count), 0)
    elif count >= _SHORT:
        _along_rows(folding, count, tell)
    else:
        _across_rows(folding, count, tell)
    return {name: array.reshape(shape) for name, array in found.items()}


def _along_rows(folding: Folding, count: int, tell: Any) -> None:
    """The axes of the statistic are the innermost loops."""
    grid, rest, along = folding.grid, folding.rest, folding.along
    dims = (*rest, *along)
    row = row_axes(grid.shape(along))
    ready = prepare(grid, (), dims, [(folding.root, "float")], row=row)
    compiled(ready.nest)
    sizes = grid.shape(rest) or (1,)
    tiling = Tiling(sizes[:-1], sizes[-1], max(1, BLOCK // count))
    tail = [n for size in ready.sizes[len(rest) :].tolist() for n in (0, size)]

    def work(number: int) -> None:
        bounds, first, points = tiling.bounds(number)
        whole = np.array([*bounds[: 2 * len(rest)].tolist(), *tail], dtype=np.int64)
        values = np.empty(points * count)
        ready.run(whole, first * count, values)
        tell(values.reshape(points, count), first)

    _in_turn(work, tiling.count)


def _across_rows(folding: Folding, count: int, tell: Any) -> None:
    """The axes of the statistic are the outermost loops: one pass over the points for each."""
    grid, rest, along = folding.grid, folding.rest, folding.along
    ready = prepare(grid, (), (*along, *rest), [(folding.root, "float")])
    compiled(ready.nest)
    outer = [int(n) for n in ready.sizes[len(along) : -1]]
    tiling = Tiling(outer, int(ready.sizes[-1]), max(1, 4 * BLOCK // count))
    total = math.prod(grid.shape(rest))
    heads = list(np.ndindex(*grid.shape(along)))

    def work(number: int) -> None:
        bounds, first, points = tiling.bounds(number)
        values = np.empty((count, points))
        for place, head in enumerate(heads):
            ends = [n for index in head for n in (index, index + 1)]
            whole = np.array([*ends, *bounds.tolist()], dtype=np.int64)
            ready.run(whole, place * total + first, values[place])
        tell(np.ascontiguousarray(values.T), first)

    _in_turn(work, tiling.count)


def _in_turn(work: Any, count: int) -> None:
    def one(number: int) -> None:
        halt()
        work(number)

    in_threads(one, count)


def summary(about: Statistic, values: Floats, weights: Floats | None, out: Floats) -> None:
    """A statistic of each row of values."""
    kind, own = about.kind, _NONE if weights is None else weights
    if kind in MOMENTS:
        moments(values, own, MOMENTS[kind], out)
    elif kind.startswith(("worst", "best")):
        extreme(values, 1.0 if kind.endswith("high") else -1.0, kind.startswith("best"), out)
    else:
        assert about.level is not None
        sign = -1.0 if kind == "cvar_low" else 1.0
        tail = kind != "quantile"
        if weights is not None:
            weighted_tails(values, own, sign, float(about.level), tail, out)
            return
        count = values.shape[1]
        rank = max(math.ceil(about.level * count) - 1, 0)
        rest = float((1 - about.level) * count) if tail else 0.0
        tails(values, sign, rank, float(rank + 1 - about.level * count), rest, out)


def _error(about: Statistic, values: Floats, weights: Floats | None, replicates: int) -> Floats:
    """Half the width of the interval in which a statistic lies in 95 of 100 cases.

    It is Student's, of the values of the statistic in each of the replicates.
    """
    points, count = values.shape
    if replicates < 2:
        return np.zeros(points)
    from scipy.special import stdtrit

    each = np.empty(points * replicates)
    rows = values.reshape(points * replicates, count // replicates)
    own = None if weights is None else weights[: count // replicates] * replicates
    summary(about, rows, own, each)
    spread = each.reshape(points, replicates).std(axis=1, ddof=1)
    return np.asarray(stdtrit(replicates - 1, 0.975) * spread / math.sqrt(replicates))
