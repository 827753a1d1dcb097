"""Fitted values as inputs of a study, each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symbolic.errors import UnitError
from symbolic.quantities import Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedInputs:
    """What fits give to a study: values by their names, and the source of each.

    ``units`` says in what units they are, where that is known.
    """

    values: Mapping[str, Any]
    sources: Mapping[str, str]
    units: Mapping[str, str]

    def check(self, row: Quantity) -> None:
        """Raise where a value is in another unit than that of its quantity."""
        unit = self.units.get(row.name, row.unit)
        if unit != row.unit:
            raise UnitError(
                f"{row.name} was fitted in {unit or 'plain numbers'}: expected "
                f"{row.unit or 'plain numbers'}, in which files of fits hold it; fit again"
            )

    def to_dict(self) -> dict[str, Any]:
        """What the text of a study tells of it, which a study reads again."""
        return {"values": dict(self.values), "sources": dict(self.sources)}
