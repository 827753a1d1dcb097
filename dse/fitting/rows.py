"""The rows of a fit: which columns are inputs, which are measured, which rows count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.fitting.columns import Floats, Named, numbers, read_columns, read_table
from dse.fitting.targets import targets_of
from sweeps.grid.space import Axis
from symbolic.errors import DseError
from symbolic.model import Model

#: The dimension along which the rows lie, and that of rows that name their workload.
ROW, WORKLOAD = "row", "workload"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Inputs, measured quantities, weights, labels, places in the data, workloads if told."""

    inputs: Mapping[str, Floats]
    measured: Mapping[str, Floats]
    weights: Floats
    labels: NDArray[np.str_]
    places: NDArray[np.int64]
    workloads: tuple[str, ...] = ()

    def kept(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> Rows:
        """Some of the rows."""
        return Rows(
            inputs={name: array[which] for name, array in self.inputs.items()},
            measured={name: array[which] for name, array in self.measured.items()},
            weights=self.weights[which],
            labels=self.labels[which],
            places=self.places[which],
            workloads=tuple(np.array(self.workloads)[which].tolist()) if self.workloads else (),
        )

    @property
    def axis(self) -> Axis:
        """The rows as the one dimension of a grid: that of their workloads where they name them."""
        name, kind = (WORKLOAD, "label") if self.workloads else (ROW, "index")
        places = self.places.astype(np.float64)
        return Axis(name=name, kind=kind, coordinate=places, values=places, labels=self.workloads)

    @property
    def known_labels(self) -> tuple[str, ...]:
        """The labels, each once, in the order of the rows."""
        return tuple(dict.fromkeys(self.labels.tolist()))

    @property
    def numbered(self) -> NDArray[np.int64]:
        """The label of each row as its place among the labels."""
        number = {label: place for place, label in enumerate(self.known_labels)}
        return np.array([number[label] for label in self.labels.tolist()], dtype=np.int64)


def read_rows(
    data: Any,
    model: Model,
    *,
    to: str | Sequence[str] | None,
    columns: Named,
    weights: Any,
    labels: str | None,
) -> Rows:
    """The columns of a table, told apart; rows of weight 0 are left out."""
    table = read_table(data)
    column = table.find(weights)[0] if isinstance(weights, str) else None
    labelled = None if labels is None else table.find(labels)[0]
    named = WORKLOAD in table.columns and labelled != WORKLOAD
    named = named and (columns is None or WORKLOAD in columns)
    apart = tuple(n for n in (column, labelled, WORKLOAD if named else None) if n is not None)
    found = read_columns(table, model, columns, apart=apart)
    targets = targets_of(to, model, found)
    weighed = np.ones(table.rows)
    if column is not None:
        weighed = numbers(table.columns[column], column)
    elif weights is not None:
        weighed = numbers(weights, "weights")
    if weighed.shape != (table.rows,):
        raise DseError(f"weights has the shape {weighed.shape}: expected one for each row")
    wrong = np.flatnonzero(~(np.isfinite(weighed) & (weighed >= 0)))
    if wrong.size:
        raise DseError(f"the weight of row {wrong[0]} is {weighed[wrong[0]]}: expected 0 or more")
    if not weighed.any():
        raise DseError("no row counts: expected at least one, of a weight above 0")
    told = [""] * table.rows if labelled is None else np.asarray(table.columns[labelled]).tolist()
    for place, label in enumerate(told):
        if label is None or label != label:
            raise DseError(
                f"the column {labelled} holds no label at row {place}: leave the row out"
            )
    rows = Rows(
        inputs={name: array for name, array in found.items() if name not in targets},
        measured={name: found[name] for name in targets},
        weights=weighed,
        labels=np.array(list(map(str, told)), dtype=np.str_),
        places=np.arange(table.rows),
        workloads=tuple(map(str, table.columns[WORKLOAD])) if named else (),
    )
    return rows.kept(weighed > 0)
