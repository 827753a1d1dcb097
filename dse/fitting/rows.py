"""Read the rows of a fit from a table: inputs, measured values, weights and labels; check them."""

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
from dse.fitting.parameters import Floats, Parameters
from dse.inputs.merge import StudyInputs
from sweeps.grid.axes import Axis
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

#: The columns to read: a list of names, or a mapping from quantities to headers.
ColumnChoice = Sequence[str] | Mapping[str, str] | None
_FEASIBLE = "feasible"
_MEASURED = "configurations"  # an attribute of Datasets of measurements
#: Name of the dimension of rows, without and with a column of workloads.
ROW, WORKLOAD = "row", "workload"
#: Smallest and largest magnitude of measured values other than 0, so that squares do not overflow.
SMALLEST, LARGEST = 1e-100, 1e100
Values = Mapping[str, float | Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnTable:
    """Columns of equal length by name, with the units from their headers.

    ``is_normalized`` is true for Datasets of measurements that this library wrote. They may have
    columns with unknown names.
    """

    columns: Mapping[str, Any]
    units: Mapping[str, str]
    rows: int
    is_normalized: bool = False
    assumptions: tuple[str, ...] = ()

    def find_column(self, header: str) -> tuple[str, str]:
        """Return the name and unit of a column; a unit in ``header`` replaces that of the data."""
        name, unit = split_column_header(header)
        check_name(name, self.columns, f"the data have no column {name!r}", "they have")
        return name, self.units[name] if unit is None else unit

    def select_rows(self, selection: Any) -> dict[str, Any]:
        """Return some rows as a mapping from headers with units to columns."""
        headers = {n: f"{n} [{unit}]" if unit else n for n, unit in self.units.items()}
        return {headers[n]: np.asarray(column)[selection] for n, column in self.columns.items()}


def read_table(data: Any) -> ColumnTable:
    """Return the columns of a DataFrame, an xarray Dataset, a mapping of arrays, or a file.

    The rows of a Dataset are its feasible points. Named index levels of a DataFrame become columns.
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
            lengths = ", ".join(f"{name} {size}" for name, size in sizes.items())
            raise DseError(f"the columns differ in length ({lengths}): give one value for each row")
        rows = next(iter(sizes.values()), 1)
        spread = {name: np.broadcast_to(array, (rows,)) for name, array in arrays.items()}
        return _from_mapping(spread, rows, list(arrays))
    raise DseError(
        f"a {type(data).__name__} has no columns: expected a DataFrame, an xarray Dataset, a "
        "mapping of arrays, or the path of a CSV file"
    )


def _open_data(path: Path) -> Any:
    from sweeps.files.export import open_dataset

    if path.suffix.lower() != ".csv":
        return open_dataset(path)
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            is_exported = file.readline().startswith("# simt-dse ")
    except OSError as error:
        raise DseError(f"{str(path)!r} cannot be read: {error.strerror}") from error
    return open_dataset(path) if is_exported else _from_text(path)


def _from_text(path: Path) -> ColumnTable:
    from dse.importers.formats import MeasuredFile, from_table
    from dse.importers.records import assumed_units

    records = from_table(MeasuredFile(path))
    rows = [k for k, why in enumerate(records.status) if not why]
    columns = {n: _to_array([column[k] for k in rows]) for n, column in records.columns.items()}
    failed = len(records.status) - len(rows)
    left_out = [f"left out, as their status is failed: {failed} rows"] if failed else []
    units = assumed_units({name: records.units[name] for name in columns})
    return ColumnTable(
        columns=columns,
        units=records.units,
        rows=len(rows),
        assumptions=(*records.assumptions, *left_out, *units),
    )


def _to_array(column: Sequence[Any]) -> Any:
    """Return a column as numbers, or as texts if a value is text; missing values become NaN."""
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
        # zarr returns texts as NumPy's variable-width strings
        values = values.astype(object) if values.dtype.kind == "T" else values
        columns[str(name)] = values.reshape(-1)
    rows = math.prod(ds.sizes.values())
    if _FEASIBLE in columns:
        mask = columns.pop(_FEASIBLE).astype(bool)
        columns = {name: column[mask] for name, column in columns.items()}
        rows = int(mask.sum())
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
    """Return the columns that are quantities of a model, in stored units; NaN is allowed.

    If ``choice`` is None all columns are read, and each must be a quantity, except in Datasets of
    measurements (:func:`dse.open`). ``excluded`` names columns to skip, such as weights.
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
        quantity = model.names_by_symbol.get(name, name)
        known = model.quantities.get(quantity)
        is_optional = choice is None and table.is_normalized and name != "machine"
        if is_optional and (not known or known.is_label):
            continue
        if known is None:
            machine = "; give one machine at a time by machine="
            hint = machine if name == "machine" else nearest_hint(name, model.quantities)
            raise UnknownNameError(
                f"the column {name!r} is no quantity of the model {model.name}{hint}; name the "
                "columns to read with columns=: a list of their names, or a mapping from "
                f"quantities to headers, such as {{'time': '{name} [ms]'}}"
            )
        result[quantity] = _stored_values(table, header, model, quantity)
    return result


def _stored_values(table: ColumnTable, header: str, model: Model, name: str) -> Floats:
    row = model.quantity(name)
    if row.is_label:
        raise DseError(
            f"the column {name} has labels: fit the rows of one label at a time, and give the "
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
        cause = mismatch_message(f"the column {header!r}", kind, expected, unit)
        raise UnitError(f"{name}: {cause}")
    return values * float(factor.numerator) / float(factor.denominator)


def to_floats(column: Any, name: str) -> Floats:
    """Return a column as floats; missing values are NaN."""
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
                f"the column {name!r} has {value!r} at row {place}: expected a number (put a unit "
                "into the header, as in 'time [ms]')"
            ) from None
    raise DseError(f"the column {name!r} has no numbers")


class NoRowError(DseError):
    """Error for conditions that no row satisfies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitCase:
    """A model to fit, with all inputs except those in the rows and the free quantities."""

    model: Model
    parts: StudyInputs
    targets: tuple[str, ...]
    free: tuple[str, ...]

    def grid(self, rows: FitRows, free: Values, where: Sequence[str] = ()) -> Grid:
        """Return the grid that computes the measured quantities on rows, given the free values."""
        axis = rows.axis
        values = {
            name: Leaf(axes=(axis.name,), array=value) if isinstance(value, np.ndarray) else value
            for name, value in free.items()
        }
        leaves = {name: Leaf(axes=(axis.name,), array=array) for name, array in rows.inputs.items()}
        known = [name for over in self.parts.axes for name in over.labels]
        places = [known.index(name) for name in rows.workloads]
        tables = {
            over: {name: [column[place] for place in places] for name, column in supplied.items()}
            for over, supplied in self.parts.tables.items()
        }
        return self.parts.build_grid(
            axes=[axis],
            values={**self.parts.values, **leaves, **values},
            tables=tables,
            outputs=self.targets,
            constraints=where,
        )


def select_rows(case: FitCase, rows: FitRows, values: Values, where: Any) -> FitRows:
    """Return the rows that satisfy conditions on inputs; raise an error if a value is missing."""
    texts = texts_of(where, "where")
    if texts:
        rows = rows.select(_condition_mask(case, case.grid(rows, values, texts)))
        if not len(rows.places):
            raise NoRowError(f"no row satisfies {' and '.join(texts)}: relax the conditions")
    for name, array in {**rows.inputs, **rows.measurements}.items():
        missing = rows.places[~np.isfinite(array)]
        if missing.size:
            more = f" and at {missing.size - 1} more" if missing.size > 1 else ""
            is_infinite = np.isinf(array[~np.isfinite(array)][0])
            value = "an infinite value" if is_infinite else "no number"
            raise DseError(
                f"the column {name} has {value} at row {missing[0]}{more}: leave such rows out "
                "(of a DataFrame: data.dropna())"
            )
        case.model.quantity(name).check(array, "a column of the data")
    return rows


def _condition_mask(case: FitCase, grid: Grid) -> NDArray[np.bool_]:
    mask = np.ones(next(iter(grid.axes.values())).size, dtype=bool)
    for condition in grid.conditions:
        if condition.is_rule:
            continue
        node = grid.graph.flat_condition(condition)
        fitted = [name for name in references(node) if name in case.free]
        if fitted:
            raise DseError(
                f"where {condition.text!r} depends on {', '.join(fitted)}, which is fitted: choose "
                "rows by inputs, and by what follows from them alone"
            )
        mask &= np.asarray(grid.evaluate([node], (), tuple(grid.axes))[0], dtype=bool)
    return mask


class FewRowsError(DseError):
    """Error for rows that do not determine the free quantities."""


def check_rows(case: FitCase, rows: FitRows, grid: Grid) -> None:
    """Raise an error if no measured value depends on a free quantity, or if a row breaks a rule."""
    used = set(references(*(grid.graph.flat(name) for name in case.targets)))
    ancestors = grid.graph.ancestors(case.targets)
    for name in case.free:
        if name in ancestors and name not in used:
            raise GraphError(
                f"{name} feeds a table equation, which is evaluated only once in a fit: fit with "
                "each of several values (set=), or leave it out of free"
            )
        if name not in used:
            cut = [column for column in rows.inputs if case.model.variants(column)]
            why = f" (it yields {', '.join(cut)}, which come from the data)" if cut else ""
            raise GraphError(
                f"{', '.join(case.targets)} of {case.model.name}{why} does not depend on {name}: "
                "take it out of free, or leave columns out with columns="
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
    """Raise an error if a measured value is too small or large for safe computation."""
    size = np.abs(measured)
    wrong = np.argwhere(((size < SMALLEST) & (size > 0)) | (size > LARGEST))
    if len(wrong):
        what, place = wrong[0]
        name = case.targets[what]
        raise DseError(
            f"{name} is {measured[what, place]:g} {case.model.quantity(name).unit} at row "
            f"{rows.places[place]}: expected 0, or sizes from {SMALLEST:g} to {LARGEST:g}; "
            f"check the unit of the column, as in '{name} [{case.model.quantity(name).unit}]'"
        )


def check_enough(case: FitCase, rows: FitRows, free: Parameters) -> None:
    """Raise an error if measured values are fewer than free values, in total or for a label."""
    each = len(case.targets)
    counted = "rows" if each == 1 else "measured values"
    for label in (*filter(None, rows.distinct_labels), ""):
        which = f" of {label}" if label else ""
        have = each * int(np.count_nonzero(rows.labels == label) if label else len(rows.places))
        needed = [c for c in free if not label or c.label == label]
        if have < len(needed):
            raise FewRowsError(
                f"{have} {counted}{which} for {len(needed)} free values: give at least as many, or "
                f"set some of {', '.join(dict.fromkeys(c.name for c in needed))}"
            )


def resolve_targets(
    to: str | Sequence[str] | None, model: Model, columns: Mapping[str, Floats]
) -> tuple[str, ...]:
    """Return the measured quantities: ``to`` or, by default, the only main output with a column."""
    if to is None:
        named = tuple(name for name in model.outputs if name in columns)
        if len(named) == 1:
            return named
        several = f"{', '.join(named)} are" if named else "none is"
        raise DseError(
            f"of the main outputs of {model.name} ({', '.join(model.outputs)}), {several} among "
            "the columns: name the column that the model should yield by to="
        )
    named = tuple(dict.fromkeys(texts_of(to, "to")))
    if not named:
        raise DseError("to is empty: name the measured quantities")
    for name in named:
        model.quantity(name)
        if name not in columns:
            listed = ", ".join(columns) or "none"
            raise DseError(f"{name} (to=) has no column; the columns are: {listed}")
        if not model.variants(name):
            listed = ", ".join(model.yields)
            raise DseError(f"{name} (to=) is an input of {model.name}: name one of {listed}")
    return named


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRows:
    """Rows of a fit: arrays with one value per row; ``places`` are the indices in the data."""

    inputs: Mapping[str, Floats]
    measurements: Mapping[str, Floats]
    weights: Floats
    labels: NDArray[np.str_]
    places: NDArray[np.int64]
    workloads: tuple[str, ...] = ()

    def select(self, selection: NDArray[np.bool_] | NDArray[np.int64]) -> FitRows:
        """Return the rows that a mask or an array of indices selects."""
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
        """The rows as an axis, which is the only dimension of the grid."""
        name, kind = (WORKLOAD, "label") if self.workloads else (ROW, "index")
        places = self.places.astype(np.float64)
        return Axis(name=name, kind=kind, coordinate=places, values=places, labels=self.workloads)

    @property
    def distinct_labels(self) -> tuple[str, ...]:
        """The distinct labels, in the order of the rows."""
        return tuple(dict.fromkeys(self.labels.tolist()))

    @property
    def label_numbers(self) -> NDArray[np.int64]:
        """For each row, the index of the row's label in ``distinct_labels``."""
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
    """Return the rows of a table, without rows of weight 0."""
    table = read_table(data)
    column = table.find_column(weights)[0] if isinstance(weights, str) else None
    label_column = None if labels is None else table.find_column(labels)[0]
    has_workloads = WORKLOAD in table.columns and label_column != WORKLOAD
    has_workloads = has_workloads and (columns is None or WORKLOAD in columns)
    special = (column, label_column, WORKLOAD if has_workloads else None)
    excluded = tuple(name for name in special if name is not None)
    arrays = read_columns(table, model, columns, excluded=excluded)
    targets = resolve_targets(to, model, arrays)
    numbers = np.ones(table.rows)
    if column is not None:
        numbers = to_floats(table.columns[column], column)
    elif weights is not None:
        numbers = to_floats(weights, "weights")
    if numbers.shape != (table.rows,):
        raise DseError(f"weights has the shape {numbers.shape}: expected one for each row")
    wrong = np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0)))
    if wrong.size:
        raise DseError(f"the weight of row {wrong[0]} is {numbers[wrong[0]]}: expected 0 or more")
    if not numbers.any():
        raise DseError("all weights are 0: expected at least one above 0")
    texts = [""] * table.rows
    if label_column is not None:
        texts = np.asarray(table.columns[label_column]).tolist()
    for place, label in enumerate(texts):
        if label is None or label != label:
            raise DseError(f"{label_column} has no label at row {place}: leave the row out")
    rows = FitRows(
        inputs={name: array for name, array in arrays.items() if name not in targets},
        measurements={name: arrays[name] for name in targets},
        weights=numbers,
        labels=np.array(list(map(str, texts)), dtype=np.str_),
        places=np.arange(table.rows),
        workloads=tuple(map(str, table.columns[WORKLOAD])) if has_workloads else (),
    )
    return rows.select(numbers > 0)
