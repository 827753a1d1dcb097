"""What a fit found, as values, as text and as a Dataset."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.fitted import Labelled, SavedFit
from dse.fitting.columns import Floats
from symbolic.errors import check_known

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Fit(Labelled):
    """Free quantities of a model fitted to measured rows; its text tells all of it.

    Two fits are equal where values, errors and what was asked are.

    Attributes
    ----------
    model : str
        The model.
    to : tuple of str
        The measured quantities.
    rows : int
        Rows that were fitted.
    per, labels : tuple of str
        The quantities that have a value for each label, and the labels.
    values : mapping of str to float
        Of each free quantity, in its stored unit; ``"name[label]"`` where it has one for each
        label.
    units : mapping of str to str
        Those units.
    standard_errors : mapping of str to float
        Of the values, from the Jacobian: the roots of the diagonal of ``covariance``. NaN where
        there are no more residuals than free quantities, or the value stands at an end of its
        domain (``at_end``).
    covariance : array
        s² (JᵀJ)⁻¹, s² = sum of squares / (residuals - free), in the order of ``values``.
    relative : bool
        Whether residuals are shares of the measured values; else they are in its unit.
    residuals : mapping of str to array
        Predicted - measured, of each measured quantity and row; shares where ``relative``.
    left_out : mapping of str to array
        The same where each row is predicted by a fit to all others.
    how_left_out : str
        ``"refit"``: a fit without each row; ``"hat"``: from the Jacobian's hat matrix, which says
        the same where predictions are linear in what is free.
    mean_error, largest_error : float
        Mean and largest of |predicted - measured| / |measured|.
    r2 : float
        1 - sum of squares / that about the mean, both weighted as the fit is.
    at_end : tuple of str
        Quantities whose best value is an end of their domain or bounds.
    dataset : xarray.Dataset
        Each row as predicted (with what it depends on), ``<name>_measured`` and
        ``<name>_residual``; ``value``, ``standard_error`` and ``correlation`` over ``quantity``.
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
        check_known(name, self.values, f"{name!r} was not fitted", "fitted are")
        return self.values[name]

    @property
    def saved(self) -> SavedFit:
        """What a file of it holds, and a study takes: all but the rows themselves."""
        asked = json.loads(self.dataset.attrs["study"])
        return SavedFit(
            model=self.model,
            to=self.to,
            machine=asked.get("machine"),
            workload=asked.get("workload"),
            given=asked["set"],
            values=self.values,
            units=self.units,
            standard_errors=self.standard_errors,
            covariance=self.covariance,
            at_end=self.at_end,
            column=next(iter(asked["per"]), None),
            per=self.per,
            labels=self.labels,
            rows={
                **asked["data"],
                "used": self.rows,
                "places": ranges(self.dataset["row"].values.tolist()),
                "where": asked["where"],
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

    def save(self, path: str | Path) -> Path:
        """Write the file ``NAME.fit.json``, which studies take as it stands (``fit=``)."""
        return self.saved.save(path)

    @property
    def rms(self) -> float:
        """Root mean square of the residuals."""
        return _rms(self.residuals)

    @property
    def leave_one_out(self) -> float:
        """Root mean square of the residuals of rows predicted by fits to all others."""
        return _rms(self.left_out)

    def to_dict(self) -> dict[str, Any]:
        """The fit as plain data, without its rows."""
        found = {
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
            "fitted": found,
            **{key: getattr(self, key) for key in keys},
            "how_left_out": self.how_left_out,
        }


def ranges(places: Sequence[int]) -> list[list[int]]:
    """Ascending places as ranges.

    >>> ranges([0, 1, 2, 5, 7, 8])
    [[0, 2], [5, 5], [7, 8]]
    """
    found: list[list[int]] = []
    for place in places:
        if found and place == found[-1][1] + 1:
            found[-1][1] = place
        else:
            found.append([place, place])
    return found


def _rms(arrays: Mapping[str, Floats]) -> float:
    residuals = np.concatenate(list(arrays.values()))
    return root_of_squares(residuals) / math.sqrt(residuals.size)


def root_of_squares(array: Floats) -> float:
    """The root of the sum of squares, of numbers of any size.

    >>> root_of_squares(np.array([3e-200, 4e-200])), root_of_squares(np.zeros(2))
    (5e-200, 0.0)
    """
    most = float(np.max(np.abs(array), initial=0.0))
    if most == 0 or not math.isfinite(most):
        return most
    return most * math.sqrt(float(np.square(array / most).sum()))
