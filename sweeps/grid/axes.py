"""Axes of a grid: their names, values, labels and weights, read from study files or calls."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.work_laws import read_label
from sweeps.runtime.resources import check_memory
from symbolic.answer import value_text
from symbolic.errors import DseError, UnitError, UnknownNameError, nearest_hint
from symbolic.expression import parse_value
from symbolic.file_access import PathBase
from symbolic.quantities import TABLE, Quantity

_FORMS = (
    "a list, a range, an array, { start, stop, step }, { linspace = [start, stop, count] }, "
    "{ geomspace = [start, stop, count] }, { powers_of_two = [start, stop] } "
    "or { zip = { name = list, ... } }"
)
#: Maximum number of values of an axis. Values, coordinate and sort order take 0.5 GiB each.
_MAX_VALUES = 2**26
_MAX_EXACT_INT = 2.0**53  # floats represent all integers up to this limit exactly
_FINITE = np.finfo(np.float64).max.item()
_RESERVED_NAMES = ("feasible", "machine", "objective", "point", "rank", "workload")


def _number(value: Any, row: Quantity, where: str) -> float | int:
    problem = f"{where} holds {value!r}: expected a number, with or without a unit"
    if isinstance(value, str):
        try:
            return float(parse_value(value, row, {}))  # without names, a formula raises an error
        except UnitError as error:
            if name := next((n for n in re.findall(r"[A-Za-z_]\w*", value) if n in TABLE), ""):
                way = f'give it under [set] ({row.name} = "{value}"), in a study for each formula'
                problem = f"{where} holds {value!r}, a formula of {name}, and takes numbers"
                raise DseError(f"{problem}: {way}") from None
            raise UnitError(f"{where}: {error}") from None
        except DseError:
            raise DseError(problem) from None
    numeric = isinstance(value, (int, float, np.integer, np.floating))
    if not numeric or isinstance(value, bool):
        raise DseError(problem)
    number: float | int = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, int) and abs(number) > _MAX_EXACT_INT:
        try:
            return float(number)
        except OverflowError:
            raise DseError(f"{where} holds a number beyond 1e308: give a smaller one") from None
    return number


def _check_finite(values: Sequence[float], where: str, form: str) -> None:
    if not all(map(math.isfinite, values)):
        shown = ", ".join(map(str, values))
        raise DseError(f"{where}: {form} of {shown}: expected finite numbers")


def _triple(spec: Any, row: Quantity, where: str, form: str) -> tuple[float, float, int]:
    if not isinstance(spec, Sequence) or isinstance(spec, str) or len(spec) != 3:
        raise DseError(f"{where}: {form} = {spec!r}, expected [start, stop, count]")
    start, stop = (_number(value, row, where) for value in spec[:2])
    _check_finite((start, stop), where, form)
    count = spec[2]
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise DseError(f"{where}: the count of {form} is {count!r}, expected a whole number >= 1")
    _check_count(count, where)
    return start, stop, count


def _check_count(count: float, where: str) -> None:
    if count > _MAX_VALUES:
        many = f"{count:.3g}" if count < 1e308 else "over 1e308"
        many = f"{count:,.0f}" if count < 1e15 else many
        raise DseError(
            f"{where} would hold {many} values, and an axis may hold {_MAX_VALUES:,}: give a "
            "smaller count, a larger step, or a part of its range"
        )
    check_memory(24 * count, f"{where} would hold {count:,.0f} values, which", "give it fewer")


def _space_values(
    make: Callable[..., NDArray[Any]], start: float, stop: float, count: int
) -> NDArray[Any]:
    with np.errstate(over="ignore", invalid="ignore"):
        values = make(start, stop, count)
    if np.isfinite(values).all():
        return values
    return 2 * make(start / 2, stop / 2, count)


def _from_mapping(spec: Mapping[str, Any], row: Quantity, where: str) -> NDArray[Any]:
    keys = set(spec)
    if keys == {"linspace"}:
        return _space_values(np.linspace, *_triple(spec["linspace"], row, where, "linspace"))
    if keys == {"geomspace"}:
        start, stop, count = _triple(spec["geomspace"], row, where, "geomspace")
        if start <= 0 or stop <= 0:
            raise DseError(f"{where}: geomspace needs positive ends, was given {start}, {stop}")
        return _space_values(np.geomspace, start, stop, count)
    if keys == {"powers_of_two"}:
        ends = spec["powers_of_two"]
        if not isinstance(ends, Sequence) or isinstance(ends, str) or len(ends) != 2:
            raise DseError(f"{where}: powers_of_two = {ends!r}, expected [start, stop]")
        low, high = (_number(value, row, where) for value in ends)
        _check_finite((low, high), where, "powers_of_two")
        if low <= 0 or math.log2(low) % 1:
            raise DseError(f"{where}: powers_of_two starts at {low}, expected a power of two")
        doublings = math.frexp(high)[1] - math.frexp(low)[1] if high > 0 else -1
        powers = np.array([math.ldexp(low, k) for k in range(doublings + 1)])
        return powers.astype(np.int64) if isinstance(low, int) and isinstance(high, int) else powers
    if {"start", "stop"} <= keys <= {"start", "stop", "step"}:
        start, stop = (_number(spec[end], row, where) for end in ("start", "stop"))
        step = _number(spec.get("step", 1), row, where)
        if step == 0 or not all(map(math.isfinite, (start, stop, step))):
            raise DseError(
                f"{where}: start {start}, stop {stop}, step {step} make no range: expected finite "
                "numbers and a step other than 0"
            )
        steps = (stop - start) / step
        if steps < -1e-9:
            raise DseError(f"{where} is empty: {start} + {step} leads away from stop {stop}")
        _check_count(steps + 1, where)
        if all(isinstance(value, int) for value in (start, stop, step)):
            return _integer_array(range(int(start), int(stop) + (1 if step > 0 else -1), int(step)))
        count = math.floor(steps * (1 + 1e-12) + 1e-9) + 1
        values = start + step * np.arange(count)
        if count and abs(values[-1] - stop) <= 1e-9 * abs(step):
            values[-1] = stop
        return values
    if "between" in keys:
        raise _interval_error(spec["between"], row, where)
    known = ("start", "stop", "step", "linspace", "geomspace", "powers_of_two", "zip")
    odd = next((key for key in spec if key not in known), None)
    hint = f"; {odd!r} is no key of an axis{nearest_hint(odd, known)}" if odd else ""
    raise DseError(f"{where} = {dict(spec)!r} is no axis{hint}; expected {_FORMS}")


def _interval_error(ends: Any, row: Quantity, where: str) -> DseError:
    low, high = "low", "high"
    if isinstance(ends, Sequence) and not isinstance(ends, str) and len(ends) == 2:
        low, high = (f'"{end}"' if isinstance(end, str) else str(end) for end in ends)
    dense = f"linspace = [{low}, {high}, 1000001]"
    if row.domain.whole:
        dense = f"start = {low}, stop = {high}"
    return DseError(
        f"{where}: between is for intervals, and an axis is a list of values: write a dense grid, "
        f"such as {row.name} = {{ {dense} }}"
    )


def _integer_array(values: range) -> NDArray[Any]:
    """Return a range as integers; as floats if a value is larger than _MAX_EXACT_INT."""
    wide = bool(values) and _has_inexact_ints((values[0], values[-1]))
    return np.fromiter(values, np.float64 if wide else np.int64, len(values))


def _has_inexact_ints(values: Any) -> bool:
    return bool(np.any(np.abs(np.asarray(values, dtype=np.float64)) > _MAX_EXACT_INT))


def parse_numbers(spec: Any, row: Quantity, where: str) -> NDArray[Any]:
    """Return the values of a numeric axis; integers stay integers."""
    if isinstance(spec, Mapping):
        array = _from_mapping(spec, row, where)
    elif isinstance(spec, range):
        if spec:
            _number(spec[0], row, where)
            _number(spec[-1], row, where)
            _check_count((spec[-1] - spec[0]) // spec.step + 1, where)
        array = _integer_array(spec)
    elif hasattr(spec, "__array__"):
        array = np.asarray(spec)
        if array.ndim != 1 or array.dtype.kind not in "iuf":
            raise DseError(
                f"{where} is an array of shape {array.shape} and type {array.dtype}: "
                "expected one dimension of numbers"
            )
        real = array.dtype.kind == "f" or _has_inexact_ints(array)
        array = array.astype(np.float64 if real else np.int64)
    elif isinstance(spec, Sequence) and not isinstance(spec, str):
        numbers = [_number(value, row, where) for value in spec]
        whole = all(isinstance(value, int) for value in numbers)
        array = np.array(numbers, dtype=np.int64 if whole else np.float64)
    else:
        raise DseError(f"{where} = {spec!r} is no axis: expected {_FORMS}; put one value under set")
    if row.domain.whole and array.dtype.kind == "f":
        exact = (np.floor(array) == array) & (np.abs(array) <= _MAX_EXACT_INT)
        return array.astype(np.int64) if np.all(exact) else array
    return array


def normalize_weights(weights: Any, count: int, where: str) -> NDArray[np.float64]:
    """Scale weights to a sum of 1; raise an error unless each value has a finite weight >= 0."""
    if isinstance(weights, (str, Mapping)) or not hasattr(weights, "__len__"):
        raise DseError(f"{where}: weights = {weights!r}, expected a list of numbers")
    if len(weights) != count:
        raise DseError(f"{where} has {count} values and {len(weights)} weights: give one per value")
    for weight in weights:
        number = isinstance(weight, (int, float, np.integer, np.floating))
        if not number or isinstance(weight, bool) or not 0 <= weight <= _FINITE:
            raise DseError(f"{where}: the weight {weight!r} is no finite number of at least 0")
    result = np.array(weights, dtype=np.float64)
    if not result.any():
        raise DseError(f"{where}: all weights are 0: give one value a weight above 0")
    return np.asarray(result / math.fsum(result))


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One dimension of a grid.

    ``kind`` is ``"number"``, ``"label"`` (categories; ``values`` are their indices), ``"switch"``
    (labels that select equations; each has a separate loop nest), ``"zip"`` (``columns`` of several
    quantities vary together) or ``"draw"`` (``columns`` of random quantities). Datasets show
    ``coordinate``. ``weights`` for statistics sum to 1; None means equal weights. Draws consist of
    ``replicates`` independent samples of equal length, one after the other. ``random_ranges`` has
    two ranges (smallest, largest) for each random quantity: of the draws, and of the whole law.
    """

    name: str
    kind: str
    coordinate: NDArray[Any]
    values: NDArray[np.float64]
    labels: tuple[str, ...] = ()
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    weights: NDArray[np.float64] | None = None
    replicates: int = 1
    random_ranges: Mapping[str, tuple[tuple[float, float], tuple[float, float]]] = field(
        default_factory=dict
    )

    @property
    def size(self) -> int:
        """Return the number of values."""
        return len(self.coordinate)

    @property
    def value_weights(self) -> NDArray[np.float64]:
        """Return the weight of each value; the sum is 1."""
        return np.full(self.size, 1 / self.size) if self.weights is None else self.weights

    @property
    def default_index(self) -> int:
        """Return the default index: the first value, or the draw that is nearest to all medians."""
        if self.kind != "draw":
            return 0
        columns = np.stack([np.asarray(column, dtype=float) for column in self.columns.values()])
        ranks = columns.argsort(axis=1).argsort(axis=1) - (columns.shape[1] - 1) / 2
        return int(np.square(ranks).sum(axis=0).argmin())

    def position(self, value: Any, quantities: Mapping[str, Quantity]) -> int:
        """Return the index of a value or label; if it is unknown, the error names the nearest."""
        if self.labels:
            text = value if isinstance(value, str) else read_label(self.name, value)
            if text in self.labels:
                return self.labels.index(text)
            raise DseError(
                f"{text!r} is not on the axis {self.name}{nearest_hint(text, self.labels)}; "
                f"it holds {_preview(self.labels)}"
            )
        if isinstance(value, str) and self.name in quantities:
            value = parse_value(value, quantities[self.name], {})
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise DseError(f"{value!r} is no value of the axis {self.name}") from None
        values = self.coordinate if self.kind == "zip" else self.values
        index = int(np.argmin(np.abs(values - number)))
        if not math.isclose(values[index], number, rel_tol=1e-9, abs_tol=0.0):
            unit, near = getattr(quantities.get(self.name), "unit", ""), self.coordinate[index]
            given = value_text(number, unit)
            if math.isnan(number) or given == value_text(near, unit):  # too close to be rounded
                unit, given = "", str(value)
            raise DseError(
                f"{self.name} = {given} is not on its axis; the nearest value is "
                f"{_preview([near], unit)}, and the axis holds {_preview(self.coordinate, unit)}"
            )
        return index


