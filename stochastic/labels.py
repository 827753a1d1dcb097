"""Build xarray Datasets from arrays; no other module of this package does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

Variables = dict[str, tuple[Any, ...]]
#: The arguments of :func:`make_dataset`: a Dataset's variables, coordinates and attributes.
DatasetParts = tuple[Variables, Variables, dict[str, Any]]
#: The long name and the unit of each axis that the array of a law can have.
_AXES = {
    "max": ("longest item of the group", "1"),
    "sum": ("work of the group", "1"),
    "loss": ("loss of the group", "1"),
    "time": ("time", "steps of the work"),
    "total": ("work of all blocks", "steps"),
    "largest": ("items of the fullest bin", "1"),
    "busiest": ("items of the fullest group", "1"),
    "occupied": ("bins with an item", "1"),
    "tiles": ("tiles of all bins", "1"),
    "busiest_tiles": ("most tiles of a group", "1"),
}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TableResult:
    """A result that wraps a Dataset: ``result[name]`` is a variable; printing shows the Dataset.

    The Dataset is built from ``parts`` when it is first used.
    """

    parts: DatasetParts

    @cached_property
    def table(self) -> xr.Dataset:
        """Return the Dataset, built on first use."""
        return make_dataset(*self.parts)

    def __getitem__(self, name: str) -> xr.DataArray:
        return self.table[name]

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_html_(self) -> str:
        return str(self.table._repr_html_())


def make_dataset(variables: Variables, coords: Variables, attrs: dict[str, Any]) -> xr.Dataset:
    """Return a Dataset of the arrays, without copying them.

    Variables and coordinates are given as ``name: (dims, array[, attrs])``. Each needs
    ``long_name`` and ``units`` in its attributes.
    """
    import xarray as xr

    return xr.Dataset(dict(variables), coords=dict(coords), attrs=dict(attrs))


def variable(dims: Any, values: Any, long_name: str) -> tuple[Any, ...]:
    """Return a dimensionless variable (unit 1) in the form that :func:`make_dataset` takes."""
    return dims, values, {"long_name": long_name, "units": "1"}


def law_array(chances: Any, attrs: dict[str, Any], /, **axes: Any) -> xr.DataArray:
    """Return probabilities as a labelled array; each keyword has the values of an axis in _AXES."""
    coords = {}
    for name, values in axes.items():
        long_name, units = _AXES[name]
        coords[name] = (name, values, {"long_name": long_name, "units": units})
    attrs = {"long_name": "probability", "units": "1", **attrs}
    return make_dataset({"probability": (tuple(axes), chances, attrs)}, coords, {})["probability"]


def pmf_array(
    attrs: dict[str, Any], numerator: Any, denominator: Any, chances: Any
) -> xr.DataArray:
    """Return the law of the loss with the dimension ``loss``.

    The numerator and denominator of each loss, in lowest terms, are coordinates.
    """
    result = law_array(chances, attrs, loss=np.asarray(numerator) / np.asarray(denominator))
    return result.assign_coords(
        numerator=("loss", numerator, {"long_name": "numerator of the loss"}),
        denominator=("loss", denominator, {"long_name": "denominator of the loss"}),
    )
