"""Between which numbers formulas lie over whole tiles, and where conditions are possible.

An enclosure holds over every point of a tile and whatever rounding a number goes through, so that a
tile in which a condition is *impossible* has no point that meets it: it need not be looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeps.bounds.problem import Extremes
from sweeps.grid.grid import FEASIBLE, Grid, Leaf, Tiling
from symbolic.intervals import Interval, algebra, enclose, number
from symbolic.ops import Node, both, constant, references, walk

Numbers = NDArray[np.int64]

#: What stands where a rule is broken, by the kind of the type.
_BLANK = {"f": math.nan, "i": -1, "b": False}


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


class Barred:
    """Where no point keeps the rules: what some outputs hold there is known without a look.

    A constraint of ``where`` only marks points, whose values stay: it bars nothing but ``feasible``
    where that stands alone.
    """

    def __init__(self, grid: Grid, outputs: Sequence[str], dims: Sequence[str]) -> None:
        self.grid, self.dims, self.alone = grid, tuple(dims), tuple(outputs) == (FEASIBLE,)
        self.plain = tuple(grid.plain(dims))
        self._known: dict[tuple[str, ...], Enclosures | None] = {}

    def _rules(self, key: tuple[str, ...]) -> Enclosures | None:
        if key not in self._known:
            grid = self.grid
            rules = [grid.feasible_node(key)] if self.alone else grid.rules(key, self.dims)
            root = [constant(both(*rules))] if rules else []
            self._known[key] = Enclosures.of(grid, key, root, self.plain) if rules else None
        return self._known[key]

    def over(self, key: tuple[str, ...], low: Numbers, high: Numbers) -> NDArray[np.bool_]:
        """Whether no point of some boxes of the switch-free axes keeps the rules."""
        rules = self._rules(key)
        if rules is None:
            return np.zeros(low.shape[1], dtype=bool)
        return np.asarray(np.logical_not(rules.over(low, high)[0].possible))

    @staticmethod
    def blank(array: NDArray[Any]) -> None:
        """What stands there: NaN, -1 or False."""
        array.fill(_BLANK[array.dtype.kind])
