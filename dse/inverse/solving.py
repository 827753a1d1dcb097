"""The borders that occur, in closed form where SymPy solves for them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.inverse.crossing import Asked
from sweeps.inverse.borders import NONE
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["with_closed_forms"]


def with_closed_forms(asked: Asked, found: xr.Dataset) -> xr.Dataset:
    """The Dataset with the attribute ``closed_forms``, by quantity and by the pair of cases."""
    case, model, graph = asked.case, asked.grid.model, asked.grid.graph
    told: dict[str, dict[str, Any]] = {}
    for way in asked.ways:
        one = found.sel(along=way.name)
        here, beyond = (
            np.broadcast_to(array, one.beyond.shape).reshape(-1)
            for array in (found[case.name].values, one.beyond.values)
        )
        pairs = np.unique(np.sort(np.stack([here, beyond], axis=1)[beyond != NONE], axis=1), axis=0)
        for low, high in pairs.tolist():
            a, b = case.flags.get(low, ""), case.flags.get(high, "")
            if case.family is None or not (a in case.family.terms and b in case.family.terms):
                continue
            switches = {s: label for s, label in graph.switches.items() if _used(asked, s)}
            try:
                solved = model.border(a, b, solve_for=way.name, **switches)
            except DseError as error:
                solved = f"none: {error}"
            listed = solved if isinstance(solved, list) else [solved]
            told.setdefault(way.name, {})[f"{a} | {b}"] = [str(each) for each in listed]
    return found.assign_attrs(closed_forms=json.dumps(told))


def _used(asked: Asked, switch: str) -> bool:
    return any(switch in eq.when for eq in asked.grid.model.equations)
