"""Numbers of a law, in the unit in which their quantity is stored."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from dse.uncertain.law import Family
from dse.uncertain.spoken import Spoken
from symbolic.errors import DseError, UnitError
from symbolic.quantities import Quantity
from symbolic.units import dimension

__all__ = ["in_unit", "numbers_of"]

_SHARE = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*%\s*")


def in_unit(value: Any, row: Quantity, where: str, *, text: bool) -> float:
    """A number in the stored unit of a quantity; in a text it bears a unit, if there is one."""
    from symbolic.expression import parse_value

    if isinstance(value, str):
        try:
            found = parse_value(value, row, {})
        except UnitError as error:
            raise UnitError(f"{where}: {error}") from None
        except DseError:
            raise DseError(f"{where} holds {value!r}: expected a number with its unit") from None
        bare = re.fullmatch(r"[-+\d.eE_\s]+", value) is not None
        if bare and text and not dimension(row.unit).is_plain:
            raise UnitError(
                f"{where} holds {value!r} without a unit, and {row.name} is in {row.unit}: write "
                f"the unit, as in {value.strip()} {row.unit}"
            )
        return float(found)  # without a name it is no formula
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise DseError(f"{where} holds {value!r}: expected a number, with or without a unit")
    if not np.isfinite(value):
        raise DseError(f"{where} holds {value!r}: expected a finite number")
    return float(value)


def numbers_of(
    spoken: Spoken, family: Family, row: Quantity, where: str, text: bool
) -> list[float]:
    """The numbers that a family takes; a share is one of the first."""
    fewest = len(family.numbers) - family.optional
    if len(spoken.numbers) not in (fewest, len(family.numbers)):
        raise DseError(
            f"{where}: {spoken.name} takes {', '.join(family.numbers)}, and "
            f"{len(spoken.numbers)} numbers are given"
        )
    found: list[float] = []
    for name, value in zip(family.numbers, spoken.numbers, strict=False):
        share = _SHARE.fullmatch(value) if isinstance(value, str) else None
        if share and name in family.shares:
            found.append(abs(found[0]) * float(share[1]) / 100)
        elif name in family.plain:
            found.append(in_unit(value, Quantity(name=name), where, text=False))
        else:
            found.append(in_unit(value, row, where, text=text))
    if not family.holds(*found):
        shown = ", ".join(map(str, spoken.numbers))
        raise DseError(f"{where}: {spoken.name} of {shown}: expected that {family.must}")
    return found