def _preview(values: Sequence[Any] | NDArray[Any], unit: str = "") -> str:
    texts = [value_text(value, unit) if unit else str(value) for value in values[:8]]
    return ", ".join(texts) + (f", ... ({len(values)} in all)" if len(values) > 8 else "")


def _labels(spec: Any, row: Quantity, where: str, folder: PathBase = None) -> tuple[str, ...]:
    if isinstance(spec, str) or not isinstance(spec, Sequence):
        raise DseError(f"{where} = {spec!r}: expected a list of labels")
    labels = tuple(read_label(row.name, value, folder, f"{where} holds") for value in spec)
    for label in labels if row.labels else ():
        if label not in (row.labels or ()):
            raise DseError(
                f"{where} holds {label!r}, which is none of {_preview(row.labels or ())}"
                f"{nearest_hint(label, row.labels or ())}"
            )
    return labels


def _check_distinct(values: Sequence[Any] | NDArray[Any], where: str) -> None:
    if not len(values):
        raise DseError(f"{where} is empty: give it at least one value")
    if isinstance(values, np.ndarray):
        ordered = np.sort(values)
        if ordered.size < 2 or not np.any(ordered[1:] == ordered[:-1]):
            return
    seen: dict[Any, int] = {}
    for place, value in enumerate(values):
        if value in seen:
            raise DseError(f"{where} holds {value} twice, at {seen[value]} and {place}: remove one")
        seen[value] = place


