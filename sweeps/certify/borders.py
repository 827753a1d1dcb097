"""From every point of a grid, find the nearest values of one quantity where the case changes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.problem import Floats, Leaves, Places, Roots
from sweeps.grid.grid import Grid, unravel
from symbolic.crossings import Crossings, border_positions, find_crossings
from symbolic.ops import Node, interpret_arrays, references
from symbolic.quantities import Domain

#: Value of ``case_beyond`` where there is no border.
NO_BORDER = -2
BLOCK_POINTS = sizes.BORDERS_TOGETHER
#: A quantity that is not an axis is varied from value / 2**OCTAVES to value * 2**OCTAVES.
OCTAVES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class BorderQuantity:
    """A quantity whose borders are sought, between ``ends`` or over its default range."""

    name: str
    domain: Domain
    ends: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NextBorders:
    """For each point, the next border below it and the next border above it, along one quantity.

    The first axis of each array has two entries: below and above. ``value`` is the quantity at the
    point, and ``border`` is its value at the border (NaN if there is none). ``case_beyond`` is the
    case on the other side of the border. ``undecided_gaps`` is the number of gaps between evaluated
    values in which a border may have been missed.
    """

    value: Floats
    border: Floats
    case_beyond: NDArray[np.int16]
    undecided_gaps: int


def grid_borders(
    grid: Grid, roots: Roots, dims: Sequence[str], quantity: BorderQuantity, places: Places
) -> NextBorders:
    """Return the next borders along one quantity, which is an axis or a leaf of the grid.

    ``roots`` maps switch labels to the expression of the case over the leaves. ``dims`` are the
    axes of the answer. ``places`` has, for each of these axes, the indices at which the search
    starts.
    """
    shape = tuple(len(places[dim]) for dim in dims)
    cells = shape or (1,)
    value, border = np.full(cells, math.nan), np.full((2, *cells), math.nan)
    beyond = np.full((2, *cells), NO_BORDER, dtype=np.int16)
    undecided = 0
    lines_of = [d for d in dims if d != quantity.name]
    for key, cell in _switch_cells(grid, dims, places):
        plain = grid.non_switch_axes(lines_of)
        sizes = [len(places[d]) for d in plain]
        is_axis = quantity.name in dims
        steps = len(places[quantity.name]) if is_axis else 1
        length = grid.axes[quantity.name].size if is_axis else 2 * OCTAVES
        block = max(BLOCK_POINTS // length, 1)
        count = math.prod(sizes)
        for first in range(0, count, block):
            numbers = np.arange(first, min(first + block, count))
            index = unravel(numbers, sizes)
            at = {d: places[d][i] for d, i in zip(plain, index, strict=True)}
            line = grid.leaves[key], roots[key], quantity, at
            if is_axis:
                values = grid.axes[quantity.name].values
                start = np.tile(values[places[quantity.name]], (numbers.size, 1))
                result, exact = _borders_along_axis(*line, values, numbers.size)
            else:
                result, exact, start = _borders_along_input(*line, numbers.size)
            undecided += result.undecided_gaps
            borders, cases = _nearest_borders(result, start, exact)
            spread = {d: i[:, None] for d, i in zip(plain, index, strict=True)}
            spread |= {quantity.name: np.arange(steps)[None, :]}
            target = tuple(cell[d] if d in cell else spread[d] for d in dims) or ([[0]],)
            value[target] = start.reshape(numbers.size, steps)
            for side in (0, 1):
                border[(side, *target)] = borders[side].reshape(numbers.size, steps)
                beyond[(side, *target)] = cases[side].reshape(numbers.size, steps)
    return NextBorders(
        value=value.reshape(shape),
        border=border.reshape(2, *shape),
        case_beyond=beyond.reshape(2, *shape),
        undecided_gaps=undecided,
    )


def _switch_cells(grid: Grid, dims: Sequence[str], places: Places) -> Any:
    for at, key in grid.keys(dims):
        rows = {axis: np.flatnonzero(places[axis] == index) for axis, index in at.items()}
        if all(row.size for row in rows.values()):
            yield key, {axis: row[:1, None] for axis, row in rows.items()}


def _other_leaf_values(leaves: Leaves, root: Node, indices: Places, name: str) -> dict[str, Any]:
    result = {}
    for used in references(root):
        leaf = leaves[used]
        if used != name:
            result[used] = leaf.array[tuple(indices[axis] for axis in leaf.axes)]
    return result


def _borders_along_axis(
    leaves: Leaves,
    root: Node,
    quantity: BorderQuantity,
    indices: Places,
    values: Floats,
    count: int,
) -> tuple[Crossings, bool]:
    tables = [n for n in references(root) if n != quantity.name and quantity.name in leaves[n].axes]
    if tables or (quantity.domain.whole and quantity.ends is None):
        return _borders_between_values(leaves, root, quantity.name, values, indices, count), True
    edges = np.unique(np.concatenate([values, quantity.ends or ()]))
    if quantity.ends is not None:
        edges = edges[(edges >= min(quantity.ends)) & (edges <= max(quantity.ends))]
    others = _other_leaf_values(leaves, root, indices, quantity.name)
    lines, whole = np.tile(edges, (count, 1)), quantity.domain.whole
    return find_crossings(root, quantity.name, others, lines, whole=whole), whole


def _borders_between_values(
    leaves: Leaves, root: Node, name: str, values: Floats, indices: Places, count: int
) -> Crossings:
    order = np.argsort(values)
    along = {axis: index[:, None] for axis, index in indices.items()} | {name: order[None, :]}
    known = {
        used: np.atleast_1d(leaves[used].array[tuple(along[axis] for axis in leaves[used].axes)])
        for used in references(root)
    }
    case = np.broadcast_to(interpret_arrays((root,), known)[0], (count, order.size))
    case = np.asarray(case, dtype=float)
    case = np.where(np.isnan(case), -1.0, case)
    line, place = np.nonzero(case[:, 1:] != case[:, :-1])
    low, high = values[order][place], values[order][place + 1]
    return Crossings(line, low, high, case[line, place], case[line, place + 1], 0)


def _borders_along_input(
    leaves: Leaves, root: Node, quantity: BorderQuantity, indices: Places, count: int
) -> tuple[Crossings, bool, Floats]:
    leaf = leaves.get(quantity.name)
    value = math.nan if leaf is None else leaf.array[tuple(indices[axis] for axis in leaf.axes)]
    start = np.asarray(np.broadcast_to(value, (count,)), dtype=float)
    if leaf is None or quantity.name not in references(root):
        none = np.zeros(0)
        return Crossings(np.zeros(0, np.int64), none, none, none, none, 0), True, start[:, None]
    others = _other_leaf_values(leaves, root, indices, quantity.name)
    edges = octave_grid(start, quantity.domain, quantity.ends)
    result = find_crossings(root, quantity.name, others, edges, whole=quantity.domain.whole)
    return result, quantity.domain.whole, start[:, None]


def octave_grid(start: Floats, domain: Domain, ends: tuple[float, float] | None = None) -> Floats:
    """Return values that cover the domain in octaves; borders are sought between these values.

    >>> octave_grid(np.array([4.0]), Domain(low=1, low_open=False, whole=True), (2, 9)).tolist()
    [[2.0, 4.0, 8.0, 9.0]]
    """
    low = np.nextafter(domain.low, math.inf) if domain.low_open else domain.low
    high = np.nextafter(domain.high, -math.inf) if domain.high_open else domain.high
    if ends is not None:
        low, high = max(low, min(ends)), min(high, max(ends))
    base = np.where(start == 0, 1.0, np.abs(start))[:, None]
    away = base * np.exp2(np.arange(-OCTAVES, OCTAVES + 1.0))
    below = -away[:, ::-1] if domain.low < 0 else np.zeros((len(start), 0))
    column = np.ones((len(start), 1))
    known = [0.0, *(end for end in (low, high) if math.isfinite(end))]
    places = np.concatenate([below, away, start[:, None], *(column * at for at in known)], axis=1)
    places = np.rint(places) if domain.whole else places
    endless = ends is None and domain.low == 0 and domain.low_open
    places = np.sort(
        np.clip(places, away[:, :1] if endless else low, np.minimum(high, away[:, -1:])), axis=1
    )
    keep = np.any(places[:, 1:] > places[:, :-1], axis=0)
    return np.asarray(places[:, np.concatenate([[True], keep])])


def _nearest_borders(
    line_crossings: Crossings, start: Floats, exact: bool
) -> tuple[Floats, NDArray[np.int16]]:
    """Return, for each line, the nearest borders below and above ``start``, and the cases there.

    If ``exact``, a border is given as the first possible value beyond the border.
    """
    lines, steps = start.shape
    position = border_positions(line_crossings)
    border = np.full((2, lines, steps), math.nan)
    beyond = np.full((2, lines, steps), NO_BORDER, dtype=np.int16)
    count = line_crossings.line.size
    if not count:
        return border, beyond
    first = np.searchsorted(line_crossings.line, np.arange(lines))
    last = np.searchsorted(line_crossings.line, np.arange(lines), side="right")
    # count the borders below each start value: sort borders and start values together
    line = np.concatenate([line_crossings.line, np.repeat(np.arange(lines), steps)])
    x = np.concatenate([line_crossings.high, start.reshape(-1)])
    is_start = np.arange(x.size) >= count
    order = np.lexsort((is_start, x, line))
    below = np.empty(x.size, dtype=np.int64)
    below[order] = np.cumsum(~is_start[order])
    passed = below[count:].reshape(lines, steps)  # this includes the borders of all previous lines
    for side, place, there, ends, case in (
        (0, passed - 1, passed > first[:, None], line_crossings.low, line_crossings.before),
        (1, passed, passed < last[:, None], line_crossings.high, line_crossings.after),
    ):
        chosen = np.clip(place, 0, count - 1)
        border[side] = np.where(there, (ends if exact else position)[chosen], math.nan)
        beyond[side] = np.where(there, case[chosen], NO_BORDER)
    return border, beyond
