"""Numbers of a law, in the unit in which their quantity is stored."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from symbolic.errors import DseError, UnitError
from symbolic.quantities import Quantity
from symbolic.units import dimension

__all__ = ["in_unit"]


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
