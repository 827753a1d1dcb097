"""Which of very many configurations can be the best within ±, as boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dse.inverse.meeting import in_order, labelled
from stochastic import sizes
from sweeps.bounds.check import enclosed
from sweeps.grid.goals import Goal, in_words, objective_node
from sweeps.grid.grid import Grid
from sweeps.prove.rivals import rivals
from sweeps.prove.tolerances import Uncertain
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.data import StudyData

#: Most boxes of an answer, and inputs that are told apart in cells.
BOXES, INPUTS = sizes.RIVALRY_BOXES, sizes.RIVALRY_INPUTS
_CHANCE = "bound of the chance that the box holds the best, inputs uniform and independent"
_SAID = {
    "certain": "whether the box is one configuration that is the best for some of the inputs",
    "inner": "configurations that certainly can be the best",
    "outer": "configurations that may be the best",
}


def rivalry(study: StudyData, grid: Grid, goal: Goal, inputs: Sequence[Uncertain]) -> xr.Dataset:
    """The boxes outside of which none can be the best; see :func:`dse.ranges`."""
    if grid.switch_axes:
        raise DseError(
            f"{grid.points:,} configurations are searched in boxes under one label of "
            f"{grid.switch_axes[0]}: give it instead of the axis"
        )
    if len(inputs) > INPUTS:
        raise DseError(f"so many configurations are searched for at most {INPUTS} uncertain inputs")
    enclosed(grid, {key: objective_node(grid, key, goal) for key in grid.graphs})
    found, shares = rivals(grid, goal, inputs, most=BOXES)
    ds, order = labelled(study, grid, (), found), in_order(found)
    for name, row in zip(("chance_lower", "chance_upper"), shares, strict=True):
        ds[name] = ("box", row[order], {"units": "1", "long_name": _CHANCE})
    for name, text in _SAID.items():
        ds[name].attrs["long_name"] = text
    told: Mapping[str, str] = {
        "question": f"which can be the best: {in_words([goal])}",
        "objective": in_words([goal]),
        "targets": "",
    }
    return ds.assign_attrs(told)
