"""Validation: what predictions are worth, on rows left out and beside trivial baselines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.fitting import Fit, fit
from dse.fitting.coordinates import Floats
from dse.fitting.rows import Case, Rows, Table, chosen, read_rows, read_table
from dse.progress import Shown, shown
from dse.validation.baselines import beside, parts_of
from dse.validation.scores import (
    Folds,
    Places,
    Score,
    Validation,
    deal,
    groups_of,
    keys_of,
    score,
    subspaces,
    tied,
)
from sweeps.grid.goals import texts_of
from sweeps.grid.laws import NAME as LAW
from symbolic.errors import DseError
from symbolic.library import load_model
from symbolic.model import Model

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from dse.fitting.rows import Named

__all__ = ["Score", "Validation", "validate"]

#: Labels whose scores are told one by one.
FEW = 24
#: Rows of which an interval is learnt, at least.
ENOUGH = 10
#: Left out by itself where ``leave_out`` says so.
ROW = "row"


def validate(
    model: str | Model,
    data: str | Path | pd.DataFrame | xr.Dataset | Mapping[str, Any],
    *,
    to: str | None = None,
    columns: Named = None,
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
    progress: Shown = False,
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
    with shown(progress, "validating"):
        _check(question)
        return _validated(question)


def _check(question: Any) -> None:
    """Raise where arguments of :func:`validate` do not fit each other."""
    if question.orders and not (question.within or question.draws):
        raise DseError(
            f"{', '.join(question.orders)} would choose a configuration: say with within= among "
            "which rows"
        )
    if len(question.own) > 1:
        raise DseError(f"own names the columns {', '.join(question.own)}: expected one")
    if question.fitted and not question.leave_out:
        raise DseError(
            f"{', '.join(question.fitted)} would be fitted to the rows that are predicted: say "
            "with leave_out= which rows are left out together, a column, or 'row'"
        )
    if not 0 < question.interval < 1:
        raise DseError(f"interval = {question.interval}: expected a share between 0 and 1")
    for name, least in (("folds", 2), ("budget", 1)):
        if getattr(question, name) < least:
            raise DseError(f"{name} = {getattr(question, name)}: expected {least} or more")
    if question.draws is not None and min(question.draws) < 1:
        raise DseError(f"draws = {question.draws}: expected how many, and rows of each")


def _known(question: Any) -> str:
    """Return what is known of rows when they are predicted."""
    if not question.leave_out:
        return "nothing learnt from rows"
    own = [f"{', '.join(names)} of each {column}" for column, names in question.own.items()]
    names = ", ".join([*question.free, *own])
    learnt = f"{names} fitted to the others" if names else "as given"
    return f"each {' and '.join(question.leave_out)} left out, {learnt}"


def _validated(question: Any) -> Validation:
    """Return the predictions, scored beside those of baselines."""
    model = load_model(question.model, prefer=question.prefer)
    table = _table(question.data)
    rows = _rows(question, model, table)
    to = next(iter(rows.measured))
    measured = rows.measured[to]
    if (wrong := np.flatnonzero(measured <= 0)).size:
        raise DseError(
            f"{to} is {measured[wrong[0]]:g} at row {rows.places[wrong[0]]}: errors are shares of "
            "what was measured, which should be above 0"
        )
    labels, folds = _folds(question, table, rows)
    predicted, values = predict(question, model, table, rows, folds)
    keys = keys_of(table, question.within, rows.places) or [""] * len(measured)
    spaces = list(groups_of(keys).values()) if question.within or question.draws else []
    spaces = subspaces(spaces, *question.draws) if question.draws else spaces
    low, high = _interval(question, measured, predicted, folds)
    inside = (low <= measured) & (measured <= high) if np.isfinite(low).any() else None
    every = np.arange(len(measured))
    others = beside(question, model, table, rows, folds, spaces, keys)
    parts = {  # with the spaces all of whose rows are among these, in the numbers of these
        label: (own, [np.searchsorted(own, s) for s in spaces if np.isin(s, own).all()])
        for label, own in _parts(question, table, rows, labels).items()
    }
    return Validation(
        model=model.name,
        to=to,
        rows=len(measured),
        how=_known(question),
        score=score(measured, predicted, spaces, within=inside),
        drawn=tied(measured, predicted, spaces),
        baselines={name: scored(every, spaces) for name, scored in others.items()},
        per=tuple(question.per),
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


def _table(data: Any) -> Table:
    """The columns; profiles and what tuners write are read row by row."""
    if isinstance(data, (str, Path)) and Path(data).suffix != ".csv":
        from dse.measured import open_measured
        from dse.measured.formats import is_measured

        if is_measured(Path(data)):
            return read_table(open_measured(Path(data), shape="rows"))
    return read_table(data)


def _rows(question: Any, model: Model, table: Table) -> Rows:
    """The rows: every column that is an input of the model is read, unless columns are named."""
    named = question.columns
    if named is None:
        targets = [question.to] if question.to else [n for n in model.outputs if n in table.columns]
        taken = (*targets, *question.given, *question.fitted)
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
        table.some(slice(None)), model, to=question.to, columns=named, weights=None, labels=None
    )
    case = Case(
        model=model, parts=parts_of(question, model, rows), to=tuple(rows.measured), free=()
    )
    return chosen(case, rows, {}, ())


def _folds(
    question: Any, table: Table, rows: Rows
) -> tuple[list[str], list[tuple[Places, Places]]]:
    """What is left out with each row, and the rows left out together with those known then."""
    every = np.arange(len(rows.places))
    if not question.leave_out:
        return [""] * every.size, [(every, every)]
    if ROW in question.leave_out and ROW not in table.columns:
        if len(question.leave_out) > 1:
            raise DseError("leave_out names 'row', each by itself, and a column: keep one of them")
        labels = list(map(str, rows.places))
    else:
        labels = keys_of(table, question.leave_out, rows.places)
    out = deal(labels, question.folds)
    return labels, [(fold, np.setdiff1d(every, fold)) for fold in out]


def _parts(question: Any, table: Table, rows: Rows, labels: Sequence[str]) -> dict[str, Places]:
    """The rows of each label that is scored by itself: those asked for, or a few left out."""
    if question.per:
        return groups_of(keys_of(table, question.per, rows.places))
    if not question.leave_out or ROW in question.leave_out:
        return {}
    few = groups_of(labels)
    return few if len(few) <= FEW else {}


def _interval(
    question: Any, measured: Floats, predicted: Floats, folds: Folds
) -> tuple[Floats, Floats]:
    """Between which values rows are expected: by how far off the predictions were elsewhere.

    A prediction times quantiles of measured over predicted, of rows of the other groups, each of
    which was left out when it was predicted.
    """
    low, high = np.full(measured.size, math.nan), np.full(measured.size, math.nan)
    if not question.leave_out:
        return low, high
    with np.errstate(all="ignore"):
        ratio = measured / predicted
    tail = (1 - question.interval) / 2
    for out, known in folds:
        seen = ratio[known][np.isfinite(ratio[known])]
        if seen.size >= ENOUGH:
            least, most = np.quantile(seen, [tail, 1 - tail])
            low[out], high[out] = predicted[out] * least, predicted[out] * most
    return low, high


# --- Rows predicted by fits to the rows that are known then, or by what is given


def predict(
    question: Any, model: Model, table: Table, rows: Rows, folds: Folds
) -> tuple[Floats, list[dict[str, float]]]:
    """Return each row as predicted by a fit to the known rows or by what is given; what was fitted.

    NaN where a rule is broken, and where a label with values of its own has no row that is known.
    Rows that tell laws of work are predicted law by law.
    """
    to = tuple(rows.measured)[:1]
    found = np.full(len(rows.places), math.nan)
    laws = _laws(question, model, table, rows)
    if not question.fitted:
        for law, own in laws.items():
            parts = parts_of(question, model, rows, **({} if law is None else {LAW: law}))
            case = Case(model=model, parts=parts, to=to, free=())
            found[own] = _evaluated(case, rows.kept(own), {})
        return found, []
    parts = parts_of(question, model, rows, question.fitted)
    case, values = Case(model=model, parts=parts, to=to, free=question.fitted), []
    for out, known in folds:
        fold: dict[str, float] = {}
        for own, one, label in _fits(question, table, rows, out, known):
            own_values = one.set_of(label) if label else one.set
            found[own] = _evaluated(case, rows.kept(own), own_values)
            fold |= one.values
        values.append(fold)
    return found, values


def _laws(question: Any, model: Model, table: Table, rows: Rows) -> dict[Any, Places]:
    """Return the rows of each law of work that a column tells; all, under None, without one."""
    named = question.columns is None or LAW in question.columns
    known = LAW in table.columns and LAW in model.quantities
    if not (named and known) or LAW in question.given:
        return {None: np.arange(len(rows.places))}
    if question.fitted:
        raise DseError(
            f"rows have a law each, in the column {LAW}, and a fit takes those of one: choose the "
            f"rows of one law and set it (set={{'{LAW}': ...}}), or free nothing"
        )
    return groups_of(keys_of(table, [LAW], rows.places))


def _fits(
    question: Any, table: Table, rows: Rows, out: Places, known: Places
) -> Iterator[tuple[Places, Fit, str]]:
    """Rows that are predicted, the fit that does, and the label of whose own values it does."""
    if not question.own:
        yield out, _fit(question, rows, known), ""
        return
    labels = np.array(keys_of(table, [*question.own], rows.places))
    shared = _fit(question, rows, known, labels) if question.free else None
    for label, places in groups_of(labels[out].tolist()).items():
        seen = known[labels[known] == label]
        if seen.size:
            # what nothing joins is fitted by itself: the same values, found sooner
            one = _fit(question, rows, seen, labels) if shared is None else shared
            yield out[places], one, label


def _fit(question: Any, rows: Rows, known: Places, labels: Any | None = None) -> Fit:
    seen = rows.kept(known)
    data: dict[str, Any] = {**seen.inputs, **seen.measured}
    if seen.workloads:
        data["workload"] = np.array(seen.workloads)
    if labels is not None:
        data[next(iter(question.own))] = labels[known]
    return fit(
        question.model,
        data,
        free=question.free,
        per=question.own or None,
        to=next(iter(rows.measured)),
        **question.entries,
        set=question.given,
        residuals=question.residuals,
        start=question.start,
        bounds=question.bounds,
        left_out="hat",
        prefer=question.prefer,
    )


def _evaluated(case: Case, rows: Rows, values: Mapping[str, float]) -> Floats:
    """What the model yields on rows; NaN where a rule is broken."""
    grid = case.grid(rows, values)
    roots = [grid.graph.flat(case.to[0]), grid.feasible_node(())]
    found, feasible = grid.evaluate(roots, (), tuple(grid.axes))
    return np.where(np.asarray(feasible, dtype=bool), np.asarray(found, dtype=float), math.nan)
