"""Where the drawn numbers come from: the Dataset of a run, cut to the lines of a figure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.given import a_mapping
from dse.plots.frame import number_text, unit_of
from dse.study.comparison import ComparisonData
from dse.study.data import StudyData
from dse.verbs.running import run
from sweeps.files.written import check_finished
from sweeps.grid.dataset import meanings_of, quantities_of
from sweeps.grid.grid import FEASIBLE
from sweeps.grid.space import parse_axis
from symbolic.errors import DseError, InfeasibleError, UnknownNameError, check_known, nearest
from symbolic.expression import parse, parse_condition
from symbolic.ops import references
from symbolic.quantities import label_of

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "MOST",
    "Line",
    "Source",
    "allowed",
    "alone",
    "axis_of",
    "counted",
    "dataset",
    "finite",
    "flags_of",
    "lines_of",
    "needed",
    "select",
]

Source: TypeAlias = "StudyData | ComparisonData | xr.Dataset"

#: More lines, or groups of bars, than these are no figure.
MOST = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a figure: what is the same along it, and its points."""

    label: str
    at: Mapping[str, Any]
    x: NDArray[Any]
    y: NDArray[Any]


def dataset(source: Any, names: Sequence[str], at: Mapping[str, Any] | None = None) -> xr.Dataset:
    """The quantities of a figure: of a study computed, of a Dataset looked up; cut at ``at``."""
    for name in names:
        if not isinstance(name, str):
            raise DseError(f"{name!r} is no quantity: expected one name, such as 'time'")
    place = a_mapping(at)
    if isinstance(source, StudyData):
        axes = {*source.grid().axes, *(c for a in source.grid().axes.values() for c in a.columns)}
        wanted = [name for name in dict.fromkeys(names) if name not in axes]
        ds = run(replace(source, outputs=wanted, best=None))
    elif isinstance(source, ComparisonData):
        ds = run(source)
    elif hasattr(source, "data_vars"):
        check_finished(source)
        ds = source
    else:
        raise DseError(f"{source!r} cannot be drawn: expected a Study, or the Dataset of one")
    for name in names:
        if name not in ds.variables:
            held = [str(known) for known in ds.variables]
            raise UnknownNameError(
                f"the figure needs {name}, which the Dataset does not hold{nearest(name, held)}; "
                f"it holds: {', '.join(held)}; run the study with {name} among its outputs"
            )
    ds = select(ds, place)
    empty = [str(dim) for dim, size in ds.sizes.items() if size == 0]
    if empty:
        raise InfeasibleError(f"the Dataset has no values of {', '.join(empty)}: nothing to draw")
    return ds


def finite(name: str, *values: Any) -> None:
    """Refuse to draw a quantity without any number."""
    if not any(np.isfinite(np.asarray(each, dtype=float)).any() for each in values):
        raise InfeasibleError(
            f"{name} has no finite value where every constraint holds: relax them, or choose other "
            "values with at="
        )


def flags_of(array: xr.DataArray) -> dict[int, str]:
    """What the values of a bound, case, category or limiter mean; nothing for other quantities."""
    attrs = array.attrs
    if "flag_values_by_model" in attrs:
        if "model" in array.dims or "model" not in array.coords:
            raise DseError(
                f"the values of {array.name} mean different things to the models: choose one of "
                "them with at={'model': ...}"
            )
        model = str(array["model"].item())
        attrs = {
            f"flag_{what}": json.loads(attrs[f"flag_{what}_by_model"]).get(model) or ()
            for what in ("values", "meanings")
        }
        attrs["flag_meanings"] = attrs["flag_meanings"] or ""
    return meanings_of(attrs)


def select(ds: xr.Dataset, at: Mapping[str, Any]) -> xr.Dataset:
    """A Dataset at one value of some of its axes: numbers, texts with units, labels."""
    for name, value in at.items():
        known = [str(dim) for dim in ds.dims if dim in ds.coords]
        check_known(name, known, f"at: {name!r} is no axis of the Dataset", "its axes are")
        quantities = quantities_of(ds)
        axis = parse_axis(name, ds[name].values.tolist(), quantities)
        ds = ds.isel({name: axis.position(value, quantities)})
    return ds


