"""Normalize the names, units and failures of measured rows, and make a Dataset of them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.inputs.provenance import version
from stochastic import sizes
from sweeps.grid.dataset import flag_attributes
from sweeps.grid.grid import FEASIBLE, ravel
from symbolic.errors import DseError, UnitError, check_name
from symbolic.quantities import TABLE
from symbolic.statistics import RUN
from symbolic.terms import FUNCTIONS
from symbolic.units import dimension, mismatch_message, to_si_exact

if TYPE_CHECKING:
    import xarray as xr

#: The values of a column in stored (SI) units, and the attributes of the column.
Column = tuple[NDArray[Any], dict[str, Any]]
#: Usual names of units that are otherwise written as quotients.
_UNIT_NAMES = {"J/s": "W", "1/s": "Hz"}
#: Status of a successful measurement, and of a failed one whose reason is unknown.
CORRECT, FAILED = "correct", "failed"
_UNMEASURED = "not measured"
_REASONS = 100  # maximum number of distinct reasons; any further reason is stored as "failed"
#: Names that columns cannot have: names that the Dataset needs, and words of formulas.
_RESERVED = {"configuration", "feasible", "objective", "point", "rank", "status"}
_WORDS = {"and", "or", "not", *FUNCTIONS}
_EXACT = 2**53  # floats represent every integer up to this number
#: Name of the dimension along which rows lie.
CONFIGURATION = "configuration"
STATUS = "status"
_MAX_CELLS = sizes.MEASURED_CELLS  # maximum number of cells of a grid, measured or not


def assumed_units(units: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each quantity that has no unit in the file: its SI unit is assumed."""
    for name, unit in units.items():
        row = TABLE.get(name)
        if row is None or row.is_label or unit.strip() or dimension(row.unit).is_plain:
            continue
        yield (
            f"{name} has no unit in the file: assumed in {row.unit} (a header '{name} [UNIT]' "
            "gives another)"
        )


def column_unit(
    name: str, header: str, unit: str, values: NDArray[Any]
) -> tuple[Fraction, dict[str, Any]]:
    """Return a column's exact factor to the stored unit, and the attributes of the column."""
    row = TABLE.get(name)
    meaning = row.meaning if row is not None and row.meaning else header
    if values.dtype.kind not in "if":
        return Fraction(1), {"long_name": meaning}
    expected = "" if row is None or row.is_label else row.unit
    if not unit.strip():
        return Fraction(1), {"long_name": meaning, "units": expected or "1"}
    try:
        factor, kind = to_si_exact(1, unit)
    except UnitError as error:
        if row is None:  # unknown unit of an unknown column: keep the unit in the name
            return Fraction(1), {"long_name": f"{header} [{unit}]", "units": "1"}
        raise UnitError(f"the unit of {header!r}: {error}; or give it by units=") from None
    if row is not None and not row.is_label:
        if kind != dimension(expected):
            column = f"the column {header!r} in {unit!r}"
            cause = mismatch_message(column, kind, dimension(expected), unit)
            raise UnitError(f"{name}: {cause}, or rename the column")
        stored = expected
    else:
        stored = _UNIT_NAMES.get(kind.unit, kind.unit)
    return factor, {"long_name": meaning, "units": stored or "1"}


