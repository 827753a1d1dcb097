"""The Dataset that answers a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.dataset import answered
from sweeps.grid.goals import Goal, in_words, objective_name
from sweeps.scan.fused import Chosen
from symbolic.ops import interpret_arrays, references

if TYPE_CHECKING:
    import xarray as xr


def shape_of(places: Mapping[str, NDArray[np.int64]]) -> tuple[int, ...]:
    """Return the shape of some places; without an axis there is one point."""
    return next((index.shape for index in places.values()), (1,))


class Answering:
    """A source that tells of its points what it holds there, from which formulas follow."""

    __slots__ = ()
    if TYPE_CHECKING:

        @property
        def quantities(self) -> Mapping[str, Any]:
            """What formulas may name."""

        @property
        def variables(self) -> Any:
            """What it holds, coordinates included."""

        def pick(
            self, places: Mapping[str, NDArray[np.int64]], shape: tuple[int, ...]
        ) -> tuple[dict[str, Any], dict[str, Any]]:
            """Its coordinates by axis, and what it holds at some places, of the given shape."""

        def given(
            self,
            names: Sequence[str],
            places: Mapping[str, NDArray[np.int64]],
            shape: tuple[int, ...],
            coordinates: Mapping[str, Any],
            found: Mapping[str, Any],
        ) -> dict[str, NDArray[Any]]:
            """Quantities at some places, of the given shape; ``found`` was picked there."""

    def answer(self, chosen: Chosen, goals: Sequence[Goal], ranked: bool) -> xr.Dataset:
        """The Dataset of some configurations, with every objective."""
        shape = next(iter(chosen.places.values())).shape if chosen.places else (1,)
        coordinates, found = self.pick(chosen.places, shape)
        for number, goal in enumerate(goals):
            if goal.text in self.variables or goal.text in found:
                continue
            node = goal.formula(self.quantities)
            known = self.given(references(node), chosen.places, shape, coordinates, found)
            arrays = {name: array.astype(np.float64) for name, array in known.items()}
            told = np.broadcast_to(interpret_arrays((node,), arrays)[0], shape)
            found[objective_name(goals, number, self.variables)] = (told, {"long_name": goal.text})
        return winners(coordinates, found, chosen, goals, ranked)

    def points(self, places: Mapping[str, NDArray[np.int64]], goals: Sequence[Goal]) -> xr.Dataset:
        """The Dataset of some points, along the dimension ``point``."""
        shape = shape_of(places)
        coordinates, found = self.pick(places, shape)
        coords = {
            n: ("point", a[places[axis]], attrs) for n, (axis, a, attrs) in coordinates.items()
        }
        question = ", ".join(in_words([goal]) for goal in goals)
        variables = {name: ("point", array, attrs) for name, (array, attrs) in found.items()}
        return answered(variables, coords, {"question": question})


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
