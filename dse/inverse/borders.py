"""Find the borders between the cases of a study, and return them as a Dataset."""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.arguments import axis_indices
from dse.inverse.ranges import answer_attributes, free_quantities, read_value
from dse.study.random import check_not_random
from stochastic import sizes
from sweeps.bounds.checks import check_enclosable, check_grid
from sweeps.certify.borders import NO_BORDER, BorderQuantity, grid_borders
from sweeps.certify.tolerances import root_axes
from sweeps.grid.dataset import assemble, axis_coordinates, flag_attributes, read_flag_meanings
from sweeps.grid.goals import texts_of
from sweeps.grid.grid import FEASIBLE, Grid, subgrid
from symbolic.crossings import MAX_HALVINGS
from symbolic.errors import DseError, UnknownNameError, nearest_hint
from symbolic.expression import parse_condition
from symbolic.ops import (
    Node,
    both,
    constant,
    maximum,
    minimum,
    reference,
    references,
    where,
)

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.study import StudyData
    from symbolic.model import Family, Model

SIDES = ("below", "above")
_RESERVED_NAMES = ("along", "side", "unit", "border", "beyond", "distance")
#: Value of a case where a rule or constraint is broken.
INFEASIBLE = -1
_CONDITION_FLAGS = {0: "broken", 1: "met"}


def borders_of(
    study: StudyData,
    quantity: str | None,
    along: str | Sequence[str] | Mapping[str, Any] | None,
    at: Mapping[str, Any],
    where: tuple[str, ...],
    closed_form: bool = False,
) -> xr.Dataset:
    """Return the next borders below and above every configuration; see :func:`dse.borders`."""
    case = read_case(study, quantity)
    needed = references(case.node)
    check_not_random(study.grid(needed, where, draws=True), [(case.text, needed)])
    grid = study.grid(needed, where)
    fixed = axis_indices(grid, at)
    names: dict[str, Any]
    if along is None:
        names = dict.fromkeys(name for name, axis in grid.axes.items() if axis.kind == "number")
    elif isinstance(along, Mapping):
        names = dict(along)
    else:
        names = dict.fromkeys(texts_of(along, "along"))
    if not names:
        raise DseError('the study has no axis of numbers: use along=, as in along="mem_bandwidth"')
    used = {name for graph in grid.graphs.values() for name in graph.definitions}
    used |= set(names if along is not None else ())
    ways = [_read_way(grid, name, ends) for name, ends in names.items() if name in used]
    grid = free_quantities(study, grid, [way.name for way in ways], needed, where)
    roots = {key: case.case_node(grid, key) for key in grid.graphs}
    check_enclosable(grid, roots)
    check_grid(grid)
    dims = root_axes(grid, roots)
    taken = [name for name in dims if name in (*_RESERVED_NAMES, case.name)]
    if taken:
        raise DseError(f"the axis {taken[0]} has a name that the answer needs: rename it")
    idle = [w.name for w in ways if not any(w.name in references(r) for r in roots.values())]
    if along is not None and idle:
        raise DseError(f"{case.text} does not depend on {idle[0]}: there is no border along it")
    ways = [way for way in ways if way.name not in idle]
    if not ways:
        raise DseError(f"{case.text} depends on no axis of the study: name quantities with along=")
    places = {
        name: np.array([fixed[name]] if name in fixed else range(axis.size))
        for name, axis in grid.axes.items()
    }
    points = math.prod(len(places[dim]) for dim in dims)
    if points * len(ways) > sizes.CROSSING_MOST:
        raise DseError(
            f"{points:,} configurations, each along {len(ways)} quantities, are too many (at most "
            f"{sizes.CROSSING_MOST:,}): give values of some axes with at=, or fewer quantities "
            "with along="
        )
    result = [grid_borders(grid, roots, dims, way, places) for way in ways]
    over = ("along", "side", *dims)
    border, beyond = (np.stack([getattr(r, n) for r in result]) for n in ("border", "case_beyond"))
    away = np.stack([np.abs(each.border - each.value) for each in result])
    distance = np.where(beyond == NO_BORDER, math.inf, away)
    flags = {int(flag): label for flag, label in case.flags.items()}
    flags = {INFEASIBLE: "not feasible", **flags} if case.name != "feasible" else flags
    here = subgrid(grid, fixed).evaluate_cases(roots, dims)
    here = np.nan_to_num(here, nan=INFEASIBLE).astype(np.int16)
    variables: dict[str, Any] = {
        case.name: (dims, here, {"long_name": case.text} | flag_attributes(flags, np.int16)),
        "border": (over, border, {"long_name": "next border"}),
        "beyond": (
            over,
            beyond,
            {"long_name": f"{case.text} beyond the next border"}
            | flag_attributes({NO_BORDER: "none", **flags}, np.int16),
        ),
        "distance": (over, distance, {"long_name": "distance to the next border"}),
    }
    coords: dict[str, Any] = {
        name: (axis, values[places[axis]], attrs)
        for name, (axis, values, attrs) in axis_coordinates(grid).items()
        if axis in dims
    }
    units = [grid.model.quantities[way.name].unit or "1" for way in ways]
    coords |= {"along": [way.name for way in ways], "side": list(SIDES), "unit": ("along", units)}
    attributes = answer_attributes(
        study,
        f"borders of {case.text}",
        case=case.text,
        method=(
            "intervals without a border are excluded by enclosures, others are halved up to "
            f"{MAX_HALVINGS} times, and borders are located by bisection"
        ),
        undecided=sum(each.undecided_gaps for each in result),
        conditions=json.dumps([condition.text for condition in grid.conditions]),
    )
    ds = assemble(variables, coords, attributes).squeeze([dim for dim in dims if dim in fixed])
    return _add_closed_forms(case, grid, ways, ds) if closed_form else ds