def apply_factor(values: NDArray[Any], factor: Fraction) -> NDArray[Any]:
    """Return numbers multiplied by an exact factor; return labels unchanged."""
    if factor == 1 or values.dtype.kind not in "if":
        return values
    return values * float(factor.numerator) / float(factor.denominator)


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The rows of a file, with the names, units and values that the file has.

    ``axes`` are the columns that identify a configuration, and ``order`` lists their values in
    order. ``status`` is the reason why a row failed, or empty. ``sources`` say how columns were
    computed. ``labels`` are columns of texts. ``repeats`` maps a column of means to the values of
    the runs. ``aliases`` maps headers with a unit to names. ``assumptions`` are sentences.
    """

    kind: str
    axes: tuple[str, ...]
    columns: Mapping[str, Sequence[Any]]
    units: Mapping[str, str] = field(default_factory=dict)
    status: Sequence[str] = ()
    order: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    repeats: Mapping[str, Sequence[Sequence[Any]]] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRows:
    """Rows with normalized names and units; ``reasons[status[row]]`` is the outcome of a row."""

    axes: Mapping[str, Column]
    order: Mapping[str, NDArray[Any]]
    measurements: Mapping[str, Column]
    status: NDArray[np.int8]
    feasible: NDArray[np.bool_]
    reasons: tuple[str, ...]
    assumptions: tuple[str, ...] = ()


def rows_to_columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Convert rows to columns, with None for missing values.

    >>> rows_to_columns([{"a": 1}, {"a": 2, "b": 3}])
    {'a': [1, 2], 'b': [None, 3]}
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def identifier(text: str) -> str:
    """Convert a header to a name that formulas can use.

    >>> identifier("GFLOP/s"), identifier("block size"), identifier("log"), identifier("2d")
    ('GFLOP_per_s', 'block_size', 'log_', '_2d')
    """
    name = re.sub(r"\s*/\s*", "_per_", text.strip())
    name = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "column"
    name = f"_{name}" if name[0].isdigit() else name
    taken = name in _RESERVED or (name in _WORDS and name not in TABLE)
    return f"{name}_" if taken else name


def normalize_records(records: Records, units: Mapping[str, str]) -> MeasuredRows:
    """Normalize the names, units and types of records; ``units`` override units of the file."""
    headers: dict[str, str] = {}
    for header in records.columns:
        name = identifier(header)
        if name in headers:
            other = headers[name]
            raise DseError(f"the columns {other!r} and {header!r} are both {name}: rename one")
        headers[name] = header
    known = {**headers, **{header: header for header in headers.values()}, **records.aliases}
    for name in units:
        check_name(name, known, f"units names {name!r}, which is no column")
    all_units = {**records.units, **{known[name]: unit for name, unit in units.items()}}
    why = list(records.status) or [""] * len(next(iter(records.columns.values()), ()))
    axes, order, measured, numbers = {}, {}, {}, []
    large: list[str] = []
    file_units = {
        name: all_units.get(header, "")
        for name, header in headers.items()
        if header not in records.labels and records.sources.get(header) != "given"
    }
    assumed = list(assumed_units(file_units))
    for name, header in headers.items():
        source = {"source": records.sources[header]} if header in records.sources else {}
        listed, is_axis = _to_list(records.columns[header]), header in records.axes
        if header in records.labels and not is_axis:
            texts = np.array(list(map(str, listed)), dtype=np.str_)
            measured[name] = (texts, {"long_name": header, **source})
            continue
        values = _axis_column(listed, name) if is_axis else _measured_column(listed, why)
        factor, attrs = column_unit(name, header, all_units.get(header, ""), values)
        if is_axis:
            axes[name] = (apply_factor(values, factor), attrs | source)
            if header in records.order:
                ordered = _axis_column(_to_list(records.order[header]), name)
                order[name] = apply_factor(ordered, factor)
            continue
        if any(isinstance(value, int) and abs(value) > _EXACT for value in listed):
            large.append(name)
        measured[name] = (apply_factor(values, factor), attrs | source)
        if values.dtype.kind in "if":
            numbers.append(values)
    if numbers and axes:
        nothing = np.all([np.isnan(values) for values in numbers], axis=0)
        for row in np.flatnonzero(nothing):
            why[row] = why[row] or FAILED
    if large:
        assumed.append(
            f"integers beyond 2**53 in {', '.join(large)} are exact here, and rounded in "
            "formulas (a difference is exact as --map 'END + -1 * BEGIN=QUANTITY:UNIT')"
        )
    status, reasons = _encode_status(why)
    return MeasuredRows(
        axes=axes,
        order=order,
        measurements=measured,
        status=status,
        feasible=status == 0,
        reasons=reasons,
        assumptions=tuple(assumed),
    )


def _encode_status(reasons_by_row: Sequence[str]) -> tuple[NDArray[np.int8], tuple[str, ...]]:
    """Convert reasons of failure to numbers (0: success); return the numbers and their meanings."""
    reasons = [CORRECT]
    place = {"": 0, CORRECT: 0}
    for reason in reasons_by_row:
        if reason not in place:
            if len(reasons) >= _REASONS:
                place[reason] = place.setdefault(FAILED, len(reasons))
                reasons += [FAILED] if place[FAILED] == len(reasons) else []
                continue
            place[reason] = len(reasons)
            reasons.append(reason)
    return np.array([place[reason] for reason in reasons_by_row], dtype=np.int8), tuple(reasons)


def _to_list(values: Any) -> list[Any]:
    listed = values.tolist() if hasattr(values, "tolist") else values
    return [value.item() if isinstance(value, np.generic) else value for value in listed]


def _axis_column(values: Sequence[Any], name: str) -> NDArray[Any]:
    """Return the array of an axis: numbers, or labels if any value is not a number."""
    for row, value in enumerate(values):
        if value is None or value != value:
            raise DseError(
                f"the column {name} has no value at row {row}: a configuration needs a value on "
                "each axis; leave the row out, or name other axes"
            )
    if all(isinstance(value, (bool, int, float)) for value in values):
        array = np.array([value + 0 for value in values])  # converts booleans to 0 and 1
        if array.dtype.kind in "if":
            return array
    return np.array(list(map(str, values)), dtype=np.str_)


def _measured_column(values: Sequence[Any], why: list[str]) -> NDArray[Any]:
    """Return the array of a measured column: labels if all values are texts, else numbers or NaN.

    A text in a column of numbers is the reason why the row failed; it is stored in ``why``.
    """
    numbers = [_finite_number(value) for value in values]
    if all(n is None for n in numbers) and any(isinstance(v, str) and v.strip() for v in values):
        texts = ["" if value is None or value != value else str(value) for value in values]
        return np.array(texts, dtype=np.str_)
    for row, (value, number) in enumerate(zip(values, numbers, strict=True)):
        if number is None and value is not None and value == value:
            why[row] = why[row] or str(value).strip()
    if (
        all(isinstance(v, int) for v in values)
        and _EXACT < max(map(abs, values), default=0) < 2**63
    ):
        return np.array(values, dtype=np.int64)  # floats would round these integers
    return np.array([np.nan if n is None else n for n in numbers], dtype=np.float64)


def _finite_number(value: Any) -> float | None:
    """Return a value as a float; None if it is not a finite number, which means a failure."""
    try:
        number = float(value) if isinstance(value, (bool, int, float)) else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def split_runs(records: Records) -> tuple[Records, dict[str, list[str]]]:
    """Split repeated measurements into one column per run; return the records and these columns.

    A tuner's file lists the runs of a row. In a table, the runs are the rows with the same
    configuration, in their order.
    """
    if records.repeats:
        lists: Mapping[str, Sequence[Sequence[Any]]] = records.repeats
    else:
        records, lists = _group_repeats(records)
    columns, units, names = dict(records.columns), dict(records.units), {}
    for name, rows in lists.items():
        longest = max(map(len, rows), default=0)
        names[name] = [f"{name} {RUN} {number}" for number in range(longest)]
        for number, column in enumerate(names[name]):
            columns[column] = [row[number] if number < len(row) else None for row in rows]
            units[column] = records.units.get(name, "")
        columns.pop(name, None)
    return replace(records, columns=columns, units=units), names


def _group_repeats(records: Records) -> tuple[Records, Mapping[str, Sequence[Sequence[Any]]]]:
    """Merge the rows of each configuration; return the records and the values of the runs.

    A configuration failed if all of its runs failed.
    """
    if not records.axes:
        raise DseError("runs are rows of one configuration: name the columns that vary with axes=")
    keys = list(zip(*(records.columns[axis] for axis in records.axes), strict=True))
    groups: dict[Any, list[int]] = {}
    for row, key in enumerate(keys):
        groups.setdefault(key, []).append(row)
    if len(groups) == len(keys):
        raise DseError(
            "no configuration was measured twice, so there are no runs: leave runs out, or name "
            f"fewer axes than {', '.join(records.axes)}"
        )
    first = [rows[0] for rows in groups.values()]
    measured = {
        name: [[column[row] for row in rows] for rows in groups.values()]
        for name, column in records.columns.items()
        if name not in records.axes and name not in records.labels
    }
    columns = {name: [column[row] for row in first] for name, column in records.columns.items()}
    status: list[str] = []
    for rows in groups.values() if records.status else ():
        reasons = [records.status[row] for row in rows]
        status.append(reasons[0] if all(reasons) else "")
    return replace(records, columns=columns, status=status), measured


def stack_runs(ds: xr.Dataset, names: Mapping[str, Sequence[str]]) -> xr.Dataset:
    """Stack the columns of each repeated quantity, one per run, along the dimension ``run``."""
    import xarray as xr

    for name, run_columns in names.items():
        parts = [ds[identifier(column)] for column in run_columns]
        if not parts or any(part.dtype.kind != "f" for part in parts):
            ds = ds.drop_vars([part.name for part in parts])
            continue
        about = {**parts[0].attrs, "long_name": name}
        array = np.stack([part.values for part in parts], axis=-1)
        whole = xr.Variable((*parts[0].dims, RUN), array, about)
        ds = ds.drop_vars([part.name for part in parts]).assign({identifier(name): whole})
    if RUN in ds.dims:
        about = {"long_name": "number of the run, in the order of the measurement"}
        ds = ds.assign_coords({RUN: (RUN, np.arange(ds.sizes[RUN]), about)})
        ds = ds.assign_attrs(axes=f"{ds.attrs['axes']} {RUN}")
    return ds


def to_dataset(records: Records, units: Mapping[str, str], shape: str, name: str) -> xr.Dataset:
    """Convert records to a Dataset; ``units`` override the units of the file.

    ``shape`` is ``"grid"``, ``"rows"`` or ``"auto"``. ``"auto"`` makes a grid if no configuration
    occurs twice and at least half of all combinations of axis values occur.
    """
    import xarray as xr

    rows = normalize_records(records, units)
    count = len(rows.status)
    axes = {a: _sorted_axis_values(column, rows.order.get(a)) for a, column in rows.axes.items()}
    sizes = {axis: len(values) for axis, values in axes.items()}
    cells = math.prod(sizes.values()) if axes else 0
    flat = None
    if axes and (shape == "grid" or (shape == "auto" and cells <= 2 * count)):
        if cells > _MAX_CELLS:
            raise DseError(
                f"a grid of {cells:,} combinations, of which {count:,} were measured, is too "
                "large: use shape='rows'"
            )
        flat = _cell_indices(rows, axes)
        order = np.argsort(flat, kind="stable")
        same = np.flatnonzero(flat[order][1:] == flat[order][:-1])
        twice = order[same[0] : same[0] + 2].tolist() if same.size else None
        if twice is not None and shape == "grid":
            at = ", ".join(f"{axis} = {v[twice[0]]}" for axis, (v, _) in rows.axes.items())
            raise DseError(
                f"rows {twice[0]} and {twice[1]} both measure {at}: a grid holds one of each; "
                "use shape='rows', or name further axes"
            )
        flat = None if twice is not None else flat
    dims: tuple[str, ...] = (CONFIGURATION,) if flat is None else tuple(axes)
    variables = dict(_variables(rows, dims, flat, tuple(sizes.values())))
    if flat is None:
        about = {"long_name": "row of the measurements"}
        coords: dict[str, Any] = {CONFIGURATION: (dims, np.arange(count), about)}
        coords |= {axis: (dims, *column) for axis, column in rows.axes.items()}
    else:
        coords = {axis: (axis, axes[axis], attrs) for axis, (_, attrs) in rows.axes.items()}
    attributes = _attributes(records, rows, dims, name, list(variables))
    return xr.Dataset(variables, coords=coords, attrs=attributes)


def _sorted_axis_values(column: Column, order: NDArray[Any] | None) -> NDArray[Any]:
    """Return the distinct values of an axis: numbers ascending, labels in order of appearance."""
    seen = column[0] if order is None else np.concatenate([order, column[0]])
    if seen.dtype.kind in "if":
        return np.unique(seen)
    _, first = np.unique(seen, return_index=True)
    return seen[np.sort(first)]


def _cell_indices(rows: MeasuredRows, axes: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
    index = []
    for axis, values in axes.items():
        order = np.argsort(values)
        index.append(order[np.searchsorted(values[order], rows.axes[axis][0])])
    return ravel(index, [len(values) for values in axes.values()])


def _variables(rows: MeasuredRows, dims: tuple[str, ...], flat: Any, shape: tuple[int, ...]) -> Any:
    def spread(values: NDArray[Any], empty: Any) -> NDArray[Any]:
        if flat is None:
            return values
        if values.dtype == np.int64 and flat.size < math.prod(shape):
            values = values.astype(np.float64)  # cells without a row get NaN
        full = np.empty(math.prod(shape), dtype=values.dtype)
        if flat.size < full.size:
            full[:] = empty
        full[flat] = values
        return full.reshape(shape)

    for name, (values, attrs) in rows.measurements.items():
        empty = "" if values.dtype.kind == "U" else np.nan
        yield name, (dims, spread(values, empty), attrs)
    reasons = list(rows.reasons)
    whole = flat is None or flat.size == math.prod(shape)
    reasons += [] if whole else [_UNMEASURED]
    about = {"long_name": "how the measurement of a configuration went"}
    about |= flag_attributes(dict(enumerate(reasons)))
    yield STATUS, (dims, spread(rows.status, len(rows.reasons)), about)
    about = {"long_name": "whether a configuration was measured", "conditions": "status is correct"}
    yield FEASIBLE, (dims, spread(rows.feasible, False), about)


def _attributes(
    records: Records, rows: MeasuredRows, dims: tuple[str, ...], name: str, outputs: list[str]
) -> dict[str, Any]:
    axes = dims if dims == tuple(rows.axes) else (*dims, *rows.axes)
    counts = np.bincount(rows.status, minlength=len(rows.reasons)).tolist()
    assumptions = [*records.assumptions, *rows.assumptions]
    return {
        "Conventions": "CF-1.11",
        "title": f"measurements of {name}",
        "axes": " ".join(axes),
        "study": json.dumps({"measured": name, "kind": records.kind, "outputs": outputs}),
        "configurations": len(rows.status),
        "statuses": json.dumps(dict(zip(rows.reasons, counts, strict=True))),
        **records.attributes,
        **({"notes": json.dumps(records.notes)} if records.notes else {}),
        **({"assumptions": json.dumps(assumptions)} if assumptions else {}),
        "simt_dse_version": version(),
    }
