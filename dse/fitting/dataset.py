"""A fit as a Dataset: the rows as measured and as predicted, the values with their errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.fitting.cases import Case
from dse.fitting.columns import Floats
from dse.fitting.rows import ROW, Rows
from sweeps.grid.dataset import assemble, describe
from sweeps.grid.grid import Grid

if TYPE_CHECKING:
    import xarray as xr


def dataset_of(
    case: Case,
    rows: Rows,
    grid: Grid,
    *,
    text: str,
    residuals: Mapping[str, Floats],
    values: Mapping[str, float],
    units: Mapping[str, str],
    covariance: Floats,
    relative: bool,
) -> xr.Dataset:
    """The Dataset of a fit; ``grid`` is that of the rows at the fitted values, ``text`` says it."""
    from dse.provenance import attributes

    variables: dict[str, Any] = {}
    predicted = grid.evaluate([grid.graph.flat(name) for name in case.to], (), tuple(grid.axes))
    for name, array in zip(case.to, predicted, strict=True):
        said = describe(grid, name)
        unit, meaning = said.get("units", "1"), said["long_name"]
        variables[name] = (ROW, np.array(array), {**said, "long_name": f"{meaning}, as predicted"})
        measured = {"units": unit, "long_name": f"{meaning}, as measured"}
        variables[f"{name}_measured"] = (ROW, rows.measured[name], measured)
        difference = {"long_name": f"{name} as predicted - as measured"}
        difference["units"] = "1" if relative else unit
        if relative:
            difference["long_name"] += ", over that measured"
        variables[f"{name}_residual"] = (ROW, np.array(residuals[name]), difference)
    for name, array in rows.inputs.items():
        variables[name] = (ROW, array, describe(grid, name))
    if rows.workloads:
        told = {"long_name": "workload of the row"}
        variables["workload"] = (ROW, np.array(rows.workloads), told)
    errors = np.sqrt(np.diag(covariance))
    names = np.array(list(values))
    with np.errstate(all="ignore"):  # no errors, no correlation
        correlation = covariance / np.outer(errors, errors)
    both = ("quantity", "other_quantity")
    variables |= {
        "value": ("quantity", np.array(list(values.values())), {"long_name": "fitted value"}),
        "standard_error": ("quantity", errors, {"long_name": "standard error of the value"}),
        "unit": (
            "quantity",
            np.array([units[n] or "1" for n in values]),
            {"long_name": "unit of value and standard error"},
        ),
        "correlation": (
            both,
            correlation,
            {"long_name": "correlation of the errors", "units": "1"},
        ),
    }
    said = attributes(text, grid, case.parts)
    return assemble(
        variables,
        {
            ROW: (ROW, rows.places, {"long_name": "row of the data"}),
            **{dim: (dim, names, {"long_name": "what was fitted"}) for dim in both},
        },
        {**said, "title": f"simt-dse fit of {case.model.name}"},
    )
