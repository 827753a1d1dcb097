"""Elasticities at one configuration, d log y / d log x, by steps on the graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.grid import Grid
from symbolic.expression import parse
from symbolic.ops import interpret_arrays, references
from symbolic.quantities import Quantity, place_of

Floats = NDArray[np.float64]
#: Steps in the logarithm of an input, and the agreement that tells a slope from a jump or a corner.
_STEP, _FINER, _AGREE = 1e-4, 8, 1e-2
#: The share by which a whole quantity moves, if that is more than one.
_WHOLE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Slopes:
    """Elasticities of outputs (rows) by inputs (columns): ``sides`` are downwards, upwards, both.

    ``values`` are those of the inputs, ``here`` those of the outputs.
    """

    inputs: tuple[str, ...]
    values: Floats
    here: Floats
    sides: Floats


def at_point(grid: Grid, texts: Sequence[str], point: Mapping[str, int]) -> Slopes:
    """Elasticities of formulas by every number on which they depend.

    A whole quantity moves by one or a hundredth, any other by a ten-thousandth. NaN stands where a
    step leaves the domain of the input or breaks a rule, where the output is 0 or changes its sign,
    and where it jumps; that of both sides also where these differ, as at the border of a regime.
    """
    key = tuple(grid.axes[a].labels[point[a]] for a in grid.switch_axes)
    graph, leaves = grid.graphs[key], grid.leaves[key]
    quantities = grid.model.quantities
    roots = [graph.flattened(parse(text, quantities)) for text in texts]
    rules = [graph.flat_condition(c) for c in graph.conditions if c.is_rule]
    base = {}
    for name in references(*roots, *rules):
        array = leaves[name].array
        base[name] = array[tuple(point[a] for a in leaves[name].axes)] if array.ndim else array
    labels = {place_of(axis) for axis in grid.axes}  # which label of an axis
    inputs = tuple(
        name
        for name in references(*roots)
        if name not in labels and name in quantities and not quantities[name].is_label
    )
    steps = [_moves(float(base[name]), quantities[name]) for name in inputs]
    places = [slice(1 + 4 * k, 5 + 4 * k) for k in range(len(inputs))]
    size = 1 + 4 * len(inputs)
    values = {name: np.full(size, float(value)) for name, value in base.items()}
    for name, place, to in zip(inputs, places, steps, strict=True):
        values[name][place] = to
    found = interpret_arrays([*roots, *rules], values)
    allowed = np.ones(size, dtype=bool)
    for rule in found[len(roots) :]:
        allowed &= np.broadcast_to(rule, (size,)).astype(bool)
    for name, place in zip(inputs, places, strict=True):
        allowed[place] &= quantities[name].domain.holds(values[name][place])
    sides, here = np.full((3, len(texts), len(inputs)), np.nan), np.full(len(texts), np.nan)
    for row, result in enumerate(found[: len(roots)]):
        y = np.where(allowed, np.broadcast_to(result, (size,)).astype(np.float64), np.nan)
        here[row] = y[0]
        for k, (name, place) in enumerate(zip(inputs, places, strict=True)):
            x, whole = values[name], quantities[name].domain.whole
            sides[:, row, k] = _slopes(x[0], y[0], x[place], y[place], whole)
    held = np.array([float(base[name]) for name in inputs])
    return Slopes(inputs=inputs, values=held, here=here, sides=sides)


def _moves(value: float, row: Quantity) -> list[float]:
    """Where an input is moved to: far and near below, near and far above."""
    if row.domain.whole:
        step = max(1.0, round(_WHOLE * value))
        return [value - step, value - step, value + step, value + step]
    far, near = math.expm1(_STEP), math.expm1(_STEP / _FINER)
    return [value / (1 + far), value / (1 + near), value * (1 + near), value * (1 + far)]


def _slopes(
    x: float, y: float, moved: Floats, around: Floats, whole: bool
) -> tuple[float, float, float]:
    """Elasticities downwards, upwards and of both."""
    far_down, near_down, near_up, far_up = (
        arc(x, y, to, at) for to, at in zip(moved, around, strict=True)
    )
    if whole:
        if math.isnan(near_down) or math.isnan(near_up):
            return near_down, near_up, near_up if math.isnan(near_down) else near_down
        return near_down, near_up, arc(moved[0], around[0], moved[-1], around[-1])
    down, up = _smooth(far_down, near_down), _smooth(far_up, near_up)
    if math.isnan(down) or math.isnan(up):
        one_side = np.isnan(around[0]) or np.isnan(around[-1])  # at the end of a domain
        return down, up, (up if math.isnan(down) else down) if one_side else math.nan
    if abs(up - down) > _AGREE * (1 + abs(up)):
        return down, up, math.nan
    return down, up, arc(moved[0], around[0], moved[-1], around[-1])


def _smooth(far: float, near: float) -> float:
    """A slope without the first term of the error of its steps; NaN where there is a jump."""
    if not abs(near - far) <= _AGREE * (1 + abs(far)):
        return math.nan
    return (_FINER * near - far) / (_FINER - 1)


def between_neighbours(x: Floats, y: Floats, place: int) -> tuple[float, float, float]:
    """Return elasticities downwards, upwards and of both, between a place and its neighbours."""
    order = np.argsort(x)
    i = int(np.flatnonzero(order == place)[0])
    x, y = x[order], y[order]
    down = arc(x[i], y[i], x[i - 1], y[i - 1]) if i > 0 else math.nan
    up = arc(x[i], y[i], x[i + 1], y[i + 1]) if i + 1 < x.size else math.nan
    if math.isnan(down) or math.isnan(up):
        return down, up, up if math.isnan(down) else down
    return down, up, arc(x[i - 1], y[i - 1], x[i + 1], y[i + 1])


def arc(x: float, y: float, to: float, at: float) -> float:
    """The slope between two points in logarithms; NaN where there is none.

    >>> arc(2, 4, 3, 9)
    2.0
    """
    if not (x > 0 and to > 0 and x != to and y * at > 0) or math.isinf(y) or math.isinf(at):
        return math.nan
    return math.log(at / y) / math.log(to / x)
