"""Merge the values of a study with values from fits, workload and machine; record their origins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.catalog.entries import Entry, load_entries, machine, workload
from dse.inputs.assumed import AssumedInput
from sweeps.grid.axes import Axis
from sweeps.grid.build import build_grid
from sweeps.grid.grid import Leaf
from sweeps.grid.work_laws import LAW_READERS, contents, read_label
from symbolic.errors import DseError, UnitError, nearest_hint
from symbolic.expression import parse_value, rewrite_formula
from symbolic.file_access import FileScope, PathBase, base_folder
from symbolic.model import Model
from symbolic.ops import Node, references
from symbolic.quantities import Quantity
from symbolic.units import is_unit

if TYPE_CHECKING:
    import xarray as xr

    from sweeps.grid.grid import Grid


def find_invalid_values(
    entries_by_name: Mapping[str, Sequence[Entry]],
    set_values: Mapping[str, Any],
    axes: Sequence[Axis],
) -> dict[str, str]:
    """Return the counts that do not hold for a study's inputs, each with the reason."""
    changed = {**set_values, **{axis.name: axis for axis in axes}}
    changed |= {name: column for axis in axes for name, column in axis.columns.items()}
    reasons: dict[str, str] = {}
    pairs = [(name, entry) for name, entries in entries_by_name.items() for entry in entries]
    for name, entry in pairs:
        value = entry.values.get(name)
        for other, numbers in value.holds_for if value else ():
            in_file = entry.values.get(other)
            now = changed.get(other, in_file.value if in_file else None)
            if other not in changed if numbers is None else _is_always_among(now, numbers):
                continue
            if name in reasons:
                reasons[name] += f"; likewise for {entry.name}"
            elif numbers is None:
                formula = in_file.value if in_file else ""
                reasons[name] = (
                    f"{name} of the workload {entry.name} follows from {other} = {formula}, and "
                    f"the study gives {other} itself: give what is in this formula, count the "
                    "kernel for each block in one file (dse kernel --block X,Y --block X,Y --out "
                    f"FILE.toml), or give {name} yourself"
                )
            else:
                known = " or ".join(f"{number:.15g}" for number in numbers)
                reasons[name] = (
                    f"{name} of the workload {entry.name} was counted for {other} = {known} "
                    f"alone, and the study gives {other} other values: count the kernel again with "
                    "these values (dse kernel --block for each, in one file), leave "
                    f"{other} at {known}, or give {name} yourself"
                )
            break  # one reason for each workload
    return reasons


