"""The tiles of a loop nest, those left out of which enclosures tell enough.

An enclosure holds over every point of a tile and whatever rounding a number goes through, so that a
tile in which a condition is *impossible* has no feasible point: it is not looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sweeps.certify.boxes import Extremes
from sweeps.grid import Grid, Leaf
from sweeps.run import in_threads, workers
from sweeps.tiling import Tiling
from symbolic.intervals import Interval, algebra, enclose, number
from symbolic.ops import Node, references, walk

__all__ = ["PIECE", "Enclosures", "Skipped", "batches", "boxes", "streamed"]

#: Points of a tile: what they take stays in the cache of the processor.
PIECE = 1 << 19
#: Fewest tiles for which enclosures are worth their time; most tiles enclosed together.
_WORTH, _BATCH = 32, 1 << 10
#: Pieces of a batch for each thread.
_SHARES = 4

Numbers = NDArray[np.int64]
Result = TypeVar("Result")


@dataclass(slots=True)
class Skipped:
    """What was left out: tiles in which no point can be feasible, or none can matter."""

    tiles: int = 0
    points: int = 0

    def add(self, tiles: int, points: int) -> None:
        """Some more."""
        self.tiles += tiles
        self.points += points

    def attributes(self, weight: int = 1) -> dict[str, int]:
        """For a Dataset; each point stands for ``weight`` configurations."""
        return {"tiles_skipped": self.tiles, "points_skipped": self.points * weight}


def boxes(tiling: Tiling, row: Sequence[int], numbers: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """First and last index along each axis (rows) of some tiles (columns), and their points.

    ``row`` are the sizes of the axes that form the row of the nest; of a tile that cuts it in the
    middle of an axis the box holds a little more than the tile.
    """
    sizes = tiling.sizes
    low = np.zeros((len(sizes), numbers.size), dtype=np.int64)
    high = np.tile(np.array(sizes, dtype=np.int64)[:, None] - 1, numbers.size)
    if tiling.split >= 0:
        rest, cut = np.divmod(numbers, tiling.cuts)
        low[tiling.split] = cut * tiling.step
        high[tiling.split] = np.minimum(low[tiling.split] + tiling.step, sizes[tiling.split]) - 1
        for axis in range(tiling.split - 1, -1, -1):
            rest, low[axis] = np.divmod(rest, sizes[axis])
            high[axis] = low[axis]
    points = np.prod(high - low + 1, axis=0)
    if not row:
        return low[:-1], high[:-1], points
    first, last, same = low[-1], high[-1], np.ones(numbers.size, dtype=bool)
    parts: list[tuple[Numbers, Numbers]] = []
    for place in range(len(row)):
        step = math.prod(row[place + 1 :])
        begin, end = first // step % row[place], last // step % row[place]
        parts.append((np.where(same, begin, 0), np.where(same, end, row[place] - 1)))
        same &= begin == end
    lows, highs = (np.stack([part[k] for part in parts]) for k in (0, 1))
    return np.concatenate([low[:-1], lows]), np.concatenate([high[:-1], highs]), points


class Enclosures:
    """Between which numbers some formulas lie, and where conditions are possible, over boxes."""

    def __init__(
        self, roots: Sequence[Node], leaves: Mapping[str, Leaf], dims: Sequence[str]
    ) -> None:
        self.roots = tuple(roots)
        self.fixed: dict[str, Any] = {}
        self.varied: dict[str, Extremes] = {}
        for name in references(*roots):
            leaf = leaves[name]
            if leaf.axes:
                self.varied[name] = Extremes(leaf, [dims.index(axis) for axis in leaf.axes])
            else:
                self.fixed[name] = number(float(leaf.array))

    @classmethod
    def of(
        cls, grid: Grid, key: tuple[str, ...], roots: Sequence[Node], dims: Sequence[str]
    ) -> Enclosures | None:
        """Those of formulas over a grid; None where a primitive has no enclosure."""
        known = {*algebra(), "constant", "reference"}
        if any(node.op not in known for node in walk(roots)):
            return None
        return cls(roots, grid.leaves[key], dims)

    def over(self, low: Numbers, high: Numbers) -> list[Any]:
        """The enclosure of each formula, for each box (columns)."""
        with np.errstate(all="ignore"):
            here: dict[str, Interval] = {
                name: leaf(list(low), list(high)).range for name, leaf in self.varied.items()
            }
            found = enclose(self.roots, {**self.fixed, **here})
        shape = low.shape[1:]
        return [type(each)(*(np.broadcast_to(part, shape) for part in each)) for each in found]


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
    keep: Callable[[list[Any], Numbers], NDArray[np.bool_]],
    work: Callable[[Numbers], Result],
    skipped: Skipped | None = None,
) -> Iterator[Result]:
    """What ``work`` gives of some tiles at a time, in order, by threads.

    ``keep`` tells by the enclosures over tiles, and their points, which must be looked at; it is
    asked again after each batch, when the results of the one before are known.
    """
    for numbers in batches(tiling.count):
        if enclosures is not None and tiling.count >= _WORTH:
            low, high, points = boxes(tiling, row, numbers)
            kept = keep(enclosures.over(low, high), points)
            if skipped is not None:
                skipped.add(int(np.count_nonzero(~kept)), int(points[~kept].sum()))
            numbers = numbers[kept]
        if numbers.size:
            shares = np.array_split(numbers, min(numbers.size, _SHARES * workers()))
            yield from _each(work, shares)


def _each(work: Callable[[Numbers], Result], shares: list[Numbers]) -> Iterable[Result]:
    return in_threads(lambda place: work(shares[place]), len(shares))
