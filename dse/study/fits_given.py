"""The fits that a study is given, as inputs with their sources."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dse.fitted import SavedFit, load_fit
from dse.fitted_inputs import FittedInputs
from symbolic.answer import value_text
from symbolic.errors import DseError
from symbolic.reach import Base, located

_EXPECTED = (
    'expected the path of a file NAME.fit.json, { file = "NAME.fit.json", label = "..." }, a fit, '
    "or a list of these"
)


def read_fits(given: Any, folder: Base = None) -> FittedInputs:
    """Return the inputs that ``fit=`` of a study supplies.

    Raises
    ------
    DseError
        Something other than a fit, a file that cannot be read, two fits of one quantity.
    """
    if isinstance(given, FittedInputs):
        return given
    several = given if isinstance(given, (list, tuple)) else [given]
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    units: dict[str, str] = {}
    for one in several:
        found = _read(one, folder)
        for name, value in found.values.items():
            if name in values and values[name] != value:
                raise DseError(
                    f"fit gives {name} twice, {sources[name]} and {found.sources[name]}: keep one "
                    "of them"
                )
        values |= found.values
        sources |= found.sources
        units |= found.units
    return FittedInputs(values=values, sources=sources, units=units)


def _read(given: Any, folder: Base) -> FittedInputs:
    if isinstance(given, (str, Path)):
        return _inputs(load_fit(located(given, folder, "fit")))
    if isinstance(given, Mapping):
        if set(given) == {"values", "sources"}:  # as the text of a study tells it
            return FittedInputs(**given, units={})
        if "file" not in given or not set(given) <= {"file", "label"}:
            raise DseError(f"fit = {dict(given)!r}: {_EXPECTED}")
        file, label = given["file"], given.get("label")
        if not isinstance(file, (str, Path)):
            raise DseError(f"fit = {dict(given)!r}: {_EXPECTED}")
        fit = load_fit(located(file, folder, "fit"))
        return _inputs(fit, None if label is None else str(label))
    saved = given if isinstance(given, SavedFit) else getattr(given, "saved", None)
    if not isinstance(saved, SavedFit):
        raise DseError(f"fit = {given!r}: {_EXPECTED}")
    return _inputs(saved)


def _inputs(fit: SavedFit, label: str | None = None) -> FittedInputs:
    """What was fitted and set, with its sources."""
    told = f"of the fit of {fit.model} to {', '.join(fit.to)}"
    sources = dict.fromkeys(fit.given, f"set {told}")
    fitted = fit.set if label is None else fit.set_of(label)
    keys = {name: f"{name}[{label}]" if name in fit.per else name for name in fitted}
    sources |= {name: _source(fit, key) for name, key in keys.items()}
    units = {name: fit.units[key] for name, key in keys.items()}
    return FittedInputs(values={**fit.given, **fitted}, sources=sources, units=units)


def _source(fit: SavedFit, key: str) -> str:
    """Where a value is from, in few words."""
    rows = fit.rows
    text = f"fitted: {fit.model} to {', '.join(fit.to)} of {rows.get('used', '?')} rows"
    text += f" of {rows['data']}" if rows.get("data") else ""
    text += f" on {fit.machine}" if fit.machine else ""
    if key in fit.at_end:
        return f"{text}, an end of its domain or bounds"
    error = fit.standard_errors[key]
    known = not math.isnan(error)
    return f"{text}, standard error {value_text(error, fit.units[key])}" if known else text
