"""Units of measured columns: the factor to the stored unit, and what is assumed without one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from numpy.typing import NDArray

from symbolic.errors import UnitError
from symbolic.quantities import TABLE
from symbolic.units import dimension, exact, misfit

__all__ = ["assumed_units", "column_unit", "scaled"]

#: Stored units by their usual names.
_SPOKEN = {"J/s": "W", "1/s": "Hz"}


def assumed_units(units: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each quantity, by its name here, that bears no unit and needs one."""
    for name, unit in units.items():
        row = TABLE.get(name)
        if row is None or row.is_label or unit.strip() or dimension(row.unit).is_plain:
            continue
        yield (
            f"{name} has no unit in the file: taken in {row.unit} (a header '{name} [UNIT]' says "
            "another)"
        )


def column_unit(
    name: str, told: str, unit: str, values: NDArray[Any]
) -> tuple[tuple[int, int], dict[str, Any]]:
    """Return the exact factor to the stored unit, and the attributes of a column."""
    row = TABLE.get(name)
    meaning = row.meaning if row is not None and row.meaning else told
    if values.dtype.kind not in "if":
        return (1, 1), {"long_name": meaning}
    expected = "" if row is None or row.is_label else row.unit
    if not unit.strip():
        return (1, 1), {"long_name": meaning, "units": expected or "1"}
    try:
        factor, kind = exact(1, unit)
    except UnitError as error:
        if row is None:  # a plain number whose name tells the unit
            return (1, 1), {"long_name": f"{told} [{unit}]", "units": "1"}
        raise UnitError(f"the unit of {told!r}: {error}; or say it by units=") from None
    if row is not None and not row.is_label:
        if kind != dimension(expected):
            raise UnitError(
                f"{name}: "
                + misfit(f"the column {told!r} in {unit!r}", kind, dimension(expected), unit)
                + ", or rename the column"
            )
        stored = expected
    else:
        stored = _SPOKEN.get(kind.unit, kind.unit)
    attrs = {"long_name": meaning, "units": stored or "1"}
    return (factor.numerator, factor.denominator), attrs


def scaled(values: NDArray[Any], factor: tuple[int, int]) -> NDArray[Any]:
    """Return numbers multiplied by an exact factor; labels as they are."""
    if factor == (1, 1) or values.dtype.kind not in "if":
        return values
    scaled: NDArray[Any] = values * float(factor[0]) / float(factor[1])
    return scaled
