"""One validation: groups of rows left out and predicted in turn, scored beside baselines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dse.fitting import Fit, fit
from dse.fitting.columns import Floats, Table, read_table
from dse.fitting.rows import Case, Rows, chosen, read_rows
from dse.validation.baselines import beside
from dse.validation.question import (
    ROW,
    Folds,
    Places,
    Question,
    deal,
    groups_of,
    keys_of,
    parts_of,
    subspaces,
)
from dse.validation.result import Validation
from dse.validation.scores import score, tied
from sweeps.grid.laws import NAME as LAW
from symbolic.errors import DseError
from symbolic.library import load_model
from symbolic.model import Model

#: Labels whose scores are told one by one.
FEW = 24
#: Rows of which an interval is learnt, at least.
ENOUGH = 10


def run(question: Question) -> Validation:
    """See :func:`dse.validate`."""
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
    spaces, keys = _spaces(question, table, rows)
    low, high = _interval(question, measured, predicted, folds)
    inside = None
    if np.isfinite(low).any():
        inside = (low <= measured) & (measured <= high)
    every = np.arange(len(measured))
    others = beside(question, model, table, rows, folds, spaces, keys)
    parts = {
        label: (own, _inside(spaces, own))
        for label, own in _parts(question, table, rows, labels).items()
    }
    return Validation(
        model=model.name,
        to=to,
        rows=len(measured),
        how=question.how,
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


def _rows(question: Question, model: Model, table: Table) -> Rows:
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
    question: Question, table: Table, rows: Rows
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


def _parts(
    question: Question, table: Table, rows: Rows, labels: Sequence[str]
) -> dict[str, Places]:
    """The rows of each label that is scored by itself: those asked for, or a few left out."""
    if question.per:
        return groups_of(keys_of(table, question.per, rows.places))
    if not question.leave_out or ROW in question.leave_out:
        return {}
    few = groups_of(labels)
    return few if len(few) <= FEW else {}


def _spaces(question: Question, table: Table, rows: Rows) -> tuple[list[Places], list[str]]:
    """The spaces in which a configuration is chosen, and what each row's is called."""
    every = np.arange(len(rows.places))
    if not question.within:
        keys = [""] * every.size
        spaces = [every] if question.draws else []
    else:
        keys = keys_of(table, question.within, rows.places)
        spaces = list(groups_of(keys).values())
    return (subspaces(spaces, *question.draws) if question.draws else spaces), keys


def _inside(spaces: Sequence[Places], own: Places) -> list[Places]:
    """The spaces all of whose rows are among some, in the numbers of these."""
    return [np.searchsorted(own, space) for space in spaces if np.isin(space, own).all()]


def _interval(
    question: Question,
    measured: Floats,
    predicted: Floats,
    folds: Folds,
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
    question: Question,
    model: Model,
    table: Table,
    rows: Rows,
    folds: Folds,
) -> tuple[Floats, list[dict[str, float]]]:
    """Each row as predicted by a fit to the rows known then, or by what is given; what was fitted.

    NaN where a rule is broken, and where a label with values of its own has no row that is known.
    Rows that tell laws of work are predicted law by law.
    """
    to = next(iter(rows.measured))
    if laws := _laws(question, model, table, rows):
        return _by_law(question, model, rows, laws), []
    parts = parts_of(question, model, rows, question.fitted)
    case = Case(model=model, parts=parts, to=(to,), free=question.fitted)
    found, values = np.full(len(rows.places), math.nan), []
    for out, known in folds:
        if not question.fitted:
            found[out] = _evaluated(case, rows.kept(out), {}, to)
            continue
        fold: dict[str, float] = {}
        for own, one, label in _fits(question, model, table, rows, out, known):
            own_values = one.set_of(label) if label else one.set
            found[own] = _evaluated(case, rows.kept(own), own_values, to)
            fold |= one.values
        values.append(fold)
    return found, values


def _laws(question: Question, model: Model, table: Table, rows: Rows) -> dict[str, Places]:
    """The rows of each law of work, where a column tells it and the model takes it."""
    named = question.columns is None or LAW in question.columns
    if LAW not in table.columns or LAW not in model.quantities or not named:
        return {}
    if LAW in question.given:
        return {}
    if question.fitted:
        raise DseError(
            f"rows have a law each, in the column {LAW}, and a fit takes those of one: choose the "
            f"rows of one law and set it (set={{'{LAW}': ...}}), or free nothing"
        )
    return groups_of(keys_of(table, [LAW], rows.places))


def _by_law(question: Question, model: Model, rows: Rows, laws: Mapping[str, Places]) -> Floats:
    to = next(iter(rows.measured))
    found = np.full(len(rows.places), math.nan)
    for law, own in laws.items():
        one = replace(question, given={**question.given, LAW: law})
        case = Case(model=model, parts=parts_of(one, model, rows), to=(to,), free=())
        found[own] = _evaluated(case, rows.kept(own), {}, to)
    return found


def _fits(
    question: Question, model: Model, table: Table, rows: Rows, out: Places, known: Places
) -> Iterator[tuple[Places, Fit, str]]:
    """Rows that are predicted, the fit that does, and the label of whose own values it does."""
    if not question.own:
        yield out, _fit(question, model, rows, known), ""
        return
    column, _ = question.owned
    labels = np.array(keys_of(table, [column], rows.places))
    shared = _fit(question, model, rows, known, labels) if question.free else None
    for label, places in groups_of(labels[out].tolist()).items():
        seen = known[labels[known] == label]
        if seen.size:
            # what nothing joins is fitted by itself: the same values, found sooner
            one = _fit(question, model, rows, seen, labels) if shared is None else shared
            yield out[places], one, label


def _fit(
    question: Question, model: Model, rows: Rows, known: Places, labels: Any | None = None
) -> Fit:
    seen = rows.kept(known)
    data: dict[str, Any] = {**seen.inputs, **seen.measured}
    if seen.workloads:
        data["workload"] = np.array(seen.workloads)
    if labels is not None:
        data[question.owned[0]] = labels[known]
    return fit(
        question.model,
        data,
        free=question.free,
        per=question.own or None,
        to=next(iter(rows.measured)),
        machine=question.entries["machine"],
        workload=question.entries["workload"],
        set=question.given,
        residuals=question.residuals,
        start=question.start,
        bounds=question.bounds,
        left_out="hat",
        prefer=question.prefer,
    )


def _evaluated(case: Case, rows: Rows, values: Mapping[str, float], to: str) -> Floats:
    """What the model yields on rows; NaN where a rule is broken."""
    grid = case.grid(rows, values)
    roots = [grid.graph.flat(to), grid.feasible_node(())]
    found, feasible = grid.evaluate(roots, (), tuple(grid.axes))
    return np.where(np.asarray(feasible, dtype=bool), np.asarray(found, dtype=float), math.nan)
