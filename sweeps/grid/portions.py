"""Statistics some configurations at a time, so that what is held does not grow with the grid."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from stochastic import sizes
from sweeps.grid.awaited import Awaited
from sweeps.grid.grid import Grid
from sweeps.grid.leaf import Leaf
from symbolic.ops import Node, references

#: Values of a statistic that are held at once.
HELD = sizes.PORTION


def portions(
    grid: Grid, roots: Mapping[tuple[str, ...], Sequence[Node]], kept: Iterable[str] = ()
) -> list[dict[str, slice]]:
    """Parts of a grid in which no statistic below some roots has more values than are held.

    They follow each other along one axis, none of those ``kept``, nor one that a statistic goes
    along. Where there is none, or no need, there is one part: the whole.
    """
    found = [
        leaf
        for key, nodes in roots.items()
        for leaf in _awaited(grid.leaves[key], references(*nodes))
    ]
    waiting = (leaf for leaf in found if not leaf.folding.known)
    largest = max((math.prod(leaf.folding.grid.shape(leaf.axes)) for leaf in waiting), default=0)
    along = {axis for leaf in found for axis in leaf.along}
    axes = {axis for leaf in found for axis in leaf.axes if axis in grid.axes}
    free = axes - along - set(kept) - set(grid.switch_axes)
    if largest <= HELD or not free:
        return [{}]
    axis = max(grid.ordered(free), key=lambda name: grid.axes[name].size)
    size = grid.axes[axis].size
    step = max(1, size * HELD // largest)
    return [{axis: slice(low, min(low + step, size))} for low in range(0, size, step)]


def _awaited(leaves: Mapping[str, Leaf], names: Iterable[str]) -> Iterator[Awaited]:
    """The statistics among some leaves, and those within these."""
    for name in names:
        leaf = leaves[name]
        if isinstance(leaf, Awaited):
            yield leaf
            inner: Mapping[str, Leaf] = leaf.folding.grid.leaves[()]
            yield from _awaited(inner, references(leaf.folding.root))
