"""The one place of this package where arrays become labelled data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["labelled"]


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
