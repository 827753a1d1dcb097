"""The values of formulas along some axes, a row for each point of the others; none is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.enclosures import Enclosures, Numbers
from sweeps.grid.grid import Grid
from sweeps.grid.tiling import Tiling
from sweeps.nest.compile import compiled
from sweeps.nest.emit import row_axes
from sweeps.nest.passes import streamed
from sweeps.nest.run import prepare
from sweeps.runtime.stopping import halt
from sweeps.runtime.threads import in_threads
from symbolic.ops import Node

Floats = NDArray[np.float64]

#: Below this many values no nest is compiled; values that are looked at together.
SMALL, BLOCK = sizes.ROWS_SMALL, sizes.ROWS_BLOCK
#: Along axes with fewer values than these the points make up the rows.
_SHORT = sizes.ROWS_SHORT


def over_rows(
    grid: Grid,
    key: tuple[str, ...],
    roots: Sequence[Node],
    rest: Sequence[str],
    along: Sequence[str],
    tell: Callable[[list[Floats], int], None],
    keep: Callable[[Floats], NDArray[np.bool_]] | None = None,
) -> None:
    """Call ``tell`` with the values of formulas along some axes, for points of the other axes.

    ``tell`` gets the rows of each formula, of shape (points, values along), and the flat index of
    the first of these points; several threads call it. ``keep`` goes with one formula: it is given
    lower bounds of the values of some points, and points for which it is false are left out.
    """
    points, count = math.prod(grid.shape(rest)), math.prod(grid.shape(along))
    if points * count <= SMALL:
        values = grid.evaluate(roots, key, (*rest, *along))
        tell([np.array(each, dtype=np.float64).reshape(points, count) for each in values], 0)
    elif count >= _SHORT:
        _along_rows(grid, key, roots, rest, along, tell, keep)
    else:
        _across_rows(grid, key, roots, rest, along, tell)


def _along_rows(
    grid: Grid,
    key: tuple[str, ...],
    roots: Sequence[Node],
    rest: Sequence[str],
    along: Sequence[str],
    tell: Callable[[list[Floats], int], None],
    keep: Callable[[Floats], NDArray[np.bool_]] | None,
) -> None:
    """The axes of the values are the innermost loops."""
    count = math.prod(grid.shape(along))
    row = row_axes(grid.shape(along))
    ready = prepare(grid, key, (*rest, *along), [(root, "float") for root in roots], row=row)
    compiled(ready.nest)
    sizes = grid.shape(rest) or (1,)
    tiling = Tiling(sizes[:-1], sizes[-1], max(1, BLOCK // count))
    tail = [n for size in ready.sizes[len(rest) :].tolist() for n in (0, size)]

    def work(number: int) -> None:
        halt()
        bounds, first, points = tiling.bounds(number)
        whole = np.array([*bounds[: 2 * len(rest)].tolist(), *tail], dtype=np.int64)
        values = [np.empty(points * count) for _ in roots]
        ready.run(whole, first * count, *values)
        tell([each.reshape(points, count) for each in values], first)

    known = None if keep is None else _Along.of(grid, key, roots, (*rest, *along))
    if not isinstance(known, _Along) or keep is None:
        in_threads(work, tiling.count)
        return
    judge, known.sizes = keep, grid.shape(along)

    def some(numbers: Numbers) -> None:
        for number in numbers.tolist():
            work(number)

    for _ in streamed(tiling, sizes[-1:], known, lambda one, _: judge(one[0].lo), some):
        pass


class _Along(Enclosures):
    """Enclosures over boxes of points, and all that lies along the other axes, of some sizes."""

    sizes: tuple[int, ...]

    def over(self, low: Numbers, high: Numbers) -> list[Any]:
        ends = np.array(self.sizes, dtype=np.int64)[:, None] - 1
        last = np.broadcast_to(ends, (len(ends), low.shape[1]))
        return super().over(np.concatenate([low, 0 * last]), np.concatenate([high, last]))


def _across_rows(
    grid: Grid,
    key: tuple[str, ...],
    roots: Sequence[Node],
    rest: Sequence[str],
    along: Sequence[str],
    tell: Callable[[list[Floats], int], None],
) -> None:
    """The axes of the values are the outermost loops: one pass over the points for each."""
    count = math.prod(grid.shape(along))
    ready = prepare(grid, key, (*along, *rest), [(root, "float") for root in roots])
    compiled(ready.nest)
    outer = [int(n) for n in ready.sizes[len(along) : -1]]
    tiling = Tiling(outer, int(ready.sizes[-1]), max(1, 4 * BLOCK // count))
    total = math.prod(grid.shape(rest))
    heads = list(np.ndindex(*grid.shape(along)))

    def work(number: int) -> None:
        halt()
        bounds, first, points = tiling.bounds(number)
        values = np.empty((len(roots), count, points))
        for place, head in enumerate(heads):
            ends = [n for index in head for n in (index, index + 1)]
            whole = np.array([*ends, *bounds.tolist()], dtype=np.int64)
            ready.run(whole, place * total + first, *values[:, place])
        tell([np.ascontiguousarray(each.T) for each in values], first)

    in_threads(work, tiling.count)
