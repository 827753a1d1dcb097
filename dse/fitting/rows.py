"""The rows of a fit, from columns of any table: inputs, what is measured, which rows count."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.delimited import split_column_header
from dse.fitting.parameters import Floats, FreeParameter
from dse.inputs.merge import StudyInputs
from sweeps.grid.axes import Axis
from sweeps.grid.build import build_grid
from sweeps.grid.goals import texts_of
from sweeps.grid.grid import Grid, Leaf
from sweeps.store.records import check_finished
from symbolic.errors import (
    DseError,
    GraphError,
    InfeasibleError,
    UnitError,
    UnknownNameError,
    check_name,
    nearest_hint,
)
from symbolic.model import Model
from symbolic.ops import references
from symbolic.units import dimension, mismatch_message, to_si_exact

# --- Measured columns: from a table of any kind to numbers in the units of quantities

#: Which columns are read: their names, or quantities with the header of each.
ColumnChoice = Sequence[str] | Mapping[str, str] | None

#: Marks points in the Datasets of this library.
_FEASIBLE = "feasible"
#: An attribute of Datasets of measurements.
_MEASURED = "configurations"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnTable:
    """Columns of one length, by the name in their header, with the unit that stands there.

    ``settled``: this library has read the rows before, so that no name in them is a slip.
    """

    columns: Mapping[str, Any]
    units: Mapping[str, str]
    rows: int
    is_normalized: bool = False
    assumptions: tuple[str, ...] = ()

    def find_column(self, header: str) -> tuple[str, str]:
        """A column by its name or its whole header, and its unit; a unit given here counts."""
        name, unit = split_column_header(header)
        check_name(name, self.columns, f"the data have no column {name!r}", "they have")
        return name, self.units[name] if unit is None else unit

    def select_rows(self, selection: Any) -> dict[str, Any]:
        """Return some rows, with units in the headers as they are read."""
        return {
            f"{name} [{unit}]" if (unit := self.units[name]) else name: np.asarray(column)[
                selection
            ]
            for name, column in self.columns.items()
        }


def read_table(data: Any) -> ColumnTable:
    """A DataFrame, an xarray Dataset, a mapping of arrays, or the path of a file, as columns.

    Of a Dataset, every combination of its coordinates is a row, but for those it marks as not
    feasible; named levels of a DataFrame's index are columns.
    """
    if isinstance(data, (str, os.PathLike)):
        data = _open_data(Path(data))
    if isinstance(data, ColumnTable):
        return data
    if hasattr(data, "data_vars"):
        check_finished(data)
        return _from_dataset(data)
    if hasattr(data, "columns") and hasattr(data, "iloc"):
        if any(name is not None for name in data.index.names):
            data = data.reset_index()
        columns = {str(name): data.iloc[:, k] for k, name in enumerate(data.columns)}
        return _from_mapping(columns, len(data), list(map(str, data.columns)))
    if isinstance(data, Mapping):
        arrays = {str(name): np.asarray(column) for name, column in data.items()}
        sizes = {name: array.size for name, array in arrays.items() if array.ndim}
        deep = next((name for name, array in arrays.items() if array.ndim > 1), None)
        if deep is not None:
            raise DseError(
                f"the column {deep!r} has {arrays[deep].ndim} dimensions: give one value for each "
                "row, or an xarray Dataset"
            )
        if len({*sizes.values()}) > 1:
            told = ", ".join(f"{name} {size}" for name, size in sizes.items())
            raise DseError(f"the columns differ in length ({told}): give one value for each row")
        rows = next(iter(sizes.values()), 1)
        spread = {name: np.broadcast_to(array, (rows,)) for name, array in arrays.items()}
        return _from_mapping(spread, rows, list(arrays))
    raise DseError(
        f"{type(data).__name__} holds no columns that can be read: expected a DataFrame, an xarray "
        "Dataset, a mapping of arrays, or the path of a CSV file"
    )


def _open_data(path: Path) -> Any:
    """Return the Dataset or the columns of a file."""
    from sweeps.files.export import open_dataset

    if path.suffix.lower() != ".csv":
        return open_dataset(path)
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            ours = file.readline().startswith("# simt-dse ")
    except OSError as error:
        raise DseError(f"{str(path)!r} cannot be read: {error.strerror}") from error
    return open_dataset(path) if ours else _from_text(path)


def _from_text(path: Path) -> ColumnTable:
    """Return the columns of a file of delimited text."""
    from dse.importers.formats import MeasuredFile, from_table
    from dse.importers.records import assumed_units

    records = from_table(MeasuredFile(path))
    kept = [k for k, why in enumerate(records.status) if not why]
    columns = {
        name: _to_array([column[k] for k in kept]) for name, column in records.columns.items()
    }
    failed = len(records.status) - len(kept)
    left_out = [f"left out, as their status says that they failed: {failed} rows"] if failed else []
    return ColumnTable(
        columns=columns,
        units=records.units,
        rows=len(kept),
        assumptions=(
            *records.assumptions,
            *left_out,
            *assumed_units({name: records.units[name] for name in columns}),
        ),
    )


def _to_array(column: Sequence[Any]) -> Any:
    """Return a column as numbers, or as texts where one is a text; NaN where a value is missing."""
    if any(isinstance(value, str) for value in column):
        texts = [np.nan if value is None else str(value) for value in column]
        return np.array(texts, dtype=object)
    return np.array([np.nan if v is None else v for v in column], dtype=np.float64)


def _from_mapping(columns: Mapping[str, Any], rows: int, headers: Sequence[str]) -> ColumnTable:
    split = {header: split_column_header(header) for header in headers}
    names = [name for name, _ in split.values()]
    for name in names:
        if names.count(name) > 1 or headers.count(name) > 1:
            raise DseError(f"the data have two columns {name!r}: keep one of them")
    return ColumnTable(
        columns={name: columns[header] for header, (name, _) in split.items()},
        units={name: unit or "" for name, unit in split.values()},
        rows=rows,
    )


def _from_dataset(ds: Any) -> ColumnTable:
    columns: dict[str, Any] = {}
    for name, variable in ds.variables.items():
        values = np.asarray(variable.set_dims(dict(ds.sizes)).values)
        values = values.astype(object) if values.dtype.kind == "T" else values  # texts of zarr
        columns[str(name)] = values.reshape(-1)
    rows = math.prod(ds.sizes.values())
    if _FEASIBLE in columns:
        kept = columns.pop(_FEASIBLE).astype(bool)
        columns = {name: column[kept] for name, column in columns.items()}
        rows = int(kept.sum())
    units = {name: str(ds[name].attrs.get("units", "")) for name in columns}
    return ColumnTable(
        columns=columns,
        units={name: "" if unit == "1" else unit for name, unit in units.items()},
        rows=rows,
        is_normalized=_MEASURED in ds.attrs,
    )


def read_columns(
    table: ColumnTable, model: Model, choice: ColumnChoice, *, excluded: Sequence[str] = ()
) -> dict[str, Floats]:
    """Return the columns that are quantities of a model, in stored units, NaN unchecked.

    ``named`` says which; without it all are read, each of which must then be a quantity, but those
    of Datasets of measurements (:func:`dse.open`), of which the others are left. Columns ``apart``
    are no quantities, such as weights.
    """
    if isinstance(choice, Mapping):
        return {name: _stored_values(table, header, model, name) for name, header in choice.items()}
    if isinstance(choice, str):
        raise DseError(f"columns = {choice!r}: expected a list of names, or a mapping")
    result = {}
    for header in table.columns if choice is None else choice:
        name, _ = table.find_column(header)
        if name in excluded:
            continue
        known = model.quantities.get(name)
        if (
            choice is None
            and table.is_normalized
            and name != "machine"
            and (not known or known.is_label)
        ):
            continue
        if known is None:
            one = "; a machine is given by machine=, for one machine at a time"
            hint = one if name == "machine" else nearest_hint(name, model.quantities)
            raise UnknownNameError(
                f"the column {name!r} is no quantity of the model {model.name}{hint}; say with "
                "columns= which columns are read: a list of their names, or a mapping from "
                f"quantities to headers, such as {{'time': '{name} [ms]'}}"
            )
        result[name] = _stored_values(table, header, model, name)
    return result


def _stored_values(table: ColumnTable, header: str, model: Model, name: str) -> Floats:
    """A column as numbers in the stored unit of its quantity."""
    row = model.quantity(name)
    if row.is_label:
        raise DseError(
            f"the column {name} holds labels: fit the rows of one label at a time, and give the "
            "label by set="
        )
    column, unit = table.find_column(header)
    values = to_floats(table.columns[column], column)
    if not unit:
        return values
    try:
        factor, kind = to_si_exact(1, unit)
    except UnitError as error:
        raise UnitError(f"the unit of the column {column!r}: {error}") from None
    expected = dimension(row.unit)
    if kind != expected:
        raise UnitError(
            f"{name}: " + mismatch_message(f"the column {header!r}", kind, expected, unit)
        )
    return values * float(factor.numerator) / float(factor.denominator)


def to_floats(column: Any, name: str) -> Floats:
    """A column as floats; what is missing is NaN."""
    try:
        if hasattr(column, "to_numpy"):
            return np.array(column.to_numpy(dtype=np.float64, na_value=np.nan))
        array = np.asarray(column)
        if array.dtype.kind in "iuf":
            return array.astype(np.float64)
        return np.array([float(value) for value in array.tolist()], dtype=np.float64)
    except (TypeError, ValueError):
        pass
    for place, value in enumerate(np.asarray(column, dtype=object).tolist()):
        try:
            float(value)
        except (TypeError, ValueError):
            raise DseError(
                f"the column {name!r} holds {value!r} at row {place}: expected a number (a unit "
                "belongs into the header, as in 'time [ms]')"
            ) from None
    raise DseError(f"the column {name!r} holds no numbers")


# --- The rows of one case of a fit: those that count, as inputs and measured values


Values = Mapping[str, float | Floats]


class NoRowError(DseError):
    """Conditions that no row satisfies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitCase:
    """A model with values, to be joined with rows and with values of what is free."""

    model: Model
    parts: StudyInputs
    targets: tuple[str, ...]
    free: tuple[str, ...]

    def grid(self, rows: FitRows, free: Values, where: Sequence[str] = ()) -> Grid:
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
            outputs=self.targets,
            constraints=where,
            invalid_values=self.parts.invalid_values,
        )


