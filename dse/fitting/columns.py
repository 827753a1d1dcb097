"""Measured columns: from a table of any kind to numbers in the units of quantities."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.delimited import column_header
from sweeps.store.records import check_finished
from symbolic.errors import DseError, UnitError, UnknownNameError, check_known, nearest
from symbolic.model import Model
from symbolic.units import dimension, exact, misfit

Floats = NDArray[np.float64]
#: Which columns are read: their names, or quantities with the header of each.
Named = Sequence[str] | Mapping[str, str] | None

#: Marks points in the Datasets of this library.
_FEASIBLE = "feasible"
#: An attribute of Datasets of measurements.
_MEASURED = "configurations"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Columns of one length, by the name in their header, with the unit that stands there.

    ``settled``: this library has read the rows before, so that no name in them is a slip.
    """

    columns: Mapping[str, Any]
    units: Mapping[str, str]
    rows: int
    settled: bool = False
    assumptions: tuple[str, ...] = ()

    def find(self, header: str) -> tuple[str, str]:
        """A column by its name or its whole header, and its unit; a unit given here counts."""
        name, unit = column_header(header)
        check_known(name, self.columns, f"the data have no column {name!r}", "they have")
        return name, self.units[name] if unit is None else unit

    def some(self, kept: Any) -> dict[str, Any]:
        """Return some rows, with units in the headers as they are read."""
        return {
            f"{name} [{unit}]" if (unit := self.units[name]) else name: np.asarray(column)[kept]
            for name, column in self.columns.items()
        }


def read_table(data: Any) -> Table:
    """A DataFrame, an xarray Dataset, a mapping of arrays, or the path of a file, as columns.

    Of a Dataset, every combination of its coordinates is a row, but for those it marks as not
    feasible; named levels of a DataFrame's index are columns.
    """
    if isinstance(data, (str, os.PathLike)):
        data = _read(Path(data))
    if isinstance(data, Table):
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


def _read(path: Path) -> Any:
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


def _from_text(path: Path) -> Table:
    """Return the columns of a file of delimited text."""
    from dse.measured.formats import MeasuredFile
    from dse.measured.records import assumed_units
    from dse.measured.tables import from_table

    records = from_table(MeasuredFile(path))
    kept = [k for k, why in enumerate(records.status) if not why]
    columns = {name: _typed([column[k] for k in kept]) for name, column in records.columns.items()}
    failed = len(records.status) - len(kept)
    left_out = [f"left out, as their status says that they failed: {failed} rows"] if failed else []
    return Table(
        columns=columns,
        units=records.units,
        rows=len(kept),
        assumptions=(
            *records.assumptions,
            *left_out,
            *assumed_units({name: records.units[name] for name in columns}),
        ),
    )


def _typed(column: Sequence[Any]) -> Any:
    """Return a column as numbers, or as texts where one is a text; NaN where a value is missing."""
    if any(isinstance(value, str) for value in column):
        texts = [np.nan if value is None else str(value) for value in column]
        return np.array(texts, dtype=object)
    return np.array([np.nan if v is None else v for v in column], dtype=np.float64)


def _from_mapping(columns: Mapping[str, Any], rows: int, headers: Sequence[str]) -> Table:
    split = {header: column_header(header) for header in headers}
    names = [name for name, _ in split.values()]
    for name in names:
        if names.count(name) > 1 or headers.count(name) > 1:
            raise DseError(f"the data have two columns {name!r}: keep one of them")
    return Table(
        columns={name: columns[header] for header, (name, _) in split.items()},
        units={name: unit or "" for name, unit in split.values()},
        rows=rows,
    )


def _from_dataset(ds: Any) -> Table:
    dims = list(ds.sizes)
    shape = [ds.sizes[dim] for dim in dims]
    columns: dict[str, Any] = {}
    for name, variable in ds.variables.items():
        own = [dim for dim in dims if dim in variable.dims]
        values = np.asarray(variable.transpose(*own).values)
        values = values.astype(object) if values.dtype.kind == "T" else values  # texts of zarr
        shaped = values.reshape([ds.sizes[dim] if dim in own else 1 for dim in dims])
        columns[str(name)] = np.broadcast_to(shaped, shape).reshape(-1)
    rows = int(np.prod(shape, dtype=np.int64))
    if _FEASIBLE in columns:
        kept = columns.pop(_FEASIBLE).astype(bool)
        columns = {name: column[kept] for name, column in columns.items()}
        rows = int(kept.sum())
    units = {name: str(ds[name].attrs.get("units", "")) for name in columns}
    return Table(
        columns=columns,
        units={name: "" if unit == "1" else unit for name, unit in units.items()},
        rows=rows,
        settled=_MEASURED in ds.attrs,
    )


def read_columns(
    table: Table, model: Model, named: Named, *, apart: Sequence[str] = ()
) -> dict[str, Floats]:
    """The columns that are quantities of a model, in stored units; not yet checked for NaN.

    Parameters
    ----------
    table : Table
        What was measured.
    model : Model
        Says what is a quantity.
    named : sequence or mapping, optional
        The columns to read; all where None, each of which must then be a quantity, but those of
        Datasets of measurements (:func:`dse.open`), of which the others are left.
    apart : sequence of str
        Columns that are no quantities, such as weights.
    """
    return {
        name: _stored(table, header, model, name)
        for name, header in _wanted(table, model, named, apart)
    }


def _wanted(
    table: Table, model: Model, named: Named, apart: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Quantities with the header of their column."""
    if isinstance(named, Mapping):
        for name, header in named.items():
            model.quantity(name)
            yield name, header
        return
    if isinstance(named, str):
        raise DseError(f"columns = {named!r}: expected a list of names, or a mapping")
    for header in table.columns if named is None else named:
        name, _ = table.find(header)
        if name in apart:
            continue
        known = model.quantities.get(name)
        if named is None and table.settled and name != "machine" and (not known or known.is_label):
            continue
        if known is None:
            one = "; a machine is given by machine=, for one machine at a time"
            hint = one if name == "machine" else nearest(name, model.quantities)
            raise UnknownNameError(
                f"the column {name!r} is no quantity of the model {model.name}{hint}; say with "
                "columns= which columns are read: a list of their names, or a mapping from "
                f"quantities to headers, such as {{'time': '{name} [ms]'}}"
            )
        yield name, header


def _stored(table: Table, header: str, model: Model, name: str) -> Floats:
    """A column as numbers in the stored unit of its quantity."""
    row = model.quantity(name)
    if row.is_label:
        raise DseError(
            f"the column {name} holds labels: fit the rows of one label at a time, and give the "
            "label by set="
        )
    column, unit = table.find(header)
    values = numbers(table.columns[column], column)
    if not unit:
        return values
    try:
        factor, kind = exact(1, unit)
    except UnitError as error:
        raise UnitError(f"the unit of the column {column!r}: {error}") from None
    expected = dimension(row.unit)
    if kind != expected:
        raise UnitError(f"{name}: " + misfit(f"the column {header!r}", kind, expected, unit))
    return values * float(factor.numerator) / float(factor.denominator)


def numbers(column: Any, name: str) -> Floats:
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