def parse_axis(
    name: str, spec: Any, quantities: Mapping[str, Quantity], folder: PathBase = None
) -> Axis:
    """Return the axis that a study file or call specifies; a mapping may have the key ``weights``.

    Relative paths of laws start at ``folder``.

    >>> from symbolic.quantities import TABLE
    >>> parse_axis("threads_per_block", {"start": 32, "stop": 128, "step": 32}, TABLE).coordinate
    array([ 32,  64,  96, 128])
    """
    where = f"the axis {name}"
    if not isinstance(name, str):
        raise DseError(f"{where} has no name: expected the name of a quantity, as text")
    if isinstance(spec, Mapping) and "weights" in spec:
        rest = {key: value for key, value in spec.items() if key != "weights"}
        plain = parse_axis(name, rest, quantities, folder)
        return replace(plain, weights=normalize_weights(spec["weights"], plain.size, where))
    if isinstance(spec, Mapping) and set(spec) == {"values"}:
        return parse_axis(name, spec["values"], quantities, folder)
    if isinstance(spec, Mapping) and "zip" in spec:
        return _zip(name, spec, quantities)
    if name in ("machine", "workload"):
        labels = _labels(spec, Quantity(name=name, labels=()), where)
        return _categories(name, "label", labels, where)
    row = quantities.get(name)
    if row is None:
        known = [*quantities, "machine", "workload"]
        raise UnknownNameError(f"{where} is no known quantity{nearest_hint(name, known)}")
    if row.labels is not None:
        kind = "switch" if row.is_switch else "label"
        return _categories(name, kind, _labels(spec, row, where, folder), where)
    array = parse_numbers(spec, row, where)
    _check_distinct(array, where)
    row.check(array, where)
    return Axis(name=name, kind="number", coordinate=array, values=array.astype(np.float64))


