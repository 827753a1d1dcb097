"""The rows of a fit: which columns are inputs, which are measured, which rows count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.fitting.columns import Floats, Named, numbers, read_columns, read_table
from dse.fitting.coordinates import Coordinate
from dse.inputs import Parts
from sweeps.grid.build import build_grid
from sweeps.grid.goals import texts_of
from sweeps.grid.grid import Grid, Leaf
from sweeps.grid.space import Axis
from symbolic.errors import DseError, GraphError, InfeasibleError
from symbolic.model import Model
from symbolic.ops import references

# --- The rows of one case of a fit: those that count, as inputs and measured values


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


# --- What rows must hold for a fit: dependence, rules, sizes, and as many values as are free


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


# --- Which measured columns the model of a fit should yield


def targets_of(
    to: str | Sequence[str] | None, model: Model, columns: Mapping[str, Floats]
) -> tuple[str, ...]:
    """The measured quantities by name: those named, else the one main output that has a column."""
    if to is None:
        named = tuple(name for name in model.outputs if name in columns)
        if len(named) == 1:
            return named
        several = f"{', '.join(named)} are" if named else "none is"
        raise DseError(
            f"of the main outputs of {model.name} ({', '.join(model.outputs)}), {several} among "
            "the columns: say by to= which column the model should yield"
        )
    named = tuple(dict.fromkeys(texts_of(to, "to")))
    if not named:
        raise DseError("to is empty: name the measured quantities")
    for name in named:
        model.quantity(name)
        if name not in columns:
            raise DseError(
                f"{name} (to=) has no column; the columns are: {', '.join(columns) or 'none'}"
            )
        if not model.variants(name):
            raise DseError(
                f"{name} (to=) is an input of {model.name}, which nothing yields: name one of "
                f"{', '.join(model.yields)}"
            )
    return named


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
