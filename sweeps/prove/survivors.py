"""Which configurations can still be the best where some inputs are known within ±."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeps.prove.ranges import TOGETHER, Spread, least
from symbolic.ops import constant

__all__ = ["survivors", "unbeaten"]

Floats = NDArray[np.float64]


def survivors(
    spread: Spread, allowed: NDArray[np.bool_], sure: NDArray[np.bool_], cells: int
) -> NDArray[np.bool_]:
    """Which configurations may be the least, the uncertain inputs being the same for all of them.

    The space of the inputs, each from its low to its high end, is cut into cells; within one, a
    configuration cannot be the best whose least is above the most of another one.

    Parameters
    ----------
    spread : Spread
    allowed, sure : array of bool
        Which configurations may be feasible, and which are whatever the inputs.
    cells : int
        How many at most.
    """
    found = np.zeros(spread.count, dtype=bool)
    names = spread.moving
    whole = dict.fromkeys(names, (0.0, 1.0))
    stack: list[tuple[dict[str, tuple[float, float]], Any, int]] = [
        (whole, np.flatnonzero(allowed), 1)
    ]
    while stack:
        cell, some, count = stack.pop()
        low, high = _both(spread, cell, some)
        some = some[unbeaten(low, high, sure[some])]
        if not names or count >= cells or some.size < 2 or found[some].all():
            found[some] = True
            continue
        widest = max(cell, key=lambda name: cell[name][1] - cell[name][0])
        a, b = cell[widest]
        halves = ((a, (a + b) / 2), ((a + b) / 2, b))
        stack.extend(({**cell, widest: ends}, some, 2 * count) for ends in halves)
    return found


def unbeaten(low: Any, high: Any, sure: Any) -> NDArray[np.bool_]:
    """Where the least of a configuration is not above the most of another one that is sure.

    An infinite value is never the best, as in an optimum.
    """
    counts = ~((low == math.inf) | (high == -math.inf))
    most = np.nanmin(np.where(sure & counts, high, math.inf), initial=math.inf)
    return np.asarray(counts & ~(low > most))


def _both(spread: Spread, cell: Mapping[str, tuple[float, float]], some: Any) -> Any:
    """The least and the most within a cell of the inputs, without halving."""
    ends = np.empty((2, some.size))
    for first in range(0, some.size, TOGETHER):
        block = slice(first, first + TOGETHER)
        part = _part(spread, cell, some[block])
        ends[0, block] = least(part, pieces=1)
        ends[1, block] = -least(replace(part, root=constant(-1.0 * part.root)), pieces=1)
    return ends


def _part(spread: Spread, cell: Mapping[str, tuple[float, float]], some: Any) -> Spread:
    """Some configurations within a cell of the inputs, of which all numbers count."""
    low, high = spread.ends(some)

    def at(name: str, share: float) -> Floats:
        if share in (0.0, 1.0):
            return high[name] if share else low[name]
        return low[name] + (high[name] - low[name]) * share

    return Spread(
        root=spread.root,
        known={n: (np.asarray(v)[some] if np.ndim(v) else v) for n, v in spread.known.items()},
        low={name: at(name, cell[name][0]) for name in spread.moving},
        high={name: at(name, cell[name][1]) for name in spread.moving},
        whole=frozenset(),
        count=some.size,
    )
