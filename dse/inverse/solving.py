"""The borders that occur, in closed form where SymPy solves for them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.inverse.crossing import Asked
from sweeps.prove.borders import NONE
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

    from symbolic.model import Model


def with_closed_forms(asked: Asked, found: xr.Dataset) -> xr.Dataset:
    """The Dataset with the attribute ``closed_forms``, by quantity and by the pair of cases.

    A pair is told apart by the labels of switches that vary in the study where its forms differ.
    """
    case, model, choices = asked.case, asked.grid.model, _choices(asked)
    varying = [s for s in choices[0] if len({choice[s] for choice in choices}) > 1]
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
            forms = {}
            for choice in choices:
                label = ", ".join(f"{switch}={choice[switch]}" for switch in varying)
                forms[f"{a} | {b} ({label})"] = _solved(model, a, b, way.name, choice)
            first = next(iter(forms.values()))
            if all(form == first for form in forms.values()):
                forms = {f"{a} | {b}": first}
            told.setdefault(way.name, {}).update(forms)
    return found.assign_attrs(closed_forms=json.dumps(told))


def _solved(model: Model, a: str, b: str, name: str, switches: Mapping[str, str]) -> list[str]:
    try:
        solved = model.border(a, b, solve_for=name, **switches)
    except DseError as error:
        solved = f"none: {error}"
    return [str(each) for each in (solved if isinstance(solved, list) else [solved])]


def _choices(asked: Asked) -> list[dict[str, str]]:
    """The labels of the switches that choose among equations, as often as they differ.

    One that is settled otherwise along an axis stands for both of the labels it is settled to.
    """
    model = asked.grid.model
    used = {switch for eq in model.equations for switch in eq.when}
    found: list[dict[str, str]] = []
    for graph in asked.grid.graphs.values():
        known = {}
        for switch, label in graph.switches.items():
            if switch in used:
                row = model.quantities[switch]
                several = label == "auto" and row.settled_by
                known[switch] = (row.labels or ())[-2:] if several else (label,)
        for labels in itertools.product(*known.values()):
            choice = dict(zip(known, labels, strict=True))
            if choice not in found:
                found.append(choice)
    return found
