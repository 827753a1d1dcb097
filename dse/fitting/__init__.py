"""Fit free quantities of a model to measured columns by least squares."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.fitting.parameters import Floats, Parameters, check_free, free_parameters
from dse.fitting.result import Fit, covariance, euclidean_norm, fit_dataset
from dse.fitting.rows import (
    FewRowsError,
    FitCase,
    FitRows,
    check_enough,
    check_rows,
    check_size,
    read_rows,
    select_rows,
)
from dse.fitting.search import FitProblem, Solution, left_out_residuals, search
from dse.inputs.merge import merge_inputs, with_declared
from dse.progress import ProgressOption, show_progress
from sweeps.bounds.checks import check_grid
from symbolic.errors import DseError, InfeasibleError
from symbolic.library import load_model
from symbolic.ops import references

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from dse.fitting.parameters import Start
    from dse.fitting.rows import ColumnChoice
    from symbolic.model import Model

__all__ = ["Fit", "fit"]

_RESIDUALS, _LEFT_OUT = ("absolute", "relative"), ("auto", "refit", "hat")
#: Maximum number of rows for which ``left_out="auto"`` means ``"refit"``.
MAX_REFITS = 50


def fit(
    model: str | Model,
    data: str | Path | pd.DataFrame | xr.Dataset | Mapping[str, Any],
    *,
    free: Sequence[str] = (),
    per: Mapping[str, Sequence[str]] | None = None,
    to: str | Sequence[str] | None = None,
    machine: str | None = None,
    workload: str | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002
    where: str | Sequence[str] = (),
    columns: ColumnChoice = None,
    weights: str | Sequence[float] | Floats | None = None,
    residuals: str = "absolute",
    start: Start | None = None,
    bounds: Mapping[str, Sequence[Any]] | None = None,
    left_out: str = "auto",
    ridge: float = 0.0,
    prefer: str | None = None,
    progress: ProgressOption = False,
) -> Fit:
    """Fit quantities of a model to measured rows by least squares.

    The model is evaluated on each row, with the columns that are its inputs; the results are
    compared with the columns of ``to``. Fitted quantities stay within their domains. The search
    starts at many points around their typical values, and at the values of the machine or workload.

    Parameters:
        model (str or Model): As for :class:`dse.Study`.
        data (path, DataFrame, Dataset or mapping of arrays): Columns with one value for each row. A
            header may end with a unit, ``"mem_bandwidth [GB/s]"``; a Dataset has the attribute
            ``units``; otherwise values are in stored (SI) units. A column ``workload`` names the
            workload of each row.
        free (sequence of str): The quantities to fit. If the model has an equation for one of them,
            it is not used.
        per (mapping, optional): A column, and more quantities to fit that have one value for each
            label of this column: ``{"kernel": ["core_cycles", "stall_time"]}``. The quantities of
            ``free`` are common to all.
        to (str or sequence of str, optional): The measured quantities; default: the main output of
            the model that has a column, if there is only one.
        machine, workload, prefer: As for :func:`dse.evaluate`. Columns, ``set`` and free
            quantities override their values.
        set (mapping, optional): More values, as ``set`` of a study.
        where (str or sequence of str): Conditions that select the rows. They may use inputs, and
            quantities computed from inputs.
        columns (sequence or mapping, optional): The columns to read: a list of names, or a mapping
            from quantities to headers, which may have a unit, ``{"time": "time/ms [ms]"}``.
            Default: all, which must be quantities.
        weights (str or sequence, optional): Weights of the squared residuals: a column, or a number
            for each row of the data.
        residuals (str): ``"absolute"``, or ``"relative"`` to the measured values.
        start, bounds (mapping, optional): Starting values, and bounds (low, high), of free
            quantities; numbers or texts with units. A bound may be None.
        left_out (str): The method for the error of left-out rows: ``"refit"``, ``"hat"`` (see
            :class:`Fit`), or ``"auto"``, which is ``"refit"`` for up to 50 rows.
        ridge (float): Weight of log(value / start)², of each positive free quantity with a start
            value. The sum of squares of all measured values, as weighted, has weight 1.
        progress (bool): Show the elapsed time after one second.

    Raises:
        DseError: For an unknown column or name, a wrong unit, a missing value, fewer rows than free
            quantities, or a free quantity without effect or that the rows do not determine.

    >>> result = fit("transit_supply", {"threads_in_ms": [64, 128, 512, 1024],
    ...              "attained_bandwidth [GB/s]": [1, 2, 8, 8]},
    ...              free=["ms_peak_bandwidth", "ms_transition"])
    >>> round(result["ms_peak_bandwidth"]), round(result["ms_transition"])
    (8000000000, 512)
    """
    if not 0 <= ridge < math.inf:
        raise DseError(f"ridge = {ridge!r}: expected a weight, 0 or larger")
    choices: Mapping[str, tuple[str, tuple[str, ...]]]
    choices = {"residuals": (residuals, _RESIDUALS), "left_out": (left_out, _LEFT_OUT)}
    for key, (choice, known_choices) in choices.items():
        if choice not in known_choices:
            raise DseError(f"{key} = {choice!r}: expected one of {known_choices}")
    with show_progress(progress, "fitting"):
        entries, set_values = {"machine": machine, "workload": workload}, dict(set or {})
        loaded = with_declared(load_model(model, prefer=prefer), workload)
        if len(per or {}) > 1:
            raise DseError(f"per names the columns {', '.join(per or {})}: expected one")
        column, per_label = next(iter(per.items())) if per else (None, ())
        rows = read_rows(data, loaded, to=to, columns=columns, weights=weights, labels=column)
        targets = tuple(rows.measurements)
        names = check_free(free, per_label, loaded, rows.inputs, targets)
        for name in set_values:
            for role, taken in (("free", names), ("measured", targets), ("a column", rows.inputs)):
                if name in taken:
                    raise DseError(f"{name} is {role} and set: keep one of them")
        if rows.workloads and workload is not None:
            raise DseError("workload is a column and an argument: keep one of them")
        parts = merge_inputs(
            loaded,
            [rows.axis] if rows.workloads else (),
            entries=entries,
            set_values=set_values,
            replaced=dict.fromkeys((*rows.inputs, *targets, *names)),
        )
        case = FitCase(model=loaded, parts=parts, targets=targets, free=names)
        known = merge_inputs(loaded, (), entries=entries, set_values={}).values
        inputs = {name: known.get(name, loaded.quantity(name).default) for name in names}
        starts = {n: float(v) for n, v in inputs.items() if isinstance(v, (int, float))}

        def make_parameters(labels: Sequence[str]) -> Parameters:
            how: dict[str, Any] = {"known_values": starts, "start": start, "bounds": bounds}
            return free_parameters(names, loaded, per=per_label, labels=labels, **how)

        rows = select_rows(case, rows, {c.name: c.middle for c in make_parameters([""])}, where)
        relative = residuals == "relative"
        problem = _build_problem(case, rows, make_parameters(rows.distinct_labels), relative)
        problem = replace(problem, ridge=math.sqrt(ridge))
        if (solution := search(problem)) is None:
            raise InfeasibleError(
                f"{', '.join(targets)} cannot be computed for all rows at any starting point "
                f"({_explain_missing(case, rows, problem)}): give start= or bounds= of the free "
                "quantities, or leave rows out with where="
            )
        request = {
            "model": loaded.name,
            "fit": list(free),
            "to": list(targets),
            "per": {name: list(names) for name, names in (per or {}).items()},
            **{kind: name for kind, name in entries.items() if name is not None},
            "set": {n: v.item() if isinstance(v, np.generic) else v for n, v in set_values.items()},
            "where": where if isinstance(where, str) else list(where),
            "residuals": residuals,
            "data": data_identity(data),
            "outputs": list(targets),
        }
        labels = rows.distinct_labels if column is not None else ()
        return _make_fit(case, rows, problem, solution, left_out, labels, request)


def data_identity(data: Any) -> dict[str, str]:
    """Return the name and hash of a data file, or the type of other data.

    >>> data_identity({"time": [1, 2]})
    {'data': 'a dict in memory'}
    """
    if not isinstance(data, (str, Path)):
        return {"data": f"a {type(data).__name__} in memory"}
    path = Path(data)
    with suppress(OSError):  # a store is a folder, which cannot be read
        return {"data": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    return {"data": path.name}


def _explain_missing(case: FitCase, rows: FitRows, problem: FitProblem) -> str:
    middle = np.array([[c.middle for c in problem.parameters]])
    missing = np.argwhere(~np.isfinite(problem.predict(middle)[0]))
    if not len(missing):
        return "at different rows for different values"
    at = ", ".join(f"{c.key} = {v:g}" for c, v in zip(problem.parameters, middle[0], strict=True))
    return f"not {case.targets[missing[0][0]]} of row {rows.places[missing[0][1]]} at {at}"


def _values(problem: FitProblem, point: Floats) -> dict[str, float | Floats]:
    result: dict[str, float | Floats] = {}
    for name, places in problem.positions.items():
        shared = problem.parameters[places[0]].label is None
        result[name] = float(point[places[0]]) if shared else point[places][problem.labels]
    return result


def _build_problem(case: FitCase, rows: FitRows, free: Parameters, relative: bool) -> FitProblem:
    grid = case.grid(rows, {c.name: c.middle for c in free})
    check_rows(case, rows, grid)
    check_enough(case, rows, free)
    units = {case.model.quantity(name).unit for name in case.targets}
    if len(units) > 1 and not relative:
        raise DseError(
            f"{', '.join(case.targets)} are measured in different units: fit them together with "
            "residuals='relative', or one by one"
        )
    measured = np.stack(list(rows.measurements.values()))
    check_size(case, rows, measured)
    scale = np.broadcast_to(np.sqrt(rows.weights / rows.weights.max()), measured.shape)
    if relative:
        if np.any(measured == 0):
            what, place = np.argwhere(measured == 0)[0]
            raise DseError(
                f"{case.targets[what]} is 0 at row {rows.places[place]}, so it has no relative "
                "residual: leave the row out, or use residuals='absolute'"
            )
        scale = scale / np.abs(measured)
    with np.errstate(all="ignore"):
        length = euclidean_norm(measured * scale)
    nodes = tuple(grid.output_node(name, (), tuple(grid.axes)) for name in case.targets)
    leaves = {
        name: np.atleast_1d(grid.leaves[()][name].array).astype(np.float64)
        for name in references(*nodes)
        if name not in case.free
    }
    return FitProblem(
        nodes=nodes,
        leaves=leaves,
        parameters=free,
        labels=rows.label_numbers,
        measurements=measured,
        scale=np.array(scale / length if length else scale),
    )


def _make_fit(
    case: FitCase,
    rows: FitRows,
    problem: FitProblem,
    solution: Solution,
    left_out_method: str,
    labels: tuple[str, ...],
    request: Mapping[str, Any],
) -> Fit:
    matrix, undetermined = covariance(problem, solution)
    if undetermined:
        several = len(undetermined) > 1
        raise FewRowsError(
            f"the rows do not determine {', '.join(undetermined)}: at the best fit "
            + ("they can change together" if several else "it can change")
            + " without changing any prediction; set "
            + ("some of them" if several else "it")
            + ", or add rows with other values of the inputs"
        )
    keys = [c.key for c in problem.parameters]
    values = dict(zip(keys, solution.point.tolist(), strict=True))
    units = {c.key: case.model.quantity(c.name).unit for c in problem.parameters}
    grid = case.grid(rows, _values(problem, solution.point))
    check_grid(grid)
    if left_out_method == "auto":
        left_out_method = "refit" if len(rows.places) <= MAX_REFITS else "hat"
    difference = problem.predict(solution.point[None, :])[0] - problem.measurements
    rest = left_out_residuals(problem, solution, left_out_method) / problem.scale
    relative = request["residuals"] == "relative"
    with np.errstate(all="ignore"):
        shares = difference / np.abs(problem.measurements)
        rest = rest / np.abs(problem.measurements) if relative else rest
    residuals = _by_name(case.targets, shares if relative else difference)
    errors = np.abs(shares[problem.measurements != 0])
    spread = np.sqrt(np.diag(matrix))
    squares = np.square(problem.scale / problem.scale.max())
    mean = (squares * problem.measurements).sum(axis=1) / squares.sum(axis=1)
    total = float(np.square(problem.scale * (problem.measurements - mean[:, None])).sum())
    return Fit(
        model=case.model.name,
        to=case.targets,
        rows=len(rows.places),
        per=tuple(dict.fromkeys(c.name for c in problem.parameters if c.label is not None)),
        labels=labels,
        values=values,
        units=units,
        standard_errors=dict(zip(keys, spread.tolist(), strict=True)),
        covariance=_freeze(matrix),
        relative=relative,
        residuals=residuals,
        left_out=_by_name(case.targets, rest),
        how_left_out=left_out_method,
        mean_error=float(errors.mean()) if errors.size else math.nan,
        largest_error=float(errors.max()) if errors.size else math.nan,
        r2=1 - solution.cost / total if total else math.nan,
        at_end=tuple(key for key, at_end in zip(keys, solution.at_end, strict=True) if at_end),
        dataset=fit_dataset(
            case,
            rows,
            grid,
            text=json.dumps(request),
            residuals=residuals,
            values=values,
            units=units,
            covariance=matrix,
            relative=relative,
        ),
    )


def _freeze(array: Floats) -> Floats:
    array = np.array(array)
    array.flags.writeable = False
    return array


def _by_name(names: Sequence[str], arrays: Floats) -> dict[str, Floats]:
    return {name: _freeze(array) for name, array in zip(names, arrays, strict=True)}
