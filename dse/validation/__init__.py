"""Validate a model: predict measured rows, and compare the errors with trivial baselines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.fitting import Fit, fit
from dse.fitting.parameters import Floats
from dse.fitting.rows import ColumnTable, FitCase, FitRows, read_rows, read_table, select_rows
from dse.inputs.merge import with_declared
from dse.progress import ProgressOption, show_progress
from dse.validation.baselines import baseline_scorers, fixed_parts
from dse.validation.scores import (
    Folds,
    Places,
    Score,
    Validation,
    group_rows,
    make_folds,
    row_keys,
    sample_spaces,
    score,
    score_ties,
)
from sweeps.grid.goals import texts_of
from sweeps.grid.work_laws import LAW_QUANTITY as LAW
from symbolic.errors import DseError
from symbolic.library import load_model
from symbolic.model import Model

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from dse.fitting.rows import ColumnChoice

__all__ = ["Score", "Validation", "validate"]

MAX_LABEL_SCORES = 24  # At most this many left-out labels are scored.
MIN_INTERVAL_ROWS = 10  # A prediction interval needs at least this many rows.
Groups = dict[Any, Places]
ROW = "row"  # value of ``leave_out`` that leaves out each row by itself


def validate(
    model: str | Model,
    data: str | Path | pd.DataFrame | xr.Dataset | Mapping[str, Any],
    *,
    to: str | None = None,
    columns: ColumnChoice = None,
    machine: str | None = None,
    workload: str | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002
    free: Sequence[str] = (),
    own: Mapping[str, Sequence[str]] | None = None,
    start: Mapping[str, Any] | None = None,
    bounds: Mapping[str, Sequence[Any]] | None = None,
    residuals: str = "relative",
    leave_out: str | Sequence[str] = (),
    folds: int = 10,
    per: str | Sequence[str] = (),
    within: str | Sequence[str] = (),
    choose: str | Sequence[str] = (),
    draws: tuple[int, int] | None = None,
    budget: int = 1,
    along: str | None = None,
    baselines: Mapping[str, str] | None = None,
    orders: Mapping[str, str] | None = None,
    interval: float = 0.9,
    prefer: str | None = None,
    progress: ProgressOption = False,
) -> Validation:
    """Compare a model's predictions, and those of trivial baselines, with measured rows.

    Each row is predicted as by :func:`dse.evaluate`, from its columns and the given values. Free
    quantities are fitted, as by :func:`dse.fit`, to the *known* rows, which are all rows that are
    not left out together with the predicted row. No row is dropped: a row that cannot be predicted
    counts as missing.

    Parameters:
        model, machine, workload, set, prefer: As for :func:`dse.evaluate`.
        data (path, DataFrame, Dataset or mapping of arrays): As for :func:`dse.fit`, or any file
            that :func:`dse.open` reads. Columns that are not quantities of the model may be used as
            labels and in formulas.
        to (str, optional): The measured quantity; default: the main output of the model that has a
            column, if there is only one.
        columns (sequence or mapping, optional): As for :func:`dse.fit`; default: ``to`` and every
            column that is an input of the model.
        free, start, bounds, residuals, progress: As for :func:`dse.fit`.
        own (mapping of str to sequence of str, optional): A column, and more free quantities with
            one value for each label of the column: ``{"kernel": ["stall_time", "core_cycles"]}``,
            as ``per`` of :func:`dse.fit`. They are fitted to known rows of the same label; without
            such rows the prediction is missing.
        leave_out (str or sequence of str): Columns; rows with equal values in these columns are
            left out together. ``"row"`` leaves out each row by itself.
        folds (int): If there are more labels than this, several random labels are left out
            together.
        per (str or sequence of str): Columns, or axes of a Dataset. For each of their labels the
            model and each baseline are scored separately. Default: each label that is left out, if
            there are few.
        within (str or sequence of str): Columns; rows with equal values in these columns form a
            *space*, in which the configuration with the smallest prediction is chosen. Its slowdown
            is its measured value over the smallest measured value in the space. Of equally good
            predictions the first is chosen; the mean over these ties is scored separately.
        choose (str or sequence of str): Columns that identify a configuration, for the baseline
            that always chooses the same one.
        draws ((int, int), optional): Number and size of random parts of each space, which replace
            the whole spaces.
        budget (int): Number of configurations that the random search (a baseline) measures.
        along (str, optional): A column over which a baseline interpolates linearly between known
            rows with the same label of ``own``, or if there is no ``own``, in the same space.
        baselines (mapping of str to str): Formulas of columns and given values, ``{"bytes":
            "dram_bytes / mem_bandwidth"}``. With ``leave_out``, each formula times a factor learnt
            from the known rows is also scored.
        orders (mapping of str to str): Formulas that predict no value, but whose smallest value
            chooses a configuration: ``{"always 1 GHz": "absolute(core_clock - 1 GHz)"}``.
        interval (float): Level of the prediction intervals. With ``leave_out``, they are learnt
            from the errors of the other rows, each predicted when it was left out.

    Raises:
        DseError: As for :func:`dse.fit`; also for free quantities without ``leave_out``, and if all
            rows have the same label.

    >>> rows = {"threads_in_ms": [64, 128, 256, 512, 1024, 2048],
    ...         "attained_bandwidth [GB/s]": [1, 2, 4, 8, 8, 8]}
    >>> result = validate("transit_supply", rows, leave_out="row",
    ...                   free=["ms_peak_bandwidth", "ms_transition"])
    >>> round(result.score.median, 3), result.baselines["the median, learnt elsewhere"].median
    (0.0, 0.75)
    """
    question = SimpleNamespace(**locals())
    question.entries = {"machine": machine, "workload": workload}
    question.given, question.free = dict(set or {}), tuple(free)
    question.own = {column: tuple(names) for column, names in (own or {}).items()}
    question.fitted = (*free, *(name for names in question.own.values() for name in names))
    for key in ("leave_out", "per", "within", "choose"):
        setattr(question, key, texts_of(getattr(question, key), key))
    question.baselines, question.orders = baselines or {}, orders or {}
    with show_progress(progress, "validating"):
        _check_request(question)
        return _score_model(question)


def _check_request(request: Any) -> None:
    if request.orders and not (request.within or request.draws):
        raise DseError(
            f"{', '.join(request.orders)} would choose a configuration: name with within= the rows "
            "to choose among"
        )
    if len(request.own) > 1:
        raise DseError(f"own names the columns {', '.join(request.own)}: expected one")
    if request.fitted and not request.leave_out:
        raise DseError(
            f"{', '.join(request.fitted)} would be fitted to the rows that are predicted: leave "
            "rows out with leave_out=, a column or 'row'"
        )
    if not 0 < request.interval < 1:
        raise DseError(f"interval = {request.interval}: expected a share between 0 and 1")
    for name, least in (("folds", 2), ("budget", 1)):
        if getattr(request, name) < least:
            raise DseError(f"{name} = {getattr(request, name)}: expected {least} or more")
    if request.draws is not None and min(request.draws) < 1:
        raise DseError(f"draws = {request.draws}: expected a number of parts, and rows of each")


def _describe_training(request: Any) -> str:
    if not request.leave_out:
        return "nothing learnt from rows"
    by_label = [f"{', '.join(names)} of each {column}" for column, names in request.own.items()]
    names = ", ".join([*request.free, *by_label])
    learnt = f"by a fit of {names} to the other rows" if names else "from the given values"
    return f"each {' and '.join(request.leave_out)} predicted {learnt}"


def _score_model(request: Any) -> Validation:
    model = with_declared(load_model(request.model, prefer=request.prefer), request.workload)
    table = _read_data(request.data)
    rows = _read_rows(request, model, table)
    to = next(iter(rows.measurements))
    measured = rows.measurements[to]
    if (wrong := np.flatnonzero(measured <= 0)).size:
        raise DseError(
            f"{to} is {measured[wrong[0]]:g} at row {rows.places[wrong[0]]}: errors are shares of "
            "what was measured, which should be above 0"
        )
    labels, folds = _make_folds(request, table, rows)
    predicted, values = predict(request, model, table, rows, folds)
    keys = row_keys(table, request.within, rows.places) or [""] * len(measured)
    spaces = list(group_rows(keys).values()) if request.within or request.draws else []
    spaces = sample_spaces(spaces, *request.draws) if request.draws else spaces
    low, high = _intervals(request, measured, predicted, folds)
    inside = (low <= measured) & (measured <= high) if np.isfinite(low).any() else None
    every = np.arange(len(measured))
    scorers = baseline_scorers(request, model, table, rows, folds, spaces, keys)
    parts = {  # the rows of each label's group, and its spaces as indices into these rows
        label: (group, [np.searchsorted(group, s) for s in spaces if np.isin(s, group).all()])
        for label, group in _score_groups(request, table, rows, labels).items()
    }
    return Validation(
        model=model.name,
        to=to,
        rows=len(measured),
        how=_describe_training(request),
        score=score(measured, predicted, spaces, is_in_interval=inside),
        drawn=score_ties(measured, predicted, spaces),
        baselines={name: scorer(every, spaces) for name, scorer in scorers.items()},
        per=tuple(request.per),
        by={
            label: score(measured[group], predicted[group], inner)
            for label, (group, inner) in parts.items()
        },
        baselines_by={
            label: {name: scorer(group, inner) for name, scorer in scorers.items()}
            for label, (group, inner) in parts.items()
        },
        fitted=tuple(values),
        measured=measured,
        predicted=predicted,
        low=low,
        high=high,
        labels=tuple(labels),
        places=rows.places,
    )


def _read_data(data: Any) -> ColumnTable:
    """Return the columns of the data; a file of a profiler or tuner has a row per measurement."""
    if isinstance(data, (str, Path)) and Path(data).suffix != ".csv":
        from dse.importers import open_measurements
        from dse.importers.formats import is_measurement_file

        if is_measurement_file(Path(data)):
            return read_table(open_measurements(Path(data), shape="rows"))
    return read_table(data)


def _read_rows(request: Any, model: Model, table: ColumnTable) -> FitRows:
    """Return the rows with the chosen columns, by default all that are inputs of the model."""
    columns = request.columns
    if columns is None:
        targets = [request.to] if request.to else [n for n in model.outputs if n in table.columns]
        others = (*targets, *request.given, *request.fitted)

        def is_input(name: str) -> bool:
            row = model.quantities.get(name)
            return bool(row and not row.is_label and not model.variants(name))

        columns = [n for n in table.columns if n in targets or (is_input(n) and n not in others)]
    elif not isinstance(columns, (str, Mapping)):
        columns = [name for name in columns if name != LAW]
    every = table.select_rows(slice(None))
    rows = read_rows(every, model, to=request.to, columns=columns, weights=None, labels=None)
    parts, measured = fixed_parts(request, model, rows), tuple(rows.measurements)
    case = FitCase(model=model, parts=parts, targets=measured, free=())
    return select_rows(case, rows, {}, ())


def _make_folds(request: Any, table: ColumnTable, rows: FitRows) -> tuple[list[str], Folds]:
    """Return the label by which each row is left out, and the folds."""
    every = np.arange(len(rows.places))
    if not request.leave_out:
        return [""] * every.size, [(every, every)]
    if ROW in request.leave_out and ROW not in table.columns:
        if len(request.leave_out) > 1:
            raise DseError("leave_out names 'row', each by itself, and a column: keep one of them")
        labels = list(map(str, rows.places))
    else:
        labels = row_keys(table, request.leave_out, rows.places)
    out = make_folds(labels, request.folds)
    return labels, [(fold, np.setdiff1d(every, fold)) for fold in out]


def _score_groups(request: Any, table: ColumnTable, rows: FitRows, labels: list[str]) -> Groups:
    """Return the rows of each label that gets a separate score."""
    if request.per:
        return group_rows(row_keys(table, request.per, rows.places))
    if not request.leave_out or ROW in request.leave_out:
        return {}
    groups = group_rows(labels)
    return groups if len(groups) <= MAX_LABEL_SCORES else {}


def _intervals(request: Any, measured: Floats, predicted: Floats, folds: Folds) -> list[Floats]:
    """Return the lower and upper ends of the prediction intervals of all rows.

    An interval is the prediction times two quantiles of measured / predicted over the known rows.
    """
    low, high = np.full(measured.size, math.nan), np.full(measured.size, math.nan)
    if not request.leave_out:
        return [low, high]
    with np.errstate(all="ignore"):
        ratio = measured / predicted
    tail = (1 - request.interval) / 2
    for out, known in folds:
        ratios = ratio[known][np.isfinite(ratio[known])]
        if ratios.size >= MIN_INTERVAL_ROWS:
            least, most = np.quantile(ratios, [tail, 1 - tail])
            low[out], high[out] = predicted[out] * least, predicted[out] * most
    return [low, high]


def predict(
    request: Any, model: Model, table: ColumnTable, rows: FitRows, folds: Folds
) -> tuple[Floats, list[dict[str, float]]]:
    """Return the predictions of rows, and the values fitted to the known rows of each fold.

    A prediction is NaN if a rule is broken, or if values of ``own`` are needed but the label of the
    row has no known row to fit them. Rows with the same law of work are predicted together.
    """
    to = tuple(rows.measurements)[:1]
    result = np.full(len(rows.places), math.nan)
    laws = _law_rows(request, model, table, rows)
    if not request.fitted:
        for law, group in laws.items():
            parts = fixed_parts(request, model, rows, **({} if law is None else {LAW: law}))
            case = FitCase(model=model, parts=parts, targets=to, free=())
            result[group] = _evaluate_model(case, rows.select(group), {})
        return result, []
    parts = fixed_parts(request, model, rows, request.fitted)
    case, values = FitCase(model=model, parts=parts, targets=to, free=request.fitted), []
    for out, known in folds:
        fold: dict[str, float] = {}
        for group, fitted, label in _fit_folds(request, table, rows, out, known):
            fitted_values = fitted.set_of(label) if label else fitted.set
            result[group] = _evaluate_model(case, rows.select(group), fitted_values)
            fold |= fitted.values
        values.append(fold)
    return result, values


def _law_rows(request: Any, model: Model, table: ColumnTable, rows: FitRows) -> Groups:
    """Return the rows of each law of work; without a column of laws, return all rows under None."""
    is_chosen = request.columns is None or LAW in request.columns
    is_known = LAW in table.columns and LAW in model.quantities
    if not (is_chosen and is_known) or LAW in request.given:
        return {None: np.arange(len(rows.places))}
    if request.fitted:
        raise DseError(
            f"the column {LAW} has a law for each row, and a fit needs one law: choose its rows "
            f"and set it (set={{'{LAW}': ...}}), or free nothing"
        )
    return group_rows(row_keys(table, [LAW], rows.places))


def _fit_folds(
    request: Any, table: ColumnTable, rows: FitRows, test_rows: Places, training_rows: Places
) -> Iterator[tuple[Places, Fit, str]]:
    """Yield rows to predict, their fit, and the label whose values they use ("" for no label)."""
    if not request.own:
        yield test_rows, _fit_rows(request, rows, training_rows), ""
        return
    labels = np.array(row_keys(table, [*request.own], rows.places))
    shared = _fit_rows(request, rows, training_rows, labels) if request.free else None
    for label, places in group_rows(labels[test_rows].tolist()).items():
        of_label = training_rows[labels[training_rows] == label]
        if of_label.size:
            # without common values, a fit per label is faster and gives the same result
            fitted = _fit_rows(request, rows, of_label, labels) if shared is None else shared
            yield test_rows[places], fitted, label


def _fit_rows(request: Any, rows: FitRows, training_rows: Places, labels: Any | None = None) -> Fit:
    known = rows.select(training_rows)
    data: dict[str, Any] = {**known.inputs, **known.measurements}
    if known.workloads:
        data["workload"] = np.array(known.workloads)
    if labels is not None:
        data[next(iter(request.own))] = labels[training_rows]
    return fit(
        request.model,
        data,
        free=request.free,
        per=request.own or None,
        to=next(iter(rows.measurements)),
        **request.entries,
        set=request.given,
        residuals=request.residuals,
        start=request.start,
        bounds=request.bounds,
        left_out="hat",
        prefer=request.prefer,
    )


def _evaluate_model(case: FitCase, rows: FitRows, values: Mapping[str, float]) -> Floats:
    grid = case.grid(rows, values)
    roots = [grid.graph.flat(case.targets[0]), grid.feasible_node(())]
    result, feasible = grid.evaluate(roots, (), tuple(grid.axes))
    return np.where(np.asarray(feasible, dtype=bool), np.asarray(result, dtype=float), math.nan)
