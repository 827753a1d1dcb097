"""The result of a fit: its class, its covariance, and its Dataset."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.fitting.parameters import Floats
from dse.fitting.rows import ROW, FitCase, FitRows
from dse.fitting.search import (
    FLAT_TOLERANCE,
    STEP,
    FitProblem,
    Mask,
    Solution,
    jacobian_at,
    normalize_columns,
    step_sizes,
)
from dse.inputs.fit_file import FitReport, SavedFit
from dse.inputs.provenance import provenance_attributes
from sweeps.grid.dataset import assemble, variable_attributes
from sweeps.grid.grid import Grid
from symbolic.errors import check_name

if TYPE_CHECKING:
    import xarray as xr


def fit_dataset(
    case: FitCase,
    rows: FitRows,
    grid: Grid,
    *,
    text: str,
    residuals: Mapping[str, Floats],
    values: Mapping[str, float],
    units: Mapping[str, str],
    covariance: Floats,
    relative: bool,
) -> xr.Dataset:
    """Return the Dataset of a fit; ``grid`` evaluates the model on the rows with fitted values."""
    variables: dict[str, Any] = {}
    roots = [grid.graph.flat(name) for name in case.targets]
    predicted = grid.evaluate(roots, (), tuple(grid.axes))
    for name, array in zip(case.targets, predicted, strict=True):
        about = variable_attributes(grid, name)
        unit, meaning = about.get("units", "1"), about["long_name"]
        variables[name] = (ROW, np.array(array), {**about, "long_name": f"{meaning}, as predicted"})
        measured = {"units": unit, "long_name": f"{meaning}, as measured"}
        variables[f"{name}_measured"] = (ROW, rows.measurements[name], measured)
        difference = {"long_name": f"{name} as predicted - as measured"}
        difference["units"] = "1" if relative else unit
        if relative:
            difference["long_name"] += ", over that measured"
        variables[f"{name}_residual"] = (ROW, np.array(residuals[name]), difference)
    for name, array in rows.inputs.items():
        variables[name] = (ROW, array, variable_attributes(grid, name))
    if rows.workloads:
        about = {"long_name": "workload of the row"}
        variables["workload"] = (ROW, np.array(rows.workloads), about)
    errors = np.sqrt(np.diag(covariance))
    names = np.array(list(values))
    with np.errstate(all="ignore"):  # NaN where a standard error is missing
        correlation = covariance / np.outer(errors, errors)
    both = ("quantity", "other_quantity")
    columns = {
        "value": (np.array(list(values.values())), "fitted value"),
        "standard_error": (errors, "standard error of the value"),
        "unit": (np.array([units[n] or "1" for n in values]), "unit of value and standard error"),
    }
    variables |= {n: ("quantity", v, {"long_name": text}) for n, (v, text) in columns.items()}
    about = {"long_name": "correlation of the errors", "units": "1"}
    variables["correlation"] = (both, correlation, about)
    return assemble(
        variables,
        {
            ROW: (ROW, rows.places, {"long_name": "row of the data"}),
            **{dim: (dim, names, {"long_name": "what was fitted"}) for dim in both},
        },
        {
            **provenance_attributes(text, grid, case.parts),
            "title": f"simt-dse fit of {case.model.name}",
        },
    )


def _flat_directions(problem: FitProblem, point: Floats) -> Mask:
    """Return a mask of the values whose increase or decrease changes no prediction."""
    steps, none = STEP * step_sizes(problem, point), np.zeros(len(point))
    result = none > 0
    low = np.array([c.low for c in problem.parameters])
    high = np.array([c.high for c in problem.parameters])
    for ahead, back, room in ((steps, none, point < high), (none, steps, point > low)):
        slopes = problem.jacobian(point, ahead, back)
        change = steps * np.sqrt(np.square(slopes).sum(axis=0))
        result |= room & (change <= FLAT_TOLERANCE * STEP * problem.measured_norm)
    return result


def _compensating_changes(problem: FitProblem, solution: Solution, slopes: Floats) -> Mask:
    """Return a mask of the values that can change together without changing the predictions."""
    none = np.zeros(len(solution.point), dtype=bool)
    if not solution.at_end.any() or len(slopes) < len(none):
        return none
    _, sizes, directions = np.linalg.svd(normalize_columns(slopes)[0], full_matrices=False)
    moving = np.where(np.abs(directions[-1]) > 0.1, np.sign(directions[-1]), 0.0)
    inward = np.where(solution.point <= [c.low for c in problem.parameters], 1.0, -1.0)
    signs = (moving * inward)[solution.at_end & (moving != 0)]
    is_flat = sizes[-1] <= FLAT_TOLERANCE * sizes[0]
    return (moving != 0) if is_flat and (np.all(signs > 0) or np.all(signs < 0)) else none


def covariance(problem: FitProblem, solution: Solution) -> tuple[Floats, tuple[str, ...]]:
    """Return the covariance of the values, and the quantities that the rows do not determine.

    The covariance is s² (JᵀJ)⁻¹ with s² = sum of squares / (number of measurements - number of free
    values). A value at an end of its domain is treated as fixed, and its covariances are NaN.
    """
    keys = [c.key for c in problem.parameters]
    full = np.full((len(keys), len(keys)), math.nan)
    inner = np.flatnonzero(~solution.at_end)
    slopes = jacobian_at(problem, solution.point)
    for mask in (
        _flat_directions(problem, solution.point),
        _compensating_changes(problem, solution, slopes),
    ):
        if mask.any():
            return full, tuple(keys[k] for k in np.flatnonzero(mask))
    if not inner.size:
        return full, ()
    slopes, lengths = normalize_columns(slopes[:, inner])
    _, sizes, directions = np.linalg.svd(slopes, full_matrices=False)
    if len(sizes) < len(inner) or sizes[-1] <= FLAT_TOLERANCE * sizes[0]:
        return full, tuple(keys[k] for k in inner[np.abs(directions[-1]) > 0.1])
    freedom = int(np.count_nonzero(problem.scale)) - len(inner)
    if freedom <= 0:
        return full, ()
    inverse = (directions.T / sizes**2) @ directions / np.outer(lengths, lengths)
    full[np.ix_(inner, inner)] = inverse * (solution.cost / freedom)
    return full, ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Fit(FitReport):
    """Free quantities of a model fitted to measured rows.

    Two fits are equal if their values, errors and options are equal.

    Attributes:
        model, to, rows: The model, the measured quantities, and the number of fitted rows.
        per, labels: The quantities that have a value for each label, and the labels.
        values, units: Values of the free quantities in their stored units; ``"name[label]"`` with
            labels.
        standard_errors: Standard errors: the square roots of the diagonal of ``covariance``. NaN if
            the number of residuals does not exceed the number of free values, or if the value is at
            an end of its domain (``at_end``).
        covariance: s² (JᵀJ)⁻¹ with the Jacobian J of the residuals, in the order of ``values``; s²
            is the sum of squares / (number of residuals - number of free values).
        relative: True if residuals are divided by the measured values; False if they keep the unit.
        residuals: Predicted - measured, for each quantity and row; divided by measured if
            ``relative``.
        left_out: The residuals if each row is predicted by a fit to all other rows.
        how_left_out: ``"refit"``: one fit without each row; ``"hat"``: from the hat matrix of the
            Jacobian, which gives the same if predictions are linear in the free quantities.
        mean_error, largest_error: Mean and maximum of |predicted - measured| / |measured|.
        r2: 1 - residual sum of squares / total sum of squares, both with the weights of the fit.
        at_end: Quantities whose best value is an end of their domain or bounds.
        dataset: Along ``row``: inputs, predictions, ``<name>_measured`` and ``<name>_residual``.
            Along ``quantity``: ``value``, ``standard_error`` and ``correlation``.
    """

    model: str
    to: tuple[str, ...]
    rows: int
    per: tuple[str, ...]
    labels: tuple[str, ...]
    values: Mapping[str, float]
    units: Mapping[str, str]
    standard_errors: Mapping[str, float]
    covariance: Floats = field(compare=False)
    relative: bool
    residuals: Mapping[str, Floats] = field(compare=False)
    left_out: Mapping[str, Floats] = field(compare=False)
    how_left_out: str
    mean_error: float
    largest_error: float
    r2: float
    at_end: tuple[str, ...]
    dataset: xr.Dataset = field(repr=False, compare=False)

    def __getitem__(self, name: str) -> float:
        check_name(name, self.values, f"{name!r} was not fitted", "fitted are")
        return self.values[name]

    @property
    def saved_fit(self) -> SavedFit:
        """The fit in the form of a fit file, without its rows."""
        request = json.loads(self.dataset.attrs["study"])
        return SavedFit(
            model=self.model,
            to=self.to,
            machine=request.get("machine"),
            workload=request.get("workload"),
            set_values=request["set"],
            values=self.values,
            units=self.units,
            standard_errors=self.standard_errors,
            covariance=self.covariance,
            at_end=self.at_end,
            column=next(iter(request["per"]), None),
            per=self.per,
            labels=self.labels,
            rows={
                **request["data"],
                "used": self.rows,
                "places": index_ranges(self.dataset["row"].values),
                "where": request["where"],
            },
            errors={
                "residuals": "relative" if self.relative else "absolute",
                "rms": self.rms,
                "mean": self.mean_error,
                "largest": self.largest_error,
                "r2": self.r2,
            },
            left_out={"how": self.how_left_out, "rms": self.leave_one_out},
        )

    @property
    def rms(self) -> float:
        """Root mean square of the residuals."""
        return _rms(self.residuals)

    @property
    def leave_one_out(self) -> float:
        """Root mean square of the residuals of rows left out of the fit."""
        return _rms(self.left_out)

    def to_dict(self) -> dict[str, Any]:
        """Return the fit as plain data, without its rows."""
        result = {
            name: {
                "value": value,
                "standard_error": self.standard_errors[name],
                "unit": self.units[name],
                "at_end": name in self.at_end,
            }
            for name, value in self.values.items()
        }
        keys = ("mean_error", "largest_error", "r2", "relative", "rms", "leave_one_out")
        return {
            "model": self.model,
            "to": list(self.to),
            "rows": self.rows,
            "fitted": result,
            **{key: getattr(self, key) for key in keys},
            "how_left_out": self.how_left_out,
        }


def index_ranges(places: NDArray[np.int64]) -> list[list[int]]:
    """Return ascending row indices as ranges [first, last].

    >>> index_ranges(np.array([0, 1, 2, 5, 7, 8]))
    [[0, 2], [5, 5], [7, 8]]
    """
    parts = np.split(places, np.flatnonzero(np.diff(places) != 1) + 1)
    return [[int(part[0]), int(part[-1])] for part in parts if part.size]


def _rms(arrays: Mapping[str, Floats]) -> float:
    residuals = np.concatenate(list(arrays.values()))
    return euclidean_norm(residuals) / math.sqrt(residuals.size)


def euclidean_norm(array: Floats) -> float:
    """Return the root of the sum of squares, without overflow or underflow.

    >>> euclidean_norm(np.array([3e-200, 4e-200])), euclidean_norm(np.zeros(2))
    (5e-200, 0.0)
    """
    most = float(np.max(np.abs(array), initial=0.0))
    if most == 0 or not math.isfinite(most):
        return most
    return most * math.sqrt(float(np.square(array / most).sum()))
