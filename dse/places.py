"""Where axes of a study stand: at the values that are named."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sweeps.grid.grid import Grid
from symbolic.errors import check_known


def places_of(
    grid: Grid, at: Mapping[str, Any], *, among: Collection[str] | None = None, word: str = "at: "
) -> dict[str, int]:
    """The place of each value along its axis, of all of them or ``among`` some.

    Raises
    ------
    UnknownNameError
        A name of no axis; ``word`` stands before it.
    DseError
        A value that its axis does not have.
    """
    axes = grid.axes if among is None else among
    for name in at:
        check_known(name, axes, f"{word}{name!r} is no axis of the study", "its axes are")
    quantities = grid.model.quantities
    return {name: grid.axes[name].position(value, quantities) for name, value in at.items()}
