"""Laws of several quantities together: rows of measurements, a fit's covariance, correlations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.fitted import load_fit
from dse.uncertain.correlated import Normals
from dse.uncertain.csv_columns import columns_of, weights_of
from dse.uncertain.discrete import chances
from dse.uncertain.fits import known, of_fit
from symbolic.errors import DseError
from symbolic.quantities import Quantity
from symbolic.reach import Base, located

__all__ = ["Rows", "joint_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Quantities that take the values of one row together, each row with a chance."""

    columns: Mapping[str, Floats]
    weights: tuple[Fraction, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The quantities."""
        return tuple(self.columns)

    @property
    def dimensions(self) -> int:
        """How many coordinates of a point it takes."""
        return 1

    def places(self, u: Floats) -> NDArray[np.int64]:
        """The rows of some points."""
        ends = np.cumsum([float(weight) for weight in self.weights])
        return np.minimum(np.searchsorted(ends, u), len(self.weights) - 1)

    def ends(self, levels: Floats) -> dict[str, Floats]:
        """Return the least and the largest value of each quantity, whatever the levels."""
        return {name: np.array([np.min(c), np.max(c)]) for name, c in self.columns.items()}

    def of(self, points: Floats) -> dict[str, Floats]:
        """The values at points between 0 and 1, one column a coordinate."""
        places = self.places(points[:, 0])
        return {name: column[places] for name, column in self.columns.items()}


def joint_of(
    key: str, value: Any, quantities: Mapping[str, Quantity], folder: Base
) -> Rows | Normals | None:
    """The joint law that an entry of ``[random]`` gives; None where it is that of one quantity.

    ``{"fit": path or Fit}`` takes values and covariance of a fit (``label``: those of one of its
    labels), ``{"file": path, "columns":
    {quantity: column}}`` the rows of a CSV file. The key is then free.
    """
    where = f"random {key}"
    if not isinstance(value, Mapping):
        return of_fit(value, None, quantities, where) if hasattr(value, "covariance") else None
    if "fit" in value:
        fit = value["fit"]
        if not set(value) <= {"fit", "label"} or isinstance(fit, Mapping):
            raise DseError(
                f"{where} = {dict(value)!r}: expected {{ fit = 'runs.fit.json' }}, with the label "
                "of its values where each has its own"
            )
        if isinstance(fit, (str, Path)):
            fit = load_fit(located(fit, folder, "fit"))
        return of_fit(fit, value.get("label"), quantities, where)
    if "columns" not in value:
        return None
    if not {"file", "columns"} <= set(value) <= {"file", "columns", "units", "weights"}:
        raise DseError(
            f"{where} = {dict(value)!r}: expected {{ file = 'runs.csv', columns = "
            "{ quantity = 'column', ... } }, with units and weights where there are some"
        )
    columns = value["columns"]
    if not isinstance(columns, Mapping) or not columns:
        raise DseError(f"{where}: columns = {columns!r}, expected {{ quantity = 'column', ... }}")
    rows = {name: known(name, quantities, where) for name in columns}
    units = {columns[name]: unit for name, unit in value.get("units", {}).items()}
    found = columns_of(value["file"], columns, rows, units, where, folder)
    for name, column in found.items():
        rows[name].check(np.array(column), where)
    weights = weights_of(value["file"], value.get("weights"), where, folder)
    count = len(next(iter(found.values())))
    return Rows(
        columns={name: np.array(column) for name, column in found.items()},
        weights=chances(weights, count, where),
    )
