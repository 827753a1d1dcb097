"""The rows of one case of a fit: those that count, as inputs and measured values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.fitting.columns import Floats
from dse.fitting.rows import Rows
from dse.inputs import Parts
from sweeps.grid.build import build_grid
from sweeps.grid.goals import texts_of
from sweeps.grid.grid import Grid
from sweeps.grid.leaf import Leaf
from symbolic.errors import DseError
from symbolic.model import Model
from symbolic.ops import references

Values = Mapping[str, float | Floats]


class NoRowError(DseError):
    """Conditions that no row satisfies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A model with values, to be joined with rows and with values of what is free."""

    model: Model
    parts: Parts
    to: tuple[str, ...]
    free: tuple[str, ...]

    def grid(self, rows: Rows, free: Values, where: Sequence[str] = ()) -> Grid:
        """The measured quantities as the model yields them on the rows.

        ``free`` gives what is fitted a value, or one for each row.
        """
        axis = rows.axis
        values = {
            name: Leaf(axes=(axis.name,), array=value) if isinstance(value, np.ndarray) else value
            for name, value in free.items()
        }
        leaves = {name: Leaf(axes=(axis.name,), array=array) for name, array in rows.inputs.items()}
        known = [name for over in self.parts.axes for name in over.labels]
        which = [known.index(name) for name in rows.workloads]
        tables = {
            over: {name: [column[place] for place in which] for name, column in supplied.items()}
            for over, supplied in self.parts.tables.items()
        }
        return build_grid(
            self.model,
            axes=[axis],
            values={**self.parts.values, **leaves, **values},
            labels=self.parts.labels,
            switches=self.parts.switches,
            tables=tables,
            outputs=self.to,
            constraints=where,
            refused=self.parts.refused,
        )


def chosen(case: Case, rows: Rows, values: Values, where: Any) -> Rows:
    """The rows that satisfy conditions on inputs; an error where something of them is missing."""
    texts = texts_of(where, "where")
    if texts:
        rows = rows.kept(_satisfying(case, case.grid(rows, values, texts)))
        if not len(rows.places):
            raise NoRowError(f"no row satisfies {' and '.join(texts)}: relax the conditions")
    for name, array in {**rows.inputs, **rows.measured}.items():
        missing = rows.places[~np.isfinite(array)]
        if missing.size:
            more = f" and at {missing.size - 1} more" if missing.size > 1 else ""
            endless = np.isinf(array[~np.isfinite(array)][0])
            held = "an infinite value, which nobody measures," if endless else "no number"
            raise DseError(
                f"the column {name} holds {held} at row {missing[0]}{more}: leave such rows out "
                "(of a DataFrame: data.dropna())"
            )
        case.model.quantity(name).check(array, "a column of the data")
    return rows


def _satisfying(case: Case, grid: Grid) -> NDArray[np.bool_]:
    kept = np.ones(next(iter(grid.axes.values())).size, dtype=bool)
    for condition in grid.conditions:
        if condition.is_rule:
            continue
        node = grid.graph.flat_condition(condition)
        on = [name for name in references(node) if name in case.free]
        if on:
            raise DseError(
                f"where {condition.text!r} depends on {', '.join(on)}, which is fitted: choose "
                "rows by inputs, and by what follows from them alone"
            )
        kept &= np.asarray(grid.evaluate([node], (), tuple(grid.axes))[0], dtype=bool)
    return kept