def allowed(ds: xr.Dataset, array: xr.DataArray) -> xr.DataArray:
    """An array without the points that break a rule or constraint, where the Dataset marks them."""
    if FEASIBLE not in ds or not array.dims:
        return array
    held = ds[FEASIBLE]
    extra = [dim for dim in held.dims if dim not in array.dims]
    kept: xr.DataArray = array.where(held.any(extra) if extra else held)
    return kept.assign_attrs(array.attrs).rename(array.name)


def axis_of(ds: xr.Dataset, over: str | None, *names: str) -> str:
    """The axis along which a figure runs: the one named, else the last one of numbers."""
    dims = list(dict.fromkeys(str(dim) for name in names for dim in ds[name].dims))
    if over is not None:
        if over not in dims:
            raise UnknownNameError(
                f"over = {over!r}: {_vary(names)} over {', '.join(dims) or 'no axis'}"
                f"{nearest(over, dims)}"
            )
        return over
    if not dims:
        raise DseError(f"{_vary(names)} over no axis: give the study one")
    return ([dim for dim in dims if ds[dim].dtype.kind in "iuf"] or dims)[-1]


def alone(ds: xr.Dataset, over: str | None, *names: str) -> str:
    """The axis along which a figure runs, where nothing drawn varies over another."""
    over = axis_of(ds, over, *names)
    for name in names:
        if set(ds[name].dims) - {over}:
            raise DseError(
                f"{name} varies over {', '.join(map(str, ds[name].dims))}: choose with at= one "
                f"value of each axis but {over}"
            )
    return over


def _vary(names: Sequence[str]) -> str:
    return f"{', '.join(names)} {'varies' if len(names) == 1 else 'vary'}"


def lines_of(ds: xr.Dataset, x: str, y: str, over: str) -> tuple[str, list[Line]]:
    """The lines of one quantity against another along an axis, and the heading of their labels.

    A line for each value of the other axes on which they depend, told by those with several.
    """
    import xarray as xr

    across, up = xr.broadcast(ds[x], allowed(ds, ds[y]))
    if over not in up.dims:
        across, up = (array.expand_dims({over: ds[over].values}) for array in (across, up))
    others = [str(dim) for dim in up.dims if dim != over]
    count = int(np.prod([up.sizes[dim] for dim in others], dtype=int))
    if count > MOST:
        raise DseError(
            f"{count:,} lines of {y} over {', '.join(others)} are too many to tell apart (at most "
            f"{MOST}): choose values with at="
        )
    told = [dim for dim in others if up.sizes[dim] > 1] or others
    found = []
    for at in _places(up, others):
        one = {dim: place for dim, (place, _) in at.items()}
        values = {dim: value for dim, (_, value) in at.items()}
        label = counted(ds, {dim: values[dim] for dim in told}, bare=len(told) == 1)
        xs, ys = across.isel(one).values, up.isel(one).values
        found.append(Line(label=label, at=values, x=xs, y=ys))
    finite(y, *(line.y for line in found))
    heading = str(ds[told[0]].attrs.get("long_name", told[0])) if len(told) == 1 else ""
    return heading, found


def _places(array: xr.DataArray, dims: Sequence[str]) -> Iterator[dict[str, tuple[int, Any]]]:
    for places in np.ndindex(*(array.sizes[dim] for dim in dims)):
        yield {
            dim: (place, array[dim].values[place : place + 1].tolist()[0])  # labels may be str
            for dim, place in zip(dims, places, strict=True)
        }


def counted(ds: xr.Dataset, at: Mapping[str, Any], *, bare: bool = False) -> str:
    """A configuration in words, without the names of its axes where ``bare``."""
    texts = []
    for name, value in at.items():
        text = value if isinstance(value, str) else number_text(value, unit_of(ds[name]))
        texts.append(text if bare or isinstance(value, str) else f"{name} = {text}")
    return ", ".join(texts)


def needed(source: Any, goal: str | None, where: Sequence[str] = ()) -> list[str]:
    """The quantities of a goal and of constraints, so that a study computes them."""
    if not isinstance(source, StudyData):
        return []
    quantities = source.grid().model.quantities
    nodes = [parse_condition(text, quantities) for text in (*where, *source.where)]
    nodes += [parse(goal, quantities)] if goal is not None else []
    return [name for name in references(*nodes) if name == label_of(name)]
