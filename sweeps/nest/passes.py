"""Going over the tiles of a loop nest, those left out of which enclosures tell enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from stochastic.threads import workers
from sweeps.bounds.problem import Enclosures, Numbers, boxes
from sweeps.grid.grid import Grid, Tiling
from sweeps.nest.emit import compiled, row_axes
from sweeps.nest.run import prepare
from sweeps.runtime.loop import in_turn
from sweeps.runtime.memory import in_threads
from sweeps.runtime.stopping import halt, stopped
from symbolic.ops import Node

#: Below this many points no nest is compiled; points of a tile: what they take stays in the cache
#: of the processor.
SMALL, PIECE = sizes.PASS_SMALL, sizes.PASS_PIECE
#: Fewest tiles for which enclosures are worth their time; most tiles enclosed together.
_WORTH, _BATCH = sizes.PASS_WORTH, sizes.PASS_BATCH
#: Pieces of a batch for each thread.
_SHARES = sizes.PASS_SHARES

Result = TypeVar("Result")
Keep = Callable[[list[Any], Numbers], NDArray[np.bool_]]


@dataclass(slots=True)
class Skipped:
    """What was left out: tiles in which no point can be feasible, or none can matter."""

    tiles: int = 0
    points: int = 0
    #: Points that an interrupt left.
    left: int = 0

    def leave(self, points: int) -> None:
        """Some that an interrupt left."""
        self.left += points

    def attributes(self, weight: int = 1) -> dict[str, int]:
        """For a Dataset; each point stands for ``weight`` configurations."""
        found = {"tiles_skipped": self.tiles, "points_skipped": self.points * weight}
        return {**found, "points_left": self.left * weight} if self.left else found


def batches(count: int) -> Iterator[Numbers]:
    """The numbers of so many tiles, some at a time: few first, so that these tell of the rest."""
    low, size = 0, 2 * _WORTH
    while low < count:
        yield np.arange(low, min(low + size, count))
        low, size = low + size, min(4 * size, _BATCH)


def streamed(
    tiling: Tiling,
    row: Sequence[int],
    enclosures: Enclosures | None,
    keep: Keep,
    work: Callable[[Numbers], Result],
    skipped: Skipped,
    *,
    partial: bool = False,
) -> Iterator[Result]:
    """What ``work`` gives of some tiles at a time, in order, by threads.

    ``keep`` tells by the enclosures over tiles, and their points, which must be looked at; it is
    asked again after each batch, when the results of the one before are known. An interrupt ends it
    before its end: where the results are those of a ``partial`` answer, ``skipped`` tells what is
    left.
    """
    points_of = math.prod(tiling.sizes)

    def sized() -> Iterator[tuple[Numbers, int]]:
        for numbers in batches(tiling.count):
            last = int(numbers[-1]) + 1
            end = tiling.bounds(last)[1] if last < tiling.count else points_of
            yield numbers, end - tiling.bounds(int(numbers[0]))[1]

    for numbers in in_turn(sized(), points_of, skipped.leave if partial else None):
        if enclosures is not None and tiling.count >= _WORTH:
            low, high, points = boxes(tiling, row, numbers)
            kept = keep(enclosures.over(low, high), points)
            skipped.tiles += int(np.count_nonzero(~kept))
            skipped.points += int(points[~kept].sum())
            numbers = numbers[kept]
        if numbers.size:
            shares = np.array_split(numbers, min(numbers.size, _SHARES * workers()))
            yield from _each(work, shares)


def over_points(
    grid: Grid,
    key: tuple[str, ...],
    dims: Sequence[str],
    formulas: Sequence[Node],
    holds: Node | None,
    make: Callable[[], Result],
    feed: Callable[[Result, NDArray[np.float64], NDArray[np.bool_], int], object],
    keep: Keep | None,
    skipped: Skipped,
    *,
    partial: bool = False,
) -> Iterator[Result]:
    """What is kept of the values of formulas over switch-free axes, some tiles each, in order.

    ``feed`` adds to what ``make`` makes: it is given a row of values for each formula, where a
    condition holds (everywhere without one), and the flat index of the first of these points. The
    bounds that ``keep`` is told are those of the formulas, then of the condition.
    """
    nodes = [*formulas, *([] if holds is None else [holds])]
    count, points = len(formulas), math.prod(grid.shape(dims))
    if points <= SMALL:
        arrays = [array.reshape(-1) for array in grid.evaluate(nodes, key, dims)]
        values = np.array(arrays[:count], dtype=np.float64).reshape(count, points)
        true = np.ones(points, dtype=bool) if holds is None else np.array(arrays[-1], dtype=bool)
        found = make()
        feed(found, values, true, 0)
        yield found
        return
    kinds = [*["float"] * count, "bool"][: len(nodes)]
    ready = prepare(grid, key, dims, list(zip(nodes, kinds, strict=True)))
    compiled(ready.nest)
    tiling = ready.tiling(PIECE if count else 2 * PIECE)  # a truth takes little

    cut: list[int] = []

    def work(numbers: Numbers) -> Result:
        own, most = make(), tiling.bounds(0)[2]
        room, true = np.empty((count, most)), np.ones(most, dtype=bool)
        for number in numbers.tolist():
            bounds, origin, size = tiling.bounds(number)
            if partial and stopped():
                cut.append(size)
                continue
            values = room if size == most else np.empty((count, size))
            ready.run(bounds, origin, *[*values, true[:size]][: len(nodes)])
            feed(own, values, true[:size], origin)
        return own

    known = None if keep is None else Enclosures.of(grid, key, nodes, dims)
    judge = keep or (lambda known, points: np.ones(points.size, dtype=bool))
    yield from streamed(tiling, ready.row, known, judge, work, skipped, partial=partial)
    skipped.leave(sum(cut))


def _each(work: Callable[[Numbers], Result], shares: list[Numbers]) -> list[Result]:
    return in_threads(lambda place: work(shares[place]), len(shares))


# --- The values of formulas along some axes, a row for each point of the others; none is kept


Floats = NDArray[np.float64]

#: Below this many values no nest is compiled; values that are looked at together.
ROWS_SMALL, ROWS_BLOCK = sizes.ROWS_SMALL, sizes.ROWS_BLOCK
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
    if points * count <= ROWS_SMALL:
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
    tiling = Tiling(sizes[:-1], sizes[-1], max(1, ROWS_BLOCK // count))
    tail = [n for size in ready.sizes[len(rest) :].tolist() for n in (0, size)]

    def work(number: int) -> None:
        halt()
        bounds, first, points = tiling.bounds(number)
        whole = np.array([*bounds[: 2 * len(rest)].tolist(), *tail], dtype=np.int64)
        values = [np.empty(points * count) for _ in roots]
        ready.run(whole, first * count, *values)
        tell([each.reshape(points, count) for each in values], first)

    dims = (*rest, *along)
    known = None if keep is None else Enclosures.of(grid, key, roots, dims, grid.shape(along))
    if known is None or keep is None:
        in_threads(work, tiling.count)
        return
    judge = keep

    def some(numbers: Numbers) -> None:
        for number in numbers.tolist():
            work(number)

    def kept(one: list[Any], _: Numbers) -> NDArray[np.bool_]:
        return judge(one[0].lo)

    for _ in streamed(tiling, sizes[-1:], known, kept, some, Skipped()):
        pass


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
    tiling = Tiling(outer, int(ready.sizes[-1]), max(1, 4 * ROWS_BLOCK // count))
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
