"""The borders of a study as a Dataset: from every configuration, along every axis."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.inverse.cases import BROKEN, Case
from dse.inverse.opening import number, opened
from dse.places import places_of
from dse.study.uncertain import check_settled
from stochastic import sizes
from sweeps.bounds.check import check, enclosed
from sweeps.grid.dataset import assemble, axis_coordinates, flagged
from sweeps.grid.goals import texts_of
from sweeps.grid.grid import Grid
from sweeps.prove.borders import NONE, Way, grid_borders
from symbolic.crossings import DEPTH
from symbolic.errors import DseError, UnknownNameError, nearest
from symbolic.ops import Node, interpret_arrays, references

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.data import StudyData

#: Most points, times quantities along which to look, of an answer.
MOST = sizes.CROSSING_MOST
SIDES = ("below", "above")
_TAKEN = ("along", "side", "unit", "border", "beyond", "distance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A study with what is asked of it: the case, its nodes, the ways, and from where."""

    study: StudyData
    case: Case
    grid: Grid
    roots: Mapping[tuple[str, ...], Node]
    dims: tuple[str, ...]
    ways: tuple[Way, ...]
    places: Mapping[str, NDArray[np.int64]]
    fixed: frozenset[str]


def prepared(
    study: StudyData,
    case: Case,
    along: str | Sequence[str] | Mapping[str, Any] | None,
    at: Mapping[str, Any],
    where: tuple[str, ...],
) -> Asked:
    """Read along what, and from where; everything that can be wrong is found here."""
    needed = references(case.node)
    check_settled(study.grid(needed, where, draws=True), [(case.text, needed)])
    grid = study.grid(needed, where)
    fixed = places_of(grid, at)
    if along is None:
        names: dict[str, Any] = dict.fromkeys(
            name for name, axis in grid.axes.items() if axis.kind == "number"
        )
    elif isinstance(along, Mapping):
        names = dict(along)
    else:
        names = dict.fromkeys(texts_of(along, "along"))
    if not names:
        raise DseError(
            "no axis of the study holds numbers: name quantities with along=, such as "
            'along="mem_bandwidth"'
        )
    used = {name for graph in grid.graphs.values() for name in graph.definitions}
    ways = tuple(
        _way(grid, name, ends) for name, ends in names.items() if along is not None or name in used
    )
    grid = opened(study, grid, [way.name for way in ways], references(case.node), where)
    roots = {key: case.root(grid, key) for key in grid.graphs}
    enclosed(grid, roots)
    check(grid)
    found: set[str] = set()
    for key, root in roots.items():
        found |= grid.node_dims(root, key)
    if len({id(root) for root in roots.values()}) > 1:
        found |= set(grid.switch_axes)
    dims = grid.ordered(found)
    taken = [name for name in dims if name in (*_TAKEN, case.name)]
    if taken:
        raise DseError(f"the axis {taken[0]} has a name that the answer needs: call it otherwise")
    idle = [w.name for w in ways if not any(w.name in references(r) for r in roots.values())]
    if along is not None and idle:
        raise DseError(f"{case.text} does not depend on {idle[0]}: there is no border along it")
    ways = tuple(way for way in ways if way.name not in idle)
    if not ways:
        raise DseError(
            f"{case.text} depends on no axis of the study: name other quantities with along="
        )
    places = {
        name: np.array([fixed[name]] if name in fixed else range(axis.size))
        for name, axis in grid.axes.items()
    }
    points = math.prod(len(places[dim]) for dim in dims)
    if points * len(ways) > MOST:
        raise DseError(
            f"{points:,} configurations, each along {len(ways)} quantities, are more than fit "
            f"({MOST:,}): give values of some axes with at=, or fewer quantities with along="
        )
    return Asked(
        study=study,
        case=case,
        grid=grid,
        roots=roots,
        dims=dims,
        ways=ways,
        places=places,
        fixed=frozenset(fixed),
    )