def _read_way(grid: Grid, name: str, ends: Any) -> BorderQuantity:
    axis, row = grid.axes.get(name), grid.model.quantities.get(name)
    if axis is not None and axis.kind != "number":
        raise DseError(f"along: the values of the axis {name} have no order")
    if row is None:
        known = [*grid.axes, *grid.graph.definitions]
        raise UnknownNameError(f"along: {name!r} is no quantity{nearest_hint(name, known)}")
    if row.is_label or not any(name in graph.definitions for graph in grid.graphs.values()):
        raise DseError(f"along: the quantity does not depend on {name}, or {name} takes labels")
    if grid.flag_meanings(name):
        raise DseError(f"along: {name} is a case, not a number")
    if ends is None:
        return BorderQuantity(name=name, domain=row.domain)
    if isinstance(ends, str) or not isinstance(ends, Sequence) or len(ends) != 2:
        raise DseError(f"along: {name} = {ends!r}: expected a lower and an upper end")
    low, high = (read_value(end, row) for end in ends)
    row.check(np.array([low, high]), f"along: {name}")
    return BorderQuantity(name=name, domain=row.domain, ends=(low, high))


@dataclass(frozen=True, slots=True)
class BorderCase:
    """A formula whose values are cases. For the regimes of a quantity, ``family`` has the terms."""

    name: str
    text: str
    node: Node
    flags: Mapping[int, str]
    family: Family | None = None

    def case_node(self, grid: Grid, key: tuple[str, ...]) -> Node:
        """Return the formula of the case; its value is -1 where a rule or constraint is broken."""
        if self.text == FEASIBLE:
            return constant(where(grid.feasible_node(key), 1.0, 0.0))
        graph = grid.graphs[key]
        node = graph.flatten(self.node)
        node = constant(where(node, 1.0, 0.0)) if node.is_boolean else node
        known = both(node > -math.inf, node < math.inf)
        is_met = both(grid.feasible_node(key), known) if graph.conditions else known
        return constant(where(is_met, node, float(INFEASIBLE)))


def read_case(study: StudyData, text: str | None) -> BorderCase:
    """Parse the quantity or condition whose borders are sought; the default is a case or bound."""
    model = study.grid().model
    flags = {eq.name: eq.flags for eq in model.equations if eq.flags}
    families = {family.of: family for family in model.regime_families}
    if text is None:
        grid = study.grid()
        known = [name for name in grid.outputs if grid.flag_meanings(name)] or list(flags)
        if not known:
            raise DseError(f"the model {model.name} has no cases: give one, as in 'time <= 1 ms'")
        text = known[0]
    if not isinstance(text, str):
        raise DseError(f"quantity = {text!r}: expected one name or condition, as text")
    if text == FEASIBLE:
        return BorderCase(FEASIBLE, text, constant(True), _CONDITION_FLAGS)
    if text in flags:
        labels = set(flags[text].values())
        family = next((f for f in model.regime_families if set(f.terms) <= labels), None)
        return BorderCase(text, text, reference(text), flags[text], family)
    if text in families:
        return _regime_case(families[text])
    if text.isidentifier():
        row = model.quantities.get(text)
        kind = "a number" if row is not None else "no quantity"
        known = [*flags, *families, FEASIBLE]
        error = DseError if row is not None else UnknownNameError
        raise error(
            f"{text} is {kind}{'' if row else nearest_hint(text, known)}: expected a case or bound "
            f"({', '.join(known)}), or a condition such as '{text} <= 1'"
        )
    node = parse_condition(text, model.quantities)
    return BorderCase("condition", text, node, _CONDITION_FLAGS)


def _regime_case(family: Family) -> BorderCase:
    """Return the case whose value is the index of the extreme term (at a tie, of the first)."""
    labels, terms = list(family.terms), [reference(name) for name in family.terms.values()]
    node: Node = constant(float(len(terms) - 1))
    for place in reversed(range(len(terms) - 1)):
        term, rest = terms[place], terms[place + 1 :]
        first = term >= maximum(*rest) if family.largest else term <= minimum(*rest)
        node = constant(where(first, float(place), node))
    return BorderCase(f"{family.of}_regime", family.of, node, dict(enumerate(labels)), family)


def case_name(table: xr.Dataset) -> str:
    """Return the name of the case whose borders a Dataset contains."""
    return next(str(n) for n in table.data_vars if n not in ("border", "beyond", "distance"))


