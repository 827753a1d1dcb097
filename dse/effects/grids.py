"""Values of a formula anywhere on a study's grid, in blocks: by NumPy, or by a compiled nest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.grid.at import part_of
from sweeps.grid.goals import Goal, dims_of, objective_node
from sweeps.grid.grid import Grid
from sweeps.nest.run import prepare

Floats = NDArray[np.float64]
#: Points from which on a nest is worth its compilation; its blocks keep no steps between.
COMPILED, _LARGE, _SMALL = sizes.EFFECTS_COMPILED, sizes.EFFECTS_LARGE, sizes.EFFECTS_SMALL


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """A grid, of which formulas are evaluated block by block."""

    grid: Grid
    _kept: dict[tuple[str, ...], Grid] = field(default_factory=dict)

    @property
    def limit(self) -> int:
        """Points of a block."""
        return _LARGE if self.grid.points >= COMPILED else _SMALL

    def dims(self, text: str) -> tuple[str, ...]:
        """The axes on which a formula, or feasibility, depends."""
        return self.grid.ordered(dims_of(self.grid, [Goal(text=text, sign=1.0)]))

    def block(self, text: str, bounds: Mapping[str, slice]) -> Floats:
        """The values within a slice of each axis; infinite where a point does not count."""
        grid, goal = part_of(self.grid, bounds), Goal(text=text, sign=1.0)
        dims = tuple(bounds)
        plain, full = grid.plain(dims), np.empty(grid.shape(dims))
        compiled = math.prod(grid.shape(plain)) > _SMALL
        compiled &= math.prod(self.grid.shape(dims)) >= COMPILED
        for key, piece in grid.pieces(full, dims):
            if compiled:
                piece[...] = self._by_nest(goal, key, {dim: bounds[dim] for dim in plain})
            else:
                node = objective_node(self.grid, key, goal)
                piece[...] = grid.evaluate([node], key, plain)[0]
        return full

    def _by_nest(self, goal: Goal, key: tuple[str, ...], bounds: Mapping[str, slice]) -> Floats:
        """As above, the axes that are cut outermost, so that the block is one piece of memory."""
        sizes = {dim: part.stop - part.start for dim, part in bounds.items()}
        cut = [dim for dim in bounds if sizes[dim] < self.grid.axes[dim].size]
        known = (order for order in self._kept if {*order[: len(cut)]} == {*cut})
        if any(sizes[dim] > 1 for dim in cut) or (order := next(known, None)) is None:
            cut.sort(key=lambda dim: sizes[dim])  # the one with several values innermost
            order = (*cut, *(dim for dim in bounds if dim not in cut))
        grid = self._in_order(order)
        ready = prepare(grid, key, order, [(objective_node(grid, key, goal), "float")])
        outer = len(ready.sizes) - 1
        row = order[outer:]
        low = 0
        for dim in row:
            low = low * grid.axes[dim].size + bounds[dim].start
        ends = [(bounds[dim].start, bounds[dim].stop) for dim in order[:outer]]
        ends.append((low, low + math.prod(sizes[dim] for dim in row)))
        origin = 0
        for dim in order:
            origin = origin * grid.axes[dim].size + bounds[dim].start
        found = np.empty(math.prod(sizes.values()))
        ready.run(np.array(ends, dtype=np.int64).reshape(-1), origin, found)
        shaped = found.reshape([sizes[dim] for dim in order])
        return shaped.transpose([order.index(dim) for dim in bounds])

    def _in_order(self, order: Sequence[str]) -> Grid:
        """The grid with some axes in another order, before all others."""
        key = tuple(order)
        if key not in self._kept:
            names = (*order, *(axis for axis in self.grid.axes if axis not in order))
            leaves = {
                labels: {
                    name: replace(leaf.ordered(names), failed=leaf.failed)
                    for name, leaf in known.items()
                }
                for labels, known in self.grid.leaves.items()
            }
            axes = {name: self.grid.axes[name] for name in names}
            self._kept[key] = replace(self.grid, axes=axes, leaves=leaves, _dims={}, kept={})
        return self._kept[key]
