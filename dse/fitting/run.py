"""One fit: from what was asked, through the graph, to what was found."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dse.fitting.cases import Case, chosen
from dse.fitting.checks import FewRowsError, check_enough, check_rows, check_size
from dse.fitting.columns import Floats
from dse.fitting.coordinates import Coordinate, check_free, coordinates
from dse.fitting.covariance import covariance
from dse.fitting.dataset import dataset_of
from dse.fitting.problem import Problem
from dse.fitting.request import Request
from dse.fitting.result import Fit, root_of_squares
from dse.fitting.rows import Rows, read_rows
from dse.fitting.search import Found, left_out, search
from dse.inputs import read_parts
from sweeps.bounds.check import check
from symbolic.errors import DseError, InfeasibleError
from symbolic.library import load_model
from symbolic.model import Model
from symbolic.ops import references

#: The most rows that are each left out by a fit of their own, unless asked otherwise.
REFITTED = 50


def run(request: Request) -> Fit:
    """See :func:`dse.fit`."""
    model = load_model(request.model, prefer=request.prefer)
    labelled, per = request.labelled
    said = {"to": request.to, "columns": request.columns, "weights": request.weights}
    rows = read_rows(request.data, model, labels=labelled, **said)
    to = tuple(rows.measured)
    free = check_free(request.free, per, model, rows.inputs, to)
    for name in request.given:
        for role, names in (("free", free), ("measured", to), ("a column", rows.inputs)):
            if name in names:
                raise DseError(f"{name} is {role} and set: keep one of them")
    if rows.workloads and request.entries.get("workload") is not None:
        raise DseError("workload is a column and is given: keep one of them")
    parts = read_parts(
        model,
        [rows.axis] if rows.workloads else (),
        entries=request.entries,
        given=request.given,
        replaced=(*rows.inputs, *to, *free),
    )
    case = Case(model=model, parts=parts, to=to, free=free)

    def sought(labels: Sequence[str]) -> tuple[Coordinate, ...]:
        return coordinates(
            free,
            model,
            per=per,
            labels=labels,
            known=_known(request, model, free),
            start=request.start,
            bounds=request.bounds,
        )

    rows = chosen(case, rows, {c.name: _middle(c) for c in sought([""])}, request.where)
    problem = _problem(case, rows, sought(rows.known_labels), request.relative)
    if (found := search(problem)) is None:
        raise InfeasibleError(
            f"{', '.join(to)} cannot be computed for all rows wherever the search begins "
            f"({_unknown(case, rows, problem)}): give start= or bounds= of what is free, or leave "
            "rows out with where="
        )
    return _fit(request, case, rows, problem, found)


def _middle(coordinate: Coordinate) -> float:
    """A value in the middle of where a search begins."""
    if coordinate.start is not None:
        return coordinate.start
    value = float(coordinate.beginning(np.array([0.5]))[0])
    return min(max(value, coordinate.low), coordinate.high)


def _known(request: Request, model: Model, free: Sequence[str]) -> dict[str, float]:
    """Values that a machine, a workload or a default gives to what is free."""
    given = read_parts(model, (), entries=request.entries, given={}).values
    found = {name: given.get(name, model.quantity(name).default) for name in free}
    return {n: float(value) for n, value in found.items() if isinstance(value, (int, float))}


def _unknown(case: Case, rows: Rows, problem: Problem) -> str:
    """Where a prediction is no number, were all values in the middle."""
    middle = np.array([[_middle(c) for c in problem.free]])
    missing = np.argwhere(~np.isfinite(problem.predict(middle)[0]))
    if not len(missing):
        return "at some rows here, at others there"
    at = ", ".join(f"{c.key} = {v:g}" for c, v in zip(problem.free, middle[0], strict=True))
    return f"not {case.to[missing[0][0]]} of row {rows.places[missing[0][1]]} at {at}"


def _values(rows: Rows, problem: Problem, point: Floats) -> dict[str, float | Floats]:
    """What is free at a point: a value, or one for each row."""
    found: dict[str, float | Floats] = {}
    for name, places in problem.places.items():
        shared = problem.free[places[0]].label is None
        found[name] = float(point[places[0]]) if shared else point[places][problem.labels]
    return found


def _problem(case: Case, rows: Rows, free: tuple[Coordinate, ...], relative: bool) -> Problem:
    """The graph on the rows, as a problem of least squares."""
    grid = case.grid(rows, {c.name: _middle(c) for c in free})
    check_rows(case, rows, grid)
    check_enough(case, rows, free)
    units = {case.model.quantity(name).unit for name in case.to}
    if len(units) > 1 and not relative:
        raise DseError(
            f"{', '.join(case.to)} are measured in different units: fit them together with "
            "residuals='relative', or one by one"
        )
    measured = np.stack(list(rows.measured.values()))
    check_size(case, rows, measured)
    scale = np.broadcast_to(np.sqrt(rows.weights / rows.weights.max()), measured.shape)
    if relative:
        if np.any(measured == 0):
            what, place = np.argwhere(measured == 0)[0]
            raise DseError(
                f"{case.to[what]} is 0 at row {rows.places[place]}, of which nothing is a share: "
                "leave the row out, or take residuals='absolute'"
            )
        scale = scale / np.abs(measured)
    with np.errstate(all="ignore"):
        length = root_of_squares(measured * scale)
    nodes = tuple(grid.output_node(name, (), tuple(grid.axes)) for name in case.to)
    leaves = {
        name: np.atleast_1d(grid.leaves[()][name].array).astype(np.float64)
        for name in references(*nodes)
        if name not in case.free
    }
    return Problem(
        nodes=nodes,
        leaves=leaves,
        free=free,
        labels=rows.numbered,
        measured=measured,
        scale=np.array(scale / length if length else scale),
    )


def _fit(request: Request, case: Case, rows: Rows, problem: Problem, found: Found) -> Fit:
    """What was found, with its errors."""
    matrix, undetermined = covariance(problem, found)
    if undetermined:
        several = len(undetermined) > 1
        raise FewRowsError(
            f"the rows do not determine {', '.join(undetermined)}: at the best fit "
            + ("changes of them that cancel change" if several else "a change of it changes")
            + " no prediction; set "
            + ("some of them" if several else "it")
            + ", or give rows on which more depends"
        )
    keys = [c.key for c in problem.free]
    values = dict(zip(keys, found.point.tolist(), strict=True))
    units = {c.key: case.model.quantity(c.name).unit for c in problem.free}
    grid = case.grid(rows, _values(rows, problem, found.point))
    check(grid)
    how = request.left_out
    if how == "auto":
        how = "refit" if len(rows.places) <= REFITTED else "hat"
    difference = problem.predict(found.point[None, :])[0] - problem.measured
    with np.errstate(all="ignore"):
        shares = difference / np.abs(problem.measured)
    residuals = _by_name(case.to, shares if request.relative else difference)
    errors = np.abs(shares[problem.measured != 0])
    spread = np.sqrt(np.diag(matrix))
    return Fit(
        model=case.model.name,
        to=case.to,
        rows=len(rows.places),
        per=tuple(dict.fromkeys(c.name for c in problem.free if c.label is not None)),
        labels=rows.known_labels if request.per else (),
        values=values,
        units=units,
        standard_errors=dict(zip(keys, spread.tolist(), strict=True)),
        covariance=_frozen(matrix),
        relative=request.relative,
        residuals=residuals,
        left_out=_by_name(case.to, _left_out(request, problem, found, how)),
        how_left_out=how,
        mean_error=float(errors.mean()) if errors.size else math.nan,
        largest_error=float(errors.max()) if errors.size else math.nan,
        r2=_r2(problem, found.cost),
        at_end=tuple(key for key, held in zip(keys, found.at_end, strict=True) if held),
        dataset=dataset_of(
            case,
            rows,
            grid,
            text=request.text(case.model, case.to),
            residuals=residuals,
            values=values,
            units=units,
            covariance=matrix,
            relative=request.relative,
        ),
    )


def _left_out(request: Request, problem: Problem, found: Found, how: str) -> Floats:
    """Residuals of each row, predicted by a fit to all others; shares where asked for."""
    rest = left_out(problem, found, how) / problem.scale
    return rest / np.abs(problem.measured) if request.relative else rest


def _frozen(array: Floats) -> Floats:
    array = np.array(array)
    array.flags.writeable = False
    return array


def _by_name(names: Sequence[str], arrays: Floats) -> dict[str, Floats]:
    return {name: _frozen(array) for name, array in zip(names, arrays, strict=True)}


def _r2(problem: Problem, cost: float) -> float:
    """1 - sum of squares / that about the weighted mean; NaN where nothing varies."""
    squares = np.square(problem.scale / problem.scale.max())
    mean = (squares * problem.measured).sum(axis=1) / squares.sum(axis=1)
    total = float(np.square(problem.scale * (problem.measured - mean[:, None])).sum())
    return 1 - cost / total if total else math.nan
