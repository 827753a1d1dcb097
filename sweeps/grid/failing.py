"""Points at which an equation failed: no value there, and the reason kept with the place.

Only table equations are somebody's code at each point, so only they can fail at some of them. What
needs their value is NaN there (a case or bound -1), and never the best.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.grid.flat_index import ravel
from sweeps.grid.grid import FEASIBLE, Grid, Leaf
from symbolic.ops import references

#: So many configurations of a tile are told one by one.
_MOST = sizes.FAILED_LISTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Configurations that could not be computed, and why; ``tile`` is that of a store."""

    configurations: str
    points: int
    reason: str
    tile: str = ""

    def __str__(self) -> str:
        return f"{self.configurations}: {self.reason}"


def reason_of(error: BaseException) -> str:
    """An error in one line.

    >>> reason_of(ZeroDivisionError("division by zero")), reason_of(MemoryError())
    ('ZeroDivisionError: division by zero', 'MemoryError')
    """
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def failures_of(grid: Grid, outputs: Sequence[str]) -> tuple[Failure, ...]:
    """What of some outputs over the whole grid could not be computed."""
    if not _any(grid):
        return ()
    dims = grid.ordered({axis for name in outputs for axis in grid.dims(name)})
    found: list[Failure] = []
    for at, _ in grid.keys(dims):
        low = [at.get(axis, 0) for axis in dims]
        high = [at[axis] + 1 if axis in at else grid.axes[axis].size for axis in dims]
        found += failures_in(grid, outputs, dims, low, high)
    return tuple(found)


def failures_in(
    grid: Grid,
    outputs: Sequence[str],
    dims: Sequence[str],
    low: Sequence[int],
    high: Sequence[int],
    tile: str = "",
) -> list[Failure]:
    """What of some outputs within a box of their axes, of one label of each switch, failed."""
    if not _any(grid):
        return []
    box = {axis: (a, b) for axis, a, b in zip(dims, low, high, strict=True)}
    labels = (grid.axes[axis].labels[box.get(axis, (0, 1))[0]] for axis in grid.switch_axes)
    key = tuple(labels)
    leaves = [leaf for leaf in _failed(grid, key, outputs) if set(leaf.axes) <= set(dims)]
    if not leaves:
        return []
    axes = grid.ordered({axis for leaf in leaves for axis in leaf.axes})
    ranges = [box[axis] for axis in axes]
    bad = np.zeros([b - a for a, b in ranges], dtype=bool)
    for leaf in leaves:
        bad |= _mask(grid, leaf, axes)[
            tuple(_cut(leaf, axis, r) for axis, r in zip(axes, ranges, strict=True))
        ]
    each = math.prod(b - a for axis, (a, b) in box.items() if axis not in axes)
    places = np.argwhere(bad)
    switches = {axis: box[axis][0] for axis in grid.switch_axes if axis in box}
    found = []
    for place in places[:_MOST].tolist():
        point = {axis: k + a for axis, k, (a, _) in zip(axes, place, ranges, strict=True)}
        at = grid.ordered({*point, *switches})
        found.append(
            Failure(
                configurations=grid.describe({axis: ({**switches, **point})[axis] for axis in at})
                or "all configurations",
                points=each,
                reason=next(_reasons(leaves, point)),
                tile=tile,
            )
        )
    rest = len(places) - len(found)
    if rest:
        more = f"and {rest:,} configurations more"
        reason = found[-1].reason
        found.append(Failure(configurations=more, points=rest * each, reason=reason, tile=tile))
    return found


def _any(grid: Grid) -> bool:
    if "failing" not in grid.kept:
        all_leaves = itertools.chain.from_iterable(v.values() for v in grid.leaves.values())
        grid.kept["failing"] = any(leaf.failed for leaf in all_leaves)
    return bool(grid.kept["failing"])


def _failed(grid: Grid, key: tuple[str, ...], outputs: Sequence[str]) -> list[Leaf]:
    graph, leaves = grid.graphs[key], grid.leaves[key]
    flat = [graph.flat(n) for n in outputs if n != FEASIBLE and n in graph.definitions]
    return [leaves[name] for name in references(*flat) if leaves[name].failed] if flat else []


def _mask(grid: Grid, leaf: Leaf, axes: Sequence[str]) -> NDArray[np.bool_]:
    """Where a leaf failed, shaped for broadcasting over some axes."""
    known = ("failed", id(leaf))
    if known not in grid.kept:
        mask = np.zeros(leaf.array.shape, dtype=bool)
        mask.reshape(-1)[list(leaf.failed)] = True
        grid.kept[known] = mask
    sizes = dict(zip(leaf.axes, leaf.array.shape, strict=True))
    found: NDArray[np.bool_] = grid.kept[known].reshape([sizes.get(axis, 1) for axis in axes])
    return found


def _cut(leaf: Leaf, axis: str, bounds: tuple[int, int]) -> slice:
    return slice(*bounds) if axis in leaf.axes else slice(None)


def _reasons(leaves: Sequence[Leaf], point: Mapping[str, int]) -> Iterator[str]:
    for leaf in leaves:
        index = tuple(point[axis] for axis in leaf.axes)
        flat = int(ravel(index, leaf.array.shape))
        if flat in leaf.failed:
            yield leaf.failed[flat]
