"""List the points at which a table equation failed, and the reasons.

At these points, outputs that depend on the equation are NaN (-1 for a case or bound).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from stochastic import sizes
from sweeps.grid.grid import FEASIBLE, Grid, ravel
from symbolic.ops import references


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Configurations that could not be computed, the reason, and their ``tile`` in a store."""

    configurations: str
    points: int
    reason: str
    tile: str = ""

    def __str__(self) -> str:
        return f"{self.configurations}: {self.reason}"


def reason_of(error: BaseException) -> str:
    """Return an error as one line of text.

    >>> reason_of(ZeroDivisionError("division by zero")), reason_of(MemoryError())
    ('ZeroDivisionError: division by zero', 'MemoryError')
    """
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def failures_of(grid: Grid, outputs: Sequence[str]) -> tuple[Failure, ...]:
    """Return the failures of some outputs over the whole grid."""
    if not _has_failures(grid):
        return ()
    dims = grid.sort_axes({axis for name in outputs for axis in grid.dims(name)})
    result: list[Failure] = []
    for at, _ in grid.keys(dims):
        low = [at.get(axis, 0) for axis in dims]
        high = [at[axis] + 1 if axis in at else grid.axes[axis].size for axis in dims]
        result += failures_in(grid, outputs, dims, low, high)
    return tuple(result)


def failures_in(
    grid: Grid,
    outputs: Sequence[str],
    dims: Sequence[str],
    low: Sequence[int],
    high: Sequence[int],
    tile: str = "",
) -> list[Failure]:
    """Return the failures of outputs in a box over ``dims``, with one label per switch axis."""
    if not _has_failures(grid):
        return []
    box = {axis: slice(a, b) for axis, a, b in zip(dims, low, high, strict=True)}
    switches = {axis: box[axis].start for axis in grid.switch_axes if axis in box}
    key = grid.switch_labels(switches)
    graph = grid.graphs[key]
    flat = [graph.flat(n) for n in outputs if n != FEASIBLE and n in graph.definitions]
    failed = (grid.leaves[key][name] for name in references(*flat))
    failed = (leaf for leaf in failed if leaf.failures and set(leaf.axes) <= set(dims))
    leaves = [leaf.slice_axes(box) for leaf in failed]
    if not leaves:
        return []
    axes = grid.sort_axes({axis for leaf in leaves for axis in leaf.axes})
    bad = np.zeros([box[axis].stop - box[axis].start for axis in axes], dtype=bool)
    for leaf in leaves:
        mask = np.zeros(leaf.array.shape, dtype=bool)
        mask.reshape(-1)[list(leaf.failures)] = True
        bad |= replace(leaf, array=mask).align_to(axes)
    each = math.prod(part.stop - part.start for axis, part in box.items() if axis not in axes)
    places = np.argwhere(bad)
    result = []
    for place in places[: sizes.FAILED_LISTED].tolist():
        here = dict(zip(axes, place, strict=True))
        numbers = (int(ravel([here[a] for a in leaf.axes], leaf.array.shape)) for leaf in leaves)
        reasons = [leaf.failures.get(number) for leaf, number in zip(leaves, numbers, strict=True)]
        point = {**switches, **{axis: k + box[axis].start for axis, k in here.items()}}
        result.append(
            Failure(
                configurations=grid.describe({axis: point[axis] for axis in grid.sort_axes(point)})
                or "all configurations",
                points=each,
                reason=next(filter(None, reasons)),
                tile=tile,
            )
        )
    rest = len(places) - len(result)
    if rest:
        more = f"and {rest:,} configurations more"
        reason = result[-1].reason
        result.append(Failure(configurations=more, points=rest * each, reason=reason, tile=tile))
    return result


def _has_failures(grid: Grid) -> bool:
    if "failing" not in grid.cache:
        all_leaves = itertools.chain.from_iterable(v.values() for v in grid.leaves.values())
        grid.cache["failing"] = any(leaf.failures for leaf in all_leaves)
    return bool(grid.cache["failing"])
