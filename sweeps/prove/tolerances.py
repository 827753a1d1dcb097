"""Inputs within ± over a grid: between which values each output lies, and what can be the best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.grid.flat_index import unravel
from sweeps.grid.grid import Grid
from sweeps.grid.leaf import Leaf
from sweeps.prove.ranges import TOGETHER, Spread, least
from symbolic.ops import Node, constant, references, where

__all__ = ["Uncertain", "can_be_best", "extremes", "spread_dims"]

Floats = NDArray[np.float64]

#: Pieces of all configurations, and of one at most.
ALL_PIECES, PIECES = sizes.TOLERANCE_ALL, sizes.TOLERANCE_PIECES


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertain:
    """An input between two ends, over the axes on which its value depends.

    ``low`` and ``high`` are keyed by the labels of the switch axes.
    """

    name: str
    low: Mapping[tuple[str, ...], Leaf]
    high: Mapping[tuple[str, ...], Leaf]
    whole: bool


def spread_dims(grid: Grid, roots: Mapping[tuple[str, ...], Node]) -> tuple[str, ...]:
    """The axes on which nodes over the leaves depend."""
    found: set[str] = set()
    for key, root in roots.items():
        found |= grid.node_dims(root, key)
    if len({id(root) for root in roots.values()}) > 1:
        found |= set(grid.switch_axes)
    return grid.ordered(found)


def extremes(
    grid: Grid,
    roots: Mapping[tuple[str, ...], Node],
    dims: Sequence[str],
    inputs: Sequence[Uncertain],
    rules: Mapping[tuple[str, ...], Node],
    *,
    halved: bool = True,
) -> tuple[Floats, Floats]:
    """The least and the most of a node at each configuration, as far as rules allow the inputs.

    Infinite, the wrong way round, where they allow none. ``halved``: the ends are drawn together
    where that takes pieces.
    """
    found = np.empty((2, *grid.shape(dims)))
    pieces = min(max(ALL_PIECES // max(found.size, 1), 1), PIECES) if halved else 1
    plain = grid.plain(dims)
    count = math.prod(grid.shape(plain))
    for key, piece in grid.pieces(found, dims):
        flat = np.empty((2, count))
        for first in range(0, count, TOGETHER):
            numbers = np.arange(first, min(first + TOGETHER, count))
            for side, sign in enumerate((1.0, -1.0)):
                root = _number(roots[key])
                root = constant(root if side == 0 else -1.0 * root)
                root = constant(where(rules[key], root, math.inf)) if key in rules else root
                spread = _spread(grid, key, root, plain, inputs, numbers)
                flat[side, numbers] = sign * least(spread, pieces=pieces)
        piece[...] = flat.reshape(piece.shape)
    return found[0], found[1]


def _number(root: Node) -> Node:
    return constant(where(root, 1.0, 0.0)) if root.is_boolean else root


def _spread(
    grid: Grid,
    key: tuple[str, ...],
    root: Node,
    plain: Sequence[str],
    inputs: Sequence[Uncertain],
    numbers: Any,
) -> Spread:
    """A node at some configurations, numbered in the order of the axes that are no switches."""
    index = unravel(numbers, grid.shape(plain))
    along = dict(zip(plain, index, strict=True))

    def at(leaf: Leaf) -> Any:
        return np.asarray(leaf.array[tuple(along[axis] for axis in leaf.axes)])

    used = references(root)
    uncertain = {one.name: one for one in inputs if one.name in used}
    leaves = grid.leaves[key]
    return Spread(
        root=root,
        known={name: at(leaves[name]) for name in used if name not in uncertain},
        low={name: at(one.low[key]) for name, one in uncertain.items()},
        high={name: at(one.high[key]) for name, one in uncertain.items()},
        whole=frozenset(name for name, one in uncertain.items() if one.whole),
        count=len(numbers),
    )


def can_be_best(
    grid: Grid,
    roots: Mapping[tuple[str, ...], Node],
    dims: Sequence[str],
    inputs: Sequence[Uncertain],
    held: tuple[Any, Any],
    cells: int,
) -> NDArray[np.bool_]:
    """Which configurations may have the least of a node; see :func:`sweeps.prove.ranges`.

    ``held``: where every condition certainly holds, and where it may, over ``dims``. Where the axes
    hold switches, configurations under different labels are compared by their extremes alone.
    """
    sure, may = held
    low, high = extremes(grid, roots, dims, inputs, {}, halved=False)
    found = may & _unbeaten(low, high, sure)
    if any(dim in grid.switch_axes for dim in dims):
        return np.asarray(found)
    key = next(iter(roots))
    spread = _spread(grid, key, roots[key], dims, inputs, np.arange(found.size))
    kept = _survivors(spread, found.reshape(-1), np.asarray(sure).reshape(-1), cells)
    return np.asarray(kept.reshape(found.shape))


def _survivors(
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
        some = some[_unbeaten(low, high, sure[some])]
        if not names or count >= cells or some.size < 2 or found[some].all():
            found[some] = True
            continue
        widest = max(cell, key=lambda name: cell[name][1] - cell[name][0])
        a, b = cell[widest]
        halves = ((a, (a + b) / 2), ((a + b) / 2, b))
        stack.extend(({**cell, widest: ends}, some, 2 * count) for ends in halves)
    return found


def _unbeaten(low: Any, high: Any, sure: Any) -> NDArray[np.bool_]:
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
