"""Quantities of a study freed of their formulas, so that they can be moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.study.uncertain import without
from sweeps.ask.matrix import refuse_statistic
from sweeps.bounds.expanding import expanded
from sweeps.grid.build import build_grid
from sweeps.grid.grid import Grid
from sweeps.grid.leaf import Leaf
from sweeps.nest.summarize import summarized
from symbolic.errors import DseError
from symbolic.expression import parse_value
from symbolic.statistic import DRAW

if TYPE_CHECKING:
    from dse.study.data import StudyData
    from symbolic.quantities import Quantity


def number(value: Any, row: Quantity) -> float:
    """One value of a quantity: a number, or a text with a unit."""
    found = parse_value(value, row, {}) if isinstance(value, str) else value
    if isinstance(found, bool) or not isinstance(found, (int, float, np.number)):
        raise DseError(f"{row.name} = {value!r}: expected a number, maybe with a unit")
    return float(found)


def opened(
    study: StudyData,
    grid: Grid,
    names: Sequence[str],
    outputs: Sequence[str],
    where: tuple[str, ...],
) -> Grid:
    """The grid with some quantities standing at their values, free of formulas and equations."""
    parts = study._parts
    values = dict(parts.values)
    tables: dict[str, Mapping[str, Any]] = {axis: dict(t) for axis, t in parts.tables.items()}
    pinned = False
    for name in names:
        kinds = {g.definitions[name].kind for g in grid.graphs.values() if name in g.definitions}
        if kinds <= {"given", "default"}:
            continue
        if "table" in kinds:
            raise DseError(f"{name} comes from a table: move what that is made of instead")
        values[name] = _value_of(grid, name)
        tables = {a: {n: c for n, c in t.items() if n != name} for a, t in tables.items()}
        pinned = True
    if not pinned:
        return _movable(grid, names)
    found = build_grid(
        parts.model,
        axes=parts.axes,
        values=values,
        labels=parts.named,
        switches=parts.switches,
        tables=tables,
        outputs=[name for name in dict.fromkeys([*grid.outputs, *outputs]) if name not in names],
        constraints=tuple(dict.fromkeys([*study.where, *where])),
        fold=summarized,
        refused=parts.refused,
    )
    return _movable(without(found, {DRAW}), names)


def _movable(grid: Grid, names: Sequence[str]) -> Grid:
    """A grid in which statistics follow quantities that are moved."""
    whole = expanded(grid, moved=True)
    for graph, leaves in zip(whole.graphs.values(), whole.leaves.values(), strict=True):
        for stat in graph.statistics:
            refuse_statistic(stat if graph.ancestors([stat]) & set(names) else "", "moved")
        for name in names:
            if apart := [n for n in leaves if n.startswith(f"{name} at ")]:
                raise DseError(
                    f"{name} differs along axes over which a statistic goes ({apart[0]}), so that "
                    "it cannot be moved as one: take the statistic out, or these axes"
                )
    return whole


def _value_of(grid: Grid, name: str) -> Leaf:
    """A quantity that an equation or formula yields, over its axes."""
    dims = grid.dims(name)
    array = np.empty(grid.shape(dims))
    for key, piece in grid.pieces(array, dims):
        if name in grid.graphs[key].definitions:
            piece[...] = grid.evaluate([grid.graphs[key].flat(name)], key, grid.plain(dims))[0]
    return Leaf(axes=dims, array=array)
