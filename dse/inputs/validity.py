"""Where the machine of a study and what its model is meant for do not meet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dse.inputs.merge import StudyInputs


def validity_warnings(parts: StudyInputs) -> list[str]:
    """What the model says of machines beyond what it is meant for; nothing where all are within.

    Nothing is said of a machine that does not tell the quantity in question.
    """
    result = []
    for row in parts.model.validity:
        beyond = [
            name for name, value in _values(parts, row.quantity) if not row.is_valid_for(value)
        ]
        if beyond:
            result.append(f"{', '.join(dict.fromkeys(beyond))}: {row.statement}")
    return result


def _values(parts: StudyInputs, name: str) -> Iterator[tuple[str, float]]:
    """The numbers that a quantity takes, each with whose it is."""
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