def select_rows(case: FitCase, rows: FitRows, values: Values, where: Any) -> FitRows:
    """The rows that satisfy conditions on inputs; an error where something of them is missing."""
    texts = texts_of(where, "where")
    if texts:
        rows = rows.select(_condition_mask(case, case.grid(rows, values, texts)))
        if not len(rows.places):
            raise NoRowError(f"no row satisfies {' and '.join(texts)}: relax the conditions")
    for name, array in {**rows.inputs, **rows.measurements}.items():
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


def _condition_mask(case: FitCase, grid: Grid) -> NDArray[np.bool_]:
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


def check_rows(case: FitCase, rows: FitRows, grid: Grid) -> None:
    """Raise where nothing measured depends on something free, or a row breaks a rule anyway."""
    used = set(references(*(grid.graph.flat(name) for name in case.targets)))
    behind = grid.graph.ancestors(case.targets)
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
                f"{', '.join(case.targets)} of {case.model.name}{given} does not depend on {name}: take "
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


def check_size(case: FitCase, rows: FitRows, measured: Floats) -> None:
    """Raise where a measured value is so small or large that no computation with it is safe."""
    size = np.abs(measured)
    wrong = np.argwhere(((size < SMALLEST) & (size > 0)) | (size > LARGEST))
    if len(wrong):
        what, place = wrong[0]
        name = case.targets[what]
        raise DseError(
            f"{name} is {measured[what, place]:g} {case.model.quantity(name).unit} at row "
            f"{rows.places[place]}: a fit takes sizes from {SMALLEST:g} to {LARGEST:g}, and 0; "
            f"check the unit of the column, as in '{name} [{case.model.quantity(name).unit}]'"
        )


