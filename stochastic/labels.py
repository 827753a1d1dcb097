"""The one place of this package where arrays become labelled data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

#: Variables, coordinates and attributes of a Dataset: what :func:`labelled` takes.
Parts = tuple[dict[str, tuple[Any, ...]], dict[str, tuple[Any, ...]], dict[str, Any]]
_SOURCE = "Swatman et al., MASCOTS 2022, Eqs. 1-11"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Tabled:
    """What tells a table: it is short for the variables, and is shown as it is."""

    table: xr.Dataset

    def __getitem__(self, name: str) -> xr.DataArray:
        """A variable of the table."""
        return self.table[name]

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_html_(self) -> str:
        return str(self.table._repr_html_())


def labelled(
    variables: Mapping[str, tuple[Any, ...]],
    coords: Mapping[str, tuple[Any, ...]],
    attrs: Mapping[str, Any],
) -> xr.Dataset:
    """A Dataset of ``name: (dims, array[, attrs])``; nothing is copied.

    Every variable and coordinate is given ``long_name`` and ``units`` by its own attributes.
    """
    import xarray as xr

    return xr.Dataset(dict(variables), coords=dict(coords), attrs=dict(attrs))


def named(dims: Any, values: Any, long_name: str) -> tuple[Any, ...]:
    """A number without a unit for :func:`labelled`, with what it is called in full."""
    return dims, values, {"long_name": long_name, "units": "1"}


def joint_array(told: Mapping[str, Any], maxima: Any, sums: Any, chances: Any) -> xr.DataArray:
    """The joint law of the longest item and the sum of a group, labelled ``max`` and ``sum``."""
    coords = {
        "max": ("max", maxima, {"long_name": "longest item of the group", "units": "1"}),
        "sum": ("sum", sums, {"long_name": "work of the group", "units": "1"}),
    }
    attrs = {"long_name": "probability", "units": "1", **told, "source": _SOURCE}
    variables = {"probability": (("max", "sum"), chances, attrs)}
    return labelled(variables, coords, {})["probability"]


def pmf_array(
    told: Mapping[str, Any], numerator: Any, denominator: Any, chances: Any
) -> xr.DataArray:
    """The law of the loss along ``loss``, with its fractions in lowest terms."""
    loss = np.asarray(numerator) / np.asarray(denominator)
    coords = {
        "loss": ("loss", loss, {"long_name": "loss of the group", "units": "1"}),
        "numerator": ("loss", numerator, {"long_name": "numerator of the loss"}),
        "denominator": ("loss", denominator, {"long_name": "denominator of the loss"}),
    }
    attrs = {"long_name": "probability", "units": "1", **told, "source": _SOURCE}
    return labelled({"probability": ("loss", chances, attrs)}, coords, {})["probability"]


def times_array(values: Any, chances: Any) -> xr.DataArray:
    """The law of a time along ``time``."""
    coords = {"time": ("time", values, {"long_name": "time", "units": "steps of the work"})}
    attrs = {"long_name": "probability", "units": "1"}
    return labelled({"probability": ("time", chances, attrs)}, coords, {})["probability"]


def totals_array(times: Any, totals: Any, chances: Any) -> xr.DataArray:
    """The joint law of the time and the total work of a launch, along ``time`` and ``total``."""
    coords = {
        "time": ("time", times, {"long_name": "time", "units": "steps of the work"}),
        "total": ("total", totals, {"long_name": "work of all blocks", "units": "steps"}),
    }
    attrs = {"long_name": "probability", "units": "1"}
    return labelled({"probability": (("time", "total"), chances, attrs)}, coords, {})["probability"]
