"""The axes of a grid: what varies, in which order, over which values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.forms import numbers, shares
from sweeps.grid.laws import read_label
from symbolic.errors import DseError, UnknownNameError, nearest
from symbolic.expression import parse_value
from symbolic.quantities import Quantity
from symbolic.reach import Base

__all__ = ["Axis", "parse_axis"]

_TAKEN = ("feasible", "machine", "objective", "point", "rank", "workload")


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One dimension of a grid.

    ``kind`` is ``"number"``, ``"label"`` (categories, as an integer index), ``"switch"`` (each
    label has a nest of its own), ``"zip"`` (several quantities vary together) or ``"draw"`` (so do
    those that are random). ``values`` are the stored numbers (the index for categories); ``labels``
    the categories; ``columns`` the quantities of a zip. ``coordinate`` is what the dataset shows.
    Statistics weigh its values by ``weights``, which sum to one; all count alike where there are
    none. Of ``replicates`` of draws, one after another and of one length, each is a sample by
    itself; ``spans`` are the least and largest value that is drawn of each random quantity, and
    those of its law.
    """

    name: str
    kind: str
    coordinate: NDArray[Any]
    values: NDArray[np.float64]
    labels: tuple[str, ...] = ()
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    weights: NDArray[np.float64] | None = None
    replicates: int = 1
    spans: Mapping[str, tuple[tuple[float, float], tuple[float, float]]] = field(
        default_factory=dict
    )

    @property
    def size(self) -> int:
        """How many values it has."""
        return len(self.coordinate)

    @property
    def unsaid(self) -> int:
        """Where a point stands that does not say: at the first value, of draws the most central."""
        if self.kind != "draw":
            return 0
        columns = np.stack([np.asarray(column, dtype=float) for column in self.columns.values()])
        ranks = columns.argsort(axis=1).argsort(axis=1) - (columns.shape[1] - 1) / 2
        return int(np.square(ranks).sum(axis=0).argmin())

    def position(self, value: Any, quantities: Mapping[str, Quantity]) -> int:
        """The index of a value or label, or an error that names the nearest."""
        if self.labels:
            text = value if isinstance(value, str) else read_label(self.name, value)
            if text in self.labels:
                return self.labels.index(text)
            raise DseError(
                f"{text!r} is not on the axis {self.name}{nearest(text, self.labels)}; "
                f"it holds {_shown(self.labels)}"
            )
        if isinstance(value, str) and self.name in quantities:
            value = parse_value(value, quantities[self.name], {})
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise DseError(f"{value!r} is no value of the axis {self.name}") from None
        held = self.coordinate if self.kind == "zip" else self.values
        index = int(np.argmin(np.abs(held - number)))
        if not math.isclose(held[index], number, rel_tol=1e-9, abs_tol=0.0):
            raise DseError(
                f"{self.name} = {value} is not on its axis; the nearest value is "
                f"{self.coordinate[index]}, and the axis holds {_shown(self.coordinate)}"
            )
        return index


def _shown(values: Sequence[Any] | NDArray[Any]) -> str:
    texts = [str(value) for value in values[:8]]
    return ", ".join(texts) + (f", ... ({len(values)} in all)" if len(values) > 8 else "")


def _labels(spec: Any, row: Quantity, where: str, folder: Base = None) -> tuple[str, ...]:
    if isinstance(spec, str) or not isinstance(spec, Sequence):
        raise DseError(f"{where} = {spec!r}: expected a list of labels")
    labels = tuple(read_label(row.name, value, folder, f"{where} holds") for value in spec)
    for label in labels if row.labels else ():
        if label not in (row.labels or ()):
            raise DseError(
                f"{where} holds {label!r}, which is none of {_shown(row.labels or ())}"
                f"{nearest(label, row.labels or ())}"
            )
    return labels


def _distinct(values: Sequence[Any] | NDArray[Any], where: str) -> None:
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
    name: str, spec: Any, quantities: Mapping[str, Quantity], folder: Base = None
) -> Axis:
    """Read one axis as a study or a call gives it.

    Parameters
    ----------
    name : str
        A quantity, ``machine`` or ``workload``, or any name for a zip of several quantities.
    spec : object
        A list (numbers, numbers with units, labels), range or one-dimensional array; a mapping
        ``start``/``stop``/``step`` (stop inclusive), ``linspace``, ``geomspace``,
        ``powers_of_two``, ``values`` (any of these) or ``zip`` (a mapping from quantities to lists
        of one length); beside any of these ``weights``, by which statistics weigh the values.
    quantities : mapping of str to Quantity
        The rows that may be named.
    folder : Path or Reach, optional
        The folder against which the paths of laws are read.

    Raises
    ------
    DseError
        An axis that is empty, repeats a value, has a unit that does not fit, a value outside the
        domain of its quantity, or an unknown name.

    >>> from symbolic.quantities import TABLE
    >>> parse_axis("threads_per_block", {"start": 32, "stop": 128, "step": 32}, TABLE).coordinate
    array([ 32,  64,  96, 128])
    >>> parse_axis("core_clock", ["1 GHz", 1.3e9], TABLE).values.tolist()
    [1000000000.0, 1300000000.0]
    """
    where = f"the axis {name}"
    if not isinstance(name, str):
        raise DseError(f"{where} has no name: expected that of a quantity, as text")
    if isinstance(spec, Mapping) and "weights" in spec:
        rest = {key: value for key, value in spec.items() if key != "weights"}
        plain = parse_axis(name, rest, quantities, folder)
        return replace(plain, weights=shares(spec["weights"], plain.size, where))
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
        raise UnknownNameError(f"{where} is no known quantity{nearest(name, known)}")
    if row.labels is not None:
        kind = "switch" if row.is_switch else "label"
        return _categories(name, kind, _labels(spec, row, where, folder), where)
    array = numbers(spec, row, where)
    _distinct(array, where)
    row.check(array, where)
    return Axis(name=name, kind="number", coordinate=array, values=array.astype(np.float64))


def _categories(name: str, kind: str, labels: tuple[str, ...], where: str) -> Axis:
    _distinct(labels, where)
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
    if not name.isidentifier() or name in _TAKEN:
        raise DseError(
            f"{where} zips quantities: its name must be one word of letters, digits and _, and "
            f"none of {', '.join(_TAKEN)}"
        )
    arrays: dict[str, NDArray[Any]] = {}
    for column, values in columns.items():
        row = quantities.get(column)
        if row is None:
            hint = nearest(column, quantities)
            raise UnknownNameError(f"{where} zips {column!r}, no quantity{hint}")
        if row.is_label:
            raise DseError(f"{where} zips {column}, whose values are labels: only numbers can be")
        arrays[column] = numbers(values, row, f"{where}, column {column},")
        row.check(arrays[column], f"{where}, column {column}")
    lengths = {column: len(array) for column, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{column} has {length}" for column, length in lengths.items())
        raise DseError(f"{where} zips lists of different lengths: {shown}")
    rows = list(zip(*(array.tolist() for array in arrays.values()), strict=True))
    _distinct(rows, where)
    index = np.arange(len(rows), dtype=np.int64)
    return Axis(
        name=name,
        kind="zip",
        coordinate=arrays.get(name, index),
        values=index.astype(np.float64),
        columns=arrays,
    )
