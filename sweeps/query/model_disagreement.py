"""Compare the models of a Dataset: where they differ, and the regret of following a wrong model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.dataset import assemble
from sweeps.grid.goals import OBJECTIVE, Goal, per_axes
from sweeps.grid.grid import FEASIBLE
from sweeps.scan.optimum import broadcast_axes, top_k, unravel_places
from sweeps.scan.values import DatasetTable
from symbolic.errors import DseError, InfeasibleError
from symbolic.json_text import read_json
from symbolic.ops import reference, references

if TYPE_CHECKING:
    import xarray as xr

#: The dimension of the followed models, and the dimension of the models assumed to be right.
MODEL_DIMENSION, REFERENCE_DIMENSION = "model", "under"
#: Objectives with a relative difference below this tie.
TIE_TOLERANCE = 1e-12

Variable = tuple[tuple[str, ...], NDArray[Any], dict[str, Any]]


def flag_names(ds: xr.Dataset) -> list[str]:
    """Return the names of the variables of a Dataset that are cases or bounds."""
    marks = ("flag_meanings", "flag_meanings_by_model")
    return [str(n) for n, v in ds.data_vars.items() if any(mark in v.attrs for mark in marks)]


def dataset_disagreement(
    ds: xr.Dataset,
    goal: Goal | None,
    *,
    where: Sequence[str] = (),
    per: str | Sequence[str] | None = None,
) -> xr.Dataset:
    """Compare the models as :func:`dse.disagreement` does; without a goal, leave out the optima."""
    count = int(ds.sizes.get(MODEL_DIMENSION, 0))
    if count < 2:
        what = "holds one model" if count else f"has no dimension {MODEL_DIMENSION!r}"
        raise DseError(
            f"the Dataset {what}: expected one of several models, as of dse.Study(model=[...])"
        )
    table = DatasetTable(ds, where)
    axes = [axis for axis in table.axes if axis != MODEL_DIMENSION]
    names = [str(name) for name in ds[MODEL_DIMENSION].values.tolist()]
    case = _ModelComparison(table=table, models=tuple(names), per=per_axes(per, axes))
    result: dict[str, Variable] = {}
    if FEASIBLE in ds and MODEL_DIMENSION in ds[FEASIBLE].dims:
        result |= case.feasibility_differences()
    for name in flag_names(ds):
        result |= case.flag_differences(name)
    if goal is not None:
        result |= case.optima(goal)
    question = f"{'minimize' if goal.sign > 0 else 'maximize'} {goal.text}" if goal else ""
    used = {dim for dims, _, _ in result.values() for dim in dims}
    coords: dict[str, Any] = {
        str(axis): (axis, ds[axis].values, dict(ds[axis].attrs))
        for axis in table.axes
        if axis in used and axis in ds.coords
    }
    for dim, text in (
        (MODEL_DIMENSION, "the model that is followed"),
        (REFERENCE_DIMENSION, "the model that is taken for right"),
    ):
        coords[dim] = (dim, np.array(names), {"long_name": text})
    attributes = {
        "title": f"disagreement of {', '.join(names)}",
        "question": question,
        "where": " and ".join(where),
        "per": " ".join(case.per),
        "study": str(ds.attrs.get("study", "")),
    }
    return assemble(result, coords, attributes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ModelComparison:
    table: DatasetTable
    models: tuple[str, ...]
    per: tuple[str, ...]

    def feasibility_differences(self) -> dict[str, Variable]:
        dims = self.table.dims([])
        feasible = self.table.broadcast_over(FEASIBLE, dims).astype(bool)
        allowed = self._with_models_first(feasible, dims)
        differs = np.asarray(allowed.any(axis=0) & ~allowed.all(axis=0))
        about = {"long_name": "whether some models allow the configuration and others do not"}
        rest = tuple(dim for dim in dims if dim != MODEL_DIMENSION)
        return {f"{FEASIBLE}_differs": (rest, differs, about)}

    def flag_differences(self, name: str) -> dict[str, Variable]:
        known = self.table.dims([reference(name), *self.table.conditions])
        dims = known if MODEL_DIMENSION in known else (MODEL_DIMENSION, *known)
        shape = [self.table.axes[dim] for dim in dims]
        values = np.broadcast_to(self.table.broadcast_over(name, dims), shape)
        codes = self._with_models_first(values, dims).astype(np.int64)
        codes = np.stack([t[row] for t, row in zip(self._common_codes(name), codes, strict=True)])
        counts = self._with_models_first(self.table.feasible_mask(dims), dims) & (codes >= 0)
        least = np.where(counts, codes, np.iinfo(np.int64).max).min(axis=0)
        rest = tuple(dim for dim in dims if dim != MODEL_DIMENSION)
        differs = np.where(counts, codes, -1).max(axis=0) > least
        per = tuple(axis for axis in self.per if axis in rest)
        over = tuple(1 + place for place, dim in enumerate(rest) if dim not in per)
        pairs = []  # shares of the points that are feasible for both models
        for own, counts_own in zip(codes, counts, strict=True):
            both = counts & counts_own
            compared = both.sum(axis=over)
            differ = ((codes != own) & both).sum(axis=over)
            pairs.append(np.where(compared, differ / np.maximum(compared, 1), np.nan))
        meant = str(self.table.ds[name].attrs.get("long_name", name))
        about = {
            "long_name": f"whether models differ on {meant}",
            # number of configurations that are feasible for two or more models
            "compared": int((counts.sum(axis=0) > 1).sum()),
        }
        return {
            f"{name}_differs": (rest, differs, about),
            f"{name}_disagreement": (
                (MODEL_DIMENSION, REFERENCE_DIMENSION, *per),
                np.stack(pairs),
                {"units": "1", "long_name": f"share of configurations that differ on {meant}"},
            ),
        }

    def _with_models_first(self, array: NDArray[Any], dims: Sequence[str]) -> NDArray[Any]:
        if MODEL_DIMENSION not in dims:
            return np.broadcast_to(array, (len(self.models), *array.shape))
        return np.moveaxis(array, list(dims).index(MODEL_DIMENSION), 0)

    def _common_codes(self, name: str) -> list[NDArray[np.int64]]:
        """Return a table for each model from flag values to codes; all models share the codes.

        A code stands for a meaning. It is -1 for flag values that do not occur.
        """
        attrs = self.table.ds[name].attrs
        if "flag_meanings_by_model" in attrs:
            texts: Mapping[str, Any] = read_json(attrs["flag_meanings_by_model"])
            flags: Mapping[str, Any] = read_json(attrs.get("flag_values_by_model", "{}"))
        else:
            texts = dict.fromkeys(self.models, attrs["flag_meanings"])
            values = np.atleast_1d(attrs.get("flag_values", ())).tolist()
            flags = dict.fromkeys(self.models, values)
        meanings: dict[str, int] = {}
        result = []
        for model in self.models:
            words = str(texts.get(model) or "").split()
            if not words or len(words) != len(flags.get(model) or ()):
                raise DseError(
                    f"the Dataset does not say what the values of {name} mean to {model}: run the "
                    f"study anew, or leave {name} out (ds.drop_vars({name!r}))"
                )
            lut = np.full(max(flags[model]) + 2, -1, dtype=np.int64)
            for flag, word in zip(flags[model], words, strict=True):
                meaning = word.replace("_", " ").removesuffix(" bound")
                lut[flag] = meanings.setdefault(meaning, len(meanings))
            result.append(lut)
        return result

    def optima(self, goal: Goal) -> dict[str, Variable]:
        table = self.table
        used = references(goal.node(table.quantities))
        if not any(MODEL_DIMENSION in table.ds[name].dims for name in used):
            raise DseError(f"{goal.text} is the same for all models: name one that they compute")
        (values,), dims = table.values([goal])
        shape = [table.axes[axis] for axis in dims]
        values, whole = broadcast_axes(np.broadcast_to(values, shape), dims, self.per, table.axes)
        cells = (MODEL_DIMENSION, *self.per)
        rest = tuple(axis for axis in whole if axis not in cells)
        flat, scores, _ = top_k(values, whole, cells, 1)
        chosen, best = flat[..., 0], scores[..., 0]
        if np.all(chosen < 0):
            raise InfeasibleError(
                f"no configuration with a finite {goal.text} is feasible: relax the constraints"
            )
        moved = values.transpose([whole.index(axis) for axis in (*cells, *rest)])
        rows = moved.reshape(*best.shape, -1)
        regret = np.stack([self._regret(goal, rows, best, place) for place in chosen])
        with np.errstate(invalid="ignore"):
            ties = (rows <= (best + TIE_TOLERANCE * np.abs(best))[..., None]).sum(axis=-1)
        unit = str(table.ds[goal.text].attrs.get("units", "")) if goal.text in table.ds else ""
        about = {"units": unit or "1", "long_name": f"{goal.text} at the optimum of the model"}
        name = goal.text if goal.text in table.ds else OBJECTIVE
        none = chosen < 0
        places = unravel_places(flat, rest, cells, table.axes)
        result = {f"best_{a}": self._best_coordinates(a, places[a][..., 0], none) for a in rest}
        result[f"best_{name}"] = (cells, np.where(none, np.nan, goal.sign * best), about)
        about = {"units": "1", "long_name": "configurations that are as good as the optimum"}
        result["ties"] = (cells, np.where(none, 0, ties), about)
        pair = (MODEL_DIMENSION, REFERENCE_DIMENSION, *self.per)
        ends = "at the optimum of the model followed", "at that of the model taken for right"
        over, under = ends if goal.sign > 0 else reversed(ends)
        ratio = f"{goal.text} {over}, over {goal.text} {under}, both computed by model `under`"
        result["regret"] = (pair, regret, {"units": "1", "long_name": ratio})
        with np.errstate(invalid="ignore"):
            differs = regret > 1 + TIE_TOLERANCE
        text = "whether the optimum of the model followed is none of the model taken for right"
        result["optimum_differs"] = (pair, differs, {"long_name": text})
        return result

    def _best_coordinates(
        self, axis: str, places: NDArray[np.int64], missing: NDArray[np.bool_]
    ) -> Variable:
        ds, size = self.table.ds, self.table.axes[axis]
        values = np.asarray(ds[axis].values) if axis in ds.coords else np.arange(size)
        result = values[np.maximum(places, 0)]
        if missing.any():
            text = result.dtype.kind in "UOS"
            result = np.where(missing, "" if text else np.nan, result)
        about = {"long_name": f"{axis} at the optimum of the model"}
        if axis in ds.coords and "units" in ds[axis].attrs:
            about = {"units": ds[axis].attrs["units"], **about}
        return ((MODEL_DIMENSION, *self.per), result, about)

    def _regret(
        self, goal: Goal, rows: NDArray[np.float64], best_scores: NDArray[np.float64], places: Any
    ) -> NDArray[np.float64]:
        """Return each model's objective at some points, divided by the model's best (>= 1)."""
        index = np.broadcast_to(np.maximum(places, 0), best_scores.shape)[..., None]
        there = np.take_along_axis(rows, index, axis=-1)[..., 0]
        for array in (best_scores, there):
            finite = goal.sign * array[np.isfinite(array)]
            if (finite < 0).any():
                raise DseError(
                    f"{goal.text} is {finite.min():g} at an optimum, but regret is a ratio: give "
                    "an objective that is never below 0"
                )
        with np.errstate(all="ignore"):
            ratio = there / best_scores if goal.sign > 0 else best_scores / there
        ratio = np.where(np.isinf(there), np.inf, np.where(there == best_scores, 1.0, ratio))
        return np.where(np.isinf(best_scores) | (places < 0), np.nan, ratio)
