"""Convert arrays of a grid to labelled xarray Datasets, and variables of Datasets to quantities."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.grid import FEASIBLE, Grid
from symbolic.quantities import Quantity, indexed_quantity, label_index_name

if TYPE_CHECKING:
    import xarray as xr

#: Key, in a Dataset's encoding, of the store from which the Dataset was opened.
_STORE_KEY = "simt_dse_store"
#: Prefix of the name of a lazy array of an unfinished store. The store's path or URL follows.
_UNFINISHED_PREFIX = "unfinished:"
#: Attribute that lists the labels of a variable whose values are indices of labels.
_LABELS = "labels"


def variable_attributes(grid: Grid, name: str) -> dict[str, Any]:
    """Return the attributes of an output: units, long name, flag meanings."""
    if name == FEASIBLE:
        texts = "; ".join(condition.text for condition in grid.conditions)
        return {"long_name": "whether every rule and constraint holds", "conditions": texts}
    row = grid.model.quantity(name)
    attributes: dict[str, Any] = {"units": row.unit or "1", "long_name": row.meaning or name}
    flags = grid.flag_meanings(name)
    if flags:
        del attributes["units"]
        attributes |= flag_attributes(flags)
    return attributes


def flag_attributes(flags: Mapping[int, str], kind: Any = np.int8) -> dict[str, Any]:
    """Return the attributes (CF convention) that explain the values of a case or bound."""
    words = ("_".join(text.split()) for text in flags.values())
    return {"flag_values": np.array(list(flags), dtype=kind), "flag_meanings": " ".join(words)}


def read_flag_meanings(attributes: Mapping[Any, Any]) -> dict[int, str]:
    """Return the flag meanings that :func:`flag_attributes` wrote; empty if there are none."""
    flags = np.atleast_1d(attributes.get("flag_values", ())).tolist()
    words = str(attributes.get("flag_meanings", "")).split()
    pairs = zip(flags, words, strict=False)
    return {int(flag): word.replace("_", " ") for flag, word in pairs}


def axis_coordinates(grid: Grid) -> dict[str, tuple[str, NDArray[Any], dict[str, Any]]]:
    """Return the coordinates of a grid: its axes, and the columns of zipped axes."""
    result: dict[str, tuple[str, NDArray[Any], dict[str, Any]]] = {}
    for axis in grid.axes.values():
        row = grid.model.quantities.get(axis.name)
        if row is not None and axis.kind not in ("zip", "draw"):
            attributes: dict[str, Any] = {"long_name": row.meaning or axis.name}
            if axis.kind == "number":
                attributes["units"] = row.unit or "1"
        else:
            attributes = {"long_name": axis.name}
        result[axis.name] = (axis.name, axis.coordinate.copy(), attributes)
        for column, array in axis.columns.items():
            quantity = grid.model.quantities[column]
            result[column] = (
                axis.name,
                array.copy(),
                {"long_name": quantity.meaning, "units": quantity.unit or "1"},
            )
    return result


def grid_dataset(
    grid: Grid,
    arrays: Mapping[str, tuple[tuple[str, ...], NDArray[Any]]],
    attributes: Mapping[str, Any],
) -> xr.Dataset:
    """Return the Dataset of a run, with each output over the axes on which it depends."""
    import xarray as xr

    return xr.Dataset(
        data_vars={
            name: xr.Variable(dims, array, variable_attributes(grid, name), fastpath=True)
            for name, (dims, array) in arrays.items()
        },
        coords={
            name: xr.Variable(axis, array, attrs)
            for name, (axis, array, attrs) in axis_coordinates(grid).items()
        },
        attrs=dict(attributes),
    )


def add_variables(ds: xr.Dataset, more: xr.Dataset) -> xr.Dataset:
    """Add the variables of ``more``, restricted to the coordinate labels that ``ds`` has."""
    used = {str(dim) for variable in more.data_vars.values() for dim in variable.dims}
    labels = {dim: ds[dim].values for dim in used if dim in ds.coords}
    part = more.drop_vars([n for n in more.coords if n not in more.dims]).sel(labels)
    result = ds.assign({name: variable.variable for name, variable in part.data_vars.items()})
    result.encoding = dict(ds.encoding)
    return result


def assemble(
    variables: Mapping[str, Any], coords: Mapping[str, Any], attributes: Mapping[str, Any]
) -> xr.Dataset:
    """Return a Dataset. Each variable and coordinate is given as (dims, array, attributes)."""
    import xarray as xr

    return xr.Dataset(variables, coords=coords, attrs=dict(attributes))


def open_zarr(store: Any, info: Any = None) -> xr.Dataset:
    """Open a zarr store lazily, one Dask block per shard; ``info`` is the StoreInfo of a run."""
    import xarray as xr

    # accept only format 3: runs write no other, and to read some other formats unpickles data
    ds: xr.Dataset = xr.open_zarr(store, zarr_format=3, chunks=None)
    # convert labels to fixed-width text, which a run in memory returns
    texts = {name: c for name, c in ds.coords.items() if c.dtype.kind == "T"}
    texts = {n: c.copy(data=np.array(c.values.tolist(), str)) for n, c in texts.items()}
    ds = ds.assign_coords(texts)
    shards = {
        name: variable.encoding.get("shards") or variable.encoding.get("chunks")
        for name, variable in ds.data_vars.items()
    }
    complete = info is None or info.is_complete
    begins = "" if complete else f"{_UNFINISHED_PREFIX}{info.place}:"
    for name, shape in shards.items():
        variable = ds[name].variable
        sizes = dict(zip(variable.dims, shape or (), strict=False))
        # without a name, Dask would pickle the data to derive one
        ds[name] = variable.chunk(sizes, name=f"{begins}{name}-{uuid.uuid4().hex}")
    ds.encoding[_STORE_KEY] = info, _array_identities(ds), set(ds.coords)
    return ds


def unfinished_places(ds: xr.Dataset) -> list[str]:
    """Return the paths or URLs of the unfinished stores to which arrays of a Dataset belong."""
    layers = [
        str(layer)
        for variable in ds.variables.values()
        for layer in getattr(getattr(variable._data, "dask", None), "layers", ())
    ]
    lazy = [layer for layer in layers if layer.startswith(_UNFINISHED_PREFIX)]
    places = (layer.removeprefix(_UNFINISHED_PREFIX).rpartition(":")[0] for layer in lazy)
    return list(dict.fromkeys(places))


def source_store(ds: xr.Dataset) -> Any:
    """Return the StoreInfo of the store that a Dataset comes from; None for a changed Dataset."""
    info, known, axes = ds.encoding.get(_STORE_KEY, (None, {}, set()))
    if info is None:
        return None
    arrays = _array_identities(ds).items()
    unchanged = all(name in known and _are_equal_arrays(a, known[name]) for name, a in arrays)
    return info if unchanged and axes == set(ds.coords) else None


def _are_equal_arrays(array: Any, other: Any) -> bool:
    floats = np.asarray(array).dtype.kind == np.asarray(other).dtype.kind == "f"
    return np.array_equal(array, other, equal_nan=floats)


def _array_identities(ds: xr.Dataset) -> dict[str, Any]:
    return {
        str(name): variable.values if name in ds.coords else getattr(data, "name", data)
        for name, variable in ds.variables.items()
        for data in [variable.data]
    }


def open_netcdf(path: Path) -> xr.Dataset:
    """Open a netCDF file lazily."""
    import xarray as xr

    return xr.open_dataset(path, engine="h5netcdf")


def quantities_of(ds: xr.Dataset) -> dict[str, Quantity]:
    """Return the variables of a Dataset as quantities: numbers with units, or labels."""
    result: dict[str, Quantity] = {}
    for key, variable in ds.variables.items():
        name, unit = str(key), str(variable.attrs.get("units", ""))
        if variable.dtype.kind not in "iufb":
            result[name] = Quantity(name=name, labels=())
            continue
        flags = tuple(read_flag_meanings(variable.attrs).items())
        result[name] = Quantity(name=name, unit="" if unit == "1" else unit, flags=flags)
    for place in [name for name in result if name != indexed_quantity(name)]:
        name, labels = indexed_quantity(place), tuple(ds[place].attrs[_LABELS])
        result[name] = Quantity(name=name, labels=(), axis_labels=labels)
        del result[place]
    return result


def add_label_indices(
    ds: xr.Dataset, known_labels: Mapping[str, tuple[tuple[str, ...], float | None]] | None = None
) -> xr.Dataset:
    """For each variable that has labels, add a variable with the indices of the labels.

    All parts of the Dataset then have the same indices. ``known_labels`` maps a quantity to its
    possible labels, and to the index that is used if the Dataset lacks the quantity.
    """
    result: dict[str, Any] = {}
    more = known_labels or {}
    for key, (labels, alone) in more.items():
        if key not in ds.variables and alone is not None:
            result[label_index_name(key)] = ((), alone, {_LABELS: list(labels)})
    for name, variable in ds.variables.items():
        place, data = label_index_name(str(name)), variable.data
        if data.dtype.kind in "OSUT" and isinstance(data, np.ndarray) and place not in ds.variables:
            at = {label: place for place, label in enumerate(more.get(str(name), ((), None))[0])}
            listed = [at.setdefault(str(label), len(at)) for label in data.reshape(-1).tolist()]
            array = np.array(listed, dtype=np.float64).reshape(data.shape)
            result[place] = (variable.dims, array, {_LABELS: list(at)})
    return ds.assign_coords(result) if result else ds


# --- Answers as bare arrays: to import xarray takes longer than most queries


#: An array, given as its dimensions, values and attributes.
Array = tuple[tuple[str, ...], NDArray[Any], Mapping[Any, Any]]

_bare_answers = ContextVar("bare", default=False)


@contextmanager
def answers_as_arrays() -> Iterator[None]:
    """Make queries in this context return bare arrays, which :func:`arrays_of` reads."""
    before = _bare_answers.set(True)
    try:
        yield
    finally:
        _bare_answers.reset(before)


class _ArrayAnswer:
    """The arrays of a Dataset. The Dataset is built when more than its attributes is read."""

    def __init__(self, outputs: Mapping[str, Any], coordinates: Mapping[str, Any], attrs: Any):
        self.outputs, self.coordinates, self.attrs = outputs, coordinates, dict(attrs)

    def assign_attrs(self, *mappings: Any, **more: Any) -> _ArrayAnswer:
        attrs = dict(self.attrs)
        attrs.update(*mappings, **more)
        return _ArrayAnswer(self.outputs, self.coordinates, attrs)

    def __getattr__(self, name: str) -> Any:
        return getattr(assemble(self.outputs, self.coordinates, self.attrs), name)

    def __getitem__(self, name: Any) -> Any:
        return assemble(self.outputs, self.coordinates, self.attrs)[name]


def make_answer(
    variables: Mapping[str, Any], coords: Mapping[str, Any], attributes: Mapping[str, Any]
) -> xr.Dataset:
    """Return :func:`assemble` of the arguments, or bare arrays within :func:`answers_as_arrays`."""
    if _bare_answers.get():
        return _ArrayAnswer(variables, coords, attributes)  # type: ignore[return-value]
    return assemble(variables, coords, attributes)


def preload_xarray() -> None:
    """Import xarray now, so that the import does not use up the time limit of a search."""
    if not _bare_answers.get():
        assemble({}, {"none": ("none", np.zeros(0), {})}, {})


def arrays_of(answer: xr.Dataset) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return an answer's coordinates and outputs as two mappings from names to bare arrays."""
    if isinstance(answer, _ArrayAnswer):
        return _arrays(answer.coordinates), _arrays(answer.outputs)
    parts = (
        {str(n): (v.dims, v.values, v.attrs) for n, v in variables.items()}
        for variables in (answer.coords, answer.data_vars)
    )
    coordinates, outputs = map(_arrays, parts)
    return coordinates, outputs


def _arrays(variables: Mapping[str, Any]) -> dict[str, Array]:
    result: dict[str, Array] = {}
    for name, (dims, values, *attrs) in variables.items():
        named = (dims,) if isinstance(dims, str) else tuple(map(str, dims))
        result[name] = named, np.asarray(values), dict(*attrs)
    return result
