"""Values of workloads that were counted for one launch, and whether a study keeps to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dse.catalog import Entry
from sweeps.grid.leaf import Leaf
from sweeps.grid.space import Axis
from symbolic.ops import Node

__all__ = ["refused"]


def refused(
    counted: Mapping[str, Sequence[Entry]], given: Mapping[str, Any], axes: Sequence[Axis]
) -> dict[str, str]:
    """Return the values of files that do not hold at what a study gives, and why."""
    changed = {**given, **{axis.name: axis for axis in axes}}
    changed |= {name: column for axis in axes for name, column in axis.columns.items()}
    return {
        name: why for name, entries in counted.items() if (why := _not_held(name, entries, changed))
    }


def _not_held(name: str, entries: Sequence[Entry], changed: Mapping[str, Any]) -> str:
    """Return why a value of a file does not hold at what the study gives; empty where it does."""
    for entry in entries:
        value = entry.values.get(name)
        for other, number in value.holds_for if value else ():
            own = entry.values.get(other)
            now = changed.get(other, own.value if own else None)
            if not _is_always(now, number):
                return (
                    f"{name} of the workload {entry.name} was counted for {other} = {number:.15g} "
                    f"alone, and the study gives {other} other values: count the kernel again with "
                    "these values (dse kernel) into a file for each, leave "
                    f"{other} at {number:.15g}, or give {name} yourself"
                )
    return ""


def _is_always(given: Any, number: float) -> bool:
    """True if what a study gives to a quantity is one number throughout."""
    if isinstance(given, Leaf):
        given = given.array
    if isinstance(given, Axis):
        given = given.values
    if isinstance(given, (Node, str)) or given is None:
        return False
    return bool(np.all(np.asarray(given) == number))
