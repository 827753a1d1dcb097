"""What rows must hold for a fit: dependence, rules, sizes, and as many values as are free."""

from __future__ import annotations

import numpy as np

from dse.fitting.cases import Case
from dse.fitting.columns import Floats
from dse.fitting.coordinates import Coordinate
from dse.fitting.rows import Rows
from sweeps.grid.grid import Grid
from symbolic.errors import DseError, GraphError, InfeasibleError
from symbolic.ops import references

#: The sizes that measured values may have.
SMALLEST, LARGEST = 1e-100, 1e100


class FewRowsError(DseError):
    """Rows that do not determine what is free."""


def check_rows(case: Case, rows: Rows, grid: Grid) -> None:
    """Raise where nothing measured depends on something free, or a row breaks a rule anyway."""
    used = set(references(*(grid.graph.flat(name) for name in case.to)))
    behind = grid.graph.ancestors(case.to)
    for name in case.free:
        if name in behind and name not in used:
            raise GraphError(
                f"{name} feeds a table equation, which is evaluated once and not while a fit "
                "searches: fit with each of several values (set=), or leave it out of free"
            )
        if name not in used:
            cut = [column for column in rows.inputs if case.model.variants(column)]
            given = f" ({', '.join(cut)}, which it yields, come from the data)" if cut else ""
            raise GraphError(
                f"{', '.join(case.to)} of {case.model.name}{given} does not depend on {name}: take "
                "it out of free, or leave columns out with columns="
            )
    for condition in grid.conditions:
        node = grid.graph.flat_condition(condition)
        if any(name in case.free for name in references(node)):
            continue
        broken = ~np.asarray(grid.evaluate([node], (), tuple(grid.axes))[0], dtype=bool)
        if broken.any():
            raise InfeasibleError(
                f"row {rows.places[broken][0]} breaks the rule {condition.text!r}, as do "
                f"{int(broken.sum())} of {broken.size} rows in all: leave them out with "
                f"where={condition.text!r}, or change the values"
            )


def check_size(case: Case, rows: Rows, measured: Floats) -> None:
    """Raise where a measured value is so small or large that no computation with it is safe."""
    size = np.abs(measured)
    wrong = np.argwhere(((size < SMALLEST) & (size > 0)) | (size > LARGEST))
    if len(wrong):
        what, place = wrong[0]
        name = case.to[what]
        raise DseError(
            f"{name} is {measured[what, place]:g} {case.model.quantity(name).unit} at row "
            f"{rows.places[place]}: a fit takes sizes from {SMALLEST:g} to {LARGEST:g}, and 0; "
            f"check the unit of the column, as in '{name} [{case.model.quantity(name).unit}]'"
        )


def check_enough(case: Case, rows: Rows, free: tuple[Coordinate, ...]) -> None:
    """Raise where there are fewer measured values than free ones, in all or for a label."""
    each = len(case.to)
    counted = "rows" if each == 1 else "measured values"
    for label in (*filter(None, rows.known_labels), ""):
        of = f" of {label}" if label else ""
        have = each * int(np.count_nonzero(rows.labels == label) if label else len(rows.places))
        asked = [c for c in free if not label or c.label == label]
        if have < len(asked):
            raise FewRowsError(
                f"{have} {counted}{of} for {len(asked)} free values: give at least as many, or set "
                f"some of {', '.join(dict.fromkeys(c.name for c in asked))}"
            )
