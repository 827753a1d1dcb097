"""Calibrating the TMM model: the line where latency shows, the level where computation bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.fitting import Fit, fit
from dse.fitting.columns import numbers, read_table
from sweeps.grid.goals import texts_of
from symbolic.errors import DseError

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from dse.fitting.columns import Floats, Named
    from symbolic.model import Model

__all__ = ["Calibration", "calibrate"]

#: Of each regime: its rows, what is fitted to them, and what is not there.
REGIMES = {
    "memory": (
        "bound == 2",
        ("memory_time_slope", "memory_time_offset"),
        {"compute_bound_time": 0.0},
    ),
    "computation": (
        "bound < 2",
        ("compute_bound_time",),
        {"memory_time_slope": 0.0, "memory_time_offset": 0.0},
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The coefficients of ``tmm_calibrated`` from measured run times; its text tells all of it.

    Attributes
    ----------
    fits : mapping of str to Fit
        ``"memory"`` and ``"computation"``, those of them that have rows; or ``"together"``.
    """

    fits: Mapping[str, Fit]

    @property
    def set(self) -> dict[str, float]:
        """The fitted values, for ``set=`` of a study of the model."""
        return {name: value for found in self.fits.values() for name, value in found.set.items()}

    @property
    def standard_errors(self) -> dict[str, float]:
        """Their standard errors, in the same units."""
        return {
            name: error
            for found in self.fits.values()
            for name, error in found.standard_errors.items()
        }

    @property
    def r2(self) -> dict[str, float]:
        """The coefficient of determination of each fit."""
        return {regime: found.r2 for regime, found in self.fits.items()}

    def __str__(self) -> str:
        parts = [f"{regime}: {found}" for regime, found in self.fits.items()]
        missing = [regime for regime in REGIMES if not {regime, "together"} & {*self.fits}]
        return "\n".join([*parts, *(f"{regime}: no row is of this regime" for regime in missing)])


def calibrate(
    data: str | Path | pd.DataFrame | xr.Dataset | Mapping[str, Any],
    *,
    model: str | Model = "apsp + tmm_calibrated",
    machine: str | None = None,
    workload: str | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002
    where: str | Sequence[str] = (),
    regimes: str = "apart",
    columns: Named = None,
    weights: str | Sequence[float] | Floats | None = None,
    residuals: str = "absolute",
) -> Calibration:
    r"""Fit the three coefficients of ``tmm_calibrated`` to measured run times.

    .. math:: Time = \max\left(a_1 \frac{\sqrt{B_r}}{\mathcal{T}} + a_0, t_{computation}\right)

    Rows where latency shows (``bound`` of the model is ``memory``: for ``apsp``,
    𝒯 S_D C < L) give the line of Ma 2014, Eq. 15; the others give the level of Eq. 13, which is
    their mean. Or all three are fitted through the maximum, which needs no L / C.

    Parameters
    ----------
    data :
        As for :func:`dse.fit`: a column ``time``, and inputs such as ``tile_dim`` and
        ``threads_per_core``. A column ``bound`` (0 computation, 1 span, 2 memory) says the regime
        where it is known.
    model : str or Model
        ``tmm_calibrated`` joined with what yields ``blocks`` and ``bound``.
    regimes : str
        ``"apart"``, or ``"together"``: through the maximum.
    machine, workload, where, columns, weights, residuals :
        As for :func:`dse.fit`.
    set : mapping, optional
        As for :func:`dse.fit`. A coefficient that is set is not fitted.

    >>> import dse
    >>> times = {"tile_dim": [32, 32, 32, 32, 32, 32], "threads_per_core": [2, 4, 8, 16, 24, 32],
    ...          "time": [182.0, 118.0, 86.0, 70.5, 69.5, 70.0]}
    >>> found = dse.calibrate(times, machine="gtx480", workload="apsp")
    >>> {name: round(value, 6) for name, value in found.set.items()}
    {'memory_time_slope': 1.0, 'memory_time_offset': 54.0, 'compute_bound_time': 70.0}
    """
    if regimes not in ("apart", "together"):
        raise DseError(f"regimes = {regimes!r}: expected 'apart' or 'together'")
    given = dict(set or {})
    said: dict[str, Any] = {"to": "time", "machine": machine, "workload": workload}
    said |= {"columns": columns, "weights": weights, "residuals": residuals}
    if regimes == "together":
        free = [n for _, names, _ in REGIMES.values() for n in names if n not in given]
        said |= {"where": where, "set": given}
        return Calibration(fits={"together": fit(model, data, free=free, **said)})
    from dse.fitting.rows import FewRowsError, NoRowError

    _check_bounds(data, columns)
    fits: dict[str, Fit] = {}
    failed: NoRowError | None = None
    for regime, (rows, coefficients, absent) in REGIMES.items():
        said |= {"where": [*texts_of(where, "where"), rows], "set": {**given, **absent}}
        free = [name for name in coefficients if name not in given]
        said["set"] |= {name: given[name] for name in coefficients if name in given}
        try:
            if free:
                fits[regime] = fit(model, data, free=free, **said)
        except NoRowError as error:
            failed = error
        except FewRowsError as error:
            raise FewRowsError(
                f"the {regime} regime ({rows}): {error}; rows of one regime alone are chosen by "
                "where="
            ) from None
    if failed is not None and not fits:
        raise failed
    if not fits:
        raise DseError("all coefficients are set: leave out of set= those that are to be fitted")
    return Calibration(fits=fits)


def _check_bounds(data: Any, columns: Named) -> None:
    """Raise where a column ``bound`` says neither of the regimes."""
    table = read_table(data)
    if isinstance(columns, Mapping):
        header = columns.get("bound")
    else:
        header = "bound" if columns is None or "bound" in columns else None
    if header is None or header not in table.columns:
        return
    values = numbers(table.columns[header], header)
    wrong = np.flatnonzero(~np.isin(values, (0, 1, 2)))
    if wrong.size:
        raise DseError(
            f"the column {header!r} holds {values[wrong[0]]:g} at row {wrong[0]}: expected 0 "
            "(computation), 1 (span) or 2 (memory); leave the column out where model= yields bound"
        )
