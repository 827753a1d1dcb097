"""Validation: what predictions are worth, on rows left out and beside trivial baselines."""

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

#: Labels whose scores are told one by one.
MAX_LABEL_SCORES = 24
#: Rows of which an interval is learnt, at least.
MIN_INTERVAL_ROWS = 10
#: Left out by itself where ``leave_out`` says so.
ROW = "row"


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
    """Predictions of a model against measured rows, beside what one would say without it.

    Each row is predicted as :func:`dse.evaluate` does, from its columns and what is given. What is
    ``free`` is fitted, as :func:`dse.fit` does, to the rows that are known when a row is predicted:
    all but those of its label. No row is dropped: one that cannot be predicted counts as missing.

    Parameters
    ----------
    model, machine, workload, set, prefer :
        As for :func:`dse.evaluate`.
    data : path, DataFrame, Dataset or mapping of arrays
        As for :func:`dse.fit`; other files by :func:`dse.open`. Columns that the model does not
        know may serve as labels and in formulas.
    to : str, optional
        What was measured; by default the one main output of the model that has a column.
    columns : sequence or mapping, optional
        As for :func:`dse.fit`; by default ``to`` and every column that is an input of the model.
    free, start, bounds, residuals
        As for :func:`dse.fit`.
    own : mapping of str to sequence of str, optional
        A column, and the quantities that have a value for each of its labels, which are fitted too:
        ``{"kernel": ["stall_time", "core_cycles"]}``, as ``per`` of :func:`dse.fit`. A label is
        then predicted by its own rows that are known, and is missing where there are none.
    leave_out : str or sequence of str
        Columns: rows of which they say the same are left out together. ``"row"``: each by itself.
    folds : int
        With more labels than this, several are left out together, dealt out at random.
    per : str or sequence of str
        Columns, or axes of a Dataset: scores again for each of their labels, of the model and of
        each baseline. By default for each label that is left out, where these are few.
    within : str or sequence of str
        Columns: among rows of which they say the same a configuration is chosen, that of the least
        prediction. Its slowdown is over the least that was measured there. Where several are
        equally good the first is chosen; what drawing one of them costs is a row of its own.
    choose : str or sequence of str
        Columns that make a configuration, for the baseline that always takes the same one.
    draws : (int, int), optional
        So many random parts of each space, of so many rows, in place of whole spaces.
    budget : int
        Configurations that a random search measures.
    along : str, optional
        A column over which to interpolate linearly, between known rows of the same label of
        ``own``, or else of the same ``within``.
    baselines : mapping of str to str
        Formulas in columns and in what is given, ``{"bytes": "dram_bytes / mem_bandwidth"}``. With
        ``leave_out`` each counts again, times the one factor that is best on the known rows.
    orders : mapping of str to str
        Formulas that predict nothing, by the least of which one would choose:
        ``{"always 1 GHz": "absolute(core_clock - 1 GHz)"}``.
    interval : float
        Of the intervals: how many rows should lie within. They are learnt with ``leave_out``, from
        how far off predictions of the other labels were.
    progress : bool
        Tell, after a second, for how long the work goes on.

    Raises
    ------
    DseError
        As for :func:`dse.fit`; something is free and nothing left out; rows of one label alone.

    >>> rows = {"threads_in_ms": [64, 128, 256, 512, 1024, 2048],
    ...         "attained_bandwidth [GB/s]": [1, 2, 4, 8, 8, 8]}
    >>> found = validate("transit_supply", rows, leave_out="row",
    ...                  free=["ms_peak_bandwidth", "ms_transition"])
    >>> round(found.score.median, 3), found.baselines["the median, learnt elsewhere"].median
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
    """Raise where arguments of :func:`validate` do not fit each other."""
    if request.orders and not (request.within or request.draws):
        raise DseError(
            f"{', '.join(request.orders)} would choose a configuration: say with within= among "
            "which rows"
        )
    if len(request.own) > 1:
        raise DseError(f"own names the columns {', '.join(request.own)}: expected one")
    if request.fitted and not request.leave_out:
        raise DseError(
            f"{', '.join(request.fitted)} would be fitted to the rows that are predicted: say "
            "with leave_out= which rows are left out together, a column, or 'row'"
        )
    if not 0 < request.interval < 1:
        raise DseError(f"interval = {request.interval}: expected a share between 0 and 1")
    for name, least in (("folds", 2), ("budget", 1)):
        if getattr(request, name) < least:
            raise DseError(f"{name} = {getattr(request, name)}: expected {least} or more")
    if request.draws is not None and min(request.draws) < 1:
        raise DseError(f"draws = {request.draws}: expected how many, and rows of each")


def _describe_training(request: Any) -> str:
    """Return what is known of rows when they are predicted."""
    if not request.leave_out:
        return "nothing learnt from rows"
    own = [f"{', '.join(names)} of each {column}" for column, names in request.own.items()]
    names = ", ".join([*request.free, *own])
    learnt = f"{names} fitted to the others" if names else "as given"
    return f"each {' and '.join(request.leave_out)} left out, {learnt}"


def _score_model(request: Any) -> Validation:
    """Return the predictions, scored beside those of baselines."""
    model = load_model(request.model, prefer=request.prefer)
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
    low, high = _prediction_intervals(request, measured, predicted, folds)
    inside = (low <= measured) & (measured <= high) if np.isfinite(low).any() else None
    every = np.arange(len(measured))
    others = baseline_scorers(request, model, table, rows, folds, spaces, keys)
    parts = {  # with the spaces all of whose rows are among these, in the numbers of these
        label: (own, [np.searchsorted(own, s) for s in spaces if np.isin(s, own).all()])
        for label, own in _score_groups(request, table, rows, labels).items()
    }
    return Validation(
        model=model.name,
        to=to,
        rows=len(measured),
        how=_describe_training(request),
        score=score(measured, predicted, spaces, is_in_interval=inside),
        drawn=score_ties(measured, predicted, spaces),
        baselines={name: scored(every, spaces) for name, scored in others.items()},
        per=tuple(request.per),
        by={
            label: score(measured[own], predicted[own], inner)
            for label, (own, inner) in parts.items()
        },
        beside={
            label: {name: scored(own, inner) for name, scored in others.items()}
            for label, (own, inner) in parts.items()
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
    """The columns; profiles and what tuners write are read row by row."""
    if isinstance(data, (str, Path)) and Path(data).suffix != ".csv":
        from dse.importers import open_measurements
        from dse.importers.formats import is_measurement_file

        if is_measurement_file(Path(data)):
            return read_table(open_measurements(Path(data), shape="rows"))
    return read_table(data)


def _read_rows(request: Any, model: Model, table: ColumnTable) -> FitRows:
    """The rows: every column that is an input of the model is read, unless columns are named."""
    named = request.columns
    if named is None:
        targets = [request.to] if request.to else [n for n in model.outputs if n in table.columns]
        taken = (*targets, *request.given, *request.fitted)
        named = [
            name
            for name in table.columns
            if name in targets
            or (
                name in model.quantities
                and not model.quantities[name].is_label
                and not model.variants(name)
                and name not in taken
            )
        ]
    elif not isinstance(named, (str, Mapping)):
        named = [name for name in named if name != LAW]
    rows = read_rows(
        table.select_rows(slice(None)),
        model,
        to=request.to,
        columns=named,
        weights=None,
        labels=None,
    )
    case = FitCase(
        model=model,
        parts=fixed_parts(request, model, rows),
        targets=tuple(rows.measurements),
        free=(),
    )
    return select_rows(case, rows, {}, ())


def _make_folds(
    request: Any, table: ColumnTable, rows: FitRows
) -> tuple[list[str], list[tuple[Places, Places]]]:
    """What is left out with each row, and the rows left out together with those known then."""
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


def _score_groups(
    request: Any, table: ColumnTable, rows: FitRows, labels: Sequence[str]
) -> dict[str, Places]:
    """The rows of each label that is scored by itself: those asked for, or a few left out."""
    if request.per:
        return group_rows(row_keys(table, request.per, rows.places))
    if not request.leave_out or ROW in request.leave_out:
        return {}
    few = group_rows(labels)
    return few if len(few) <= MAX_LABEL_SCORES else {}


def _prediction_intervals(
    request: Any, measured: Floats, predicted: Floats, folds: Folds
) -> tuple[Floats, Floats]:
    """Between which values rows are expected: by how far off the predictions were elsewhere.

    A prediction times quantiles of measured over predicted, of rows of the other groups, each of
    which was left out when it was predicted.
    """
    low, high = np.full(measured.size, math.nan), np.full(measured.size, math.nan)
    if not request.leave_out:
        return low, high
    with np.errstate(all="ignore"):
        ratio = measured / predicted
    tail = (1 - request.interval) / 2
    for out, known in folds:
        seen = ratio[known][np.isfinite(ratio[known])]
        if seen.size >= MIN_INTERVAL_ROWS:
            least, most = np.quantile(seen, [tail, 1 - tail])
            low[out], high[out] = predicted[out] * least, predicted[out] * most
    return low, high


# --- Rows predicted by fits to the rows that are known then, or by what is given


def predict(
    request: Any, model: Model, table: ColumnTable, rows: FitRows, folds: Folds
) -> tuple[Floats, list[dict[str, float]]]:
    """Return each row as predicted by a fit to the known rows or by what is given; what was fitted.

    NaN where a rule is broken, and where a label with values of its own has no row that is known.
    Rows that tell laws of work are predicted law by law.
    """
    to = tuple(rows.measurements)[:1]
    result = np.full(len(rows.places), math.nan)
    laws = _rows_by_law(request, model, table, rows)
    if not request.fitted:
        for law, own in laws.items():
            parts = fixed_parts(request, model, rows, **({} if law is None else {LAW: law}))
            case = FitCase(model=model, parts=parts, targets=to, free=())
            result[own] = _evaluate_model(case, rows.select(own), {})
        return result, []
    parts = fixed_parts(request, model, rows, request.fitted)
    case, values = FitCase(model=model, parts=parts, targets=to, free=request.fitted), []
    for out, known in folds:
        fold: dict[str, float] = {}
        for own, one, label in _fit_folds(request, table, rows, out, known):
            own_values = one.set_of(label) if label else one.set
            result[own] = _evaluate_model(case, rows.select(own), own_values)
            fold |= one.values
        values.append(fold)
    return result, values


def _rows_by_law(
    request: Any, model: Model, table: ColumnTable, rows: FitRows
) -> dict[Any, Places]:
    """Return the rows of each law of work that a column tells; all, under None, without one."""
    named = request.columns is None or LAW in request.columns
    known = LAW in table.columns and LAW in model.quantities
    if not (named and known) or LAW in request.given:
        return {None: np.arange(len(rows.places))}
    if request.fitted:
        raise DseError(
            f"rows have a law each, in the column {LAW}, and a fit takes those of one: choose the "
            f"rows of one law and set it (set={{'{LAW}': ...}}), or free nothing"
        )
    return group_rows(row_keys(table, [LAW], rows.places))


def _fit_folds(
    request: Any, table: ColumnTable, rows: FitRows, test_rows: Places, training_rows: Places
) -> Iterator[tuple[Places, Fit, str]]:
    """Rows that are predicted, the fit that does, and the label of whose own values it does."""
    if not request.own:
        yield test_rows, _fit_rows(request, rows, training_rows), ""
        return
    labels = np.array(row_keys(table, [*request.own], rows.places))
    shared = _fit_rows(request, rows, training_rows, labels) if request.free else None
    for label, places in group_rows(labels[test_rows].tolist()).items():
        seen = training_rows[labels[training_rows] == label]
        if seen.size:
            # what nothing joins is fitted by itself: the same values, found sooner
            one = _fit_rows(request, rows, seen, labels) if shared is None else shared
            yield test_rows[places], one, label


def _fit_rows(request: Any, rows: FitRows, training_rows: Places, labels: Any | None = None) -> Fit:
    seen = rows.select(training_rows)
    data: dict[str, Any] = {**seen.inputs, **seen.measurements}
    if seen.workloads:
        data["workload"] = np.array(seen.workloads)
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
    """What the model yields on rows; NaN where a rule is broken."""
    grid = case.grid(rows, values)
    roots = [grid.graph.flat(case.targets[0]), grid.feasible_node(())]
    result, feasible = grid.evaluate(roots, (), tuple(grid.axes))
    return np.where(np.asarray(feasible, dtype=bool), np.asarray(result, dtype=float), math.nan)
