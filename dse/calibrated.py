"""What a calibration found, as values, as text and as a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.fitted import SavedFit, fit_answer, joined
from dse.fitting import Fit
from symbolic.answer import Answer, Report

if TYPE_CHECKING:
    from dse.fitting.columns import Floats

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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Calibration(Report):
    """Quantities from measured rows, and errors of what was left out; its text tells all of it.

    Attributes
    ----------
    fits : mapping of str to Fit
        ``"together"``; of TMM ``"memory"`` and ``"computation"``, those of them that have rows.
    by : str or None
        The column whose labels were left out, one at a time.
    groups : mapping of str to array
        Of each label, (predicted - measured) / measured of its rows by a fit to all others.
    tried : tuple of mapping
        Alternatives: ``set``, ``error`` left out or ``reason``, ``chosen``.
    """

    fits: Mapping[str, Fit]
    by: str | None = None
    groups: Mapping[str, Floats] = field(default_factory=dict, compare=False)
    tried: tuple[Mapping[str, Any], ...] = ()

    @property
    def set(self) -> dict[str, float]:
        """The fitted values, for ``set=`` of a study of the model."""
        return {name: value for found in self.fits.values() for name, value in found.set.items()}

    @property
    def standard_errors(self) -> dict[str, float]:
        """Their standard errors, in the same units."""
        return {n: error for one in self.fits.values() for n, error in one.standard_errors.items()}

    @property
    def r2(self) -> dict[str, float]:
        """The coefficient of determination of each fit."""
        return {regime: found.r2 for regime, found in self.fits.items()}

    @property
    def saved(self) -> SavedFit:
        """What a file of it holds, and a study takes."""
        one = joined([found.saved for found in self.fits.values()])
        groups = {
            label: {
                "rows": off.size,
                "mean": float(np.abs(off).mean()),
                "median": float(np.median(np.abs(off))),
                "largest": float(np.abs(off).max()),
            }
            for label, off in self.groups.items()
        }
        more = {"by": self.by, "groups": groups} if groups else {}
        return replace(one, left_out={**one.left_out, **more}, tried=self.tried)

    def save(self, path: str | Path) -> Path:
        """Write the file ``NAME.fit.json``, which studies take as it stands (``fit=``)."""
        return self.saved.save(path)

    def _answer(self) -> Answer:
        missing = [regime for regime in REGIMES if not {regime, "together"} & {*self.fits}]
        notes = [f"{regime}: no row is of this regime" for regime in missing]
        r2 = [f"r2 of {regime} = {r2:.6g}" for regime, r2 in self.r2.items() if len(self.r2) > 1]
        return fit_answer("Calibration", self.saved, [*r2, *notes])

    def to_dict(self) -> dict[str, Any]:
        """The tree of the file."""
        return self.saved.to_dict()