def border_rows(table: xr.Dataset) -> list[dict[str, Any]]:
    """Return one row for each border: quantity, values of the other axes, border, and both cases.

    On whole numbers or tabulated values, a border is the first value with the new case, so the
    border depends on the direction. The rows contain the border in ascending direction.
    """
    import pandas as pd

    meanings, here = read_flag_meanings(table.beyond.attrs), table[case_name(table)]
    rows = []
    for along in table.along.values.tolist():
        others = [str(dim) for dim in here.dims if dim != along]
        known: dict[Any, set[float]] = defaultdict(set)
        for side in ("above", "below"):
            part = table.sel(along=along, side=side)
            cases, beyond, borders = map(np.atleast_1d, (here, part.beyond, part.border))
            seen = np.nonzero(beyond != NO_BORDER)
            places = dict(zip(here.dims, seen, strict=False))
            ends = (cases[seen], beyond[seen])[:: 1 if side == "above" else -1]
            columns = [*(places[dim] for dim in others), *ends, borders[seen]]
            start = here[along].values[places[along]] if along in places else borders[seen]
            # several points of a line can have the same next border: keep the first point
            frame = pd.DataFrame(dict(enumerate([*columns, start])))
            frame = frame.drop_duplicates(list(range(len(columns))))
            for *at, first, second, border, begin in frame.itertuples(index=False, name=None):
                same = known[*at, first, second]
                if side == "above" or not any(border <= other <= begin for other in same):
                    same.add(border)
        unit = str(table.unit.sel(along=along).values)
        labels = [table[dim].values.tolist() for dim in others]
        listed = sorted((*key[:-2], b, *key[-2:]) for key, same in known.items() for b in same)
        for *at, border, begin, end in listed:
            row = {dim: values[p] for dim, values, p in zip(others, labels, at, strict=True)}
            row |= {"border": border, "from": meanings[begin], "to": meanings[end]}
            rows.append({"along": along, "unit": unit, **row})
    return rows


def next_rows(table: xr.Dataset) -> list[dict[str, Any]]:
    """Return one row for each next border of a single configuration, by quantity and side."""
    meanings = read_flag_meanings(table.beyond.attrs)
    return [
        {
            "along": along,
            "unit": str(table.unit.sel(along=along).values),
            "side": side,
            "border": float(table.border.sel(along=along, side=side)),
            "distance": float(table.distance.sel(along=along, side=side)),
            "beyond": meanings[int(table.beyond.sel(along=along, side=side))],
        }
        for along in table.along.values.tolist()
        for side in table.side.values.tolist()
    ]


def _add_closed_forms(
    case: BorderCase, grid: Grid, ways: Sequence[BorderQuantity], table: xr.Dataset
) -> xr.Dataset:
    """Add the attribute ``closed_forms``, which has the solved border of each pair of cases."""
    model, choices = grid.model, _switch_choices(grid)
    varying = [s for s in choices[0] if len({choice[s] for choice in choices}) > 1]
    result: dict[str, dict[str, Any]] = {}
    for way in ways:
        beyond = table.beyond.sel(along=way.name).values
        ends = np.stack(np.broadcast_arrays(table[case.name].values, beyond), axis=-1)
        pairs = np.sort(ends[beyond != NO_BORDER], axis=-1)
        for low, high in np.unique(pairs, axis=0).tolist():
            a, b = case.flags.get(low, ""), case.flags.get(high, "")
            if case.family is None or not (a in case.family.terms and b in case.family.terms):
                continue
            forms = {}
            for choice in choices:
                label = ", ".join(f"{switch}={choice[switch]}" for switch in varying)
                forms[f"{a} | {b} ({label})"] = _solve_border(model, a, b, way.name, choice)
            first = next(iter(forms.values()))
            if all(form == first for form in forms.values()):
                forms = {f"{a} | {b}": first}
            result.setdefault(way.name, {}).update(forms)
    return table.assign_attrs(closed_forms=json.dumps(result))


def _solve_border(model: Model, a: str, b: str, name: str, choice: dict[str, str]) -> list[str]:
    try:
        solved = model.border(a, b, solve_for=name, **choice)
    except DseError as error:
        solved = f"none: {error}"
    return [str(each) for each in (solved if isinstance(solved, list) else [solved])]


def _switch_choices(grid: Grid) -> list[dict[str, str]]:
    """Return the combinations of switch labels that occur, where a switch may have several."""
    used = {switch for eq in grid.model.equations for switch in eq.when}
    result: list[dict[str, str]] = []
    for graph in grid.graphs.values():
        known: dict[str, Sequence[str]] = {}
        for switch, label in graph.switches.items():
            if switch in used:
                row = grid.model.quantities[switch]
                several = label == "auto" and row.settled_by
                known[switch] = (row.labels or ())[-2:] if several else label.split(" or ")
        for labels in itertools.product(*known.values()):
            choice = dict(zip(known, labels, strict=True))
            if choice not in result:
                result.append(choice)
    return result
