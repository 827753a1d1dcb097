"""Answer queries of a table of configurations by brute force in NumPy, one label a time.

Rows stand in axis order; an answer names rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = Mapping[str, Floats]


def labels(table: Rows, per: Sequence[str]) -> list[tuple[float, ...]]:
    """The values that some columns have together, in their order."""
    each = [np.unique(table[name]).tolist() for name in per]
    result: list[tuple[float, ...]] = [()]
    for values in each:
        result = [(*before, value) for before in result for value in values]
    return result


def best(
    goals: Sequence[Floats],
    counted: NDArray[np.bool_],
    *,
    top: int = 1,
    ties: bool = False,
    within: float | None = None,
) -> list[int]:
    """The rows that are best by signed goals in order; all of ties, or of a share, where asked."""
    counted = counted & np.all(np.isfinite(goals), axis=0)
    rows = [int(row) for row in np.flatnonzero(counted)]
    rows.sort(key=lambda row: (*(goal[row] for goal in goals), row))
    if not rows:
        return []
    if within is not None:
        same = [r for r in rows if all(g[r] == g[rows[0]] for g in goals[:-1])]
        least = goals[-1][rows[0]]
        near = [row for row in same if goals[-1][row] <= least + within * abs(least)]
        return near[:top] if top > 1 else near
    if ties and len(rows) > top:
        last = rows[top - 1]
        return [r for r in rows if [g[r] for g in goals] <= [g[last] for g in goals]]
    return rows[:top]


def front(goals: Sequence[Floats], counted: NDArray[np.bool_]) -> list[int]:
    """The rows that no other beats; the first of equal ones."""
    rows = [int(r) for r in np.flatnonzero(counted & np.all(np.isfinite(goals), axis=0))]
    chosen = []
    for row in rows:
        mine = [goal[row] for goal in goals]
        beaten = False
        for other in rows:
            theirs = [goal[other] for goal in goals]
            no_worse = all(a <= b for a, b in zip(theirs, mine, strict=True))
            beaten |= no_worse and (theirs != mine or other < row)
        if not beaten:
            chosen.append(row)
    return chosen


def quantile(values: Floats, q: float) -> float:
    """The least value that at least a share of them does not exceed."""
    ordered = sorted(values.tolist())
    return next(v for n, v in enumerate(ordered, 1) if n >= q * len(ordered))
