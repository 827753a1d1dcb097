"""The Dataset that answers a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.dataset import answered
from sweeps.grid.goals import Goal, in_words
from sweeps.scan.fused import Chosen

if TYPE_CHECKING:
    import xarray as xr


def shape_of(places: Mapping[str, NDArray[np.int64]]) -> tuple[int, ...]:
    """Return the shape of some places; without an axis there is one point."""
    return next((index.shape for index in places.values()), (1,))


def winners(
    coordinates: Mapping[str, tuple[str, NDArray[Any], dict[str, Any]]],
    found: Mapping[str, tuple[NDArray[Any], dict[str, Any]]],
    chosen: Chosen,
    goals: Sequence[Goal],
    ranked: bool,
) -> xr.Dataset:
    """The Dataset of some winners: the axes as coordinates, the outputs as variables."""
    dims = (*chosen.per, *(["rank"] if ranked else []))

    def shaped(array: NDArray[Any]) -> NDArray[Any]:
        return array if ranked else array[..., 0]

    none = next(iter(chosen.places.values())) < 0 if chosen.places else np.zeros(1, dtype=bool)
    coords: dict[str, Any] = {"rank": ("rank", np.arange(none.shape[-1]) + 1)} if ranked else {}
    for name, (axis, array, attrs) in coordinates.items():
        if axis in chosen.per:
            coords[name] = (axis, array, attrs)
            continue
        values = array[np.maximum(chosen.places[axis], 0)]
        coords[name] = (dims, _blank(shaped(values), shaped(none)), attrs)
    variables = {
        name: (dims, _blank(shaped(array), shaped(none)), attrs)
        for name, (array, attrs) in found.items()
    }
    return answered(variables, coords, {"question": in_words(goals)})


def _blank(array: NDArray[Any], none: NDArray[np.bool_]) -> NDArray[Any]:
    """The array with nothing where there is no winner: NaN, -1, False or an empty label."""
    if not np.any(none):
        return array
    if array.dtype.kind == "i" and array.dtype.itemsize > 1:
        array = array.astype(np.float64)
    empty = {"f": np.nan, "i": -1, "b": False}.get(array.dtype.kind, "")
    return np.where(none, np.array(empty, dtype=array.dtype), array)