def check_enough(case: FitCase, rows: FitRows, free: tuple[FreeParameter, ...]) -> None:
    """Raise where there are fewer measured values than free ones, in all or for a label."""
    each = len(case.targets)
    counted = "rows" if each == 1 else "measured values"
    for label in (*filter(None, rows.distinct_labels), ""):
        of = f" of {label}" if label else ""
        have = each * int(np.count_nonzero(rows.labels == label) if label else len(rows.places))
        asked = [c for c in free if not label or c.label == label]
        if have < len(asked):
            raise FewRowsError(
                f"{have} {counted}{of} for {len(asked)} free values: give at least as many, or set "
                f"some of {', '.join(dict.fromkeys(c.name for c in asked))}"
            )


# --- Which measured columns the model of a fit should yield


def resolve_targets(
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
class FitRows:
    """Inputs, measured quantities, weights, labels, places in the data, workloads if told."""

    inputs: Mapping[str, Floats]
    measurements: Mapping[str, Floats]
    weights: Floats
    labels: NDArray[np.str_]
    places: NDArray[np.int64]
    workloads: tuple[str, ...] = ()

    def select(self, selection: NDArray[np.bool_] | NDArray[np.int64]) -> FitRows:
        """Some of the rows."""
        return FitRows(
            inputs={name: array[selection] for name, array in self.inputs.items()},
            measurements={name: array[selection] for name, array in self.measurements.items()},
            weights=self.weights[selection],
            labels=self.labels[selection],
            places=self.places[selection],
            workloads=tuple(np.array(self.workloads)[selection].tolist()) if self.workloads else (),
        )

    @property
    def axis(self) -> Axis:
        """The rows as the one dimension of a grid: that of their workloads where they name them."""
        name, kind = (WORKLOAD, "label") if self.workloads else (ROW, "index")
        places = self.places.astype(np.float64)
        return Axis(name=name, kind=kind, coordinate=places, values=places, labels=self.workloads)

    @property
    def distinct_labels(self) -> tuple[str, ...]:
        """The labels, each once, in the order of the rows."""
        return tuple(dict.fromkeys(self.labels.tolist()))

    @property
    def label_numbers(self) -> NDArray[np.int64]:
        """The label of each row as its place among the labels."""
        number = {label: place for place, label in enumerate(self.distinct_labels)}
        return np.array([number[label] for label in self.labels.tolist()], dtype=np.int64)


def read_rows(
    data: Any,
    model: Model,
    *,
    to: str | Sequence[str] | None,
    columns: ColumnChoice,
    weights: Any,
    labels: str | None,
) -> FitRows:
    """The columns of a table, told apart; rows of weight 0 are left out."""
    table = read_table(data)
    column = table.find_column(weights)[0] if isinstance(weights, str) else None
    labelled = None if labels is None else table.find_column(labels)[0]
    named = WORKLOAD in table.columns and labelled != WORKLOAD
    named = named and (columns is None or WORKLOAD in columns)
    apart = tuple(n for n in (column, labelled, WORKLOAD if named else None) if n is not None)
    result = read_columns(table, model, columns, excluded=apart)
    targets = resolve_targets(to, model, result)
    weighed = np.ones(table.rows)
    if column is not None:
        weighed = to_floats(table.columns[column], column)
    elif weights is not None:
        weighed = to_floats(weights, "weights")
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
    rows = FitRows(
        inputs={name: array for name, array in result.items() if name not in targets},
        measurements={name: result[name] for name in targets},
        weights=weighed,
        labels=np.array(list(map(str, told)), dtype=np.str_),
        places=np.arange(table.rows),
        workloads=tuple(map(str, table.columns[WORKLOAD])) if named else (),
    )
    return rows.select(weighed > 0)