def _categories(name: str, kind: str, labels: tuple[str, ...], where: str) -> Axis:
    _check_distinct(labels, where)
    return Axis(
        name=name,
        kind=kind,
        coordinate=np.array(labels),
        values=np.arange(len(labels), dtype=np.float64),
        labels=labels,
    )


def _zip(name: str, spec: Mapping[str, Any], quantities: Mapping[str, Quantity]) -> Axis:
    where = f"the axis {name}"
    columns = spec["zip"]
    if set(spec) != {"zip"} or not isinstance(columns, Mapping) or not columns:
        raise DseError(f"{where} = {dict(spec)!r}: expected {{ zip = {{ name = list, ... }} }}")
    if name in quantities and name not in columns:
        raise DseError(f"{where} zips other quantities: give it a name that is no quantity")
    if not name.isidentifier() or name in _RESERVED_NAMES:
        raise DseError(
            f"{where} zips quantities: its name must be one word of letters, digits and _, and "
            f"none of {', '.join(_RESERVED_NAMES)}"
        )
    arrays: dict[str, NDArray[Any]] = {}
    for column, values in columns.items():
        row = quantities.get(column)
        if row is None:
            hint = nearest_hint(column, quantities)
            raise UnknownNameError(f"{where} zips {column!r}, no quantity{hint}")
        if row.is_label:
            raise DseError(f"{where} zips {column}, whose values are labels: zip only numbers")
        arrays[column] = parse_numbers(values, row, f"{where}, column {column},")
        row.check(arrays[column], f"{where}, column {column}")
    lengths = {column: len(array) for column, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{column} has {length}" for column, length in lengths.items())
        raise DseError(f"{where} zips lists of different lengths: {shown}")
    rows = list(zip(*(array.tolist() for array in arrays.values()), strict=True))
    _check_distinct(rows, where)
    index = np.arange(len(rows), dtype=np.int64)
    return Axis(
        name=name,
        kind="zip",
        coordinate=arrays.get(name, index),
        values=index.astype(np.float64),
        columns=arrays,
    )
