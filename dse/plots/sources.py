"""The Dataset that a plot draws: computed or looked up, checked, and cut into lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.given import a_mapping
from dse.plots.frame import unit_of
from dse.study.comparison import ComparisonData
from dse.study.data import StudyData
from dse.verbs.running import run
from sweeps.grid.dataset import meanings_of, quantities_of
from sweeps.grid.grid import FEASIBLE
from sweeps.grid.space import parse_axis
from sweeps.store.records import check_finished
from symbolic.answer import value_text
from symbolic.errors import DseError, InfeasibleError, UnknownNameError, check_known, nearest
from symbolic.expression import parse, parse_condition
from symbolic.ops import references
from symbolic.quantities import label_of

if TYPE_CHECKING:
    import xarray as xr

Source: TypeAlias = "StudyData | ComparisonData | xr.Dataset"
#: Axes, each with one of its values.
At: TypeAlias = "Mapping[str, Any] | None"

#: The most lines, or groups of bars, that people can tell apart.
MOST = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a plot: its label, the place of the other axes, and its points."""

    label: str
    at: Mapping[str, Any]
    x: NDArray[Any]
    y: NDArray[Any]


def dataset(source: Any, names: Sequence[str], at: At = None) -> xr.Dataset:
    """Return the quantities of a plot: computed from a study, or of a Dataset; cut at ``at``."""
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
            known = [str(variable) for variable in ds.variables]
            raise UnknownNameError(
                f"the figure needs {name}, which the Dataset does not hold{nearest(name, known)}; "
                f"it holds: {', '.join(known)}; run the study with {name} among its outputs"
            )
    ds = _select(ds, place)
    empty = [str(dim) for dim, size in ds.sizes.items() if size == 0]
    if empty:
        raise InfeasibleError(f"the Dataset has no values of {', '.join(empty)}: nothing to draw")
    return ds


def _select(ds: xr.Dataset, at: Mapping[str, Any]) -> xr.Dataset:
    """Return a Dataset at one value of some of its axes: numbers, texts with units, labels."""
    for name, value in at.items():
        known = [str(dim) for dim in ds.dims if dim in ds.coords]
        check_known(name, known, f"at: {name!r} is no axis of the Dataset", "its axes are")
        quantities = quantities_of(ds)
        axis = parse_axis(name, ds[name].values.tolist(), quantities)
        ds = ds.isel({name: axis.position(value, quantities)})
    return ds


def can_yield(source: Any, name: str) -> bool:
    """True if a Dataset has a quantity, or a study has all that it needs."""
    if not isinstance(source, StudyData):
        return name in getattr(source, "data_vars", ())
    try:
        replace(source, outputs=[name], best=None).grid()
    except DseError:
        return False
    return True


def finite(name: str, *values: Any) -> None:
    """Refuse to draw a quantity without any number."""
    if not any(np.isfinite(np.asarray(each, dtype=float)).any() for each in values):
        raise InfeasibleError(
            f"{name} has no finite value where every constraint holds: relax them, or choose other "
            "values with at="
        )


def is_numeric(ds: xr.Dataset, axis: str) -> bool:
    """True if the values of an axis are numbers, not labels."""
    return ds[axis].dtype.kind in "iuf"


def flags_of(array: xr.DataArray) -> dict[int, str]:
    """Return the meanings of a bound, case, category or limiter; none for other quantities."""
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


def allowed(ds: xr.Dataset, array: xr.DataArray) -> xr.DataArray:
    """Return an array with NaN where the Dataset marks that a rule or constraint is broken."""
    if FEASIBLE not in ds or not array.dims:
        return array
    feasible = ds[FEASIBLE]
    extra = [dim for dim in feasible.dims if dim not in array.dims]
    kept: xr.DataArray = array.where(feasible.any(extra) if extra else feasible)
    return kept.assign_attrs(array.attrs).rename(array.name)


def axis_of(ds: xr.Dataset, over: str | None, *names: str) -> str:
    """Return the axis along which a plot runs: ``over``, else the last one of numbers."""
    dims = list(dict.fromkeys(str(dim) for name in names for dim in ds[name].dims))
    subject = f"{', '.join(names)} {'varies' if len(names) == 1 else 'vary'}"
    if over is not None and over not in dims:
        raise UnknownNameError(
            f"over = {over!r}: {subject} over {', '.join(dims) or 'no axis'}{nearest(over, dims)}"
        )
    if not dims:
        raise DseError(f"{subject} over no axis: give the study one")
    return over or ([dim for dim in dims if is_numeric(ds, dim)] or dims)[-1]


def alone(ds: xr.Dataset, over: str | None, *names: str) -> str:
    """Return the axis along which a plot runs; refuse quantities that vary over another."""
    over = axis_of(ds, over, *names)
    for name in names:
        if set(ds[name].dims) - {over}:
            raise DseError(
                f"{name} varies over {', '.join(map(str, ds[name].dims))}: choose with at= one "
                f"value of each axis but {over}"
            )
    return over


def lines_of(ds: xr.Dataset, x: str, y: str, over: str) -> tuple[str, list[Line]]:
    """Return the heading of the labels, and a line along ``over`` for each value of other axes."""
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
    shown = [dim for dim in others if up.sizes[dim] > 1] or others
    lines = []
    for places in np.ndindex(*(up.sizes[dim] for dim in others)):
        index = dict(zip(others, places, strict=True))
        # a slice, as items of labels may be str
        at = {dim: up[dim].values[k : k + 1].tolist()[0] for dim, k in index.items()}
        label = counted(ds, {dim: at[dim] for dim in shown}, bare=len(shown) == 1)
        lines.append(Line(label=label, at=at, x=across.isel(index).values, y=up.isel(index).values))
    finite(y, *(line.y for line in lines))
    heading = str(ds[shown[0]].attrs.get("long_name", shown[0])) if len(shown) == 1 else ""
    return heading, lines


def counted(ds: xr.Dataset, at: Mapping[str, Any], *, bare: bool = False) -> str:
    """Return a configuration as text, without the names of its axes where ``bare``."""
    texts = {name: value_text(value, unit_of(ds[name])) for name, value in at.items()}
    plain = {name for name, value in at.items() if bare or isinstance(value, str)}
    return ", ".join(text if n in plain else f"{n} = {text}" for n, text in texts.items())


def needed(source: Any, goal: str | None, where: Sequence[str] = ()) -> list[str]:
    """Return the quantities of a goal and of constraints, which a study has to compute."""
    if not isinstance(source, StudyData):
        return []
    quantities = source.grid().model.quantities
    nodes = [parse_condition(text, quantities) for text in (*where, *source.where)]
    nodes += [parse(goal, quantities)] if goal is not None else []
    return [name for name in references(*nodes) if name == label_of(name)]