def _way(grid: Grid, name: str, ends: Any) -> Way:
    quantities = grid.model.quantities
    axis, row = grid.axes.get(name), quantities.get(name)
    if axis is not None and axis.kind != "number":
        raise DseError(f"the values of the axis {name} have no order: there is no way along it")
    if row is None:
        known = [*grid.axes, *grid.graph.definitions]
        raise UnknownNameError(f"along: {name!r} is no quantity{nearest(name, known)}")
    if row.is_label or not any(name in graph.definitions for graph in grid.graphs.values()):
        raise DseError(f"along: nothing asked depends on {name}, or its values are no numbers")
    if grid.flags(name):
        raise DseError(f"along: {name} tells cases, not amounts: there is no way along it")
    if ends is None:
        return Way(name=name, domain=row.domain)
    if isinstance(ends, str) or not isinstance(ends, Sequence) or len(ends) != 2:
        raise DseError(f"along: {name} = {ends!r}: expected where to begin and where to end")
    low, high = (number(end, row) for end in ends)
    row.check(np.array([low, high]), f"along: {name}")
    return Way(name=name, domain=row.domain, ends=(low, high))


# --- the answer
def find(asked: Asked) -> xr.Dataset:
    """The next borders below and above every configuration, along every way."""
    grid, dims = asked.grid, asked.dims
    found = [grid_borders(grid, asked.roots, dims, way, asked.places) for way in asked.ways]
    over = ("along", "side", *dims)
    border, beyond = (
        np.stack([getattr(one, name) for one in found]) for name in ("border", "beyond")
    )
    away = np.stack([np.abs(one.border - one.value) for one in found])
    distance = np.where(beyond == NONE, math.inf, away)
    flags = {int(flag): label for flag, label in asked.case.flags.items()}
    flags = {BROKEN: "not feasible", **flags} if asked.case.name != "feasible" else flags
    variables: dict[str, Any] = {
        asked.case.name: (
            dims,
            _here(asked),
            {"long_name": asked.case.text} | flagged(flags, np.int16),
        ),
        "border": (over, border, {"long_name": "where the next border lies"}),
        "beyond": (
            over,
            beyond,
            {"long_name": f"{asked.case.text} beyond the next border"}
            | flagged({NONE: "none", **flags}, np.int16),
        ),
        "distance": (over, distance, {"long_name": "how far away the next border lies"}),
    }
    names = [way.name for way in asked.ways]
    coords: dict[str, Any] = {
        name: (along, values[asked.places[along]], said)
        for name, (along, values, said) in axis_coordinates(grid).items()
        if along in dims
    }
    units = [grid.model.quantities[name].unit or "1" for name in names]
    coords |= {"along": names, "side": list(SIDES), "unit": ("along", units)}
    ds = assemble(variables, coords, _attributes(asked, sum(one.undecided for one in found)))
    return ds.squeeze([dim for dim in dims if dim in asked.fixed])


def _here(asked: Asked) -> NDArray[np.int16]:
    """The case at each configuration."""
    grid, dims, places = asked.grid, asked.dims, asked.places
    array = np.empty([len(places[dim]) for dim in dims], dtype=np.int16)
    for key, root in asked.roots.items():
        label_of = dict(zip(grid.switch_axes, key, strict=True))
        inside = [
            np.flatnonzero(places[d] == grid.axes[d].labels.index(label_of[d]))
            if d in label_of
            else np.arange(len(places[d]))
            for d in dims
        ]
        cells = np.ix_(*inside)
        along = {d: places[d][cell] for d, cell in zip(dims, cells, strict=True)}
        values = {
            name: np.atleast_1d(leaf.array[tuple(along[axis] for axis in leaf.axes)])
            for name, leaf in grid.leaves[key].items()
            if name in references(root)
        }
        case = np.nan_to_num(interpret_arrays((root,), values)[0], nan=BROKEN)
        array[cells] = case if dims else case.item()
    return array


def _attributes(asked: Asked, undecided: int) -> dict[str, Any]:
    from dse.provenance import version

    return {
        "question": f"borders of {asked.case.text}",
        "case": asked.case.text,
        "method": (
            "enclosures tell where no border is; what they leave open is halved "
            f"{DEPTH} times between neighbouring values, and each border located by bisection"
        ),
        "undecided": undecided,
        "conditions": json.dumps([condition.text for condition in asked.grid.conditions]),
        "model": asked.study.model,
        "study": asked.study.text(),
        "simt_dse_version": version(),
    }
