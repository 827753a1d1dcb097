"""Warn of machines outside the range for which a model is valid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dse.inputs.merge import StudyInputs


def validity_warnings(parts: StudyInputs) -> list[str]:
    """Return a warning for each value of a machine or axis outside a validity range."""
    statements = []
    for row in parts.model.validity:
        beyond = [name for name, v in _values(parts, row.quantity) if not row.is_valid_for(v)]
        if beyond:
            statements.append(f"{', '.join(dict.fromkeys(beyond))}: {row.statement}")
    return statements


def _values(parts: StudyInputs, name: str) -> Iterator[tuple[str, float]]:
    """Yield the values of a quantity, each with its origin: a machine, "axis" or "set"."""
    value = parts.values.get(name)
    if isinstance(value, (int, float)):
        yield parts.entries.get("machine", "set"), float(value)
    for axis in parts.axes:
        if axis.name == name:
            yield from (("axis", float(end(axis.values))) for end in (np.min, np.max))
        column = parts.tables.get(axis.name, {}).get(name, ())
        for label, each in zip(axis.labels or (), column, strict=False):
            if isinstance(each, (int, float)):
                yield label, float(each)