def _is_always_among(value: Any, numbers: Sequence[float]) -> bool:
    if isinstance(value, Leaf):
        value = value.array
    if isinstance(value, Axis):
        value = value.values
    if isinstance(value, (Node, str)) or value is None:
        return False
    return bool(np.isin(value, numbers).all())


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedInputs:
    """Values from fits, with their sources and, where known, their units.

    ``use_shipped`` is False if the shipped fits of machines are not to be used.
    """

    values: Mapping[str, Any]
    sources: Mapping[str, str]
    units: Mapping[str, str]
    use_shipped: bool = True

    def check(self, row: Quantity) -> None:
        """Raise an error if the value of a quantity was fitted in another unit."""
        unit = self.units.get(row.name, row.unit)
        if unit != row.unit:
            raise UnitError(
                f"{row.name} was fitted in {unit or 'plain numbers'}: expected "
                f"{row.unit or 'plain numbers'}, as files of fits store it; fit again"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the values and sources in the form that the canonical text of a study contains."""
        tree = {"values": dict(self.values), "sources": dict(self.sources)}
        return tree if self.use_shipped else {**tree, "use_shipped": False}


_ENTRIES = {"machine": machine, "workload": workload}


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyInputs:
    """Arguments of :func:`sweeps.grid.build.build_grid`, and the origin of each value.

    An origin is a text, or a mapping with a text for each label of the axis that supplies the
    value. ``laws`` maps labels such as file names to the content of the law. ``entries`` are the
    names of machine and workload, unless they are axes. ``invalid_values`` maps names to the reason
    why a value from a file is invalid. Counts hold only for the present values of the quantities
    ``counted_for``. ``assumed`` are the numbers that nobody published, with their spreads.
    ``shipped_fits`` maps quantities to the files of shipped fits.
    """

    model: Model
    axes: tuple[Axis, ...]
    values: Mapping[str, float | Node | Leaf]
    labels: Mapping[str, str]
    switches: Mapping[str, str]
    tables: Mapping[str, Mapping[str, Sequence[Any]]]
    origins: Mapping[str, str | Mapping[str, str]]
    assumptions: tuple[str, ...]
    laws: Mapping[str, str]
    entries: Mapping[str, str]
    invalid_values: Mapping[str, str] = field(default_factory=dict)
    shipped_fits: Mapping[str, str] = field(default_factory=dict)
    counted_for: frozenset[str] = frozenset()
    assumed: tuple[AssumedInput, ...] = ()

    @property
    def fixed_labels(self) -> dict[str, str]:
        """Labels that are the same in all configurations, including machine and workload."""
        return {**self.entries, **self.labels}

    def inputs_of(self, names: set[str]) -> set[str]:
        """Return the quantities in the formulas that give values to quantities, and the names."""
        cells = [self.values.get(name) for name in names]
        cells += [x for table in self.tables.values() for n in names for x in table.get(n, ())]
        more = {*references(*(x for x in cells if isinstance(x, Node)))} - names
        return self.inputs_of(names | more) if more else names

    def build_grid(self, **changes: Any) -> Grid:
        """Return the grid of the inputs; ``changes`` replace or add arguments."""
        names = ("axes", "values", "switches", "tables", "invalid_values")
        given = {"labels": self.fixed_labels} | {name: getattr(self, name) for name in names}
        return build_grid(self.model, **{**given, **changes})


def entry_name(kind: str, value: object) -> str | None:
    """Return the name or path of a machine or workload as text; raise DseError if it is neither."""
    if value is not None and not isinstance(value, (str, PathLike)):
        raise DseError(f"{kind} = {value!r}: expected a name or a path")
    return None if value is None else fspath(value)


def workload_entries(model: Model, workloads: object, folder: PathBase = None) -> list[Entry]:
    """Return the workloads of a study: one name, an axis of names, or names with their weights."""
    if isinstance(workloads, Mapping):
        workloads = workloads.get("values")
    names = workloads if isinstance(workloads, (list, tuple)) else [workloads]
    known = [name for name in names if isinstance(name, str)]
    return [workload(name, folder=folder, quantities=model.quantities) for name in known]


def with_declared(model: Model, workloads: object, folder: PathBase = None) -> Model:
    """Return the model with the additional quantities that its workloads declare."""
    declared: dict[str, Quantity] = {}
    for entry in workload_entries(model, workloads, folder):
        declared |= {row.name: row for row in entry.declared}
    for name, row in declared.items():
        if model.quantities.get(name, row) != row:
            raise DseError(f"the workload declares {name}, which {model.name} has: rename one")
    return replace(model, quantities={**model.quantities, **declared}) if declared else model


def by_quantity_name(names: Mapping[str, str], value: Any) -> Any:
    """Replace symbols by ``names`` of quantities in formulas, lists, and the keys of mappings."""
    if isinstance(value, str):  # a symbol that is also a unit stands alone
        known = {symbol: name for symbol, name in names.items() if not is_unit(symbol)}
        text = names.get(value) or rewrite_formula(value, known)
        return value if text == value else text  # a statistic is more than its text
    if isinstance(value, (list, tuple)):
        return type(value)(by_quantity_name(names, each) for each in value)
    if not isinstance(value, Mapping) or hasattr(value, "dims"):
        return value
    resolved = {name: by_quantity_name(names, name) for name in value}
    if len({*resolved.values()}) < len(value):
        texts = [f"{n} ({full})" if full != n else n for n, full in resolved.items()]
        raise DseError(f"a quantity is given twice, among {', '.join(texts)}: keep one of them")
    each = [by_quantity_name(names, v) if isinstance(v, Mapping) else v for v in value.values()]
    return dict(zip(resolved.values(), each, strict=True))


def merge_inputs(
    model: Model,
    axes: Sequence[Axis],
    *,
    entries: Mapping[str, str | None],
    set_values: Mapping[str, Any],
    folder: PathBase = None,
    replaced: Mapping[str, Leaf | None] = {},
    fit_inputs: FittedInputs | None = None,
) -> StudyInputs:
    """Merge the values of a study. Precedence: set and axes, then fits, workload, machine.

    ``entries`` names the machine and the workload, unless they are axes. ``replaced`` has
    the quantities that the caller supplies, whose values in files are ignored (None: unknown).
    """
    set_values = by_quantity_name(model.names_by_symbol, set_values)
    varied = [name for axis in axes for name in {axis.name: None, **axis.columns}]
    for name in varied:
        if varied.count(name) > 1:
            raise DseError(f"{name} is given by two axes: keep one of them")
        if name in set_values:
            raise DseError(f"{name} is an axis and is set: keep one of them")
    values: dict[str, float | Node | Leaf] = {}
    labels: dict[str, str] = {}
    switches: dict[str, str] = {}
    tables: dict[str, dict[str, list[Any]]] = {}
    origins: dict[str, str | Mapping[str, str]] = dict.fromkeys(entries, "set by the study")
    origins |= dict.fromkeys(varied, "axis of the study")
    assumptions: list[str] = []
    assumed: list[AssumedInput] = []
    shipped_fits: dict[str, str] = {}
    counted: dict[str, list[Entry]] = {}
    by_name = {axis.name: axis for axis in axes}
    fits = {} if fit_inputs is None else fit_inputs.values
    fits = {
        name: value for name, value in fits.items() if name not in {*set_values, *varied, *replaced}
    }
    for kind, load in _ENTRIES.items():
        single = entries.get(kind)
        names = by_name[kind].labels if kind in by_name else (single,) if single else ()
        loaded = load_entries(partial(load, folder=folder, quantities=model.quantities), names)
        if fit_inputs is not None and not fit_inputs.use_shipped:
            loaded = [entry.without_fits() for entry in loaded]
        supplied = dict.fromkeys(name for entry in loaded for name in entry.values)
        for name in supplied:
            if name in set_values or name in varied or name in replaced or name in fits:
                continue
            row = model.quantities[name]
            if row.is_switch and not any(name in eq.when for eq in model.equations):
                continue
            for label, entry in zip(names, loaded, strict=True):
                value = entry.values.get(name)
                if value is not None and value.fit:
                    shipped_fits[name] = value.fit
                if value is None or not value.assumed:
                    continue
                assumptions.append(f"{name} of {entry.name}: {value.assumed}")
                if value.spread:
                    number = _set_value(row, value.value, model, by_name)
                    row_of = AssumedInput(
                        name=name,
                        kind=kind,
                        entry=str(label),
                        value=_number_with_spread(name, number),
                        spread=value.spread,
                        unit=row.unit,
                        why=value.assumed,
                    )
                    assumed.append(row_of)
            counted[name] = loaded
            of = switches if row.is_switch else labels
            missing = of.pop(name, row.default if row.is_switch else None)
            column: list[Any] = [
                _entry_value(row, each, folder, model, by_name) if name in each.values else missing
                for each in loaded
            ]
            if row.is_label and len({*column}) == 1:
                of[name] = column[0]
                origins[name] = next(_origin(each, name) for each in loaded if name in each.values)
                continue
            if kind not in by_name:
                values[name] = column[0]
                for table in tables.values():
                    table.pop(name, None)
                origins[name] = _origin(loaded[0], name)
                continue
            other = next((k for k, t in tables.items() if name in t), None)
            if other is not None:
                raise DseError(
                    f"{name} is given by both axes {other} and {kind}: set it, or remove it from "
                    "the files of one"
                )
            below = values.pop(name, None)
            if isinstance(below, (int, float, Node)):
                column = [below if value is None else value for value in column]
            tables.setdefault(kind, {})[name] = column
            origins[name] = {
                label: _origin(entry, name)
                for label, entry in zip(names, loaded, strict=True)
                if name in entry.values
            }
    for name, value in {**fits, **set_values}.items():
        if not isinstance(name, str):
            raise DseError(f"set has the name {name!r}: expected the name of a quantity as text")
        row = model.quantity(name)
        if fit_inputs is not None and name in fits:
            fit_inputs.check(row)
        if row.is_label:
            if not isinstance(value, (str, bool)) and name not in LAW_READERS:
                raise DseError(f"{name} = {value!r}: expected a label")
            (switches if row.is_switch else labels)[name] = read_label(name, value, folder)
        else:
            value = by_quantity_name(model.names_by_symbol, value)
            values[name] = _set_value(row, value, model, by_name)
        origins[name] = (
            fit_inputs.sources[name] if fit_inputs and name in fits else "set by the study"
        )
    cells = [cell for table in tables.values() for column in table.values() for cell in column]
    laws = contents([*labels.values(), *(x for axis in axes for x in axis.labels), *cells])
    for axis in axes:
        if any(label in laws for label in axis.labels):
            origins[axis.name] = {t: laws.get(t, "axis of the study") for t in axis.labels}
    for name, label in labels.items():
        if label in laws:
            origins[name] = f"{origins[name]}: {laws[label]}"
    return StudyInputs(
        model=model,
        axes=tuple(axes),
        values=values,
        labels=labels,
        switches=switches,
        tables=tables,
        origins=origins,
        assumptions=tuple(dict.fromkeys(assumptions)),
        assumed=tuple(dict.fromkeys(assumed)),
        shipped_fits=shipped_fits,
        laws=laws,
        entries={kind: name for kind, name in entries.items() if name and kind not in by_name},
        counted_for=frozenset(
            other
            for name, each in counted.items()
            for entry in each
            for other, _ in (entry.values[name].holds_for if name in entry.values else ())
        ),
        invalid_values=find_invalid_values(
            counted, {**{n: values.get(n) for n in (*fits, *set_values)}, **replaced}, axes
        ),
    )


def _number_with_spread(name: str, value: float | Node | Leaf) -> float:
    if not isinstance(value, (int, float)):
        raise DseError(f"{name} is a formula and has a spread: give the spread to its inputs")
    return float(value)


def _origin(entry: Entry, name: str) -> str:
    value = entry.values[name]
    return f"{entry.name}: {value.source or 'assumed, ' + value.assumed}"


def _entry_value(
    row: Quantity, entry: Entry, folder: PathBase, model: Model, axes: Mapping[str, Axis]
) -> float | Node | Leaf | str:
    """Return the value that a file gives to a quantity: a number, a formula, or a label."""
    value = entry.values[row.name].value
    if not row.is_label:
        return _set_value(row, value, model, axes)
    # restrict the paths, because the user did not give them
    if not isinstance(folder, FileScope):
        folder = FileScope(base_folder(folder), entry.path.parent)
    return read_label(row.name, str(value), folder)


def _set_value(
    row: Quantity, value: Any, model: Model, axes: Mapping[str, Axis]
) -> float | Node | Leaf:
    where = "set"
    if isinstance(value, str):
        parsed = parse_value(value, row, model.quantities)
        if not isinstance(parsed, Node):
            row.check(parsed, where)
        return parsed
    if hasattr(value, "dims") and hasattr(value, "coords"):
        return _table(row, value, axes)
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise DseError(
            f"{row.name} = {value!r}: expected a number, a text with a unit, a formula, or a "
            "DataArray over axes of the study; several values belong in axes"
        )
    try:
        number = float(value)
    except OverflowError:
        raise DseError(f"{row.name} is beyond 1e308: give a smaller number") from None
    row.check(number, where)
    return number


def _table(row: Quantity, array: xr.DataArray, axes: Mapping[str, Axis]) -> Leaf:
    """Convert a DataArray to a leaf whose axes and coordinates have the order of the study."""
    for dim in array.dims:
        if dim not in axes:
            raise DseError(
                f"{row.name} is a table over {', '.join(map(str, array.dims))}, and {dim!r} is no "
                f"axis of the study{nearest_hint(str(dim), axes)}"
            )
    for name in [axis for axis in axes if axis in array.dims]:
        axis = axes[name]
        if name not in array.coords:
            if array.sizes[name] != axis.size:
                raise DseError(
                    f"{row.name} has {array.sizes[name]} values along {name}, the axis has "
                    f"{axis.size}: give the table coordinates, or one value for each"
                )
            continue
        known = {value: place for place, value in enumerate(array.coords[name].values.tolist())}
        missing = [value for value in axis.coordinate.tolist() if value not in known]
        if missing:
            raise DseError(f"{row.name} has no value at {name} = {missing[0]}: extend the table")
        array = array.isel({name: [known[value] for value in axis.coordinate.tolist()]})
    order = [axis for axis in axes if axis in array.dims]
    numbers = np.array(array.transpose(*order).values, order="C")  # a copy: the input may change
    if numbers.dtype.kind not in "iuf":
        raise DseError(f"{row.name} is a table of {numbers.dtype}: expected numbers")
    numbers = numbers.astype(np.float64, copy=False)
    row.check(numbers, "a table in set")
    return Leaf(axes=tuple(order), array=numbers)


def copy_nested(value: Any) -> Any:
    """Return a copy of nested mappings, lists and arrays."""
    if isinstance(value, Mapping):
        return {name: copy_nested(item) for name, item in value.items()}
    return value.copy() if hasattr(value, "copy") else value
